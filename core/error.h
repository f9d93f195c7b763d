/* Errors of the library: one GError domain whose codes are the public status numbers.
 * The one who detects an error words it (one sentence: the value and the remedy); callers only propagate. */
#ifndef SB_CORE_ERROR_H
#define SB_CORE_ERROR_H

#include <stdarg.h>

#include <glib.h>

typedef enum SbErrorCode {
  SB_ERROR_CANCELLED = 1, /* the user stopped the work; not a failure */
  SB_ERROR_ARGUMENT = 2,  /* a value given by the caller is wrong or missing */
  SB_ERROR_DATA = 3,      /* the acquisition itself cannot be used */
  SB_ERROR_IO = 4,        /* a file cannot be read or written */
  SB_ERROR_MEMORY = 5,    /* not enough memory */
  SB_ERROR_BACKEND = 6,   /* a device or its library failed */
  SB_ERROR_FORKED = 7,    /* called in a forked child of the process that made the session */
  SB_ERROR_STATE = 8,     /* called in the wrong order */
  SB_ERROR_INTERNAL = 9   /* a defect of ours */
} SbErrorCode;

#define SB_ERROR (sb_error_quark ())
GQuark sb_error_quark (void);

/* Sets *error (which may be NULL) and returns FALSE, so that a check is one line: return sb_fail (...). */
gboolean sb_fail (GError **error, SbErrorCode code, const char *format, ...) G_GNUC_PRINTF (3, 4);

/* g_strdup_printf whose numbers have a point whatever the host's locale: for warnings. */
char *sb_text (const char *format, ...) G_GNUC_PRINTF (1, 2);
char *sb_text_va (const char *format, va_list args) G_GNUC_PRINTF (1, 0);

/* g_try_malloc_n with our error: what is the thing that did not fit ("the bright-field columns"). */
gpointer sb_alloc (gsize count, gsize size, const char *what, GError **error);

#endif
