/* A locale with a decimal comma, as hosts set one. */
#ifndef SB_TESTS_COMMA_LOCALE_H
#define SB_TESTS_COMMA_LOCALE_H

#include <glib.h>

/* The machine's, or one made for this process; FALSE where neither is to be had. Undone by setlocale (LC_ALL, "C"). */
gboolean set_comma_locale (void);

#endif
