#include "host-adapters/cli/cli.h"

static char *
cell_text (const json_t *cell)
{
  return json_is_null (cell) ? g_strdup ("") : value_text (cell, FALSE);
}

/* Name and unit of a column: "C10 nm". */
static char *
head_text (const json_t *column)
{
  const char *unit = catalog_text (column, "unit");
  return g_strconcat (catalog_text (column, "name"), unit[0] != '\0' ? " " : "", unit, NULL);
}

static glong
width_of (const json_t *table, gsize column)
{
  g_autofree char *head = head_text (json_array_get (json_object_get (table, "columns"), column));
  glong width = g_utf8_strlen (head, -1);
  size_t i;
  json_t *row;
  json_array_foreach (json_object_get (table, "rows"), i, row) {
    g_autofree char *text = cell_text (json_array_get (row, column));
    width = MAX (width, g_utf8_strlen (text, -1));
  }
  return width;
}

/* Numbers to the right, like their heads; the last cell of a line without blanks behind it. */
static void
append_cell (GString *out, const char *text, glong width, gboolean right)
{
  int blanks = (int)MAX (width - g_utf8_strlen (text, -1), 0);
  g_string_append_printf (out, "%*s%s%*s  ", right ? blanks : 0, "", text, right ? 0 : blanks, "");
}

static gboolean
is_number_column (const json_t *table, gsize column)
{
  size_t i;
  json_t *row;
  json_array_foreach (json_object_get (table, "rows"), i, row) {
    if (json_is_string (json_array_get (row, column)))
      return FALSE;
  }
  return TRUE;
}

/* row NULL: the heads. */
static void
append_row (GString *out, const json_t *table, const json_t *row)
{
  size_t i;
  json_t *column;
  json_array_foreach (json_object_get (table, "columns"), i, column) {
    if (!json_is_true (json_object_get (column, "shown")))
      continue;
    g_autofree char *text = row != NULL ? cell_text (json_array_get (row, i)) : head_text (column);
    append_cell (out, text, width_of (table, i), is_number_column (table, i));
  }
  while (out->len > 0 && out->str[out->len - 1] == ' ')
    g_string_truncate (out, out->len - 1);
  g_string_append_c (out, '\n');
}

void
append_grid (GString *out, const json_t *table)
{
  size_t i;
  json_t *row;
  if (!json_is_object (table))
    return;
  g_string_append_c (out, '\n');
  append_row (out, table, NULL);
  json_array_foreach (json_object_get (table, "rows"), i, row)
    append_row (out, table, row);
  g_string_append_c (out, '\n');
}
