#include "host-adapters/cli/cli.h"

#include <string.h>

json_t *
catalog_load (GError **error)
{
  if (sb_abi_version () != SB_ABI_VERSION) {
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
                 "This command speaks ABI %d of libsideband, but the library that was found has %d: install both "
                 "from one version.",
                 SB_ABI_VERSION, sb_abi_version ());
    return NULL;
  }
  json_t *catalog = json_loads (sb_catalog (), 0, NULL);
  if (!json_is_object (catalog)) {
    json_decref (catalog);
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED, "libsideband gave no catalog: install it again.");
    return NULL;
  }
  return catalog;
}

const char *
catalog_text (const json_t *object, const char *key)
{
  const char *text = json_string_value (json_object_get (object, key));
  return text != NULL ? text : "";
}

const json_t *
catalog_named (const json_t *array, const char *name)
{
  size_t i;
  json_t *element;
  json_array_foreach (array, i, element) {
    if (strcmp (catalog_text (element, "name"), name) == 0)
      return element;
  }
  return NULL;
}

const json_t *
catalog_section (const Cli *cli, int i)
{
  if (cli->command == NULL)
    return NULL;
  if (i == 0)
    return json_object_get (cli->catalog, "session");
  if (i == 1)
    return json_is_true (json_object_get (cli->command, "needs_data")) ? json_object_get (cli->catalog, "data") : NULL;
  return json_object_get (cli->command, "groups");
}

json_t *
catalog_target (const Cli *cli, int i)
{
  return i == 0 ? cli->session : i == 1 ? cli->data : cli->job;
}

static const json_t *
row_of_groups (const json_t *groups, const char *name)
{
  size_t i;
  json_t *group;
  json_array_foreach (groups, i, group) {
    const json_t *row = catalog_named (json_object_get (group, "rows"), name);
    if (row != NULL)
      return row;
  }
  return NULL;
}

const json_t *
catalog_row (const Cli *cli, const char *name)
{
  const json_t *row = NULL;
  for (int i = 0; i < 3 && row == NULL; i++)
    row = row_of_groups (catalog_section (cli, i), name);
  return row;
}

const json_t *
catalog_row_anywhere (const json_t *catalog, const char *name)
{
  const json_t *row = row_of_groups (json_object_get (catalog, "session"), name);
  if (row == NULL)
    row = row_of_groups (json_object_get (catalog, "data"), name);
  size_t i;
  json_t *command;
  json_array_foreach (json_object_get (catalog, "commands"), i, command) {
    if (row == NULL)
      row = row_of_groups (json_object_get (command, "groups"), name);
  }
  return row;
}

const char *
catalog_files (const Cli *cli)
{
  return json_string_value (json_object_get (cli->command, "files"));
}

/* Levenshtein's distance, one row of the table at a time. */
static guint
edit_distance (const char *a, const char *b)
{
  gsize n = strlen (b);
  g_autofree guint *row = g_new (guint, n + 1);
  for (gsize j = 0; j <= n; j++)
    row[j] = (guint)j;
  for (gsize i = 0; a[i] != '\0'; i++) {
    guint diagonal = row[0];
    row[0] = (guint)i + 1;
    for (gsize j = 0; j < n; j++) {
      guint substituted = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = MIN (substituted, MIN (row[j], diagonal) + 1);
    }
  }
  return row[n];
}

const char *
catalog_nearest (const char *word, GPtrArray *words)
{
  const char *best = NULL;
  guint distance = (guint)MIN (strlen (word), 64) / 3 + 2; /* farther is no typing mistake */
  if (strlen (word) > 64)
    return NULL;
  for (guint i = 0; i < words->len; i++) {
    guint d = edit_distance (word, g_ptr_array_index (words, i));
    if (d < distance) {
      distance = d;
      best = g_ptr_array_index (words, i);
    }
  }
  return best;
}
