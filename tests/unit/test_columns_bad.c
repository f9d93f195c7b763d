/* Columns of imperfect data: bad, hot and saturated pixels, values that are not finite, empty frames, moved
 * disks. */
#include "tests/unit/columns_common.h"

enum { N = 32, SIZE = N * N, SCAN = 10, FRAMES = SCAN * SCAN, MIDDLE = 16 * N + 15, DARK = 2 * N + 3 };
static const double CENTRE[2] = { 16, 15 }, RADIUS = 7;

/* A disk of `level` counts, a step lower on every other pixel. */
static double *
make_frames (double level)
{
  double *x = g_new (double, FRAMES *SIZE);
  for (int f = 0; f < FRAMES; f++)
    for (int i = 0; i < SIZE; i++)
      x[f * SIZE + i] = hypot (i / N - CENTRE[0], i % N - CENTRE[1]) <= RADIUS ? level - (i + f) % 2 : 0;
  return x;
}

typedef struct Setup {
  SbEngine *engine;
  SbAcquisition *acquisition;
  double *x;
  SbDtype dtype;
  GError *error;
} Setup;

static Setup
setup_new (SbDtype dtype, double level)
{
  Setup s = { make_engine (2), make_acquisition (SCAN, SCAN, N, N, dtype_name (dtype)), make_frames (level), dtype, NULL };
  return s;
}

static SbColumns *
setup_gather (Setup *s)
{
  return gather_all (s->engine, s->acquisition, s->x, s->dtype, &s->error);
}

static void
setup_end (Setup *s, SbColumns *columns)
{
  columns_free (columns);
  engine_free (s->engine);
  acquisition_free (s->acquisition);
  g_free (s->x);
  g_clear_error (&s->error);
}

static gint64
count_bad (const SbColumns *columns)
{
  gint64 n = 0;
  for (int i = 0; i < SIZE; i++)
    n += columns->pattern.bad[i];
  return n;
}

static void
test_clean (void)
{
  const double levels[] = { 3, 40, 200 };
  for (int i = 0; i < 3; i++) {
    Setup s = setup_new (SB_U8, levels[i]);
    SbColumns *columns = setup_gather (&s);
    g_assert_no_error (s.error);
    g_assert_cmpint (count_bad (columns), ==, 0);
    g_assert_cmpint (columns->pattern.saturated, ==, 0);
    assert_covers (columns, CENTRE, RADIUS);
    setup_end (&s, columns);
  }
}

/* Neither in the mean nor in a frame's sum, wherever they are and whenever they appear. */
static void
test_not_finite (gconstpointer data)
{
  SbDtype dtype = (SbDtype)GPOINTER_TO_INT (data);
  Setup s = setup_new (dtype, 40);
  s.x[3 * SIZE + MIDDLE] = NAN;
  s.x[90 * SIZE + MIDDLE + 1] = -INFINITY;
  s.x[90 * SIZE + DARK] = dtype == SB_F64 ? 1e300 : INFINITY;
  SbColumns *columns = setup_gather (&s);
  g_assert_no_error (s.error);
  g_assert_cmpint (columns->pattern.not_finite, ==, 3);
  g_assert_cmpint (count_bad (columns), ==, 3);
  g_assert_true (columns->pattern.bad[MIDDLE] && columns->pattern.bad[MIDDLE + 1] && columns->pattern.bad[DARK]);
  assert_truth (columns, s.x);
  setup_end (&s, columns);
}

static void
test_negative (void)
{
  Setup s = setup_new (SB_F32, 40);
  for (int i = 0; i < FRAMES * SIZE; i++)
    s.x[i] -= 2.5;
  SbColumns *columns = setup_gather (&s);
  g_assert_no_error (s.error);
  g_assert_cmpfloat (columns->pattern.mean[0], ==, -2.5);
  assert_truth (columns, s.x);
  setup_end (&s, columns);
}

/* Sums of floats do not lose small values beside large ones, so no order can matter. */
static void
test_exact_sums (void)
{
  Setup s = setup_new (SB_F32, 40);
  const double big = 1e30, small = ldexp (1, -140); /* small is subnormal in float32 */
  s.x[5 * SIZE + DARK] = big;
  s.x[6 * SIZE + DARK] = small;
  s.x[80 * SIZE + DARK] = -big;
  s.x[7 * SIZE + DARK + 1] = -small;
  s.x[8 * SIZE + DARK + 1] = -3 * small;
  SbColumns *columns = setup_gather (&s);
  g_assert_no_error (s.error);
  g_assert_cmpfloat (columns->pattern.mean[DARK], ==, small / FRAMES);
  g_assert_cmpfloat (columns->pattern.mean[DARK + 1], ==, -4 * small / FRAMES);
  setup_end (&s, columns);
}

static void
test_hot (gconstpointer data)
{
  SbDtype dtype = (SbDtype)GPOINTER_TO_INT (data);
  Setup s = setup_new (dtype, 40);
  const int hot[] = { MIDDLE, DARK, DARK + 1, SIZE - 1 };
  for (int f = 0; f < FRAMES; f++)
    for (int k = 0; k < 4; k++)
      s.x[f * SIZE + hot[k]] = 20000 + f;
  SbColumns *columns = setup_gather (&s);
  g_assert_no_error (s.error);
  g_assert_cmpint (columns->pattern.hot, ==, 4);
  for (int k = 0; k < 4; k++)
    g_assert_true (columns->pattern.bad[hot[k]]);
  g_assert_cmpint (count_bad (columns), ==, 4);
  assert_covers (columns, CENTRE, RADIUS);
  assert_truth (columns, s.x);
  setup_end (&s, columns);
}

/* All ones in every frame: masked, whether the file says so or not. */
static void
test_sentinel (gconstpointer data)
{
  gboolean mask = GPOINTER_TO_INT (data);
  Setup s = setup_new (SB_U16, 40);
  const int gone[] = { MIDDLE, DARK, 20 * N + 14 };
  if (mask)
    s.acquisition->header.mask = g_malloc0 (SIZE);
  for (int k = 0; k < 3; k++) {
    for (int f = 0; f < FRAMES; f++)
      s.x[f * SIZE + gone[k]] = 65535;
    if (mask)
      s.acquisition->header.mask[gone[k]] = 1;
  }
  SbColumns *columns = setup_gather (&s);
  g_assert_no_error (s.error);
  g_assert_cmpint (columns->pattern.masked, ==, 3);
  g_assert_cmpint (columns->pattern.hot, ==, 0);
  g_assert_cmpint (columns->pattern.saturated, ==, 0);
  g_assert_cmpint (count_bad (columns), ==, 3);
  assert_truth (columns, s.x);
  setup_end (&s, columns);
}

static void
test_saturated (void)
{
  Setup s = setup_new (SB_U8, 40);
  s.x[5 * SIZE + MIDDLE] = 255;
  s.x[70 * SIZE + MIDDLE] = 255;
  s.x[6 * SIZE + MIDDLE + 3] = 255;
  SbColumns *columns = setup_gather (&s);
  g_assert_no_error (s.error);
  g_assert_cmpint (columns->pattern.saturated, ==, 2);
  g_assert_cmpint (count_bad (columns), ==, 0);
  assert_truth (columns, s.x);
  columns_free (columns);
  s.x[5 * SIZE + MIDDLE + 1] = 50;
  s.acquisition->header.has_saturation = TRUE;
  s.acquisition->header.saturation = 50;
  columns = setup_gather (&s);
  g_assert_no_error (s.error);
  g_assert_cmpint (columns->pattern.saturated, ==, 3);
  setup_end (&s, columns);
}

static void
test_empty_frame (void)
{
  Setup s = setup_new (SB_U16, 40);
  memset (s.x + 10 * SIZE, 0, SIZE * sizeof (double));
  SbColumns *columns = setup_gather (&s);
  g_assert_no_error (s.error);
  g_assert_cmpfloat (columns->frame_sum[10], ==, 0);
  g_assert_cmpfloat_with_epsilon (columns->frame_com[20], CENTRE[0], 0.1);
  g_assert_cmpfloat_with_epsilon (columns->frame_com[21], CENTRE[1], 0.1);
  assert_truth (columns, s.x);
  setup_end (&s, columns);
}

/* A single frame of few electrons: nothing there is a hot pixel. */
static void
test_one_frame (void)
{
  g_autoptr (GError) error = NULL;
  SbEngine *engine = make_engine (1);
  SbAcquisition *acquisition = make_acquisition (1, 1, 64, 64, "uint16");
  g_autofree double *x = g_new (double, 64 * 64);
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);
  for (int i = 0; i < 64 * 64; i++) {
    double mean = hypot (i / 64 - 30, i % 64 - 33) < 24 ? 2.7 : 0.02, product = g_rand_double (rand), limit = exp (-mean);
    for (x[i] = 0; product > limit; x[i]++) /* Poisson */
      product *= g_rand_double (rand);
  }
  SbColumns *columns = gather_all (engine, acquisition, x, SB_U16, &error);
  g_assert_no_error (error);
  g_assert_cmpint (columns->positions, ==, 1);
  g_assert_cmpint (columns->pattern.hot, ==, 0);
  assert_truth (columns, x);
  columns_free (columns);
  engine_free (engine);
  acquisition_free (acquisition);
}

static void
test_no_disk (void)
{
  Setup s = setup_new (SB_U16, 40);
  memset (s.x, 0, FRAMES * SIZE * sizeof (double));
  g_assert_null (setup_gather (&s));
  g_assert_error (s.error, SB_ERROR, SB_ERROR_DATA);
  g_assert_nonnull (strstr (s.error->message, "No bright-field disk"));
  g_clear_error (&s.error);
  /* given by the user, it need not be seen */
  SbGather *gather = gather_new (s.engine, s.acquisition, CENTRE, RADIUS, &s.error);
  g_assert_true (push (gather, s.x, 0, FRAMES, N, N, SB_U16, &s.error));
  SbColumns *columns = gather_finish (gather, &s.error);
  g_assert_no_error (s.error);
  assert_covers (columns, CENTRE, RADIUS);
  assert_truth (columns, s.x);
  gather_free (gather);
  setup_end (&s, columns);
}

/* The disk of the first frames says nothing of the rest: told, with the centre to give. */
static void
test_moved (void)
{
  Setup s = setup_new (SB_U16, 40);
  for (int f = 64; f < FRAMES; f++)
    for (int i = SIZE - 1; i >= 0; i--) /* nine columns to the right, brighter */
      s.x[f * SIZE + i] = i % N >= 9 ? 90 * s.x[f * SIZE + i - 9] : 0;
  g_assert_null (setup_gather (&s));
  g_assert_error (s.error, SB_ERROR, SB_ERROR_DATA);
  g_assert_nonnull (strstr (s.error->message, "give centre 16.0,2"));
  setup_end (&s, NULL);
}

static void
test_range (void)
{
  Setup s = setup_new (SB_I32, 40);
  s.x[5 * SIZE + DARK] = -7;
  SbColumns *columns = setup_gather (&s);
  g_assert_no_error (s.error);
  assert_truth (columns, s.x);
  columns_free (columns);
  s.x[77 * SIZE + DARK] = 1 << 24;
  g_assert_null (setup_gather (&s));
  g_assert_error (s.error, SB_ERROR, SB_ERROR_DATA);
  g_assert_nonnull (strstr (s.error->message, "Frame 77 "));
  g_assert_nonnull (strstr (s.error->message, "(2, 3)"));
  setup_end (&s, NULL);
}

static void
test_memory (void)
{
  Setup s = setup_new (SB_U16, 40);
  s.engine->memory = 30000;
  g_assert_null (setup_gather (&s));
  g_assert_error (s.error, SB_ERROR, SB_ERROR_MEMORY);
  setup_end (&s, NULL);
}

/* A failed gather says so, instead of going on with half a block. */
static void
test_failed (void)
{
  Setup s = setup_new (SB_I32, 40);
  SbGather *gather = gather_new (s.engine, s.acquisition, NOWHERE, NAN, &s.error);
  s.x[1 * SIZE + DARK] = 1 << 25;
  g_assert_false (push (gather, s.x, 0, 2, N, N, SB_I32, &s.error));
  g_clear_error (&s.error);
  g_assert_false (push (gather, s.x, 2, 2, N, N, SB_I32, &s.error));
  g_assert_error (s.error, SB_ERROR, SB_ERROR_STATE);
  g_clear_error (&s.error);
  g_assert_null (gather_finish (gather, &s.error));
  g_assert_error (s.error, SB_ERROR, SB_ERROR_STATE);
  gather_free (gather);
  setup_end (&s, NULL);
}

static void
test_preview (void)
{
  Setup s = setup_new (SB_U16, 40);
  double mean[SIZE];
  gint64 frames = -1;
  SbGather *gather = gather_new (s.engine, s.acquisition, NOWHERE, NAN, &s.error);
  g_assert_true (gather_preview (gather, mean, &frames, &s.error));
  g_assert_cmpint (frames, ==, 0);
  g_assert_cmpfloat (mean[MIDDLE], ==, 0);
  const int counts[] = { 10, 70 };
  for (int k = 0, at = 0; k < 2; k++) {
    g_assert_true (push (gather, s.x, at, counts[k], N, N, SB_U16, &s.error));
    at += counts[k];
    g_assert_true (gather_preview (gather, mean, &frames, &s.error));
    g_assert_cmpint (frames, ==, at);
    g_assert_cmpfloat (mean[MIDDLE], ==, 39.5);
    g_assert_cmpfloat (mean[DARK], ==, 0);
  }
  gather_free (gather);
  setup_end (&s, NULL);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/columns/clean", test_clean);
  g_test_add_data_func ("/columns/not-finite/float32", GINT_TO_POINTER (SB_F32), test_not_finite);
  g_test_add_data_func ("/columns/not-finite/float64", GINT_TO_POINTER (SB_F64), test_not_finite);
  g_test_add_func ("/columns/negative", test_negative);
  g_test_add_func ("/columns/exact-sums", test_exact_sums);
  g_test_add_data_func ("/columns/hot/uint16", GINT_TO_POINTER (SB_U16), test_hot);
  g_test_add_data_func ("/columns/hot/float32", GINT_TO_POINTER (SB_F32), test_hot);
  g_test_add_data_func ("/columns/sentinel/no-mask", GINT_TO_POINTER (FALSE), test_sentinel);
  g_test_add_data_func ("/columns/sentinel/mask", GINT_TO_POINTER (TRUE), test_sentinel);
  g_test_add_func ("/columns/saturated", test_saturated);
  g_test_add_func ("/columns/empty-frame", test_empty_frame);
  g_test_add_func ("/columns/one-frame", test_one_frame);
  g_test_add_func ("/columns/no-disk", test_no_disk);
  g_test_add_func ("/columns/moved", test_moved);
  g_test_add_func ("/columns/range", test_range);
  g_test_add_func ("/columns/memory", test_memory);
  g_test_add_func ("/columns/failed", test_failed);
  g_test_add_func ("/columns/preview", test_preview);
  return g_test_run ();
}
