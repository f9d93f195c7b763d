/* The ARINA reader on master files made here: layouts, gaps, dangling links, filters. */
#include "tests/unit/hdf5_files.h"

static void
assert_counts (const SbAcquisition *a, gint64 first, gint64 n)
{
  g_autoptr (GError) error = NULL;
  g_autofree guint16 *frames = read_frames (a, first, n, &error);
  g_assert_no_error (error);
  for (gint64 i = 0; i < n * SIZE; i++)
    g_assert_cmpuint (frames[i], ==, count_at (first + i / SIZE, i % SIZE));
}

/* 12 frames inside the master, in a layout. */
static void
check_layout (hid_t plan, int rank, gint64 n, SbDtype dtype)
{
  static const SbAcquisitionOptions shape = { .scan_shape = { 3, 4 } }, one = { .scan_shape = { 1, 1 } };
  char *folder = new_folder ();
  g_autofree char *path = g_build_filename (folder, "x_master.h5", NULL);
  g_assert_true (h5io_begin (NULL));
  hid_t file = new_file (folder, "x_master.h5", FALSE);
  put_frames (file, rank == 2 ? "/entry/data/data" : "/entry/data/data_000001", rank, 0, n, plan, 0);
  H5Fclose (file);
  h5io_end ();
  SbAcquisition *a = open_good (path, n == 1 ? &one : &shape);
  g_assert_cmpint (a->header.frames, ==, n);
  g_assert_cmpint (a->header.dtype, ==, dtype);
  for (gint64 first = 0; first < n; first++)
    for (gint64 m = 1; m <= n - first; m++)
      assert_counts (a, first, m);
  acquisition_free (a);
  drop_folder (folder);
}

static void
test_layouts (void)
{
  hid_t gzip = chunked (5, ROWS, COLS);
  H5Pset_shuffle (gzip);
  H5Pset_deflate (gzip, 6);
  check_layout (H5P_DEFAULT, 3, 12, SB_U16); /* contiguous */
  check_layout (chunked (1, ROWS, COLS), 3, 12, SB_U16);
  check_layout (chunked (5, 4, 3), 3, 12, SB_U16); /* tiles that overlap the edges */
  check_layout (chunked (12, ROWS, COLS), 3, 12, SB_U16);
  check_layout (gzip, 3, 12, SB_U16);
  check_layout (H5P_DEFAULT, 2, 1, SB_U16); /* no frame axis */
}

/* 11 of 12 chunks are written. */
static void
test_never_written (void)
{
  static const SbAcquisitionOptions shape = { .scan_shape = { 3, 4 } };
  for (int with_gzip = 0; with_gzip < 2; with_gzip++) {
    char *folder = new_folder ();
    hsize_t all[3] = { 12, ROWS, COLS }, start[3] = { 0 }, count[3] = { 11, ROWS, COLS };
    g_autofree char *path = g_build_filename (folder, "x_master.h5", NULL);
    g_autofree guint16 *counts = make_counts (0, 11);
    g_autoptr (GError) error = NULL;
    hid_t plan = chunked (1, ROWS, COLS), links = H5Pcreate (H5P_LINK_CREATE);
    if (with_gzip)
      H5Pset_deflate (plan, 1);
    H5Pset_create_intermediate_group (links, 1);
    hid_t file = new_file (folder, "x_master.h5", FALSE), space = H5Screate_simple (3, all, NULL);
    hid_t memory = H5Screate_simple (3, count, NULL);
    hid_t set = H5Dcreate2 (file, "/entry/data/data_000001", H5T_STD_U16LE, space, links, plan, H5P_DEFAULT);
    H5Sselect_hyperslab (space, H5S_SELECT_SET, start, NULL, count, NULL);
    H5Dwrite (set, H5T_NATIVE_UINT16, memory, space, H5P_DEFAULT, counts);
    H5Dclose (set);
    H5Sclose (space);
    H5Sclose (memory);
    H5Pclose (plan);
    H5Pclose (links);
    H5Fclose (file);
    SbAcquisition *a = open_good (path, &shape);
    assert_counts (a, 0, 11);
    g_assert_null (read_frames (a, 8, 4, &error));
    g_assert_nonnull (strstr (error->message, "x_master.h5: frame 11 was never written"));
    acquisition_free (a);
    drop_folder (folder);
  }
}

static void
test_gaps (void)
{
  static const SbAcquisitionOptions shape = { .scan_shape = { 4, 3 } };
  static const SbAcquisitionOptions partial = { .scan_shape = { 4, 3 }, .partial = TRUE };
  char *folder = new_folder ();
  g_autofree char *path = g_build_filename (folder, "x_master.h5", NULL);
  hid_t file = new_file (folder, "x_master.h5", FALSE);
  put_links (file, 1, 3);
  H5Fclose (file);
  put_data_file (folder, 1, 0, 4, 1);
  put_data_file (folder, 2, 4, 4, 5);
  put_data_file (folder, 3, 8, 4, 9);
  SbAcquisition *a = open_good (path, &shape);
  for (gint64 first = 0; first < 12; first++)
    for (gint64 n = 1; n <= 12 - first; n++)
      assert_counts (a, first, n);
  acquisition_free (a);
  put_data_file (folder, 2, 6, 2, 7); /* begins two frames late */
  assert_refused (path, &shape, SB_ERROR_IO, "Frames 4 to 5 are missing before ", "x_data_000002.h5", "partial", NULL);
  a = open_good (path, &partial);
  g_assert_cmpint (a->used_rows, ==, 1);
  acquisition_free (a);
  put_data_file (folder, 2, 4, 4, 3); /* another acquisition's numbers */
  assert_refused (path, &shape, SB_ERROR_DATA, "x_data_000002.h5", "mixed up", NULL);
  put_data_file (folder, 2, 4, 4, 0); /* without numbers: one behind the other */
  a = open_good (path, &shape);
  assert_counts (a, 0, 12);
  acquisition_free (a);
  drop_folder (folder);
}

/* Links are taken in numeric order whatever their digits, and 5,000 that lead nowhere are no trouble. */
static void
test_dangling (void)
{
  static const SbAcquisitionOptions partial = { .scan_shape = { 3, 4 }, .partial = TRUE };
  char *folder = new_folder ();
  g_autofree char *path = g_build_filename (folder, "x_master.h5", NULL);
  hid_t file = new_file (folder, "x_master.h5", FALSE);
  put_links (file, 1, 5000);
  H5Fclose (file);
  gint64 start = g_get_monotonic_time ();
  assert_refused (path, NULL, SB_ERROR_IO, "x_data_000001.h5 is missing", NULL);
  g_assert_cmpfloat ((double)(g_get_monotonic_time () - start), <, 1e6);
  put_data_file (folder, 1, 0, 8, 1);
  start = g_get_monotonic_time ();
  assert_refused (path, &(SbAcquisitionOptions){ .scan_shape = { 3, 4 } }, SB_ERROR_IO, "x_data_000002.h5 is missing",
                  "2 complete rows", NULL);
  SbAcquisition *a = open_good (path, &partial);
  g_assert_cmpfloat ((double)(g_get_monotonic_time () - start), <, 1e6);
  assert_counts (a, 0, 8);
  acquisition_free (a);
  drop_folder (folder);
}

/* data_1, data_2 ... data_12, in both ways in which HDF5 keeps a group. */
static void
test_order (void)
{
  static const SbAcquisitionOptions shapes[2] = { { .scan_shape = { 3, 4 } }, { .scan_shape = { 2, 4 } } };
  static const int counts[2] = { 12, 8 };
  for (int newer = 0; newer < 2; newer++) {
    char *folder = new_folder ();
    g_autofree char *path = g_build_filename (folder, "x_master.h5", NULL);
    hid_t file = new_file (folder, "x_master.h5", newer);
    for (int i = counts[newer] - 1; i >= 0; i--) {
      g_autofree char *name = g_strdup_printf (newer ? "/entry/data/data_%06d" : "/entry/data/data_%d", i + 1);
      put_frames (file, name, 3, i, 1, chunked (1, ROWS, COLS), 0);
    }
    H5Fclose (file);
    SbAcquisition *a = open_good (path, &shapes[newer]);
    g_assert_cmpint (a->header.frames, ==, counts[newer]);
    assert_counts (a, 0, counts[newer]);
    acquisition_free (a);
    drop_folder (folder);
  }
}

/* Units by their attribute, which mask bits count, the scan_shape attribute, and counted frames over
 * promised ones. */
static void
test_headers (void)
{
  static const guint32 bits[] = { 1u << 31, 1u << 16, 1, 2, 4, 8, 16, 64, 256 };
  guint32 mask[SIZE] = { 0 };
  hsize_t shape[2] = { ROWS, COLS }, two = 2;
  const gint32 scan[2] = { 2, 5 };
  char *folder = new_folder ();
  g_autofree char *path = g_build_filename (folder, "x_master.h5", NULL);
  hid_t file = new_file (folder, "x_master.h5", FALSE), space = H5Screate_simple (2, shape, NULL);
  memcpy (mask, bits, sizeof bits);
  put_frames (file, "/entry/data/data_000001", 3, 0, 10, chunked (1, ROWS, COLS), 1);
  put_number (file, "/entry/instrument/detector/detectorSpecific/photon_energy", 200, "keV");
  put_number (file, "/entry/instrument/detector/detectorSpecific/nimages", 7, "");
  put_number (file, "/entry/instrument/detector/detectorSpecific/ntrigger", 0xffffff, "");
  hid_t set = H5Dcreate2 (file, "/entry/instrument/detector/detectorSpecific/pixel_mask", H5T_STD_U32LE, space, H5P_DEFAULT,
                          H5P_DEFAULT, H5P_DEFAULT);
  H5Dwrite (set, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, mask);
  H5Dclose (set);
  H5Sclose (space);
  space = H5Screate_simple (1, &two, NULL);
  hid_t group = H5Gopen2 (file, "/entry/data", H5P_DEFAULT);
  hid_t a = H5Acreate2 (group, "scan_shape", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT);
  H5Awrite (a, H5T_NATIVE_INT32, scan);
  H5Aclose (a);
  H5Gclose (group);
  H5Sclose (space);
  H5Fclose (file);
  SbAcquisition *acquisition = open_good (path, NULL);
  g_assert_cmpfloat (acquisition->header.energy, ==, 200);
  g_assert_true (isnan (acquisition->header.step[0]));
  g_assert_cmpfloat (acquisition->header.saturation, ==, 65535);
  g_assert_cmpint (acquisition->scan_rows, ==, 2);
  g_assert_cmpint (acquisition->scan_cols, ==, 5);
  for (guint i = 0; i < SIZE; i++)
    g_assert_cmpint (acquisition->header.mask[i], ==, i >= 2 && i < G_N_ELEMENTS (bits));
  acquisition_free (acquisition);
  drop_folder (folder);
}

static gpointer
read_backwards (gpointer data)
{
  for (gint64 f = 143; f >= 0; f--)
    assert_counts (data, f, 1);
  return NULL;
}

/* More data files than are kept open at a time. */
static void
test_many_files (void)
{
  char *folder = new_folder ();
  GThread *threads[3];
  g_autofree char *path = g_build_filename (folder, "x_master.h5", NULL);
  hid_t file = new_file (folder, "x_master.h5", FALSE);
  put_links (file, 1, 144);
  H5Fclose (file);
  for (guint i = 0; i < 144; i++)
    put_data_file (folder, i + 1, i, 1, i + 1);
  SbAcquisition *a = open_good (path, NULL);
  g_assert_cmpint (a->scan_rows, ==, 12);
  for (int i = 0; i < 3; i++)
    threads[i] = g_thread_new ("reader", read_backwards, a);
  assert_counts (a, 0, 144);
  for (int i = 0; i < 3; i++)
    g_thread_join (threads[i]);
  acquisition_free (a);
  drop_folder (folder);
}

static size_t
no_filter (unsigned flags, size_t n, const unsigned values[], size_t size, size_t *room, void **bytes)
{
  return size;
}

static void
test_unknown_filter (void)
{
  static const H5Z_class2_t class = { H5Z_CLASS_T_VERS, 32500, 1, 1, "strange", NULL, NULL, no_filter };
  char *folder = new_folder ();
  g_autofree char *path = g_build_filename (folder, "x_master.h5", NULL);
  hid_t plan = chunked (1, ROWS, COLS);
  g_assert_cmpint (H5Zregister (&class), >=, 0);
  g_assert_cmpint (H5Pset_filter (plan, class.id, 0, 0, NULL), >=, 0);
  hid_t file = new_file (folder, "x_master.h5", FALSE);
  put_frames (file, "/entry/data/data_000001", 3, 0, 4, plan, 0);
  H5Fclose (file);
  g_assert_cmpint (H5Zunregister (class.id), >=, 0);
  assert_refused (path, NULL, SB_ERROR_DATA, "x_master.h5", "/entry/data/data_000001", "filter 32500", NULL);
  drop_folder (folder);
}

/* HDF5 files of no detector and without frames, and files that are not HDF5. */
static void
test_foreign (void)
{
  char *folder = new_folder ();
  g_autofree char *path = g_build_filename (folder, "x.h5", NULL), *text = g_build_filename (folder, "x.txt", NULL);
  hid_t file = new_file (folder, "x.h5", FALSE);
  put_number (file, "/other/number", 4, "");
  H5Fclose (file);
  write_file (text, "frames", 6);
  assert_refused (path, NULL, SB_ERROR_DATA, "x.h5", "no array of 3 or 4 axes", NULL);
  assert_refused (text, NULL, SB_ERROR_DATA, "x.txt", "DECTRIS", "NumPy", "Raw", NULL);
  drop_folder (folder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/formats/hdf5/layouts", test_layouts);
  g_test_add_func ("/formats/hdf5/never-written", test_never_written);
  g_test_add_func ("/formats/hdf5/gaps", test_gaps);
  g_test_add_func ("/formats/hdf5/dangling", test_dangling);
  g_test_add_func ("/formats/hdf5/order", test_order);
  g_test_add_func ("/formats/hdf5/headers", test_headers);
  g_test_add_func ("/formats/hdf5/many-files", test_many_files);
  g_test_add_func ("/formats/hdf5/unknown-filter", test_unknown_filter);
  g_test_add_func ("/formats/hdf5/foreign", test_foreign);
  return g_test_run ();
}
