#include <math.h>

#include "core/fit/stages.h"

enum { CLIMB_STEPS = 60, CONVERGE_STEPS = 60, SUBSET = 8, SUBSET_PIXELS = 256 };

int
free_list (const SbStart *start, int chosen[SB_N_COORDINATES])
{
  int n = 0;
  for (int i = 0; i < SB_N_COORDINATES; i++)
    if (!start->locked[i])
      chosen[n++] = i;
  return n;
}

gboolean
climb (const SbStages *stages, const SbCoordinates *from, SbMaximum *maximum, GError **error)
{
  SbAgreement part;
  gint64 stride = stages_stride (stages->spectrum, SUBSET_PIXELS, SUBSET);
  SbMaximise problem = { .agreement = &part, .low = stages->start->low, .high = stages->start->high,
                         .max_steps = CLIMB_STEPS, .tolerance = 1e-7 };
  problem.n = free_list (stages->start, problem.chosen);
  return agreement_init (&part, stages->spectrum, 0, stride, stages->passes, stages->progress, error)
         && maximise (&problem, from, maximum, error);
}

gboolean
converge (const SbStages *stages, const SbMaximum *from, SbMaximum *maximum, GError **error)
{
  SbAgreement all;
  SbMaximise problem = { .agreement = &all, .low = stages->start->low, .high = stages->start->high,
                         .max_steps = CONVERGE_STEPS, .tolerance = 1e-10, .hessian = from->hessian };
  problem.n = free_list (stages->start, problem.chosen);
  return agreement_init (&all, stages->spectrum, 0, 1, stages->passes, stages->progress, error)
         && maximise (&problem, &from->at, maximum, error);
}
