/* Merlin .mib: written here from the published layout; the makers' own files where they are there. */
#include "tests/unit/mib_files.h"

static void
test_types (void)
{
  static const Mib files[] = {
    { 16, 8, 1, 8, 1, "1x1", 1, 6 },   { 16, 8, 1, 8, 6, "1x1", 1, 6 },   { 16, 8, 1, 16, 12, "1x1", 1, 6 },
    { 16, 8, 1, 32, 24, "1x1", 1, 6 }, { 32, 8, 4, 16, 12, "2x2", 1, 6 }, { 64, 3, 1, 64, 1, "1x1", 1, 6 },
    { 16, 8, 1, 64, 6, "1x1", 1, 6 },  { 16, 8, 1, 64, 12, "1x1", 1, 6 }, { 16, 8, 1, 64, 24, "1x1", 1, 6 },
    { 256, 3, 4, 64, 1, "2x2", 1, 6 }, { 32, 4, 4, 64, 6, "2x2", 1, 6 },  { 32, 4, 4, 64, 12, "2x2", 1, 6 },
  };
  char *folder = new_folder ();
  for (guint i = 0; i < G_N_ELEMENTS (files); i++) {
    SbAcquisitionOptions options = scan_of (2, 3);
    g_autofree char *path = save_mib (folder, "x.mib", &files[i]);
    SbAcquisition *a = open_good (path, &options);
    g_assert_cmpstr (a->format->name, ==, "mib");
    g_assert_cmpint (a->header.dtype, ==, files[i].depth <= 6 ? SB_U8 : files[i].depth == 12 ? SB_U16 : SB_U32);
    g_assert_true (a->header.has_saturation == (files[i].depth > 1));
    if (files[i].depth > 1)
      g_assert_cmpfloat (a->header.saturation, ==, most_of (&files[i]));
    assert_known (a, 0, 6, 0, most_of (&files[i]));
    assert_known (a, 4, 1, 0, most_of (&files[i]));
    acquisition_free (a);
  }
  drop_folder (folder);
}

/* LiberTEM#1135: a raw quad file shows shuffled quadrants. */
static void
test_raw_quadrants (void)
{
  static const Mib depths[] = { { 1024, 256, 4, 64, 1, "2x2", 1, 2 },
                                { 1024, 256, 4, 64, 6, "2x2", 1, 2 },
                                { 1024, 256, 4, 64, 12, "2x2", 1, 2 } };
  char *folder = new_folder ();
  for (guint i = 0; i < G_N_ELEMENTS (depths); i++) {
    SbAcquisitionOptions options = scan_of (1, 2);
    g_autofree char *path = save_mib (folder, "x.mib", &depths[i]);
    SbAcquisition *a = open_good (path, &options);
    g_assert_cmpint (a->header.detector_rows, ==, 512);
    g_assert_cmpint (a->header.detector_cols, ==, 512);
    assert_known (a, 0, 2, 0, most_of (&depths[i]));
    acquisition_free (a);
  }
  drop_folder (folder);
}

/* py4DSTEM#449, PR#686: 514 x 514 pixels of four chips with the gaps filled. */
static void
test_gap_filled (void)
{
  static const struct {
    Mib mib;
    int first_col, cols, first_row, rows, more_cols;
  } cases[] = { { { 514, 514, 4, 16, 12, "2x2G", 1, 2 }, 256, 2, 256, 2, 0 },
                { { 515, 515, 4, 16, 12, "2x2G", 1, 2 }, 256, 3, 256, 3, 0 },
                { { 514, 130, 4, 16, 12, "2x2G", 1, 2 }, 256, 2, 64, 2, 0 },
                { { 772, 256, 3, 16, 12, "Nx1G", 1, 2 }, 256, 2, 0, 0, 514 } };
  char *folder = new_folder ();
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    SbAcquisitionOptions options = scan_of (1, 2);
    const Mib *mib = &cases[i].mib;
    g_autofree char *path = save_mib (folder, "x.mib", mib);
    SbAcquisition *a = open_good (path, &options);
    g_assert_cmpint (a->header.detector_rows, ==, mib->height);
    g_assert_cmpint (a->header.detector_cols, ==, mib->width);
    g_assert_nonnull (a->header.mask);
    for (int y = 0; y < mib->height; y++)
      for (int x = 0; x < mib->width; x++) {
        int more = cases[i].more_cols;
        gboolean gap = (x >= cases[i].first_col && x < cases[i].first_col + cases[i].cols)
                       || (more > 0 && x >= more && x < more + cases[i].cols)
                       || (y >= cases[i].first_row && y < cases[i].first_row + cases[i].rows);
        g_assert_cmpint (a->header.mask[y * mib->width + x], ==, gap);
      }
    assert_warned (a, "between the chips");
    assert_known (a, 0, 2, 0, 4095);
    acquisition_free (a);
  }
  drop_folder (folder);
}

/* rosettasciio#270, #219, PR#235, pyxem#862, #846, #634: one frame more a line, none, rows of unequal length,
 * and a file for each frame. */
static void
test_flyback_and_series (void)
{
  Mib mib = { 16, 8, 1, 8, 6, "1x1", 1, 18 };
  char *folder = new_folder ();
  g_autofree char *path = save_mib (folder, "x.mib", &mib);
  assert_refused (path, NULL, SB_ERROR_ARGUMENT, "scan_shape", "3,6", NULL);
  save_hdr (folder, "x.hdr", 18, 1, "ScanX:\t5\nScanY:\t3\n"); /* 3 x (5 + 1) */
  SbAcquisition *a = open_good (path, NULL);
  g_assert_cmpint (a->scan_rows, ==, 3);
  g_assert_cmpint (a->scan_cols, ==, 5);
  g_assert_cmpint (a->flyback, ==, 1);
  acquisition_free (a);
  save_hdr (folder, "x.hdr", 18, 1, "ScanX:\t6\nScanY:\t3\n");
  a = open_good (path, NULL);
  g_assert_cmpint (a->flyback, ==, 0);
  assert_known (a, 0, 18, 0, 63);
  acquisition_free (a);
  /* one row is shorter: never reshaped blindly */
  mib.frames = 17;
  g_free (save_mib (folder, "x.mib", &mib));
  assert_refused (path, NULL, SB_ERROR_IO, "17 frames", "18", "2 complete rows", NULL);
  g_remove (path);
  /* a file for each frame, found by their numbers, not their names: 10 stands before 9 by name */
  mib.frames = 1;
  for (int i = 1; i <= 12; i++) {
    g_autofree char *name = g_strdup_printf ("x%d.mib", i);
    mib.number = i;
    g_free (save_mib (folder, name, &mib));
  }
  save_hdr (folder, "x.hdr", 12, 4, "");
  for (int opened = 0; opened < 3; opened++) {
    g_autofree char *any = g_build_filename (folder, opened == 0 ? "x7.mib" : opened == 1 ? "x10.mib" : "x.hdr", NULL);
    a = open_good (any, NULL);
    g_assert_cmpint (a->scan_rows, ==, 3);
    g_assert_cmpint (a->scan_cols, ==, 4);
    g_assert_cmpint (a->header.files->len, ==, 13);
    assert_known (a, 0, 12, 0, 63);
    assert_known (a, 8, 3, 0, 63);
    acquisition_free (a);
  }
  drop_folder (folder);
}

/* What is not there is named; other acquisitions of a like name are not taken for a part. */
static void
test_series_gaps (void)
{
  Mib part = { 16, 8, 1, 16, 12, "1x1", 1, 4 };
  SbAcquisitionOptions partial = scan_of (4, 3), shape = scan_of (4, 1);
  char *folder = new_folder ();
  partial.partial = TRUE;
  g_autofree char *first = save_mib (folder, "s1.mib", &part);
  part.number = 9;
  g_autofree char *third = save_mib (folder, "s3.mib", &part);
  SbAcquisitionOptions whole = scan_of (4, 3);
  assert_refused (first, &whole, SB_ERROR_IO, "Frames 4 to 7 are missing before", "s3.mib", "1 complete rows", NULL);
  SbAcquisition *a = open_good (first, &partial);
  g_assert_cmpint (acquisition_positions (a), ==, 3);
  assert_known (a, 0, 4, 0, 4095);
  acquisition_free (a);
  assert_refused (third, NULL, SB_ERROR_IO, "begins with frame 8", "before it are missing", NULL);
  a = open_good (third, &shape);
  assert_known (a, 0, 4, 8, 4095);
  acquisition_free (a);
  part.number = 5;
  g_free (save_mib (folder, "s2.mib", &part));
  a = open_good (third, &whole);
  assert_known (a, 0, 12, 0, 4095);
  acquisition_free (a);
  part.number = 1; /* another acquisition, complete in itself */
  g_autofree char *other = save_mib (folder, "s77.mib", &part);
  /* either could be followed by s2 and s3 */
  assert_refused (other, &whole, SB_ERROR_DATA, "Several files", "elsewhere", NULL);
  assert_refused (third, &whole, SB_ERROR_DATA, "Several files", "elsewhere", NULL);
  part.frames = 3; /* this one is not */
  g_free (save_mib (folder, "s77.mib", &part));
  shape = scan_of (3, 1);
  a = open_good (other, &shape);
  g_assert_cmpint (a->header.files->len, ==, 1);
  acquisition_free (a);
  a = open_good (third, &whole);
  assert_known (a, 0, 12, 0, 4095);
  acquisition_free (a);
  drop_folder (folder);
}

/* LiberTEM#1630, LiberTEM-live#80: ScanX and ScanY of the .hdr are not heeded. */
static void
test_hdr_scan (void)
{
  Mib mib = { 16, 8, 1, 8, 6, "1x1", 1, 8 };
  char *folder = new_folder ();
  g_autofree char *path = save_mib (folder, "x.mib", &mib);
  g_autofree char *hdr = g_build_filename (folder, "x.hdr", NULL);
  assert_refused (path, NULL, SB_ERROR_ARGUMENT, "scan_shape", NULL);
  save_hdr (folder, "x.hdr", 8, 1, "");
  assert_refused (path, NULL, SB_ERROR_ARGUMENT, "scan_shape", NULL); /* an older version: not known */
  save_hdr (folder, "x.hdr", 8, 4, "ScanX:\t4\nScanY:\t2\n");
  const char *both[] = { path, hdr };
  for (int i = 0; i < 2; i++) {
    SbAcquisition *a = open_good (both[i], NULL);
    g_assert_cmpint (a->scan_rows, ==, 2);
    g_assert_cmpint (a->scan_cols, ==, 4);
    g_assert_cmpint (a->header.files->len, ==, 2);
    acquisition_free (a);
  }
  save_hdr (folder, "x.hdr", 8, 2, "");
  SbAcquisition *a = open_good (path, NULL);
  g_assert_cmpint (a->scan_cols, ==, 2);
  acquisition_free (a);
  save_hdr (folder, "x.hdr", 8, 1, "ScanX:\t999999999999\nScanY:\t999999999999\n");
  assert_refused (path, NULL, SB_ERROR_ARGUMENT, "scan_shape", NULL);
  g_remove (path);
  assert_refused (hdr, NULL, SB_ERROR_IO, ".mib file", "missing", NULL);
  drop_folder (folder);
}

static void
test_refused (void)
{
  static const struct {
    const char *header, *says;
  } cases[] = {
    { "MQ1,000001,00384,01,99999,0008,U08,   1x1,01,a,b,6,", "readable Merlin header" },
    { "MQ1,000001,00384,01,-016,0008,U08,   1x1,01,a,b,6,", "readable Merlin header" },
    { "MQ1,000001,00384,01,0000,0008,U08,   1x1,01,a,b,6,", "readable Merlin header" },
    { "MQ1,000001,00384,01,0016,0008,U09,   1x1,01,a,b,6,", "readable Merlin header" },
    { "MQ1,000001,00384,01,0016,0008,U08,   nan,01,a,b,6,", "readable Merlin header" },
    { "MQ1,000001,00000,01,0016,0008,U08,   1x1,01,a,b,6,", "readable Merlin header" },
    { "MQ1,000001,99999999,01,0016,0008,U08,   1x1,01,a,b,6,", "readable Merlin header" },
    { "MQ1,000001,65000,01,0016,0008,U08,   1x1,01,a,b,6,", "its header alone has 65000" },
    { "MQ1,000001,00384,01,0016,0008,R64,   1x1,01,a,b,7,", "cannot be unpacked" },
    { "MQ1,000001,00384,01,0016,0008,R64,   1x1,01,a,b,1,", "cannot be unpacked" },
    { "MQ1,000001,00384,03,0048,0008,R64,   3x1,01,a,b,6,", "cannot be unpacked" },
    { "MQ1,000001,00384,04,0064,0008,R64,   2x2,01,a,b,24,", "cannot be unpacked" },
    { "MQ1,,,,,,,,,,,,,,", "readable Merlin header" },
    { "MQ1,1", "readable Merlin header" },
  };
  char *folder = new_folder ();
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GByteArray) bytes = g_byte_array_new ();
    put_text (bytes, cases[i].header);
    put_zeros (bytes, 2000);
    g_autofree char *path = save_bytes (folder, "x.mib", bytes);
    assert_refused (path, NULL, strstr (cases[i].says, "alone") ? SB_ERROR_IO : SB_ERROR_DATA, "x.mib", cases[i].says, NULL);
  }
  drop_folder (folder);
}

static void
test_cuts (void)
{
  static const Mib files[] = { { 16, 8, 1, 16, 12, "1x1", 1, 6 }, { 256, 3, 4, 64, 1, "2x2", 1, 6 } };
  SbAcquisitionOptions whole = scan_of (2, 3);
  char *folder = new_folder ();
  for (guint i = 0; i < G_N_ELEMENTS (files); i++) {
    g_autoptr (GByteArray) bytes = make_mib (&files[i]);
    g_autofree char *path = save_bytes (folder, "x.mib", bytes);
    try_cuts (path, bytes, 64, 2, 3, most_of (&files[i]));
    write_file (path, bytes->data, bytes->len - 10);
    assert_refused (path, &whole, SB_ERROR_IO, "truncated", "5 of 6 frames", "1 complete rows", NULL);
  }
  drop_folder (folder);
}

/* The maker's files: shape, sum, sum weighted by (index mod 1009), and brightest pixel over all frames as
 * rosettasciio 0.15 reads them, rows turned back. One is known to have a hot pixel at row 39, column 52. */
static void
test_real (void)
{
  static const struct {
    const char *name;
    gint64 given[2], scan[2], rows, cols;
    double sum, weighted;
    gint64 brightest[2];
  } cases[] = {
    { "unpacked/001_4x2_6bit.mib", { 2, 4 }, { 2, 4 }, 256, 256, 3623664, 1822217142, { 120, 21 } },
    { "unpacked/002_4x2_6bit_roi128.mib", { 2, 4 }, { 2, 4 }, 128, 256, 3263829, 1639897987, { 60, 19 } },
    { "unpacked/002_merlin_test_roi_sig256x128_nav4x2_hot_pixel_52x_39y.mib",
      { 0 },
      { 2, 4 },
      128,
      256,
      79,
      49561,
      { 39, 52 } },
    { "unpacked/003_merlin_test_roi_sig256x64_nav4x2_hot_pixel_52x_39y.hdr", { 0 }, { 2, 4 }, 64, 256, 77, 44684, { 39, 52 } },
    { "unpacked/Quad_1_Frame_CounterDepth_1_Rows_256.mib", { 1, 1 }, { 1, 1 }, 512, 512, 10331, 5123217, { 0, 0 } },
    { "unpacked/Single_1_Frame_CounterDepth_12_Rows_256.mib", { 1, 1 }, { 1, 1 }, 256, 256, 28911, 13438299, { 108, 200 } },
    { "unpacked/Single_1_Frame_CounterDepth_1_Rows_256.mib", { 1, 1 }, { 1, 1 }, 256, 256, 2398, 1090452, { 0, 0 } },
    { "example.mib", { 1, 2 }, { 1, 2 }, 256, 256, 4173074, 1885214228, { 2, 253 } },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *name = g_strconcat ("samples/mib/", cases[i].name, NULL), *path = shared_path (name);
    if (path == NULL)
      return;
    SbAcquisitionOptions options = scan_of (cases[i].given[0], cases[i].given[1]);
    SbAcquisition *a = open_good (path, &options);
    gsize pixels = pixels_of (a), best = 0;
    gint64 frames = cases[i].scan[0] * cases[i].scan[1];
    g_assert_cmpint (a->header.frames, ==, frames);
    g_assert_cmpint (a->scan_rows, ==, cases[i].scan[0]);
    g_assert_cmpint (a->header.detector_rows, ==, cases[i].rows);
    g_assert_cmpint (a->header.detector_cols, ==, cases[i].cols);
    g_autofree gpointer got = read_frames (a, 0, frames, NULL);
    g_autofree double *total = g_new0 (double, pixels);
    double sum = 0, weighted = 0;
    for (gsize k = 0; k < (gsize)frames * pixels; k++) {
      double x = number_at (got, a->header.dtype, k);
      sum += x;
      weighted += x * (double)(k % 1009);
      total[k % pixels] += x;
    }
    for (gsize k = 0; k < pixels; k++)
      best = total[k] > total[best] ? k : best;
    g_assert_cmpfloat (sum, ==, cases[i].sum);
    g_assert_cmpfloat (weighted, ==, cases[i].weighted);
    g_assert_cmpint ((gint64)best / cases[i].cols, ==, cases[i].brightest[0]);
    g_assert_cmpint ((gint64)best % cases[i].cols, ==, cases[i].brightest[1]);
    acquisition_free (a);
  }
}

/* Frames of one exposure only: refused, not read as a scan. And raw files of the maker open in the right
 * shape. */
static void
test_real_single_frames (void)
{
  g_autofree char *path = shared_path ("samples/mib/unpacked/Quad_1_Frame_CounterDepth_1_Rows_256RAW.mib");
  SbAcquisitionOptions one = scan_of (1, 1);
  if (path == NULL)
    return;
  assert_refused (path, NULL, SB_ERROR_DATA, "one frame", NULL);
  SbAcquisition *a = open_good (path, &one);
  g_assert_cmpint (a->header.detector_rows, ==, 512);
  g_assert_cmpint (a->header.dtype, ==, SB_U8);
  acquisition_free (a);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/formats/mib/types", test_types);
  g_test_add_func ("/formats/mib/raw-quadrants", test_raw_quadrants);
  g_test_add_func ("/formats/mib/gap-filled", test_gap_filled);
  g_test_add_func ("/formats/mib/flyback-and-series", test_flyback_and_series);
  g_test_add_func ("/formats/mib/series-gaps", test_series_gaps);
  g_test_add_func ("/formats/mib/hdr-scan", test_hdr_scan);
  g_test_add_func ("/formats/mib/refused", test_refused);
  g_test_add_func ("/formats/mib/cuts", test_cuts);
  g_test_add_func ("/formats/mib/real", test_real);
  g_test_add_func ("/formats/mib/real-single-frames", test_real_single_frames);
  return g_test_run ();
}
