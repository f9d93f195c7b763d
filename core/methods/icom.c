/* Integrated centre of mass: the centre of mass is the gradient of the phase, in 2 pi, seen through the probe's intensity:
 * sum_k (k.q) G = i Phi q^2 sum_k P (k) P* (k + q). Aberrations are not corrected. */
#include "core/reconstruct.h"

static gboolean
icom_solve (const SbFineGrid *grid, const double *sums, double noise, double eps, double complex *phi,
            double complex *absorption, GError **error)
{
  double added = eps > 0 ? eps : 0; /* NAN: none */
  for (gint64 f = 0; f < grid->fine.n; f++) {
    const double *s = sums + 4 * f;
    double q2 = grid->q[f] * grid->q[f];
    phi[f] = -I * (s[0] + I * s[1]) / ((q2 + added) * grid->aperture);
  }
  return TRUE;
}

const SbMethod method_icom = {
  .name = "icom",
  .title = "Integrated centre of mass",
  .help = "The phase whose gradient is the centre of mass, blurred by the probe; regularisation damps low frequencies.",
  .sums = SBK_SUM_MOMENT,
  .solve = icom_solve,
};
