/* Readers on the made cases: each outcome is the one that tests/data/cases was made for. */
#include "tests/unit/frames.h"

enum { FRAMES = 42, ROWS = 24, COLS = 20, SIZE = ROWS * COLS };
static const gint64 BAD[2] = { 3 * COLS + 4, 20 * COLS + 17 };

/* The counts that all cases were written from (uint32, bad pixels 0). */
static guint32 *
truth (void)
{
  g_autofree char *path = data_path ("cases/truth_frames.npy");
  char *bytes;
  gsize n;
  g_assert_true (g_file_get_contents (path, &bytes, &n, NULL));
  g_assert_cmpuint (n, ==, 128 + 4 * FRAMES * SIZE);
  guint32 *counts = g_malloc (4 * FRAMES * SIZE);
  memcpy (counts, bytes + 128, 4 * FRAMES * SIZE);
  g_free (bytes);
  return counts;
}

static char *
case_path (const char *name)
{
  g_autofree char *file = g_strdup_printf ("cases/%s_master.h5", name);
  return data_path (file);
}

static void
assert_frames (const SbAcquisition *a, gconstpointer frames, gint64 first, gint64 n, const guint32 *expected)
{
  for (gint64 f = 0; f < n; f++)
    for (gint64 i = 0; i < SIZE; i++) {
      double got = number_at (frames, a->header.dtype, (gsize)(f * SIZE + i));
      if (i == BAD[0] || i == BAD[1])
        continue;
      if (got != expected[(first + f) * SIZE + i])
        g_error ("frame %d pixel %d: %g, not %u", (int)(first + f), (int)i, got, expected[(first + f) * SIZE + i]);
    }
}

static void
test_same_counts (gconstpointer name)
{
  static const gint64 counts[] = { 1, 5, 16, 17, 42 };
  g_autofree char *path = case_path (name);
  g_autofree guint32 *expected = truth ();
  g_autoptr (GError) error = NULL;
  SbAcquisition *a = open_good (path, NULL);
  g_assert_cmpint (a->header.frames, ==, FRAMES);
  g_assert_cmpint (a->scan_rows, ==, 6);
  g_assert_cmpint (a->scan_cols, ==, 7);
  g_assert_cmpint (a->flyback, ==, 0);
  g_assert_cmpint (acquisition_positions (a), ==, FRAMES);
  g_assert_cmpfloat (a->header.energy, ==, 80.0);
  g_assert_cmpfloat_with_epsilon (a->header.step[0], 0.5, 1e-12);
  g_assert_true (isnan (a->header.semiangle) && isnan (a->header.sampling));
  g_assert_cmpfloat (a->header.saturation, ==, a->header.dtype == SB_U8 ? 255 : 8352);
  g_assert_nonnull (a->header.mask);
  for (gint64 i = 0; i < SIZE; i++)
    g_assert_cmpint (a->header.mask[i], ==, i == BAD[0] || i == BAD[1]);
  for (guint k = 0; k < G_N_ELEMENTS (counts); k++)
    for (gint64 first = 0; first + counts[k] <= FRAMES; first += 3) {
      g_autofree gpointer frames = read_frames (a, first, counts[k], &error);
      g_assert_no_error (error);
      assert_frames (a, frames, first, counts[k], expected);
      /* the all-ones value of a masked pixel arrives as it is */
      double ones = a->header.dtype == SB_U8 ? 255.0 : a->header.dtype == SB_U16 ? 65535.0 : 4294967295.0;
      g_assert_cmpfloat (number_at (frames, a->header.dtype, (gsize)BAD[0]), ==, ones);
    }
  acquisition_free (a);
}

typedef struct Reading {
  SbAcquisition *a;
  const guint32 *expected;
  gint64 start;
} Reading;

static gpointer
read_all (gpointer data)
{
  Reading *reading = data;
  for (int round = 0; round < 20; round++)
    for (gint64 i = 0; i < FRAMES; i++) {
      g_autoptr (GError) error = NULL;
      gint64 f = (reading->start + i) % FRAMES;
      g_autofree gpointer frames = read_frames (reading->a, f, 1, &error);
      g_assert_no_error (error);
      assert_frames (reading->a, frames, f, 1, reading->expected);
    }
  return NULL;
}

static void
test_threads (void)
{
  g_autofree char *path = case_path ("ok_chunk4");
  g_autofree guint32 *expected = truth ();
  SbAcquisition *a = open_good (path, NULL);
  Reading readings[4];
  GThread *threads[4];
  for (int i = 0; i < 4; i++) {
    readings[i] = (Reading){ a, expected, i * 11 };
    threads[i] = g_thread_new ("reader", read_all, &readings[i]);
  }
  for (int i = 0; i < 4; i++)
    g_thread_join (threads[i]);
  acquisition_free (a);
}

static void
test_refused (void)
{
  static const struct {
    const char *name;
    SbErrorCode code;
    const char *says[4];
  } cases[] = {
    { "no_sidecar", SB_ERROR_ARGUMENT, { "42 frames", "scan_shape", "6,7", "7,6" } },
    { "missing_mid", SB_ERROR_IO, { "missing_mid_data_000002.h5 is missing", "16 of 42", "partial", "2 complete rows" } },
    { "missing_last", SB_ERROR_IO, { "missing_last_data_000003.h5 is missing", "32 of 42", "partial", "4 complete rows" } },
    { "trunc_data",
      SB_ERROR_IO,
      { "trunc_data_data_000002.h5 is truncated", "have 7381 bytes", "needs 11072 bytes", "copy it again" } },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *path = case_path (cases[i].name);
    assert_refused (path, NULL, cases[i].code, cases[i].says[0], cases[i].says[1], cases[i].says[2], cases[i].says[3], NULL);
  }
}

static void
test_partial (void)
{
  static const struct {
    const char *name;
    gint64 rows;
  } cases[] = { { "missing_mid", 2 }, { "missing_last", 4 }, { "trunc_data", 2 } };
  g_autofree guint32 *expected = truth ();
  SbAcquisitionOptions options = { .partial = TRUE };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *path = case_path (cases[i].name);
    g_autoptr (GError) error = NULL;
    SbAcquisition *a = open_good (path, &options);
    g_assert_cmpint (a->used_rows, ==, cases[i].rows);
    g_assert_cmpint (a->scan_rows, ==, 6);
    g_assert_cmpint (acquisition_positions (a), ==, cases[i].rows * 7);
    g_assert_nonnull (strstr (g_ptr_array_index (a->header.warnings, 0), "complete rows"));
    g_autofree gpointer frames = read_frames (a, 0, cases[i].rows * 7, &error);
    g_assert_no_error (error);
    assert_frames (a, frames, 0, cases[i].rows * 7, expected);
    acquisition_free (a);
  }
}

static void
test_flyback (void)
{
  g_autofree char *path = case_path ("flyback2");
  g_autofree guint32 *expected = truth ();
  g_autoptr (GError) error = NULL;
  SbAcquisition *a = open_good (path, NULL);
  g_assert_cmpint (acquisition_frame_count (a), ==, 54);
  g_assert_cmpint (a->flyback, ==, 2);
  g_assert_cmpint (acquisition_positions (a), ==, FRAMES);
  g_assert_cmpint (acquisition_position (a, 6), ==, 6);
  g_assert_cmpint (acquisition_position (a, 7), ==, -1);
  g_assert_cmpint (acquisition_position (a, 8), ==, -1);
  g_assert_cmpint (acquisition_position (a, 9), ==, 7);
  for (gint64 p = 0; p < FRAMES; p++) {
    gint64 f = acquisition_frame (a, p);
    g_assert_cmpint (acquisition_position (a, f), ==, p);
    g_autofree gpointer frame = read_frames (a, f, 1, &error);
    g_assert_no_error (error);
    assert_frames (a, frame, p, 1, expected);
  }
  acquisition_free (a);
}

static void
test_others (void)
{
  SbAcquisitionOptions shape = { .scan_shape = { 6, 7 } };
  g_autoptr (GError) error = NULL;
  g_autofree char *corrupt = case_path ("corrupt_chunk"), *hot = case_path ("hot_pixel"), *empty = case_path ("empty_frame");
  g_autofree char *zero = case_path ("all_zero"), *bare = case_path ("no_mask");
  SbAcquisition *a = open_good (corrupt, &shape);
  g_assert_null (read_frames (a, 0, 8, &error));
  g_assert_error (error, SB_ERROR, SB_ERROR_DATA);
  g_assert_nonnull (strstr (error->message, "corrupt_chunk_data_000001.h5: frame 3 "));
  g_assert_nonnull (strstr (error->message, "2147483647 bytes"));
  acquisition_free (a);
  a = open_good (hot, NULL);
  g_autofree guint16 *frame = read_frames (a, 0, 1, NULL);
  guint16 most = 0;
  for (gint64 i = 0; i < SIZE; i++)
    most = a->header.mask[i] ? most : MAX (most, frame[i]);
  g_assert_cmpint (most, ==, 60000);
  acquisition_free (a);
  a = open_good (empty, NULL);
  g_autofree guint16 *tenth = read_frames (a, 10, 1, NULL);
  for (gint64 i = 0; i < SIZE; i++)
    g_assert_true (tenth[i] == 0 || a->header.mask[i]);
  acquisition_free (a);
  a = open_good (zero, NULL); /* whether there is a disk is not the reader's matter */
  acquisition_free (a);
  a = open_good (bare, NULL);
  g_assert_null (a->header.mask);
  g_assert_nonnull (strstr (g_ptr_array_index (a->header.warnings, 0), "pixel_mask"));
  acquisition_free (a);
}

/* Spaces and other scripts in the path, and a relative path from another folder. */
static void
test_paths (void)
{
  g_autofree char *spaced = data_path ("cases/Ünïcode dir 四 d/spaced_master.h5"), *folder = data_path ("cases");
  g_autofree char *before = g_get_current_dir ();
  g_autofree guint32 *expected = truth ();
  g_autoptr (GError) error = NULL;
  SbAcquisition *a = open_good (spaced, NULL);
  acquisition_free (a);
  g_assert_cmpint (g_chdir (folder), ==, 0);
  a = open_good ("ok_u16_master.h5", NULL);
  g_assert_cmpint (g_chdir (before), ==, 0);
  g_autofree gpointer frames = read_frames (a, 0, FRAMES, &error);
  g_assert_no_error (error);
  assert_frames (a, frames, 0, FRAMES, expected);
  g_assert_cmpint (a->header.files->len, ==, 5);
  acquisition_free (a);
  g_autofree char *sidecar = data_path ("cases/ok_u16.h5"), *one = data_path ("cases/ok_u16_data_000001.h5");
  assert_refused (sidecar, NULL, SB_ERROR_DATA, "ok_u16_master.h5", NULL);
  assert_refused (one, NULL, SB_ERROR_DATA, "ok_u16_master.h5", NULL);
  assert_refused ("no/such/file_master.h5", NULL, SB_ERROR_IO, "does not exist", NULL);
  assert_refused (folder, NULL, SB_ERROR_IO, "is a folder", NULL);
}

/* A data file or the master cut anywhere: an error that names it. */
static void
test_every_cut (void)
{
  static const char *const names[] = { "ok_u16_data_000001.h5", "ok_u16_master.h5" };
  g_autofree char *from = data_path ("cases");
  for (guint k = 0; k < G_N_ELEMENTS (names); k++) {
    char *folder = new_folder ();
    copy_files (from, "ok_u16", folder);
    g_autofree char *master = g_build_filename (folder, "ok_u16_master.h5", NULL);
    g_autofree char *cut = g_build_filename (folder, names[k], NULL), *bytes = NULL;
    gsize n;
    g_assert_true (g_file_get_contents (cut, &bytes, &n, NULL));
    for (gsize at = 64; at < n; at += 64) {
      write_file (cut, bytes, at);
      assert_refused (master, NULL, SB_ERROR_IO, names[k], "truncated", NULL);
    }
    drop_folder (folder);
  }
}

/* Flipped bits may go unnoticed (the format has no checksum) but never crash, and never come with the wrong
 * number of frames. */
static void
test_flipped_bits (void)
{
  g_autofree char *from = data_path ("cases");
  char *folder = new_folder ();
  copy_files (from, "ok_u16", folder);
  g_autofree char *master = g_build_filename (folder, "ok_u16_master.h5", NULL);
  g_autofree char *data = g_build_filename (folder, "ok_u16_data_000001.h5", NULL);
  g_autofree char *bytes = NULL;
  gsize n;
  int noticed = 0;
  GRand *random = g_rand_new_with_seed (5);
  g_assert_true (g_file_get_contents (data, &bytes, &n, NULL));
  for (int i = 0; i < 64; i++) {
    gint32 at = g_rand_int_range (random, 0, (gint32)n), bit = g_rand_int_range (random, 0, 8);
    g_autoptr (GError) error = NULL;
    bytes[at] = (char)(bytes[at] ^ 1 << bit);
    write_file (data, bytes, n);
    bytes[at] = (char)(bytes[at] ^ 1 << bit);
    SbAcquisition *a = acquisition_open (master, NULL, &error);
    if (a != NULL) {
      g_assert_cmpint (a->header.frames, ==, FRAMES);
      g_autofree gpointer frames = read_frames (a, 0, FRAMES, &error);
    }
    noticed += error != NULL;
    g_assert_true (a != NULL || error != NULL);
    acquisition_free (a);
  }
  g_test_message ("%d of 64 flips noticed", noticed);
  g_rand_free (random);
  drop_folder (folder);
}

static void
test_real (void)
{
  g_autofree char *zeros = shared_path ("samples/arina_rsciio/test_00_master.h5");
  g_autoptr (GError) error = NULL;
  if (zeros == NULL)
    return;
  SbAcquisition *a = open_good (zeros, NULL);
  g_assert_cmpint (a->scan_rows, ==, 4);
  g_assert_cmpint (a->header.detector_rows, ==, 192);
  g_assert_cmpint (a->header.dtype, ==, SB_U32);
  g_assert_cmpfloat (a->header.energy, ==, 300.0);
  g_autofree guint32 *frames = read_frames (a, 0, 16, &error);
  g_assert_no_error (error);
  for (gsize i = 0; i < 16 * 192 * 192; i++)
    g_assert_cmpuint (frames[i], ==, 0);
  acquisition_free (a);
  g_autofree char *bare = shared_path ("samples/arina_openncem_missing_data/au_145mm_68kx_microprobe_01_master.h5");
  if (bare != NULL)
    assert_refused (bare, NULL, SB_ERROR_IO, "au_145mm_68kx_microprobe_01_data_000001.h5 is missing", NULL);
}

int
main (int argc, char **argv)
{
  static const char *const same[] = { "ok_u16", "ok_u8", "ok_u32", "ok_be16", "ok_lz4", "ok_none", "ok_chunk4" };
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (same); i++) {
    g_autofree char *name = g_strdup_printf ("/formats/arina/%s", same[i]);
    g_test_add_data_func (name, same[i], test_same_counts);
  }
  g_test_add_func ("/formats/arina/threads", test_threads);
  g_test_add_func ("/formats/arina/refused", test_refused);
  g_test_add_func ("/formats/arina/partial", test_partial);
  g_test_add_func ("/formats/arina/flyback", test_flyback);
  g_test_add_func ("/formats/arina/others", test_others);
  g_test_add_func ("/formats/arina/paths", test_paths);
  g_test_add_func ("/formats/arina/every-cut", test_every_cut);
  g_test_add_func ("/formats/arina/flipped-bits", test_flipped_bits);
  g_test_add_func ("/formats/arina/real", test_real);
  return g_test_run ();
}
