/* The bright-field disk on patterns whose truth is known by construction. */
#include <math.h>
#include <string.h>

#include "core/calibrate.h"
#include "core/error.h"

enum { N = 64, SIZE = N * N };

typedef struct Truth {
  double row, col, radius, blur;
} Truth;

/* Share of each pixel within the disk, by 8 x 8 points; blur: width of a soft edge. */
static void
add_disk (double *x, gint64 rows, gint64 cols, Truth t, double level)
{
  for (gint64 i = 0; i < rows * cols; i++) {
    double sum = 0;
    for (int s = 0; s < 64; s++) {
      double row = (double)(i / cols) + (s / 8 + 0.5) / 8 - 0.5, col = (double)(i % cols) + (s % 8 + 0.5) / 8 - 0.5;
      double out = hypot (row - t.row, col - t.col) - t.radius;
      sum += t.blur > 0 ? 0.5 * erfc (out / (t.blur * G_SQRT2)) : out < 0;
    }
    x[i] += level * sum / 64;
  }
}

static void
add_noise (double *x, gsize n, guint32 seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  for (gsize i = 0; i < n; i++) { /* Poisson */
    double limit = exp (-x[i]), product = g_rand_double (rand);
    for (x[i] = 0; product > limit; x[i]++)
      product *= g_rand_double (rand);
  }
}

static void
assert_disk (const double *x, const guint8 *bad, gint64 rows, gint64 cols, Truth t, double centre, double radius)
{
  g_autoptr (GError) error = NULL;
  SbDisk disk, again;
  disk_find (x, bad, rows, cols, &disk, &error);
  g_assert_no_error (error);
  g_test_message ("centre %+.3f %+.3f radius %+.3f", disk.centre[0] - t.row, disk.centre[1] - t.col, disk.radius - t.radius);
  g_assert_cmpfloat (hypot (disk.centre[0] - t.row, disk.centre[1] - t.col), <=, centre);
  g_assert_cmpfloat (fabs (disk.radius - t.radius), <=, radius);
  g_assert_true (disk_find (x, bad, rows, cols, &again, &error));
  g_assert_cmpmem (&disk, sizeof disk, &again, sizeof again);
}

static void
assert_none (const double *x, gint64 rows, gint64 cols, const char *says)
{
  g_autoptr (GError) error = NULL;
  SbDisk disk = { { -1, -1 }, -1 };
  g_assert_false (disk_find (x, NULL, rows, cols, &disk, &error));
  g_assert_error (error, SB_ERROR, SB_ERROR_DATA);
  g_test_message ("%s", error->message);
  g_assert_nonnull (strstr (error->message, says));
  g_assert_cmpfloat (disk.radius, ==, -1);
}

static const Truth truths[] = {
  { 31.3, 30.8, 12.4, 0 }, { 31.3, 30.8, 12.4, 0.6 }, { 12.1, 50.2, 9.3, 0 },   { 12.1, 50.2, 9.3, 1 }, { 30, 30, 25, 1.2 },
  { 30.5, 33.5, 20, 0 },   { 31, 31, 3.2, 0 },        { 31.4, 31.2, 3.6, 0.4 }, { 45.7, 16.2, 5, 0.9 },
};

static void
test_plain (void)
{
  for (gsize k = 0; k < G_N_ELEMENTS (truths); k++) {
    double x[SIZE] = { 0 };
    add_disk (x, N, N, truths[k], 100);
    assert_disk (x, NULL, N, N, truths[k], 0.06, 0.06);
  }
}

static void
test_noise (void)
{
  const double levels[] = { 400, 30 };
  for (gsize k = 0; k < G_N_ELEMENTS (truths); k++)
    for (int l = 0; l < 2; l++) {
      double x[SIZE] = { 0 };
      add_disk (x, N, N, truths[k], levels[l]);
      add_noise (x, SIZE, (guint32)k + 1);
      assert_disk (x, NULL, N, N, truths[k], 0.3, 0.3);
    }
}

/* What surrounds a disk in real patterns must not draw it aside. */
static void
test_company (void)
{
  for (gsize k = 0; k < 6; k++) {
    Truth t = truths[k];
    double disk[SIZE] = { 0 }, x[SIZE];
    add_disk (disk, N, N, t, 100);

    memcpy (x, disk, sizeof x); /* hot pixels outside, inside, at the edge */
    x[5 * N + 5] = 1e5;
    x[(int)t.row * N + (int)t.col + 2] = 6e4;
    x[(int)(t.row - t.radius) * N + (int)t.col] = 3e4;
    assert_disk (x, NULL, N, N, t, 0.3, 0.3);

    memcpy (x, disk, sizeof x); /* bright spots: one apart, one that touches */
    if (t.radius < 15) {
      add_disk (x, N, N, (Truth){ t.row, t.col < 32 ? 56 : 12, 3, 0.5 }, 500);
      add_disk (x, N, N, (Truth){ t.row + t.radius + 2.2, t.col, 2, 0.3 }, 300);
      assert_disk (x, NULL, N, N, t, 0.3, 0.3);
    }
    memcpy (x, disk, sizeof x); /* a ring, and a halo */
    for (int i = 0; i < SIZE; i++) {
      double d = hypot (i / N - t.row, i % N - t.col);
      x[i] += d > t.radius + 5 && d < t.radius + 7 ? 80 : 0;
    }
    assert_disk (x, NULL, N, N, t, 0.3, 0.3);
    memcpy (x, disk, sizeof x);
    for (int i = 0; i < SIZE; i++) {
      double d = hypot (i / N - t.row, i % N - t.col) / (2 * t.radius);
      x[i] += 30 * exp (-d * d / 2);
    }
    assert_disk (x, NULL, N, N, t, 0.3, 0.3);
  }
}

/* Part of the disk is off the detector, or hidden by bad pixels. */
static void
test_cut (void)
{
  const Truth t = { 31.3, 30.8, 12.4, 0.4 };
  double x[SIZE] = { 0 };
  guint8 bad[SIZE] = { 0 };
  add_disk (x, N, N, t, 100);
  const int cuts[] = { 22, 25, 31 }; /* rows that are lost; 31: half of the disk */
  for (int k = 0; k < 3; k++)
    assert_disk (x + cuts[k] * N, NULL, N - cuts[k], N, (Truth){ t.row - cuts[k], t.col, t.radius, 0 }, 0.3, 0.3);
  for (int i = 0; i < SIZE; i++) {
    bad[i] = i / N == 40 || i % N == 22 || i % N == 23;
    x[i] = bad[i] ? (i % 2 ? 1e6 : -5) : x[i];
  }
  x[0] = NAN;
  assert_disk (x, bad, N, N, t, 0.3, 0.3);
}

static void
test_none (void)
{
  double x[SIZE] = { 0 }, one = 3;
  assert_none (x, N, N, "No bright-field disk");
  assert_none (&one, 1, 1, "No bright-field disk");
  x[77] = 1000;
  assert_none (x, N, N, "No bright-field disk");
  for (int i = 0; i < SIZE; i++)
    x[i] = 12.5;
  assert_none (x, N, N, "flat");
  for (int i = 0; i < SIZE; i++)
    x[i] = i / N + i % N;
  assert_none (x, N, N, "No bright-field disk");
  for (int i = 0; i < SIZE; i++)
    x[i] = NAN;
  assert_none (x, N, N, "no pixel is usable");
  const double levels[] = { 0.01, 0.1, 1, 10, 300 };
  for (guint32 k = 0; k < 60; k++) {
    for (int i = 0; i < SIZE; i++)
      x[i] = levels[k % 5];
    add_noise (x, SIZE, k);
    assert_none (x, N, N, "give centre and sampling.");
  }
}

static void
test_small (void)
{
  double x[SIZE] = { 0 };
  add_disk (x, N, N, (Truth){ 30, 30, 2.2, 0 }, 100);
  assert_none (x, N, N, "only 2.2 detector pixels");
}

/* The truth of the sample cases, as counts in an .npy. */
static void
test_case (gconstpointer data)
{
  const char *folder = g_getenv ("SB_TEST_DATA"), *kind = data;
  if (folder == NULL) {
    g_test_skip ("SB_TEST_DATA is not set");
    return;
  }
  enum { ROWS = 24, COLS = 20, PIXELS = ROWS * COLS, FRAMES = 42 };
  g_autofree char *path = g_build_filename (folder, "cases", "truth_frames.npy", NULL);
  g_autofree char *text = NULL;
  g_autoptr (GError) error = NULL;
  gsize length;
  g_file_get_contents (path, &text, &length, &error);
  g_assert_no_error (error);
  gsize header = 10 + (guint8)text[8] + 256 * (gsize)(guint8)text[9];
  g_assert_cmpint (length, ==, header + FRAMES * PIXELS * 4);
  double x[PIXELS] = { 0 };
  for (int i = 0; i < FRAMES * PIXELS; i++) {
    guint32 value;
    memcpy (&value, text + header + 4 * i, 4);
    x[i % PIXELS] += (double)GUINT32_FROM_LE (value) / FRAMES;
  }
  if (g_str_equal (kind, "hot"))
    x[5 * COLS + 5] = 60000;
  assert_disk (x, NULL, ROWS, COLS, (Truth){ 11.3, 9.2, 5, 0 }, 0.1, 0.1);
  /* three rows and one column cropped */
  double cropped[21 * 19];
  for (int i = 0; i < 21 * 19; i++)
    cropped[i] = x[(i / 19 + 3) * COLS + i % 19 + 1];
  assert_disk (cropped, NULL, 21, 19, (Truth){ 8.3, 8.2, 5, 0 }, 0.1, 0.1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/disk/plain", test_plain);
  g_test_add_func ("/disk/noise", test_noise);
  g_test_add_func ("/disk/company", test_company);
  g_test_add_func ("/disk/cut", test_cut);
  g_test_add_func ("/disk/none", test_none);
  g_test_add_func ("/disk/small", test_small);
  g_test_add_data_func ("/disk/case/clean", "clean", test_case);
  g_test_add_data_func ("/disk/case/hot", "hot", test_case);
  return g_test_run ();
}
