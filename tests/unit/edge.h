/* What the tests of data at the edge of what can be used share. */
#ifndef SB_TESTS_UNIT_EDGE_H
#define SB_TESTS_UNIT_EDGE_H

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "tests/unit/pipeline_scene.h"

static inline SbEngine *
engine_of_two (void)
{
  SbEngineOptions options;
  GError *error = NULL;
  param_group_defaults (&engine_params, &options);
  g_free (options.backend);
  options.backend = g_strdup ("cpu");
  options.threads = 2;
  SbEngine *engine = engine_new (&options, &error);
  g_assert_no_error (error);
  param_group_clear (&engine_params, &options);
  return engine;
}

/* One sentence that says all of it, and no number that is none. */
static inline void
assert_sentence (const GError *error, const char *const *says)
{
  g_assert_nonnull (error);
  g_assert_true (error->domain == SB_ERROR);
  g_test_message ("%s", error->message);
  g_assert_cmpint (error->code, !=, SB_ERROR_INTERNAL);
  if (!g_str_has_suffix (error->message, ".") || strchr (error->message, '\n') != NULL || strstr (error->message, "nan") != NULL
      || strstr (error->message, "inf ") != NULL)
    g_error ("\"%s\" is no sentence", error->message);
  for (int i = 0; says[i] != NULL; i++)
    if (strstr (error->message, says[i]) == NULL)
      g_error ("\"%s\" does not say \"%s\"", error->message, says[i]);
}

typedef SbResult *(*Command) (SbWork *, const SbPipelineOptions *, SbProgress *, GError **);

/* JSON holds no NaN; every sample of every array must be a number as well. */
static inline void
assert_finite (const SbResult *result)
{
  for (guint i = 0; i < result->arrays->len; i++) {
    const SbArray *array = g_ptr_array_index (result->arrays, i);
    for (gint64 k = 0; !array->bytes && k < array_size (array); k++)
      if (!isfinite (array->data[k]))
        g_error ("%s[%d] is not finite", array->name, (int)k);
  }
}

#endif
