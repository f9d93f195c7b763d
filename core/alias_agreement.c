/* S = sum_q g^H (M + ridge)^-1 g / sum |G|^2 with g_m = <gamma_m,G> and M the Gram matrix of a measured frequency's aliases.
 *
 * The unknowns x = (M + ridge)^-1 g are at their best, so that only gamma moves in the derivative:
 * dS_q = 2 Re sum_m conj (x_m) <d gamma_m, r>, r = G - sum_m x_m gamma_m. */
#include "core/alias_agreement.h"

#include <math.h>
#include <string.h>

#include "core/alias.h"
#include "core/error.h"
#include "core/passes.h"

/* Added to M's diagonal, over the largest <gamma,gamma> there can be: aliases near 2 k_max, which hardly any pixel sees,
 * would otherwise fit noise. Constant, so that the derivatives stay exact. */
#define RIDGE 1e-3

/* Steps of the Hessian's differences: rad, mrad, nm. Small against what S bends over, large against float32. */
static const double chi_step = 0.01, tilt_step = 0.05, depth_step = 0.05;
/* Pixels they are taken on: at least so many, and so many for each unknown, so that these explain little of the noise. */
enum { HESSIAN_PIXELS = 400, PIXELS_A_MEMBER = 60, HESSIAN_STRIDE = 8 };

/* What one evaluation needs. */
typedef struct Evaluation {
  const SbAgreement *agreement;
  SbAliasGroups *groups;
  SbkView view;
  double ridge;
  double *sums, *explained;
  double complex *x;
} Evaluation;

static void
evaluation_clear (Evaluation *e)
{
  alias_groups_free (e->groups);
  g_free (e->sums);
  g_free (e->explained);
  g_free (e->x);
}

static gboolean
evaluation_init (Evaluation *e, const SbAgreement *a, GError **error)
{
  SbSpectrum *spectrum = a->spectrum;
  const char *what = "The aliases of the scan's frequencies";
  gint64 factor[2], pixels = (spectrum->n_pixels - a->view.k_first + a->view.k_stride - 1) / a->view.k_stride;
  memset (e, 0, sizeof *e);
  e->agreement = a;
  e->view = a->view;
  e->ridge = RIDGE * spectrum->mean_a2 * (double)(pixels / MAX (a->view.row_stride, 1));
  upsampling_factors (&spectrum->optics, 0, factor);
  g_autoptr (SbFineGrid) grid = fine_grid_new (spectrum, factor, error);
  if (grid == NULL || (e->groups = alias_groups_new (spectrum, grid, &a->view, error)) == NULL)
    return FALSE;
  return (e->sums = sb_alloc (alias_slab_room (e->groups), sizeof (double), what, error)) != NULL
         && (e->explained = sb_alloc ((gsize)e->groups->n_groups, sizeof (double), what, error)) != NULL
         && (e->x = sb_alloc ((gsize)e->groups->n_members, sizeof *e->x, what, error)) != NULL;
}

/* Value, and (where raw is not NULL) the derivatives by the kernel coordinates; not yet over the power. */
static gboolean
evaluate (Evaluation *e, const SbCoordinates *at, double *value, double raw[SBK_N], GError **error)
{
  const SbAgreement *a = e->agreement;
  SbSpectrum *spectrum = a->spectrum;
  SbkModel model;
  SbkAliases slab;
  optics_model (&spectrum->optics, &spectrum->frame, at, &model);
  *value = 0;
  if (raw != NULL)
    memset (raw, 0, SBK_N * sizeof *raw);
  for (gint64 first = 0; first < e->groups->n_groups; first += slab.n_groups) {
    double part[SBK_N];
    slab = alias_slab (e->groups, first);
    if (!passes_aliases (spectrum, &e->view, a->precise, &model, &slab, e->sums, a->progress, error)
        || !alias_solve (spectrum->engine, &slab, e->sums, NULL, e->ridge, e->x, e->explained, error))
      return FALSE;
    for (gint64 g = 0; g < slab.n_groups; g++)
      *value += e->explained[g];
    if (raw == NULL)
      continue;
    if (!passes_alias_gradient (spectrum, &e->view, a->precise, &model, &slab, (const double *)e->x, part, a->progress, error))
      return FALSE;
    for (int i = 0; i < SBK_N; i++)
      raw[i] += part[i];
  }
  return TRUE;
}

/* Work in passes: a pass over the measured frequencies once for each of their aliases. */
static double
share_of (const Evaluation *e)
{
  const SbAgreement *a = e->agreement;
  return e->groups->n_groups > 0 ? a->share * (double)e->groups->n_members / (double)e->groups->n_groups : 0;
}

static gboolean
evaluate_gradient (Evaluation *e, const SbCoordinates *at, double *s, double gradient[SB_N_COORDINATES], GError **error)
{
  const SbAgreement *a = e->agreement;
  double raw[SBK_N];
  if (!evaluate (e, at, s, raw, error))
    return FALSE;
  *s /= a->power;
  for (int i = 0; i < SBK_N; i++)
    raw[i] /= a->power;
  optics_gradient (&a->spectrum->optics, &a->spectrum->frame, raw, gradient);
  if (a->passes != NULL)
    a->passes->gradient += share_of (e);
  return TRUE;
}

gboolean
alias_agreement_value (const SbAgreement *a, gsize n, const SbCoordinates *candidates, double *s, GError **error)
{
  Evaluation e;
  gboolean ok = evaluation_init (&e, a, error);
  for (gsize i = 0; ok && i < n; i++) {
    ok = evaluate (&e, &candidates[i], &s[i], NULL, error);
    s[i] /= a->power;
  }
  if (ok && a->passes != NULL)
    a->passes->value += (double)n * share_of (&e);
  evaluation_clear (&e);
  return ok;
}

gboolean
alias_agreement_gradient (const SbAgreement *a, const SbCoordinates *at, double *s, double gradient[SB_N_COORDINATES],
                          GError **error)
{
  Evaluation e;
  gboolean ok = evaluation_init (&e, a, error) && evaluate_gradient (&e, at, s, gradient, error);
  evaluation_clear (&e);
  return ok;
}

/* The same agreement on the fewest pixels that give its curvature, more than its own where those are too few. */
static gboolean
thinned (const SbAgreement *a, const Evaluation *e, SbAgreement *thin, GError **error)
{
  gint64 stride = a->spectrum->n_pixels / MAX (HESSIAN_PIXELS, PIXELS_A_MEMBER * e->groups->most);
  SbkView view = a->view;
  view.k_stride = CLAMP (stride, 1, HESSIAN_STRIDE);
  view.k_first = view.k_stride / 2;
  if (!agreement_init_view (thin, a->spectrum, &view, a->passes, a->progress, error))
    return FALSE;
  thin->precise = a->precise;
  return TRUE;
}

/* Rows of the Hessian, by differences forward (so that depth stays above zero). */
static gboolean
differences (Evaluation *e, const SbCoordinates *at, int n, const int *chosen, double *hessian, GError **error)
{
  double s, here[SB_N_COORDINATES], there[SB_N_COORDINATES];
  if (!evaluate_gradient (e, at, &s, here, error))
    return FALSE;
  for (int i = 0; i < n; i++) {
    double step = chosen[i] < SB_N_CHI ? chi_step : chosen[i] == SB_DEPTH ? depth_step : tilt_step;
    SbCoordinates moved = *at;
    moved.x[chosen[i]] += step;
    if (!evaluate_gradient (e, &moved, &s, there, error))
      return FALSE;
    for (int j = 0; j < n; j++)
      hessian[i * n + j] = (there[chosen[j]] - here[chosen[j]]) / step;
  }
  return TRUE;
}

gboolean
alias_agreement_hessian (const SbAgreement *a, const SbCoordinates *at, int n, const int *chosen, double *s, double *gradient,
                         double *hessian, GError **error)
{
  Evaluation e, part;
  SbAgreement thin;
  double all[SB_N_COORDINATES];
  memset (&part, 0, sizeof part);
  gboolean ok = evaluation_init (&e, a, error) && evaluate_gradient (&e, at, s, all, error) && thinned (a, &e, &thin, error)
                && evaluation_init (&part, &thin, error) && differences (&part, at, n, chosen, hessian, error);
  for (int i = 0; ok && i < n; i++) {
    gradient[i] = all[chosen[i]];
    for (int j = 0; j < i; j++)
      hessian[i * n + j] = hessian[j * n + i] = 0.5 * (hessian[i * n + j] + hessian[j * n + i]);
  }
  evaluation_clear (&e);
  evaluation_clear (&part);
  return ok;
}
