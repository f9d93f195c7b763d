/* Columns: what is gathered is what was pushed, exactly, whatever the order, the threads and the view. */
#include "tests/unit/columns_common.h"

enum { ROWS = 40, COLS = 36, SIZE = ROWS * COLS, SCAN_ROWS = 12, SCAN_COLS = 19, FRAMES = SCAN_ROWS * SCAN_COLS };
static const double CENTRE[2] = { 18.2, 16.7 }, RADIUS = 8.4;

static guint32 random_state;
static guint32
random_next (void)
{
  random_state = random_state * 1664525u + 1013904223u;
  return random_state >> 8;
}

/* A disk of about 40 counts with noise, shifted a little from frame to frame. */
static double *
make_frames (void)
{
  double *x = g_new (double, FRAMES *SIZE);
  random_state = 7;
  for (int f = 0; f < FRAMES; f++)
    for (int i = 0; i < SIZE; i++) {
      double distance = hypot (i / COLS - CENTRE[0] - 0.3 * sin (f), i % COLS - CENTRE[1] - 0.3 * cos (f));
      double cover = CLAMP (RADIUS - distance + 0.5, 0, 1);
      x[f * SIZE + i] = floor (cover * (30 + random_next () % 20) + (random_next () % 50 == 0));
    }
  return x;
}

static void
shuffle (int *order, int n)
{
  for (int i = 0; i < n; i++)
    order[i] = i;
  for (int i = n - 1; i > 0; i--) {
    int j = (int)(random_next () % (guint32)(i + 1)), swap = order[i];
    order[i] = order[j];
    order[j] = swap;
  }
}

/* One frame at a time in random order, through a transposed view with gaps. */
static SbColumns *
gather_shuffled (SbEngine *engine, SbAcquisition *acquisition, const double *x, SbDtype dtype)
{
  g_autoptr (GError) error = NULL;
  int order[FRAMES];
  SbGather *gather = gather_new (engine, acquisition, NOWHERE, NAN, &error);
  g_assert_no_error (error);
  shuffle (order, FRAMES);
  for (int i = 0; i < FRAMES; i++) {
    gint64 strides[3];
    g_autofree char *frame = pack (x + order[i] * SIZE, 1, ROWS, COLS, dtype, TRUE, strides);
    gather_push (gather, order[i], 1, frame, dtype, strides, &error);
    g_assert_no_error (error);
    g_assert_cmpint (gather_count (gather), ==, i + 1);
  }
  SbColumns *columns = gather_finish (gather, &error);
  g_assert_no_error (error);
  gather_free (gather);
  return columns;
}

typedef struct Pusher {
  SbGather *gather;
  const double *x;
  SbDtype dtype;
  int first, step;
} Pusher;

static gpointer
push_share (gpointer data)
{
  Pusher *pusher = data;
  g_autoptr (GError) error = NULL;
  for (int f = pusher->first; f < FRAMES; f += pusher->step) {
    push (pusher->gather, pusher->x, f, 1, ROWS, COLS, pusher->dtype, &error);
    g_assert_no_error (error);
  }
  return NULL;
}

/* From several host threads at once, a preview now and then. */
static SbColumns *
gather_threaded (SbEngine *engine, SbAcquisition *acquisition, const double *x, SbDtype dtype, int n)
{
  g_autoptr (GError) error = NULL;
  GThread *thread[8];
  Pusher pusher[8];
  double mean[SIZE];
  gint64 frames;
  SbGather *gather = gather_new (engine, acquisition, NOWHERE, NAN, &error);
  for (int t = 0; t < n; t++) {
    pusher[t] = (Pusher){ gather, x, dtype, t, n };
    thread[t] = g_thread_new ("push", push_share, &pusher[t]);
  }
  for (int i = 0; i < 5; i++) {
    g_assert_true (gather_preview (gather, mean, &frames, &error));
    g_assert_true (frames >= 0 && frames <= FRAMES);
  }
  for (int t = 0; t < n; t++)
    g_thread_join (thread[t]);
  SbColumns *columns = gather_finish (gather, &error);
  g_assert_no_error (error);
  gather_free (gather);
  return columns;
}

static void
test_order (gconstpointer data)
{
  SbDtype dtype = (SbDtype)GPOINTER_TO_INT (data);
  g_autofree double *x = make_frames ();
  SbAcquisition *acquisition = make_acquisition (SCAN_ROWS, SCAN_COLS, ROWS, COLS, dtype_name (dtype));
  g_autoptr (GError) error = NULL;
  SbEngine *one = make_engine (1), *seven = make_engine (7);
  SbColumns *plain = gather_all (one, acquisition, x, dtype, &error);
  g_assert_no_error (error);
  g_assert_cmpint (plain->dtype, ==, dtype <= SB_U32 ? dtype : SB_F32);
  assert_truth (plain, x);
  assert_covers (plain, CENTRE, RADIUS);
  SbColumns *other[4] = { gather_shuffled (one, acquisition, x, dtype), gather_shuffled (seven, acquisition, x, dtype),
                          gather_threaded (one, acquisition, x, dtype, 2), gather_threaded (seven, acquisition, x, dtype, 7) };
  for (int i = 0; i < 4; i++) {
    assert_same (plain, other[i]);
    columns_free (other[i]);
  }
  columns_free (plain);
  engine_free (one);
  engine_free (seven);
  acquisition_free (acquisition);
}

/* A narrower type than the declared one is the same numbers; a wider one is refused. */
static void
test_narrow (void)
{
  g_autofree double *x = make_frames ();
  SbAcquisition *acquisition = make_acquisition (SCAN_ROWS, SCAN_COLS, ROWS, COLS, "uint32");
  g_autoptr (GError) error = NULL;
  SbEngine *engine = make_engine (1);
  SbColumns *wide = gather_all (engine, acquisition, x, SB_U32, &error);
  SbColumns *narrow = gather_all (engine, acquisition, x, SB_U8, &error);
  g_assert_no_error (error);
  assert_same (wide, narrow);
  g_assert_null (gather_all (engine, acquisition, x, SB_F64, &error));
  g_assert_error (error, SB_ERROR, SB_ERROR_ARGUMENT);
  g_assert_nonnull (strstr (error->message, "float64"));
  columns_free (wide);
  columns_free (narrow);
  engine_free (engine);
  acquisition_free (acquisition);
}

static void
test_wrong (void)
{
  g_autofree double *x = make_frames ();
  SbAcquisition *acquisition = make_acquisition (SCAN_ROWS, SCAN_COLS, ROWS, COLS, "uint16");
  g_autoptr (GError) error = NULL;
  SbEngine *engine = make_engine (2);
  SbGather *gather = gather_new (engine, acquisition, NOWHERE, NAN, &error);
  g_assert_true (push (gather, x, 3, 100, ROWS, COLS, SB_U16, &error));
  g_assert_false (push (gather, x, 101, 5, ROWS, COLS, SB_U16, &error));
  g_assert_error (error, SB_ERROR, SB_ERROR_ARGUMENT);
  g_assert_nonnull (strstr (error->message, "Frame 101 "));
  g_clear_error (&error);
  g_assert_true (push (gather, x, 103, 2, ROWS, COLS, SB_U16, &error)); /* a refused push took nothing */
  gint64 strides[3] = { 2 * SIZE, 2 * COLS, 2 };
  const gint64 outside[4][2] = { { FRAMES, 1 }, { -1, 1 }, { FRAMES - 1, 2 }, { 5, G_MAXINT64 } };
  for (int i = 0; i < 4; i++) {
    g_assert_false (gather_push (gather, outside[i][0], outside[i][1], x, SB_U16, strides, &error));
    g_assert_error (error, SB_ERROR, SB_ERROR_ARGUMENT);
    g_clear_error (&error);
  }
  g_assert_null (gather_finish (gather, &error));
  g_assert_error (error, SB_ERROR, SB_ERROR_DATA);
  g_assert_nonnull (strstr (error->message, "102 of the 228 frames"));
  g_assert_nonnull (strstr (error->message, "frame 0 is"));
  g_clear_error (&error);
  g_assert_true (push (gather, x, 0, 3, ROWS, COLS, SB_U16, &error));
  g_assert_true (push (gather, x, 105, FRAMES - 105, ROWS, COLS, SB_U16, &error));
  SbColumns *columns = gather_finish (gather, &error);
  g_assert_no_error (error);
  assert_truth (columns, x);
  g_assert_null (gather_finish (gather, &error));
  g_assert_error (error, SB_ERROR, SB_ERROR_STATE);
  columns_free (columns);
  gather_free (gather);
  engine_free (engine);
  acquisition_free (acquisition);
}

/* Frames outside of the region are skipped, but counted as pushed. */
static void
test_region (void)
{
  g_autofree double *x = make_frames ();
  g_autofree double *used = g_new (double, 5 * 7 * SIZE);
  g_autoptr (GError) error = NULL;
  SbAcquisitionOptions options = { { SCAN_ROWS, SCAN_COLS }, { 2, 3, 5, 7 }, { ROWS, COLS }, "uint16", 0, FALSE };
  SbAcquisition *acquisition = acquisition_new (&options, &error);
  g_assert_no_error (error);
  for (int p = 0; p < 35; p++)
    memcpy (used + p * SIZE, x + ((p / 7 + 2) * SCAN_COLS + p % 7 + 3) * SIZE, SIZE * sizeof (double));
  SbEngine *engine = make_engine (2);
  SbColumns *columns = gather_all (engine, acquisition, x, SB_U16, &error);
  g_assert_no_error (error);
  g_assert_cmpint (columns->positions, ==, 35);
  assert_truth (columns, used);
  columns_free (columns);
  engine_free (engine);
  acquisition_free (acquisition);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (int dtype = SB_U8; dtype <= SB_F64; dtype++) {
    g_autofree char *name = g_strconcat ("/columns/order/", dtype_name ((SbDtype)dtype), NULL);
    g_test_add_data_func (name, GINT_TO_POINTER (dtype), test_order);
  }
  g_test_add_func ("/columns/narrow", test_narrow);
  g_test_add_func ("/columns/wrong", test_wrong);
  g_test_add_func ("/columns/region", test_region);
  return g_test_run ();
}
