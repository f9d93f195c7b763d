/* HDF5 files of other makers than the detector's, made by tests. */
#ifndef SB_TESTS_UNIT_H5_SCENES_H
#define SB_TESTS_UNIT_H5_SCENES_H

#include "tests/unit/hdf5_files.h"

static inline hid_t
deep_links (void)
{
  hid_t links = H5Pcreate (H5P_LINK_CREATE);
  H5Pset_create_intermediate_group (links, 1);
  return links;
}

static inline void
put_group (hid_t file, const char *path)
{
  hid_t links = deep_links (), group = H5Gcreate2 (file, path, links, H5P_DEFAULT, H5P_DEFAULT);
  g_assert_cmpint (group, >=, 0);
  H5Gclose (group);
  H5Pclose (links);
}

static inline hid_t
text_type (const char *text)
{
  hid_t type = H5Tcopy (H5T_C_S1);
  H5Tset_size (type, MAX (strlen (text), 1));
  return type;
}

/* A text attribute of the object at path; texts: several of them ("a|b" is two). */
static inline void
put_mark (hid_t file, const char *path, const char *name, const char *text)
{
  hid_t object = H5Oopen (file, path, H5P_DEFAULT), type = text_type (text), space = H5Screate (H5S_SCALAR);
  hid_t a = H5Acreate2 (object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  g_assert_cmpint (H5Awrite (a, type, text), >=, 0);
  H5Aclose (a);
  H5Sclose (space);
  H5Tclose (type);
  H5Oclose (object);
}

static inline void
put_mark_number (hid_t file, const char *path, const char *name, double value)
{
  hid_t object = H5Oopen (file, path, H5P_DEFAULT), space = H5Screate (H5S_SCALAR);
  hid_t a = H5Acreate2 (object, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT);
  g_assert_cmpint (H5Awrite (a, H5T_NATIVE_DOUBLE, &value), >=, 0);
  H5Aclose (a);
  H5Sclose (space);
  H5Oclose (object);
}

/* n texts of at most 15 bytes each: an attribute of the object at path, or (name NULL) a dataset. */
static inline void
put_texts (hid_t file, const char *path, const char *name, int n, const char *const *texts)
{
  char packed[8][16] = { { 0 } };
  hsize_t length = (hsize_t)n;
  hid_t type = H5Tcopy (H5T_C_S1), space = H5Screate_simple (1, &length, NULL), links = deep_links ();
  H5Tset_size (type, 16);
  for (int i = 0; i < n; i++)
    g_strlcpy (packed[i], texts[i], 16);
  if (name != NULL) {
    hid_t object = H5Oopen (file, path, H5P_DEFAULT);
    hid_t a = H5Acreate2 (object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    g_assert_cmpint (H5Awrite (a, type, packed), >=, 0);
    H5Aclose (a);
    H5Oclose (object);
  } else {
    hid_t set = H5Dcreate2 (file, path, type, space, links, H5P_DEFAULT, H5P_DEFAULT);
    g_assert_cmpint (H5Dwrite (set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, packed), >=, 0);
    H5Dclose (set);
  }
  H5Pclose (links);
  H5Sclose (space);
  H5Tclose (type);
}

/* The vector of an axis, from 0 in even steps, and its units. */
static inline void
put_axis (hid_t file, const char *path, hsize_t n, double step, const char *units)
{
  g_autofree double *values = g_new (double, n);
  for (hsize_t i = 0; i < n; i++)
    values[i] = (double)i * step;
  hid_t links = deep_links (), space = H5Screate_simple (1, &n, NULL);
  hid_t set = H5Dcreate2 (file, path, H5T_IEEE_F64LE, space, links, H5P_DEFAULT, H5P_DEFAULT);
  g_assert_cmpint (H5Dwrite (set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), >=, 0);
  H5Dclose (set);
  H5Sclose (space);
  H5Pclose (links);
  if (units != NULL)
    put_mark (file, path, "units", units);
}

static inline hid_t
chunked4 (hsize_t a, hsize_t b, hsize_t rows, hsize_t cols)
{
  hsize_t chunk[4] = { a, b, rows, cols };
  hid_t plan = H5Pcreate (H5P_DATASET_CREATE);
  H5Pset_chunk (plan, 4, chunk);
  return plan;
}

/* Images [a][b] with the counts of image first + a * B + b; plan: the layout (consumed). */
static inline void
put_stack (hid_t file, const char *path, hsize_t a, hsize_t b, gint64 first, hid_t plan)
{
  hsize_t shape[4] = { a, b, ROWS, COLS };
  g_autofree guint16 *counts = make_counts (first, (gint64)(a * b));
  hid_t links = deep_links (), space = H5Screate_simple (4, shape, NULL);
  hid_t set = H5Dcreate2 (file, path, H5T_STD_U16LE, space, links, plan, H5P_DEFAULT);
  g_assert_cmpint (set, >=, 0);
  g_assert_cmpint (H5Dwrite (set, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, counts), >=, 0);
  H5Dclose (set);
  H5Sclose (space);
  H5Pclose (links);
  if (plan != H5P_DEFAULT)
    H5Pclose (plan);
}

/* Frames [first, first + n): frame f holds the counts of image f * step + image. */
static inline void
assert_images (const SbAcquisition *a, gint64 first, gint64 n, gint64 step, gint64 image)
{
  g_autoptr (GError) error = NULL;
  g_autofree guint16 *frames = read_frames (a, first, n, &error);
  g_assert_no_error (error);
  for (gint64 i = 0; i < n * SIZE; i++)
    g_assert_cmpuint (frames[i], ==, count_at ((first + i / SIZE) * step + image, i % SIZE));
}

static inline gboolean
warned (const SbAcquisition *a, const char *text)
{
  for (guint i = 0; i < a->header.warnings->len; i++)
    if (strstr (a->header.warnings->pdata[i], text) != NULL)
      return TRUE;
  return FALSE;
}

#endif
