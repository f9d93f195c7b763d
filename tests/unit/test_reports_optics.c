/* What users of other programs reported about rotations, flips, signs and units of aberrations, each with its own
 * test: on a thin object of which everything is known. */
#include "tests/physics/weak_object.h"
#include "tests/unit/edge.h"
#include "tests/unit/h5_files4.h"

enum { SCAN_ROWS = 22, SCAN_COLS = 23, SIDE = 27 };

static char *folder;

/* How a camera may deliver a pattern. */
typedef enum Mounting { PLAIN, QUARTER_TURN, HALF_TURN, ROWS_FLIPPED, TRANSPOSED } Mounting;

static float *
mount (const float *frames, Mounting mounting)
{
  float *out = g_new (float, SCAN_ROWS *SCAN_COLS *SIDE *SIDE);
  for (gint64 f = 0; f < SCAN_ROWS * SCAN_COLS; f++)
    for (gint64 r = 0; r < SIDE; r++)
      for (gint64 c = 0; c < SIDE; c++) {
        gint64 from = mounting == QUARTER_TURN   ? c * SIDE + SIDE - 1 - r
                      : mounting == HALF_TURN    ? (SIDE - 1 - r) * SIDE + SIDE - 1 - c
                      : mounting == ROWS_FLIPPED ? (SIDE - 1 - r) * SIDE + c
                      : mounting == TRANSPOSED   ? c * SIDE + r
                                                 : r * SIDE + c;
        out[(f * SIDE + r) * SIDE + c] = frames[f * SIDE * SIDE + from];
      }
  return out;
}

typedef struct Outcome {
  SbResult *result;
  double agreement, rotation, likeness, scale;
  const char *orientation;
} Outcome;

/* coordinate (NULL: none) of so many radians; rotation NAN: to be found. */
static Outcome
outcome (const char *coordinate, double radians, Mounting mounting, double rotation, const char *orientation,
         const char *branch)
{
  static const gint64 shape[4] = { SCAN_ROWS, SCAN_COLS, SIDE, SIDE };
  static const double steps[4] = { 0.4, 0.4, 30.0 / 10, 30.0 / 10 };
  WeakObject object;
  GError *error = NULL;
  weak_object_init (&object);
  object.scan[0] = SCAN_ROWS;
  object.scan[1] = SCAN_COLS;
  object.detector[0] = object.detector[1] = SIDE;
  object.radius = 10;
  object.centre[0] = 13.1;
  object.centre[1] = 12.7;
  if (coordinate != NULL)
    object.at.x[coordinate_index (coordinate)] = radians;
  g_autofree double *truth = g_new (double, SCAN_ROWS *SCAN_COLS), *image = g_new (double, SCAN_ROWS *SCAN_COLS);
  g_autofree float *frames = weak_object_frames (&object, truth), *mounted = mount (frames, mounting);
  g_autofree char *path = g_build_filename (folder, "object.h5", NULL);
  write_emd (path, shape, mounted, steps, "A", "mrad");
  Options *o = options_new (30);
  o->optics.energy = 300;
  o->calibration.sampling = 3.0;
  o->calibration.rotation = rotation;
  set_text (&o->calibration.orientation, orientation);
  set_text (&o->fit.branch, branch);
  o->reconstruction.upsampling = 1;
  SbEngine *engine = engine_of_two ();
  SbAcquisition *acquisition = acquisition_open (path, NULL, &error);
  g_assert_no_error (error);
  SbWork *work = work_new (engine, acquisition);
  Outcome out = { .result = pipeline_run (work, &o->pipeline, NULL, &error) };
  g_assert_no_error (error);
  const SbArray *phase = result_find (out.result, "phase");
  for (gint64 i = 0; i < SCAN_ROWS * SCAN_COLS; i++)
    image[i] = (double)phase->data[i];
  out.likeness = weak_correlation (SCAN_ROWS * SCAN_COLS, image, truth, &out.scale);
  out.agreement = number_of (out.result, "agreement");
  out.rotation = number_of (out.result, "calibration.rotation");
  out.orientation = json_string_value (look (out.result, "calibration.orientation"));
  g_test_message ("S %.5f, rotation %.2f, %s, likeness %.4f, scale %.3f", out.agreement, out.rotation, out.orientation,
                  out.likeness, out.scale);
  work_free (work);
  acquisition_free (acquisition);
  engine_free (engine);
  options_free (o);
  return out;
}

static double
turns_apart (double a, double b)
{
  return fabs (remainder (a - b, 360));
}

/* LiberTEM 1775, 970, LiberTEM-live 139, py4DSTEM PR 577, ptypy 589: whichever way the camera is mounted, the rotation
 * and handedness that are found give the object, and so they do when they are given back. */
static void
test_mounting (gconstpointer data)
{
  Mounting mounting = (Mounting)GPOINTER_TO_INT (data);
  gboolean mirrored = mounting == ROWS_FLIPPED || mounting == TRANSPOSED;
  Outcome found = outcome ("C10", 2, mounting, NAN, "auto", "auto");
  g_assert_cmpstr (found.orientation, ==, mirrored ? "transpose" : "identity");
  double nearest = MIN (turns_apart (2 * found.rotation, 0), turns_apart (2 * found.rotation, 180));
  g_assert_cmpfloat (nearest, <, 1); /* a multiple of 90 deg */
  g_assert_cmpfloat (found.agreement, >, 0.999);
  g_assert_cmpfloat (found.likeness, >, 0.98); /* positive where atoms are: no sign is left open */
  Outcome back = outcome ("C10", 2, mounting, found.rotation, found.orientation, "keep");
  g_assert_cmpfloat (turns_apart (back.rotation, found.rotation), <, 1e-9);
  near (back.agreement, found.agreement, 1e-4);
  g_assert_cmpfloat (back.likeness, >, 0.98);
  result_free (found.result);
  result_free (back.result);
}

/* prismatic 27, abTEM 56 and 64: over- and underfocus are told apart by their sign. */
static void
test_defocus_sign (void)
{
  for (int sign = -1; sign <= 1; sign += 2) {
    Outcome found = outcome ("C10", 2.0 * sign, PLAIN, 0, "identity", "keep");
    near (number_of (found.result, "coordinates.C10"), 2.0 * sign, 0.05);
    g_assert_cmpfloat (found.likeness, >, 0.98);
    result_free (found.result);
  }
}

/* quantem 123, py4DSTEM PR 162: with the rotation off by 180 deg the twin fits as well; the sign of the phase decides,
 * and it is said. */
static void
test_twin (void)
{
  Outcome found = outcome ("C10", 2, HALF_TURN, 0, "identity", "auto");
  g_assert_cmpfloat (turns_apart (found.rotation, 180), <, 1);
  near (number_of (found.result, "coordinates.C10"), 2, 0.05);
  g_assert_cmpfloat (found.likeness, >, 0.98);
  g_assert_true (warned (found.result, "180 deg were added"));
  Outcome kept = outcome ("C10", 2, HALF_TURN, 0, "identity", "keep");
  near (number_of (kept.result, "coordinates.C10"), -2, 0.05);
  near (kept.agreement, found.agreement, 1e-3);
  g_assert_cmpfloat (kept.likeness, <, -0.98);
  result_free (found.result);
  result_free (kept.result);
}

/* abTEM 98: astigmatism along the scan's rows or between the axes, not turned by 90 deg. */
static void
test_astigmatism_axis (void)
{
  static const char *const names[2] = { "C12a", "C12b" };
  static const double angles[2] = { 0, G_PI / 4 };
  for (int i = 0; i < 2; i++) {
    Outcome found = outcome (names[i], 2, PLAIN, 0, "identity", "keep");
    g_autofree char *path = g_strdup_printf ("coordinates.%s", names[i]);
    near (number_of (found.result, path), 2, 0.05);
    near (number_of (found.result, "values.phi12.value"), angles[i], 0.02);
    g_assert_cmpfloat (number_of (found.result, "values.C12.value"), >, 0);
    result_free (found.result);
  }
}

/* py4DSTEM PR 632, fold_slice PR 112: coma with its sign. */
static void
test_coma_sign (void)
{
  for (int sign = -1; sign <= 1; sign += 2) {
    Outcome found = outcome ("C21a", 2.0 * sign, PLAIN, 0, "identity", "keep");
    near (number_of (found.result, "coordinates.C21a"), 2.0 * sign, 0.05);
    result_free (found.result);
  }
}

/* quantem 120, parakeet 78, abTEM 18: degrees where radians are meant. */
static void
test_degrees (void)
{
  SbAberrationOptions options = { .coefficients = (char *)"C12=1 phi12=11" };
  SbOptics optics = { 300, 30, { 0.4, 0.4 } };
  SbFitOptions fit;
  SbStart start;
  GError *error = NULL;
  param_group_defaults (&fit_params, &fit);
  g_assert_false (start_resolve (&start, &options, &fit, &optics, NULL, &error));
  assert_sentence (error, (const char *const[]){ "phi12=11 is more than a full turn", "angles are in rad", NULL });
  g_clear_error (&error);
  param_group_clear (&fit_params, &fit);
}

int
main (int argc, char **argv)
{
  static const char *const names[] = { "plain", "quarter-turn", "half-turn", "rows-flipped", "transposed" };
  g_test_init (&argc, &argv, NULL);
  folder = new_folder ();
  for (int i = PLAIN; i <= TRANSPOSED; i++) {
    g_autofree char *name = g_strdup_printf ("/reports/26-28-29-30-rotation-and-handedness/%s", names[i]);
    g_test_add_data_func (name, GINT_TO_POINTER (i), test_mounting);
  }
  g_test_add_func ("/reports/27-sign-and-half-turn", test_twin);
  g_test_add_func ("/reports/31-degrees-for-radians", test_degrees);
  g_test_add_func ("/reports/32-defocus-sign", test_defocus_sign);
  g_test_add_func ("/reports/33-astigmatism-axis", test_astigmatism_axis);
  g_test_add_func ("/reports/34-odd-orders", test_coma_sign);
  int failed = g_test_run ();
  drop_folder (folder);
  return failed;
}
