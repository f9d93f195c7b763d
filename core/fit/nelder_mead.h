/* Nelder and Mead's simplex without derivatives: several of them side by side, one candidate of each a batch. */
#ifndef SB_CORE_FIT_NELDER_MEAD_H
#define SB_CORE_FIT_NELDER_MEAD_H

#include "core/fit/maximise.h"

enum { SB_SIMPLEX = 6 }; /* coordinates at most */

typedef struct SbSimplexProblem {
  const SbAgreement *agreement;
  int n;
  int chosen[SB_SIMPLEX];
  const double *low, *high; /* [SB_N_COORDINATES] */
  int max_iterations;       /* of each */
  double x_tolerance;       /* all corners within it of the best ... */
  double s_tolerance;       /* ... and their S within this share of the best's */
  SbHistory *history;
} SbSimplexProblem;

/* maxima[count]: where each start came to. *launches: batches handed to the backend. A trajectory has the same bits whatever
 * stands beside it. */
gboolean nelder_mead (const SbSimplexProblem *problem, int count, const SbCoordinates *starts, SbMaximum *maxima,
                      gint64 *launches, GError **error);

#endif
