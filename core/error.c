#include "core/error.h"

#include <stdarg.h>

G_DEFINE_QUARK (sideband-error, sb_error)

gboolean
sb_fail (GError **error, SbErrorCode code, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  if (error != NULL && *error == NULL)
    *error = g_error_new_valist (SB_ERROR, (gint)code, format, args);
  va_end (args);
  return FALSE;
}

gpointer
sb_alloc (gsize count, gsize size, const char *what, GError **error)
{
  gpointer p = g_try_malloc_n (MAX (count, 1), size);
  if (p == NULL)
    sb_fail (error, SB_ERROR_MEMORY, "%s need %.1f MB of memory, which could not be had; give a smaller scan region.",
             what, (double)count * (double)size / 1e6);
  return p;
}
