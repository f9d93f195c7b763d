/* HDF5 files as detectors write them, made by tests. */
#ifndef SB_TESTS_UNIT_HDF5_FILES_H
#define SB_TESTS_UNIT_HDF5_FILES_H

#include "core/h5io.h"
#include "tests/unit/frames.h"

enum { ROWS = 6, COLS = 5, SIZE = ROWS * COLS };

static inline guint16
count_at (gint64 frame, gint64 pixel)
{
  return (guint16)(frame * 100 + pixel);
}

static inline guint16 *
make_counts (gint64 first, gint64 n)
{
  guint16 *counts = g_new (guint16, n * SIZE + 1);
  for (gint64 i = 0; i < n * SIZE; i++)
    counts[i] = count_at (first + i / SIZE, i % SIZE);
  return counts;
}

static inline void
put_attribute (hid_t set, const char *name, guint64 value)
{
  hid_t space = H5Screate (H5S_SCALAR), a = H5Acreate2 (set, name, H5T_STD_U64LE, space, H5P_DEFAULT, H5P_DEFAULT);
  H5Awrite (a, H5T_NATIVE_UINT64, &value);
  H5Aclose (a);
  H5Sclose (space);
}

/* A dataset of n frames from first; plan: its layout (consumed). rank 2 or 3. image_nr: 0 for none, else of
 * its first frame. */
static inline void
put_frames (hid_t file, const char *path, int rank, gint64 first, gint64 n, hid_t plan, guint64 image_nr)
{
  hsize_t shape[3] = { (hsize_t)n, ROWS, COLS };
  g_autofree guint16 *counts = make_counts (first, n);
  hid_t links = H5Pcreate (H5P_LINK_CREATE), space = H5Screate_simple (rank, shape + 3 - rank, NULL);
  H5Pset_create_intermediate_group (links, 1);
  hid_t set = H5Dcreate2 (file, path, H5T_STD_U16LE, space, links, plan, H5P_DEFAULT);
  g_assert_cmpint (set, >=, 0);
  g_assert_cmpint (H5Dwrite (set, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, counts), >=, 0);
  if (image_nr > 0) {
    put_attribute (set, "image_nr_low", image_nr);
    put_attribute (set, "image_nr_high", image_nr + (guint64)n - 1);
  }
  H5Dclose (set);
  H5Sclose (space);
  H5Pclose (links);
  if (plan != H5P_DEFAULT)
    H5Pclose (plan);
}

static inline hid_t
chunked (hsize_t frames, hsize_t rows, hsize_t cols)
{
  hsize_t chunk[3] = { frames, rows, cols };
  hid_t plan = H5Pcreate (H5P_DATASET_CREATE);
  H5Pset_chunk (plan, 3, chunk);
  return plan;
}

static inline hid_t
new_file (const char *folder, const char *name, gboolean newer)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  hid_t access = H5Pcreate (H5P_FILE_ACCESS);
  if (newer)
    H5Pset_libver_bounds (access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  hid_t file = H5Fcreate (path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  H5Pclose (access);
  g_assert_cmpint (file, >=, 0);
  return file;
}

/* A master with links to the named data files. */
static inline void
put_links (hid_t file, guint from, guint to)
{
  hid_t links = H5Pcreate (H5P_LINK_CREATE);
  H5Pset_create_intermediate_group (links, 1);
  for (guint i = from; i <= to; i++) {
    g_autofree char *name = g_strdup_printf ("/entry/data/data_%06u", i), *target = g_strdup_printf ("x_data_%06u.h5", i);
    g_assert_cmpint (H5Lcreate_external (target, "/entry/data/data", file, name, links, H5P_DEFAULT), >=, 0);
  }
  H5Pclose (links);
}

static inline void
put_data_file (const char *folder, guint i, gint64 first, gint64 n, guint64 image_nr)
{
  g_autofree char *name = g_strdup_printf ("x_data_%06u.h5", i);
  hid_t file = new_file (folder, name, FALSE);
  put_frames (file, "/entry/data/data", 3, first, n, chunked (1, ROWS, COLS), image_nr);
  H5Fclose (file);
}

/* A (1,)-array of one number. */
static inline void
put_number (hid_t file, const char *path, double value, const char *units)
{
  hsize_t one = 1;
  hid_t links = H5Pcreate (H5P_LINK_CREATE), space = H5Screate_simple (1, &one, NULL);
  hid_t type = H5Tcopy (H5T_C_S1);
  H5Pset_create_intermediate_group (links, 1);
  hid_t set = H5Dcreate2 (file, path, H5T_IEEE_F32BE, space, links, H5P_DEFAULT, H5P_DEFAULT);
  H5Dwrite (set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value);
  H5Tset_size (type, MAX (strlen (units), 1));
  hid_t a = H5Acreate2 (set, "units", type, space, H5P_DEFAULT, H5P_DEFAULT);
  H5Awrite (a, type, units);
  H5Aclose (a);
  H5Dclose (set);
  H5Tclose (type);
  H5Sclose (space);
  H5Pclose (links);
}

#endif
