/* Optimum bright field: every frequency weighted so that the noise is the same at all of them,
 * Phi = -i <gamma,G> / sqrt (<gamma,gamma> max <gamma,gamma>). The best transferred frequency comes out in rad, the others
 * fall short by their transfer: an image of even noise, not a measurement of the phase. */
#include "core/reconstruct.h"

#include <math.h>

static gboolean
obf_solve (const SbFineGrid *grid, const double *sums, double noise, double eps, double complex *phi,
           double complex *absorption, GError **error)
{
  double most = 0;
  for (gint64 f = 0; f < grid->fine.n; f++)
    most = MAX (most, sums[3 * f + 2]);
  for (gint64 f = 0; f < grid->fine.n; f++) {
    const double *s = sums + 3 * f;
    phi[f] = s[2] > 0 ? -I * (s[0] + I * s[1]) / sqrt (s[2] * most) : 0;
  }
  return TRUE;
}

const SbMethod method_obf = {
  .name = "obf",
  .title = "Optimum bright field",
  .help = "Weighted for the same noise at every frequency; relative contrast, not a phase in rad.",
  .sums = SBK_SUM_MATCHED,
  .solve = obf_solve,
  .unit = "relative",
};
