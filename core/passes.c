#include "core/passes.h"

#include <string.h>

#include "core/error.h"
#include "core/passes_inside.h"
#include "core/share.h"

static const char room_for[] = "The sums of a pass over the frequencies";

/* What a step of a pass gives each part. */
typedef struct Step {
  const SbSpectrum *spectrum;
  int precise;
  gint64 n_models;
  const SbkModel *model;
  double *sums; /* added to */
  const double *complete;
  double *carry, *first, *second, *out;
  int n;
  const int *chosen;
  const int *cancel;
} Step;

static const SbkBackend *
backend_of (const Step *step)
{
  return step->spectrum->engine->backend;
}

SbkStatus
passes_unsupported (const SbSpectrum *spectrum, SbkError *error)
{
  g_snprintf (error->message, sizeof error->message,
              "The %s backend does not work in parts yet; give more memory, fewer machines or backend = cpu.",
              spectrum->engine->backend->name);
  return SBK_UNSUPPORTED;
}

gboolean
passes_reduce (const SbSpectrum *spectrum, double *values, gsize n, GError **error)
{
  const SbReduce *reduction = spectrum->engine->reduce;
  return reduction == NULL || reduction->sum (reduction->comm, values, n, error);
}

gboolean
passes_alone (SbSpectrum *spectrum, const SbkView *view, gboolean whole_q, SbProgress *progress, SbPart *part, GError **error)
{
  const SbReduce *reduction = spectrum->engine->reduce;
  if (reduction != NULL && reduction->on_devices && !spectrum->somewhere_in_parts) {
    *part = (SbPart){ spectrum->g, *view, TRUE, TRUE };
    share_view (spectrum, view, &part->view); /* one that holds no pixel of it has its part in the sums too */
    part->view.together = 1;
    return TRUE;
  }
  if (!parts_whole (spectrum, view, whole_q, progress, part, error))
    return FALSE;
  if (reduction != NULL)
    part->g = NULL;
  return TRUE;
}

static double *
zeros (gint64 n, GError **error)
{
  double *values = sb_alloc ((gsize)n, sizeof *values, room_for, error);
  if (values != NULL)
    memset (values, 0, (gsize)MAX (n, 1) * sizeof *values);
  return values;
}

/* ---- value ---- */

static SbkStatus
value_work (const SbPart *part, gpointer data, SbkError *error)
{
  Step *step = data;
  if (backend_of (step)->value_sums == NULL)
    return passes_unsupported (step->spectrum, error);
  return backend_of (step)->value_sums (part->g, &part->view, step->precise, step->n_models, step->model, step->sums,
                                        step->cancel, error);
}

/* [n][view q][3] over all pixels there are. */
static double *
value_sums (SbSpectrum *spectrum, const SbkView *view, int precise, gint64 n, const SbkModel *models, SbProgress *progress,
            GError **error)
{
  gint64 count = n * sbk_view_count (view) * 3;
  g_autofree double *sums = zeros (count, error);
  Step step = { .spectrum = spectrum,
                .precise = precise,
                .n_models = n,
                .model = models,
                .sums = sums,
                .cancel = progress_cancel_flag (progress) };
  if (sums == NULL || !parts_each (spectrum, view, FALSE, value_work, &step, progress, error)
      || !passes_reduce (spectrum, sums, (gsize)count, error))
    return NULL;
  return g_steal_pointer (&sums);
}

/* Block by block, as the kernels add it up. */
static double
value_of (const SbkView *view, const double *sums)
{
  double value = 0;
  for (gint64 q = 0, n = sbk_view_count (view); q < n; q += SBK_LANES)
    value += sbk_block_value (sums + 3 * q, MIN (n - q, SBK_LANES));
  return value;
}

gboolean
passes_value (SbSpectrum *spectrum, const SbkView *view, int precise, gsize n, const SbkModel *models, double *values,
              SbProgress *progress, GError **error)
{
  SbPart part;
  SbkError kernel = { "" };
  if (!passes_alone (spectrum, view, FALSE, progress, &part, error))
    return FALSE;
  if (part.g != NULL)
    return spectrum_fail (spectrum->engine->backend->value (part.g, &part.view, precise, (int64_t)n, models, values,
                                                            progress_cancel_flag (progress), &kernel),
                          &kernel, error);
  gsize count = (gsize)sbk_view_count (view) * 3;
  gsize batch = (gsize)MAX (plan_step (spectrum->engine) / (MAX (count, 1) * sizeof (double)), 1);
  for (gsize first = 0; first < n; first += batch) {
    gsize m = MIN (batch, n - first);
    g_autofree double *sums = value_sums (spectrum, view, precise, (gint64)m, models + first, progress, error);
    if (sums == NULL)
      return FALSE;
    for (gsize i = 0; i < m; i++)
      values[first + i] = value_of (view, sums + i * count);
  }
  return TRUE;
}

/* ---- gradient and geometry ---- */

/* Blocks [first, first + n) of a view. */
static SbkView
blocks_of (const SbkView *view, gint64 first, gint64 n)
{
  gint64 skip = (view->q_phase + first * view->q_stride) * SBK_LANES, reach = ((n - 1) * view->q_stride + 1) * SBK_LANES;
  SbkView some = *view;
  some.q_first += skip;
  some.q_phase = 0;
  some.q_count = MIN (view->q_count - skip, reach);
  return some;
}

/* Blocks whose moments are held at once. */
static gint64
at_once (const SbSpectrum *spectrum, gint64 carried, gint64 blocks)
{
  guint64 each = (guint64)MAX (carried, 1) * sizeof (double);
  return CLAMP ((gint64)(plan_carry (spectrum->engine) / each), 1, MAX (blocks, 1));
}

static SbkStatus
gradient_work (const SbPart *part, gpointer data, SbkError *error)
{
  Step *step = data;
  if (backend_of (step)->gradient_part == NULL)
    return passes_unsupported (step->spectrum, error);
  return backend_of (step)->gradient_part (part->g, &part->view, step->precise, step->model, step->complete,
                                           part->only ? NULL : step->carry, part->last ? step->out : NULL, step->cancel, error);
}

static SbkStatus
geometry_work (const SbPart *part, gpointer data, SbkError *error)
{
  Step *step = data;
  if (backend_of (step)->geometry_part == NULL)
    return passes_unsupported (step->spectrum, error);
  return backend_of (step)->geometry_part (part->g, &part->view, step->precise, step->model, step->complete,
                                           part->only ? NULL : step->carry, part->last ? step->out : NULL, step->cancel, error);
}

/* A value pass, then a pass over its complete sums that leaves `width` numbers. */
static gboolean
derivatives (SbSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model, SbPartWork work, gint64 carried,
             int width, double *value, double *out, SbProgress *progress, GError **error)
{
  gint64 blocks = sbk_view_blocks (view), group = at_once (spectrum, carried, blocks);
  g_autofree double *sums = value_sums (spectrum, view, precise, 1, model, progress, error);
  g_autofree double *carry = sums != NULL && spectrum->parts != NULL ? zeros (group * carried, error) : NULL;
  if (sums == NULL || (spectrum->parts != NULL && carry == NULL))
    return FALSE;
  *value = value_of (view, sums);
  memset (out, 0, (gsize)width * sizeof *out);
  for (gint64 first = 0; first < blocks; first += group) {
    SbkView some = blocks_of (view, first, MIN (group, blocks - first));
    Step step = { .spectrum = spectrum,
                  .precise = precise,
                  .model = model,
                  .complete = sums + 3 * first * SBK_LANES,
                  .carry = carry,
                  .out = out,
                  .cancel = progress_cancel_flag (progress) };
    if (first > 0 && carry != NULL)
      memset (carry, 0, (gsize)(group * carried) * sizeof *carry);
    if (!parts_each (spectrum, &some, FALSE, work, &step, progress, error))
      return FALSE;
  }
  return passes_reduce (spectrum, out, (gsize)width, error);
}

gboolean
passes_gradient (SbSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model, double *value,
                 double gradient[SBK_N], SbProgress *progress, GError **error)
{
  SbPart part;
  SbkError kernel = { "" };
  if (!passes_alone (spectrum, view, FALSE, progress, &part, error))
    return FALSE;
  if (part.g != NULL)
    return spectrum_fail (spectrum->engine->backend->gradient (part.g, &part.view, precise, model, value, gradient,
                                                               progress_cancel_flag (progress), &kernel),
                          &kernel, error);
  return derivatives (spectrum, view, precise, model, gradient_work, SBK_CARRY_GRADIENT, SBK_N, value, gradient, progress,
                      error);
}

gboolean
passes_geometry (SbSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model, double *value,
                 double derivative[2], SbProgress *progress, GError **error)
{
  SbPart part;
  SbkError kernel = { "" };
  if (!passes_alone (spectrum, view, FALSE, progress, &part, error))
    return FALSE;
  if (part.g != NULL)
    return spectrum_fail (spectrum->engine->backend->geometry (part.g, &part.view, precise, model, value, derivative,
                                                               progress_cancel_flag (progress), &kernel),
                          &kernel, error);
  return derivatives (spectrum, view, precise, model, geometry_work, SBK_CARRY_GEOMETRY, 2, value, derivative, progress, error);
}

/* ---- Hessian ---- */

static SbkStatus
hessian_work (const SbPart *part, gpointer data, SbkError *error)
{
  Step *step = data;
  if (backend_of (step)->hessian_part == NULL || backend_of (step)->hessian_end == NULL)
    return passes_unsupported (step->spectrum, error);
  return backend_of (step)->hessian_part (part->g, &part->view, step->precise, step->model, step->n, step->chosen,
                                          step->complete, step->first, step->second, step->cancel, error);
}

/* Some blocks' part of gradient and Hessian. Where several machines share the pixels, the first of them alone adds what
 * follows from the complete derivatives of h and n. */
static gboolean
hessian_blocks (SbSpectrum *spectrum, const SbkView *some, Step *step, double *gradient, double *hessian, SbProgress *progress,
                GError **error)
{
  const SbEngine *engine = spectrum->engine;
  gsize firsts = (gsize)(sbk_view_blocks (some) * sbk_carry_first (step->n));
  SbkError kernel = { "" };
  memset (step->first, 0, firsts * sizeof (double));
  memset (step->second, 0, (gsize)(sbk_view_blocks (some) * sbk_carry_second (step->n)) * sizeof (double));
  if (!parts_each (spectrum, some, FALSE, hessian_work, step, progress, error)
      || !passes_reduce (spectrum, step->first, firsts, error))
    return FALSE;
  if (engine->reduce != NULL && engine->reduce->rank != 0)
    memset (step->first, 0, firsts * sizeof (double));
  SbkStatus status = engine->backend->hessian_end (engine->context, some, step->n, step->complete, step->first, step->second,
                                                   gradient, hessian, &kernel);
  return spectrum_fail (status, &kernel, error);
}

gboolean
passes_hessian (SbSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model, int n, const int *chosen,
                double *value, double *gradient, double *hessian, SbProgress *progress, GError **error)
{
  SbPart part;
  SbkError kernel = { "" };
  if (!passes_alone (spectrum, view, FALSE, progress, &part, error))
    return FALSE;
  if (part.g != NULL)
    return spectrum_fail (spectrum->engine->backend->hessian (part.g, &part.view, precise, model, n, chosen, value, gradient,
                                                              hessian, progress_cancel_flag (progress), &kernel),
                          &kernel, error);
  gint64 carried = sbk_carry_first (n) + sbk_carry_second (n), blocks = sbk_view_blocks (view);
  gint64 group = at_once (spectrum, carried, blocks);
  g_autofree double *sums = value_sums (spectrum, view, precise, 1, model, progress, error);
  g_autofree double *carry = sums != NULL ? zeros (group * carried, error) : NULL;
  if (carry == NULL)
    return FALSE;
  *value = value_of (view, sums);
  memset (gradient, 0, (gsize)n * sizeof *gradient);
  memset (hessian, 0, (gsize)(n * n) * sizeof *hessian);
  for (gint64 first = 0; first < blocks; first += group) {
    SbkView some = blocks_of (view, first, MIN (group, blocks - first));
    Step step = { .spectrum = spectrum,
                  .precise = precise,
                  .model = model,
                  .complete = sums + 3 * first * SBK_LANES,
                  .first = carry,
                  .second = carry + group * sbk_carry_first (n),
                  .n = n,
                  .chosen = chosen,
                  .cancel = progress_cancel_flag (progress) };
    if (!hessian_blocks (spectrum, &some, &step, gradient, hessian, progress, error))
      return FALSE;
  }
  return passes_reduce (spectrum, gradient, (gsize)n, error) && passes_reduce (spectrum, hessian, (gsize)(n * n), error);
}
