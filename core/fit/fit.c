#include "core/fit/fit.h"

#include <math.h>

#include "core/error.h"
#include "core/fit/geometry.h"
#include "core/fit/stages.h"

static const char *const branches[] = { "auto", "keep", "twin", NULL };
static const char *const modes[] = { "auto", "joint", NULL };
static const char *const refinements[] = { "newton", "nelder-mead", NULL };
static const char *const uncertainties[] = { "full", "error", NULL };
static const char *const objectives[] = { "standard", "dealiased", NULL };

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
  { "mode", "Mode", "",
    "Starts of tilt and depth: a few round the best focus (auto), or trials of all six low-order "
    "coordinates as well (joint; slower).",
    SB_PARAM_CHOICE, G_STRUCT_OFFSET (SbFitOptions, mode), NAN, "auto", 0, 0, 0, 0, modes, NULL, SB_PARAM_ADVANCED },
  { "refinement", "Refinement", "", "How the best trials are refined: by derivatives (newton) or without (nelder-mead).",
    SB_PARAM_CHOICE, G_STRUCT_OFFSET (SbFitOptions, refinement), NAN, "newton", 0, 0, 0, 0, refinements, NULL,
    SB_PARAM_ADVANCED },
  { "uncertainty", "Uncertainty", "",
    "Counting noise and what halves of the data disagree on (full), or counting noise alone "
    "(error; faster).",
    SB_PARAM_CHOICE, G_STRUCT_OFFSET (SbFitOptions, uncertainty), NAN, "full", 0, 0, 0, 0, uncertainties, NULL,
    SB_PARAM_ADVANCED },
  { "history", "History", "", "Keeps every trial and step of the fit in the result.", SB_PARAM_BOOL,
    G_STRUCT_OFFSET (SbFitOptions, history), 0, NULL, 0, 1, 0, 1, NULL, NULL, SB_PARAM_ADVANCED },
  { "objective", "Objective", "",
    "What the fit maximises: dealiased explains a scan coarser than the aperture resolves by all "
    "frequencies that it folds together (slower).",
    SB_PARAM_CHOICE, G_STRUCT_OFFSET (SbFitOptions, objective), NAN, "standard", 0, 0, 0, 0, objectives, NULL,
    SB_PARAM_ADVANCED },
  { "free_rotation", "Free rotation", "", "Refine the detector's rotation together with the aberrations.", SB_PARAM_BOOL,
    G_STRUCT_OFFSET (SbFitOptions, free_rotation), 0, NULL, 0, 0, 0, 0, NULL, NULL, SB_PARAM_ADVANCED },
  { "free_sampling", "Free sampling", "", "Refine the detector's sampling together with the aberrations.", SB_PARAM_BOOL,
    G_STRUCT_OFFSET (SbFitOptions, free_sampling), 0, NULL, 0, 0, 0, 0, NULL, NULL, SB_PARAM_ADVANCED },
};
const SbParamGroup fit_params = { "fit", "Fit", sizeof (SbFitOptions), rows, G_N_ELEMENTS (rows) };

/* S over everything; precise: in float64, whatever the fit was made in. */
static gboolean
value_at (const SbStages *stages, const SbCoordinates *at, gboolean precise, double *s, GError **error)
{
  SbAgreement agreement;
  if (!agreement_init (&agreement, stages->spectrum, 0, 1, stages->passes, stages->progress, error))
    return FALSE;
  agreement.precise = agreement.precise || precise;
  return agreement_value (&agreement, 1, at, s, error);
}

/* All coordinates on a subset of the pixels, from the joint fit. */
static gboolean
climb_from (const SbStages *stages, const SbMaximum *thin, const SbMaximum *joint, SbMaximum *best, double *gain,
            GError **error)
{
  SbMaximum revived, other;
  *gain = joint->s / thin->s;
  if (!climb (stages, &joint->at, best, error))
    return FALSE;
  if (!joint_stuck (stages->start, &best->at))
    return TRUE;
  if (!joint_revive (stages, &best->at, &revived, error) || !climb (stages, &revived.at, &other, error))
    return FALSE;
  if (other.s > best->s)
    *best = other;
  return TRUE;
}

static gboolean
climb_one (const SbStages *stages, const SbCandidate *from, SbMaximum *best, double *gain, GError **error)
{
  SbMaximum thin, joint;
  return thin_fit (stages, from, stages_joint_stride (stages->spectrum), &thin, error)
         && joint_fit (stages, &thin.at, &joint, error) && climb_from (stages, &thin, &joint, best, gain, error);
}

/* The candidates are carried on as long as they stay apart; the best of them after the climb goes on. */
static gboolean
climb_all (const SbStages *stages, const SbCandidate *kept, int n, SbFit *fit, SbMaximum *best, GError **error)
{
  SbMaximum here, thin, joint;
  double gain;
  if (stages->simplex)
    return simplex_fit (stages, kept, n, &thin, &joint, error) && climb_from (stages, &thin, &joint, best, &fit->gain, error);
  best->s = -1;
  for (int i = 0; i < n; i++) {
    /* The others only while they are rivals: within a tenth of the best's S. */
    if (i > 0 && kept[i].s < 0.9 * kept[0].s)
      break;
    if (!climb_one (stages, &kept[i], &here, &gain, error) || !progress_step (stages->progress, 0.25 + 0.15 * (i + 1), error))
      return FALSE;
    if (here.s <= best->s)
      continue;
    *best = here;
    fit->gain = gain;
  }
  return TRUE;
}

/* Errors and spread; their passes are counted apart. */
static gboolean
uncertainty_fill (const SbStages *stages, const SbFitOptions *options, SbFit *fit, GError **error)
{
  SbStages apart = *stages;
  SbCurvature curvature;
  apart.passes = &fit->check_passes;
  return errors_fill (&apart, fit, &curvature, error)
         && (g_strcmp0 (options->uncertainty, "error") == 0 || halves_fill (&apart, &curvature, fit, error));
}

/* Where halves of the band contradict higher orders, these are fitted again within the safe limit. */
static gboolean
uncertainty_check (const SbStages *stages, const SbFitOptions *options, SbStart *start, SbFit *fit, GError **error)
{
  SbMaximum from = { .s = 0 }, maximum;
  int worst;
  if (!halves_disagree (fit, &worst))
    return TRUE;
  double apart = fit->half_difference[worst], deviation = fit->error[worst];
  halves_narrow (start, fit);
  from.at = fit->at;
  if (!converge (stages, &from, &maximum, error))
    return FALSE;
  fit->at = maximum.at;
  g_ptr_array_add (fit->flags, g_strdup ("halves_disagree"));
  g_ptr_array_add (fit->warnings,
                   sb_text ("The halves of the band differ by %.2g rad in %s (error %.2g): the higher orders were held "
                            "within %g rad at the edge.",
                            apart, coordinate_name (worst), deviation, fit->limit));
  return value_at (stages, &fit->at, TRUE, &fit->agreement, error) && uncertainty_fill (stages, options, fit, error);
}

/* Search and climb: of the standard agreement whatever the objective, which leads to the same top at a fraction of the cost. */
static gboolean
find_top (const SbStages *stages, SbFit *fit, SbMaximum *climbed, GError **error)
{
  SbCandidate kept[SB_KEPT];
  gboolean dealiased = stages->spectrum->dealiased;
  int n = 0;
  stages->spectrum->dealiased = FALSE;
  gboolean ok = search_low_order (stages, 2, kept, &n, error) && progress_step (stages->progress, 0.25, error)
                && climb_all (stages, kept, n, fit, climbed, error);
  stages->spectrum->dealiased = dealiased;
  return ok;
}

static gboolean
fit_stages (const SbStages *stages, const SbFitOptions *options, SbStart *start, SbFit *fit, GError **error)
{
  SbMaximum climbed, maximum;
  SbCoordinates nothing = { { 0 } };
  int chosen[SB_N_COORDINATES];
  if (!value_at (stages, &nothing, FALSE, &fit->agreement_zero, error))
    return FALSE;
  if (free_list (stages->start, chosen) == 0) {
    fit->at = stages->start->start;
    return value_at (stages, &fit->at, TRUE, &fit->agreement, error) && uncertainty_fill (stages, options, fit, error)
           && branch_choose (stages, options->branch, fit, error);
  }
  if (!find_top (stages, fit, &climbed, error) || !converge (stages, &climbed, &maximum, error)
      || (joint_stuck (stages->start, &maximum.at) && !converge_shallow (stages, &maximum, error))
      || !geometry_refine (stages, options, &maximum, fit, error) || !progress_step (stages->progress, 0.85, error))
    return FALSE;
  fit->at = maximum.at;
  if (!maximum.converged)
    g_ptr_array_add (fit->warnings,
                     sb_text ("The fit had not settled after %d steps; its values are the best so far.", maximum.steps));
  for (int i = 0; i < SB_N_COORDINATES; i++)
    fit->fitted[i] = !stages->start->locked[i];
  if (!value_at (stages, &fit->at, TRUE, &fit->agreement, error) || !uncertainty_fill (stages, options, fit, error)
      || !uncertainty_check (stages, options, start, fit, error))
    return FALSE;
  flags_fill (stages->start, fit);
  return geometry_errors (stages, options, fit, error) && progress_step (stages->progress, 0.95, error)
         && branch_choose (stages, options->branch, fit, error) && progress_step (stages->progress, 1, error);
}

SbFit *
fit_run (SbSpectrum *spectrum, const SbStart *start, const SbFitOptions *options, SbProgress *progress, GError **error)
{
  SbFit *fit = g_new0 (SbFit, 1);
  SbStart limits = *start; /* may be narrowed */
  fit->flags = g_ptr_array_new_with_free_func (g_free);
  fit->history = options->history ? history_new () : NULL;
  fit->warnings = g_ptr_array_new_with_free_func (g_free);
  fit->limit = options->higher_order_limit;
  fit->sampling_scale = spectrum->scale > 0 ? spectrum->scale : 1;
  fit->rotation_error = fit->sampling_error = NAN;
  SbStages stages = { spectrum,
                      &limits,
                      options->trials,
                      options->seed,
                      &fit->passes,
                      progress,
                      fit->history,
                      g_strcmp0 (options->mode, "joint") == 0,
                      g_strcmp0 (options->refinement, "nelder-mead") == 0 };
  spectrum->dealiased = g_strcmp0 (options->objective, "dealiased") == 0;
  gboolean done = fit_stages (&stages, options, &limits, fit, error);
  spectrum->dealiased = FALSE;
  if (done)
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
  g_ptr_array_unref (fit->flags);
  history_free (fit->history);
  g_free (fit);
}
