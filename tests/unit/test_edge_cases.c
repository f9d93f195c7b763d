/* Data at the edge of what can be used, through the commands themselves: the right value, or one sentence that names the
 * value and the remedy; never a crash, a hang or a NaN. */
#include "tests/physics/weak_object.h"
#include "tests/unit/edge.h"

/* The model's aperture of 9 pixels has half of the plateau's intensity where A = sqrt (1/2). */
#define HALF_PLATEAU (9 * sqrt (1 - (2 * M_SQRT1_2 - 1) / 9))

/* ---- frames in memory ---- */

typedef struct Case {
  WeakObject object;
  double *truth;
  float *frames;
  gint64 pixels, points;
  SbSpectrumOptions spectrum;
  Options *options;
} Case;

/* A calibration that is given wherever the case does not ask for another one. */
static Case *
case_new (gint64 scan_rows, gint64 scan_cols)
{
  Case *c = g_new0 (Case, 1);
  weak_object_init (&c->object);
  c->object.scan[0] = scan_rows;
  c->object.scan[1] = scan_cols;
  c->object.detector[0] = 25;
  c->object.detector[1] = 27;
  c->object.radius = 9;
  c->object.centre[0] = 12.3;
  c->object.centre[1] = 12.8;
  c->object.at.x[0] = 2;
  c->object.at.x[3] = 0.7;
  c->points = scan_rows * scan_cols;
  c->pixels = c->object.detector[0] * c->object.detector[1];
  c->truth = g_new0 (double, c->points);
  c->frames = weak_object_frames (&c->object, c->truth);
  c->options = options_new (30);
  c->options->optics = (SbOpticsOptions){ 300, 30, { 0.4, 0.4 } };
  c->options->calibration.sampling = 30.0 / 9;
  c->options->calibration.centre[0] = 12.3;
  c->options->calibration.centre[1] = 12.8;
  c->options->calibration.rotation = 0;
  set_text (&c->options->calibration.orientation, "identity");
  c->options->reconstruction.upsampling = 1;
  param_group_defaults (&spectrum_params, &c->spectrum);
  c->options->pipeline.spectrum = &c->spectrum;
  return c;
}

static void
case_free (Case *c)
{
  options_free (c->options);
  g_free (c->truth);
  g_free (c->frames);
  g_free (c);
}

static void
find_everything (Case *c)
{
  c->options->calibration.sampling = c->options->calibration.rotation = NAN;
  c->options->calibration.centre[0] = c->options->calibration.centre[1] = NAN;
  set_text (&c->options->calibration.orientation, "auto");
}

static SbResult *
case_run (const Case *c, Command command, GError **error)
{
  SbEngine *engine = engine_of_two ();
  SbAcquisition *acquisition = NULL;
  SbResult *result = NULL;
  SbColumns *columns = weak_object_columns (&c->object, engine, c->frames, &acquisition, error);
  if (columns != NULL) {
    SbWork *work = work_new (engine, acquisition);
    work_take_columns (work, columns);
    result = command (work, &c->options->pipeline, NULL, error);
    work_free (work);
  }
  acquisition_free (acquisition);
  engine_free (engine);
  return result;
}

/* Correlation of the phase, native sampling, with the object. */
static double
likeness (const Case *c, const SbResult *result)
{
  const SbArray *phase = result_find (result, "phase");
  g_assert_cmpint (array_size (phase), ==, c->points);
  g_autofree double *image = g_new (double, c->points);
  for (gint64 i = 0; i < c->points; i++)
    image[i] = (double)phase->data[i];
  return weak_correlation ((gsize)c->points, image, c->truth, NULL);
}

/* All commands refuse with a sentence that says it, and info survives. Frees the case. */
static void
refused (Case *c, ...)
{
  static const Command commands[] = { pipeline_calibrate, pipeline_fit, pipeline_reconstruct, pipeline_run };
  const char *says[6] = { NULL };
  va_list list;
  GError *error = NULL;
  va_start (list, c);
  for (int i = 0; i < 5 && (says[i] = va_arg (list, const char *)) != NULL; i++)
    ;
  va_end (list);
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++) {
    g_assert_null (case_run (c, commands[i], &error));
    assert_sentence (error, says);
    g_clear_error (&error);
  }
  SbResult *info = case_run (c, pipeline_info, &error);
  if (info == NULL)
    assert_sentence (error, says);
  else
    assert_finite (info);
  result_free (info);
  g_clear_error (&error);
  case_free (c);
}

/* Odd and even sizes, scan and detector; everything found by ourselves. */
static void
test_sizes (void)
{
  static const gint64 scans[][2] = { { 17, 23 }, { 16, 24 }, { 40, 9 }, { 9, 40 }, { 7, 7 } };
  for (guint i = 0; i < G_N_ELEMENTS (scans); i++) {
    Case *c = case_new (scans[i][0], scans[i][1]);
    GError *error = NULL;
    find_everything (c);
    c->options->calibration.rotation = 0; /* S knows it modulo 180 deg only, and small scans less */
    set_text (&c->options->calibration.orientation, "identity");
    SbResult *result = case_run (c, pipeline_run, &error);
    g_assert_no_error (error);
    assert_finite (result);
    double alike = likeness (c, result);
    g_test_message ("%d x %d: likeness %.4f, C10 %.3f rad, S %.6f, centre %.3f %.3f, radius %.3f", (int)scans[i][0],
                    (int)scans[i][1], alike, number_of (result, "coordinates.C10"), number_of (result, "agreement"),
                    item (result, "calibration.centre", 0), item (result, "calibration.centre", 1),
                    number_of (result, "calibration.radius"));
    near (item (result, "calibration.centre", 0), 12.3, 0.05);
    near (item (result, "calibration.centre", 1), 12.8, 0.05);
    near (number_of (result, "calibration.radius"), HALF_PLATEAU, 0.05);
    g_assert_cmpfloat (fabs (alike), >=, 0.98);
    result_free (result);
    case_free (c);
  }
}

static void
test_lines (void)
{
  refused (case_new (1, 40), "1 x 40 points", "scan_shape", NULL);
  refused (case_new (40, 1), "40 x 1 points", "scan_shape", NULL);
  refused (case_new (1, 1), "1 x 1 points", "scan_shape", NULL); /* one frame */
}

/* A pixel that is not a number once is left out everywhere; the image does not change. */
static void
test_not_numbers (void)
{
  Case *c = case_new (17, 23);
  GError *error = NULL;
  const gint64 pixel = 12 * c->object.detector[1] + 13;
  c->frames[5 * c->pixels + pixel] = NAN;
  c->frames[77 * c->pixels + pixel - 3] = INFINITY;
  c->frames[78 * c->pixels + pixel - 4] = -INFINITY;
  c->frames[0] = NAN; /* outside of the disk */
  find_everything (c);
  c->options->calibration.rotation = 0;
  set_text (&c->options->calibration.orientation, "identity");
  SbResult *result = case_run (c, pipeline_run, &error);
  g_assert_no_error (error);
  assert_finite (result);
  near (number_of (result, "acquisition.not_finite_pixels"), 4, 0);
  g_assert_cmpfloat (likeness (c, result), >=, 0.98);
  near (item (result, "calibration.centre", 0), 12.3, 0.05);
  near (number_of (result, "calibration.radius"), HALF_PLATEAU, 0.05);
  result_free (result);
  for (gint64 i = 0; i < c->points * c->pixels; i++)
    c->frames[i] = NAN;
  refused (c, "not finite", NULL);
}

/* Readout noise about zero outside of the disk is negative half of the time; a background below zero is none of ours. */
static void
test_negative (void)
{
  Case *c = case_new (17, 23);
  GError *error = NULL;
  GRand *random = g_rand_new_with_seed (5);
  for (gint64 i = 0; i < c->points * c->pixels; i++)
    c->frames[i] += (float)(c->object.counts * 1e-4 * (g_rand_double (random) - 0.5));
  g_rand_free (random);
  SbResult *result = case_run (c, pipeline_run, &error);
  g_assert_no_error (error);
  assert_finite (result);
  g_assert_cmpfloat (likeness (c, result), >=, 0.98);
  near (number_of (result, "coordinates.C10"), 2, 0.1);
  result_free (result);
  for (gint64 i = 0; i < c->points * c->pixels; i++)
    c->frames[i] = -fabsf (c->frames[i]) - 1;
  refused (c, "above zero", NULL);
}

static void
test_flat (void)
{
  Case *c = case_new (17, 23);
  for (gint64 i = 0; i < c->points * c->pixels; i++) /* every frame is the first one */
    c->frames[i] = c->frames[i % c->pixels];
  refused (c, "does not vary", "17 x 23", "scan_shape", NULL);
  c = case_new (17, 23);
  for (gint64 i = 0; i < c->points * c->pixels; i++) /* no disk, and nothing is given */
    c->frames[i] = 100;
  find_everything (c);
  refused (c, "No bright-field disk", "centre and sampling", NULL);
  c = case_new (17, 23);
  memset (c->frames, 0, (gsize)(c->points * c->pixels) * sizeof (float));
  find_everything (c);
  refused (c, "No bright-field disk", NULL);
  c = case_new (17, 23); /* nothing, where the disk should be */
  memset (c->frames, 0, (gsize)(c->points * c->pixels) * sizeof (float));
  refused (c, "above zero", "centre and sampling", NULL);
}

/* Fewer frequencies than the fit can use, for each of the reasons. */
static void
test_band (void)
{
  refused (case_new (3, 3), "Only 4 scan frequencies", "3 x 3", NULL);
  refused (case_new (2, 2), "Only 0 scan frequencies", "2 x 2", NULL);
  Case *c = case_new (17, 23);
  c->options->optics.step[0] = c->options->optics.step[1] = 0.01;
  refused (c, "scan frequencies", "step 0.01", NULL);
  c = case_new (17, 23);
  c->spectrum.band[0] = 0.5;
  c->spectrum.band[1] = 0.5;
  refused (c, "Only 0 scan frequencies", "band", NULL);
  c = case_new (17, 23);
  c->spectrum.band[0] = 1.5;
  c->spectrum.band[1] = 0.2;
  refused (c, "Only 0 scan frequencies", "band", NULL);
  c = case_new (17, 23);
  c->spectrum.edge = 9;
  refused (c, "edge = 9", "17 x 23", NULL);
}

/* A disk of under three pixels, a centre off the detector. */
static void
test_disks (void)
{
  Case *c = case_new (9, 11);
  c->options->calibration.sampling = 30.0 / 2.5;
  refused (c, "2.5", "radius", "at least 3", NULL);
  c = case_new (9, 11);
  c->options->calibration.centre[0] = 500;
  refused (c, "500", "centre", NULL);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/edge_cases/sizes", test_sizes);
  g_test_add_func ("/edge_cases/lines", test_lines);
  g_test_add_func ("/edge_cases/not_numbers", test_not_numbers);
  g_test_add_func ("/edge_cases/negative", test_negative);
  g_test_add_func ("/edge_cases/flat", test_flat);
  g_test_add_func ("/edge_cases/band", test_band);
  g_test_add_func ("/edge_cases/disks", test_disks);
  return g_test_run ();
}
