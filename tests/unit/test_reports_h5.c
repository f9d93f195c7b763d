/* What users of other programs reported about HDF5 files, each with its own test: how it comes out here. */
#include "core/calibrate.h"
#include "core/columns.h"
#include "tests/unit/h5_scenes.h"

static char *folder;

static char *
path_of (const char *name)
{
  return g_build_filename (folder, name, NULL);
}

static char *
case_path (const char *name)
{
  g_autofree char *file = g_strdup_printf ("cases/%s_master.h5", name);
  return data_path (file);
}

/* A master of n frames in data files of four. */
static char *
put_series (const char *name, guint n)
{
  hid_t file = new_file (folder, name, FALSE);
  put_links (file, 1, (n + 3) / 4);
  H5Fclose (file);
  for (guint i = 0; i < n; i += 4)
    put_data_file (folder, i / 4 + 1, i, MIN (4, n - i), i + 1);
  return path_of (name);
}

static SbEngine *
make_engine (void)
{
  SbEngineOptions options;
  param_group_defaults (&engine_params, &options);
  options.threads = 2;
  SbEngine *engine = engine_new (&options, NULL);
  g_assert_nonnull (engine);
  param_group_clear (&engine_params, &options);
  return engine;
}

static SbColumns *
load_case (const char *name, SbAcquisition **acquisition, SbEngine **engine)
{
  static const double nowhere[2] = { NAN, NAN };
  g_autofree char *path = case_path (name);
  g_autoptr (GError) error = NULL;
  *acquisition = open_good (path, NULL);
  *engine = make_engine ();
  SbColumns *columns = columns_load (*engine, *acquisition, nowhere, NAN, NULL, &error);
  g_assert_no_error (error);
  return columns;
}

/* py4D-browser 31: a frame count that does not fit an assumed scan. */
static void
test_default_scan (void)
{
  g_autofree char *path = put_series ("x_master.h5", 36), *unknown = NULL;
  SbAcquisition *a = open_good (path, NULL);
  g_assert_cmpint (a->scan_rows, ==, 6);
  g_assert_cmpint (a->scan_cols, ==, 6);
  acquisition_free (a);
  unknown = put_series ("x_master.h5", 42);
  assert_refused (unknown, NULL, SB_ERROR_ARGUMENT, "42 frames", "6,7 or 7,6", "3,14", NULL);
}

/* py4DSTEM PR 701, 455: frames come in the order in which they were recorded, not flipped or transposed. */
static void
test_flip (void)
{
  static const SbAcquisitionOptions shape = { .scan_shape = { 3, 4 } };
  g_autofree char *path = put_series ("x_master.h5", 12);
  SbAcquisition *a = open_good (path, &shape);
  for (gint64 p = 0; p < 12; p++)
    g_assert_cmpint (acquisition_frame (a, p), ==, p); /* scan row 0 first, columns fastest */
  g_autofree guint16 *frame = read_frames (a, 7, 1, NULL);
  for (gint64 r = 0; r < ROWS; r++)
    for (gint64 c = 0; c < COLS; c++)
      g_assert_cmpuint (frame[r * COLS + c], ==, count_at (7, r * COLS + c));
  acquisition_free (a);
}

/* rosettasciio 391, 398: no square of 42 frames is made up. */
static void
test_square_assumed (void)
{
  static const SbAcquisitionOptions given = { .scan_shape = { 6, 7 } };
  g_autofree char *path = case_path ("no_sidecar");
  assert_refused (path, NULL, SB_ERROR_ARGUMENT, "which is no square", "give scan_shape (rows,cols)", "6,7", NULL);
  SbAcquisition *a = open_good (path, &given);
  g_assert_cmpint (acquisition_positions (a), ==, 42);
  acquisition_free (a);
}

/* eiger2cbf 2: the largest count is a masked pixel at one place and a saturated one at another. */
static void
test_masked_or_saturated (void)
{
  enum { MASKED = 3, FULL = 8 };
  static const SbAcquisitionOptions shape = { .scan_shape = { 2, 2 } };
  hsize_t all[3] = { 4, ROWS, COLS }, two[2] = { ROWS, COLS };
  guint16 counts[4 * SIZE];
  guint32 map[SIZE] = { [MASKED] = 1 };
  for (int i = 0; i < 4 * SIZE; i++)
    counts[i] = i % SIZE == MASKED || i == 2 * SIZE + FULL ? 65535 : 30000;
  hid_t file = new_file (folder, "s_master.h5", FALSE), links = deep_links (), space = H5Screate_simple (3, all, NULL);
  hid_t set = H5Dcreate2 (file, "/entry/data/data_000001", H5T_STD_U16LE, space, links, H5P_DEFAULT, H5P_DEFAULT);
  H5Dwrite (set, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, counts);
  H5Dclose (set);
  H5Sclose (space);
  space = H5Screate_simple (2, two, NULL);
  set = H5Dcreate2 (file, "/entry/instrument/detector/detectorSpecific/pixel_mask", H5T_STD_U32LE, space, links, H5P_DEFAULT,
                    H5P_DEFAULT);
  H5Dwrite (set, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, map);
  H5Dclose (set);
  H5Sclose (space);
  H5Pclose (links);
  H5Fclose (file);
  g_autofree char *path = path_of ("s_master.h5");
  static const double centre[2] = { 2.5, 2 };
  SbEngine *engine = make_engine ();
  SbAcquisition *a = open_good (path, &shape);
  g_autoptr (GError) error = NULL;
  SbColumns *columns = columns_load (engine, a, centre, 2.5, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (columns->pattern.masked, ==, 1);
  g_assert_true (columns->pattern.bad[MASKED]);
  g_assert_cmpint (columns->pattern.saturated, ==, 1);
  g_assert_false (columns->pattern.bad[FULL]);
  columns_free (columns);
  acquisition_free (a);
  engine_free (engine);
}

/* quantem 221, hexrdgui PR 1674: neither hot pixels nor 4294967295 get into what is shown, or move the disk. */
static void
test_bright_pixels (void)
{
  static const char *const names[] = { "hot_pixel", "ok_u32", "no_mask" };
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    SbAcquisition *a;
    SbEngine *engine;
    SbDisk disk;
    SbColumns *columns = load_case (names[i], &a, &engine);
    const SbPattern *p = &columns->pattern;
    double most = 0;
    for (gint64 k = 0; k < p->rows * p->cols; k++)
      most = MAX (most, p->mean[k]);
    g_assert_cmpfloat (most, <, 400);
    g_assert_true (disk_find (p->mean, p->bad, p->rows, p->cols, &disk, NULL));
    g_assert_cmpfloat (fabs (disk.centre[0] - 11.3), <, 0.5);
    g_assert_cmpfloat (fabs (disk.centre[1] - 9.2), <, 0.5);
    g_assert_cmpfloat (fabs (disk.radius - 5), <, 0.5);
    g_assert_cmpint (p->hot, ==, i == 0);
    g_assert_cmpint (p->masked, ==, i == 2 ? 0 : 2);
    columns_free (columns);
    acquisition_free (a);
    engine_free (engine);
  }
}

/* fabio 596: a master from which the mask was taken to save space. */
static void
test_no_mask (void)
{
  g_autofree char *path = case_path ("no_mask");
  SbAcquisition *a = open_good (path, NULL);
  g_assert_null (a->header.mask);
  g_assert_true (warned (a, "has no pixel_mask of the detector's shape"));
  acquisition_free (a);
}

/* fabio PR 674: one frame without an axis of frames. */
static void
test_no_frame_axis (void)
{
  hid_t file = new_file (folder, "f_master.h5", FALSE);
  put_frames (file, "/entry/data/data", 2, 0, 1, H5P_DEFAULT, 0);
  H5Fclose (file);
  g_autofree char *path = path_of ("f_master.h5");
  assert_refused (path, NULL, SB_ERROR_DATA, "holds one frame; a scan of frames is needed", NULL);
}

/* dials 605: an aborted series, with links to files that never came. */
static void
test_aborted_series (void)
{
  static const SbAcquisitionOptions shape = { .scan_shape = { 4, 3 } }, partial = { .scan_shape = { 4, 3 }, .partial = TRUE };
  g_autofree char *path = put_series ("x_master.h5", 12), *last = path_of ("x_data_000003.h5");
  g_assert_cmpint (g_remove (last), ==, 0);
  assert_refused (path, &shape, SB_ERROR_IO, "x_data_000003.h5 is missing", "8 of 12 frames are there", "give partial",
                  "2 complete rows of the 4 x 3 scan", NULL);
  SbAcquisition *a = open_good (path, &partial);
  g_assert_cmpint (a->used_rows, ==, 2);
  g_assert_true (warned (a, "Partial: 8 of 12 frames are there; 2 complete rows"));
  assert_images (a, 0, 6, 1, 0);
  acquisition_free (a);
}

/* pymca 36: thousands of links that lead nowhere. */
static void
test_dangling_links (void)
{
  static const SbAcquisitionOptions shape = { .scan_shape = { 2, 2 } };
  hid_t file = new_file (folder, "x_master.h5", FALSE);
  put_links (file, 1, 5000);
  put_number (file, "/entry/instrument/detector/detectorSpecific/nimages", 4, "");
  put_number (file, "/entry/instrument/detector/detectorSpecific/ntrigger", 1, "");
  H5Fclose (file);
  put_data_file (folder, 1, 0, 4, 1);
  g_autofree char *path = path_of ("x_master.h5"), *second = path_of ("x_data_000002.h5"),
                  *third = path_of ("x_data_000003.h5");
  g_remove (second);
  g_remove (third);
  SbAcquisition *a = open_good (path, &shape);
  g_assert_true (warned (a, "names more data files than the 4 promised frames fill"));
  assert_images (a, 0, 4, 1, 0);
  acquisition_free (a);
}

/* fabio 88, dials 133, bitshuffle 89, h5py 923: no filter has to be registered. */
static void
test_filter_not_registered (void)
{
  static const char *const names[] = { "ok_u16", "ok_lz4" };
  g_assert_cmpstr (g_getenv ("HDF5_PLUGIN_PATH"), ==, "");
  g_assert_cmpint (H5Zfilter_avail (32008), ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autofree char *path = case_path (names[i]);
    g_autoptr (GError) error = NULL;
    SbAcquisition *a = open_good (path, NULL);
    g_autofree gpointer frames = read_frames (a, 0, 42, &error);
    g_assert_no_error (error);
    acquisition_free (a);
  }
}

/* bitshuffle 127: the file opens, a frame of it does not decode, and the rest is wanted. */
static void
test_corrupted_chunk (void)
{
  static const SbAcquisitionOptions shape = { .scan_shape = { 6, 7 } };
  static const SbAcquisitionOptions empty = { .scan_shape = { 6, 7 }, .damaged_frames = (char *)"empty" };
  g_autofree char *path = case_path ("corrupt_chunk"), *clean = case_path ("ok_u16");
  g_autoptr (GError) error = NULL;
  SbAcquisition *a = open_good (path, &shape);
  gint64 frames = a->header.frames;
  g_assert_null (read_frames (a, 0, frames, &error));
  g_assert_nonnull (strstr (error->message, "corrupt_chunk_data_000001.h5: frame 3 is damaged"));
  acquisition_free (a);
  a = open_good (path, &empty);
  SbAcquisition *b = open_good (clean, NULL);
  g_autofree guint16 *mended = read_frames (a, 0, frames, NULL), *good = read_frames (b, 0, frames, NULL);
  gsize size = pixels_of (a);
  for (gsize i = 0; i < (gsize)frames * size; i++)
    g_assert_cmpuint (mended[i], ==, i / size == 3 ? 0 : good[i]);
  acquisition_free (a);
  acquisition_free (b);
}

/* adorym 4: shorter than the file itself says. */
static void
test_truncated (void)
{
  g_autofree char *path = case_path ("trunc_data");
  assert_refused (path, NULL, SB_ERROR_IO, "trunc_data_data_000002.h5 is truncated (have 7381 bytes, needs 11072 bytes)",
                  "copy it again", NULL);
}

/* h5py 732, 818, 839, 939, pyFAI 2778, xia2 PR 23: other scripts, spaces, relative names, links with foreign paths. */
static void
test_paths (void)
{
  static const SbAcquisitionOptions shape = { .scan_shape = { 2, 2 } };
  g_autofree char *spaced = data_path ("cases/Ünïcode dir 四 d/spaced_master.h5"), *before = g_get_current_dir ();
  SbAcquisition *a = open_good (spaced, NULL);
  g_assert_cmpint (a->header.frames, ==, 42);
  acquisition_free (a);
  hid_t file = new_file (folder, "w_master.h5", FALSE), links = deep_links ();
  H5Lcreate_external ("D:\\data\\2024 \xc3\xa4\\x_data_000001.h5", "/entry/data/data", file, "/entry/data/data_000001", links,
                      H5P_DEFAULT);
  H5Pclose (links);
  H5Fclose (file);
  put_data_file (folder, 1, 0, 4, 1);
  g_assert_cmpint (g_chdir (folder), ==, 0);
  a = open_good ("w_master.h5", &shape);
  g_assert_cmpint (g_chdir (before), ==, 0);
  assert_images (a, 0, 4, 1, 0); /* after the folder changed */
  acquisition_free (a);
}

static gint n_read;
static const SbFormat *counted;

static gboolean
read_counted (SbReader *reader, gint64 first, gint64 n, gpointer out, GError **error)
{
  g_atomic_int_add (&n_read, (gint)n);
  return counted->read (reader, first, n, out, error);
}

/* hdf5plugin 326: reading must not do more than is needed: a sparse look, and each frame once. */
static void
test_reads (void)
{
  static const double nowhere[2] = { NAN, NAN };
  g_autofree char *path = case_path ("ok_chunk4");
  g_autoptr (GError) error = NULL;
  SbAcquisition *a = open_good (path, NULL);
  SbEngine *engine = make_engine ();
  SbFormat counting = *(counted = a->format);
  counting.read = read_counted;
  a->format = &counting;
  n_read = 0;
  SbColumns *columns = columns_load (engine, a, nowhere, NAN, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (n_read, <=, 2 * 42);
  g_assert_cmpint (n_read, >=, 42);
  columns_free (columns);
  a->format = counted;
  acquisition_free (a);
  engine_free (engine);
}

/* psi imagej.hdf5 7 and 8, jhdf 366, HDF5_Vibez 21, hyperspy 2853, py4DSTEM 699: 16 GB of counts, of which one frame was
 * written: nothing is allocated for the others, and all indices have 64 bits. */
static void
test_large (void)
{
  hsize_t shape[4] = { 300, 300, 300, 300 }, start[4] = { 299, 299, 0, 0 }, one[4] = { 1, 1, 300, 300 };
  hid_t file = new_file (folder, "large.h5", FALSE), plan = chunked4 (1, 1, 300, 300);
  hid_t space = H5Screate_simple (4, shape, NULL), memory = H5Screate_simple (4, one, NULL);
  hid_t set = H5Dcreate2 (file, "/frames", H5T_STD_U16LE, space, H5P_DEFAULT, plan, H5P_DEFAULT);
  g_autofree guint16 *counts = g_new0 (guint16, 300 * 300);
  g_autoptr (GError) error = NULL;
  counts[300 * 300 - 1] = 7;
  H5Sselect_hyperslab (space, H5S_SELECT_SET, start, NULL, one, NULL);
  g_assert_cmpint (H5Dwrite (set, H5T_NATIVE_UINT16, memory, space, H5P_DEFAULT, counts), >=, 0);
  H5Dclose (set);
  H5Sclose (space);
  H5Sclose (memory);
  H5Pclose (plan);
  H5Fclose (file);
  g_autofree char *path = path_of ("large.h5");
  SbAcquisition *a = open_good (path, NULL);
  g_assert_cmpint (a->header.frames, ==, 90000);
  g_autofree guint16 *last = read_frames (a, 89999, 1, &error);
  g_assert_no_error (error);
  g_assert_cmpmem (last, 2 * 300 * 300, counts, 2 * 300 * 300);
  g_assert_null (read_frames (a, 89998, 2, &error));
  g_assert_nonnull (strstr (error->message, "frame 89998 was never written"));
  acquisition_free (a);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  folder = new_folder ();
  g_test_add_func ("/reports/01-frames-do-not-fit-an-assumed-scan", test_default_scan);
  g_test_add_func ("/reports/02-old-and-new-files-flipped", test_flip);
  g_test_add_func ("/reports/03-square-scan-assumed", test_square_assumed);
  g_test_add_func ("/reports/04-06-hot-pixels-and-4294967295-ruin-contrast", test_bright_pixels);
  g_test_add_func ("/reports/05-masked-or-saturated", test_masked_or_saturated);
  g_test_add_func ("/reports/07-master-without-pixel-mask", test_no_mask);
  g_test_add_func ("/reports/08-no-frame-axis", test_no_frame_axis);
  g_test_add_func ("/reports/09-aborted-series", test_aborted_series);
  g_test_add_func ("/reports/10-dangling-links", test_dangling_links);
  g_test_add_func ("/reports/11-filter-not-registered", test_filter_not_registered);
  g_test_add_func ("/reports/12-corrupted-chunk", test_corrupted_chunk);
  g_test_add_func ("/reports/13-truncated-file", test_truncated);
  g_test_add_func ("/reports/14-unicode-and-relative-paths", test_paths);
  g_test_add_func ("/reports/15-needless-reads", test_reads);
  g_test_add_func ("/reports/16-17-larger-than-memory", test_large);
  int failed = g_test_run ();
  drop_folder (folder);
  return failed;
}
