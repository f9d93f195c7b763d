#include <math.h>

#include "core/fit/stages.h"

/* Of the climb and of the Hessian that convergence starts from: the usual stride, the pixels that are left at least. */
enum { STEPS = 80, SUBSET = 8, SUBSET_PIXELS = 365 };

static gboolean
subset_init (SbAgreement *part, const SbStages *stages, GError **error)
{
  SbSpectrum *spectrum = stages->spectrum;
  return agreement_init (part, spectrum, 0, stages_stride (spectrum, SUBSET_PIXELS, stages_most (spectrum, SUBSET)),
                         stages->passes, stages->progress, error);
}

int
free_list (const SbStart *start, int chosen[SB_N_COORDINATES])
{
  int n = 0;
  for (int i = 0; i < SB_N_COORDINATES; i++)
    if (!start->locked[i])
      chosen[n++] = i;
  return n;
}

static void
problem_init (SbMaximise *problem, const SbStages *stages, const SbAgreement *agreement, const char *stage)
{
  *problem = (SbMaximise){ .agreement = agreement,
                           .low = stages->start->low,
                           .high = stages->start->high,
                           .max_steps = STEPS,
                           .history = stages->history,
                           .stage = stage };
  problem->n = free_list (stages->start, problem->chosen);
}

gboolean
climb (const SbStages *stages, const SbCoordinates *from, SbMaximum *maximum, GError **error)
{
  SbAgreement part = { 0 };
  SbMaximise problem;
  problem_init (&problem, stages, &part, "climb");
  problem.tolerance = 1e-7;
  problem.curvature = &part;
  return subset_init (&part, stages, error) && maximise (&problem, from, maximum, error);
}

gboolean
converge (const SbStages *stages, const SbMaximum *from, SbMaximum *maximum, GError **error)
{
  SbAgreement all = { 0 }, part = { 0 };
  SbMaximise problem;
  problem_init (&problem, stages, &all, "converge");
  problem.tolerance = 1e-10;
  problem.settle = 2;
  problem.curvature = &part;
  return agreement_init (&all, stages->spectrum, 0, 1, stages->passes, stages->progress, error)
         && subset_init (&part, stages, error) && maximise (&problem, &from->at, maximum, error);
}

/* The specimen seems thin, or its tilt ran to a limit: S is even in the depth, so that zero depth holds the fit whatever the
 * tilt. One Hessian at a small depth tells which tilt would gain most there; where that gains, the fit goes on from it. */
gboolean
converge_shallow (const SbStages *stages, SbMaximum *maximum, GError **error)
{
  const SbStart *start = stages->start;
  SbAgreement all;
  SbMaximum other;
  SbCoordinates at = maximum->at;
  int chosen[2], n = 0;
  double s, g[2] = { 0, 0 }, h[4] = { 0 };
  at.x[SB_DEPTH] = CLAMP (0.25, start->low[SB_DEPTH], start->high[SB_DEPTH]);
  for (int c = SB_TILT_ROW; c <= SB_TILT_COL; c++)
    if (!start->locked[c]) {
      chosen[n++] = c;
      at.x[c] = CLAMP (0, start->low[c], start->high[c]);
    }
  if (n == 0)
    return TRUE;
  if (!agreement_init (&all, stages->spectrum, 0, 1, stages->passes, stages->progress, error)
      || !agreement_hessian (&all, &at, n, chosen, &s, g, h, error))
    return FALSE;
  history_add (stages->history, "shallow", SB_CALL_HESSIAN, &all, &at, s);
  double determinant = n == 2 ? h[0] * h[3] - h[1] * h[2] : h[0];
  if (!(h[0] < 0) || !(n == 1 || determinant > 0))
    return TRUE;
  double step[2] = { n == 2 ? -(h[3] * g[0] - h[1] * g[1]) / determinant : -g[0] / h[0],
                     n == 2 ? -(h[0] * g[1] - h[2] * g[0]) / determinant : 0 };
  for (int i = 0; i < n; i++) {
    at.x[chosen[i]] = CLAMP (step[i] + at.x[chosen[i]], start->low[chosen[i]], start->high[chosen[i]]);
    s += 0.5 * step[i] * g[i];
  }
  if (!(s > maximum->s * (1 + 1e-8)))
    return TRUE;
  SbMaximum from = { .at = at };
  if (!converge (stages, &from, &other, error))
    return FALSE;
  if (other.s > maximum->s)
    *maximum = other;
  return TRUE;
}
