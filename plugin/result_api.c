/* Results as hosts see them: one JSON text and borrowed arrays. */
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "plugin/inside.h"
#include "plugin/status.h"
#include "plugin/view.h"

static json_t *
array_to_json (const SbArray *array)
{
  json_t *shape = json_array (), *step = json_array (), *axis_unit = json_array ();
  for (int i = 0; i < array->n_dims; i++) {
    json_array_append_new (shape, json_integer (array->shape[i]));
    json_array_append_new (step, isfinite (array->step[i]) ? json_real (array->step[i]) : json_null ());
    json_array_append_new (axis_unit, json_string (array->axis_unit[i] != NULL ? array->axis_unit[i] : ""));
  }
  return json_pack ("{s:s, s:s, s:s, s:o, s:o, s:o, s:b}", "name", array->name, "title", array->title, "unit",
                    array->unit != NULL ? array->unit : "", "shape", shape, "step", step, "axis_unit", axis_unit, "detail",
                    array->detail);
}

/* The arrays are listed in what hosts read, not in the files, which hold them. */
static char *
info_text (const SbResult *inside)
{
  json_t *info = json_copy (inside->info);
  json_t *arrays = json_array ();
  for (guint i = 0; i < inside->arrays->len; i++)
    json_array_append_new (arrays, array_to_json (g_ptr_array_index (inside->arrays, i)));
  json_object_set_new (info, "arrays", arrays);
  char *text = json_dumps (info, JSON_COMPACT);
  json_decref (info);
  return text;
}

sb_result *
result_wrap (SbResult *inside, gboolean owned)
{
  sb_result *result = g_new0 (sb_result, 1);
  result->inside = inside;
  result->info = info_text (inside);
  result->owned = owned;
  return result;
}

void
result_unwrap (sb_result *result)
{
  if (result == NULL)
    return;
  result_free (result->inside);
  free (result->info);
  g_free (result);
}

static gboolean
check_result (const sb_result *result, GError **error)
{
  return result != NULL || sb_fail (error, SB_ERROR_ARGUMENT, "The result is NULL; a job has one when it ended with SB_OK.");
}

static const SbArray *
find_array (const sb_result *result, const char *name, GError **error)
{
  const SbArray *array = name != NULL ? result_find (result->inside, name) : NULL;
  if (array != NULL)
    return array;
  g_autoptr (GString) names = g_string_new (NULL);
  for (guint i = 0; i < result->inside->arrays->len; i++)
    g_string_append_printf (names, "%s%s", i > 0 ? ", " : "",
                            ((const SbArray *)g_ptr_array_index (result->inside->arrays, i))->name);
  sb_fail (error, SB_ERROR_ARGUMENT, "The result has no array \"%.60s\"; it has: %s.", name != NULL ? name : "(NULL)",
           names->len > 0 ? names->str : "none");
  return NULL;
}

const char *
sb_result_info (const sb_result *result)
{
  g_autoptr (GError) error = NULL;
  if (check_result (result, &error) && result->info != NULL)
    return result->info;
  status_of (FALSE, &error);
  return NULL;
}

static gboolean
array_view (sb_view *out, const sb_result *result, const char *name, GError **error)
{
  if (out == NULL || out->struct_size < sizeof (sb_view))
    return sb_fail (error, SB_ERROR_ARGUMENT, "The view of an array %s; set its struct_size to sizeof (sb_view).",
                    out == NULL ? "is NULL" : "has a wrong struct_size");
  if (!check_result (result, error))
    return FALSE;
  const SbArray *array = find_array (result, name, error);
  if (array == NULL)
    return FALSE;
  gsize size = out->struct_size;
  memset (out, 0, sizeof *out);
  out->struct_size = size;
  out->dtype = array->bytes ? SB_DTYPE_U8 : SB_DTYPE_F32;
  out->n_dims = array->n_dims;
  gint64 stride = array->bytes ? 1 : (gint64)sizeof (float);
  for (int i = array->n_dims - 1; i >= 0; i--) {
    out->shape[i] = array->shape[i];
    out->strides[i] = stride;
    stride *= array->shape[i];
  }
  out->data = array->bytes ? (void *)array->pixels : (void *)array->data;
  return TRUE;
}

int
sb_result_array (sb_view *out, const sb_result *result, const char *name)
{
  g_autoptr (GError) error = NULL;
  return status_of (array_view (out, result, name, &error), &error);
}

gboolean
result_copy_image (const sb_result *result, const char *name, const sb_view *view, GError **error)
{
  const SbArray *array = find_array (result, name, error);
  if (array == NULL)
    return FALSE;
  if (array->bytes || array->n_dims != 2)
    return sb_fail (error, SB_ERROR_ARGUMENT, "\"%s\" is no image of numbers; take it with sb_result_array.", name);
  return view_write (view, "the preview", array->data, array->shape[0], array->shape[1], error);
}

int
sb_result_save (const sb_result *result, const char *path, const char *kind)
{
  g_autoptr (GError) error = NULL;
  if (!check_result (result, &error))
    return status_of (FALSE, &error);
  if (path == NULL || path[0] == '\0' || kind == NULL)
    return status_of (sb_fail (&error, SB_ERROR_ARGUMENT, "path and kind are needed; kind is one of the catalog's writers."),
                      &error);
  return status_of (result_save (result->inside, path, kind, FALSE, &error), &error);
}

int
sb_result_open (sb_result **out, const char *path)
{
  g_autoptr (GError) error = NULL;
  if (out == NULL)
    return status_of (sb_fail (&error, SB_ERROR_ARGUMENT, "out is NULL; give the address of an sb_result pointer."), &error);
  *out = NULL;
  if (path == NULL || path[0] == '\0')
    return status_of (sb_fail (&error, SB_ERROR_ARGUMENT, "No path was given; name a result that Sideband wrote."), &error);
  SbResult *inside = result_open (path, &error);
  if (inside == NULL)
    return status_of (FALSE, &error);
  *out = result_wrap (inside, FALSE);
  return SB_OK;
}

void
sb_result_free (sb_result *result)
{
  if (result != NULL && !result->owned)
    result_unwrap (result);
}
