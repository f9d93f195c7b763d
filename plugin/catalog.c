#include "plugin/catalog.h"

#include <math.h>

#include "core/acquisition.h"
#include "core/reconstruct.h"
#include "core/result.h"
#include "plugin/check.h"
#include "plugin/command.h"
#include "plugin/sideband.h"
#include "plugin/status.h"

static const char *
type_name (SbParamType type)
{
  static const char *const names[] = {
    [SB_PARAM_BOOL] = "bool",     [SB_PARAM_INT] = "int",     [SB_PARAM_DOUBLE] = "double",
    [SB_PARAM_CHOICE] = "choice", [SB_PARAM_TEXT] = "text",   [SB_PARAM_PATH] = "path",
    [SB_PARAM_PAIR] = "pair",     [SB_PARAM_SHAPE] = "shape", [SB_PARAM_REGION] = "region",
  };
  return names[type];
}

/* null: none */
static json_t *
limit (const SbParam *row, double value)
{
  gboolean numeric = row->type != SB_PARAM_BOOL && row->type != SB_PARAM_CHOICE && row->type != SB_PARAM_TEXT
                     && row->type != SB_PARAM_PATH;
  return numeric && isfinite (value) ? json_real (value) : json_null ();
}

static json_t *
flag (const SbParam *row, guint flags)
{
  return json_boolean ((row->flags & flags) != 0);
}

static json_t *
strings (const char *const *list)
{
  json_t *array = json_array ();
  for (guint i = 0; list != NULL && list[i] != NULL; i++)
    json_array_append_new (array, json_string (list[i]));
  return array;
}

/* What a struct of defaults holds; null: not given. */
static json_t *
default_of (const SbParamGroup *group, const SbParam *row)
{
  g_autofree char *options = g_malloc0 (group->size);
  param_group_defaults (group, options);
  json_t *value = check_to_json (row, options + row->offset);
  param_group_clear (group, options);
  return value != NULL ? value : json_null ();
}

static json_t *
row_to_json (const SbParamGroup *group, const SbParam *row)
{
  json_t *json = json_pack ("{s:s, s:s, s:s, s:s, s:s}", "name", row->name, "title", row->title, "unit",
                            row->unit != NULL ? row->unit : "", "help", row->help, "type", type_name (row->type));
  json_object_set_new (json, "default", default_of (group, row));
  json_object_set_new (json, "min", limit (row, row->min));
  json_object_set_new (json, "max", limit (row, row->max));
  json_object_set_new (json, "show_min", limit (row, row->show_min));
  json_object_set_new (json, "show_max", limit (row, row->show_max));
  json_object_set_new (json, "choices", strings (param_choices (row)));
  json_object_set_new (json, "advanced", flag (row, SB_PARAM_ADVANCED));
  json_object_set_new (json, "asked", flag (row, SB_PARAM_ASKED));
  json_object_set_new (json, "live", flag (row, SB_PARAM_LIVE));
  json_object_set_new (json, "record", json_boolean (!(row->flags & SB_PARAM_NO_RECORD)));
  return json;
}

static json_t *
groups_to_json (const SbParamGroup *const *groups)
{
  json_t *array = json_array ();
  for (; *groups != NULL; groups++) {
    json_t *rows = json_array ();
    for (guint i = 0; i < (*groups)->n_rows; i++)
      json_array_append_new (rows, row_to_json (*groups, &(*groups)->rows[i]));
    json_array_append_new (array,
                           json_pack ("{s:s, s:s, s:o}", "name", (*groups)->name, "title", (*groups)->title, "rows", rows));
  }
  return array;
}

static json_t *
commands (void)
{
  json_t *array = json_array ();
  for (guint i = 0; command_registry[i] != NULL; i++) {
    const SbCommand *command = command_registry[i];
    json_array_append_new (array, json_pack ("{s:s, s:s, s:s, s:b, s:s?, s:o}", "name", command->name, "title", command->title,
                                             "help", command->help, "needs_data", command->needs_data, "files", command->files,
                                             "groups", groups_to_json (command->groups)));
  }
  return array;
}

static json_t *
methods (void)
{
  json_t *array = json_array ();
  for (guint i = 0; method_registry[i] != NULL; i++)
    json_array_append_new (array, json_pack ("{s:s, s:s, s:s}", "name", method_registry[i]->name, "title",
                                             method_registry[i]->title, "help", method_registry[i]->help));
  return array;
}

static json_t *
formats (void)
{
  json_t *array = json_array ();
  for (guint i = 0; format_registry[i] != NULL; i++) {
    g_auto (GStrv) suffixes = g_strsplit (format_registry[i]->suffixes, " ", -1);
    json_array_append_new (array, json_pack ("{s:s, s:s, s:o}", "name", format_registry[i]->name, "title",
                                             format_registry[i]->title, "suffixes", strings ((const char *const *)suffixes)));
  }
  return array;
}

static json_t *
writers (void)
{
  json_t *array = json_array ();
  for (guint i = 0; writer_registry[i] != NULL; i++)
    json_array_append_new (array,
                           json_pack ("{s:s, s:s}", "name", writer_registry[i]->name, "suffix", writer_registry[i]->suffix));
  return array;
}

static json_t *
statuses (void)
{
  json_t *array = json_array ();
  for (int i = 0; status_name (i) != NULL; i++)
    json_array_append_new (array, json_pack ("{s:i, s:s}", "value", i, "name", status_name (i)));
  return array;
}

static json_t *
backends (void)
{
  const SbParam *row = groups_find (session_groups, "backend", NULL);
  return strings (row != NULL ? param_choices (row) : NULL);
}

json_t *
catalog_build (void)
{
  json_t *json = json_pack ("{s:s, s:i}", "version", SB_VERSION, "abi", SB_ABI_VERSION);
  json_object_set_new (json, "session", groups_to_json (session_groups));
  json_object_set_new (json, "data", groups_to_json (data_groups));
  json_object_set_new (json, "pushed", groups_to_json (pushed_groups));
  json_object_set_new (json, "commands", commands ());
  json_object_set_new (json, "methods", methods ());
  json_object_set_new (json, "formats", formats ());
  json_object_set_new (json, "writers", writers ());
  json_object_set_new (json, "statuses", statuses ());
  json_object_set_new (json, "backends", backends ());
  return json;
}

static gpointer
build_text (gpointer unused)
{
  json_t *catalog = catalog_build ();
  char *text = json_dumps (catalog, JSON_COMPACT);
  json_decref (catalog);
  return text;
}

const char *
sb_catalog (void)
{
  static GOnce once = G_ONCE_INIT;
  const char *text = g_once (&once, build_text, NULL);
  return text != NULL ? text : "{}";
}

const char *
sb_version (void)
{
  return SB_VERSION;
}

int
sb_abi_version (void)
{
  return SB_ABI_VERSION;
}
