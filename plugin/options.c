#include "plugin/options.h"

#include "core/error.h"
#include "core/result.h"
#include "plugin/check.h"
#include "plugin/lists.h"

struct SbOptions {
  const SbParamGroup *const *groups;
  guint n_groups;
  gpointer *structs;
};

static SbOptions *
options_new (const SbParamGroup *const *groups)
{
  SbOptions *options = g_new0 (SbOptions, 1);
  options->groups = groups;
  while (groups[options->n_groups] != NULL)
    options->n_groups++;
  options->structs = g_new0 (gpointer, options->n_groups);
  for (guint i = 0; i < options->n_groups; i++) {
    options->structs[i] = g_malloc0 (groups[i]->size);
    param_group_defaults (groups[i], options->structs[i]);
  }
  return options;
}

void
options_free (SbOptions *options)
{
  if (options == NULL)
    return;
  for (guint i = 0; i < options->n_groups; i++) {
    param_group_clear (options->groups[i], options->structs[i]);
    g_free (options->structs[i]);
  }
  g_free (options->structs);
  g_free (options);
}

static gpointer
options_struct (const SbOptions *options, const SbParamGroup *group)
{
  for (guint i = 0; i < options->n_groups; i++)
    if (options->groups[i] == group)
      return options->structs[i];
  return NULL;
}

gconstpointer
options_get (const SbOptions *options, const SbParamGroup *group)
{
  return options_struct (options, group);
}

static gboolean
fail_unknown (const SbOptions *options, const char *key, const char *whose, GError **error)
{
  json_t *string = json_string (key);
  g_autofree char *shown = check_brief (string);
  json_decref (string);
  g_autofree char *owner = groups_owner (key);
  if (owner != NULL)
    return sb_fail (error, SB_ERROR_ARGUMENT, "%s is not a parameter of %s; give it to %s.", shown, whose, owner);
  const SbParam *nearest = groups_nearest (options->groups, key);
  return sb_fail (error, SB_ERROR_ARGUMENT, "%s is not a parameter of %s; the nearest is \"%s\".", shown, whose,
                  nearest != NULL ? nearest->name : "none");
}

static gboolean
belongs_elsewhere (const char *key)
{
  g_autofree char *owner = groups_owner (key);
  return owner != NULL;
}

/* A file may hold what other steps take: keys that belong elsewhere are passed over then. */
static gboolean
take_object (SbOptions *options, json_t *object, const char *whose, gboolean from_file, GError **error)
{
  const char *key;
  json_t *value;
  json_object_foreach (object, key, value) {
    const SbParamGroup *group = NULL;
    const SbParam *row = groups_find (options->groups, key, &group);
    if (from_file && group == &parameters_params)
      return sb_fail (error, SB_ERROR_ARGUMENT, "A parameter file cannot name another one; remove \"%s\" from it.", key);
    if (row == NULL && from_file && belongs_elsewhere (key))
      continue;
    if (row == NULL)
      return fail_unknown (options, key, whose, error);
    if (!check_value (row, value, (char *)options_struct (options, group) + row->offset, error))
      return FALSE;
  }
  return TRUE;
}

/* Jansson's own sentence, which may quote the text, made one of ours. */
static gboolean
fail_json (const char *what, const json_error_t *at, GError **error)
{
  return sb_fail (error, SB_ERROR_ARGUMENT, "%s cannot be read as JSON (line %d, column %d): %s.", what, at->line, at->column,
                  at->text);
}

/* The object of parameters that a file holds: itself, or the "parameters" of a result. */
static json_t *
load_file (const char *path, GError **error)
{
  json_t *root = NULL;
  if (g_str_has_suffix (path, ".h5")) {
    SbResult *result = result_open (path, error);
    if (result == NULL)
      return NULL;
    root = json_incref (result->info);
    result_free (result);
  } else {
    if (!g_file_test (path, G_FILE_TEST_IS_REGULAR)) {
      sb_fail (error, SB_ERROR_IO, "The parameter file %s does not exist; check params.", path);
      return NULL;
    }
    json_error_t at;
    root = json_load_file (path, JSON_REJECT_DUPLICATES, &at);
    if (root == NULL) {
      g_autofree char *what = g_strdup_printf ("The parameter file %s", path);
      fail_json (what, &at, error);
      return NULL;
    }
  }
  json_t *inner = json_object_get (root, "parameters");
  json_t *object = json_incref (json_is_object (inner) ? inner : root);
  json_decref (root);
  if (json_is_object (object))
    return object;
  json_decref (object);
  sb_fail (error, SB_ERROR_ARGUMENT, "The parameter file %s holds no JSON object; write {\"name\": value, ...}.", path);
  return NULL;
}

static gboolean
take_file (SbOptions *options, const char *path, const char *whose, GError **error)
{
  json_t *object = load_file (path, error);
  if (object == NULL)
    return FALSE;
  gboolean ok = take_object (options, object, whose, TRUE, error);
  json_decref (object);
  if (!ok)
    g_prefix_error (error, "In the parameter file %s: ", path);
  return ok;
}

static gboolean
take_root (SbOptions *options, json_t *root, const char *whose, GError **error)
{
  if (!json_is_object (root))
    return sb_fail (error, SB_ERROR_ARGUMENT, "The parameters of %s must be a JSON object, {\"name\": value, ...}.", whose);
  const SbParamGroup *group = NULL;
  const SbParam *row = groups_find (options->groups, "params", &group);
  const char *path = row != NULL ? json_string_value (json_object_get (root, row->name)) : NULL;
  if (path != NULL && path[0] != '\0' && !take_file (options, path, whose, error))
    return FALSE;
  return take_object (options, root, whose, FALSE, error);
}

SbOptions *
options_parse (const char *json, const SbParamGroup *const *groups, const char *whose, GError **error)
{
  g_autoptr (SbOptions) options = options_new (groups);
  if (json == NULL || json[0] == '\0')
    return g_steal_pointer (&options);
  json_error_t at;
  json_t *root = json_loads (json, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &at);
  if (root == NULL) {
    g_autofree char *what = g_strdup_printf ("The parameters of %s", whose);
    fail_json (what, &at, error);
    return NULL;
  }
  gboolean ok = take_root (options, root, whose, error);
  json_decref (root);
  return ok ? g_steal_pointer (&options) : NULL;
}

void
options_record (const SbOptions *options, json_t *object)
{
  for (guint i = 0; i < options->n_groups; i++) {
    const SbParamGroup *group = options->groups[i];
    for (guint r = 0; r < group->n_rows; r++) {
      const SbParam *row = &group->rows[r];
      if (row->flags & SB_PARAM_NO_RECORD)
        continue;
      json_t *value = check_to_json (row, (const char *)options->structs[i] + row->offset);
      if (value != NULL)
        json_object_set_new (object, row->name, value);
    }
  }
}
