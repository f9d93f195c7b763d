/* Bounded trust-region maximisation of the agreement over chosen coordinates: Newton (exact Hessian every step) or
 * quasi-Newton (one Hessian, BFGS updates). The step that settles it is taken without another evaluation. */
#ifndef SB_CORE_FIT_MAXIMISE_H
#define SB_CORE_FIT_MAXIMISE_H

#include "core/agreement.h"
#include "core/fit/history.h"

typedef struct SbMaximise {
  const SbAgreement *agreement;
  int n;
  int chosen[SB_N_COORDINATES];
  const double *low, *high; /* [SB_N_COORDINATES] */
  int max_steps;
  double tolerance;   /* predicted gain over S, ... */
  double first_share; /* ... or over what the first step foretold (0: never), ... */
  int settle;         /* ... so often in a row after a step that was foretold badly (0: once) */
  /* Quasi-Newton: the Hessian of S to start from, over `chosen`, or where to compute it, cheaply (both NULL: Newton). Many
   * steps renew it from `curvature`. */
  const double *hessian;
  const SbAgreement *curvature;
  SbHistory *history; /* NULL: not kept */
  const char *stage;  /* static text */
} SbMaximise;

typedef struct SbMaximum {
  SbCoordinates at;
  double s;
  gboolean converged;
  int steps;
  double hessian[SB_N_COORDINATES * SB_N_COORDINATES]; /* of S over `chosen` (as last known) */
} SbMaximum;

gboolean maximise (const SbMaximise *problem, const SbCoordinates *start, SbMaximum *maximum, GError **error);

#endif
