#include "plugin/log.h"

#include "core/error.h"
#include "plugin/sideband.h"

/* Recursive, so that a host's function may itself call the library; held while the host's function runs, so
 * that none is called any more once sb_log_set has taken it away. */
static GRecMutex lock;
static sb_log_function sink;
static void *sink_data;
static guint handler;

/* What core says with g_debug () and friends. Only our domain: the default handler is the host's. */
static void
on_glib_log (const char *domain, GLogLevelFlags flags, const char *message, gpointer user_data)
{
  SbLogLevel level = flags & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING) ? SB_LOG_WARNING
                     : flags & G_LOG_LEVEL_MESSAGE                                            ? SB_LOG_NOTE
                     : flags & G_LOG_LEVEL_INFO                                               ? SB_LOG_INFO
                                                                                              : SB_LOG_DEBUG;
  log_remark (level, "%s", message);
}

void
sb_log_set (sb_log_function function, void *user_data)
{
  g_rec_mutex_lock (&lock);
  sink = function;
  sink_data = user_data;
  if (function != NULL && handler == 0)
    handler = g_log_set_handler (G_LOG_DOMAIN, G_LOG_LEVEL_MASK, on_glib_log, NULL);
  if (function == NULL && handler != 0) {
    g_log_remove_handler (G_LOG_DOMAIN, handler);
    handler = 0;
  }
  g_rec_mutex_unlock (&lock);
}

void
log_remark (SbLogLevel level, const char *format, ...)
{
  /* G_LOG_LEVEL_WARNING would end a host that runs with fatal warnings. */
  static const GLogLevelFlags flags[] = { G_LOG_LEVEL_DEBUG, G_LOG_LEVEL_INFO, G_LOG_LEVEL_MESSAGE, G_LOG_LEVEL_MESSAGE };
  va_list args;
  va_start (args, format);
  g_autofree char *message = sb_text_va (format, args);
  va_end (args);
  g_rec_mutex_lock (&lock);
  gboolean taken = sink != NULL;
  if (taken)
    sink (level, message, sink_data);
  g_rec_mutex_unlock (&lock);
  if (!taken)
    g_log (G_LOG_DOMAIN, flags[level], "%s", message);
}
