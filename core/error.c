#include "core/error.h"

#include <locale.h>
#include <stdarg.h>

G_DEFINE_QUARK (sideband - error, sb_error)

/* Numbers with a point, whatever the host's locale. */
char *
sb_text_va (const char *format, va_list args)
{
  static locale_t plain = (locale_t)0;
  static gsize once = 0;
  if (g_once_init_enter (&once)) {
    plain = newlocale (LC_NUMERIC_MASK, "C", (locale_t)0);
    g_once_init_leave (&once, 1);
  }
  if (plain == (locale_t)0)
    return g_strdup_vprintf (format, args);
  locale_t before = uselocale (plain);
  /* Only numbers change: the rest of the C locale's categories are ASCII, which our formats are but for UTF-8 bytes. */
  char *text = g_strdup_vprintf (format, args);
  uselocale (before);
  return text;
}

char *
sb_text (const char *format, ...)
{
  va_list args;
  va_start (args, format);
  char *text = sb_text_va (format, args);
  va_end (args);
  return text;
}

gboolean
sb_fail (GError **error, SbErrorCode code, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  if (error != NULL && *error == NULL) {
    g_autofree char *text = sb_text_va (format, args);
    *error = g_error_new_literal (SB_ERROR, (gint)code, text);
  }
  va_end (args);
  return FALSE;
}

gpointer
sb_alloc (gsize count, gsize size, const char *what, GError **error)
{
  gpointer p = g_try_malloc_n (MAX (count, 1), size);
  if (p == NULL)
    sb_fail (error, SB_ERROR_MEMORY, "%s need %.1f MB of memory, which could not be had; give a smaller scan region.", what,
             (double)count * (double)size / 1e6);
  return p;
}
