#include "plugin/status.h"

#include "core/error.h"

G_STATIC_ASSERT ((int)SB_ERROR_CANCELLED == (int)SB_CANCELLED && (int)SB_ERROR_ARGUMENT == (int)SB_ARGUMENT);
G_STATIC_ASSERT ((int)SB_ERROR_DATA == (int)SB_DATA && (int)SB_ERROR_IO == (int)SB_IO);
G_STATIC_ASSERT ((int)SB_ERROR_MEMORY == (int)SB_MEMORY && (int)SB_ERROR_BACKEND == (int)SB_BACKEND);
G_STATIC_ASSERT ((int)SB_ERROR_FORKED == (int)SB_FORKED && (int)SB_ERROR_STATE == (int)SB_STATE);
G_STATIC_ASSERT ((int)SB_ERROR_INTERNAL == (int)SB_INTERNAL);

static GPrivate thread_message = G_PRIVATE_INIT (g_free);

const char *
sb_error_message (void)
{
  const char *message = g_private_get (&thread_message);
  return message != NULL ? message : "";
}

void
status_say (const char *message)
{
  /* File names may be any bytes; hosts expect UTF-8. */
  g_private_replace (&thread_message, g_utf8_make_valid (message, -1));
}

int
status_code (const GError *error)
{
  if (error == NULL)
    return SB_INTERNAL;
  if (error->domain == SB_ERROR)
    return error->code;
  if (error->domain == G_THREAD_ERROR)
    return SB_MEMORY;
  return error->domain == G_FILE_ERROR ? SB_IO : SB_INTERNAL;
}

int
status_of (gboolean ok, GError *const *error)
{
  if (ok)
    return SB_OK;
  status_say (*error != NULL ? (*error)->message : "Something failed without saying why; please report this defect.");
  return status_code (*error);
}

const char *
status_name (int status)
{
  static const char *const names[] = { "ok",      "cancelled", "argument", "data",     "io",     "memory",
                                       "backend", "forked",    "state",    "internal", "running" };
  return status >= 0 && status < (int)G_N_ELEMENTS (names) ? names[status] : NULL;
}
