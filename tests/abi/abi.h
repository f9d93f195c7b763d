/* What the tests of the public interface share. They use sideband.h only; GLib is here for g_test. */
#ifndef SB_TESTS_ABI_H
#define SB_TESTS_ABI_H

#include <glib.h>
#include <string.h>

#include "sideband.h"

/* The status, with the library's sentence where it is not the one that is expected. */
#define ABI_STATUS(call, expected)                                                                                             \
  do {                                                                                                                         \
    int status_ = (call);                                                                                                      \
    if (status_ != (expected))                                                                                                 \
      g_test_message ("%s: %s", #call, sb_error_message ());                                                                   \
    g_assert_cmpint (status_, ==, (expected));                                                                                 \
  } while (0)

/* A failure of this status whose sentence names what it must and ends as a sentence does. */
#define ABI_FAILS(call, expected, part)                                                                                        \
  do {                                                                                                                         \
    g_assert_cmpint ((call), ==, (expected));                                                                                  \
    abi_check_sentence (sb_error_message (), (part), #call);                                                                   \
  } while (0)

static inline void
abi_check_sentence (const char *sentence, const char *part, const char *call)
{
  if (strstr (sentence, part) == NULL || !g_str_has_suffix (sentence, "."))
    g_test_message ("%s says: %s", call, sentence);
  g_assert_nonnull (strstr (sentence, part));
  g_assert_true (g_str_has_suffix (sentence, "."));
  g_assert_true (g_utf8_validate (sentence, -1, NULL));
  g_assert_cmpint (sentence[0], !=, '.');
}

static inline sb_view
abi_view (void *data, int dtype, int n_dims, int64_t a, int64_t b, int64_t c)
{
  sb_view view = { .struct_size = sizeof (sb_view), .dtype = dtype, .n_dims = n_dims, .shape = { a, b, c }, .data = data };
  return view;
}

#endif
