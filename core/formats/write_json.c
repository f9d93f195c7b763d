/* The fit as JSON: the object that `sideband run --json` prints. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/result.h"

/* The shortest of 15, 16, 17 digits that reads back to the same bits, whatever the host's locale. */
static void
append_real (GString *text, double value)
{
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];
  static const char *const formats[] = { "%.15g", "%.16g", "%.17g" };
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++) {
    g_ascii_formatd (buffer, sizeof buffer, formats[i], value);
    if (g_ascii_strtod (buffer, NULL) == value)
      break;
  }
  g_string_append (text, buffer);
  if (strpbrk (buffer, ".e") == NULL) /* stays a real number when it is read again */
    g_string_append (text, ".0");
}

static gboolean
append_scalar (GString *text, const json_t *json)
{
  if (json_is_real (json) && isfinite (json_real_value (json))) {
    append_real (text, json_real_value (json));
    return TRUE;
  }
  char *dumped = json_dumps (json, JSON_ENCODE_ANY);
  if (dumped == NULL)
    return FALSE;
  g_string_append (text, dumped);
  free (dumped);
  return TRUE;
}

static void
append_line (GString *text, int depth)
{
  if (depth >= 0)
    g_string_append_printf (text, "\n%*s", 2 * depth, "");
}

static gboolean
all_scalar (const json_t *array)
{
  for (gsize i = 0; i < json_array_size (array); i++) {
    json_t *item = json_array_get (array, i);
    if (json_is_object (item) || json_is_array (item))
      return FALSE;
  }
  return TRUE;
}

static gboolean append_value (GString *text, json_t *json, int depth);

/* depth -1: all on one line. Lists of numbers stay on one line anyhow: [36.0, 36.0]. */
static gboolean
append_array (GString *text, json_t *array, int depth)
{
  int inner = depth < 0 || all_scalar (array) ? -1 : depth + 1;
  g_string_append_c (text, '[');
  for (gsize i = 0; i < json_array_size (array); i++) {
    if (i > 0)
      g_string_append (text, inner < 0 ? ", " : ",");
    append_line (text, inner);
    if (!append_value (text, json_array_get (array, i), inner))
      return FALSE;
  }
  if (inner >= 0 && json_array_size (array) > 0)
    append_line (text, depth);
  g_string_append_c (text, ']');
  return TRUE;
}

static gboolean
append_object (GString *text, json_t *object, int depth)
{
  int inner = depth < 0 ? -1 : depth + 1;
  const char *key;
  json_t *item;
  gboolean first = TRUE;
  g_string_append_c (text, '{');
  json_object_foreach (object, key, item) {
    json_t *name = json_string (key);
    if (!first)
      g_string_append (text, inner < 0 ? ", " : ",");
    append_line (text, inner);
    gboolean good = name != NULL && append_scalar (text, name);
    json_decref (name);
    g_string_append (text, ": ");
    if (!good || !append_value (text, item, inner))
      return FALSE;
    first = FALSE;
  }
  if (!first)
    append_line (text, depth);
  g_string_append_c (text, '}');
  return TRUE;
}

static gboolean
append_value (GString *text, json_t *json, int depth)
{
  if (json_is_object (json))
    return append_object (text, json, depth);
  if (json_is_array (json))
    return append_array (text, json, depth);
  return append_scalar (text, json);
}

char *
json_text (const json_t *json, gboolean indented)
{
  g_autoptr (GString) text = g_string_new (NULL);
  if (!append_value (text, (json_t *)json, indented ? 0 : -1))
    return NULL;
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static gboolean
write_json (const SbResult *result, const char *path, GError **error)
{
  g_autofree char *text = json_text (result->info, TRUE);
  if (text == NULL)
    return sb_fail (error, SB_ERROR_MEMORY, "no memory for its text; close other programs");
  g_autofree char *whole = g_strconcat (text, "\n", NULL);
  return save_bytes (path, whole, strlen (whole), error);
}

static gboolean
ours (const char *path)
{
  json_t *json = json_load_file (path, 0, NULL);
  gboolean found = json_is_string (json_object_get (json, "version"))
                   && (json_is_object (json_object_get (json, "calibration"))
                       || json_is_object (json_object_get (json, "values")));
  json_decref (json);
  return found;
}

static gboolean
applies_fit (const SbResult *result)
{
  return json_object_get (result->info, "values") != NULL;
}

const SbWriter writer_json = {
  .name = "json",
  .suffix = "_fit.json",
  .applies = applies_fit,
  .write = write_json,
  .ours = ours,
};

const SbWriter writer_calibration_json = {
  .name = "calibration_json",
  .suffix = "_calibration.json",
  .applies = result_is_calibration,
  .write = write_json,
  .ours = ours,
};
