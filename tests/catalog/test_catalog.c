/* Every row of every list: what hosts build dialogs, options and help from must hold together; and sb_catalog
 * says it. */
#include <math.h>
#include <string.h>

#include <jansson.h>

#include "core/reconstruct.h"
#include "core/result.h"
#include "plugin/check.h"
#include "plugin/command.h"
#include "plugin/sideband.h"

typedef void (*RowCheck) (const SbParamGroup *group, const SbParam *row);

static void
each_row (const SbParamGroup *const *groups, RowCheck check)
{
  for (; *groups != NULL; groups++)
    for (guint i = 0; i < (*groups)->n_rows; i++)
      check (*groups, &(*groups)->rows[i]);
}

static void
every_row (RowCheck check)
{
  each_row (session_groups, check);
  each_row (data_groups, check);
  for (guint i = 0; command_registry[i] != NULL; i++)
    each_row (command_registry[i]->groups, check);
}

static gboolean
is_name (const char *name)
{
  return name != NULL && g_ascii_islower (name[0]) && strspn (name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen (name);
}

/* One sentence a reader can be shown: capital first, full stop last. */
static void
check_sentence (const char *owner, const char *sentence)
{
  if (sentence == NULL || !g_str_has_suffix (sentence, ".") || g_ascii_islower (sentence[0]))
    g_test_message ("%s: help \"%s\"", owner, sentence != NULL ? sentence : "(NULL)");
  g_assert_nonnull (sentence);
  g_assert_true (g_str_has_suffix (sentence, "."));
  g_assert_false (g_ascii_islower (sentence[0]));
  g_assert_cmpuint (strlen (sentence), <=, 200);
  g_assert_true (g_utf8_validate (sentence, -1, NULL));
}

static void
check_text (const SbParamGroup *group, const SbParam *row)
{
  if (!is_name (row->name))
    g_test_message ("group %s: name \"%s\"", group->name, row->name != NULL ? row->name : "(NULL)");
  g_assert_true (is_name (row->name));
  g_assert_true (row->title != NULL && row->title[0] != '\0' && !g_str_has_suffix (row->title, "."));
  g_assert_nonnull (row->unit);
  check_sentence (row->name, row->help);
}

static gboolean
is_numeric (const SbParam *row)
{
  return row->type == SB_PARAM_INT || row->type == SB_PARAM_DOUBLE || row->type == SB_PARAM_PAIR || row->type == SB_PARAM_SHAPE
         || row->type == SB_PARAM_REGION;
}

static gsize
field_size (SbParamType type)
{
  static const gsize sizes[] = {
    [SB_PARAM_BOOL] = sizeof (gboolean),   [SB_PARAM_INT] = sizeof (gint64),       [SB_PARAM_DOUBLE] = sizeof (double),
    [SB_PARAM_CHOICE] = sizeof (char *),   [SB_PARAM_TEXT] = sizeof (char *),      [SB_PARAM_PATH] = sizeof (char *),
    [SB_PARAM_PAIR] = 2 * sizeof (double), [SB_PARAM_SHAPE] = 2 * sizeof (gint64), [SB_PARAM_REGION] = 4 * sizeof (gint64),
  };
  g_assert_cmpuint (type, <, G_N_ELEMENTS (sizes));
  return sizes[type];
}

/* No field reaches out of its struct or into another row's. */
static void
check_field (const SbParamGroup *group, const SbParam *row)
{
  gsize size = field_size (row->type);
  g_assert_cmpuint (row->offset + size, <=, group->size);
  for (guint i = 0; i < group->n_rows; i++) {
    const SbParam *other = &group->rows[i];
    if (other != row && other->offset < row->offset + size && row->offset < other->offset + field_size (other->type))
      g_error ("%s and %s share a field of %s", row->name, other->name, group->name);
  }
}

static void
check_ranges (const SbParamGroup *group, const SbParam *row)
{
  if (!is_numeric (row))
    return;
  g_test_message ("%s.%s: default %g in [%g, %g], shown [%g, %g]", group->name, row->name, row->value, row->min, row->max,
                  row->show_min, row->show_max);
  g_assert_cmpfloat (row->min, <, row->max);
  g_assert_true (isnan (row->value) || (row->value >= row->min && row->value <= row->max));
  if (isfinite (row->show_min) && isfinite (row->show_max)) {
    g_assert_cmpfloat (row->show_min, <=, row->show_max);
    g_assert_cmpfloat (row->show_min, >=, row->min);
    g_assert_cmpfloat (row->show_max, <=, row->max);
  }
}

static void
check_choices (const SbParamGroup *group, const SbParam *row)
{
  const char *const *choices = param_choices (row);
  g_assert_true ((row->type == SB_PARAM_CHOICE) == (choices != NULL));
  if (choices == NULL)
    return;
  g_assert_cmpuint (g_strv_length ((char **)choices), >=, 2);
  g_assert_nonnull (row->text);
  g_assert_true (g_strv_contains (choices, row->text));
  for (guint i = 0; choices[i] != NULL; i++)
    g_assert_false (g_strv_contains (choices + i + 1, choices[i]));
}

/* The default, said in JSON, is accepted and comes back the same. */
static void
check_round_trip (const SbParamGroup *group, const SbParam *row)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *options = g_malloc0 (group->size), *again = g_malloc0 (group->size);
  param_group_defaults (group, options);
  json_t *value = check_to_json (row, options + row->offset);
  if (value != NULL) {
    gboolean stored = check_value (row, value, again + row->offset, &error);
    g_assert_no_error (error);
    g_assert_true (stored);
    json_t *back = check_to_json (row, again + row->offset);
    g_assert_true (json_equal (value, back));
    json_decref (back);
  }
  json_decref (value);
  param_group_clear (group, options);
  param_group_clear (group, again);
}

static GHashTable *seen;

static void
check_unique (const SbParamGroup *group, const SbParam *row)
{
  const SbParam *before = g_hash_table_lookup (seen, row->name);
  if (before != NULL && before != row)
    g_error ("two rows have the name %s", row->name);
  g_hash_table_insert (seen, (gpointer)row->name, (gpointer)row);
}

static void
test_rows (gconstpointer check)
{
  every_row (*(const RowCheck *)check);
}

static void
test_unique (void)
{
  seen = g_hash_table_new (g_str_hash, g_str_equal);
  every_row (check_unique);
  g_assert_cmpuint (g_hash_table_size (seen), >=, 30);
  g_clear_pointer (&seen, g_hash_table_unref);
}

static void
test_registries (void)
{
  static const char *const contract[] = { "info", "calibrate", "fit", "reconstruct", "run" };
  for (guint i = 0; i < G_N_ELEMENTS (contract); i++)
    g_assert_nonnull (command_find (contract[i]));
  for (guint i = 0; command_registry[i] != NULL; i++) {
    const SbCommand *command = command_registry[i];
    g_assert_true (is_name (command->name));
    check_sentence (command->name, command->help);
    g_assert_true (command_find (command->name) == command);
    g_assert_true (command->run != NULL && command->title[0] != '\0');
  }
  for (guint i = 0; method_registry[i] != NULL; i++) {
    g_assert_true (is_name (method_registry[i]->name));
    check_sentence (method_registry[i]->name, method_registry[i]->help);
    g_assert_true (g_strv_contains (method_names (), method_registry[i]->name));
  }
  for (guint i = 0; format_registry[i] != NULL; i++)
    g_assert_true (is_name (format_registry[i]->name) && format_registry[i]->title[0] != '\0');
  for (guint i = 0; writer_registry[i] != NULL; i++)
    g_assert_true (is_name (writer_registry[i]->name) && strchr (writer_registry[i]->suffix, '.') != NULL);
}

/* The names of the contract at the shell exist; hosts rely on them. */
static void
test_contract (void)
{
  static const char *const names[] = {
    "energy", "semiangle",          "step",           "centre",       "sampling", "rotation", "orientation",
    "method", "upsampling",         "regularisation", "coefficients", "start",    "lock",     "range",
    "from",   "higher_order_limit", "branch",         "seed",         "params",   "output",   "force"
  };
  const SbParamGroup *const *run = command_find ("run")->groups;
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (groups_find (run, names[i], NULL) == NULL)
      g_error ("run has no parameter %s", names[i]);
  g_assert_nonnull (groups_find (data_groups, "scan_shape", NULL));
  g_assert_nonnull (groups_find (data_groups, "scan_region", NULL));
  g_assert_nonnull (groups_find (session_groups, "backend", NULL));
  g_assert_nonnull (groups_find (session_groups, "threads", NULL));
  g_assert_nonnull (groups_find (session_groups, "memory", NULL));
}

static void
compare_row (json_t *json, const SbParamGroup *group, const SbParam *row)
{
  static const char *const keys[] = { "name",     "title",    "unit",    "help",     "type",  "default", "min",   "max",
                                      "show_min", "show_max", "choices", "advanced", "asked", "live",    "record" };
  g_assert_cmpuint (json_object_size (json), ==, G_N_ELEMENTS (keys));
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    g_assert_nonnull (json_object_get (json, keys[i]));
  g_assert_cmpstr (json_string_value (json_object_get (json, "name")), ==, row->name);
  g_assert_cmpstr (json_string_value (json_object_get (json, "help")), ==, row->help);
  g_assert_true (json_is_true (json_object_get (json, "record")) == !(row->flags & SB_PARAM_NO_RECORD));
  g_assert_true (json_is_true (json_object_get (json, "asked")) == !!(row->flags & SB_PARAM_ASKED));
  const char *const *choices = param_choices (row);
  g_assert_cmpuint (json_array_size (json_object_get (json, "choices")), ==,
                    choices != NULL ? g_strv_length ((char **)choices) : 0);
  if (row->type == SB_PARAM_DOUBLE && isfinite (row->value))
    g_assert_cmpfloat (json_number_value (json_object_get (json, "default")), ==, row->value);
  if (is_numeric (row) && isfinite (row->max))
    g_assert_cmpfloat (json_number_value (json_object_get (json, "max")), ==, row->max);
}

static void
compare_groups (json_t *json, const SbParamGroup *const *groups)
{
  g_assert_true (json_is_array (json));
  g_assert_cmpuint (json_array_size (json), ==, g_strv_length ((char **)groups));
  for (guint g = 0; groups[g] != NULL; g++) {
    json_t *group = json_array_get (json, g), *rows = json_object_get (group, "rows");
    g_assert_cmpstr (json_string_value (json_object_get (group, "name")), ==, groups[g]->name);
    g_assert_cmpstr (json_string_value (json_object_get (group, "title")), ==, groups[g]->title);
    g_assert_cmpuint (json_array_size (rows), ==, groups[g]->n_rows);
    for (guint r = 0; r < groups[g]->n_rows; r++)
      compare_row (json_array_get (rows, r), groups[g], &groups[g]->rows[r]);
  }
}

static void
test_json (void)
{
  json_error_t at;
  json_t *catalog = json_loads (sb_catalog (), JSON_REJECT_DUPLICATES, &at);
  g_assert_nonnull (catalog);
  g_assert_true (sb_catalog () == sb_catalog ());
  g_assert_cmpint (json_integer_value (json_object_get (catalog, "abi")), ==, SB_ABI_VERSION);
  g_assert_cmpstr (json_string_value (json_object_get (catalog, "version")), ==, sb_version ());
  compare_groups (json_object_get (catalog, "session"), session_groups);
  compare_groups (json_object_get (catalog, "data"), data_groups);
  json_t *commands = json_object_get (catalog, "commands");
  g_assert_cmpuint (json_array_size (commands), ==, g_strv_length ((char **)command_registry));
  for (guint i = 0; command_registry[i] != NULL; i++) {
    g_assert_cmpstr (json_string_value (json_object_get (json_array_get (commands, i), "name")), ==, command_registry[i]->name);
    compare_groups (json_object_get (json_array_get (commands, i), "groups"), command_registry[i]->groups);
  }
  g_assert_cmpuint (json_array_size (json_object_get (catalog, "methods")), ==, g_strv_length ((char **)method_registry));
  g_assert_cmpuint (json_array_size (json_object_get (catalog, "formats")), ==, g_strv_length ((char **)format_registry));
  g_assert_cmpuint (json_array_size (json_object_get (catalog, "writers")), ==, g_strv_length ((char **)writer_registry));
  g_assert_cmpuint (json_array_size (json_object_get (catalog, "statuses")), ==, SB_RUNNING + 1);
  g_assert_cmpuint (json_array_size (json_object_get (catalog, "backends")), >=, 2);
  json_decref (catalog);
}

int
main (int argc, char **argv)
{
  static const RowCheck checks[] = { check_text, check_field, check_ranges, check_choices, check_round_trip };
  static const char *const names[] = { "text", "field", "ranges", "choices", "round_trip" };
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (checks); i++) {
    g_autofree char *path = g_strdup_printf ("/catalog/rows/%s", names[i]);
    g_test_add_data_func (path, &checks[i], test_rows);
  }
  g_test_add_func ("/catalog/unique", test_unique);
  g_test_add_func ("/catalog/registries", test_registries);
  g_test_add_func ("/catalog/contract", test_contract);
  g_test_add_func ("/catalog/json", test_json);
  return g_test_run ();
}
