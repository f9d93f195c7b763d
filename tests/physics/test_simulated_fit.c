/* Simulate, then find again: the simulator against the model of the fit, sign by sign, and the fit against
 * the truth. */
#include <math.h>
#include <string.h>

#include "tests/unit/pipeline_scene.h"
#include "tests/unit/simulation.h"

static Scene *
open_simulated (const Simulated *s)
{
  return scene_open (s->folder, "x", FALSE);
}

/* Correlation of an image on the truth's grid with the truth. */
static double
correlation (const Simulated *s, const SbArray *image, double *scale)
{
  g_autofree char *path = simulated_path (s, "_truth.npy"), *bytes = NULL;
  gsize size, n = (gsize)(image->shape[0] * image->shape[1]);
  double dot = 0, tt = 0, mm = 0, mean = 0;
  g_assert_true (g_file_get_contents (path, &bytes, &size, NULL));
  g_assert_cmpuint (size, ==, 128 + n * sizeof (float));
  for (gsize i = 0; i < n; i++)
    mean += image->data[i] / (double)n;
  for (gsize i = 0; i < n; i++) {
    float truth;
    memcpy (&truth, bytes + 128 + i * sizeof truth, sizeof truth);
    dot += truth * (image->data[i] - mean);
    tt += (double)truth * truth;
    mm += (image->data[i] - mean) * (image->data[i] - mean);
  }
  *scale = dot / tt;
  return dot / sqrt (tt * mm);
}

/* A weak object without noise, behind the aperture that the model assumes, scanned so finely that nothing
 * folds: at the true coordinates S is 1. */
static void
check_model (const char *specimen, double thickness, double rotation, const char *orientation, const char *coefficients,
             double least)
{
  Simulated *s = simulated_new (specimen, 50, 0.16, 32);
  Options *o = options_new (30);
  GError *error = NULL;
  double scale;
  simulated_set (&s->simulation.mixture, "H");
  simulated_set (&s->simulation.aperture, "soft");
  simulated_set (&s->aberrations.coefficients, coefficients);
  simulated_set (&s->calibration.orientation, orientation);
  s->simulation.density = thickness > 1 ? 0.02 : 0.5;
  s->simulation.dose = 0;
  s->simulation.thickness = thickness;
  s->simulation.slice = MIN (thickness, 0.05);
  s->calibration.rotation = rotation;
  simulated_run (s, 0);
  Scene *scene = open_simulated (s);
  g_autofree char *known = g_strdup_printf ("%s depth=%g", coefficients, thickness);
  set_text (&o->aberrations.coefficients, known);
  set_text (&o->calibration.orientation, orientation);
  o->calibration.rotation = rotation;
  o->calibration.centre[0] = o->calibration.centre[1] = 16;
  o->calibration.sampling = 1e3 * optics_wavelength (300) / 8;
  o->reconstruction.upsampling = 3;
  SbResult *result = pipeline_reconstruct (scene->work, &o->pipeline, NULL, &error);
  g_assert_no_error (error);
  double agrees = correlation (s, result_find (result, "phase"), &scale);
  g_test_message ("%s of %g nm, %g deg, %s: S %.5f, correlation %.4f, scale %.4f", specimen, thickness, rotation, orientation,
                  number_of (result, "agreement"), agrees, scale);
  g_assert_cmpfloat (number_of (result, "agreement"), >=, least);
  g_assert_cmpfloat (agrees, >=, 0.98);
  g_assert_cmpfloat (fabs (scale - 1), <, 0.05);
  result_free (result);
  options_free (o);
  scene_free (scene);
  simulated_free (s);
}

#define ALL_ORDERS                                                                                                             \
  "C10=4 C12=2 phi12=0.4 C21=60 phi21=1 C23=40 phi23=-0.5 C30=2500 C32=900 phi32=0.7 C34=800 phi34=0.3 "                       \
  "C41=4e4 phi41=2 C45=3e4 phi45=0.2 C50=9e5 C56=5e5 phi56=0.1"

static void
test_model_thin (void)
{
  check_model ("film", 0.05, 0, "identity", ALL_ORDERS, 0.98);
}

static void
test_model_turned (void)
{
  check_model ("film", 0.05, 90, "identity", ALL_ORDERS, 0.98);
  check_model ("film", 0.05, -90, "transpose", ALL_ORDERS, 0.98);
}

static void
test_model_deep (void)
{
  check_model ("columns", 5, 180, "transpose", ALL_ORDERS " tilt_row=9 tilt_col=-6", 0.98);
}

/* ---- fits ---- */

static SbResult *
fit (const Simulated *s, double rotation)
{
  GError *error = NULL;
  Scene *scene = open_simulated (s);
  Options *o = options_new (30);
  o->calibration.rotation = rotation;
  SbResult *result = pipeline_fit (scene->work, &o->pipeline, NULL, &error);
  g_assert_no_error (error);
  options_free (o);
  scene_free (scene);
  return result;
}

static void
check_defocus (double c10)
{
  Simulated *s = simulated_new ("film", 32, 0.4, 56);
  g_autofree char *known = g_strdup_printf ("C10=%g C12=2 phi12=0.5 C30=1000", c10);
  simulated_set (&s->aberrations.coefficients, known);
  /* many atoms in little depth: their own centre is the mid-plane within 0.04 nm */
  simulated_set (&s->simulation.mixture, "C");
  s->simulation.density = 1.2;
  s->simulation.thickness = 1.5;
  s->simulation.dose = 2e5;
  simulated_run (s, 0);
  SbResult *result = fit (s, 0);
  g_test_message ("C10 %g nm: found %.3f, C12 %.3f (2), phi12 %.3f (0.5), depth %.2f (1.5)", c10,
                  number_of (result, "values.C10.value"), number_of (result, "values.C12.value"),
                  number_of (result, "values.phi12.value"), number_of (result, "values.depth.value"));
  near (number_of (result, "values.C10.value"), c10, 0.15);
  near (number_of (result, "values.C12.value"), 2, 0.1);
  near (number_of (result, "values.phi12.value"), 0.5, 0.03);
  near (number_of (result, "values.depth.value"), 1.5, 0.6);
  result_free (result);
  simulated_free (s);
}

static void
test_defocus (void)
{
  check_defocus (-7);
  check_defocus (2);
  check_defocus (9);
}

static void
check_tilt (double row, double col)
{
  Simulated *s = simulated_new ("columns", 32, 0.4, 56);
  g_autofree char *known = g_strdup_printf ("C10=6 C12=2 phi12=0.5 tilt_row=%g tilt_col=%g", row, col);
  simulated_set (&s->aberrations.coefficients, known);
  s->simulation.density = 0.25;
  s->simulation.thickness = 4;
  s->simulation.dose = 1e5;
  simulated_run (s, 0);
  SbResult *result = fit (s, 0);
  g_test_message ("tilt %g, %g mrad: found %.2f, %.2f, C10 %.3f (6), depth %.2f (4)", row, col,
                  number_of (result, "values.tilt_row.value"), number_of (result, "values.tilt_col.value"),
                  number_of (result, "values.C10.value"), number_of (result, "values.depth.value"));
  near (number_of (result, "values.tilt_row.value"), row, 1);
  near (number_of (result, "values.tilt_col.value"), col, 1);
  near (number_of (result, "values.C10.value"), 6, 0.15);
  result_free (result);
  simulated_free (s);
}

static void
test_tilt (void)
{
  check_tilt (8, -5);
  check_tilt (-4, 10);
}

/* A scan that is neither periodic nor along the detector's axes: rotation and orientation are found. */
static void
test_rotated (void)
{
  Simulated *s = simulated_new ("film", 24, 0.5, 72);
  GError *error = NULL;
  simulated_set (&s->aberrations.coefficients, "C10=5");
  simulated_set (&s->calibration.orientation, "transpose");
  s->simulation.periodic = FALSE;
  s->simulation.density = 0.5;
  s->simulation.thickness = 1;
  s->simulation.dose = 2e5;
  s->calibration.rotation = 23;
  simulated_run (s, 0);
  Scene *scene = open_simulated (s);
  Options *o = options_new (30);
  SbResult *result = pipeline_calibrate (scene->work, &o->pipeline, NULL, &error);
  g_assert_no_error (error);
  g_test_message ("rotation 23 deg, transpose: found %.2f, %s", number_of (result, "calibration.rotation"),
                  json_string_value (look (result, "calibration.orientation")));
  near (remainder (number_of (result, "calibration.rotation") - 23, 180), 0, 2);
  g_assert_cmpstr (json_string_value (look (result, "calibration.orientation")), ==, "transpose");
  result_free (result);
  options_free (o);
  scene_free (scene);
  simulated_free (s);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/simulated/model_thin", test_model_thin);
  g_test_add_func ("/simulated/model_turned", test_model_turned);
  g_test_add_func ("/simulated/model_deep", test_model_deep);
  g_test_add_func ("/simulated/defocus", test_defocus);
  g_test_add_func ("/simulated/tilt", test_tilt);
  g_test_add_func ("/simulated/rotated", test_rotated);
  return g_test_run ();
}
