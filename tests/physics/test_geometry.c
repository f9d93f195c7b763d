/* Rotation and detector sampling as free coordinates: exact derivatives of S by both, and a fit that started wrong in both
 * comes back. */
#include <math.h>

#include "core/agreement.h"
#include "core/fit/stages.h"
#include "tests/physics/sparse.h"

#define DEGREE (G_PI / 180)

/* S with the detector turned and scaled by this much more. */
static double
moved (SbSpectrum *spectrum, const SbFrame *frame, double turn, double scale, const SbCoordinates *at, gint64 stride)
{
  g_autoptr (GError) error = NULL;
  SbFrame there = { frame->rotation + turn, frame->transpose };
  SbAgreement a;
  double s;
  g_assert_true (spectrum_set_frame (spectrum, &there, &error));
  g_assert_true (spectrum_set_scale (spectrum, scale, &error));
  g_assert_true (agreement_init (&a, spectrum, 0, stride, NULL, NULL, &error));
  g_assert_true (agreement_value (&a, 1, at, &s, &error));
  return s;
}

/* The derivatives in one precision; in double against differences of fourth order. Every coordinate is in play. The
 * aperture's ramp has corners that pixels cross: the steps are so small that hardly any does. */
static void
check_derivative (gboolean single, gboolean transpose, double depth, double exact[2])
{
  g_autoptr (GError) error = NULL;
  Film *film = film_open (single ? "single" : "double");
  SbSpectrum *spectrum = film_spectrum (film, 2, 0, 1);
  SbFrame frame = { 0.2, transpose };
  SbCoordinates at = film_coordinates (film, "truth");
  const double step = 1e-7, weight[4] = { -1.0 / 12, 8.0 / 12, -8.0 / 12, 1.0 / 12 };
  double s, slope[2] = { 0, 0 };
  SbAgreement a;
  for (int i = 0; i < SB_N_CHI; i++)
    at.x[i] += 0.3 * cos (i);
  at.x[SB_TILT_ROW] = 5;
  at.x[SB_TILT_COL] = -3;
  at.x[SB_DEPTH] = depth;
  for (int j = 0; j < 4 && !single; j++) {
    double by = step * (j < 2 ? 2 - j : 1 - j);
    slope[0] += weight[j] / step * moved (spectrum, &frame, by, 1.01, &at, 8);
    slope[1] += weight[j] / step * moved (spectrum, &frame, 0, 1.01 * exp (by), &at, 8);
  }
  double here = moved (spectrum, &frame, 0, 1.01, &at, 8);
  g_assert_true (agreement_init (&a, spectrum, 0, 8, NULL, NULL, &error));
  g_assert_true (agreement_geometry (&a, &at, &s, exact, &error));
  g_assert_cmpfloat (fabs (s - here), <=, 1e-12 * s);
  if (!single) {
    g_test_message ("%s, depth %g: by rotation %.8g (differences off %.1e), by sampling %.8g (%.1e), S %.5f",
                    transpose ? "transposed" : "as recorded", depth, exact[0], slope[0] - exact[0], exact[1],
                    slope[1] - exact[1], s);
    for (int i = 0; i < 2; i++)
      g_assert_cmpfloat (fabs (exact[i] - slope[i]), <=, 1e-6 * fmax (fabs (exact[0]), fabs (exact[1])));
  }
  spectrum_free (spectrum);
  film_close (film);
}

static void
test_derivative (void)
{
  double exact[2], single[2];
  check_derivative (FALSE, TRUE, 4, exact);
  check_derivative (FALSE, FALSE, 0, exact);
  check_derivative (FALSE, FALSE, 4, exact);
  check_derivative (TRUE, FALSE, 4, single);
  for (int i = 0; i < 2; i++)
    g_assert_cmpfloat (fabs (single[i] - exact[i]), <=, 1e-5 * fabs (exact[i]));
}

static SbFit *
free_fit (SbSpectrum *spectrum, const SbCoordinates *from)
{
  g_autoptr (GError) error = NULL;
  SbAberrationOptions none = { NULL, NULL, NULL, NULL, NULL };
  SbFitOptions options;
  SbStart start;
  param_group_defaults (&fit_params, &options);
  g_free (options.branch);
  options.branch = g_strdup ("keep");
  options.free_rotation = options.free_sampling = TRUE;
  g_assert_true (start_resolve (&start, &none, &options, &spectrum->optics, from, &error));
  SbFit *fit = fit_run (spectrum, &start, &options, NULL, &error);
  g_assert_no_error (error);
  param_group_clear (&fit_params, &options);
  return fit;
}

/* Started 2 degrees and 2 percent off, a fit comes back to both. Then again with the bright field that the sampling found
 * makes, as the pipeline does. */
static void
check_return (Film *film, double turn, double scale)
{
  SbFit *fit = NULL;
  for (int round = 0; round < 5 && (fit == NULL || fabs (fit->sampling_scale - 1) > 5e-4); round++) {
    gint64 before = g_get_monotonic_time ();
    SbSpectrum *spectrum = film_spectrum (film, 1, turn * DEGREE, scale);
    double rotation = spectrum->frame.rotation - turn * DEGREE;
    SbFit *found = free_fit (spectrum, fit != NULL ? &fit->at : NULL);
    if (fit != NULL)
      fit_free (fit);
    fit = found;
    turn = (spectrum->frame.rotation - rotation) / DEGREE;
    scale *= fit->sampling_scale;
    g_test_message ("%s: rotation off by %.3f +- %.3f deg, sampling by %.3f +- %.3f %%, C10 %.3f +- %.3f nm, S %.6f, "
                    "passes %.1f %.1f %.1f, %.1f s",
                    film->name, turn, fit->rotation_error / DEGREE, 100 * (scale - 1), 100 * fit->sampling_error,
                    film_c10 (&fit->at), fit->error[0] / optics_edge_per_nm (&spectrum->optics, 1), fit->agreement,
                    fit->passes.value, fit->passes.gradient, fit->passes.hessian,
                    (double)(g_get_monotonic_time () - before) / 1e6);
    for (guint w = 0; w < fit->warnings->len; w++)
      g_test_message ("%s", (char *)fit->warnings->pdata[w]);
    spectrum_free (spectrum);
  }
  g_assert_cmpfloat (fabs (turn), <=, 0.3);
  g_assert_cmpfloat (fabs (scale - 1), <=, 0.003);
  g_assert_cmpfloat (fit->rotation_error, >, 0);
  g_assert_cmpfloat (fit->rotation_error, <, 0.3 * DEGREE);
  g_assert_cmpfloat (fit->sampling_error, >, 0);
  g_assert_cmpfloat (fit->sampling_error, <, 0.003);
  fit_free (fit);
}

static void
test_film (void)
{
  Film *film = film_open ("single");
  check_return (film, 2, 1.02);
  check_return (film, -2, 0.98);
  film_close (film);
}

static void
test_rotated (void)
{
  const char *root = g_getenv ("SB_SHARED");
  Film *film = film_open_other (root != NULL ? root : "../shared", "rotated", "single");
  if (film == NULL)
    return;
  check_return (film, 2, 1.02);
  film_close (film);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/geometry/derivative", test_derivative);
  g_test_add_func ("/geometry/film", test_film);
  g_test_add_func ("/geometry/rotated", test_rotated);
  return g_test_run ();
}
