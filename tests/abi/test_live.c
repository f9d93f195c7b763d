/* Frames that come while the scan runs: from several threads, in any order, with looks at them in between. The
 * argument is the master file of `columns`. */
#include "tests/abi/live.h"

/* ---- any order, two threads, looks in between ---- */

typedef struct Pusher {
  sb_data *data;
  const gint64 *order;
  gint64 from, to;
} Pusher;

static gpointer
push_share (gpointer pointer)
{
  const Pusher *pusher = pointer;
  for (gint64 i = pusher->from; i < pusher->to; i++)
    push (pusher->data, pusher->order[i], 1);
  return NULL;
}

static gint pushing;

static gpointer
look_again_and_again (gpointer data)
{
  static const char *const kinds[] = { "bright_field", "ssb C10=6", "mean_pattern" };
  sb_view view;
  guint seen = 0;
  g_autofree float *image = new_image (&view);
  g_autofree float *pattern = g_new (float, columns.detector[0] * columns.detector[1]);
  sb_view small = abi_view (pattern, SB_DTYPE_F32, 2, columns.detector[0], columns.detector[1], 0);
  for (guint i = 0; g_atomic_int_get (&pushing); i++) {
    const char *what = kinds[i % 3];
    int status = sb_data_preview (data, what, i % 3 == 2 ? &small : &view);
    g_assert_true (status == SB_OK || status == SB_STATE || (status == SB_DATA && i % 3 == 1));
    seen += status == SB_OK;
  }
  return GUINT_TO_POINTER (seen);
}

static void
test_any_order (void)
{
  sb_data *file;
  ABI_STATUS (sb_data_open (&file, session, master, NULL), SB_OK);
  sb_data *data = new_pushed (OPTICS KNOWN ",");
  g_autoptr (GRand) random = g_rand_new_with_seed (3);
  g_autofree gint64 *order = g_new (gint64, columns.n);
  for (gint64 i = 0; i < columns.n; i++) {
    gint64 j = g_rand_int_range (random, 0, (gint32)i + 1);
    order[i] = order[j];
    order[j] = i;
  }
  Pusher shares[2] = { { data, order, 0, columns.n / 3 }, { data, order, columns.n / 3, columns.n } };
  g_atomic_int_set (&pushing, 1);
  GThread *looker = g_thread_new ("look", look_again_and_again, data);
  GThread *pushers[2];
  for (int i = 0; i < 2; i++)
    pushers[i] = g_thread_new ("push", push_share, &shares[i]);
  for (int i = 0; i < 2; i++)
    g_thread_join (pushers[i]);
  g_atomic_int_set (&pushing, 0);
  guint seen = GPOINTER_TO_UINT (g_thread_join (looker));
  g_test_message ("%u looks while frames came", seen);
  ABI_STATUS (sb_data_finish (data), SB_OK);

  sb_job *from_file = run ("run", file, "{\"semiangle\": 30}"), *pushed = run ("run", data, "{\"semiangle\": 30}");
  sb_view a = array_of (from_file, "phase"), b = array_of (pushed, "phase");
  g_assert_cmpint (a.shape[0] * a.shape[1], ==, b.shape[0] * b.shape[1]);
  gsize bytes = (gsize)(a.shape[0] * a.shape[1]) * sizeof (float);
  g_assert_cmpmem (a.data, bytes, b.data, bytes);
  json_t *one = json_loads (sb_result_info (sb_job_result (from_file)), 0, NULL);
  json_t *two = json_loads (sb_result_info (sb_job_result (pushed)), 0, NULL);
  static const char *const same[] = { "agreement", "values", "coordinates", "calibration" };
  for (guint i = 0; i < G_N_ELEMENTS (same); i++)
    g_assert_true (json_equal (json_object_get (one, same[i]), json_object_get (two, same[i])));
  /* the calibration of live images is no part of what reproduces the job's */
  g_assert_null (json_object_get (json_object_get (two, "parameters"), "rotation"));
  json_decref (one);
  json_decref (two);
  sb_job_free (from_file);
  sb_job_free (pushed);
  sb_data_free (file);
  sb_data_free (data);
}

/* ---- what is seen ---- */

static void
test_bright_field (void)
{
  sb_view view;
  gsize n = (gsize)(columns.scan[0] * columns.scan[1]), half = n / 2;
  g_autofree float *meant = image_of_file ("detector", "{" KNOWN "}", "detector"), *image = new_image (&view);
  sb_data *data = new_pushed ("");
  push (data, 0, (gint64)half);
  ABI_STATUS (sb_data_preview (data, "bright_field", &view), SB_OK);
  g_assert_cmpfloat (correlation (meant, image, half), >, 0.999);
  for (gsize i = half; i < n; i++)
    g_assert_cmpfloat (image[i], ==, 0);
  push (data, (gint64)half, (gint64)(n - half));
  ABI_STATUS (sb_data_preview (data, "bright_field", &view), SB_OK);
  g_test_message ("correlation with the detector's image %.6f", correlation (meant, image, n));
  g_assert_cmpfloat (correlation (meant, image, n), >, 0.9999);
  g_autofree float *before = g_memdup2 (image, n * sizeof (float));
  memset (image, 0, n * sizeof (float));
  ABI_STATUS (sb_data_finish (data), SB_OK);
  ABI_STATUS (sb_data_preview (data, "bright_field", &view), SB_OK);
  g_assert_cmpmem (before, n * sizeof (float), image, n * sizeof (float));
  ABI_FAILS (sb_data_preview (data, "ssb", &view), SB_STATE, "sb_data_finish");
  sb_data_free (data);
}

static void
test_ssb (void)
{
  sb_view view;
  gsize n = (gsize)(columns.scan[0] * columns.scan[1]), part = n * 6 / 10;
  g_autofree float *meant = image_of_file ("reconstruct", "{" KNOWN ", \"method\": \"ssb\", \"upsampling\": 1, " AT "}",
                                           "phase");
  g_autofree float *image = new_image (&view);
  sb_data *data = new_pushed (OPTICS KNOWN ",");
  push (data, 0, (gint64)part);
  ABI_STATUS (sb_data_preview (data, "ssb C10=6 C12=2.5 phi12=0.4", &view), SB_OK);
  g_test_message ("six tenths of the scan: %.4f", correlation (meant, image, part * 9 / 10));
  g_assert_cmpfloat (correlation (meant, image, part * 9 / 10), >, 0.9);
  push (data, (gint64)part, (gint64)(n - part));
  ABI_STATUS (sb_data_preview (data, "ssb", &view), SB_OK);
  double plain = correlation (meant, image, n);
  ABI_STATUS (sb_data_preview (data, "ssb C10=6 C12=2.5 phi12=0.4", &view), SB_OK);
  g_test_message ("the whole scan: %.5f, without coefficients %.4f", correlation (meant, image, n), plain);
  g_assert_cmpfloat (correlation (meant, image, n), >, 0.999);
  g_assert_cmpfloat (correlation (meant, image, n), >, plain);
  sb_data_free (data);
}

/* With nothing but the optics: rotation and disk are found in what is there. */
static void
test_ssb_finds_the_rotation (void)
{
  sb_view view;
  gsize n = (gsize)(columns.scan[0] * columns.scan[1]);
  g_autofree float *meant = image_of_file ("reconstruct", "{" KNOWN ", \"method\": \"ssb\", \"upsampling\": 1, " AT "}",
                                           "phase");
  g_autofree float *image = new_image (&view);
  sb_data *data = new_pushed (OPTICS "\"semiangle\": 30, ");
  push (data, 0, 700);
  ABI_STATUS (sb_data_preview (data, "ssb C10=6 C12=2.5 phi12=0.4", &view), SB_OK);
  push (data, 700, columns.n - 700);
  ABI_STATUS (sb_data_preview (data, "ssb C10=6 C12=2.5 phi12=0.4", &view), SB_OK);
  g_test_message ("correlation %.4f", correlation (meant, image, n));
  g_assert_cmpfloat (correlation (meant, image, n), >, 0.97);
  sb_data_free (data);
}

static void
test_refusals (void)
{
  sb_view view, wrong;
  sb_data *file;
  g_autofree float *image = new_image (&view), *other = new_image (&wrong);
  wrong.shape[0]--;
  sb_data *data = new_pushed ("");
  push (data, 0, 63);
  ABI_FAILS (sb_data_preview (data, "bright_field", &view), SB_STATE, "63 frames");
  push (data, 63, 1);
  ABI_STATUS (sb_data_preview (data, "bright_field", &view), SB_OK);
  ABI_FAILS (sb_data_preview (data, "bright_field", &wrong), SB_ARGUMENT, "[50, 50]");
  ABI_FAILS (sb_data_preview (data, "ssb", &view), SB_ARGUMENT, "energy");
  ABI_FAILS (sb_data_preview (data, "ssbx", &view), SB_ARGUMENT, "ssbx");
  ABI_FAILS (sb_data_preview (data, "bright_field x", &view), SB_ARGUMENT, "bright_field x");
  sb_data_free (data);
  data = new_pushed (OPTICS KNOWN ",");
  push (data, 0, 100);
  ABI_FAILS (sb_data_preview (data, "ssb C99=1", &view), SB_ARGUMENT, "C99");
  sb_data_free (data);
  ABI_STATUS (sb_data_open (&file, session, master, NULL), SB_OK);
  ABI_FAILS (sb_data_preview (file, "bright_field", &view), SB_ARGUMENT, "detector");
  sb_data_free (file);
}

int
main (int argc, char **argv)
{
  if (live_begin (argc, argv) != 0)
    return 1;
  g_test_add_func ("/live/any order", test_any_order);
  g_test_add_func ("/live/bright field", test_bright_field);
  g_test_add_func ("/live/ssb", test_ssb);
  g_test_add_func ("/live/ssb finds the rotation", test_ssb_finds_the_rotation);
  g_test_add_func ("/live/refusals", test_refusals);
  return live_end ();
}
