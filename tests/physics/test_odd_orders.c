/* Odd aberrations (coma, threefold astigmatism) and the exact twin: what goes wrong when one sign in the forward model does. */
#include <math.h>
#include <string.h>

#include "core/fit/fit.h"
#include "core/reconstruct.h"
#include "tests/physics/weak_object.h"

static SbEngine *
engine_of (const char *precision)
{
  SbEngineOptions options;
  GError *error = NULL;
  param_group_defaults (&engine_params, &options);
  g_free (options.precision);
  options.precision = g_strdup (precision);
  SbEngine *engine = engine_new (&options, &error);
  g_assert_no_error (error);
  param_group_clear (&engine_params, &options);
  return engine;
}

typedef struct Scene {
  WeakObject object;
  double *truth;
  SbEngine *engine;
  SbAcquisition *acquisition;
  SbColumns *columns;
  SbCalibration calibration;
  SbSpectrum *spectrum;
} Scene;

/* The counts of the object, seen with the calibration they were made with. */
static void
scene_open (Scene *scene, const WeakObject *object, const char *precision)
{
  GError *error = NULL;
  SbSpectrumOptions options;
  *scene = (Scene){ .object = *object, .engine = engine_of (precision) };
  scene->truth = g_new (double, object->scan[0] * object->scan[1]);
  g_autofree float *frames = weak_object_frames (object, scene->truth);
  scene->columns = weak_object_columns (object, scene->engine, frames, &scene->acquisition, &error);
  g_assert_no_error (error);
  scene->calibration = (SbCalibration){ .centre = { object->centre[0], object->centre[1] },
                                        .radius = object->radius,
                                        .sampling = object->optics.semiangle / object->radius };
  param_group_defaults (&spectrum_params, &options);
  scene->spectrum = spectrum_new (scene->engine, scene->columns, &object->optics, &scene->calibration, &options, NULL, &error);
  g_assert_no_error (error);
  param_group_clear (&spectrum_params, &options);
}

static void
scene_close (Scene *scene)
{
  spectrum_free (scene->spectrum);
  columns_free (scene->columns);
  acquisition_free (scene->acquisition);
  engine_free (scene->engine);
  g_free (scene->truth);
}

static double
agreement_at (Scene *scene, const SbCoordinates *at)
{
  GError *error = NULL;
  SbAgreement agreement;
  double s;
  g_assert_true (agreement_init (&agreement, scene->spectrum, 0, 1, NULL, NULL, &error));
  agreement.precise = TRUE;
  g_assert_true (agreement_value (&agreement, 1, at, &s, &error));
  return s;
}

/* phi of a method at native sampling, before it is rounded to float32. */
static double *
image_at (Scene *scene, const SbCoordinates *at, const char *method, double regularisation)
{
  GError *error = NULL;
  SbReconstructionOptions options;
  SbFineGrid *grid = NULL;
  double *phase = NULL, *absorption = NULL;
  param_group_defaults (&reconstruction_params, &options);
  g_free (options.method);
  options.method = g_strdup (method);
  options.upsampling = 1;
  options.regularisation = regularisation;
  g_assert_true (reconstruct_double (scene->spectrum, at, &options, NULL, &grid, &phase, &absorption, &error));
  g_assert_no_error (error);
  fine_grid_free (grid);
  g_free (absorption);
  param_group_clear (&reconstruction_params, &options);
  return phase;
}

/* ---- odd orders ---- */

enum { N_METHODS = 2 };
static const char *const methods[N_METHODS] = { "ssb", "phase" };

typedef struct Seen {
  double agreement, correlation[N_METHODS], scale[N_METHODS];
} Seen;

static Seen
look_at (const char *name, int coordinate, double angle, gboolean wrong)
{
  WeakObject object;
  Scene scene;
  Seen seen;
  weak_object_init (&object);
  object.at.x[coordinate] = 2 * cos (angle);
  if (coordinate > 0)
    object.at.x[coordinate + 1] = 2 * sin (angle);
  object.wrong = wrong;
  scene_open (&scene, &object, "single");
  seen.agreement = agreement_at (&scene, &object.at);
  for (int m = 0; m < N_METHODS; m++) {
    g_autofree double *phase = image_at (&scene, &object.at, methods[m], NAN);
    seen.correlation[m] = weak_correlation ((gsize)(object.scan[0] * object.scan[1]), phase, scene.truth, &seen.scale[m]);
    g_test_message ("%s%s, %s: S %.6f, correlation %.5f, scale %.4f", name, wrong ? " with P(q-k)" : "", methods[m],
                    seen.agreement, seen.correlation[m], seen.scale[m]);
  }
  scene_close (&scene);
  return seen;
}

/* As well as the round case: every photon is explained, both images are the object. */
static void
check_right (const Seen *seen, const Seen *round)
{
  g_assert_cmpfloat (seen->agreement, >=, 0.99999);
  g_assert_cmpfloat (seen->agreement, >=, round->agreement - 1e-5);
  for (int m = 0; m < N_METHODS; m++) {
    g_assert_cmpfloat (seen->correlation[m], >=, round->correlation[m] - 0.002);
    g_assert_cmpfloat (seen->correlation[m], >=, 0.995);
    g_assert_cmpfloat (fabs (seen->scale[m] - 1), <=, m == 0 ? 0.1 : 0.01); /* ssb takes no account of the edge's ramp */
  }
}

static void
test_odd (void)
{
  int coma = coordinate_index ("C21a"), threefold = coordinate_index ("C23a");
  Seen round = look_at ("round", 0, 0, FALSE), mirrored = look_at ("round", 0, 0, TRUE);
  check_right (&round, &round);
  check_right (&mirrored, &round); /* an even chi cannot tell q - k from k - q ... */
  for (int i = 0; i < 2; i++) {
    const char *name = i == 0 ? "coma" : "threefold";
    Seen seen = look_at (name, i == 0 ? coma : threefold, 0.6, FALSE);
    Seen wrong = look_at (name, i == 0 ? coma : threefold, 0.6, TRUE);
    check_right (&seen, &round);
    g_assert_cmpfloat (wrong.agreement, <=, 0.5); /* ... an odd one does, and not by a little */
    for (int m = 0; m < N_METHODS; m++) {
      g_assert_cmpfloat (wrong.correlation[m], <=, seen.correlation[m] - 0.01);
      g_assert_cmpfloat (fabs (wrong.scale[m] - 1), >=, 0.25);
    }
  }
}

/* From nothing: 2 rad of one odd coefficient are found, and nothing else. */
static void
test_fitted (gconstpointer data)
{
  int coordinate = coordinate_index (data);
  WeakObject object;
  Scene scene;
  GError *error = NULL;
  SbAberrationOptions none = { NULL, NULL, NULL, NULL, NULL };
  SbFitOptions options;
  SbStart start;
  double worst = 0;
  weak_object_init (&object);
  object.at.x[coordinate] = 2 * cos (0.6);
  object.at.x[coordinate + 1] = 2 * sin (0.6);
  scene_open (&scene, &object, "single");
  param_group_defaults (&fit_params, &options);
  g_assert_true (start_resolve (&start, &none, &options, &object.optics, NULL, &error));
  SbFit *fit = fit_run (scene.spectrum, &start, &options, NULL, &error);
  g_assert_no_error (error);
  for (int i = 0; i < SB_N_CHI; i++)
    worst = fmax (worst, fabs (fit->at.x[i] - object.at.x[i]));
  g_test_message ("%s: S %.7f, worst chi coordinate %.5f rad off, depth %.3f nm, skewness %.2f", (const char *)data,
                  fit->agreement, worst, fit->at.x[SB_DEPTH], fit->skewness);
  g_assert_cmpfloat (fit->agreement, >=, 0.99999);
  g_assert_cmpfloat (worst, <=, 0.01);
  g_assert_cmpint (fit->branch, ==, SB_BRANCH_KEPT);
  fit_free (fit);
  param_group_clear (&fit_params, &options);
  scene_close (&scene);
}

/* ---- twin ---- */

/* Every coordinate non-zero: the twin leaves S and negates the phase, in float64. */
static void
test_twin (void)
{
  WeakObject object;
  Scene scene;
  GError *error = NULL;
  weak_object_init (&object);
  object.peak = 0.05;
  for (int i = 0; i < SB_N_CHI; i++)
    object.at.x[i] = 2.5 * sin (1.7 * i + 0.4);
  scene_open (&scene, &object, "double");
  SbCoordinates at = object.at, twin, back;
  at.x[0] += 0.3;
  at.x[SB_TILT_ROW] = 7;
  at.x[SB_TILT_COL] = -4;
  at.x[SB_DEPTH] = 3.5;
  SbFrame frame = { 0.3, TRUE }, turned = { 0.3 + G_PI, TRUE }; /* any frame: the identity holds for all data */
  coordinates_twin (&at, &twin);
  coordinates_twin (&twin, &back);
  g_assert_cmpmem (&back, sizeof back, &at, sizeof at);
  g_assert_true (spectrum_set_frame (scene.spectrum, &frame, &error));
  double s = agreement_at (&scene, &at);
  double *phase[N_METHODS], top = 0, most = 0;
  for (int m = 0; m < N_METHODS; m++)
    phase[m] = image_at (&scene, &at, methods[m], 0.1);
  g_assert_true (spectrum_set_frame (scene.spectrum, &turned, &error));
  double s_twin = agreement_at (&scene, &twin), s_other = agreement_at (&scene, &at);
  for (int m = 0; m < N_METHODS; m++) {
    g_autofree double *other = image_at (&scene, &twin, methods[m], 0.1);
    for (gint64 i = 0; i < object.scan[0] * object.scan[1]; i++) {
      top = fmax (top, fabs (phase[m][i]));
      most = fmax (most, fabs (phase[m][i] + other[i]));
    }
    g_free (phase[m]);
  }
  g_test_message ("S %.15f, twin's less by %.1e; without the twin's signs %.6f; phase up to %.4f rad, sum of both %.1e", s,
                  s_twin / s - 1, s_other, top, most);
  g_assert_cmpfloat (fabs (s_twin / s - 1), <=, 1e-12);
  g_assert_cmpfloat (fabs (s_other / s - 1), >, 1e-3);
  g_assert_cmpfloat (top, >, 1e-3);
  g_assert_cmpfloat (most, <=, 1e-10 * top);
  scene_close (&scene);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/odd_orders/images", test_odd);
  g_test_add_data_func ("/odd_orders/fitted/coma", "C21a", test_fitted);
  g_test_add_data_func ("/odd_orders/fitted/threefold", "C23a", test_fitted);
  g_test_add_func ("/odd_orders/twin", test_twin);
  return g_test_run ();
}
