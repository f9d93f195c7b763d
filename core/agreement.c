#include "core/agreement.h"

#include <math.h>
#include <string.h>

#include "core/alias_agreement.h"
#include "core/error.h"
#include "core/passes.h"

enum { LEAST_ROWS = 24 };

gboolean
agreement_init_view (SbAgreement *a, SbSpectrum *spectrum, const SbkView *view, SbPasses *passes, SbProgress *progress,
                     GError **error)
{
  gint64 pixels = (spectrum->n_pixels - view->k_first + view->k_stride - 1) / view->k_stride;
  memset (a, 0, sizeof *a);
  a->spectrum = spectrum;
  a->view = *view;
  a->power = spectrum->power;
  a->precise = spectrum->engine->precise;
  a->dealiased = spectrum->dealiased && view->q_count == spectrum->n_band;
  a->passes = passes;
  a->progress = progress;
  a->share = (double)view->q_count / (double)view->q_stride / (double)spectrum->n_band * (double)pixels
             / (double)spectrum->n_pixels / (double)MAX (view->row_stride, 1);
  gboolean whole = view->q_count == spectrum->n_band && view->q_stride == 1 && view->k_stride == 1 && view->row_stride <= 1
                   && spectrum->power > 0;
  return whole || passes_power (spectrum, view, &a->power, progress, error);
}

gboolean
agreement_init (SbAgreement *a, SbSpectrum *spectrum, gint64 q_count, gint64 k_stride, SbPasses *passes, SbProgress *progress,
                GError **error)
{
  /* A thin subset leaves out rows as well as pixels of a row, as long as LEAST_ROWS remain. Half a stride in, so that its
   * centre of mass is the disk's. */
  gint64 rows = (gint64)sqrt (4 * (double)spectrum->n_pixels / G_PI);
  gint64 row_stride = CLAMP (MIN ((gint64)sqrt ((double)k_stride), rows / LEAST_ROWS), 1, k_stride);
  gint64 stride = (k_stride + row_stride / 2) / row_stride;
  SbkView view = { 0, q_count > 0 ? q_count : spectrum->n_band, 1, 0, stride / 2, stride, row_stride / 2, row_stride };
  return agreement_init_view (a, spectrum, &view, passes, progress, error);
}

gboolean
agreement_value (const SbAgreement *a, gsize n, const SbCoordinates *candidates, double *s, GError **error)
{
  if (a->dealiased)
    return alias_agreement_value (a, n, candidates, s, error);
  SbSpectrum *spectrum = a->spectrum;
  g_autofree SbkModel *models = g_new (SbkModel, n);
  for (gsize i = 0; i < n; i++)
    optics_model (&spectrum->optics, &spectrum->frame, &candidates[i], &models[i]);
  if (!passes_value (spectrum, &a->view, a->precise, n, models, s, a->progress, error))
    return FALSE;
  for (gsize i = 0; i < n; i++)
    s[i] /= a->power;
  if (a->passes != NULL)
    a->passes->value += (double)n * a->share;
  return TRUE;
}

gboolean
agreement_gradient (const SbAgreement *a, const SbCoordinates *at, double *s, double gradient[SB_N_COORDINATES], GError **error)
{
  if (a->dealiased)
    return alias_agreement_gradient (a, at, s, gradient, error);
  SbSpectrum *spectrum = a->spectrum;
  SbkModel model;
  double raw[SBK_N];
  optics_model (&spectrum->optics, &spectrum->frame, at, &model);
  if (!passes_gradient (spectrum, &a->view, a->precise, &model, s, raw, a->progress, error))
    return FALSE;
  for (int i = 0; i < SBK_N; i++)
    raw[i] /= a->power;
  *s /= a->power;
  optics_gradient (&spectrum->optics, &spectrum->frame, raw, gradient);
  if (a->passes != NULL)
    a->passes->gradient += a->share;
  return TRUE;
}

/* The kernel coordinates that the chosen ones move: those with a non-zero Jacobian. */
static int
kernel_coordinates (const double *jacobian, int n, const int *chosen, int kernel[SBK_N])
{
  int count = 0;
  for (int k = 1; k < SBK_N; k++)
    for (int i = 0; i < n; i++)
      if (jacobian[k * SB_N_COORDINATES + chosen[i]] != 0) {
        kernel[count++] = k;
        break;
      }
  return count;
}

gboolean
agreement_hessian (const SbAgreement *a, const SbCoordinates *at, int n, const int *chosen, double *s, double *gradient,
                   double *hessian, GError **error)
{
  if (a->dealiased)
    return alias_agreement_hessian (a, at, n, chosen, s, gradient, hessian, error);
  SbSpectrum *spectrum = a->spectrum;
  SbkModel model;
  double jacobian[SBK_N * SB_N_COORDINATES], first[SBK_N], second[SBK_N * SBK_N], half[SBK_N];
  int kernel[SBK_N];
  optics_model (&spectrum->optics, &spectrum->frame, at, &model);
  optics_jacobian (&spectrum->optics, &spectrum->frame, jacobian);
  int m = kernel_coordinates (jacobian, n, chosen, kernel);
  if (!passes_hessian (spectrum, &a->view, a->precise, &model, m, kernel, s, first, second, a->progress, error))
    return FALSE;
  *s /= a->power;
  for (int i = 0; i < n; i++) {
    gradient[i] = 0;
    for (int k = 0; k < m; k++) {
      gradient[i] += jacobian[kernel[k] * SB_N_COORDINATES + chosen[i]] * first[k] / a->power;
      half[k] = 0;
      for (int l = 0; l < m; l++)
        half[k] += second[k * m + l] * jacobian[kernel[l] * SB_N_COORDINATES + chosen[i]] / a->power;
    }
    for (int j = 0; j < n; j++) {
      hessian[j * n + i] = 0;
      for (int k = 0; k < m; k++)
        hessian[j * n + i] += jacobian[kernel[k] * SB_N_COORDINATES + chosen[j]] * half[k];
    }
  }
  if (a->passes != NULL)
    a->passes->hessian += a->share;
  return TRUE;
}

gboolean
agreement_geometry (const SbAgreement *a, const SbCoordinates *at, double *s, double derivative[2], GError **error)
{
  SbSpectrum *spectrum = a->spectrum;
  SbkModel model;
  optics_model (&spectrum->optics, &spectrum->frame, at, &model);
  if (!passes_geometry (spectrum, &a->view, a->precise, &model, s, derivative, a->progress, error))
    return FALSE;
  *s /= a->power;
  derivative[0] *= (spectrum->frame.transpose ? -1 : 1) / a->power;
  derivative[1] /= a->power;
  if (a->passes != NULL)
    a->passes->gradient += a->share;
  return TRUE;
}
