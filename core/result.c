#include "core/result.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "core/error.h"

static void
array_free (gpointer pointer)
{
  SbArray *array = pointer;
  if (array == NULL)
    return;
  g_free (array->name);
  g_free (array->title);
  g_free (array->unit);
  g_free (array->data);
  g_free (array->pixels);
  for (int i = 0; i < 3; i++)
    g_free (array->axis_unit[i]);
  g_free (array);
}

SbResult *
result_new (void)
{
  SbResult *result = g_new0 (SbResult, 1);
  result->info = json_object ();
  result->arrays = g_ptr_array_new_with_free_func (array_free);
  return result;
}

void
result_free (SbResult *result)
{
  if (result == NULL)
    return;
  json_decref (result->info);
  g_ptr_array_unref (result->arrays);
  g_free (result);
}

SbArray *
result_add (SbResult *result, const char *name, const char *title, const char *unit, float *data, int n_dims,
            const gint64 *shape)
{
  SbArray *array = g_new0 (SbArray, 1);
  array->name = g_strdup (name);
  array->title = g_strdup (title);
  array->unit = g_strdup (unit != NULL ? unit : "");
  array->n_dims = n_dims;
  array->data = data;
  for (int i = 0; i < 3; i++) {
    array->shape[i] = i < n_dims ? shape[i] : 0;
    array->step[i] = NAN;
    array->axis_unit[i] = g_strdup ("");
  }
  g_ptr_array_add (result->arrays, array);
  return array;
}

SbArray *
result_add_picture (SbResult *result, const char *name, const char *title, guint8 *rgb, gint64 rows, gint64 cols)
{
  SbArray *array = result_add (result, name, title, "", NULL, 3, (const gint64[]){ rows, cols, 3 });
  array->bytes = TRUE;
  array->pixels = rgb;
  return array;
}

const SbArray *
result_find (const SbResult *result, const char *name)
{
  for (guint i = 0; i < result->arrays->len; i++) {
    const SbArray *array = g_ptr_array_index (result->arrays, i);
    if (strcmp (array->name, name) == 0)
      return array;
  }
  return NULL;
}

gint64
array_size (const SbArray *array)
{
  gint64 n = 1;
  for (int i = 0; i < array->n_dims; i++)
    n *= array->shape[i];
  return n;
}

gboolean
result_is_calibration (const SbResult *result)
{
  return result_find (result, "picture") != NULL && result_find (result, "phase") == NULL
         && json_object_get (result->info, "values") == NULL;
}

gboolean
result_is_detector (const SbResult *result)
{
  const SbArray *array = result_find (result, "detector");
  return array != NULL && !array->bytes && array->n_dims >= 2 && result_find (result, "phase") == NULL;
}

gboolean
result_fail (GError **error, const char *path, const char *what, const GError *reason)
{
  g_autofree char *text = g_strdup (reason->message);
  if (g_str_has_suffix (text, "."))
    text[strlen (text) - 1] = '\0';
  return sb_fail (error, (SbErrorCode)reason->code, "%s %s: %s.", path, what, text);
}

/* Only regular files are ever read: opening a pipe would hang. */
static gboolean
check_readable (const char *path, GError **error)
{
  struct stat status;
  if (stat (path, &status) != 0)
    return sb_fail (error, SB_ERROR_IO, "%s cannot be opened: %s; check the name.", path, g_strerror (errno));
  if (!S_ISREG (status.st_mode))
    return sb_fail (error, SB_ERROR_IO, "%s is not a file; give a _result.h5 or _fit.json that Sideband wrote.", path);
  return TRUE;
}

static gboolean
read_head (const char *path, guint8 *head, gsize size, gsize *n, GError **error)
{
  FILE *file = fopen (path, "rbe");
  if (file == NULL)
    return sb_fail (error, SB_ERROR_IO, "%s cannot be opened: %s; check its permissions.", path, g_strerror (errno));
  *n = fread (head, 1, size, file);
  fclose (file);
  return TRUE;
}

static gboolean
open_json (SbResult *result, const char *path, GError **error)
{
  json_error_t where;
  json_t *json = json_load_file (path, 0, &where);
  if (json == NULL)
    return sb_fail (error, SB_ERROR_DATA, "%s is damaged: its JSON ends in an error at line %d (%s); give an intact file.",
                    path, where.line, where.text);
  if (!json_is_object (json) || json_string_value (json_object_get (json, "version")) == NULL) {
    json_decref (json);
    return sb_fail (error, SB_ERROR_DATA, "%s is JSON, but not of Sideband; give a _fit.json or _result.h5 it wrote.", path);
  }
  json_decref (result->info);
  result->info = json;
  return TRUE;
}

SbResult *
result_open (const char *path, GError **error)
{
  static const guint8 hdf5_signature[8] = { 0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n' };
  guint8 head[64];
  gsize n = 0;
  if (!check_readable (path, error) || !read_head (path, head, sizeof head, &n, error))
    return NULL;
  gsize first = 0;
  while (first < n && g_ascii_isspace (head[first]))
    first++;
  SbResult *result = result_new ();
  gboolean opened;
  if (n >= 8 && memcmp (head, hdf5_signature, 8) == 0)
    opened = result_read_hdf5 (result, path, error);
  else if (first < n && head[first] == '{')
    opened = open_json (result, path, error);
  else
    opened = sb_fail (error, SB_ERROR_DATA, "%s is not a result of Sideband; give a _result.h5 or _fit.json it wrote.", path);
  if (!opened)
    g_clear_pointer (&result, result_free);
  return result;
}
