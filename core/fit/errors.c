#include <math.h>
#include <string.h>

#include "core/fit/eigen.h"
#include "core/fit/stages.h"
#include "core/reconstruct.h"

/* Coordinates the Hessian speaks about: free and not at a limit. */
static int
inner_list (const SbStart *start, const SbCoordinates *at, int chosen[SB_N_COORDINATES])
{
  int n = 0;
  for (int i = 0; i < SB_N_COORDINATES; i++)
    if (!start->locked[i] && at->x[i] > start->low[i] && at->x[i] < start->high[i])
      chosen[n++] = i;
  return n;
}

/* Inverse of -hessian; directions that are no maximum (or as good as flat) get a variance of infinity. */
static void
invert (int n, const double *hessian, double *inverse)
{
  enum { N = SB_N_COORDINATES };
  double a[N * N], scale[N], values[N], vectors[N * N], largest = 0;
  for (int i = 0; i < n; i++)
    scale[i] = sqrt (fmax (fabs (hessian[i * n + i]), 1e-300));
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      a[i * n + j] = -hessian[i * n + j] / (scale[i] * scale[j]);
  eigen_symmetric (n, a, values, vectors);
  for (int e = 0; e < n; e++)
    largest = fmax (largest, values[e]);
  memset (inverse, 0, (gsize)(n * n) * sizeof *inverse);
  for (int e = 0; e < n; e++) {
    double v = fmax (values[e], 1e-12 * largest);
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++)
        inverse[i * n + j] += vectors[i * n + e] * vectors[j * n + e] / (v * scale[i] * scale[j]);
  }
}

gboolean
errors_fill (const SbStages *stages, SbFit *fit, SbCurvature *curvature, GError **error)
{
  enum { N = SB_N_COORDINATES };
  SbSpectrum *spectrum = stages->spectrum;
  SbAgreement agreement;
  double s, gradient[N], inverse[N * N];
  double pairs = (double)spectrum->n_band * (double)spectrum->n_pixels;
  double noise = spectrum_noise (spectrum);
  int n = curvature->n = inner_list (stages->start, &fit->at, curvature->chosen);
  const int *chosen = curvature->chosen;
  memset (fit->covariance, 0, sizeof fit->covariance);
  for (int i = 0; i < N; i++)
    fit->error[i] = fit->spread[i] = NAN;
  fit->noise_ratio = (1 - fit->agreement) * spectrum->power / pairs / noise;
  if (n == 0)
    return TRUE;
  if (!agreement_init (&agreement, spectrum, 0, 2 * stages_most (spectrum, 1) - 1, stages->passes, stages->progress, error)
      || !agreement_hessian (&agreement, &fit->at, n, chosen, &s, gradient, curvature->hessian, error))
    return FALSE;
  invert (n, curvature->hessian, inverse);
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++)
      fit->covariance[chosen[i]][chosen[j]] = noise / spectrum->power * inverse[i * n + j];
    fit->error[chosen[i]] = sqrt (fit->covariance[chosen[i]][chosen[i]]);
  }
  return TRUE;
}
