#include "host-adapters/cli/cli.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static gboolean
bad_value (const json_t *row, const char *text, const char *wanted, GError **error)
{
  g_autofree char *option = g_strdelimit (g_strdup (catalog_text (row, "name")), "_", '-');
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "--%s takes %s, not \"%s\".", option, wanted, text);
  return FALSE;
}

static gboolean
parse_integer (const char *text, json_int_t *out)
{
  char *end;
  errno = 0;
  gint64 value = g_ascii_strtoll (text, &end, 10);
  *out = value;
  return end != text && *end == '\0' && errno == 0;
}

static gboolean
parse_double (const char *text, double *out)
{
  char *end;
  errno = 0;
  *out = g_ascii_strtod (text, &end);
  return end != text && *end == '\0' && isfinite (*out);
}

/* "50,50" or "50x50" as an array of n numbers. */
static json_t *
parse_list (const char *text, guint n, gboolean integers)
{
  g_auto (GStrv) words = g_strsplit_set (text, ",x", -1);
  if (g_strv_length (words) != n)
    return NULL;
  json_t *list = json_array ();
  for (guint i = 0; i < n; i++) {
    json_int_t integer = 0;
    double number = 0;
    const char *word = g_strstrip (words[i]);
    if (integers ? !parse_integer (word, &integer) : !parse_double (word, &number)) {
      json_decref (list);
      return NULL;
    }
    json_array_append_new (list, integers ? json_integer (integer) : json_real (number));
  }
  return list;
}

static char *
join_choices (const json_t *row, const char *separator)
{
  GString *text = g_string_new (NULL);
  size_t i;
  json_t *choice;
  json_array_foreach (json_object_get (row, "choices"), i, choice)
    g_string_append_printf (text, "%s%s", i > 0 ? separator : "", json_string_value (choice));
  return g_string_free (text, FALSE);
}

static gboolean
parse_choice (const json_t *row, const char *text, json_t **out, GError **error)
{
  size_t i;
  json_t *choice;
  json_array_foreach (json_object_get (row, "choices"), i, choice) {
    if (g_strcmp0 (json_string_value (choice), text) == 0) {
      *out = json_string (text);
      return TRUE;
    }
  }
  g_autofree char *choices = join_choices (row, ", ");
  g_autofree char *wanted = g_strdup_printf ("one of %s", choices);
  return bad_value (row, text, wanted, error);
}

static gboolean
parse_number (const json_t *row, const char *type, const char *text, json_t **out, GError **error)
{
  json_int_t integer;
  double number;
  if (strcmp (text, "auto") == 0)
    return TRUE;
  if (strcmp (type, "int") == 0) {
    if (!parse_integer (text, &integer))
      return bad_value (row, text, "a whole number", error);
    *out = json_integer (integer);
  } else if (strcmp (type, "double") == 0) {
    if (!parse_double (text, &number))
      return bad_value (row, text, "a number", error);
    *out = json_real (number);
  } else if (strcmp (type, "pair") == 0) {
    *out = parse_double (text, &number) ? json_real (number) : parse_list (text, 2, FALSE);
    if (*out == NULL)
      return bad_value (row, text, "a number or two, ROW,COL", error);
  } else if (strcmp (type, "shape") == 0) {
    if ((*out = parse_list (text, 2, TRUE)) == NULL)
      return bad_value (row, text, "two whole numbers, ROWS,COLS", error);
  } else if ((*out = parse_list (text, 4, TRUE)) == NULL) {
    return bad_value (row, text, "four whole numbers, ROW,COL,ROWS,COLS", error);
  }
  return TRUE;
}

gboolean
value_parse (const json_t *row, const char *text, json_t **out, GError **error)
{
  const char *type = catalog_text (row, "type");
  *out = NULL;
  if (strcmp (type, "choice") == 0)
    return parse_choice (row, text, out, error);
  if (strcmp (type, "text") != 0 && strcmp (type, "path") != 0)
    return parse_number (row, type, text, out, error);
  *out = json_string (text);
  return *out != NULL || bad_value (row, "(bytes that are not UTF-8)", "text in UTF-8", error);
}

char *
value_placeholder (const json_t *row)
{
  static const char *const names[][2] = {
    { "int", "N" },     { "double", "X" }, { "pair", "X[,X]" }, { "shape", "ROWS,COLS" }, { "region", "ROW,COL,ROWS,COLS" },
    { "text", "TEXT" }, { "path", "PATH" }
  };
  const char *type = catalog_text (row, "type");
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    if (strcmp (type, names[i][0]) == 0)
      return g_strdup (names[i][1]);
  }
  return strcmp (type, "choice") == 0 ? join_choices (row, "|") : g_strdup ("VALUE");
}

char *
value_text (const json_t *value, gboolean shape)
{
  if (json_is_string (value))
    return g_strdup (json_string_value (value));
  if (json_is_boolean (value))
    return g_strdup (json_is_true (value) ? "yes" : "no");
  if (json_is_integer (value))
    return g_strdup_printf ("%" JSON_INTEGER_FORMAT, json_integer_value (value));
  if (json_is_real (value)) {
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    return g_strdup (g_ascii_formatd (number, sizeof number, "%.5g", json_real_value (value)));
  }
  if (!json_is_array (value))
    return g_strdup ("none");
  GString *text = g_string_new (shape ? "" : "(");
  size_t i;
  json_t *element;
  json_array_foreach (value, i, element) {
    g_autofree char *word = value_text (element, shape);
    g_string_append_printf (text, "%s%s", i == 0 ? "" : shape ? " x " : ", ", word);
  }
  return g_string_free (g_string_append (text, shape ? "" : ")"), FALSE);
}
