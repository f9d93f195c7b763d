/* The table of a series: a row an acquisition, whatever became of it. Made of the finished results alone - no times,
 * no order of computing - so that a series that was interrupted ends with the same table. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/batch/inside.h"
#include "core/report.h"

/* What is read out of a result's info, before and after its values. */
typedef struct Column {
  const char *name, *path, *unit, *title;
  gboolean shown; /* where a host has little room */
} Column;

static const Column before[] = {
  { "agreement", "agreement", "", "agreement S", TRUE },
  { "agreement_zero", "agreement_zero", "", "agreement without aberrations", FALSE },
  { "branch", "branch.chosen", "", "branch", FALSE },
  { "skewness", "branch.skewness", "", "skewness of the image", FALSE },
  { "noise_ratio", "noise_ratio", "", "residual over counting noise", FALSE },
};
static const Column after[] = {
  { "centre_row", "calibration.centre.0", "pixels", "disk centre, row", FALSE },
  { "centre_col", "calibration.centre.1", "pixels", "disk centre, column", FALSE },
  { "radius", "calibration.radius", "pixels", "disk radius", FALSE },
  { "sampling", "calibration.sampling", "mrad", "detector sampling", FALSE },
  { "rotation", "calibration.rotation", "deg", "rotation", TRUE },
  { "orientation", "calibration.orientation", "", "orientation", FALSE },
  { "energy", "acquisition.energy", "kV", "energy", FALSE },
  { "semiangle", "acquisition.semiangle", "mrad", "semi-angle", FALSE },
  { "step_row", "acquisition.step.0", "\303\205", "scan step, row", FALSE },
  { "step_col", "acquisition.step.1", "\303\205", "scan step, column", FALSE },
  { "scan_rows", "acquisition.scan_shape.0", "", "scan rows", FALSE },
  { "scan_cols", "acquisition.scan_shape.1", "", "scan columns", FALSE },
  { "bright_field_pixels", "acquisition.bright_field_pixels", "", "bright-field pixels", FALSE },
  { "mean_counts", "acquisition.mean_counts", "", "counts of a bright-field pixel and frame", FALSE },
};

static json_t *
find (json_t *info, const char *path)
{
  g_auto (GStrv) words = g_strsplit (path, ".", -1);
  json_t *at = info;
  for (guint i = 0; at != NULL && words[i] != NULL; i++)
    at = json_is_array (at) ? json_array_get (at, (size_t)atoi (words[i])) : json_object_get (at, words[i]);
  return at;
}

static void
add_column (json_t *columns, const char *name, const char *unit, const char *title, gboolean shown)
{
  json_array_append_new (columns,
                         json_pack ("{s:s, s:s, s:s, s:b}", "name", name, "unit", unit, "title", title, "shown", shown));
}

/* The values that any result has, in their order; owned by the first that has them. */
static json_t *
collect_values (const SbBatch *batch)
{
  json_t *values = json_object ();
  for (guint i = 0; i < batch->items->len; i++) {
    const SbBatchItem *item = batch->items->pdata[i];
    const char *name;
    json_t *entry;
    json_object_foreach (json_object_get (item->info, "values"), name, entry)
      if (json_object_get (values, name) == NULL)
        json_object_set (values, name, entry);
  }
  return values;
}

static void
add_value_columns (json_t *columns, json_t *values)
{
  static const char *const shown[] = { "C10", "C12", "phi12", NULL };
  const char *name;
  json_t *entry;
  json_object_foreach (values, name, entry) {
    const char *unit = json_string_value (json_object_get (entry, "unit"));
    const char *title = json_string_value (json_object_get (entry, "title"));
    g_autofree char *error = g_strconcat (name, "_error", NULL), *spread = g_strconcat (name, "_spread", NULL);
    g_autofree char *noise = g_strconcat (title != NULL ? title : name, ", counting noise", NULL);
    g_autofree char *model = g_strconcat (title != NULL ? title : name, ", model spread", NULL);
    add_column (columns, name, unit != NULL ? unit : "", title != NULL ? title : name, g_strv_contains (shown, name));
    add_column (columns, error, unit != NULL ? unit : "", noise, FALSE);
    add_column (columns, spread, unit != NULL ? unit : "", model, FALSE);
  }
}

static json_t *
make_columns (const SbBatch *batch, json_t *values)
{
  json_t *columns = json_array ();
  add_column (columns, "name", "", "name", TRUE);
  add_column (columns, "status", "", "status", TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (before); i++)
    add_column (columns, before[i].name, before[i].unit, before[i].title, before[i].shown);
  add_value_columns (columns, values);
  for (guint i = 0; i < G_N_ELEMENTS (after); i++)
    add_column (columns, after[i].name, after[i].unit, after[i].title, after[i].shown);
  add_column (columns, "in_stack", "", "in the aligned stack", FALSE);
  add_column (columns, "shift_row", "nm", "drift against the first image, row", TRUE);
  add_column (columns, "shift_col", "nm", "drift against the first image, column", TRUE);
  add_column (columns, "correlation", "", "correlation with the first image", FALSE);
  add_column (columns, "file", "", "acquisition", FALSE);
  add_column (columns, "message", "", "why it failed", FALSE);
  return columns;
}

static void
put (json_t *row, json_t *value)
{
  json_array_append (row, value != NULL ? value : json_null ());
}

static void
put_new (json_t *row, json_t *value)
{
  json_array_append_new (row, value != NULL ? value : json_null ());
}

static json_t *
make_row (const SbBatchItem *item, json_t *values)
{
  static const char *const states[] = { [ITEM_WAITING] = "waiting", [ITEM_DONE] = "done", [ITEM_FAILED] = "failed" };
  json_t *row = json_array ();
  const char *name;
  json_t *entry;
  put_new (row, json_string (item->name));
  put_new (row, json_string (states[item->state]));
  for (guint i = 0; i < G_N_ELEMENTS (before); i++)
    put (row, find (item->info, before[i].path));
  json_object_foreach (values, name, entry) {
    json_t *own = json_object_get (json_object_get (item->info, "values"), name);
    put (row, json_object_get (own, "value"));
    put (row, json_object_get (own, "error"));
    put (row, json_object_get (own, "spread"));
  }
  for (guint i = 0; i < G_N_ELEMENTS (after); i++)
    put (row, find (item->info, after[i].path));
  put_new (row, json_boolean (item->in_stack));
  for (int axis = 0; axis < 2; axis++)
    put_new (row, item->in_stack ? report_number (item->shift[axis]) : json_null ());
  put_new (row, item->in_stack ? report_number (item->correlation) : json_null ());
  g_autofree char *path = g_utf8_make_valid (item->path, -1);
  put_new (row, json_string (path));
  put_new (row, item->message != NULL ? json_string (item->message) : json_null ());
  return row;
}

json_t *
table_make (const SbBatch *batch)
{
  json_t *values = collect_values (batch), *rows = json_array ();
  json_t *columns = make_columns (batch, values);
  for (guint i = 0; i < batch->items->len; i++)
    json_array_append_new (rows, make_row (batch->items->pdata[i], values));
  json_decref (values);
  return json_pack ("{s:o, s:o}", "columns", columns, "rows", rows);
}
