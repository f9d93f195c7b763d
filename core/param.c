#include "core/param.h"

#include <math.h>

static void
set_default (const SbParam *row, gpointer field)
{
  gboolean given = !isnan (row->value);
  switch (row->type) {
  case SB_PARAM_BOOL: *(gboolean *)field = given && row->value != 0; break;
  case SB_PARAM_INT: *(gint64 *)field = given ? (gint64)row->value : 0; break;
  case SB_PARAM_DOUBLE: *(double *)field = row->value; break;
  case SB_PARAM_PAIR: ((double *)field)[0] = ((double *)field)[1] = row->value; break;
  case SB_PARAM_CHOICE:
  case SB_PARAM_TEXT:
  case SB_PARAM_PATH: *(char **)field = g_strdup (row->text); break;
  case SB_PARAM_SHAPE:
    for (guint i = 0; i < 2; i++)
      ((gint64 *)field)[i] = 0;
    break;
  case SB_PARAM_REGION:
    for (guint i = 0; i < 4; i++)
      ((gint64 *)field)[i] = 0;
    break;
  }
}

void
param_group_defaults (const SbParamGroup *group, gpointer options)
{
  for (guint i = 0; i < group->n_rows; i++)
    set_default (&group->rows[i], (char *)options + group->rows[i].offset);
}

void
param_group_clear (const SbParamGroup *group, gpointer options)
{
  for (guint i = 0; i < group->n_rows; i++) {
    SbParamType type = group->rows[i].type;
    if (type == SB_PARAM_CHOICE || type == SB_PARAM_TEXT || type == SB_PARAM_PATH)
      g_clear_pointer ((char **)((char *)options + group->rows[i].offset), g_free);
  }
}

const char *const *
param_choices (const SbParam *row)
{
  return row->choices_from != NULL ? row->choices_from () : row->choices;
}
