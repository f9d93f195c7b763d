#include "host-adapters/cli/cli.h"

#include <string.h>

/* Names of JSON and of the shell: scan_shape, --scan-shape. */
static char *
option_of_row (const json_t *row)
{
  return g_strdelimit (g_strdup (catalog_text (row, "name")), "_", '-');
}

/* Puts a value wherever the command's parameters have a row of that name; NULL: "auto", the same as not given. */
static void
set_parameter (Cli *cli, const char *name, json_t *value)
{
  for (int i = 0; i < 3; i++) {
    size_t j;
    json_t *group;
    json_array_foreach (catalog_section (cli, i), j, group) {
      if (catalog_named (json_object_get (group, "rows"), name) == NULL)
        continue;
      json_object_set (catalog_target (cli, i), name, value != NULL ? value : json_null ());
    }
  }
  json_decref (value);
}

/* GOption's callback of every option that is a row. */
static gboolean
on_option (const char *option, const char *text, gpointer user_data, GError **error)
{
  Cli *cli = user_data;
  g_autofree char *name = g_strdelimit (g_strdup (option + strspn (option, "-")), "-", '_');
  const json_t *row = catalog_row (cli, name);
  json_t *value = NULL;
  if (text == NULL) {
    gboolean negated = row == NULL;
    row = negated ? catalog_row (cli, name + strlen ("no_")) : row;
    value = json_boolean (!negated);
  } else if (!value_parse (row, text, &value, error)) {
    return FALSE;
  }
  set_parameter (cli, catalog_text (row, "name"), value);
  return TRUE;
}

static gboolean
on_log (const char *option, const char *text, gpointer user_data, GError **error)
{
  Cli *cli = user_data;
  if (strcmp (text, "text") != 0 && strcmp (text, "json") != 0) {
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "%s takes text or json, not \"%s\".", option, text);
    return FALSE;
  }
  cli->log_json = strcmp (text, "json") == 0;
  return TRUE;
}

static const char *
keep (Cli *cli, char *text)
{
  const char *kept = g_string_chunk_insert (cli->strings, text);
  g_free (text);
  return kept;
}

/* The sentence of help, with unit and default: "Semi-angle of the probe. [mrad; default 30]" */
static const char *
row_help (Cli *cli, const json_t *row)
{
  const char *help = catalog_text (row, "help"), *unit = catalog_text (row, "unit");
  const json_t *value = json_object_get (row, "default");
  gboolean has_default = value != NULL && !json_is_null (value);
  GString *text = g_string_new (help[0] != '\0' ? help : catalog_text (row, "title"));
  g_autofree char *shown = has_default ? value_text (value, FALSE) : NULL;
  if (has_default && unit[0] != '\0')
    g_string_append_printf (text, " [%s; default %s]", unit, shown);
  else if (has_default && shown[0] != '\0' && !json_is_boolean (value))
    g_string_append_printf (text, " [default %s]", shown);
  else if (has_default && json_is_true (value))
    g_string_prepend (text, "Not: ");
  else if (unit[0] != '\0')
    g_string_append_printf (text, " [%s]", unit);
  return keep (cli, g_string_free (text, FALSE));
}

static void
add_row (Cli *cli, const json_t *row, GArray *entries)
{
  GOptionEntry entry = { 0 };
  entry.long_name = keep (cli, option_of_row (row));
  entry.arg = G_OPTION_ARG_CALLBACK;
  entry.arg_data = (gpointer)on_option;
  entry.description = row_help (cli, row);
  if (strcmp (catalog_text (row, "type"), "bool") != 0) {
    entry.flags = G_OPTION_FLAG_FILENAME; /* the bytes as typed, whatever the locale */
    entry.arg_description = keep (cli, value_placeholder (row));
    g_array_append_val (entries, entry);
    return;
  }
  /* Both forms work, help shows the one that changes something. */
  gboolean on = json_is_true (json_object_get (row, "default"));
  entry.flags = G_OPTION_FLAG_NO_ARG | (on ? G_OPTION_FLAG_HIDDEN : 0);
  g_array_append_val (entries, entry);
  entry.long_name = keep (cli, g_strconcat ("no-", entry.long_name, NULL));
  entry.flags = G_OPTION_FLAG_NO_ARG | (on ? 0 : G_OPTION_FLAG_HIDDEN);
  g_array_append_val (entries, entry);
}

static void
add_group (Cli *cli, GOptionContext *context, const json_t *group, GHashTable *seen)
{
  g_autoptr (GArray) entries = g_array_new (TRUE, TRUE, sizeof (GOptionEntry));
  size_t i;
  json_t *row;
  json_array_foreach (json_object_get (group, "rows"), i, row) {
    if (g_hash_table_add (seen, (gpointer)catalog_text (row, "name")))
      add_row (cli, row, entries);
  }
  if (entries->len == 0)
    return;
  g_autofree char *header = g_strconcat (catalog_text (group, "title"), ":", NULL);
  GOptionGroup *options = g_option_group_new (catalog_text (group, "name"), header, header, cli, NULL);
  g_option_group_add_entries (options, (GOptionEntry *)(gpointer)entries->data);
  g_option_context_add_group (context, options);
}

static GOptionContext *
make_context (Cli *cli)
{
  GOptionEntry entries[] = {
    { "help", 'h', 0, G_OPTION_ARG_NONE, &cli->help, "Show this help.", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &cli->json, "Print one JSON object instead of the table.", NULL },
    { "quiet", 'q', 0, G_OPTION_ARG_NONE, &cli->quiet, "No table, progress or warnings.", NULL },
    { "log", 0, G_OPTION_FLAG_FILENAME, G_OPTION_ARG_CALLBACK, (gpointer)on_log,
      "Progress and warnings on the standard error as text or as lines of JSON. [default text]", "text|json" },
    { NULL, 0, 0, 0, NULL, NULL, NULL }
  };
  GOptionEntry rest[] = { { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &cli->files, "", "" },
                          { NULL, 0, 0, 0, NULL, NULL, NULL } };
  GOptionContext *context = g_option_context_new (NULL);
  g_option_context_set_help_enabled (context, FALSE);
  g_option_context_add_main_entries (context, rest, NULL);
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  for (guint i = 0; entries[i].long_name != NULL; i++)
    g_hash_table_add (seen, (gpointer)entries[i].long_name);
  for (int i = 2; i >= 0; i--) { /* what the command is about comes first */
    size_t j;
    json_t *group;
    json_array_foreach (catalog_section (cli, i), j, group)
      add_group (cli, context, group, seen);
  }
  GOptionGroup *terminal = g_option_group_new ("terminal", "Terminal:", "", cli, NULL);
  g_option_group_add_entries (terminal, entries);
  g_option_context_add_group (context, terminal);
  return context;
}

char *
options_help (Cli *cli)
{
  GOptionContext *context = make_context (cli);
  g_autofree char *help = g_option_context_get_help (context, FALSE, NULL);
  g_option_context_free (context);
  const char *groups = strstr (help, "\n\n"); /* before: the usage as GOption sees it */
  gboolean file = cli->command == NULL ? strcmp (cli->word, "show") == 0
                                       : json_is_true (json_object_get (cli->command, "needs_data"));
  g_autofree char *text = g_strdup_printf ("Usage: sideband %s%s [OPTION...]\n%s%s%s", cli->word,
                                           catalog_files (cli) != NULL ? " FILE..."
                                           : file                      ? " FILE"
                                                                       : "",
                                           cli->command != NULL ? "\n" : "", catalog_text (cli->command, "help"),
                                           groups != NULL ? groups + (cli->command == NULL) : help);
  return wrap_help (text);
}

/* GOption's "Unknown option --semiangel", with the name that was probably meant. */
static void
suggest_option (Cli *cli, GError **error)
{
  const char *start = strstr ((*error)->message, "--");
  if (!g_error_matches (*error, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION) || start == NULL)
    return;
  g_autofree char *word = g_strndup (start + 2, strcspn (start + 2, "="));
  g_autoptr (GPtrArray) words = g_ptr_array_new_with_free_func (g_free);
  for (int i = 0; i < 3; i++) {
    size_t j, k;
    json_t *group, *row;
    json_array_foreach (catalog_section (cli, i), j, group)
      json_array_foreach (json_object_get (group, "rows"), k, row)
        g_ptr_array_add (words, option_of_row (row));
  }
  const char *nearest = catalog_nearest (word, words);
  g_clear_error (error);
  if (nearest != NULL)
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION, "There is no option --%s; did you mean --%s?", word,
                 nearest);
  else
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION,
                 "There is no option --%s; \"sideband %s --help\" lists them.", word, cli->word);
}

/* GOption drops the value of --force=no without a word. */
static gboolean
check_flags (const Cli *cli, char **argv, GError **error)
{
  for (; *argv != NULL && strcmp (*argv, "--") != 0; argv++) {
    gsize length = strcspn (*argv, "=");
    if (!g_str_has_prefix (*argv, "--") || (*argv)[length] == '\0')
      continue;
    g_autofree char *option = g_strndup (*argv, length);
    g_autofree char *name = g_strdelimit (g_strdup (option + 2), "-", '_');
    const json_t *row = catalog_row (cli, g_str_has_prefix (name, "no_") ? name + 3 : name);
    if (strcmp (catalog_text (row, "type"), "bool") != 0 && strcmp (name, "json") != 0 && strcmp (name, "quiet") != 0)
      continue;
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "%s takes no value, but \"%s\" was given%s.", option,
                 *argv + length + 1, row != NULL ? "; the form with --no- switches off" : "");
    return FALSE;
  }
  return TRUE;
}

gboolean
options_parse (Cli *cli, char **argv, GError **error)
{
  if (!check_flags (cli, argv, error))
    return FALSE;
  GOptionContext *context = make_context (cli);
  g_auto (GStrv) words = g_strdupv (argv);
  GError *problem = NULL;
  gboolean ok = g_option_context_parse_strv (context, &words, &problem);
  g_option_context_free (context);
  if (!ok) {
    suggest_option (cli, &problem);
    if (!g_str_has_suffix (problem->message, ".") && !g_str_has_suffix (problem->message, "?")) {
      g_autofree char *message = g_strconcat (problem->message, ".", NULL);
      g_clear_error (&problem);
      g_set_error_literal (&problem, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, message);
    }
    g_propagate_error (error, problem);
  }
  return ok;
}
