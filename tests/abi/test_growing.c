/* Frames out of files that grow, and of a scan so large that a look sees only some of them. The argument is the
 * master file of `columns`. */
#include <glib/gstdio.h>

#include "tests/abi/live.h"

/* ---- a scan so large that only some of it is looked at ---- */

enum { SIDE = 520, PIXELS = 16 };

static double
grating (double row, double col)
{
  return cos (2 * G_PI * (row / 13 + col / 26)) + cos (2 * G_PI * (row / 40 - col / 20));
}

/* Frames of two weak phase gratings eps cos (2 pi q r) without aberrations: A (k) (1 - eps sin (2 pi q r)
 * (A (k - q) - A (k + q))). 30 mrad are five pixels; the gratings' frequencies in units of the aperture follow from
 * 300 kV and the step. */
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
      frames[col * PIXELS * PIXELS + pixel] = sign[0][pixel] == 2
                                                  ? 0
                                                  : (guint8)(100.5 + sign[0][pixel] * wave[0] + sign[1][pixel] * wave[1]);
  }
}

static void
test_large_scan (void)
{
  sb_data *data;
  g_autofree guint8 *row = g_new (guint8, SIDE * PIXELS * PIXELS);
  g_autofree float *image = g_new (float, SIDE *SIDE), *meant = g_new (float, SIDE *SIDE);
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
  g_autofree char *dictionary = g_strdup_printf ("{'descr': '<u2', 'fortran_order': False, 'shape': (%" G_GINT64_FORMAT
                                                 ", %" G_GINT64_FORMAT ", %" G_GINT64_FORMAT ", %" G_GINT64_FORMAT "), }",
                                                 columns.scan[0], columns.scan[1], columns.detector[0], columns.detector[1]);
  g_autofree char *head = g_strdup_printf ("\x93NUMPY%c%c%c%c%-117s\n", 1, 1, 118, 1, dictionary);
  head[7] = head[9] = 0;
  grow_flat ("growing.npy", head, 128, "{\"partial\": true}");
}

static void
test_growing_raw (void)
{
  g_autofree char *json = g_strdup_printf ("{\"partial\": true, \"dtype\": \"uint16\", \"scan_shape\": [%" G_GINT64_FORMAT
                                           ", %" G_GINT64_FORMAT "], \"detector_shape\": [%" G_GINT64_FORMAT
                                           ", %" G_GINT64_FORMAT "]}",
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
  g_autofree char *sidecar = g_build_filename (from, "columns.h5", NULL),
                  *beside = g_build_filename (folder, "columns.h5", NULL);
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

int
main (int argc, char **argv)
{
  if (live_begin (argc, argv) != 0)
    return 1;
  g_test_add_func ("/growing/large scan", test_large_scan);
  g_test_add_func ("/growing/npy", test_growing_npy);
  g_test_add_func ("/growing/raw", test_growing_raw);
  g_test_add_func ("/growing/arina", test_growing_arina);
  return live_end ();
}
