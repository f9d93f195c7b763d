/* Parts of a series: which files it takes, what they are called, registration, what a kill leaves behind. */
#include <unistd.h>

#include "core/batch/inside.h"
#include "tests/unit/frames.h"

static void
put (const char *folder, const char *name, const char *text)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  write_file (path, text, strlen (text));
}

/* A .npy of frames of 4 x 4 pixels. */
static void
put_npy (const char *folder, const char *name, int frames)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  g_autofree char *dictionary = g_strdup_printf ("{'descr': '|u1', 'fortran_order': False, 'shape': (%d, 4, 4), }", frames);
  g_autofree char *padded = g_strdup_printf ("%-117s\n", dictionary);
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  const guint8 magic[10] = { 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 118, 0 };
  g_byte_array_append (bytes, magic, sizeof magic);
  g_byte_array_append (bytes, (const guint8 *)padded, (guint)strlen (padded));
  g_byte_array_set_size (bytes, bytes->len + 16 * (guint)frames);
  write_file (path, bytes->data, bytes->len);
}

/* Base names of what the inputs are, with blanks between them; an error's sentence where they are none. */
static char *
names_of (const char *inputs)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GString) names = g_string_new (NULL);
  g_autoptr (GPtrArray) paths = batch_inputs (inputs, NULL, &error);
  g_assert_true ((paths == NULL) == (error != NULL));
  for (guint i = 0; paths != NULL && i < paths->len; i++) {
    g_autofree char *base = g_path_get_basename (paths->pdata[i]);
    g_assert_true (g_path_is_absolute (paths->pdata[i]));
    g_string_append_printf (names, "%s%s", i > 0 ? " " : "", base);
  }
  return g_strdup (error != NULL ? error->message : names->str);
}

static void
expect_names (const char *inputs, const char *wanted)
{
  g_autofree char *names = names_of (inputs);
  g_assert_cmpstr (names, ==, wanted);
}

static void
expect_refusal (const char *inputs, const char *says)
{
  g_autoptr (GError) error = NULL;
  g_assert_null (batch_inputs (inputs, NULL, &error));
  g_test_message ("%s", error->message);
  g_assert_nonnull (strstr (error->message, says));
  g_assert_true (g_str_has_suffix (error->message, "."));
}

static void
test_inputs (void)
{
  char *folder = new_folder ();
  for (int i = 9; i <= 11; i++) {
    g_autofree char *name = g_strdup_printf ("scan_%d.npy", i);
    put_npy (folder, name, i);
  }
  put_npy (folder, ".hidden.npy", 3);
  put (folder, "notes.txt", "no acquisition");
  put (folder, "x_master.h5", "\x89HDF\r\n\x1a\n damaged");
  put (folder, "x_data_000001.h5", "\x89HDF\r\n\x1a\n");
  put (folder, "x.h5", "\x89HDF\r\n\x1a\n");
  put (folder, "a.list", "# a list\nscan_11.npy\r\nscan_9.npy\n");
  put (folder, "loop.list", "@loop.list\n");

  g_autofree char *nine = g_build_filename (folder, "scan_9.npy", NULL);
  g_autofree char *pattern = g_build_filename (folder, "scan_1?.npy", NULL);
  g_autofree char *list = g_strdup_printf ("@%s/a.list", folder), *loop = g_strdup_printf ("@%s/loop.list", folder);
  g_autofree char *none = g_strdup_printf ("%s/*.mib", folder), *absent = g_strdup_printf ("%s/absent.npy", folder);
  g_autofree char *twice = g_strdup_printf ("%s\n%s\n%s\n", nine, pattern, nine);
  expect_names (folder, "scan_9.npy scan_10.npy scan_11.npy x_master.h5");
  expect_names (pattern, "scan_10.npy scan_11.npy");
  expect_names (list, "scan_11.npy scan_9.npy");
  expect_names (twice, "scan_9.npy scan_10.npy scan_11.npy");
  expect_names (absent, "absent.npy"); /* named, so it is told that it failed */
  expect_refusal (none, "matches");
  expect_refusal (loop, "lists");
  expect_refusal ("@/nowhere/at/all", "/nowhere/at/all");
  expect_refusal (NULL, "inputs");
  expect_refusal ("\n\n", "inputs");
  drop_folder (folder);
}

/* ---- where files go ---- */

static SbBatch *
new_batch (const char *const *paths, SbBatchCall *call, SbBatchOptions *options, SbOutputOptions *output)
{
  SbBatch *batch = g_new0 (SbBatch, 1);
  call->batch = options;
  call->output = output;
  batch->call = call;
  batch->lock_file = batch->log_file = -1;
  batch->items = g_ptr_array_new_with_free_func (item_free);
  batch->warnings = g_ptr_array_new_with_free_func (g_free);
  for (; *paths != NULL; paths++) {
    SbBatchItem *item = g_new0 (SbBatchItem, 1);
    item->path = g_strdup (*paths);
    g_ptr_array_add (batch->items, item);
  }
  return batch;
}

static void
free_batch (SbBatch *batch)
{
  place_close (batch);
  g_ptr_array_unref (batch->items);
  g_ptr_array_unref (batch->warnings);
  g_free (batch->prefix);
  g_free (batch->made);
  g_free (batch->lock_path);
  g_free (batch);
}

static void
test_names (void)
{
  static const char *const paths[] = { "/d/a/scan.h5", "/d/b/scan_master.h5", "/e/b/scan.npy", "/d/other_master.h5", NULL };
  static const char *const wanted[] = { "a_scan", "b_scan", "b_scan_2", "other" };
  char *folder = new_folder ();
  g_autofree char *prefix = g_build_filename (folder, "night", NULL), *whole = g_strconcat (prefix, "_a_scan", NULL);
  SbBatchCall call = { 0 };
  SbBatchOptions options = { 0 };
  SbOutputOptions output = { prefix, FALSE };
  SbBatch *batch = new_batch (paths, &call, &options, &output);
  g_assert_true (place_names (batch, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (wanted); i++)
    g_assert_cmpstr (((SbBatchItem *)batch->items->pdata[i])->name, ==, wanted[i]);
  g_assert_cmpstr (batch->prefix, ==, prefix);
  g_assert_cmpstr (((SbBatchItem *)batch->items->pdata[0])->prefix, ==, whole);
  free_batch (batch);
  drop_folder (folder);
}

static gboolean
is_there (const char *folder, const char *name)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  return g_file_test (path, G_FILE_TEST_EXISTS);
}

/* A process that does not live: the highest number there may be. */
static void
test_leftovers (void)
{
  static const char *const paths[] = { "/d/scan.h5", NULL };
  char *folder = new_folder ();
  put (folder, "scan_result.h5.4194303.1.partial", "half");
  put (folder, "scan_phase.tif.4194303.2.previous", "the only copy");
  put (folder, "scan_fit.json.4194303.3.previous", "older");
  put (folder, "scan_fit.json", "newer");
  put (folder, "batch_table.csv.4194303.4.partial", "half");
  put (folder, "other_result.h5.4194303.1.partial", "not of this series");
  put (folder, "scan_result.h5.1.1.partial", "of a process that lives");
  put (folder, "scan_result.h5.x.1.partial", "no number");
  SbBatchCall call = { 0 };
  SbBatchOptions options = { 0 };
  SbOutputOptions output = { folder, FALSE };
  SbBatch *batch = new_batch (paths, &call, &options, &output);
  g_autoptr (GError) error = NULL;
  g_assert_true (place_open (batch, &error));
  g_assert_no_error (error);
  g_assert_false (is_there (folder, "scan_result.h5.4194303.1.partial"));
  g_assert_false (is_there (folder, "batch_table.csv.4194303.4.partial"));
  g_assert_false (is_there (folder, "scan_fit.json.4194303.3.previous"));
  g_assert_true (is_there (folder, "scan_phase.tif"));
  g_assert_true (is_there (folder, "scan_fit.json"));
  g_assert_true (is_there (folder, "other_result.h5.4194303.1.partial"));
  g_assert_true (is_there (folder, "scan_result.h5.1.1.partial"));
  g_assert_true (is_there (folder, "scan_result.h5.x.1.partial"));

  SbBatch *second = new_batch (paths, &call, &options, &output);
  g_assert_false (place_open (second, &error));
  g_test_message ("%s", error->message);
  g_assert_nonnull (strstr (error->message, "Another batch"));
  free_batch (second);
  g_assert_true (is_there (folder, "batch.lock")); /* still the first one's */
  free_batch (batch);
  g_assert_false (is_there (folder, "batch.lock"));
  drop_folder (folder);
}

/* ---- registration ---- */

enum { WAVES = 60 };

/* A sum of waves within `band` of the Nyquist frequency over a field far larger than the image: it is not periodic
 * there. */
static double
scene_at (double row, double col, double band)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (7);
  double sum = 0;
  for (int i = 0; i < WAVES; i++) {
    double u = g_rand_double_range (random, -band, band) * G_PI, v = g_rand_double_range (random, -band, band) * G_PI;
    sum += cos (u * row + v * col + g_rand_double_range (random, 0, 2 * G_PI));
  }
  return sum / sqrt (WAVES);
}

static float *
scene (gint64 rows, gint64 cols, double row, double col, double band, double noise, guint32 seed)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);
  float *image = g_new (float, rows *cols);
  for (gint64 r = 0; r < rows; r++)
    for (gint64 c = 0; c < cols; c++)
      image[r * cols + c] = (float)(scene_at ((double)r - row, (double)c - col, band)
                                    + noise * g_rand_double_range (random, -1, 1));
  return image;
}

static void
test_shift (void)
{
  static const struct {
    gint64 rows, cols;
    double shift[2], noise, within;
  } cases[] = { { 48, 48, { 0, 0 }, 0, 1e-6 },
                { 48, 48, { 0.37, -0.71 }, 0, 0.01 },
                { 51, 40, { -6.4, 5.25 }, 0, 0.01 },
                { 40, 51, { 13.3, -9.8 }, 0, 0.02 },
                { 48, 48, { 3.6, 2.2 }, 1, 0.2 } };
  const gint64 factor[2] = { 1, 1 };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    double shift[2], correlation;
    g_autoptr (GError) error = NULL;
    g_autofree float *a = scene (cases[i].rows, cases[i].cols, 0, 0, 0.5, cases[i].noise, 1);
    g_autofree float *b = scene (cases[i].rows, cases[i].cols, cases[i].shift[0], cases[i].shift[1], 0.5, cases[i].noise, 2);
    g_assert_true (register_shift (a, b, cases[i].rows, cases[i].cols, factor, shift, &correlation, NULL, &error));
    g_test_message ("%g, %g: %.4f, %.4f, correlation %.4f", cases[i].shift[0], cases[i].shift[1], shift[0], shift[1],
                    correlation);
    for (int axis = 0; axis < 2; axis++)
      g_assert_cmpfloat (fabs (shift[axis] - cases[i].shift[axis]), <=, cases[i].within);
    g_assert_cmpfloat (correlation, >, cases[i].noise > 0 ? 0.5 : 0.99);
    g_assert_cmpfloat (correlation, <=, 1 + 1e-9);
  }
}

static void
test_shift_of_nothing (void)
{
  const gint64 factor[2] = { 1, 1 };
  float flat[64] = { 0 }, broken[64];
  double shift[2], correlation;
  for (int i = 0; i < 64; i++)
    broken[i] = i % 3 == 0 ? NAN : (float)i;
  g_assert_true (register_shift (flat, flat, 8, 8, factor, shift, &correlation, NULL, NULL));
  g_assert_true (shift[0] == 0 && shift[1] == 0 && correlation == 0);
  g_assert_true (register_shift (broken, flat, 8, 8, factor, shift, &correlation, NULL, NULL));
  g_assert_true (shift[0] == 0 && shift[1] == 0 && correlation == 0);
  g_assert_true (register_shift (broken, flat, 4, 16, factor, shift, &correlation, NULL, NULL));
  g_assert_true (isfinite (correlation));
}

static void
test_move (void)
{
  const double shift[2] = { 2.35, -3.6 };
  gint64 rows = 60, cols = 50;
  g_autofree float *image = scene (rows, cols, shift[0], shift[1], 0.8, 0, 1), *moved = g_new (float, rows *cols);
  g_assert_true (register_move (image, rows, cols, shift, moved, NULL));
  double worst = 0;
  for (gint64 r = 0; r < rows; r++)
    for (gint64 c = 0; c < cols; c++) {
      gboolean outside = (double)r + shift[0] > (double)(rows - 1) || (double)c + shift[1] < 0;
      double error = fabs ((double)moved[r * cols + c] - (outside ? 0 : scene_at ((double)r, (double)c, 0.8)));
      if (outside)
        g_assert_cmpfloat (error, ==, 0);
      else if (r > 16 && r < rows - 20 && c > 20 && c < cols - 16) /* at the border only half the samples are there */
        worst = MAX (worst, error);
    }
  g_test_message ("largest error %.2e", worst);
  g_assert_cmpfloat (worst, <, 0.01);
  const double none[2] = { 0, 0 };
  g_assert_true (register_move (image, rows, cols, none, moved, NULL));
  for (gint64 i = 0; i < rows * cols; i++)
    g_assert_cmpfloat (fabs ((double)moved[i] - (double)image[i]), <, 1e-6);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/batch/inputs", test_inputs);
  g_test_add_func ("/batch/names", test_names);
  g_test_add_func ("/batch/leftovers and the lock", test_leftovers);
  g_test_add_func ("/batch/shift", test_shift);
  g_test_add_func ("/batch/shift of nothing", test_shift_of_nothing);
  g_test_add_func ("/batch/move", test_move);
  return g_test_run ();
}
