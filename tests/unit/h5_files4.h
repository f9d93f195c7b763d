/* An EMD file of float32 frames of any shape, made by tests. */
#ifndef SB_TESTS_UNIT_H5_FILES4_H
#define SB_TESTS_UNIT_H5_FILES4_H

#include "core/h5io.h"
#include "tests/unit/frames.h"

static inline void
mark (hid_t object, const char *name, const char *text)
{
  hid_t type = H5Tcopy (H5T_C_S1), space = H5Screate (H5S_SCALAR);
  H5Tset_size (type, MAX (strlen (text), 1));
  hid_t a = H5Acreate2 (object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  g_assert_cmpint (H5Awrite (a, type, text), >=, 0);
  H5Aclose (a);
  H5Sclose (space);
  H5Tclose (type);
}

/* steps: of the four axes, in the units of the scan and of the detector. */
static inline void
write_emd (const char *path, const gint64 shape[4], const float *frames, const double steps[4], const char *scan,
           const char *detector)
{
  hsize_t size[4] = { (hsize_t)shape[0], (hsize_t)shape[1], (hsize_t)shape[2], (hsize_t)shape[3] }, two = 2;
  hid_t file = H5Fcreate (path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t group = H5Gcreate2 (file, "cube", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), space = H5Screate_simple (4, size, NULL);
  hid_t set = H5Dcreate2 (group, "data", H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  g_assert_cmpint (H5Dwrite (set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, frames), >=, 0);
  H5Dclose (set);
  H5Sclose (space);
  mark (group, "emd_group_type", "array");
  space = H5Screate_simple (1, &two, NULL);
  for (int i = 0; i < 4; i++) {
    const double values[2] = { 0, steps[i] };
    g_autofree char *name = g_strdup_printf ("dim%d", i);
    set = H5Dcreate2 (group, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite (set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    mark (set, "units", i < 2 ? scan : detector);
    H5Dclose (set);
  }
  H5Sclose (space);
  H5Gclose (group);
  g_assert_cmpint (H5Fclose (file), >=, 0);
}

/* The same frames as a detector's master with its mask (uint32, bits as NeXus has them). */
static inline void
write_master (const char *path, const gint64 shape[4], const float *frames, const guint32 *mask)
{
  hsize_t size[3] = { (hsize_t)(shape[0] * shape[1]), (hsize_t)shape[2], (hsize_t)shape[3] };
  hid_t file = H5Fcreate (path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), links = H5Pcreate (H5P_LINK_CREATE);
  H5Pset_create_intermediate_group (links, 1);
  hid_t space = H5Screate_simple (3, size, NULL), plane = H5Screate_simple (2, size + 1, NULL);
  hid_t set = H5Dcreate2 (file, "/entry/data/data_000001", H5T_IEEE_F32LE, space, links, H5P_DEFAULT, H5P_DEFAULT);
  g_assert_cmpint (H5Dwrite (set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, frames), >=, 0);
  H5Dclose (set);
  set = H5Dcreate2 (file, "/entry/instrument/detector/detectorSpecific/pixel_mask", H5T_STD_U32LE, plane, links, H5P_DEFAULT,
                    H5P_DEFAULT);
  g_assert_cmpint (H5Dwrite (set, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, mask), >=, 0);
  H5Dclose (set);
  H5Sclose (space);
  H5Sclose (plane);
  H5Pclose (links);
  g_assert_cmpint (H5Fclose (file), >=, 0);
}

#endif
