/* The JSON of a result: errors of polar values, angles, null for what is not known; and reading it back, whoever wrote it. */
#include <math.h>
#include <string.h>

#include "core/report.h"

static const SbOptics optics = { 300, 30, { 0.4, 0.4 } };

static double
number_of (const json_t *object, const char *key, const char *field)
{
  const json_t *value = json_object_get (json_object_get (object, key), field);
  g_assert_true (json_is_number (value));
  return json_number_value (value);
}

static double
normal (GRand *rand)
{
  return sqrt (-2 * log (1 - g_rand_double (rand))) * cos (2 * G_PI * g_rand_double (rand));
}

/* Errors of C12 and phi12 against the scatter of draws of (a, b) with that covariance. */
static void
test_polar_errors (void)
{
  enum { DRAWS = 40000 };
  const double a = 2.5, b = -1.5, xx = 0.04, yy = 0.01, xy = 0.012;
  SbFit fit = { .at.x = { 1, a, b }, .fitted = { TRUE, TRUE, TRUE } };
  GRand *rand = g_rand_new_with_seed (5);
  double c_sum = 0, c_square = 0, p_sum = 0, p_square = 0;
  fit.covariance[0][0] = 0.09;
  fit.error[0] = 0.3;
  fit.covariance[1][1] = xx;
  fit.covariance[2][2] = yy;
  fit.covariance[1][2] = fit.covariance[2][1] = xy;
  for (int i = 0; i < DRAWS; i++) { /* Cholesky */
    double u = normal (rand), v = normal (rand), l = xy / sqrt (xx);
    SbCoordinates at = fit.at;
    double c, phi;
    at.x[1] += sqrt (xx) * u;
    at.x[2] += l * u + sqrt (yy - l * l) * v;
    optics_polar (&optics, &at, 1, &c, &phi);
    c_sum += c, c_square += c * c, p_sum += phi, p_square += phi * phi;
  }
  double c_error = sqrt (c_square / DRAWS - c_sum / DRAWS * (c_sum / DRAWS));
  double p_error = sqrt (p_square / DRAWS - p_sum / DRAWS * (p_sum / DRAWS));
  json_t *values = report_values (&optics, &fit.at, &fit);
  g_test_message ("C12 %.5f (%.5f), phi12 %.5f (%.5f)", number_of (values, "C12", "error"), c_error,
                  number_of (values, "phi12", "error"), p_error);
  g_assert_cmpfloat_with_epsilon (number_of (values, "C12", "error"), c_error, 0.03 * c_error);
  g_assert_cmpfloat_with_epsilon (number_of (values, "phi12", "error"), p_error, 0.03 * p_error);
  g_assert_cmpfloat_with_epsilon (number_of (values, "C10", "error") * optics_edge_per_nm (&optics, 1), 0.3, 1e-12);
  g_assert_cmpfloat_with_epsilon (number_of (values, "phi12", "value"), atan2 (b, a) / 2, 1e-12);
  /* what was not fitted has no error and says so */
  g_assert_true (json_is_null (json_object_get (json_object_get (values, "C30"), "error")));
  g_assert_true (json_is_true (json_object_get (json_object_get (values, "depth"), "held")));
  g_assert_null (json_object_get (json_object_get (values, "C12"), "held"));
  json_decref (values);

  /* an angle of which nothing is known: no more than evenly spread over its period */
  fit.at.x[1] = fit.at.x[2] = 0;
  values = report_values (&optics, &fit.at, &fit);
  g_assert_cmpfloat_with_epsilon (number_of (values, "phi12", "error"), G_PI / 2 / sqrt (3), 1e-12);
  g_assert_cmpfloat (number_of (values, "C12", "value"), ==, 0);
  fit.covariance[1][1] = NAN; /* never into the text */
  json_decref (values);
  values = report_values (&optics, &fit.at, &fit);
  g_autofree char *text = json_dumps (values, 0);
  g_assert_nonnull (text);
  g_assert_null (strstr (text, "nan"));
  json_decref (values);
  g_rand_free (rand);
}

static void
test_calibration (void)
{
  const double in[] = { 0, 90, 180, -180, 181, 540, -190, 359 }, out[] = { 0, 90, 180, 180, -179, 180, 170, -1 };
  SbCalibration calibration = { .centre = { 1, 2 }, .radius = 3, .sampling = NAN, .curl_rotation = NAN, .given_centre = TRUE };
  for (guint i = 0; i < G_N_ELEMENTS (in); i++) {
    SbFrame frame = { in[i] * G_PI / 180, i % 2 == 1 };
    json_t *object = report_calibration (&calibration, &frame);
    g_assert_cmpfloat_with_epsilon (json_number_value (json_object_get (object, "rotation")), out[i], 1e-9);
    g_assert_cmpstr (json_string_value (json_object_get (object, "orientation")), ==, i % 2 == 1 ? "transpose" : "identity");
    g_assert_true (json_is_null (json_object_get (object, "sampling")));
    g_assert_cmpuint (json_array_size (json_object_get (object, "given")), ==, 1);
    json_decref (object);
  }
}

static json_t *
info_of (const SbCoordinates *at, double energy, double semiangle)
{
  return json_pack ("{s:o, s:{s:f, s:f, s:[f, f]}}", "coordinates", report_coordinates (at), "acquisition", "energy", energy,
                    "semiangle", semiangle, "step", 0.4, 0.5);
}

/* The same nm are other rad at another aperture; tilt and depth stay. */
static void
test_read (void)
{
  SbCoordinates at, same, other;
  for (int i = 0; i < SB_N_COORDINATES; i++)
    at.x[i] = i / 7.0 - 1;
  json_t *info = info_of (&at, 300, 30);
  SbOptics found, wide = { 200, 20, { 0.4, 0.4 } };
  report_read_optics (info, &found);
  g_assert_cmpfloat (found.energy, ==, 300);
  g_assert_cmpfloat (found.step[1], ==, 0.5);
  g_assert_true (report_read_coordinates (info, &optics, &same));
  g_assert_true (report_read_coordinates (info, &wide, &other));
  for (int i = 0; i < SB_N_COORDINATES; i++)
    g_assert_cmpfloat_with_epsilon (same.x[i], at.x[i], 1e-14);
  for (int t = 0; t < SB_N_TERMS; t++) {
    double c[2], phi[2];
    optics_polar (&optics, &at, t, &c[0], &phi[0]);
    optics_polar (&wide, &other, t, &c[1], &phi[1]);
    g_assert_cmpfloat_with_epsilon (c[1], c[0], 1e-9 * MAX (fabs (c[0]), 1));
    g_assert_cmpfloat_with_epsilon (phi[1], phi[0], 1e-9);
  }
  for (int i = SB_TILT_ROW; i <= SB_DEPTH; i++)
    g_assert_cmpfloat (other.x[i], ==, at.x[i]);
  json_decref (info);
}

static void
test_read_hostile (void)
{
  static const char *const texts[] = {
    "{}",
    "[]",
    "3",
    "{\"coordinates\": 5, \"acquisition\": [], \"calibration\": \"x\"}",
    "{\"coordinates\": {\"C10\": \"5\", \"C12a\": null, \"depth\": []}, \"acquisition\": {\"energy\": {}, \"step\": [1]}}",
    "{\"calibration\": {\"centre\": [1], \"orientation\": \"sideways\", \"rotation\": true}}"
  };
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
    json_t *info = json_loads (texts[i], JSON_DECODE_ANY, NULL);
    SbOptics found;
    SbCoordinates at;
    double centre[2], sampling, rotation;
    g_autofree char *orientation = NULL;
    g_assert_nonnull (info);
    report_read_optics (info, &found);
    report_read_calibration (info, centre, &sampling, &rotation, &orientation);
    g_assert_true (isnan (found.energy) && isnan (found.step[1]) && isnan (sampling) && isnan (rotation) && isnan (centre[1]));
    g_assert_null (orientation);
    g_assert_false (report_read_coordinates (info, &optics, &at));
    json_decref (info);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/report/polar-errors", test_polar_errors);
  g_test_add_func ("/report/calibration", test_calibration);
  g_test_add_func ("/report/read", test_read);
  g_test_add_func ("/report/read-hostile", test_read_hostile);
  return g_test_run ();
}
