#include "core/agreement.h"

#include <math.h>
#include <string.h>

#include "core/alias_agreement.h"
#include "core/error.h"

gboolean
agreement_init_view (SbAgreement *a, SbSpectrum *spectrum, const SbkView *view, SbPasses *passes, SbProgress *progress,
                     GError **error)
{
  SbkError kernel = { "" };
  memset (a, 0, sizeof *a);
  a->spectrum = spectrum;
  a->view = *view;
  a->precise = spectrum->engine->precise;
  a->dealiased = spectrum->dealiased && view->q_count == spectrum->n_band;
  a->passes = passes;
  a->progress = progress;
  gint64 pixels = (spectrum->n_pixels - view->k_first + view->k_stride - 1) / view->k_stride;
  a->share = (double)view->q_count / (double)view->q_stride / (double)spectrum->n_band * (double)pixels
             / (double)spectrum->n_pixels;
  gboolean whole = view->q_count == spectrum->n_band && view->q_stride == 1 && view->k_stride == 1 && spectrum->power > 0;
  a->power = spectrum->power;
  return whole || spectrum_fail (spectrum->engine->backend->power (spectrum->g, view, &a->power, &kernel), &kernel, error);
}

gboolean
agreement_init (SbAgreement *a, SbSpectrum *spectrum, gint64 q_count, gint64 k_stride, SbPasses *passes,
                SbProgress *progress, GError **error)
{
  /* Half a stride in, so that a subset's centre of mass is the disk's. */
  SbkView view = { 0, q_count > 0 ? q_count : spectrum->n_band, 1, 0, k_stride / 2, k_stride };
  return agreement_init_view (a, spectrum, &view, passes, progress, error);
}

gboolean
agreement_value (const SbAgreement *a, gsize n, const SbCoordinates *candidates, double *s, GError **error)
{
  if (a->dealiased)
    return alias_agreement_value (a, n, candidates, s, error);
  SbSpectrum *spectrum = a->spectrum;
  g_autofree SbkModel *models = g_new (SbkModel, n);
  SbkError kernel = { "" };
  for (gsize i = 0; i < n; i++)
    optics_model (&spectrum->optics, &spectrum->frame, &candidates[i], &models[i]);
  SbkStatus status = spectrum->engine->backend->value (spectrum->g, &a->view, a->precise, (int64_t)n, models, s,
                                                       progress_cancel_flag (a->progress), &kernel);
  if (!spectrum_fail (status, &kernel, error))
    return FALSE;
  for (gsize i = 0; i < n; i++)
    s[i] /= a->power;
  if (a->passes != NULL)
    a->passes->value += (double)n * a->share;
  return TRUE;
}

gboolean
agreement_gradient (const SbAgreement *a, const SbCoordinates *at, double *s, double gradient[SB_N_COORDINATES],
                    GError **error)
{
  if (a->dealiased)
    return alias_agreement_gradient (a, at, s, gradient, error);
  SbSpectrum *spectrum = a->spectrum;
  SbkModel model;
  SbkError kernel = { "" };
  double raw[SBK_N];
  optics_model (&spectrum->optics, &spectrum->frame, at, &model);
  SbkStatus status = spectrum->engine->backend->gradient (spectrum->g, &a->view, a->precise, &model, s, raw,
                                                          progress_cancel_flag (a->progress), &kernel);
  if (!spectrum_fail (status, &kernel, error))
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
  SbkError error_of_kernel = { "" };
  double jacobian[SBK_N * SB_N_COORDINATES], first[SBK_N], second[SBK_N * SBK_N], half[SBK_N];
  int kernel[SBK_N];
  optics_model (&spectrum->optics, &spectrum->frame, at, &model);
  optics_jacobian (&spectrum->optics, &spectrum->frame, jacobian);
  int m = kernel_coordinates (jacobian, n, chosen, kernel);
  SbkStatus status = spectrum->engine->backend->hessian (spectrum->g, &a->view, a->precise, &model, m, kernel, s, first,
                                                         second, progress_cancel_flag (a->progress), &error_of_kernel);
  if (!spectrum_fail (status, &error_of_kernel, error))
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
  SbkError kernel = { "" };
  optics_model (&spectrum->optics, &spectrum->frame, at, &model);
  SbkStatus status = spectrum->engine->backend->geometry (spectrum->g, &a->view, a->precise, &model, s, derivative,
                                                          progress_cancel_flag (a->progress), &kernel);
  if (!spectrum_fail (status, &kernel, error))
    return FALSE;
  *s /= a->power;
  derivative[0] *= (spectrum->frame.transpose ? -1 : 1) / a->power;
  derivative[1] /= a->power;
  if (a->passes != NULL)
    a->passes->gradient += a->share;
  return TRUE;
}
