/* The commands on whole acquisitions: what they report, what they keep, what they refuse. */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "tests/unit/pipeline_scene.h"

/* ---- run, from, cache ---- */

static void
check_contract (const SbResult *result)
{
  static const char *const texts[] = {
    "version",           "backend",          "branch.chosen",    "method", "values.C10.unit", "values.phi12.title",
    "coordinates.units", "acquisition.path", "acquisition.dtype"
  };
  static const char *const numbers[] = { "agreement",
                                         "agreement_zero",
                                         "gain",
                                         "noise_ratio",
                                         "measured_share",
                                         "branch.skewness",
                                         "calibration.radius",
                                         "calibration.sampling",
                                         "calibration.rotation",
                                         "passes.value",
                                         "passes.gradient",
                                         "passes.hessian",
                                         "seconds.load",
                                         "seconds.prepare",
                                         "seconds.calibrate",
                                         "seconds.fit",
                                         "seconds.reconstruct",
                                         "values.C10.value",
                                         "values.C10.error",
                                         "values.C10.defocus",
                                         "values.C12.error",
                                         "values.phi12.error",
                                         "values.phi12.degrees",
                                         "values.depth.error",
                                         "coordinates.C56b",
                                         "coordinates.depth",
                                         "acquisition.bright_field_pixels",
                                         "acquisition.band_frequencies" };
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    if (!json_is_string (look (result, texts[i])))
      g_error ("%s is no text", texts[i]);
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    number_of (result, numbers[i]);
  g_assert_cmpfloat (item (result, "acquisition.scan_shape", 1), ==, 50);
  g_assert_cmpfloat (item (result, "acquisition.detector_shape", 0), ==, 72);
  g_assert_cmpfloat (number_of (result, "acquisition.frames"), ==, 2500);
  g_assert_cmpfloat (number_of (result, "acquisition.energy"), ==, 300);
  near (item (result, "acquisition.step", 0), 0.4, 1e-6);
  near (item (result, "calibration.centre", 0), 36, 0.1);
  near (number_of (result, "calibration.radius"), 30 / 0.98437, 0.3);
  near (number_of (result, "measured_share"), 6.25 / (G_PI * 3.0476 * 3.0476), 1e-3); /* (1 / 0.4 A)^2 over pi (2 k_max)^2 */
  near (number_of (result, "values.C10.defocus"), -number_of (result, "values.C10.value"), 0);
  near (number_of (result, "values.phi12.degrees"), 180 / G_PI * number_of (result, "values.phi12.value"), 1e-9);
  g_assert_cmpstr (result_find (result, "mean_pattern")->axis_unit[0], ==, "mrad");
}

static void
test_run (void)
{
  g_autofree char *folder = examples ();
  Scene *scene = scene_open (folder, "columns", TRUE);
  Options *o = options_new (30);
  GError *error = NULL;
  g_autofree char *save = g_dir_make_tmp ("sideband-pipeline-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (save, "columns_result.h5", NULL);
  SbResult *result = pipeline_run (scene->work, &o->pipeline, NULL, &error);
  g_assert_no_error (error);
  check_contract (result);
  check_values (scene, result);
  g_assert_cmpstr (json_string_value (look (result, "branch.chosen")), ==, "kept");
  g_assert_cmpfloat (number_of (result, "branch.skewness"), >, 1);
  near (number_of (result, "calibration.rotation"), 0, 0.3);
  g_assert_cmpfloat (number_of (result, "values.C10.error"), <, 0.1);

  /* Saved and read back, its values are known to a reconstruction: the same image, in another work. */
  g_assert_true (result_save (result, path, "hdf5", TRUE, &error));
  g_assert_no_error (error);
  Scene *other = scene_open (folder, "columns", TRUE);
  Options *from = options_new (NAN); /* the semi-angle too is in the result */
  set_text (&from->aberrations.from, path);
  SbResult *again = pipeline_reconstruct (other->work, &from->pipeline, NULL, &error);
  g_assert_no_error (error);
  const SbArray *first = result_find (result, "phase"), *second = result_find (again, "phase");
  for (gint64 i = 0; i < first->shape[0] * first->shape[1]; i++)
    near (second->data[i], first->data[i], 2e-5);
  near (number_of (again, "agreement"), number_of (result, "agreement"), 1e-7);
  near (number_of (again, "coordinates.C30"), number_of (result, "coordinates.C30"), 1e-9);
  g_assert_true (json_is_true (look (again, "values.C10.held")));
  g_assert_false (warned (again, "No coefficients"));

  /* A fit from it starts at the optimum. */
  SbResult *refit = pipeline_fit (other->work, &from->pipeline, NULL, &error);
  g_assert_no_error (error);
  check_values (scene, refit);
  g_assert_cmpfloat (number_of (refit, "passes.value") + number_of (refit, "passes.gradient"), <=,
                     number_of (result, "passes.value") + number_of (result, "passes.gradient"));
  g_assert_null (result_find (refit, "phase"));
  g_remove (path);
  g_rmdir (save);
  result_free (refit);
  result_free (again);
  result_free (result);
  options_free (from);
  options_free (o);
  scene_free (other);
  scene_free (scene);
}

/* ---- calibrate, info, refusals ---- */

static void
test_calibrate (void)
{
  g_autofree char *folder = examples ();
  Scene *scene = scene_open (folder, "film", TRUE);
  Options *o = options_new (30);
  GError *error = NULL;
  SbResult *result = pipeline_calibrate (scene->work, &o->pipeline, NULL, &error);
  g_assert_no_error (error);
  near (fabs (remainder (number_of (result, "calibration.rotation"), 180)), 0, 1);
  g_assert_cmpstr (json_string_value (look (result, "calibration.orientation")), ==, "identity");
  g_assert_cmpuint (json_array_size (look (result, "rotation_scan.angle")), ==, SB_ROTATION_STEPS);
  g_assert_cmpuint (json_array_size (look (result, "rotation_scan.transpose")), ==, SB_ROTATION_STEPS);
  const SbArray *picture = result_find (result, "picture");
  g_assert_true (picture != NULL && picture->bytes && picture->shape[2] == 3);
  g_assert_cmpuint (json_array_size (look (result, "calibration.given")), ==, 0);
  result_free (result);

  result = pipeline_info (scene->work, &o->pipeline, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpfloat (number_of (result, "seconds.load"), ==, 0); /* kept */
  g_assert_cmpfloat (number_of (result, "seconds.calibrate"), ==, 0);
  g_assert_cmpfloat (number_of (result, "acquisition.band_frequencies"), ==, 1200);
  result_free (result);

  o->optics.semiangle = NAN; /* what can be said without it */
  result = pipeline_info (scene->work, &o->pipeline, NULL, &error);
  g_assert_no_error (error);
  near (number_of (result, "calibration.radius"), 30 / 0.98437, 0.3);
  g_assert_null (json_object_get (look (result, "calibration"), "sampling"));
  g_assert_true (json_is_null (look (result, "acquisition.semiangle")));
  result_free (result);
  options_free (o);
  scene_free (scene);
}

static void
refuses (Scene *scene, Options *o, SbErrorCode code, const char *says)
{
  GError *error = NULL;
  g_assert_null (pipeline_reconstruct (scene->work, &o->pipeline, NULL, &error));
  g_assert_error (error, SB_ERROR, (gint)code);
  if (strstr (error->message, says) == NULL)
    g_error ("\"%s\" does not say \"%s\"", error->message, says);
  g_clear_error (&error);
}

static void
test_refusals (void)
{
  g_autofree char *folder = examples ();
  Scene *scene = scene_open (folder, "film", TRUE);
  Options *o = options_new (NAN);
  refuses (scene, o, SB_ERROR_ARGUMENT, "Give semiangle (mrad): the acquisition does not say it.");
  o->optics.semiangle = -3;
  refuses (scene, o, SB_ERROR_ARGUMENT, "semiangle is -3 mrad");
  o->optics.semiangle = 30;
  o->optics.energy = 1e9;
  refuses (scene, o, SB_ERROR_ARGUMENT, "energy is");
  o->optics.energy = NAN;
  set_text (&o->aberrations.coefficients, "C10=1 C99=2");
  refuses (scene, o, SB_ERROR_ARGUMENT, "there is no \"C99\"");
  set_text (&o->aberrations.coefficients, NULL);
  set_text (&o->reconstruction.method, "magic");
  refuses (scene, o, SB_ERROR_ARGUMENT, "There is no method \"magic\"");
  set_text (&o->reconstruction.method, "phase");
  o->reconstruction.regularisation = -1;
  refuses (scene, o, SB_ERROR_ARGUMENT, "regularisation is -1");
  o->reconstruction.regularisation = NAN;
  set_text (&o->aberrations.from, "no-such-result.h5");
  refuses (scene, o, SB_ERROR_IO, "no-such-result.h5");
  set_text (&o->aberrations.from, NULL);
  o->optics.energy = 80; /* the file says 300 */
  o->reconstruction.upsampling = 1;
  GError *error = NULL;
  SbResult *result = pipeline_reconstruct (scene->work, &o->pipeline, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (warned (result, "energy is given as 80 kV, but the acquisition says 300 kV"));
  g_assert_true (warned (result, "No coefficients"));
  near (number_of (result, "acquisition.energy"), 80, 0);
  result_free (result);
  options_free (o);
  scene_free (scene);
}

static void
test_cancel (void)
{
  g_autofree char *folder = examples ();
  Scene *scene = scene_open (folder, "film", TRUE);
  Options *o = options_new (30);
  GError *error = NULL;
  SbProgress progress = { 0 };
  progress_cancel (&progress);
  g_assert_null (pipeline_run (scene->work, &o->pipeline, &progress, &error));
  g_assert_error (error, SB_ERROR, SB_ERROR_CANCELLED);
  g_clear_error (&error);
  SbResult *result = pipeline_calibrate (scene->work, &o->pipeline, NULL, &error); /* and it still works */
  g_assert_no_error (error);
  result_free (result);
  options_free (o);
  scene_free (scene);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pipeline/refusals", test_refusals);
  g_test_add_func ("/pipeline/cancel", test_cancel);
  g_test_add_func ("/pipeline/calibrate", test_calibrate);
  g_test_add_func ("/pipeline/run", test_run);
  return g_test_run ();
}
