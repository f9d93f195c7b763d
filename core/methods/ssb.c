/* Single sideband: the summed sidebands where exactly one of them lies in the aperture, each at its own phase. */
#include "core/reconstruct.h"

static gboolean
ssb_solve (const SbFineGrid *grid, const double *sums, double noise, double eps, double complex *phi,
           double complex *absorption, GError **error)
{
  for (gint64 f = 0; f < grid->fine.n; f++) {
    const double *s = sums + 3 * f;
    double complex numerator = s[0] + I * s[1];
    phi[f] = s[2] > 0 ? -I * numerator / s[2] : 0;
  }
  return TRUE;
}

const SbMethod method_ssb = {
  .name = "ssb",
  .title = "Single sideband",
  .help = "Double-overlap regions only, averaged with their phase corrected; no regularisation.",
  .sums = SBK_SUM_SSB,
  .solve = ssb_solve,
};
