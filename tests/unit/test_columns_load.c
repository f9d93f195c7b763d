/* Columns read from files: the same bits as pushed, for any number of threads; errors, cancel and progress;
 * the sample files against their truth. */
#include "tests/unit/columns_common.h"

#include "core/calibrate.h"

enum { N = 32, SIZE = N * N, SCAN = 30, FRAMES = SCAN * SCAN, NEVER = FRAMES };

/* A file made of memory that can fail or cancel at a frame. */
struct SbReader {
  double *x;
  SbDtype dtype;
  gint64 fails[2], cancels;
  SbProgress *progress;
  gint reads;
};

static gboolean
fake_read (SbReader *reader, gint64 first, gint64 n, gpointer out, GError **error)
{
  gint64 strides[3];
  g_autofree char *frames = pack (reader->x + first * SIZE, n, N, N, reader->dtype, FALSE, strides);
  g_atomic_int_add (&reader->reads, (gint)n);
  for (int k = 0; k < 2; k++)
    if (reader->fails[k] >= first && reader->fails[k] < first + n)
      return sb_fail (error, SB_ERROR_IO, "Frame %d cannot be read.", (int)reader->fails[k]);
  if (reader->cancels >= first && reader->cancels < first + n)
    progress_cancel (reader->progress);
  memcpy (out, frames, (gsize)(n * strides[0]));
  return TRUE;
}

static const SbFormat fake_format = { .name = "fake", .read = fake_read };

static SbReader
fake_reader (SbDtype dtype, SbProgress *progress)
{
  SbReader reader = { g_new (double, FRAMES *SIZE), dtype, { NEVER, NEVER }, NEVER, progress, 0 };
  for (int f = 0; f < FRAMES; f++)
    for (int i = 0; i < SIZE; i++)
      reader.x[f * SIZE + i] = hypot (i / N - 15.2, i % N - 17.1) <= 8 ? 30 + (i * 7 + f * 13) % 11 : (i * f) % 97 == 1;
  return reader;
}

static SbColumns *
load (SbReader *reader, int threads, GError **error)
{
  SbEngine *engine = make_engine (threads);
  SbAcquisition *acquisition = make_acquisition (SCAN, SCAN, N, N, dtype_name (reader->dtype));
  acquisition->format = &fake_format;
  acquisition->reader = reader;
  SbColumns *columns = columns_load (engine, acquisition, NOWHERE, NAN, reader->progress, error);
  acquisition->format = NULL; /* nothing for acquisition_free to close */
  acquisition->reader = NULL;
  acquisition_free (acquisition);
  engine_free (engine);
  return columns;
}

static void
test_same_as_pushed (gconstpointer data)
{
  SbDtype dtype = (SbDtype)GPOINTER_TO_INT (data);
  SbProgress progress = { 0 };
  SbReader reader = fake_reader (dtype, &progress);
  SbEngine *engine = make_engine (1);
  SbAcquisition *acquisition = make_acquisition (SCAN, SCAN, N, N, dtype_name (dtype));
  g_autoptr (GError) error = NULL;
  SbColumns *pushed = gather_all (engine, acquisition, reader.x, dtype, &error);
  g_assert_no_error (error);
  assert_truth (pushed, reader.x);
  const int threads[] = { 1, 2, 7 };
  for (int i = 0; i < 3; i++) {
    progress_stage (&progress, "load", 0, 0.5);
    SbColumns *columns = load (&reader, threads[i], &error);
    g_assert_no_error (error);
    assert_same (columns, pushed);
    g_assert_cmpint (progress.permyriad, ==, 5000);
    columns_free (columns);
  }
  columns_free (pushed);
  acquisition_free (acquisition);
  engine_free (engine);
  g_free (reader.x);
}

/* Whatever the threads do, the first frame that fails is told. */
static void
test_fails (void)
{
  SbReader reader = fake_reader (SB_U16, NULL);
  reader.fails[0] = 203;
  reader.fails[1] = 261; /* another block */
  for (int i = 0; i < 20; i++) {
    g_autoptr (GError) error = NULL;
    g_assert_null (load (&reader, 1 + i % 7, &error));
    g_assert_error (error, SB_ERROR, SB_ERROR_IO);
    g_assert_cmpstr (error->message, ==, "Frame 203 cannot be read.");
  }
  g_free (reader.x);
}

static void
test_cancel (void)
{
  for (int threads = 1; threads <= 2; threads++) {
    SbProgress progress = { 0 };
    SbReader reader = fake_reader (SB_U16, &progress);
    reader.cancels = 3;
    g_autoptr (GError) error = NULL;
    g_assert_null (load (&reader, threads, &error));
    g_assert_error (error, SB_ERROR, SB_ERROR_CANCELLED);
    g_assert_cmpint (reader.reads, <, FRAMES / 2); /* the sparse mean and the blocks in hand, not the file */
    g_free (reader.x);
  }
}

static SbColumns *
load_file (const char *path, SbEngine *engine, GError **error)
{
  SbAcquisitionOptions options;
  param_group_defaults (&acquisition_params, &options);
  SbAcquisition *acquisition = acquisition_open (path, &options, error);
  SbColumns *columns = acquisition == NULL ? NULL : columns_load (engine, acquisition, NOWHERE, NAN, NULL, error);
  acquisition_free (acquisition);
  if (columns != NULL)
    columns->acquisition = NULL;
  param_group_clear (&acquisition_params, &options);
  return columns;
}

static char *
data_path (const char *name)
{
  const char *data = g_getenv ("SB_TEST_DATA");
  return data == NULL ? NULL : g_build_filename (data, name, NULL);
}

static char *
example_path (const char *name)
{
  const char *folder = g_getenv ("SB_EXAMPLES");
  return folder == NULL ? NULL : g_build_filename (folder, "acquisitions", name, NULL);
}

/* The truth of cases/: 42 frames of uint32 in an .npy with a header of 128 bytes. */
static double *
case_truth (void)
{
  g_autofree char *path = data_path ("cases/truth_frames.npy");
  g_autofree char *text = NULL;
  gsize length = 0;
  g_autoptr (GError) error = NULL;
  g_file_get_contents (path, &text, &length, &error);
  g_assert_no_error (error);
  g_assert_nonnull (strstr (text + 10, "'<u4'"));
  gsize header = 10 + (guint8)text[8] + 256 * (gsize)(guint8)text[9];
  g_assert_cmpint (length, ==, header + 42 * 24 * 20 * 4);
  double *x = g_new (double, 42 * 480);
  for (int i = 0; i < 42 * 480; i++) {
    guint32 value;
    memcpy (&value, text + header + 4 * i, 4);
    x[i] = GUINT32_FROM_LE (value);
  }
  return x;
}

typedef struct Case {
  const char *name;
  SbDtype dtype;
  int masked, hot, empty;
} Case;

static void
test_case (gconstpointer data)
{
  const Case *c = data;
  if (g_getenv ("SB_TEST_DATA") == NULL) {
    g_test_skip ("SB_TEST_DATA is not set");
    return;
  }
  g_autofree double *x = case_truth ();
  g_autofree char *name = g_strdup_printf ("cases/%s_master.h5", c->name);
  g_autofree char *path = data_path (name);
  g_autoptr (GError) error = NULL;
  SbEngine *engine = make_engine (2);
  const double centre[2] = { 11.3, 9.2 };
  SbColumns *columns = load_file (path, engine, &error);
  g_assert_no_error (error);
  if (c->empty >= 0)
    memset (x + 480 * c->empty, 0, 480 * sizeof *x);
  g_assert_cmpint (columns->dtype, ==, c->dtype);
  g_assert_cmpint (columns->pattern.masked, ==, c->masked);
  g_assert_cmpint (columns->pattern.hot, ==, c->hot);
  g_assert_cmpint (columns->pattern.saturated, ==, 0);
  assert_covers (columns, centre, 5);
  assert_truth (columns, x);
  columns_free (columns);
  engine_free (engine);
}

static const Case cases[] = {
  { "ok_u16", SB_U16, 2, 0, -1 },      { "ok_u8", SB_U8, 2, 0, -1 },     { "ok_u32", SB_U32, 2, 0, -1 },
  { "ok_be16", SB_U16, 2, 0, -1 },     { "ok_lz4", SB_U16, 2, 0, -1 },   { "ok_none", SB_U16, 2, 0, -1 },
  { "ok_chunk4", SB_U16, 2, 0, -1 },   { "no_mask", SB_U16, 0, 0, -1 },  { "hot_pixel", SB_U16, 2, 1, -1 },
  { "empty_frame", SB_U16, 2, 0, 10 }, { "flyback2", SB_U16, 2, 0, -1 },
};

static void
test_all_zero (void)
{
  if (g_getenv ("SB_TEST_DATA") == NULL) {
    g_test_skip ("SB_TEST_DATA is not set");
    return;
  }
  g_autofree char *path = data_path ("cases/all_zero_master.h5");
  g_autoptr (GError) error = NULL;
  SbEngine *engine = make_engine (2);
  g_assert_null (load_file (path, engine, &error));
  g_assert_error (error, SB_ERROR, SB_ERROR_DATA);
  g_assert_nonnull (strstr (error->message, "No bright-field disk"));
  engine_free (engine);
}

/* The simulated acquisitions: the disk where it was put, no pixel thought bad, the electrons that were sent.
 */
static void
check_simulation (const char *path, double middle, double radius, double electrons)
{
  g_autoptr (GError) error = NULL;
  SbEngine *engine = make_engine (2);
  SbColumns *columns = load_file (path, engine, &error);
  g_assert_no_error (error);
  SbPattern *pattern = &columns->pattern;
  const double centre[2] = { middle, middle };
  double sum = 0, frame_sums = 0;
  SbDisk disk;
  g_assert_true (disk_find (pattern->mean, pattern->bad, pattern->rows, pattern->cols, &disk, &error));
  g_assert_cmpfloat_with_epsilon (disk.centre[0], middle, 0.05);
  g_assert_cmpfloat_with_epsilon (disk.centre[1], middle, 0.05);
  g_assert_cmpfloat_with_epsilon (disk.radius, radius, 0.15);
  g_assert_cmpint (pattern->hot + pattern->masked + pattern->not_finite + pattern->saturated, ==, 0);
  assert_covers (columns, centre, radius);
  for (gint64 i = 0; i < pattern->rows * pattern->cols; i++)
    sum += pattern->mean[i];
  for (gint64 p = 0; p < columns->positions; p++)
    frame_sums += columns->frame_sum[p];
  g_assert_cmpfloat_with_epsilon (sum, electrons, 0.001 * electrons);
  g_assert_cmpfloat_with_epsilon (frame_sums / (double)columns->positions, sum, 1e-9 * sum);
  columns_free (columns);
  engine_free (engine);
}

static void
test_film (void)
{
  if (g_getenv ("SB_EXAMPLES") == NULL) {
    g_test_skip ("SB_EXAMPLES is not set");
    return;
  }
  g_autofree char *film = example_path ("film_master.h5");
  g_autofree char *atoms = example_path ("columns_master.h5");
  check_simulation (film, 36, 30 / 0.9843744503424396, 30000);
  check_simulation (atoms, 36, 30 / 0.9843744503424396, 30000);
}

static void
test_rotated (void)
{
  const char *shared = g_getenv ("SB_SHARED");
  g_autofree char *path = shared == NULL ? NULL : g_build_filename (shared, "acquisitions/rotated_master.h5", NULL);
  if (path == NULL || !g_file_test (path, G_FILE_TEST_EXISTS)) {
    g_test_skip ("SB_SHARED does not hold acquisitions/rotated");
    return;
  }
  check_simulation (path, 56, 30 / 0.6152340314640249, 20000);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (int dtype = SB_U8; dtype <= SB_F64; dtype++) {
    g_autofree char *name = g_strconcat ("/columns/load/", dtype_name ((SbDtype)dtype), NULL);
    g_test_add_data_func (name, GINT_TO_POINTER (dtype), test_same_as_pushed);
  }
  g_test_add_func ("/columns/load/fails", test_fails);
  g_test_add_func ("/columns/load/cancel", test_cancel);
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *name = g_strconcat ("/columns/case/", cases[i].name, NULL);
    g_test_add_data_func (name, &cases[i], test_case);
  }
  g_test_add_func ("/columns/case/all_zero", test_all_zero);
  g_test_add_func ("/columns/simulated/film", test_film);
  g_test_add_func ("/columns/simulated/rotated", test_rotated);
  return g_test_run ();
}
