/* Images against the truth of the simulations the acquisitions were made from (multislice, Poisson counts). */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "tests/physics/image_frequencies.h"
#include "tests/unit/pipeline_scene.h"

/* Correlation and scale of an image to the truth over the frequencies within a square of half width `half`, and within
 * `disk` (both whole numbers of the field of view's frequency). */
static double
compare (const Scene *scene, const char *name, const SbArray *image, int half, double disk, double *scale)
{
  g_autofree char *path = g_strdup_printf ("%s/%s_truth.npy", scene->folder, name);
  g_autofree char *file = NULL;
  gsize size = 0;
  gint64 rows = 3 * scene->acquisition->used_rows, cols = 3 * scene->acquisition->used_cols;
  int n = 2 * half + 1;
  double dot = 0, tt = 0, mm = 0;
  if (!g_file_get_contents (path, &file, &size, NULL))
    g_error ("cannot read %s", path);
  g_assert_cmpuint (size, ==, 128 + (gsize)(rows * cols) * sizeof (float)); /* float32, version 1 header */
  g_autofree float *truth_image = g_memdup2 (file + 128, size - 128);
  g_autofree double complex *truth = image_frequencies (truth_image, rows, cols, half);
  g_autofree double complex *made = image_frequencies (image->data, image->shape[0], image->shape[1], half);
  for (int k = 0; k < n * n; k++) {
    int i = k / n - half, j = k % n - half;
    if ((i == 0 && j == 0) || hypot (i, j) > disk)
      continue;
    dot += creal (conj (truth[k]) * made[k]);
    tt += creal (conj (truth[k]) * truth[k]);
    mm += creal (conj (made[k]) * made[k]);
  }
  *scale = dot / tt;
  return dot / sqrt (tt * mm);
}

/* At the maximum of S the user types in: correlation over the scan's own band, and over the whole one upsampled. */
static void
check_images (const char *folder, const char *name, double rotation, double least, double scale_tolerance)
{
  static const char *const methods[] = { "ssb", "phase" };
  Scene *scene = scene_open (folder, name, TRUE);
  Options *o = options_new (30);
  GError *error = NULL;
  int half = (int)(scene->acquisition->used_rows - 1) / 2;
  double scale;
  g_autofree char *known = optimum_text (scene);
  set_text (&o->aberrations.coefficients, known);
  o->calibration.rotation = rotation;
  set_text (&o->calibration.orientation, "identity");
  for (guint m = 0; m < G_N_ELEMENTS (methods); m++) {
    set_text (&o->reconstruction.method, methods[m]);
    o->reconstruction.upsampling = 1;
    SbResult *result = pipeline_reconstruct (scene->work, &o->pipeline, NULL, &error);
    g_assert_no_error (error);
    double correlation = compare (scene, name, result_find (result, "phase"), half, INFINITY, &scale);
    g_test_message ("%s %s: correlation %.4f, scale %.4f, S %.6f", name, methods[m], correlation, scale,
                    number_of (result, "agreement"));
    g_assert_cmpfloat (correlation, >=, least);
    near (scale, 1, scale_tolerance);
    near (number_of (result, "agreement"), json_number_value (json_object_get (scene->simulation, "S_optimum")),
          2e-3 * number_of (result, "agreement"));            /* centre and sampling are those that were found */
    near (number_of (result, "seconds.load") > 0, m == 0, 0); /* kept from the first */
    near (number_of (result, "seconds.prepare") > 0, m == 0, 0);
    result_free (result);
  }
  o->reconstruction.upsampling = 0;
  SbResult *result = pipeline_reconstruct (scene->work, &o->pipeline, NULL, &error);
  g_assert_no_error (error);
  const SbArray *phase = result_find (result, "phase");
  g_assert_cmpint (phase->shape[0], ==, 3 * scene->acquisition->used_rows);
  near (phase->step[0], 0.04 / 3, 1e-12);
  g_assert_cmpstr (phase->axis_unit[1], ==, "nm");
  double band = 1.9 * 0.030 / optics_wavelength (300) * 0.4 * (double)scene->acquisition->used_rows;
  double correlation = compare (scene, name, phase, (int)band, band, &scale);
  g_test_message ("%s 3x: correlation %.4f, scale %.4f", name, correlation, scale);
  g_assert_cmpfloat (correlation, >=, least - 0.04);
  result_free (result);
  options_free (o);
  scene_free (scene);
}

static void
test_images_film (void)
{
  g_autofree char *folder = examples ();
  check_images (folder, "film", 0, 0.97, 0.10);
}

static void
test_images_columns (void)
{
  g_autofree char *folder = examples ();
  check_images (folder, "columns", 0, 0.97, 0.25); /* strong columns: the phase of the weak object falls short */
}

static void
test_images_rotated (void)
{
  const char *shared = g_getenv ("SB_SHARED");
  g_autofree char *folder = g_build_filename (shared != NULL ? shared : "../shared", "acquisitions", NULL);
  if (!g_file_test (folder, G_FILE_TEST_IS_DIR)) {
    g_test_skip ("the shared acquisitions are not there (SB_SHARED)");
    return;
  }
  check_images (folder, "rotated", 17, 0.93, 0.15);
}

/* Turned by half a turn the phase is negative: the twin is taken, and said. */
static void
test_twin (void)
{
  g_autofree char *folder = examples ();
  Scene *scene = scene_open (folder, "film", TRUE);
  Options *o = options_new (30);
  GError *error = NULL;
  o->calibration.rotation = 180;
  set_text (&o->calibration.orientation, "identity");
  o->reconstruction.upsampling = 1;
  SbResult *result = pipeline_run (scene->work, &o->pipeline, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (json_string_value (look (result, "branch.chosen")), ==, "twin");
  near (number_of (result, "calibration.rotation"), 0, 1e-9);
  g_assert_true (warned (result, "branch=keep"));
  check_values (scene, result);
  double scale, correlation = compare (scene, "film", result_find (result, "phase"), 24, INFINITY, &scale);
  g_assert_cmpfloat (correlation, >=, 0.97);
  near (scale, 1, 0.1);
  result_free (result);
  options_free (o);
  scene_free (scene);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/truth/film", test_images_film);
  g_test_add_func ("/truth/columns", test_images_columns);
  g_test_add_func ("/truth/rotated", test_images_rotated);
  g_test_add_func ("/truth/twin", test_twin);
  return g_test_run ();
}
