/* Frames that come while the scan runs: from several threads, in any order, with looks at them in between, and out of
 * files that grow. The argument is the master file of `columns`. */
#include <math.h>

#include <glib/gstdio.h>
#include <jansson.h>

#include "tests/abi/abi.h"

#define KNOWN "\"semiangle\": 30, \"rotation\": 0, \"orientation\": \"identity\", \"centre\": [36, 36]"
#define OPTICS "\"energy\": 300, \"step\": 0.4, "
#define AT "\"coefficients\": \"C10=6 C12=2.5 phi12=0.4\""

static const char *master;
static sb_session *session;

typedef struct Frames {
  gint64 scan[2], detector[2], n;
  guint16 *counts;
} Frames;

static Frames columns; /* all of the file, read once */

static gint64
number_at (const json_t *list, gsize i)
{
  return json_integer_value (json_array_get (list, i));
}

static void
read_shape (sb_data *data, Frames *frames)
{
  json_t *info = json_loads (sb_data_info (data), 0, NULL), *a = json_object_get (info, "acquisition");
  for (gsize i = 0; i < 2; i++) {
    frames->scan[i] = number_at (json_object_get (a, "scan_shape"), i);
    frames->detector[i] = number_at (json_object_get (a, "detector_shape"), i);
  }
  frames->n = json_integer_value (json_object_get (a, "frames"));
  json_decref (info);
}

static void
read_columns (void)
{
  sb_data *file;
  ABI_STATUS (sb_data_open (&file, session, master, NULL), SB_OK);
  read_shape (file, &columns);
  columns.counts = g_new (guint16, columns.n * columns.detector[0] * columns.detector[1]);
  sb_view view = abi_view (columns.counts, SB_DTYPE_U16, 3, columns.n, columns.detector[0], columns.detector[1]);
  ABI_STATUS (sb_data_frames (file, 0, columns.n, &view), SB_OK);
  sb_data_free (file);
}

static sb_data *
new_pushed (const char *more)
{
  sb_data *data;
  g_autofree char *json = g_strdup_printf (
      "{%s \"scan_shape\": [%" G_GINT64_FORMAT ", %" G_GINT64_FORMAT "], \"detector_shape\": [%" G_GINT64_FORMAT
      ", %" G_GINT64_FORMAT "], \"dtype\": \"uint16\"}",
      more, columns.scan[0], columns.scan[1], columns.detector[0], columns.detector[1]);
  ABI_STATUS (sb_data_new (&data, session, json), SB_OK);
  return data;
}

static void
push (sb_data *data, gint64 first, gint64 n)
{
  gint64 size = columns.detector[0] * columns.detector[1];
  sb_view view = abi_view (columns.counts + first * size, SB_DTYPE_U16, 3, n, columns.detector[0], columns.detector[1]);
  ABI_STATUS (sb_data_push (data, first, n, &view), SB_OK);
}

static sb_job *
run (const char *command, sb_data *data, const char *json)
{
  sb_job *job;
  ABI_STATUS (sb_job_new (&job, session, command, data, json), SB_OK);
  ABI_STATUS (sb_job_start (job), SB_OK);
  ABI_STATUS (sb_job_wait (job, -1), SB_OK);
  return job;
}

static sb_view
array_of (sb_job *job, const char *name)
{
  sb_view view = { .struct_size = sizeof view };
  ABI_STATUS (sb_result_array (&view, sb_job_result (job), name), SB_OK);
  return view;
}

static float *
new_image (sb_view *view)
{
  float *image = g_new0 (float, columns.scan[0] * columns.scan[1]);
  *view = abi_view (image, SB_DTYPE_F32, 2, columns.scan[0], columns.scan[1], 0);
  return image;
}

static double
correlation (const float *a, const float *b, gsize n)
{
  double mean[2] = { 0 }, aa = 0, bb = 0, ab = 0;
  for (gsize i = 0; i < n; i++) {
    mean[0] += (double)a[i] / (double)n;
    mean[1] += (double)b[i] / (double)n;
  }
  for (gsize i = 0; i < n; i++) {
    double x = (double)a[i] - mean[0], y = (double)b[i] - mean[1];
    aa += x * x;
    bb += y * y;
    ab += x * y;
  }
  return ab / sqrt (aa * bb);
}

/* The image of a job on the whole file. */
static float *
image_of_file (const char *command, const char *json, const char *name)
{
  sb_data *file;
  ABI_STATUS (sb_data_open (&file, session, master, NULL), SB_OK);
  sb_job *job = run (command, file, json);
  sb_view view = array_of (job, name);
  float *image = g_memdup2 (view.data, (gsize)(columns.scan[0] * columns.scan[1]) * sizeof (float));
  sb_job_free (job);
  sb_data_free (file);
  return image;
}

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
  g_autofree float *meant = image_of_file (
      "reconstruct", "{" KNOWN ", \"method\": \"ssb\", \"upsampling\": 1, " AT "}", "phase");
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
  g_autofree float *meant = image_of_file (
      "reconstruct", "{" KNOWN ", \"method\": \"ssb\", \"upsampling\": 1, " AT "}", "phase");
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

/* ---- a scan so large that only some of it is looked at ---- */

enum { SIDE = 520, PIXELS = 16 };

static double
grating (double row, double col)
{
  return cos (2 * G_PI * (row / 13 + col / 26)) + cos (2 * G_PI * (row / 40 - col / 20));
}

/* Frames of two weak phase gratings eps cos (2 pi q r) without aberrations: A (k) (1 - eps sin (2 pi q r)
 * (A (k - q) - A (k + q))). 30 mrad are five pixels; the gratings' frequencies in units of the aperture follow from 300 kV and the step. */
static const double per_step[2][2] = { { 1.0 / 13, 1.0 / 26 }, { 1.0 / 40, -1.0 / 20 } };

/* In a pixel: 1, -1, or 0 where both sidebands lie in the disk, or none; 2 outside of the disk itself. */
static int
sideband_of (int g, int pixel)
{
  const double k_max = 30e-3 / 0.0196874, step = 0.4, centre = 7.5, radius = 5.2;
  double k[2] = { (pixel / PIXELS - centre) / radius, (pixel % PIXELS - centre) / radius };
  double q[2] = { per_step[g][0] / step / k_max, per_step[g][1] / step / k_max };
  if (hypot (k[0], k[1]) > 1)
    return 2;
  return (hypot (k[0] + q[0], k[1] + q[1]) <= 1) - (hypot (k[0] - q[0], k[1] - q[1]) <= 1);
}

static void
fill_row (gint64 row, guint8 *frames)
{
  int sign[2][PIXELS * PIXELS];
  for (int pixel = 0; pixel < PIXELS * PIXELS; pixel++)
    for (int g = 0; g < 2; g++)
      sign[g][pixel] = sideband_of (g, pixel);
  for (gint64 col = 0; col < SIDE; col++) {
    double wave[2];
    for (int g = 0; g < 2; g++)
      wave[g] = 20 * sin (2 * G_PI * (per_step[g][0] * (double)row + per_step[g][1] * (double)col));
    for (int pixel = 0; pixel < PIXELS * PIXELS; pixel++)
      frames[col * PIXELS * PIXELS + pixel] =
          sign[0][pixel] == 2 ? 0 : (guint8)(100.5 + sign[0][pixel] * wave[0] + sign[1][pixel] * wave[1]);
  }
}

static void
test_large_scan (void)
{
  sb_data *data;
  g_autofree guint8 *row = g_new (guint8, SIDE * PIXELS * PIXELS);
  g_autofree float *image = g_new (float, SIDE * SIDE), *meant = g_new (float, SIDE * SIDE);
  sb_view view = abi_view (image, SB_DTYPE_F32, 2, SIDE, SIDE, 0);
  sb_view frames = abi_view (row, SB_DTYPE_U8, 3, SIDE, PIXELS, PIXELS);
  ABI_STATUS (sb_data_new (&data, session,
                           "{\"scan_shape\": [520, 520], \"detector_shape\": [16, 16], \"dtype\": \"uint8\", " OPTICS
                           "\"semiangle\": 30, \"rotation\": 0, \"orientation\": \"identity\", \"sampling\": 5.77, "
                           "\"centre\": [7.5, 7.5]}"),
              SB_OK);
  for (gint64 r = 0; r < SIDE; r++) {
    fill_row (r, row);
    ABI_STATUS (sb_data_push (data, r * SIDE, SIDE, &frames), SB_OK);
    for (gint64 c = 0; c < SIDE; c++)
      meant[r * SIDE + c] = (float)grating ((double)r, (double)c);
  }
  ABI_STATUS (sb_data_preview (data, "ssb", &view), SB_OK);
  double c = correlation (image, meant, SIDE * SIDE);
  g_test_message ("correlation with the gratings %.4f", c);
  g_assert_cmpfloat (c, >, 0.95);
  ABI_STATUS (sb_data_preview (data, "bright_field", &view), SB_OK);
  for (gsize i = 0; i < SIDE * SIDE; i++)
    g_assert_true (isfinite (image[i]) && image[i] > 50 && image[i] < 150);
  sb_data_free (data);
}

/* ---- files that grow ---- */

static char *
new_folder (void)
{
  char *folder = g_dir_make_tmp ("sideband-live-XXXXXX", NULL);
  g_assert_nonnull (folder);
  return folder;
}

static void
drop_folder (char *folder)
{
  GDir *dir = g_dir_open (folder, 0, NULL);
  const char *name;
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL) {
    g_autofree char *path = g_build_filename (folder, name, NULL);
    g_remove (path);
  }
  if (dir != NULL)
    g_dir_close (dir);
  g_rmdir (folder);
  g_free (folder);
}

/* What a host does each time it looks at such a file: open it anew, push what is new. */
static void
push_new (const char *path, const char *json, sb_data *data, gint64 *pushed)
{
  sb_data *file;
  Frames now;
  ABI_STATUS (sb_data_open (&file, session, path, json), SB_OK);
  read_shape (file, &now);
  g_test_message ("%s: %" G_GINT64_FORMAT " frames", path, now.n);
  gint64 n = now.n - *pushed;
  g_autofree guint16 *counts = g_new (guint16, MAX (n, 1) * now.detector[0] * now.detector[1]);
  sb_view view = abi_view (counts, SB_DTYPE_U16, 3, n, now.detector[0], now.detector[1]);
  if (n > 0) {
    ABI_STATUS (sb_data_frames (file, *pushed, n, &view), SB_OK);
    ABI_STATUS (sb_data_push (data, *pushed, n, &view), SB_OK);
    *pushed += n;
  }
  sb_data_free (file);
}

static void
check_same_as_file (sb_data *data)
{
  g_autofree float *meant = image_of_file ("reconstruct", "{" KNOWN ", \"upsampling\": 1, " AT "}", "phase");
  ABI_STATUS (sb_data_finish (data), SB_OK);
  sb_job *job = run ("reconstruct", data, "{" KNOWN ", " OPTICS "\"upsampling\": 1, " AT "}");
  sb_view view = array_of (job, "phase");
  gsize bytes = (gsize)(columns.scan[0] * columns.scan[1]) * sizeof (float);
  g_assert_cmpmem (view.data, bytes, meant, bytes);
  sb_job_free (job);
  sb_data_free (data);
}

static void
grow_flat (const char *name, const char *head, gsize head_size, const char *json)
{
  char *folder = new_folder ();
  g_autofree char *path = g_build_filename (folder, name, NULL);
  gsize frame = (gsize)(columns.detector[0] * columns.detector[1]) * 2, whole = frame * (gsize)columns.n;
  /* cut within a frame: that one is not there yet */
  const gsize ends[] = { frame * 300 + 11, frame * 1201, whole };
  const gint64 frames[] = { 300, 1201, columns.n };
  sb_data *data = new_pushed ("");
  gint64 pushed = 0;
  gsize written = 0;
  FILE *out = fopen (path, "wb");
  g_assert_nonnull (out);
  g_assert_cmpuint (fwrite (head, 1, head_size, out), ==, head_size);
  for (guint i = 0; i < G_N_ELEMENTS (ends); i++) {
    g_assert_cmpuint (fwrite ((char *)columns.counts + written, 1, ends[i] - written, out), ==, ends[i] - written);
    g_assert_cmpint (fflush (out), ==, 0);
    written = ends[i];
    push_new (path, json, data, &pushed);
    g_assert_cmpint (pushed, ==, frames[i]);
    push_new (path, json, data, &pushed); /* nothing new */
  }
  fclose (out);
  check_same_as_file (data);
  drop_folder (folder);
}

static void
test_growing_npy (void)
{
  g_autofree char *dictionary = g_strdup_printf (
      "{'descr': '<u2', 'fortran_order': False, 'shape': (%" G_GINT64_FORMAT ", %" G_GINT64_FORMAT ", %" G_GINT64_FORMAT
      ", %" G_GINT64_FORMAT "), }", columns.scan[0], columns.scan[1], columns.detector[0], columns.detector[1]);
  g_autofree char *head = g_strdup_printf ("\x93NUMPY%c%c%c%c%-117s\n", 1, 1, 118, 1, dictionary);
  head[7] = head[9] = 0;
  grow_flat ("growing.npy", head, 128, "{\"partial\": true}");
}

static void
test_growing_raw (void)
{
  g_autofree char *json = g_strdup_printf (
      "{\"partial\": true, \"dtype\": \"uint16\", \"scan_shape\": [%" G_GINT64_FORMAT ", %" G_GINT64_FORMAT
      "], \"detector_shape\": [%" G_GINT64_FORMAT ", %" G_GINT64_FORMAT "]}",
      columns.scan[0], columns.scan[1], columns.detector[0], columns.detector[1]);
  grow_flat ("growing.raw", "", 0, json);
}

static void
copy_file (const char *from, const char *to)
{
  g_autofree char *bytes = NULL;
  gsize size;
  g_assert_true (g_file_get_contents (from, &bytes, &size, NULL));
  g_assert_true (g_file_set_contents (to, bytes, (gssize)size, NULL));
}

/* A detector's series: the master is there first, data files appear one after the other. */
static void
test_growing_arina (void)
{
  static const char *const shards[] = { "columns_data_000001.h5", "columns_data_000002.h5", "columns_data_000003.h5" };
  char *folder = new_folder ();
  g_autofree char *from = g_path_get_dirname (master), *path = g_build_filename (folder, "columns_master.h5", NULL);
  g_autofree char *sidecar = g_build_filename (from, "columns.h5", NULL), *beside = g_build_filename (folder, "columns.h5", NULL);
  copy_file (master, path);
  copy_file (sidecar, beside);
  sb_data *data = new_pushed ("");
  gint64 pushed = 0;
  for (guint i = 0; i < G_N_ELEMENTS (shards); i++) {
    g_autofree char *source = g_build_filename (from, shards[i], NULL), *to = g_build_filename (folder, shards[i], NULL);
    copy_file (source, to);
    gint64 before = pushed;
    push_new (path, "{\"partial\": true}", data, &pushed);
    g_assert_cmpint (pushed, >, before);
  }
  g_assert_cmpint (pushed, ==, columns.n);
  check_same_as_file (data);
  drop_folder (folder);
}

/* Files that grow are incomplete by intent. */
static void
ignore (int level, const char *message, void *user_data)
{
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  if (argc < 2)
    return 1;
  sb_log_set (ignore, NULL);
  master = argv[1];
  ABI_STATUS (sb_session_new (&session, "{\"backend\": \"cpu\"}"), SB_OK);
  read_columns ();
  g_test_add_func ("/live/any order", test_any_order);
  g_test_add_func ("/live/bright field", test_bright_field);
  g_test_add_func ("/live/ssb", test_ssb);
  g_test_add_func ("/live/ssb finds the rotation", test_ssb_finds_the_rotation);
  g_test_add_func ("/live/refusals", test_refusals);
  g_test_add_func ("/live/large scan", test_large_scan);
  g_test_add_func ("/live/growing npy", test_growing_npy);
  g_test_add_func ("/live/growing raw", test_growing_raw);
  g_test_add_func ("/live/growing arina", test_growing_arina);
  int status = g_test_run ();
  g_free (columns.counts);
  sb_session_free (session);
  return status;
}
