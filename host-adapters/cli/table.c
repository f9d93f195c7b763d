#include "host-adapters/cli/cli.h"

#include <math.h>
#include <string.h>

enum { N_COLUMNS = 5 }; /* name, value, unit, the same in other words, title */

static double
number_of (const json_t *object, const char *key)
{
  const json_t *value = json_object_get (object, key);
  return json_is_number (value) ? json_number_value (value) : (double)NAN;
}

/* The larger of counting noise and model spread; NAN: held, or not known. */
static double
uncertainty_of (const json_t *entry)
{
  return fmax (number_of (entry, "error"), number_of (entry, "spread"));
}

/* Whether a fact says anything: not nulls, zero counts, long lists or what is inside. */
static gboolean
worth_saying (const json_t *value)
{
  gboolean list = json_is_array (value);
  if (list)
    return json_array_size (value) > 0 && json_array_size (value) <= 4 && !json_is_null (json_array_get (value, 0))
           && !json_is_object (json_array_get (value, 0)) && !json_is_array (json_array_get (value, 0));
  return json_is_real (value) || json_is_string (value) || json_is_true (value)
         || (json_is_integer (value) && json_integer_value (value) != 0);
}

/* "scan shape 50 x 50", with the unit of the parameter of that name, if there is one. */
static char *
fact_text (const json_t *catalog, const char *key, const json_t *value)
{
  /* What results measure and no parameter sets. */
  static const char *const units[][2] = { { "radius", "pixels" }, { "curl_rotation", "deg" } };
  const char *unit = catalog_text (catalog_row_anywhere (catalog, key), "unit");
  for (guint i = 0; i < G_N_ELEMENTS (units); i++)
    unit = strcmp (key, units[i][0]) == 0 ? units[i][1] : unit;
  g_autofree char *words = g_strdelimit (g_strdup (key), "_", ' ');
  g_autofree char *shown = value_text (value, g_str_has_suffix (key, "shape"));
  if (json_is_true (value))
    return g_steal_pointer (&words);
  return g_strdup_printf ("%s %s%s%s", words, shown, unit[0] != '\0' ? " " : "", unit);
}

/* An object's plain facts after its name, in lines of 100. */
static void
append_facts (GString *out, const json_t *catalog, const json_t *info, const char *name)
{
  enum { LINE = 100, COLUMN = 13 };
  glong used = 0;
  const char *key;
  json_t *value;
  json_object_foreach (json_object_get (info, name), key, value) {
    if (!worth_saying (value) || strcmp (key, "warnings") == 0)
      continue;
    g_autofree char *fact = fact_text (catalog, key, value);
    glong length = g_utf8_strlen (fact, -1);
    if (used == 0)
      g_string_append_printf (out, "%-*s", COLUMN, name);
    else if (used + 2 + length > LINE)
      g_string_append_printf (out, ",\n%*s", COLUMN, "");
    else
      g_string_append (out, ", ");
    used = used == 0 || used + 2 + length > LINE ? COLUMN + length : used + 2 + length;
    g_string_append (out, fact);
  }
  if (used > 0)
    g_string_append_c (out, '\n');
}

static void
append_plain (GString *out, const json_t *info, const char *key, const char *before)
{
  const json_t *value = json_object_get (info, key);
  g_autofree char *shown = value_text (value, FALSE);
  if (json_is_number (value) || json_is_string (value))
    g_string_append_printf (out, "%-12s %s%s\n", key, before, shown);
}

/* The same value in the words or the unit that people use: defocus, degrees, micrometres. */
static char *
other_words (const json_t *entry, double value, double uncertainty)
{
  const char *unit = catalog_text (entry, "unit"), *before = "", *other = unit;
  double factor = 1, shown = value;
  if (json_is_number (json_object_get (entry, "defocus"))) {
    before = "defocus ";
    shown = number_of (entry, "defocus");
  } else if (json_is_number (json_object_get (entry, "degrees"))) {
    factor = 180 / G_PI;
    other = "deg";
    shown = number_of (entry, "degrees");
  } else if (strcmp (unit, "nm") == 0 && fabs (value) >= 1e3) {
    factor = fabs (value) >= 1e6 ? 1e-6 : 1e-3;
    other = fabs (value) >= 1e6 ? "mm" : "\302\265m";
    shown = value * factor;
  } else {
    return g_strdup ("");
  }
  g_autofree char *number = number_with_uncertainty (shown + 0.0, uncertainty * factor);
  return g_strdup_printf ("%s%s %s", before, number, other);
}

static char **
value_row (const char *name, const json_t *entry)
{
  gboolean held = json_is_true (json_object_get (entry, "held"));
  double value = number_of (entry, "value"), uncertainty = held ? (double)NAN : uncertainty_of (entry);
  char **cells = g_new0 (char *, N_COLUMNS + 1);
  g_autofree char *words = other_words (entry, value, uncertainty);
  cells[0] = g_strdup (name);
  cells[1] = number_with_uncertainty (value, uncertainty);
  cells[2] = g_strdup (catalog_text (entry, "unit"));
  cells[3] = held ? g_strconcat (words, words[0] != '\0' ? ", held" : "held", NULL) : g_strdup (words);
  cells[4] = g_strdup (catalog_text (entry, "title"));
  return cells;
}

static void
append_cell (GString *out, const char *text, glong width, gboolean right)
{
  int blanks = (int)MAX (width - g_utf8_strlen (text, -1), 0);
  g_string_append_printf (out, "%*s", right ? blanks : 0, "");
  g_string_append (out, text);
  g_string_append_printf (out, "%*s  ", right ? 0 : blanks, "");
}

static void
append_values (GString *out, const json_t *values)
{
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func ((GDestroyNotify)g_strfreev);
  glong width[N_COLUMNS] = { 0 };
  const char *name;
  json_t *entry;
  json_object_foreach ((json_t *)values, name, entry) {
    char **cells = value_row (name, entry);
    g_ptr_array_add (rows, cells);
    for (int c = 0; c < N_COLUMNS; c++)
      width[c] = MAX (width[c], g_utf8_strlen (cells[c], -1));
  }
  for (guint i = 0; i < rows->len; i++) {
    char **cells = g_ptr_array_index (rows, i);
    for (int c = 0; c < N_COLUMNS; c++)
      append_cell (out, cells[c], width[c], c == 1);
    while (out->len > 0 && out->str[out->len - 1] == ' ')
      g_string_truncate (out, out->len - 1);
    g_string_append_c (out, '\n');
  }
}

/* What the table means, each thing once: the uncertainty, what was held, the sign that programs disagree about. */
static void
append_conventions (GString *out, const json_t *values)
{
  gboolean spread = FALSE, fitted = FALSE, held = FALSE;
  const char *name;
  json_t *entry;
  json_object_foreach ((json_t *)values, name, entry) {
    spread = spread || json_is_number (json_object_get (entry, "spread"));
    fitted = fitted || json_is_number (json_object_get (entry, "error"));
    held = held || json_is_true (json_object_get (entry, "held"));
  }
  g_string_append_c (out, '\n');
  if (fitted || spread)
    g_string_append_printf (out, "value \302\261 %s\n",
                            spread ? "the larger of counting noise and model spread"
                                   : "counting noise; what the model leaves out is not in it");
  if (held)
    g_string_append (out, "held: given or taken over, not fitted\n");
  json_object_foreach ((json_t *)values, name, entry) {
    if (json_object_get (entry, "defocus") != NULL)
      g_string_append_printf (out, "signs: %s = -10 nm is a defocus of +10 nm, which is underfocus\n", name);
  }
  g_string_append_c (out, '\n');
}

static void
append_files (GString *out, const json_t *files)
{
  size_t i;
  json_t *file;
  json_array_foreach (files, i, file)
    g_string_append_printf (out, "%-12s %s\n", i == 0 ? "files" : "", json_string_value (file));
}

char *
table_text (const json_t *catalog, const json_t *info)
{
  GString *out = g_string_new (NULL);
  const json_t *values = json_object_get (info, "values");
  append_facts (out, catalog, info, "acquisition");
  append_facts (out, catalog, info, "calibration");
  append_facts (out, catalog, info, "image");
  append_plain (out, info, "agreement", "S = ");
  append_facts (out, catalog, info, "branch");
  append_facts (out, catalog, info, "series");
  append_facts (out, catalog, info, "stack");
  append_facts (out, catalog, info, "predicted");
  append_facts (out, catalog, info, "seconds");
  if (json_object_size (values) > 0) {
    g_string_append_c (out, '\n');
    append_values (out, values);
    append_conventions (out, values);
  }
  append_grid (out, json_object_get (info, "table"));
  append_files (out, json_object_get (info, "files"));
  return g_string_free (out, FALSE);
}
