/* DECTRIS' NXmx of 2024: virtual datasets over data files, channels, what is missing; Zstandard. */
#include <zstd.h>

#include "core/bitshuffle.h"
#include "tests/unit/h5_scenes.h"

enum { CHANNELS = 3, FRAMES = 12, EACH = 5 };

static char *folder;

static char *
path_of (const char *name)
{
  return g_build_filename (folder, name, NULL);
}

static void
put_data (guint i, gint64 first, gint64 n)
{
  g_autofree char *name = g_strdup_printf ("x_data_%06u.h5", i);
  hid_t file = new_file (folder, name, FALSE);
  put_stack (file, "/entry/data/data", (hsize_t)n, CHANNELS, first * CHANNELS, chunked4 (1, 1, ROWS, COLS));
  H5Fclose (file);
}

/* Maps frames [first, first + n) of 4 axes to a data file. */
static void
map_file (hid_t plan, guint i, gint64 first, gint64 n)
{
  g_autofree char *name = g_strdup_printf ("x_data_%06u.h5", i);
  hsize_t whole[4] = { FRAMES, CHANNELS, ROWS, COLS }, part[4] = { (hsize_t)n, CHANNELS, ROWS, COLS };
  hsize_t start[4] = { (hsize_t)first, 0, 0, 0 };
  hid_t to = H5Screate_simple (4, whole, NULL), from = H5Screate_simple (4, part, NULL);
  H5Sselect_hyperslab (to, H5S_SELECT_SET, start, NULL, part, NULL);
  g_assert_cmpint (H5Pset_virtual (plan, to, name, "/entry/data/data", from), >=, 0);
  H5Sclose (to);
  H5Sclose (from);
}

static void
put_map (hid_t file, const char *path, int bad)
{
  guint32 mask[SIZE] = { 0 };
  hsize_t shape[2] = { ROWS, COLS };
  mask[bad] = 1;
  mask[bad + 1] = 1u << 31; /* interpolated: counts */
  hid_t links = deep_links (), space = H5Screate_simple (2, shape, NULL);
  hid_t set = H5Dcreate2 (file, path, H5T_STD_U32LE, space, links, H5P_DEFAULT, H5P_DEFAULT);
  H5Dwrite (set, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, mask);
  H5Dclose (set);
  H5Sclose (space);
  H5Pclose (links);
}

static void
put_flatfield (hid_t file, const char *path, float value)
{
  float flat[SIZE];
  hsize_t shape[2] = { ROWS, COLS };
  for (int i = 0; i < SIZE; i++)
    flat[i] = i == 4 ? value : 1;
  hid_t links = deep_links (), space = H5Screate_simple (2, shape, NULL);
  hid_t set = H5Dcreate2 (file, path, H5T_IEEE_F32LE, space, links, H5P_DEFAULT, H5P_DEFAULT);
  H5Dwrite (set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, flat);
  H5Dclose (set);
  H5Sclose (space);
  H5Pclose (links);
}

/* A master whose frames lie in `files` data files, as the map says. */
static char *
put_master (int files)
{
  static const char *const channels[CHANNELS] = { "threshold_1", "threshold_2", "difference" };
  hsize_t whole[4] = { FRAMES, CHANNELS, ROWS, COLS };
  hid_t file = new_file (folder, "x_master.h5", TRUE), plan = H5Pcreate (H5P_DATASET_CREATE), links = deep_links ();
  hid_t space = H5Screate_simple (4, whole, NULL);
  for (int i = 0; i < files; i++)
    map_file (plan, (guint)i + 1, i * EACH, MIN (EACH, FRAMES - i * EACH));
  hid_t set = H5Dcreate2 (file, "/entry/data/data", H5T_STD_U16LE, space, links, plan, H5P_DEFAULT);
  g_assert_cmpint (set, >=, 0);
  H5Dclose (set);
  H5Pclose (links);
  H5Pclose (plan);
  H5Sclose (space);
  put_texts (file, "/entry/data/channel", NULL, CHANNELS, channels);
  put_number (file, "/entry/instrument/beam/incident_energy", 80000, "eV");
  put_number (file, "/entry/instrument/detector/saturation_value", 5000, "");
  put_map (file, "/entry/instrument/detector/threshold_1_channel/pixel_mask", 3);
  put_map (file, "/entry/instrument/detector/threshold_2_channel/pixel_mask", 7);
  put_flatfield (file, "/entry/instrument/detector/threshold_1_channel/flatfield", 1.25f);
  put_flatfield (file, "/entry/instrument/detector/threshold_2_channel/flatfield", 1);
  H5Fclose (file);
  return path_of ("x_master.h5");
}

static void
put_all (void)
{
  for (guint i = 0; i < 3; i++)
    put_data (i + 1, i * EACH, MIN (EACH, FRAMES - i * EACH));
}

static void
test_channels (void)
{
  static const SbAcquisitionOptions second = { .scan_shape = { 3, 4 }, .channel = (char *)"threshold_2" },
                                    third = { .scan_shape = { 3, 4 }, .channel = (char *)"2" },
                                    first = { .scan_shape = { 3, 4 } },
                                    none = { .scan_shape = { 3, 4 }, .channel = (char *)"threshold_9" };
  const SbAcquisitionOptions *const options[CHANNELS] = { &first, &second, &third };
  g_autofree char *path = put_master (3);
  put_all ();
  for (int c = 0; c < CHANNELS; c++) {
    SbAcquisition *a = open_good (path, options[c]);
    g_assert_cmpstr (a->format->name, ==, "nxmx");
    g_assert_cmpint (a->header.frames, ==, FRAMES);
    g_assert_cmpfloat (a->header.energy, ==, 80);
    g_assert_cmpfloat (a->header.saturation, ==, 5000);
    for (gint64 f = 0; f < FRAMES; f++)
      for (gint64 n = 1; n <= FRAMES - f; n++)
        assert_images (a, f, n, CHANNELS, c);
    for (int i = 0; i < SIZE && c < 2; i++)
      g_assert_cmpint (a->header.mask[i], ==, i == (c == 0 ? 3 : 7));
    g_assert_true (warned (a, "flatfield") == (c == 0));
    g_assert_true (warned (a, "differ from 1 by up to 0.25") == (c == 0));
    g_assert_true ((a->header.mask == NULL) == (c == 2));
    g_assert_cmpint (a->header.files->len, ==, 4);
    acquisition_free (a);
  }
  assert_refused (path, &none, SB_ERROR_ARGUMENT, "no channel threshold_9", "threshold_1, threshold_2, difference", NULL);
}

/* All frames in the master itself. */
static void
test_one_file (void)
{
  static const char *const channels[CHANNELS] = { "a", "b", "c" };
  static const SbAcquisitionOptions second = { .scan_shape = { 2, 2 }, .channel = (char *)"b" };
  hid_t file = new_file (folder, "one_master.h5", FALSE);
  put_stack (file, "/entry/data/data", 4, CHANNELS, 0, chunked4 (2, CHANNELS, ROWS, COLS));
  put_texts (file, "/entry/data/channel", NULL, CHANNELS, channels);
  H5Fclose (file);
  g_autofree char *path = path_of ("one_master.h5");
  SbAcquisition *a = open_good (path, &second);
  assert_images (a, 0, 4, CHANNELS, 1);
  acquisition_free (a);
}

static void
test_missing (void)
{
  static const SbAcquisitionOptions shape = { .scan_shape = { 3, 4 } }, partial = { .scan_shape = { 3, 4 }, .partial = TRUE };
  g_autofree char *path = put_master (3), *second = path_of ("x_data_000002.h5"), *third = path_of ("x_data_000003.h5");
  put_all ();
  g_assert_cmpint (g_remove (third), ==, 0);
  assert_refused (path, &shape, SB_ERROR_IO, "x_data_000003.h5 is missing", "10 of 12 frames", "2 complete rows", NULL);
  SbAcquisition *a = open_good (path, &partial);
  g_assert_cmpint (a->used_rows, ==, 2);
  assert_images (a, 0, 8, CHANNELS, 0);
  acquisition_free (a);
  put_all ();
  g_assert_cmpint (g_remove (second), ==, 0); /* what comes after the hole is not moved into it */
  assert_refused (path, &shape, SB_ERROR_IO, "x_data_000002.h5 is missing", "5 of 12 frames", "1 complete row", NULL);
  g_assert_cmpint (g_remove (third), ==, 0);
  put_data (2, EACH, 2); /* stopped while it was written */
  assert_refused (path, &shape, SB_ERROR_IO, "x_data_000002.h5 holds 6 frames; 3 more were to come", "7 of 12", NULL);
  g_assert_cmpint (g_remove (second), ==, 0);
  assert_refused (path, &shape, SB_ERROR_IO, "x_data_000002.h5 is missing", "5 of 12 frames", NULL);
  g_autofree char *short_map = put_master (2);
  put_all ();
  assert_refused (path, &shape, SB_ERROR_IO, "names no file for frame 10", NULL);
}

/* Every third frame of a source, of three axes: a virtual dataset that takes frames apart. */
static void
test_strides (void)
{
  static const SbAcquisitionOptions shape = { .scan_shape = { 2, 2 } };
  hsize_t whole[3] = { 4, ROWS, COLS }, all[3] = { 12, ROWS, COLS }, start[3] = { 1, 0, 0 }, stride[3] = { 3, 1, 1 };
  hid_t file = new_file (folder, "s_master.h5", TRUE), plan = H5Pcreate (H5P_DATASET_CREATE), links = deep_links ();
  hid_t to = H5Screate_simple (3, whole, NULL), from = H5Screate_simple (3, all, NULL);
  H5Sselect_hyperslab (from, H5S_SELECT_SET, start, stride, whole, NULL);
  g_assert_cmpint (H5Pset_virtual (plan, to, ".", "/raw", from), >=, 0);
  hid_t set = H5Dcreate2 (file, "/entry/data/data", H5T_STD_U16LE, to, links, plan, H5P_DEFAULT);
  H5Dclose (set);
  H5Pclose (plan);
  H5Pclose (links);
  H5Sclose (to);
  H5Sclose (from);
  put_frames (file, "/raw", 3, 0, 12, chunked (1, ROWS, COLS), 0);
  H5Fclose (file);
  g_autofree char *path = path_of ("s_master.h5");
  SbAcquisition *a = open_good (path, &shape);
  assert_images (a, 0, 4, 3, 1);
  acquisition_free (a);
}

/* Every second row of frames of a source of four axes, and of those the last two frames. */
static void
test_rows (void)
{
  hsize_t whole[3] = { 4, ROWS, COLS }, all[4] = { 4, 3, ROWS, COLS }, start[4] = { 1, 1, 0, 0 }, stride[4] = { 2, 1, 1, 1 },
          count[4] = { 2, 2, ROWS, COLS };
  static const gint64 images[4] = { 4, 5, 10, 11 };
  static const SbAcquisitionOptions shape = { .scan_shape = { 2, 2 } };
  hid_t file = new_file (folder, "r_master.h5", TRUE), plan = H5Pcreate (H5P_DATASET_CREATE), links = deep_links ();
  hid_t to = H5Screate_simple (3, whole, NULL), from = H5Screate_simple (4, all, NULL);
  H5Sselect_hyperslab (from, H5S_SELECT_SET, start, stride, count, NULL);
  g_assert_cmpint (H5Pset_virtual (plan, to, ".", "/raw", from), >=, 0);
  hid_t set = H5Dcreate2 (file, "/entry/data/data", H5T_STD_U16LE, to, links, plan, H5P_DEFAULT);
  H5Dclose (set);
  H5Pclose (plan);
  H5Pclose (links);
  H5Sclose (to);
  H5Sclose (from);
  put_stack (file, "/raw", 4, 3, 0, H5P_DEFAULT);
  H5Fclose (file);
  g_autofree char *path = path_of ("r_master.h5");
  SbAcquisition *a = open_good (path, &shape);
  for (gint64 f = 0; f < 4; f++)
    assert_images (a, f, 1, 0, images[f]);
  acquisition_free (a);
}

/* Halves of frames side by side are refused. */
static void
test_tiles (void)
{
  hsize_t whole[3] = { 4, ROWS, COLS }, half[3] = { 4, ROWS / 2, COLS }, start[3] = { 0, 0, 0 };
  hid_t file = new_file (folder, "t_master.h5", TRUE), plan = H5Pcreate (H5P_DATASET_CREATE), links = deep_links ();
  hid_t to = H5Screate_simple (3, whole, NULL), from = H5Screate_simple (3, half, NULL);
  for (int k = 0; k < 2; k++) {
    start[1] = (hsize_t)k * ROWS / 2;
    H5Sselect_hyperslab (to, H5S_SELECT_SET, start, NULL, half, NULL);
    g_assert_cmpint (H5Pset_virtual (plan, to, "x_data_000001.h5", "/entry/data/data", from), >=, 0);
  }
  H5Sselect_all (to);
  hid_t set = H5Dcreate2 (file, "/entry/data/data", H5T_STD_U16LE, to, links, plan, H5P_DEFAULT);
  g_assert_cmpint (set, >=, 0);
  H5Dclose (set);
  H5Pclose (plan);
  H5Pclose (links);
  H5Sclose (to);
  H5Sclose (from);
  H5Fclose (file);
  g_autofree char *path = path_of ("t_master.h5");
  assert_refused (path, NULL, SB_ERROR_DATA, "t_master.h5", "not made of whole frames", NULL);
}

/* ---- bitshuffle with Zstandard ---- */

static size_t
no_filter (unsigned flags, size_t n, const unsigned values[], size_t size, size_t *room, void **bytes)
{
  return size;
}

/* A frame as the filter stores it: 30 counts of two bytes, of which the last six are neither shuffled nor packed. */
static GByteArray *
encode_zstd (const guint16 *counts)
{
  enum { WHOLE = SIZE / 8 * 8 };
  const guint8 *in = (const guint8 *)counts;
  guint8 planes[2 * WHOLE] = { 0 }, head[16] = { 0 }, packed[512];
  for (int e = 0; e < WHOLE; e++)
    for (int b = 0; b < 16; b++)
      if (in[2 * e + b / 8] >> (b % 8) & 1)
        planes[b * WHOLE / 8 + e / 8] |= (guint8)(1 << e % 8);
  gsize n = ZSTD_compress (packed, sizeof packed, planes, sizeof planes, 3);
  g_assert_false (ZSTD_isError (n));
  head[7] = 2 * SIZE;
  head[10] = 8192 >> 8;
  head[15] = (guint8)n;
  GByteArray *to = g_byte_array_new ();
  g_byte_array_append (to, head, 16);
  g_byte_array_append (to, packed, (guint)n);
  g_byte_array_append (to, in + 2 * WHOLE, 2 * (SIZE - WHOLE));
  return to;
}

static void
test_zstd (void)
{
  static const H5Z_class2_t class = { H5Z_CLASS_T_VERS, 32008, 1, 1, "zstd", NULL, NULL, no_filter };
  static const unsigned values[] = { 0, 4, 2, 0, 3 };
  static const SbAcquisitionOptions shape = { .scan_shape = { 2, 3 } };
  g_autoptr (GError) error = NULL;
  hsize_t all[3] = { 6, ROWS, COLS };
  hid_t file = new_file (folder, "z_master.h5", FALSE), plan = chunked (1, ROWS, COLS), links = deep_links ();
  hid_t space = H5Screate_simple (3, all, NULL);
  g_assert_cmpint (H5Zregister (&class), >=, 0);
  H5Pset_filter (plan, 32008, 0, 5, values);
  hid_t set = H5Dcreate2 (file, "/entry/data/data_000001", H5T_STD_U16LE, space, links, plan, H5P_DEFAULT);
  for (hsize_t f = 0; f < 6; f++) {
    hsize_t at[3] = { f, 0, 0 };
    g_autofree guint16 *counts = make_counts ((gint64)f, 1);
    g_autoptr (GByteArray) stored = encode_zstd (counts);
    if (f == 5)
      stored->data[20] ^= 0x55; /* inside the packed bytes */
    g_assert_cmpint (H5Dwrite_chunk (set, H5P_DEFAULT, 0, at, stored->len, stored->data), >=, 0);
  }
  H5Dclose (set);
  H5Sclose (space);
  H5Pclose (plan);
  H5Pclose (links);
  H5Fclose (file);
  H5Zunregister (32008);
  g_autofree char *path = path_of ("z_master.h5");
  SbAcquisition *a = open_good (path, &shape);
  assert_images (a, 0, 5, 1, 0);
  g_assert_null (read_frames (a, 4, 2, &error));
  g_assert_error (error, SB_ERROR, SB_ERROR_DATA);
  g_assert_nonnull (strstr (error->message, "z_master.h5: frame 5 is damaged"));
  acquisition_free (a);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  folder = new_folder ();
  g_test_add_func ("/formats/nxmx/channels", test_channels);
  g_test_add_func ("/formats/nxmx/one-file", test_one_file);
  g_test_add_func ("/formats/nxmx/missing", test_missing);
  g_test_add_func ("/formats/nxmx/strides", test_strides);
  g_test_add_func ("/formats/nxmx/rows", test_rows);
  g_test_add_func ("/formats/nxmx/tiles", test_tiles);
  g_test_add_func ("/formats/nxmx/zstd", test_zstd);
  int failed = g_test_run ();
  drop_folder (folder);
  return failed;
}
