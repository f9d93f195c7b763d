#include "plugin/lists.h"

#include <math.h>
#include <string.h>

#include "core/acquisition.h"
#include "core/engine.h"
#include "plugin/command.h"

static const SbParam parameters_rows[] = {
  { .name = "params",
    .title = "Parameter file",
    .unit = "",
    .help = "A JSON file of parameters, or a result whose parameters are used again; what is given beside it "
            "wins.",
    .type = SB_PARAM_PATH,
    .offset = offsetof (SbParametersOptions, params),
    .value = NAN,
    .min = -INFINITY,
    .max = INFINITY,
    .show_min = -INFINITY,
    .show_max = INFINITY,
    .flags = SB_PARAM_ADVANCED | SB_PARAM_NO_RECORD },
};

const SbParamGroup parameters_params = {
  .name = "parameters",
  .title = "Parameters",
  .size = sizeof (SbParametersOptions),
  .rows = parameters_rows,
  .n_rows = G_N_ELEMENTS (parameters_rows),
};

const SbParamGroup *const session_groups[] = { &engine_params, &parameters_params, NULL };
const SbParamGroup *const data_groups[] = { &acquisition_params, &parameters_params, NULL };
const SbParamGroup *const pushed_groups[] = { &acquisition_params, &optics_params, &calibration_params, &parameters_params,
                                              NULL };

const SbParam *
groups_find (const SbParamGroup *const *groups, const char *name, const SbParamGroup **group)
{
  for (; *groups != NULL; groups++)
    for (guint i = 0; i < (*groups)->n_rows; i++)
      if (strcmp ((*groups)->rows[i].name, name) == 0) {
        if (group != NULL)
          *group = *groups;
        return &(*groups)->rows[i];
      }
  return NULL;
}

/* Levenshtein's distance without regard to case and to - or _; of long texts only the beginning counts. */
static guint
edit_distance (const char *a, const char *b)
{
  enum { LONGEST = 48 };
  guint row[LONGEST + 1];
  guint n = (guint)strnlen (b, LONGEST);
  for (guint j = 0; j <= n; j++)
    row[j] = j;
  for (guint i = 0; i < LONGEST && a[i] != '\0'; i++) {
    guint diagonal = row[0];
    row[0] = i + 1;
    for (guint j = 0; j < n; j++) {
      char ca = a[i] == '-' ? '_' : g_ascii_tolower (a[i]);
      char cb = g_ascii_tolower (b[j]);
      guint replaced = diagonal + (ca != cb);
      diagonal = row[j + 1];
      row[j + 1] = MIN (replaced, 1 + MIN (row[j], row[j + 1]));
    }
  }
  return row[n];
}

const SbParam *
groups_nearest (const SbParamGroup *const *groups, const char *name)
{
  const SbParam *nearest = NULL;
  guint least = G_MAXUINT;
  for (; *groups != NULL; groups++)
    for (guint i = 0; i < (*groups)->n_rows; i++) {
      guint distance = edit_distance (name, (*groups)->rows[i].name);
      if (distance < least) {
        least = distance;
        nearest = &(*groups)->rows[i];
      }
    }
  return nearest;
}

char *
groups_owner (const char *name)
{
  if (groups_find (session_groups, name, NULL) != NULL)
    return g_strdup ("the session");
  if (groups_find (data_groups, name, NULL) != NULL)
    return g_strdup ("the data");
  for (guint i = 0; command_registry[i] != NULL; i++)
    if (groups_find (command_registry[i]->groups, name, NULL) != NULL)
      return g_strdup_printf ("the command %s", command_registry[i]->name);
  return NULL;
}
