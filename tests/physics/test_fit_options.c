/* The fit's choices, what it says about itself, and ten cases of the robustness matrix, on objects made by the model. */
#include <math.h>
#include <string.h>

#include "core/fit/nelder_mead.h"
#include "core/fit/stages.h"
#include "tests/physics/forward.h"

static SbEngine *engine;

typedef struct {
  const char *range, *lock, *mode, *refinement, *uncertainty;
  gboolean history;
  const SbCoordinates *known;
} Choice;

static SbFit *
fit_with (SbSpectrum *spectrum, const Choice *choice)
{
  g_autoptr (GError) error = NULL;
  SbAberrationOptions aberrations = { NULL, NULL, (char *)choice->lock, (char *)choice->range, NULL };
  SbFitOptions options;
  SbStart start;
  param_group_defaults (&fit_params, &options);
  char **texts[] = { &options.mode, &options.refinement, &options.uncertainty };
  const char *const values[] = { choice->mode, choice->refinement, choice->uncertainty };
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    if (values[i] != NULL) {
      g_free (*texts[i]);
      *texts[i] = g_strdup (values[i]);
    }
  options.history = choice->history;
  g_free (options.branch);
  options.branch = g_strdup ("keep"); /* the object is random: its phase has no sign */
  g_assert_true (start_resolve (&start, &aberrations, &options, &spectrum->optics, choice->known, &error));
  SbFit *fit = fit_run (spectrum, &start, &options, NULL, &error);
  g_assert_no_error (error);
  param_group_clear (&fit_params, &options);
  return fit;
}

static SbSpectrum *
scene (guint32 seed, const SbCoordinates *truth, Forward *forward)
{
  forward_random (forward, 300, 30, 0.4, seed);
  if (truth != NULL) {
    forward->truth = *truth;
    forward->scan = 64;
    forward->strength = 200;
  }
  ForwardImage *image = forward_image (forward);
  SbSpectrum *spectrum = forward_draw (image, engine, seed);
  forward_free (image);
  return spectrum;
}

/* C10 5 nm, C12 2 nm, tilted by 5 mrad, 4 nm deep, some coma. */
static const SbCoordinates usual = { { 7.2, 2.1, -1.7, 0.4, -0.3, 0.2, 0.5, -0.4, [25] = 4, -3, 4 } };

static void
test_success (gconstpointer data)
{
  Forward forward;
  SbSpectrum *spectrum = scene ((guint32)GPOINTER_TO_UINT (data), NULL, &forward);
  Choice found = { .uncertainty = "error" }, known = { .uncertainty = "error", .known = &forward.truth };
  SbFit *a = fit_with (spectrum, &found), *b = fit_with (spectrum, &known);
  g_test_message ("C10 %.2f rad, S x pixels %.0f: deficit %.2e, S %.4f", forward.truth.x[0],
                  b->agreement * (double)spectrum->n_pixels, 1 - a->agreement / b->agreement, b->agreement);
  g_assert_cmpfloat (1 - a->agreement / b->agreement, <=, 1e-6);
  fit_free (a);
  fit_free (b);
  spectrum_free (spectrum);
}

/* Three simplexes side by side walk as each alone, to the bit, with at most 0.4 of the launches. */
static void
test_simplex (void)
{
  Forward forward;
  g_autoptr (GError) error = NULL;
  SbSpectrum *spectrum = scene (3, &usual, &forward);
  SbAgreement agreement;
  SbFitOptions options;
  SbAberrationOptions none = { NULL, NULL, NULL, NULL, NULL };
  SbStart start;
  param_group_defaults (&fit_params, &options);
  g_assert_true (start_resolve (&start, &none, &options, &spectrum->optics, NULL, &error));
  g_assert_true (agreement_init (&agreement, spectrum, 0, 2, NULL, NULL, &error));
  SbSimplexProblem problem = { .agreement = &agreement,
                               .n = 6,
                               .chosen = { 0, 1, 2, SB_TILT_ROW, SB_TILT_COL, SB_DEPTH },
                               .low = start.low,
                               .high = start.high,
                               .max_iterations = 200,
                               .x_tolerance = 0.05,
                               .s_tolerance = 1e-6 };
  SbCoordinates starts[3] = { { { 0 } }, { { 0 } }, { { 0 } } };
  SbMaximum together[3], alone;
  gint64 batched = 0, single = 0;
  for (int i = 0; i < 3; i++) {
    starts[i].x[0] = 5.5 + 1.5 * i;
    starts[i].x[1] = 2.5 - 0.5 * i;
    starts[i].x[SB_DEPTH] = 1.5 + i;
  }
  g_assert_true (nelder_mead (&problem, 3, starts, together, &batched, &error));
  for (int i = 0; i < 3; i++) {
    g_assert_true (nelder_mead (&problem, 1, &starts[i], &alone, &single, &error));
    g_assert_cmpmem (alone.at.x, sizeof alone.at.x, together[i].at.x, sizeof together[i].at.x);
    g_assert_true (alone.s == together[i].s && alone.steps == together[i].steps);
    g_assert_cmpint (alone.steps, <=, 201);
    g_test_message ("start %d: %d iterations, S %.6f, C10 %.3f (true %.3f), depth %.2f", i, alone.steps, alone.s, alone.at.x[0],
                    usual.x[0], alone.at.x[SB_DEPTH]);
  }
  g_test_message ("%d launches together, %d one by one", (int)batched, (int)single);
  g_assert_cmpfloat ((double)batched, <=, 0.4 * (double)single);
  param_group_clear (&fit_params, &options);
  spectrum_free (spectrum);
}

static gboolean
has_flag (const SbFit *fit, const char *word)
{
  for (guint i = 0; i < fit->flags->len; i++)
    if (g_str_equal (fit->flags->pdata[i], word))
      return TRUE;
  return FALSE;
}

/* Every way comes to the same maximum. */
static void
test_ways (void)
{
  Forward forward;
  SbSpectrum *spectrum = scene (4, &usual, &forward);
  Choice newton = { .uncertainty = "error" }, joint = { .uncertainty = "error", .mode = "joint" };
  Choice simplex = { .uncertainty = "error", .refinement = "nelder-mead", .history = TRUE };
  SbFit *fits[3] = { fit_with (spectrum, &newton), fit_with (spectrum, &joint), fit_with (spectrum, &simplex) };
  for (int i = 0; i < 3; i++) {
    const SbPasses *p = &fits[i]->passes;
    g_test_message ("S %.8f, gain %.5f, tilt %.2f %.2f, depth %.2f, passes %.1f value %.1f gradient %.1f hessian",
                    fits[i]->agreement, fits[i]->gain, fits[i]->at.x[SB_TILT_ROW], fits[i]->at.x[SB_TILT_COL],
                    fits[i]->at.x[SB_DEPTH], p->value, p->gradient, p->hessian);
    g_assert_cmpfloat (fabs (fits[i]->agreement / fits[0]->agreement - 1), <=, 1e-8);
    g_assert_cmpfloat (fits[i]->gain, >, 1.001);
    g_assert_false (has_flag (fits[i], "tilt_undetermined"));
  }
  g_assert_cmpfloat (fits[1]->passes.value, >, fits[0]->passes.value + 5); /* the joint trials were made */
  guint simplexes = 0;
  for (guint i = 0; i < fits[2]->history->evaluations->len; i++)
    simplexes += g_str_equal (g_array_index (fits[2]->history->evaluations, SbEvaluation, i).stage, "simplex");
  g_assert_cmpuint (simplexes, >, 30);
  for (int i = 0; i < 3; i++)
    fit_free (fits[i]);
  spectrum_free (spectrum);
}

/* S of a kept evaluation, made again. */
static double
replay (SbSpectrum *spectrum, const SbEvaluation *e)
{
  g_autoptr (GError) error = NULL;
  SbAgreement agreement;
  double s = NAN, gradient[SB_N_COORDINATES], hessian[1];
  int first = 0;
  g_assert_true (agreement_init_view (&agreement, spectrum, &e->view, NULL, NULL, &error));
  gboolean done = e->call == SB_CALL_VALUE ? agreement_value (&agreement, 1, &e->at, &s, &error)
                  : e->call == SB_CALL_GRADIENT
                      ? agreement_gradient (&agreement, &e->at, &s, gradient, &error)
                      : agreement_hessian (&agreement, &e->at, 1, &first, &s, gradient, hessian, &error);
  g_assert_true (done);
  return s;
}

static void
test_history (void)
{
  Forward forward;
  SbSpectrum *spectrum = scene (5, &usual, &forward);
  Choice choice = { .history = TRUE }, none = { .uncertainty = "error" };
  SbFit *fit = fit_with (spectrum, &choice), *without = fit_with (spectrum, &none);
  const GArray *list = fit->history->evaluations;
  guint trials = 0, replayed = 0;
  g_assert_null (without->history);
  g_assert_true (without->agreement == fit->agreement);
  for (guint i = 0; i < list->len; i++) {
    const SbEvaluation *e = &g_array_index (list, SbEvaluation, i);
    trials += g_str_equal (e->stage, "trial");
    if (i % 7 != 0 && i + 20 < list->len)
      continue;
    g_assert_true (replay (spectrum, e) == e->s);
    replayed++;
  }
  g_test_message ("%u evaluations, %u trials, %u made again", list->len, trials, replayed);
  g_assert_cmpuint (trials, >=, 200);
  fit_free (fit);
  fit_free (without);
  spectrum_free (spectrum);
}

/* Halves of a faithful model differ by counting noise; nothing is said of what is held. */
static void
test_spread (void)
{
  Forward forward;
  SbSpectrum *spectrum = scene (6, &usual, &forward);
  Choice full = { .lock = "C30" }, fast = { .uncertainty = "error" };
  SbFit *fit = fit_with (spectrum, &full), *without = fit_with (spectrum, &fast);
  double sum = 0;
  int n = 0;
  for (int i = 0; i < SB_N_COORDINATES; i++) {
    gboolean held = i == coordinate_index ("C30");
    g_assert_true (isnan (fit->spread[i]) == held && isnan (fit->error[i]) == held);
    g_assert_true (isnan (without->spread[i]) && isfinite (without->error[i]));
    if (held)
      continue;
    sum += pow (fit->spread[i] / fit->error[i], 2);
    n++;
  }
  g_test_message ("spread over error, root mean square: %.3f; noise ratio %.3f", sqrt (sum / n), fit->noise_ratio);
  g_assert_cmpfloat (sqrt (sum / n), >, 0.6);
  g_assert_cmpfloat (sqrt (sum / n), <, 1.6);
  g_assert_cmpfloat (fabs (fit->noise_ratio - 1), <, 0.05);
  g_assert_cmpfloat (fit->check_passes.gradient, >, 1);
  g_assert_cmpfloat (fit->check_passes.gradient, <, 8);
  g_assert_cmpfloat (without->check_passes.gradient, ==, 0);
  g_assert_cmpfloat (fit->limit, ==, 20);
  fit_free (fit);
  fit_free (without);
  spectrum_free (spectrum);
}

/* Halves that contradict each other in a higher order bring the box down, but only where something lies beyond it. */
static void
test_halves (void)
{
  SbFit fit = { .limit = 20, .noise_ratio = 1 };
  SbStart start = { .locked = { FALSE } };
  int worst;
  for (int i = 0; i < SB_N_COORDINATES; i++) {
    fit.error[i] = 0.1;
    fit.half_difference[i] = 0.2;
    fit.fitted[i] = TRUE;
    start.low[i] = -20;
    start.high[i] = 20;
  }
  fit.at.x[9] = -6;
  g_assert_false (halves_disagree (&fit, &worst));
  fit.half_difference[0] = 5; /* low order: nothing to do with the box */
  g_assert_false (halves_disagree (&fit, &worst));
  fit.half_difference[11] = -1.5;
  g_assert_true (halves_disagree (&fit, &worst));
  g_assert_cmpint (worst, ==, 11);
  halves_narrow (&start, &fit);
  g_assert_cmpfloat (fit.at.x[9], ==, -2);
  g_assert_cmpfloat (start.low[9], ==, -2);
  g_assert_cmpfloat (start.low[0], ==, -20);
  g_assert_cmpfloat (fit.limit, ==, 2);
  g_assert_false (halves_disagree (&fit, &worst));
}

static void
test_flags (void)
{
  Forward forward;
  const SbCoordinates thin = { { 9 } };
  SbSpectrum *spectrum = scene (7, &thin, &forward);
  Choice all = { .uncertainty = "full" }, narrow = { .range = "C10=0:4", .uncertainty = "error" };
  SbFit *fit = fit_with (spectrum, &all), *stopped = fit_with (spectrum, &narrow);
  for (guint i = 0; i < fit->warnings->len; i++)
    g_test_message ("%s", (char *)fit->warnings->pdata[i]);
  g_assert_true (has_flag (fit, "phi12_undetermined"));
  g_assert_true (has_flag (fit, "depth_zero") || has_flag (fit, "tilt_undetermined"));
  g_assert_false (has_flag (fit, "at_limit:C10"));
  g_assert_true (has_flag (stopped, "at_limit:C10"));
  g_assert_cmpfloat (fit->gain, <, 1.002);
  fit_free (fit);
  fit_free (stopped);
  spectrum_free (spectrum);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  engine = forward_engine ();
  g_test_add_func ("/fit/simplex", test_simplex);
  g_test_add_func ("/fit/ways", test_ways);
  g_test_add_func ("/fit/history", test_history);
  g_test_add_func ("/fit/spread", test_spread);
  g_test_add_func ("/fit/halves", test_halves);
  g_test_add_func ("/fit/flags", test_flags);
  for (guint i = 0; i < 10; i++) {
    g_autofree char *path = g_strdup_printf ("/fit/success/%u", i);
    g_test_add_data_func (path, GUINT_TO_POINTER (301 + i), test_success);
  }
  int failed = g_test_run ();
  engine_free (engine);
  return failed;
}
