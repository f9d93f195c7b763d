/* The whole result in one HDF5 file: a dataset per array at the root, plain readable values in groups, and
 * NeXus groups that link to the arrays, so that a NeXus viewer draws them with their axes. The file is built
 * in memory and written by us: a full disk is then an ordinary error, and the same result gives the same
 * bytes. */
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/h5image.h"
#include "core/result.h"
#include "core/seal.h"

/* Every function of this file that writes returns FALSE on failure; HDF5's only reason to fail here is
 * memory. */

static hid_t
text_type (const char *text)
{
  hid_t type = H5Tcopy (H5T_C_S1);
  H5Tset_size (type, strlen (text) + 1);
  H5Tset_cset (type, H5T_CSET_UTF8);
  return type;
}

static gboolean
put_attribute (hid_t at, const char *name, hid_t type, hsize_t n, const void *value)
{
  hid_t space = n > 0 ? H5Screate_simple (1, &n, NULL) : H5Screate (H5S_SCALAR);
  hid_t attribute = H5Acreate2 (at, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  gboolean good = attribute >= 0 && H5Awrite (attribute, type, value) >= 0;
  H5Sclose (space);
  return attribute >= 0 && H5Aclose (attribute) >= 0 && good;
}

static gboolean
put_text_attribute (hid_t at, const char *name, const char *text)
{
  hid_t type = text_type (text);
  gboolean good = put_attribute (at, name, type, 0, text);
  H5Tclose (type);
  return good;
}

static gboolean
put_number_attribute (hid_t at, const char *name, double value)
{
  return put_attribute (at, name, H5T_NATIVE_DOUBLE, 0, &value);
}

/* No times in the file. Returns the open dataset. */
static hid_t
put_dataset (hid_t at, const char *name, hid_t file_type, hid_t type, int n_dims, const hsize_t *dims, const void *data)
{
  hid_t how = H5Pcreate (H5P_DATASET_CREATE);
  H5Pset_obj_track_times (how, FALSE);
  hid_t space = n_dims > 0 ? H5Screate_simple (n_dims, dims, NULL) : H5Screate (H5S_SCALAR);
  hid_t dataset = H5Dcreate2 (at, name, file_type, space, H5P_DEFAULT, how, H5P_DEFAULT);
  if (dataset >= 0 && H5Dwrite (dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) {
    H5Dclose (dataset);
    dataset = -1;
  }
  H5Sclose (space);
  H5Pclose (how);
  return dataset;
}

static hid_t
put_group (hid_t at, const char *name, const char *nexus_class)
{
  hid_t how = H5Pcreate (H5P_GROUP_CREATE);
  H5Pset_obj_track_times (how, FALSE);
  hid_t group = H5Gcreate2 (at, name, H5P_DEFAULT, how, H5P_DEFAULT);
  H5Pclose (how);
  if (group >= 0 && nexus_class != NULL)
    put_text_attribute (group, "NX_class", nexus_class);
  return group;
}

static gboolean
put_text (hid_t at, const char *name, const char *text)
{
  hid_t type = text_type (text);
  hid_t dataset = put_dataset (at, name, type, type, 0, NULL, text);
  H5Tclose (type);
  return dataset >= 0 && H5Dclose (dataset) >= 0;
}

static gboolean
put_json_text (hid_t at, const char *name, const json_t *json)
{
  g_autofree char *text = json_text (json, FALSE);
  return text != NULL && put_text (at, name, text);
}

static hid_t
bool_type (void)
{
  hid_t type = H5Tenum_create (H5T_NATIVE_INT8);
  const gint8 values[2] = { 0, 1 };
  H5Tenum_insert (type, "FALSE", &values[0]);
  H5Tenum_insert (type, "TRUE", &values[1]);
  return type;
}

static gboolean put_tree (hid_t at, const char *name, json_t *json);

static gboolean
put_scalar (hid_t at, const char *name, const json_t *json)
{
  gint64 integer = json_integer_value (json);
  double real = json_real_value (json);
  gint8 truth = json_is_true (json);
  hid_t dataset;
  if (json_is_string (json))
    return put_text (at, name, json_string_value (json));
  if (json_is_integer (json)) {
    dataset = put_dataset (at, name, H5T_STD_I64LE, H5T_NATIVE_INT64, 0, NULL, &integer);
  } else if (json_is_real (json)) {
    dataset = put_dataset (at, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 0, NULL, &real);
  } else {
    hid_t type = bool_type ();
    dataset = put_dataset (at, name, type, type, 0, NULL, &truth);
    H5Tclose (type);
  }
  return dataset >= 0 && H5Dclose (dataset) >= 0;
}

/* Numbers as one dataset; lists of anything else as JSON text. */
static gboolean
put_list (hid_t at, const char *name, const json_t *list)
{
  hsize_t n = json_array_size (list);
  g_autofree double *numbers = g_new (double, n + 1);
  for (hsize_t i = 0; i < n; i++) {
    const json_t *item = json_array_get (list, i);
    if (!json_is_number (item))
      return put_json_text (at, name, list);
    numbers[i] = json_number_value (item);
  }
  if (n == 0)
    return put_json_text (at, name, list);
  hid_t dataset = put_dataset (at, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 1, &n, numbers);
  return dataset >= 0 && H5Dclose (dataset) >= 0;
}

static gboolean
put_members (hid_t group, json_t *object)
{
  const char *key;
  json_t *item;
  json_object_foreach (object, key, item)
    if (!put_tree (group, key, item))
      return FALSE;
  return TRUE;
}

/* JSON as groups and datasets; null, and a key that HDF5 would take for a path, are only in /info. */
static gboolean
put_tree (hid_t at, const char *name, json_t *json)
{
  if (json_is_null (json) || strchr (name, '/') != NULL || name[0] == '\0' || strcmp (name, ".") == 0)
    return TRUE;
  if (json_is_array (json))
    return put_list (at, name, json);
  if (!json_is_object (json))
    return put_scalar (at, name, json);
  hid_t group = put_group (at, name, NULL);
  gboolean good = group >= 0 && put_members (group, json);
  return group >= 0 && H5Gclose (group) >= 0 && good;
}

/* /values/C10 = 6.068 with attributes unit, error, spread. */
static gboolean
put_values (hid_t file, json_t *values)
{
  hid_t group = put_group (file, "values", NULL);
  const char *name, *key;
  json_t *entry, *item;
  gboolean good = group >= 0;
  json_object_foreach (values, name, entry) {
    json_t *number = json_is_object (entry) ? json_object_get (entry, "value") : entry;
    if (!good || !json_is_number (number) || strchr (name, '/') != NULL)
      continue;
    double value = json_number_value (number);
    hid_t dataset = put_dataset (group, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 0, NULL, &value);
    good = dataset >= 0;
    json_object_foreach (entry, key, item) {
      if (good && json_is_string (item))
        good = put_text_attribute (dataset, key, json_string_value (item));
      else if (good && json_is_number (item) && item != number)
        good = put_number_attribute (dataset, key, json_number_value (item));
    }
    if (dataset >= 0)
      H5Dclose (dataset);
  }
  return group >= 0 && H5Gclose (group) >= 0 && good;
}

static gboolean
put_info (hid_t file, json_t *info)
{
  json_t *values = json_object_get (info, "values"), *parameters = json_object_get (info, "parameters");
  static const char *const plain[] = { "coordinates", "calibration" };
  if (!put_json_text (file, "info", info) || (json_is_object (values) && !put_values (file, values)))
    return FALSE;
  if (parameters != NULL && !put_json_text (file, "parameters", parameters))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (plain); i++) {
    json_t *item = json_object_get (info, plain[i]);
    if (json_is_object (item) && !put_tree (file, plain[i], item))
      return FALSE;
  }
  return TRUE;
}

/* What HDFView and others need to show bytes as a colour picture. */
static gboolean
mark_as_picture (hid_t dataset)
{
  return put_text_attribute (dataset, "CLASS", "IMAGE") && put_text_attribute (dataset, "IMAGE_VERSION", "1.2")
         && put_text_attribute (dataset, "IMAGE_SUBCLASS", "IMAGE_TRUECOLOR")
         && put_text_attribute (dataset, "INTERLACE_MODE", "INTERLACE_PIXEL");
}

static gboolean
put_array (hid_t file, const SbArray *array)
{
  static const char *const names[3] = { "axis0", "axis1", "axis2" };
  hsize_t dims[3];
  for (int i = 0; i < array->n_dims; i++)
    dims[i] = (hsize_t)array->shape[i];
  hid_t dataset = array->bytes
                      ? put_dataset (file, array->name, H5T_STD_U8LE, H5T_NATIVE_UINT8, array->n_dims, dims, array->pixels)
                      : put_dataset (file, array->name, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, array->n_dims, dims, array->data);
  gboolean good = dataset >= 0 && put_text_attribute (dataset, "long_name", array->title)
                  && put_text_attribute (dataset, "unit", array->unit) && put_text_attribute (dataset, "units", array->unit)
                  && put_attribute (dataset, "step", H5T_NATIVE_DOUBLE, (hsize_t)array->n_dims, array->step)
                  && (!array->bytes || mark_as_picture (dataset));
  for (int i = 0; good && i < array->n_dims; i++) {
    g_autofree char *name = g_strconcat (names[i], "_unit", NULL);
    good = put_text_attribute (dataset, name, array->axis_unit[i]);
  }
  if (dataset >= 0)
    H5Dclose (dataset);
  return good;
}

static gboolean
put_axis (hid_t group, const SbArray *array, int axis, const char *name)
{
  hsize_t n = (hsize_t)array->shape[axis];
  g_autofree double *positions = g_try_new (double, n);
  if (positions == NULL)
    return FALSE;
  for (hsize_t i = 0; i < n; i++)
    positions[i] = (double)i * array->step[axis];
  hid_t dataset = put_dataset (group, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 1, &n, positions);
  gboolean good = dataset >= 0 && put_text_attribute (dataset, "units", array->axis_unit[axis]);
  if (dataset >= 0)
    H5Dclose (dataset);
  return good;
}

/* /entry/<name>: NXdata over the array at the root; vectors are (row, col), so the axes are y, x. */
static gboolean
put_nexus_data (hid_t file, hid_t entry, const SbArray *array)
{
  static const char axes[2][8] = { "y", "x" };
  if (array->bytes || array->n_dims != 2 || !isfinite (array->step[0]) || !isfinite (array->step[1]))
    return TRUE;
  hid_t group = put_group (entry, array->name, "NXdata");
  if (group < 0)
    return FALSE;
  hid_t type = text_type ("1234567");
  gboolean good = H5Lcreate_hard (file, array->name, group, "data", H5P_DEFAULT, H5P_DEFAULT) >= 0
                  && put_text_attribute (group, "signal", "data") && put_text_attribute (group, "title", array->title)
                  && put_attribute (group, "axes", type, 2, axes) && put_axis (group, array, 0, axes[0])
                  && put_axis (group, array, 1, axes[1]);
  H5Tclose (type);
  return H5Gclose (group) >= 0 && good;
}

static gboolean
put_nexus (hid_t file, const SbResult *result)
{
  hid_t entry = put_group (file, "entry", "NXentry");
  gboolean good = entry >= 0;
  for (guint i = 0; good && i < result->arrays->len; i++)
    good = put_nexus_data (file, entry, g_ptr_array_index (result->arrays, i));
  if (good && result->arrays->len > 0)
    good = put_text_attribute (entry, "default", ((const SbArray *)g_ptr_array_index (result->arrays, 0))->name);
  return entry >= 0 && H5Gclose (entry) >= 0 && good;
}

static gboolean
put_result (hid_t file, const SbResult *result)
{
  g_autoptr (GString) names = g_string_new (NULL);
  for (guint i = 0; i < result->arrays->len; i++) {
    const SbArray *array = g_ptr_array_index (result->arrays, i);
    if (!put_array (file, array))
      return FALSE;
    g_string_append_printf (names, "%s%s", i > 0 ? " " : "", array->name);
  }
  return put_text_attribute (file, "sideband_version", SB_VERSION)
         && put_text_attribute (file, "kind", result_is_calibration (result) ? "calibration" : "result")
         && put_text_attribute (file, "arrays", names->str) && put_text_attribute (file, "NX_class", "NXroot")
         && put_text_attribute (file, "default", "entry") && put_info (file, result->info) && put_nexus (file, result);
}

static gboolean
write_hdf5 (const SbResult *result, const char *path, GError **error)
{
  return h5image_save (path, put_result, result, error);
}

static gboolean
ours (const char *path)
{
  if (seal_exists (path))
    return TRUE;
  if (!h5io_begin (NULL))
    return FALSE;
  hid_t file = h5io_open_file (path, NULL);
  gboolean found = file >= 0 && H5Aexists (file, "sideband_version") > 0;
  if (file >= 0)
    H5Fclose (file);
  h5io_end ();
  return found;
}

static gboolean
applies (const SbResult *result)
{
  return result->arrays->len > 0 && !result_is_calibration (result) && !result_is_detector (result);
}

const SbWriter writer_hdf5 = {
  .name = "hdf5",
  .suffix = "_result.h5",
  .applies = applies,
  .write = write_hdf5,
  .ours = ours,
};

const SbWriter writer_calibration_hdf5 = {
  .name = "calibration_hdf5",
  .suffix = "_calibration.h5",
  .applies = result_is_calibration,
  .write = write_hdf5,
  .ours = ours,
};

const SbWriter writer_detector_hdf5 = {
  .name = "detector_hdf5",
  .suffix = "_detector.h5",
  .applies = result_is_detector,
  .write = write_hdf5,
  .ours = ours,
};
