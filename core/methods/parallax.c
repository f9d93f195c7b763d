/* Parallax, or tilt-corrected bright field: every pixel's image is shifted back by the gradient of chi at that pixel, then
 * all are summed. To first order in q, gamma = -2i sin (w) exp (2 pi i v.grad chi), w the even part of chi about k: so the
 * sum is Phi times i <w,gamma>, real but for what the shifts do not straighten. Its sign is flipped where that is negative. */
#include "core/reconstruct.h"

static gboolean
parallax_solve (const SbFineGrid *grid, const double *sums, double noise, double eps, double complex *phi,
                double complex *absorption, GError **error)
{
  for (gint64 f = 0; f < grid->fine.n; f++) {
    const double *s = sums + 4 * f;
    double contrast = -s[3]; /* Re i <w,gamma> */
    phi[f] = (contrast < 0 ? -1 : 1) * (s[0] + I * s[1]) / grid->aperture;
  }
  return TRUE;
}

const SbMethod method_parallax = {
  .name = "parallax",
  .title = "Parallax (tilt-corrected bright field)",
  .help = "Bright-field images shifted back by the fitted aberrations and summed, contrast reversals flipped; needs defocus.",
  .sums = SBK_SUM_SHIFTED,
  .solve = parallax_solve,
  .unit = "relative",
};
