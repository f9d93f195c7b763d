/* Reads what formats/write_hdf5.c wrote. Files come from anywhere: nothing in them is believed before it is
 * checked. */
#include <sys/stat.h>

#include "core/error.h"
#include "core/h5io.h"
#include "core/result.h"
#include "core/seal.h"

/* A dataset whose bytes are all there, uncompressed, in this file: so its size is bounded by the file's.
 * Opens only hard links. dims[3]. */
static hid_t
open_dataset (hid_t file, const char *name, gint64 file_size, int *n_dims, hsize_t *dims)
{
  H5L_info_t link;
  if (H5Lget_info (file, name, &link, H5P_DEFAULT) < 0 || link.type != H5L_TYPE_HARD)
    return -1;
  hid_t dataset = H5Dopen2 (file, name, H5P_DEFAULT);
  if (dataset < 0)
    return -1;
  hid_t space = H5Dget_space (dataset), type = H5Dget_type (dataset);
  gint64 points = space >= 0 ? H5Sget_simple_extent_npoints (space) : -1;
  gsize item = type >= 0 ? H5Tget_size (type) : 0;
  *n_dims = space >= 0 ? H5Sget_simple_extent_ndims (space) : -1;
  gboolean good = *n_dims >= 0 && *n_dims <= 3 && points > 0 && item > 0 && points <= file_size / (gint64)item
                  && H5Dget_offset (dataset) != HADDR_UNDEF && H5Sget_simple_extent_dims (space, dims, NULL) >= 0;
  if (space >= 0)
    H5Sclose (space);
  if (type >= 0)
    H5Tclose (type);
  if (good)
    return dataset;
  H5Dclose (dataset);
  return -1;
}

static json_t *
read_info (hid_t file, gint64 file_size)
{
  int n_dims;
  hsize_t dims[3];
  json_t *info = NULL;
  hid_t dataset = open_dataset (file, "info", file_size, &n_dims, dims);
  if (dataset < 0)
    return NULL;
  hid_t type = H5Dget_type (dataset);
  if (n_dims == 0 && H5Tget_class (type) == H5T_STRING && H5Tis_variable_str (type) == 0) {
    gsize size = H5Tget_size (type);
    g_autofree char *text = g_try_malloc0 (size + 1);
    if (text != NULL && H5Dread (dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) >= 0)
      info = json_loads (text, 0, NULL);
  }
  H5Tclose (type);
  H5Dclose (dataset);
  if (json_is_object (info))
    return info;
  json_decref (info);
  return NULL;
}

static gboolean
read_samples (hid_t dataset, SbArray *array)
{
  hid_t type = H5Dget_type (dataset);
  H5T_class_t class = H5Tget_class (type);
  gsize item = H5Tget_size (type), n = (gsize)array_size (array);
  H5Tclose (type);
  if (class == H5T_INTEGER && item == 1) {
    array->bytes = TRUE;
    array->pixels = g_try_malloc (n);
    return array->pixels != NULL && H5Dread (dataset, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, array->pixels) >= 0;
  }
  if (class != H5T_FLOAT || item != sizeof (float))
    return FALSE;
  array->data = g_try_new (float, n);
  return array->data != NULL && H5Dread (dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, array->data) >= 0;
}

static gboolean
read_array (SbResult *result, hid_t file, const char *name, gint64 file_size)
{
  int n_dims;
  hsize_t dims[3];
  hid_t dataset = open_dataset (file, name, file_size, &n_dims, dims);
  if (dataset < 0)
    return FALSE;
  gboolean good = n_dims >= 1;
  if (good) {
    const gint64 shape[3] = { (gint64)dims[0], n_dims > 1 ? (gint64)dims[1] : 0, n_dims > 2 ? (gint64)dims[2] : 0 };
    g_autofree char *title = h5io_attribute_text (dataset, ".", "long_name");
    g_autofree char *unit = h5io_attribute_text (dataset, ".", "unit");
    SbArray *array = result_add (result, name, title != NULL ? title : name, unit, NULL, n_dims, shape);
    h5io_attribute_numbers (dataset, ".", "step", (gsize)n_dims, array->step);
    for (int i = 0; i < n_dims; i++) {
      g_autofree char *axis = g_strdup_printf ("axis%d_unit", i);
      char *text = h5io_attribute_text (dataset, ".", axis);
      if (text != NULL) {
        g_free (array->axis_unit[i]);
        array->axis_unit[i] = text;
      }
    }
    good = read_samples (dataset, array);
  }
  H5Dclose (dataset);
  return good;
}

static gboolean
read_result (SbResult *result, hid_t file, const char *path, gint64 file_size, GError **error)
{
  g_autofree char *version = h5io_attribute_text (file, ".", "sideband_version");
  if (version == NULL)
    return sb_fail (error, SB_ERROR_DATA, "%s is not a result of Sideband; give a _result.h5 or _fit.json it wrote.", path);
  json_t *info = read_info (file, file_size);
  if (info == NULL)
    return sb_fail (error, SB_ERROR_DATA, "%s is damaged, its /info cannot be read; give an intact copy.", path);
  json_decref (result->info);
  result->info = info;
  g_autofree char *names = h5io_attribute_text (file, ".", "arrays");
  g_auto (GStrv) list = g_strsplit (names != NULL ? names : "", " ", -1);
  for (guint i = 0; list[i] != NULL; i++)
    if (list[i][0] != '\0' && !read_array (result, file, list[i], file_size))
      return sb_fail (error, SB_ERROR_DATA, "%s is damaged, its /%s cannot be read; give an intact copy.", path, list[i]);
  return TRUE;
}

gboolean
result_read_hdf5 (SbResult *result, const char *path, GError **error)
{
  struct stat status;
  if (seal_check (path) == SB_SEAL_BROKEN)
    return sb_fail (error, SB_ERROR_DATA, "%s is damaged, its bytes are not those that were written; give an intact copy.",
                    path);
  if (!h5io_begin (error))
    return FALSE;
  hid_t file = h5io_open_file (path, error);
  gboolean good = FALSE;
  if (file >= 0) {
    good = stat (path, &status) == 0 && read_result (result, file, path, (gint64)status.st_size, error);
    H5Fclose (file);
  }
  h5io_end ();
  return good;
}
