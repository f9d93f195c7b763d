/* Acceptance of the fit: simulated acquisitions in detector form against the maximum of S in float64 and the truth of the
 * simulation (examples/acquisitions, and rotated from the shared folder). */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "core/calibrate.h"
#include "core/fit/fit.h"
#include "core/fit/stages.h"
#include "core/reconstruct.h"

typedef struct {
  json_t *truth_file;
  SbEngine *engine;
  SbAcquisition *acquisition;
  SbColumns *columns;
  SbOptics optics;
} Scene;

static char *
scene_path (const char *name, const char *suffix)
{
  const char *folder = g_getenv (strcmp (name, "rotated") == 0 ? "SB_SHARED" : "SB_EXAMPLES");
  return g_strconcat (folder != NULL ? folder : "examples", "/acquisitions/", name, suffix, NULL);
}

static double
number (const json_t *object, const char *key)
{
  return json_number_value (json_object_get (object, key));
}

static gboolean
scene_open (Scene *scene, const char *name)
{
  g_autofree char *json = scene_path (name, ".json"), *master = scene_path (name, "_master.h5");
  g_autoptr (GError) error = NULL;
  SbEngineOptions engine;
  SbAcquisitionOptions options;
  const double nowhere[2] = { NAN, NAN };
  if (!g_file_test (master, G_FILE_TEST_EXISTS)) {
    g_test_skip ("the acquisition is not here (it lies in the shared folder)");
    return FALSE;
  }
  memset (scene, 0, sizeof *scene);
  scene->truth_file = json_load_file (json, 0, NULL);
  g_assert_nonnull (scene->truth_file);
  param_group_defaults (&engine_params, &engine);
  param_group_defaults (&acquisition_params, &options);
  scene->engine = engine_new (&engine, &error);
  g_assert_no_error (error);
  scene->acquisition = acquisition_open (master, &options, &error);
  g_assert_no_error (error);
  scene->columns = columns_load (scene->engine, scene->acquisition, nowhere, NAN, NULL, &error);
  g_assert_no_error (error);
  scene->optics = (SbOptics){
    300, 30, { number (scene->truth_file, "scan_step_angstrom"), number (scene->truth_file, "scan_step_angstrom") }
  };
  param_group_clear (&engine_params, &engine);
  param_group_clear (&acquisition_params, &options);
  return TRUE;
}

static void
scene_close (Scene *scene)
{
  columns_free (scene->columns);
  acquisition_free (scene->acquisition);
  engine_free (scene->engine);
  json_decref (scene->truth_file);
}

/* The simulation's or the optimum's numbers (tilt in rad, depth in angstrom) as coordinates. */
static SbCoordinates
coordinates_of (const Scene *scene, const char *key)
{
  const json_t *object = json_object_get (scene->truth_file, key);
  SbCoordinates c;
  for (int i = 0; i < SB_N_COORDINATES; i++)
    c.x[i] = number (object, coordinate_name (i));
  c.x[SB_TILT_ROW] *= 1e3;
  c.x[SB_TILT_COL] *= 1e3;
  c.x[SB_DEPTH] /= 10;
  return c;
}

static SbCalibration *
calibrate (Scene *scene, gboolean stated, SbSpectrum **spectrum)
{
  g_autoptr (GError) error = NULL;
  SbCalibrationOptions options;
  SbSpectrumOptions spectrum_options;
  param_group_defaults (&calibration_params, &options);
  param_group_defaults (&spectrum_params, &spectrum_options);
  if (stated) {
    const json_t *centre = json_object_get (scene->truth_file, "disk_centre");
    for (gsize i = 0; i < 2; i++)
      options.centre[i] = json_number_value (json_array_get (centre, i));
    options.sampling = number (scene->truth_file, "detector_sampling_mrad");
    options.rotation = number (scene->truth_file, "rotation_deg");
    g_free (options.orientation);
    options.orientation = g_strdup ("identity");
  }
  SbCalibration *c = calibrate_run (scene->engine, scene->columns, &scene->optics, &options, &spectrum_options, spectrum, NULL,
                                    NULL, &error);
  g_assert_no_error (error);
  param_group_clear (&calibration_params, &options);
  return c;
}

static SbFit *
fit_with_seed (SbSpectrum *spectrum, gint64 seed)
{
  g_autoptr (GError) error = NULL;
  SbAberrationOptions none = { NULL, NULL, NULL, NULL, NULL };
  SbFitOptions options;
  SbStart start;
  param_group_defaults (&fit_params, &options);
  options.seed = seed;
  g_assert_true (start_resolve (&start, &none, &options, &spectrum->optics, NULL, &error));
  SbFit *fit = fit_run (spectrum, &start, &options, NULL, &error);
  g_assert_no_error (error);
  param_group_clear (&fit_params, &options);
  return fit;
}

/* How far C10, C12, tilt and depth are from the simulation's truth, in units of what the fit says of itself. */
static void
tell_distance (const char *name, const Scene *scene, const SbFit *fit)
{
  static const int told[] = { 0, 1, 2, SB_TILT_ROW, SB_TILT_COL, SB_DEPTH };
  SbCoordinates truth = coordinates_of (scene, "truth");
  for (guint i = 0; i < G_N_ELEMENTS (told); i++) {
    int c = told[i];
    double off = fabs (fit->at.x[c] - truth.x[c]);
    g_test_message ("%s, %s: %.3g off the truth, %.1f of its spread %.2g, %.1f of its error %.2g", name, coordinate_name (c),
                    off, off / fit->spread[c], fit->spread[c], off / fit->error[c], fit->error[c]);
    g_assert_true (isfinite (fit->spread[c]) && fit->spread[c] > 0);
  }
}

/* From nothing to the float64 optimum, stated calibration: 1 - S / S_opt <= 7e-8, every coordinate within 0.05 of its
 * error; S in float64 at the fitted coordinates. */
static void
test_optimum (gconstpointer data)
{
  const char *name = data;
  static const gint64 seeds[] = { 42, 1, 20260 };
  Scene scene;
  SbSpectrum *spectrum;
  if (!scene_open (&scene, name))
    return;
  SbCalibration *calibration = calibrate (&scene, TRUE, &spectrum);
  SbCoordinates optimum = coordinates_of (&scene, "optimum");
  double s_optimum = number (scene.truth_file, "S_optimum");
  g_assert_cmpint (spectrum->n_pixels, ==, (gint64)number (scene.truth_file, "bright_field_pixels"));
  g_assert_cmpint (spectrum->n_band, ==, (gint64)number (scene.truth_file, "band_frequencies"));
  for (guint i = 0; i < G_N_ELEMENTS (seeds); i++) {
    gint64 before = g_get_monotonic_time ();
    SbFit *fit = fit_with_seed (spectrum, seeds[i]);
    double worst = 0;
    for (int c = 0; c < SB_N_COORDINATES; c++)
      worst = fmax (worst, fabs (fit->at.x[c] - optimum.x[c]) / fit->error[c]);
    g_test_message ("%s, seed %d: 1 - S/S_opt = %.2e, worst coordinate %.4f of its error, passes %.1f value %.1f gradient "
                    "%.1f hessian, %.2f s, skewness %.2f, noise ratio %.3f",
                    name, (int)seeds[i], 1 - fit->agreement / s_optimum, worst, fit->passes.value, fit->passes.gradient,
                    fit->passes.hessian, (double)(g_get_monotonic_time () - before) / 1e6, fit->skewness, fit->noise_ratio);
    for (guint w = 0; w < fit->warnings->len; w++)
      g_test_message ("%s", (char *)fit->warnings->pdata[w]);
    g_test_message ("checks %.1f gradient %.1f hessian, gain %.5f, C10 %.3f error %.4f spread %.4f rad",
                    fit->check_passes.gradient, fit->check_passes.hessian, fit->gain, fit->at.x[0], fit->error[0],
                    fit->spread[0]);
    /* the budget: one gradient pass is a value and its gradient */
    g_assert_cmpfloat (fit->passes.gradient, <=, 12);
    g_assert_cmpfloat (fit->passes.value + fit->passes.gradient + fit->passes.hessian, <=, 25);
    g_assert_cmpfloat (1 - fit->agreement / s_optimum, <=, 7e-8);
    g_assert_cmpfloat (1 - fit->agreement / s_optimum, >=, -1e-7);
    g_assert_cmpfloat (worst, <=, 0.05);
    g_assert_cmpint (fit->branch, ==, SB_BRANCH_KEPT);
    if (i == 0)
      tell_distance (name, &scene, fit);
    fit_free (fit);
  }
  spectrum_free (spectrum);
  calibration_free (calibration);
  scene_close (&scene);
}

/* The simulation's truth: C10 within 0.1 nm, tilt within 0.6 mrad on the columns. */
static void
test_truth (gconstpointer data)
{
  const char *name = data;
  Scene scene;
  SbSpectrum *spectrum;
  if (!scene_open (&scene, name))
    return;
  SbCalibration *calibration = calibrate (&scene, FALSE, &spectrum);
  const json_t *centre = json_object_get (scene.truth_file, "disk_centre");
  SbCoordinates truth = coordinates_of (&scene, "truth");
  double sampling = number (scene.truth_file, "detector_sampling_mrad");
  double rotation = calibration->frame.rotation * 180 / G_PI;
  gint64 before = g_get_monotonic_time ();
  SbFit *fit = fit_with_seed (spectrum, 42);
  double fitted = spectrum->frame.rotation * 180 / G_PI, c10, c10_truth, unused;
  optics_polar (&scene.optics, &fit->at, 0, &c10, &unused);
  optics_polar (&scene.optics, &truth, 0, &c10_truth, &unused);
  g_test_message ("%s: centre %.3f %.3f, radius %.3f (true %.3f), rotation %.2f then %.2f, curl %.1f, C10 %.3f (true %.3f) nm, "
                  "tilt %.2f %.2f, depth %.2f, fit %.2f s",
                  name, calibration->centre[0], calibration->centre[1], calibration->radius, 30 / sampling, rotation, fitted,
                  calibration->curl_rotation, c10, c10_truth, fit->at.x[SB_TILT_ROW], fit->at.x[SB_TILT_COL],
                  fit->at.x[SB_DEPTH], (double)(g_get_monotonic_time () - before) / 1e6);
  for (gsize i = 0; i < 2; i++)
    g_assert_cmpfloat (fabs (calibration->centre[i] - json_number_value (json_array_get (centre, i))), <=, 0.05);
  g_assert_cmpfloat (fabs (calibration->radius - 30 / sampling), <=, 0.15);
  g_assert_false (calibration->frame.transpose);
  g_assert_cmpfloat (fabs (remainder (fitted - number (scene.truth_file, "rotation_deg"), 360)), <=, 0.5);
  if (strcmp (name, "columns") == 0) {
    g_assert_cmpfloat (fabs (c10 - c10_truth), <=, 0.1);
    g_assert_cmpfloat (fabs (fit->at.x[SB_TILT_ROW] - truth.x[SB_TILT_ROW]), <=, 0.6);
    g_assert_cmpfloat (fabs (fit->at.x[SB_TILT_COL] - truth.x[SB_TILT_COL]), <=, 0.6);
  }
  fit_free (fit);
  spectrum_free (spectrum);
  calibration_free (calibration);
  scene_close (&scene);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/fit/optimum/film", "film", test_optimum);
  g_test_add_data_func ("/fit/optimum/columns", "columns", test_optimum);
  g_test_add_data_func ("/fit/optimum/rotated", "rotated", test_optimum);
  g_test_add_data_func ("/fit/truth/film", "film", test_truth);
  g_test_add_data_func ("/fit/truth/columns", "columns", test_truth);
  g_test_add_data_func ("/fit/truth/rotated", "rotated", test_truth);
  return g_test_run ();
}
