/* Passes in parts on the CPU: the pair kernels go on where the part before stopped, block by block. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/cpu.h"

typedef struct {
  SbkSpectrum *spectrum;
  const SbkView *view;
  const CpuPairs *pairs;
  int64_t n_models;
  const SbkModel *models;
  double *sums;           /* [n_models][count][3] */
  const double *complete; /* [count][3] */
  double *carry;          /* [blocks] of the pass */
  double *part;           /* [blocks][width]; NULL: not the last part */
  int count;              /* of chosen coordinates */
  const int *chosen;
  double *first, *second;
  const int *cancel;
} PartJob;

static int64_t
block_lanes (const SbkView *view, int64_t i)
{
  int64_t left = sbk_view_count (view) - i * SBK_LANES;
  return left < SBK_LANES ? left : SBK_LANES;
}

static void
load_sums (const double *sums, int64_t lanes, double h[2][SBK_LANES], double n[SBK_LANES])
{
  for (int64_t l = 0; l < SBK_LANES; l++) {
    h[0][l] = l < lanes ? sums[3 * l] : 0;
    h[1][l] = l < lanes ? sums[3 * l + 1] : 0;
    n[l] = l < lanes ? sums[3 * l + 2] : 0;
  }
}

static void
begin (const PartJob *job, int64_t i, const SbkModel *model, CpuBlock *block)
{
  cpu_block_init (block, job->spectrum, job->view, cpu_view_block (job->view, i), model);
}

static SbkStatus
run (PartJob *job, SbkTask task)
{
  const SbkContext *context = job->spectrum->context;
  context->threads.run (context->threads.pool, sbk_view_blocks (job->view), task, job);
  return cpu_cancelled (job->cancel) ? SBK_CANCELLED : SBK_OK;
}

/* ---- value ---- */

static void
value_task (int64_t i, unsigned worker, void *data)
{
  PartJob *job = data;
  int64_t lanes = block_lanes (job->view, i), count = sbk_view_count (job->view);
  (void)worker;
  for (int64_t c = 0; c < job->n_models && !cpu_cancelled (job->cancel); c++) {
    double h[2][SBK_LANES], n[SBK_LANES], *sums = job->sums + (c * count + i * SBK_LANES) * 3;
    CpuBlock block;
    begin (job, i, &job->models[c], &block);
    load_sums (sums, lanes, h, n);
    job->pairs->value (&block, h, n);
    for (int64_t l = 0; l < lanes; l++) {
      sums[3 * l] = h[0][l];
      sums[3 * l + 1] = h[1][l];
      sums[3 * l + 2] = n[l];
    }
  }
}

SbkStatus
cpu_value_sums (SbkSpectrum *s, const SbkView *view, int precise, int64_t n_models, const SbkModel *models, double *sums,
                const int *cancel, SbkError *error)
{
  PartJob job = { .spectrum = s,
                  .view = view,
                  .pairs = cpu_pairs (s, precise),
                  .n_models = n_models,
                  .models = models,
                  .sums = sums,
                  .cancel = cancel };
  (void)error;
  return run (&job, value_task);
}

/* ---- gradient and geometry: moments carried on, their derivatives once they are complete ---- */

static void
gradient_task (int64_t i, unsigned worker, void *data)
{
  PartJob *job = data;
  double h[2][SBK_LANES], n[SBK_LANES];
  CpuBlock block;
  (void)worker;
  if (cpu_cancelled (job->cancel))
    return;
  begin (job, i, job->models, &block);
  load_sums (job->complete + i * SBK_LANES * 3, block_lanes (job->view, i), h, n);
  job->pairs->gradient (&block, h, n, job->carry != NULL ? job->carry + i * SBK_CARRY_GRADIENT : NULL,
                        job->part != NULL ? job->part + i * SBK_N : NULL);
}

static void
geometry_task (int64_t i, unsigned worker, void *data)
{
  PartJob *job = data;
  double h[2][SBK_LANES], n[SBK_LANES];
  CpuBlock block;
  (void)worker;
  if (cpu_cancelled (job->cancel))
    return;
  begin (job, i, job->models, &block);
  load_sums (job->complete + i * SBK_LANES * 3, block_lanes (job->view, i), h, n);
  job->pairs->geometry (&block, h, n, job->carry != NULL ? job->carry + i * SBK_CARRY_GEOMETRY : NULL,
                        job->part != NULL ? job->part + i * 2 : NULL);
}

/* Blocks leave `width` numbers each, added up in order. */
static SbkStatus
run_derivative (PartJob *job, SbkTask task, int width, double *sum, SbkError *error)
{
  int64_t blocks = sbk_view_blocks (job->view);
  if (sum != NULL && (job->part = calloc ((size_t)(blocks * width) + 1, sizeof *job->part)) == NULL)
    return cpu_no_memory (error, "The gradient", (size_t)(blocks * width) * sizeof *job->part);
  SbkStatus status = run (job, task);
  for (int64_t i = 0; sum != NULL && i < blocks; i++)
    for (int j = 0; j < width; j++)
      sum[j] += job->part[i * width + j];
  free (job->part);
  return status;
}

SbkStatus
cpu_gradient_part (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, const double *sums, double *carry,
                   double *gradient, const int *cancel, SbkError *error)
{
  PartJob job = { .spectrum = s,
                  .view = view,
                  .pairs = cpu_pairs (s, precise),
                  .models = model,
                  .complete = sums,
                  .carry = carry,
                  .cancel = cancel };
  return run_derivative (&job, gradient_task, SBK_N, gradient, error);
}

SbkStatus
cpu_geometry_part (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, const double *sums, double *carry,
                   double *derivative, const int *cancel, SbkError *error)
{
  PartJob job = { .spectrum = s,
                  .view = view,
                  .pairs = cpu_pairs (s, precise),
                  .models = model,
                  .complete = sums,
                  .carry = carry,
                  .cancel = cancel };
  return run_derivative (&job, geometry_task, 2, derivative, error);
}

/* ---- Hessian ---- */

static void
hessian_task (int64_t i, unsigned worker, void *data)
{
  PartJob *job = data;
  double h[2][SBK_LANES], n[SBK_LANES];
  CpuBlock block;
  CpuHessianScratch sums = { job->second + i * sbk_carry_second (job->count), job->first + i * sbk_carry_first (job->count) };
  (void)worker;
  if (cpu_cancelled (job->cancel))
    return;
  begin (job, i, job->models, &block);
  load_sums (job->complete + i * SBK_LANES * 3, block_lanes (job->view, i), h, n);
  job->pairs->hessian (&block, h, n, job->count, job->chosen, &sums);
}

SbkStatus
cpu_hessian_part (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, int n, const int *chosen,
                  const double *sums, double *first, double *second, const int *cancel, SbkError *error)
{
  PartJob job = { .spectrum = s,
                  .view = view,
                  .pairs = cpu_pairs (s, precise),
                  .models = model,
                  .complete = sums,
                  .count = n,
                  .chosen = chosen,
                  .first = first,
                  .second = second,
                  .cancel = cancel };
  (void)error;
  return run (&job, hessian_task);
}

SbkStatus
cpu_hessian_end (SbkContext *context, const SbkView *view, int n, const double *sums, const double *first, const double *second,
                 double *gradient, double *hessian, SbkError *error)
{
  double part[SBK_N + SBK_N * (SBK_N + 1) / 2], *triangle = part + n;
  (void)error;
  for (int64_t i = 0; i < sbk_view_blocks (view); i++) {
    double h[2][SBK_LANES], norm[SBK_LANES];
    memset (part, 0, sizeof part);
    load_sums (sums + i * SBK_LANES * 3, block_lanes (view, i), h, norm);
    context->isa->pairs[CPU_SINGLE].hessian_end (h, norm, n, second + i * sbk_carry_second (n), first + i * sbk_carry_first (n),
                                                 part, triangle);
    for (int j = 0; j < n; j++)
      gradient[j] += part[j];
    for (int j = 0, at = 0; j < n; j++)
      for (int l = j; l < n; l++, at++) {
        hessian[j * n + l] += triangle[at];
        if (l > j)
          hessian[l * n + j] += triangle[at];
      }
  }
  return SBK_OK;
}

/* ---- power ---- */

SbkStatus
cpu_power_sums (SbkSpectrum *s, const SbkView *view, double *sums, SbkError *error)
{
  CpuBlock block;
  (void)error;
  for (int64_t i = 0; i < sbk_view_blocks (view); i++) {
    double lane[SBK_LANES] = { 0 };
    int64_t lanes = block_lanes (view, i);
    memcpy (lane, sums + i * SBK_LANES, (size_t)lanes * sizeof *lane);
    cpu_block_init (&block, s, view, cpu_view_block (view, i), NULL);
    for (int64_t row = 0; row < s->n_rows; row++) {
      int64_t from = s->row_start[row], to = sbk_view_row (view, row) ? s->row_start[row + 1] : from;
      from += (view->k_first - from % view->k_stride + view->k_stride) % view->k_stride;
      for (int64_t k = from; k < to; k += view->k_stride)
        for (int l = 0; l < SBK_LANES; l++) {
          int64_t at = 2 * SBK_LANES * k + l;
          double re = s->wide ? ((const double *)block.g)[at] : (double)((const float *)block.g)[at];
          double im = s->wide ? ((const double *)block.g)[at + SBK_LANES] : (double)((const float *)block.g)[at + SBK_LANES];
          lane[l] += re * re + im * im;
        }
    }
    memcpy (sums + i * SBK_LANES, lane, (size_t)lanes * sizeof *lane);
  }
  return SBK_OK;
}
