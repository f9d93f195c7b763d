#include "plugin/check.h"

#include <math.h>
#include <string.h>

#include "core/error.h"

enum { LONGEST_BRIEF = 60, MOST_NUMBERS = 4 };

char *
check_brief (const json_t *value)
{
  char *dumped = json_dumps (value, JSON_ENCODE_ANY | JSON_COMPACT);
  g_autofree char *text = g_strdup (dumped != NULL ? dumped : "?");
  free (dumped);
  if (g_utf8_strlen (text, -1) <= LONGEST_BRIEF)
    return g_steal_pointer (&text);
  g_autofree char *start = g_utf8_substring (text, 0, LONGEST_BRIEF);
  return g_strconcat (start, "...", NULL);
}

/* " mrad" or "" */
static const char *
unit_of (const SbParam *row, char buffer[32])
{
  if (row->unit == NULL || row->unit[0] == '\0')
    return "";
  g_snprintf (buffer, 32, " %s", row->unit);
  return buffer;
}

/* How numbers are said in messages, whatever the host's locale. */
static const char *
number_text (double value, char buffer[G_ASCII_DTOSTR_BUF_SIZE])
{
  return g_ascii_formatd (buffer, G_ASCII_DTOSTR_BUF_SIZE, "%.10g", value);
}

static gboolean
fail_type (const SbParam *row, const json_t *value, const char *wanted, GError **error)
{
  g_autofree char *brief = check_brief (value);
  char unit[32];
  return sb_fail (error, SB_ERROR_ARGUMENT, "%s is %s; it must be %s%s%s.", row->name, brief, wanted,
                  row->unit != NULL && row->unit[0] != '\0' ? " in" : "", unit_of (row, unit));
}

static gboolean
check_range (const SbParam *row, double value, GError **error)
{
  if (value >= row->min && value <= row->max)
    return TRUE;
  char at[G_ASCII_DTOSTR_BUF_SIZE], low[G_ASCII_DTOSTR_BUF_SIZE], high[G_ASCII_DTOSTR_BUF_SIZE], unit[32];
  number_text (value, at);
  number_text (row->min, low);
  number_text (row->max, high);
  const char *shown = unit_of (row, unit);
  if (isinf (row->max))
    return sb_fail (error, SB_ERROR_ARGUMENT, "%s is %s%s; it must be at least %s%s.", row->name, at, shown, low, shown);
  if (isinf (row->min))
    return sb_fail (error, SB_ERROR_ARGUMENT, "%s is %s%s; it must be at most %s%s.", row->name, at, shown, high, shown);
  return sb_fail (error, SB_ERROR_ARGUMENT, "%s is %s%s; it must be between %s and %s%s.", row->name, at, shown, low, high,
                  shown);
}

static gboolean
check_choice (const SbParam *row, const char *text, GError **error)
{
  const char *const *choices = param_choices (row);
  if (choices != NULL && g_strv_contains (choices, text))
    return TRUE;
  g_autofree char *list = choices != NULL ? g_strjoinv (", ", (char **)choices) : g_strdup ("");
  g_autofree char *shown = g_utf8_substring (text, 0, MIN (g_utf8_strlen (text, -1), LONGEST_BRIEF));
  return sb_fail (error, SB_ERROR_ARGUMENT, "%s is \"%s\"; it must be one of: %s.", row->name, shown, list);
}

/* "1.5,-2" -> numbers. Only plain decimal numbers, one comma between two: no nan, inf or hexadecimal. */
static gboolean
parse_numbers (const char *text, double *numbers, guint *n)
{
  if (strspn (text, "0123456789+-.eE, ") != strlen (text))
    return FALSE;
  for (*n = 0; *n < MOST_NUMBERS;) {
    char *end;
    double number = g_ascii_strtod (text, &end);
    if (end == text || !isfinite (number))
      return FALSE;
    numbers[(*n)++] = number;
    end += strspn (end, " ");
    if (*end == '\0')
      return TRUE;
    if (*end != ',')
      return FALSE;
    text = end + 1;
  }
  return FALSE;
}

/* The numbers of a PAIR, SHAPE or REGION: a number, an array of numbers or their text. FALSE: none of these.
 */
static gboolean
read_numbers (const json_t *value, double *numbers, guint *n)
{
  if (json_is_string (value))
    return parse_numbers (json_string_value (value), numbers, n);
  if (json_is_number (value)) {
    numbers[0] = json_number_value (value);
    *n = 1;
    return TRUE;
  }
  *n = (guint)MIN (json_array_size (value), MOST_NUMBERS + 1);
  if (!json_is_array (value) || *n > MOST_NUMBERS)
    return FALSE;
  for (guint i = 0; i < *n; i++) {
    const json_t *item = json_array_get (value, i);
    if (!json_is_number (item))
      return FALSE;
    numbers[i] = json_number_value (item);
  }
  return TRUE;
}

static gboolean
store_pair (const SbParam *row, const json_t *value, double *field, GError **error)
{
  double numbers[MOST_NUMBERS];
  guint n;
  if (!read_numbers (value, numbers, &n) || (n != 1 && n != 2))
    return fail_type (row, value, "one number or [row, col]", error);
  if (n == 1)
    numbers[1] = numbers[0];
  if (!check_range (row, numbers[0], error) || !check_range (row, numbers[1], error))
    return FALSE;
  memcpy (field, numbers, 2 * sizeof (double));
  return TRUE;
}

static gboolean
store_integers (const SbParam *row, const json_t *value, guint count, gint64 *field, GError **error)
{
  const char *wanted = count == 2 ? "[rows, cols] in whole numbers" : "[row, col, rows, cols] in whole numbers";
  double numbers[MOST_NUMBERS];
  guint n;
  if (!read_numbers (value, numbers, &n) || n != count)
    return fail_type (row, value, wanted, error);
  for (guint i = 0; i < n; i++) {
    if (numbers[i] != floor (numbers[i]) || fabs (numbers[i]) > 9e15)
      return fail_type (row, value, wanted, error);
    if (!check_range (row, numbers[i], error))
      return FALSE;
  }
  for (guint i = 0; i < n; i++)
    field[i] = (gint64)numbers[i];
  return TRUE;
}

static gboolean
store_text (const SbParam *row, const json_t *value, char **field, GError **error)
{
  const char *text = json_string_value (value);
  if (text == NULL)
    return fail_type (row, value, row->type == SB_PARAM_PATH ? "the path of a file or folder" : "a text", error);
  if (row->type == SB_PARAM_CHOICE && !check_choice (row, text, error))
    return FALSE;
  g_free (*field);
  *field = g_strdup (text);
  return TRUE;
}

static gboolean
store_number (const SbParam *row, const json_t *value, gpointer field, GError **error)
{
  if (row->type == SB_PARAM_INT && !json_is_integer (value))
    return fail_type (row, value, "a whole number", error);
  if (!json_is_number (value) || !isfinite (json_number_value (value)))
    return fail_type (row, value, "a number", error);
  if (!check_range (row, json_number_value (value), error))
    return FALSE;
  if (row->type == SB_PARAM_INT)
    *(gint64 *)field = json_integer_value (value);
  else
    *(double *)field = json_number_value (value);
  return TRUE;
}

gboolean
check_value (const SbParam *row, const json_t *value, gpointer field, GError **error)
{
  gboolean empty = json_is_string (value) && json_string_length (value) == 0;
  if (json_is_null (value))
    return TRUE;
  switch (row->type) {
  case SB_PARAM_BOOL:
    if (!json_is_boolean (value))
      return fail_type (row, value, "true or false", error);
    *(gboolean *)field = json_is_true (value);
    return TRUE;
  case SB_PARAM_INT:
  case SB_PARAM_DOUBLE: return store_number (row, value, field, error);
  case SB_PARAM_CHOICE: return store_text (row, value, field, error);
  case SB_PARAM_TEXT:
  case SB_PARAM_PATH: return empty || store_text (row, value, field, error);
  case SB_PARAM_PAIR: return empty || store_pair (row, value, field, error);
  case SB_PARAM_SHAPE: return empty || store_integers (row, value, 2, field, error);
  case SB_PARAM_REGION: return empty || store_integers (row, value, 4, field, error);
  }
  return sb_fail (error, SB_ERROR_INTERNAL, "The row %s has a type that is not known.", row->name);
}

static json_t *
integers_to_json (const gint64 *field, guint n)
{
  gboolean given = FALSE;
  json_t *array = json_array ();
  for (guint i = 0; i < n; i++) {
    given |= field[i] != 0;
    json_array_append_new (array, json_integer (field[i]));
  }
  if (!given)
    g_clear_pointer (&array, json_decref);
  return array;
}

json_t *
check_to_json (const SbParam *row, gconstpointer field)
{
  const double *numbers = field;
  switch (row->type) {
  case SB_PARAM_BOOL: return json_boolean (*(const gboolean *)field);
  case SB_PARAM_INT: return json_integer (*(const gint64 *)field);
  case SB_PARAM_DOUBLE: return isfinite (*numbers) ? json_real (*numbers) : NULL;
  case SB_PARAM_CHOICE:
  case SB_PARAM_TEXT:
  case SB_PARAM_PATH: return *(char *const *)field != NULL ? json_string (*(char *const *)field) : NULL;
  case SB_PARAM_PAIR:
    return isfinite (numbers[0]) && isfinite (numbers[1]) ? json_pack ("[f, f]", numbers[0], numbers[1]) : NULL;
  case SB_PARAM_SHAPE: return integers_to_json (field, 2);
  case SB_PARAM_REGION: return integers_to_json (field, 4);
  }
  return NULL;
}
