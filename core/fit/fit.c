#include "core/fit/fit.h"

#include <math.h>

#include "core/error.h"
#include "core/fit/stages.h"

static const char *const branches[] = { "auto", "keep", "twin", NULL };

static const SbParam rows[] = {
  { "seed", "Seed", "", "Seed of the search's trials.", SB_PARAM_INT, G_STRUCT_OFFSET (SbFitOptions, seed), 42, NULL, 0,
    4294967295.0, 0, 1000, NULL, NULL, SB_PARAM_ADVANCED },
  { "trials", "Trials", "", "Trials of C10 and C12 in the search (more where their range is wide).", SB_PARAM_INT,
    G_STRUCT_OFFSET (SbFitOptions, trials), 200, NULL, 0, 1000000, 0, 2000, NULL, NULL, SB_PARAM_ADVANCED },
  { "higher_order_limit", "Higher-order limit", "rad", "Largest phase at the aperture's edge of each coefficient beyond C12.",
    SB_PARAM_DOUBLE, G_STRUCT_OFFSET (SbFitOptions, higher_order_limit), 20, NULL, 0, 200, 0, 40, NULL, NULL,
    SB_PARAM_ADVANCED },
  { "branch", "Branch", "", "The rotation or its twin 180 degrees away: by the sign of the phase (auto), or pinned.",
    SB_PARAM_CHOICE, G_STRUCT_OFFSET (SbFitOptions, branch), NAN, "auto", 0, 0, 0, 0, branches, NULL, 0 },
};
const SbParamGroup fit_params = { "fit", "Fit", sizeof (SbFitOptions), rows, G_N_ELEMENTS (rows) };

/* S in float64, whatever the fit was made in. */
static gboolean
precise_value (const SbStages *stages, const SbCoordinates *at, double *s, GError **error)
{
  SbAgreement agreement;
  if (!agreement_init (&agreement, stages->spectrum, 0, 1, stages->passes, stages->progress, error))
    return FALSE;
  agreement.precise = TRUE;
  return agreement_value (&agreement, 1, at, s, error);
}

/* The candidates of the search are carried on as long as they stay apart; the best of them after the climb goes on. */
static gboolean
climb_all (const SbStages *stages, const SbCandidate *kept, int n, SbFit *fit, SbMaximum *best, GError **error)
{
  SbMaximum thin, joint, here;
  int tries = 0;
  best->s = -1;
  for (int i = 0; i < n; i++) {
    /* The others only while they are rivals: within a tenth of the best's S. */
    if (i > 0 && kept[i].s < 0.9 * kept[0].s)
      break;
    if (!thin_fit (stages, &kept[i], 1, &thin, error) || !joint_fit (stages, &thin.at, &joint, error)
        || !climb (stages, &joint.at, &here, error)
        || !progress_step (stages->progress, 0.25 + 0.15 * ++tries, error))
      return FALSE;
    if (here.s > best->s)
      *best = here;
    if (thin.s > fit->agreement_thin)
      fit->agreement_thin = thin.s;
  }
  return TRUE;
}

static void
note_limits (const SbStart *start, SbFit *fit)
{
  for (int i = 0; i < SB_N_COORDINATES; i++) {
    gboolean at_low = fit->at.x[i] <= start->low[i], at_high = fit->at.x[i] >= start->high[i];
    fit->fitted[i] = !start->locked[i];
    if (start->locked[i] || (!at_low && !at_high) || (i == SB_DEPTH && fit->at.x[i] == 0))
      continue;
    const char *unit = i < SB_N_CHI ? "rad at the edge" : i == SB_DEPTH ? "nm" : "mrad";
    g_ptr_array_add (fit->warnings, g_strdup_printf ("%s stopped at its limit of %.4g %s: it is not a measurement; give a "
                                                     "wider range.", coordinate_name (i), fit->at.x[i], unit));
  }
}

static gboolean
fit_stages (const SbStages *stages, const SbFitOptions *options, SbFit *fit, GError **error)
{
  SbCandidate kept[SB_KEPT];
  SbMaximum climbed, maximum;
  SbCoordinates nothing = { { 0 } };
  int n = 0, chosen[SB_N_COORDINATES];
  if (!precise_value (stages, &nothing, &fit->agreement_zero, error))
    return FALSE;
  if (free_list (stages->start, chosen) == 0) {
    fit->at = stages->start->start;
    return precise_value (stages, &fit->at, &fit->agreement, error) && errors_fill (stages, fit, error)
           && branch_choose (stages, options->branch, fit, error);
  }
  if (!search_low_order (stages, 2, kept, &n, error) || !progress_step (stages->progress, 0.25, error)
      || !climb_all (stages, kept, n, fit, &climbed, error) || !converge (stages, &climbed, &maximum, error)
      || !progress_step (stages->progress, 0.85, error))
    return FALSE;
  fit->at = maximum.at;
  if (!maximum.converged)
    g_ptr_array_add (fit->warnings, g_strdup_printf ("The fit had not settled after %d steps; its values are the best so far.",
                                                     maximum.steps));
  note_limits (stages->start, fit);
  return precise_value (stages, &fit->at, &fit->agreement, error) && errors_fill (stages, fit, error)
         && progress_step (stages->progress, 0.95, error) && branch_choose (stages, options->branch, fit, error)
         && progress_step (stages->progress, 1, error);
}

SbFit *
fit_run (SbSpectrum *spectrum, const SbStart *start, const SbFitOptions *options, SbProgress *progress, GError **error)
{
  SbFit *fit = g_new0 (SbFit, 1);
  fit->warnings = g_ptr_array_new_with_free_func (g_free);
  fit->limit = options->higher_order_limit;
  SbStages stages = { spectrum, start, options->trials, options->seed, &fit->passes, progress };
  if (fit_stages (&stages, options, fit, error))
    return fit;
  fit_free (fit);
  return NULL;
}

void
fit_free (SbFit *fit)
{
  if (fit == NULL)
    return;
  g_ptr_array_unref (fit->warnings);
  g_free (fit);
}
