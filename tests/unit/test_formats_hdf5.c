/* The ARINA reader on master files made here: layouts, gaps, dangling links, filters. */
#include "core/h5io.h"
#include "tests/unit/frames.h"

enum { ROWS = 6, COLS = 5, SIZE = ROWS * COLS };

static guint16
count_at (gint64 frame, gint64 pixel)
{
  return (guint16)(frame * 100 + pixel);
}

static guint16 *
make_counts (gint64 first, gint64 n)
{
  guint16 *counts = g_new (guint16, n * SIZE + 1);
  for (gint64 i = 0; i < n * SIZE; i++)
    counts[i] = count_at (first + i / SIZE, i % SIZE);
  return counts;
}

static void
put_attribute (hid_t set, const char *name, guint64 value)
{
  hid_t space = H5Screate (H5S_SCALAR),
        a = H5Acreate2 (set, name, H5T_STD_U64LE, space, H5P_DEFAULT, H5P_DEFAULT);
  H5Awrite (a, H5T_NATIVE_UINT64, &value);
  H5Aclose (a);
  H5Sclose (space);
}

/* A dataset of n frames from first; plan: its layout (consumed). rank 2 or 3. image_nr: 0 for none, else of
 * its first frame. */
static void
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

static hid_t
chunked (hsize_t frames, hsize_t rows, hsize_t cols)
{
  hsize_t chunk[3] = { frames, rows, cols };
  hid_t plan = H5Pcreate (H5P_DATASET_CREATE);
  H5Pset_chunk (plan, 3, chunk);
  return plan;
}

static hid_t
new_file (const char *folder, const char *name)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  hid_t file = H5Fcreate (path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  g_assert_cmpint (file, >=, 0);
  return file;
}

/* A master with links to the named data files. */
static void
put_links (hid_t file, guint from, guint to)
{
  hid_t links = H5Pcreate (H5P_LINK_CREATE);
  H5Pset_create_intermediate_group (links, 1);
  for (guint i = from; i <= to; i++) {
    g_autofree char *name = g_strdup_printf ("/entry/data/data_%06u", i),
                    *target = g_strdup_printf ("x_data_%06u.h5", i);
    g_assert_cmpint (H5Lcreate_external (target, "/entry/data/data", file, name, links, H5P_DEFAULT), >=, 0);
  }
  H5Pclose (links);
}

static void
put_data_file (const char *folder, guint i, gint64 first, gint64 n, guint64 image_nr)
{
  g_autofree char *name = g_strdup_printf ("x_data_%06u.h5", i);
  hid_t file = new_file (folder, name);
  put_frames (file, "/entry/data/data", 3, first, n, chunked (1, ROWS, COLS), image_nr);
  H5Fclose (file);
}

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
  hid_t file = new_file (folder, "x_master.h5");
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
    hid_t file = new_file (folder, "x_master.h5"), space = H5Screate_simple (3, all, NULL);
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
  hid_t file = new_file (folder, "x_master.h5");
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
  assert_refused (path, &shape, SB_ERROR_IO, "Frames 4 to 5 are missing before ", "x_data_000002.h5",
                  "partial", NULL);
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
  hid_t file = new_file (folder, "x_master.h5");
  put_links (file, 1, 5000);
  H5Fclose (file);
  gint64 start = g_get_monotonic_time ();
  assert_refused (path, NULL, SB_ERROR_IO, "x_data_000001.h5 is missing", NULL);
  g_assert_cmpfloat ((double)(g_get_monotonic_time () - start), <, 1e6);
  put_data_file (folder, 1, 0, 8, 1);
  start = g_get_monotonic_time ();
  assert_refused (path, &(SbAcquisitionOptions){ .scan_shape = { 3, 4 } }, SB_ERROR_IO,
                  "x_data_000002.h5 is missing", "2 complete rows", NULL);
  SbAcquisition *a = open_good (path, &partial);
  g_assert_cmpfloat ((double)(g_get_monotonic_time () - start), <, 1e6);
  assert_counts (a, 0, 8);
  acquisition_free (a);
  drop_folder (folder);
}

static void
test_order (void)
{
  static const SbAcquisitionOptions shape = { .scan_shape = { 3, 4 } };
  char *folder = new_folder ();
  g_autofree char *path = g_build_filename (folder, "x_master.h5", NULL);
  hid_t file = new_file (folder, "x_master.h5");
  for (int i = 0; i < 12; i++) { /* data_1, data_2 ... data_12 */
    g_autofree char *name = g_strdup_printf ("/entry/data/data_%d", i + 1);
    put_frames (file, name, 3, i, 1, chunked (1, ROWS, COLS), 0);
  }
  H5Fclose (file);
  SbAcquisition *a = open_good (path, &shape);
  assert_counts (a, 0, 12);
  acquisition_free (a);
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
  hid_t file = new_file (folder, "x_master.h5");
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
  static const H5Z_class2_t classes[] = { { H5Z_CLASS_T_VERS, 32015, 1, 1, "strange", NULL, NULL, no_filter },
                                          { H5Z_CLASS_T_VERS, 32008, 1, 1, "zstd", NULL, NULL, no_filter } };
  static const unsigned zstd[] = { 0, 4, 2, 0, 3 };
  static const char *const says[] = { "filter 32015", "Zstandard" };
  for (int i = 0; i < 2; i++) {
    char *folder = new_folder ();
    g_autofree char *path = g_build_filename (folder, "x_master.h5", NULL);
    hid_t plan = chunked (1, ROWS, COLS);
    g_assert_cmpint (H5Zregister (&classes[i]), >=, 0);
    g_assert_cmpint (H5Pset_filter (plan, classes[i].id, 0, 5, zstd), >=, 0);
    hid_t file = new_file (folder, "x_master.h5");
    put_frames (file, "/entry/data/data_000001", 3, 0, 4, plan, 0);
    H5Fclose (file);
    g_assert_cmpint (H5Zunregister (classes[i].id), >=, 0);
    assert_refused (path, NULL, SB_ERROR_DATA, "x_master.h5", "/entry/data/data_000001", says[i], NULL);
    drop_folder (folder);
  }
}

static void
test_foreign (void)
{
  char *folder = new_folder ();
  g_autofree char *path = g_build_filename (folder, "x.h5", NULL),
                  *text = g_build_filename (folder, "x.txt", NULL);
  hid_t file = new_file (folder, "x.h5");
  put_frames (file, "/other/stack", 3, 0, 4, H5P_DEFAULT, 0);
  H5Fclose (file);
  write_file (text, "frames", 6);
  assert_refused (path, NULL, SB_ERROR_DATA, "x.h5", "not a DECTRIS master", NULL);
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
  g_test_add_func ("/formats/hdf5/many-files", test_many_files);
  g_test_add_func ("/formats/hdf5/unknown-filter", test_unknown_filter);
  g_test_add_func ("/formats/hdf5/foreign", test_foreign);
  return g_test_run ();
}
