/* What the data say when halved: the two interleaved halves of the band and the two of the bright field, fitted from the
 * result. Their differences are the spread; higher orders that the halves of the band do not agree on are not believed. */
#include <math.h>
#include <string.h>

#include "core/fit/stages.h"
#include "core/reconstruct.h"

#define DISAGREES 4.0 /* errors of a difference: with 22 coordinates chance alone does it once in 700 fits */
#define SAFE_LIMIT 2.0
enum { STEPS = 6 };

/* One half, by quasi-Newton from the Hessian of the whole. */
static gboolean
half_fit (const SbStages *stages, const SbFit *fit, const SbCurvature *curvature, const SbAgreement *half, SbCoordinates *at,
          GError **error)
{
  SbMaximum maximum;
  SbMaximise problem = { .agreement = half,
                         .n = curvature->n,
                         .low = stages->start->low,
                         .high = stages->start->high,
                         .max_steps = STEPS,
                         .hessian = curvature->hessian,
                         .history = stages->history,
                         .stage = "half" };
  memcpy (problem.chosen, curvature->chosen, sizeof problem.chosen);
  /* What is left to gain is then a small part of the error (half a square of it is the noise per S), or the way that is left
   * a sixth of the first step. */
  problem.first_share = 0.03;
  problem.tolerance = fmax (1e-10, 0.02 * spectrum_noise (stages->spectrum) / (stages->spectrum->power * fit->agreement));
  *at = fit->at;
  if (!(half->power > 0)) /* nothing in it */
    return TRUE;
  if (!maximise (&problem, &fit->at, &maximum, error))
    return FALSE;
  *at = maximum.at;
  return TRUE;
}

/* Both halves of one way. */
static gboolean
half_fits (const SbStages *stages, const SbFit *fit, const SbCurvature *curvature, const SbkView views[2], SbCoordinates at[2],
           GError **error)
{
  SbAgreement one, other;
  return agreement_init_view (&one, stages->spectrum, &views[0], stages->passes, stages->progress, error)
         && agreement_init_view (&other, stages->spectrum, &views[1], stages->passes, stages->progress, error)
         && half_fit (stages, fit, curvature, &one, &at[0], error) && half_fit (stages, fit, curvature, &other, &at[1], error);
}

gboolean
halves_fill (const SbStages *stages, const SbCurvature *curvature, SbFit *fit, GError **error)
{
  enum { N = SB_N_COORDINATES };
  gint64 n = stages->spectrum->n_band;
  /* every second block of frequencies; every second pixel */
  const SbkView views[2][2] = { { { 0, n, 2, 0, 0, 1, 0, 1 }, { 0, n, 2, 1, 0, 1, 0, 1 } },
                                { { 0, n, 1, 0, 0, 2, 0, 1 }, { 0, n, 1, 0, 1, 2, 0, 1 } } };
  memset (fit->spread_covariance, 0, sizeof fit->spread_covariance);
  for (int i = 0; i < N; i++)
    fit->spread[i] = fit->half_difference[i] = NAN;
  if (curvature->n == 0 || stages->spectrum->dealiased)
    return TRUE;
  for (int way = 0; way < 2; way++) {
    SbCoordinates at[2];
    if (!half_fits (stages, fit, curvature, views[way], at, error))
      return FALSE;
    /* The whole is the mean of two halves: half their difference is one draw of its deviation; the two ways are averaged. */
    for (int i = 0; i < curvature->n; i++) {
      int a = curvature->chosen[i];
      if (way == 0)
        fit->half_difference[a] = at[1].x[a] - at[0].x[a];
      for (int j = 0; j < curvature->n; j++) {
        int b = curvature->chosen[j];
        fit->spread_covariance[a][b] += (at[1].x[a] - at[0].x[a]) * (at[1].x[b] - at[0].x[b]) / 8;
      }
    }
  }
  for (int i = 0; i < curvature->n; i++)
    fit->spread[curvature->chosen[i]] = sqrt (fit->spread_covariance[curvature->chosen[i]][curvature->chosen[i]]);
  return TRUE;
}

/* Higher orders that go beyond the safe limit although the halves of the band contradict each other. */
gboolean
halves_disagree (const SbFit *fit, int *worst)
{
  double most = DISAGREES, excess = sqrt (fmax (1, fit->noise_ratio));
  gboolean beyond = FALSE;
  *worst = -1;
  for (int i = 3; i < SB_N_CHI; i++) {
    double apart = fabs (fit->half_difference[i]) / (2 * fit->error[i] * excess);
    beyond = beyond || (fit->fitted[i] && fabs (fit->at.x[i]) > SAFE_LIMIT);
    if (isfinite (apart) && apart > most) {
      most = apart;
      *worst = i;
    }
  }
  return *worst >= 0 && beyond && fit->limit > SAFE_LIMIT;
}

/* The start with the higher orders' limits narrowed; coordinates beyond come in. */
void
halves_narrow (SbStart *start, SbFit *fit)
{
  for (int i = 3; i < SB_N_CHI; i++) {
    if (start->locked[i])
      continue;
    start->low[i] = fmax (start->low[i], -SAFE_LIMIT);
    start->high[i] = fmin (start->high[i], SAFE_LIMIT);
    fit->at.x[i] = CLAMP (fit->at.x[i], start->low[i], start->high[i]);
  }
  fit->limit = SAFE_LIMIT;
}
