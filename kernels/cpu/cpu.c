/* The CPU backend: chooses the instruction set, hands blocks of frequencies to threads, adds up in fixed order. */
#include "kernels/cpu/cpu.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

SbkStatus
cpu_fail (SbkError *error, SbkStatus status, const char *format, ...)
{
  va_list args;
  if (error == NULL)
    return status;
  va_start (args, format);
  vsnprintf (error->message, sizeof error->message, format, args);
  va_end (args);
  return status;
}

SbkStatus
cpu_no_memory (SbkError *error, const char *what, size_t bytes)
{
  return cpu_fail (error, SBK_NO_MEMORY, "%s needs %.1f MB of memory, which could not be had; give a smaller scan region.",
                   what, (double)bytes / 1e6);
}

int
cpu_cancelled (const int *cancel)
{
  return cancel != NULL && __atomic_load_n (cancel, __ATOMIC_RELAXED) != 0;
}

int64_t
cpu_view_block (const SbkView *view, int64_t i)
{
  return view->q_first / SBK_LANES + view->q_phase + i * view->q_stride;
}

void
cpu_block_init (CpuBlock *block, const SbkSpectrum *s, const SbkView *view, int64_t index, const SbkModel *model)
{
  size_t size = s->wide ? sizeof (double) : sizeof (float);
  block->spectrum = s;
  block->g = (const char *)s->g + (size_t)index * (size_t)s->n_pixels * 2 * SBK_LANES * size;
  block->vx = s->vx + index * SBK_LANES;
  block->vy = s->vy + index * SBK_LANES;
  for (int l = 0; l < SBK_LANES; l++)
    block->valid[l] = index * SBK_LANES + l < view->q_first + view->q_count;
  block->k_first = view->k_first;
  block->k_stride = view->k_stride;
  block->view = view;
  block->model = model;
}

static const CpuIsa *
choose_isa (void)
{
  const char *forced = getenv ("SIDEBAND_ISA");
#if defined(CPU_VECTOR_SETS)
  __builtin_cpu_init ();
  int avx2 = __builtin_cpu_supports ("avx2") && __builtin_cpu_supports ("fma");
  int avx512 = avx2 && __builtin_cpu_supports ("avx512f") && __builtin_cpu_supports ("avx512dq")
               && __builtin_cpu_supports ("avx512bw") && __builtin_cpu_supports ("avx512vl");
  if (forced != NULL && strcmp (forced, "plain") == 0)
    return &cpu_isa_plain;
  if (avx512 && (forced == NULL || strcmp (forced, "avx2") != 0))
    return &cpu_isa_avx512;
  if (avx2)
    return &cpu_isa_avx2;
#else
  (void)forced;
#endif
  return &cpu_isa_plain;
}

static int
cpu_score (void)
{
  return 1;
}

static SbkStatus
cpu_open (SbkContext **out, const SbkOpen *how, SbkError *error)
{
  *out = calloc (1, sizeof **out);
  if (*out == NULL)
    return cpu_no_memory (error, "The backend", sizeof **out);
  (*out)->threads = how->threads;
  (*out)->precise = how->precise;
  (*out)->isa = choose_isa ();
  return SBK_OK;
}

static void
cpu_close (SbkContext *context)
{
  free (context);
}

const CpuPairs *
cpu_pairs (const SbkSpectrum *s, int precise)
{
  return &s->context->isa->pairs[s->wide ? CPU_DOUBLE : precise ? CPU_MIXED : CPU_SINGLE];
}

double
cpu_block_value (const CpuPairs *pairs, const CpuBlock *block, double h[2][SBK_LANES], double n[SBK_LANES])
{
  double sum = 0;
  memset (h, 0, 2 * SBK_LANES * sizeof **h);
  memset (n, 0, SBK_LANES * sizeof *n);
  pairs->value (block, h, n);
  for (int l = 0; l < SBK_LANES; l++)
    if (n[l] > 0)
      sum += (h[0][l] * h[0][l] + h[1][l] * h[1][l]) / n[l];
  return sum;
}

/* ---- value ---- */

typedef struct {
  SbkSpectrum *spectrum;
  const SbkView *view;
  const CpuPairs *pairs;
  int64_t n_models;
  const SbkModel *models;
  double *part; /* [blocks][n_models] */
  const int *cancel;
} ValueJob;

static void
value_task (int64_t i, unsigned worker, void *data)
{
  ValueJob *job = data;
  CpuBlock block;
  (void)worker;
  /* All candidates of a block one after the other: its part of G stays in the cache. */
  for (int64_t c = 0; c < job->n_models && !cpu_cancelled (job->cancel); c++) {
    double h[2][SBK_LANES], n[SBK_LANES];
    cpu_block_init (&block, job->spectrum, job->view, cpu_view_block (job->view, i), &job->models[c]);
    job->part[i * job->n_models + c] = cpu_block_value (job->pairs, &block, h, n);
  }
}

static SbkStatus
cpu_value (SbkSpectrum *s, const SbkView *view, int precise, int64_t n_models, const SbkModel *models, double *value,
           const int *cancel, SbkError *error)
{
  int64_t blocks = sbk_view_blocks (view);
  double *part = calloc ((size_t)(blocks * n_models) + 1, sizeof *part);
  if (part == NULL)
    return cpu_no_memory (error, "A batch of candidates", (size_t)(blocks * n_models) * sizeof *part);
  ValueJob job = { s, view, cpu_pairs (s, precise), n_models, models, part, cancel };
  s->context->threads.run (s->context->threads.pool, blocks, value_task, &job);
  for (int64_t c = 0; c < n_models; c++) {
    value[c] = 0;
    for (int64_t i = 0; i < blocks; i++)
      value[c] += part[i * n_models + c];
  }
  free (part);
  return cpu_cancelled (cancel) ? SBK_CANCELLED : SBK_OK;
}

/* ---- gradient and Hessian ---- */

typedef struct {
  SbkSpectrum *spectrum;
  const SbkView *view;
  const CpuPairs *pairs;
  const SbkModel *model;
  int count; /* of chosen coordinates; 0: the gradient only */
  const int *chosen;
  int width;                  /* doubles a block leaves: value, gradient, Hessian */
  double *part;               /* [blocks][width] */
  CpuHessianScratch *scratch; /* [workers] */
  const int *cancel;
} DerivativeJob;

static void
derivative_task (int64_t i, unsigned worker, void *data)
{
  DerivativeJob *job = data;
  CpuBlock block;
  double h[2][SBK_LANES], n[SBK_LANES], *part = job->part + i * job->width;
  if (cpu_cancelled (job->cancel))
    return;
  cpu_block_init (&block, job->spectrum, job->view, cpu_view_block (job->view, i), job->model);
  part[0] = cpu_block_value (job->pairs, &block, h, n);
  if (job->count == 0) {
    job->pairs->gradient (&block, h, n, NULL, part + 1);
    return;
  }
  CpuHessianScratch *scratch = &job->scratch[worker];
  memset (scratch->first, 0, (size_t)sbk_carry_first (job->count) * sizeof (double));
  memset (scratch->second, 0, (size_t)sbk_carry_second (job->count) * sizeof (double));
  job->pairs->hessian (&block, h, n, job->count, job->chosen, scratch);
  job->pairs->hessian_end (h, n, job->count, scratch->second, scratch->first, part + 1, part + 1 + job->count);
}

static void
add_parts (const double *part, int64_t blocks, int width, double *sum)
{
  memset (sum, 0, (size_t)width * sizeof *sum);
  for (int64_t i = 0; i < blocks; i++)
    for (int j = 0; j < width; j++)
      sum[j] += part[i * width + j];
}

static SbkStatus
cpu_gradient (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, double *value, double gradient[SBK_N],
              const int *cancel, SbkError *error)
{
  int64_t blocks = sbk_view_blocks (view);
  double sum[1 + SBK_N];
  DerivativeJob job = { s, view, cpu_pairs (s, precise), model, 0, NULL, 1 + SBK_N, NULL, NULL, cancel };
  job.part = calloc ((size_t)blocks * (size_t)job.width + 1, sizeof *job.part);
  if (job.part == NULL)
    return cpu_no_memory (error, "The gradient", (size_t)blocks * (size_t)job.width * sizeof *job.part);
  s->context->threads.run (s->context->threads.pool, blocks, derivative_task, &job);
  add_parts (job.part, blocks, job.width, sum);
  free (job.part);
  *value = sum[0];
  memcpy (gradient, sum + 1, SBK_N * sizeof *gradient);
  return cpu_cancelled (cancel) ? SBK_CANCELLED : SBK_OK;
}

static void
free_hessian_scratch (CpuHessianScratch *scratch, unsigned workers)
{
  for (unsigned w = 0; scratch != NULL && w < workers; w++) {
    free (scratch[w].second);
    free (scratch[w].first);
  }
  free (scratch);
}

static CpuHessianScratch *
new_hessian_scratch (unsigned workers, int count)
{
  CpuHessianScratch *scratch = calloc (workers, sizeof *scratch);
  for (unsigned w = 0; scratch != NULL && w < workers; w++) {
    scratch[w].second = malloc ((size_t)count * (size_t)(count + 1) / 2 * SBK_LANES * sizeof (double));
    scratch[w].first = malloc ((size_t)count * 3 * SBK_LANES * sizeof (double));
    if (scratch[w].second == NULL || scratch[w].first == NULL) {
      free_hessian_scratch (scratch, workers);
      return NULL;
    }
  }
  return scratch;
}

static SbkStatus
cpu_hessian (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, int n, const int *chosen, double *value,
             double *gradient, double *hessian, const int *cancel, SbkError *error)
{
  int64_t blocks = sbk_view_blocks (view);
  unsigned workers = s->context->threads.count;
  DerivativeJob job = { s, view, cpu_pairs (s, precise), model, n, chosen, 1 + n + n * (n + 1) / 2, NULL, NULL, cancel };
  double *sum = malloc ((size_t)job.width * sizeof *sum);
  job.part = calloc ((size_t)blocks * (size_t)job.width + 1, sizeof *job.part);
  job.scratch = new_hessian_scratch (workers, n);
  SbkStatus status = SBK_OK;
  if (sum == NULL || job.part == NULL || job.scratch == NULL)
    status = cpu_no_memory (error, "The Hessian", (size_t)blocks * (size_t)job.width * sizeof *job.part);
  if (status == SBK_OK) {
    s->context->threads.run (s->context->threads.pool, blocks, derivative_task, &job);
    add_parts (job.part, blocks, job.width, sum);
    *value = sum[0];
    memcpy (gradient, sum + 1, (size_t)n * sizeof *gradient);
    for (int i = 0, at = 1 + n; i < n; i++)
      for (int j = i; j < n; j++, at++)
        hessian[i * n + j] = hessian[j * n + i] = sum[at];
    if (cpu_cancelled (cancel))
      status = SBK_CANCELLED;
  }
  free (sum);
  free (job.part);
  free_hessian_scratch (job.scratch, workers);
  return status;
}

/* ---- sums of a reconstruction ---- */

typedef struct {
  SbkSpectrum *spectrum;
  const SbkView *view;
  const CpuPairs *pairs;
  const SbkModel *model;
  const SbkFine *fine;
  SbkSumKind kind;
  int add;
  double *out;
  const int *cancel;
} SumsJob;

static void
sums_task (int64_t task, unsigned worker, void *data)
{
  SumsJob *job = data;
  const SbkSpectrum *s = job->spectrum;
  const SbkFine *f = job->fine;
  size_t size = s->wide ? sizeof (double) : sizeof (float);
  (void)worker;
  if (cpu_cancelled (job->cancel))
    return;
  CpuFine fine = { .spectrum = s,
                   .k_first = job->view->k_first,
                   .k_stride = job->view->k_stride,
                   .view = job->view,
                   .model = job->model,
                   .kind = job->kind,
                   .add = job->add };
  int64_t first = task * SBK_LANES;
  fine.lanes = (int)(f->n - first < SBK_LANES ? f->n - first : SBK_LANES);
  for (int l = 0; l < SBK_LANES; l++) {
    int64_t at = first + (l < fine.lanes ? l : 0), q = f->source[at];
    fine.g[l] = (const char *)s->g + (size_t)((q / SBK_LANES) * s->n_pixels * 2 * SBK_LANES + q % SBK_LANES) * size;
    fine.sign[l] = f->conj[at] ? -1 : 1;
    fine.vx[l] = f->vx[at];
    fine.vy[l] = f->vy[at];
  }
  job->pairs->sums (&fine, job->out + first * sbk_sum_width (job->kind));
}

static SbkStatus
sums_run (SumsJob *job)
{
  const SbkContext *context = job->spectrum->context;
  context->threads.run (context->threads.pool, (job->fine->n + SBK_LANES - 1) / SBK_LANES, sums_task, job);
  return cpu_cancelled (job->cancel) ? SBK_CANCELLED : SBK_OK;
}

static SbkStatus
cpu_sums (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, const SbkFine *fine, SbkSumKind kind,
          double *out, const int *cancel, SbkError *error)
{
  SumsJob job = { s, view, cpu_pairs (s, precise), model, fine, kind, 0, out, cancel };
  (void)error;
  return sums_run (&job);
}

static SbkStatus
cpu_sums_part (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, const SbkFine *fine, SbkSumKind kind,
               double *out, const int *cancel, SbkError *error)
{
  SumsJob job = { s, view, cpu_pairs (s, precise), model, fine, kind, 1, out, cancel };
  (void)error;
  return sums_run (&job);
}

static SbkStatus
cpu_power (SbkSpectrum *s, const SbkView *view, double *power, SbkError *error)
{
  int64_t n = sbk_view_count (view);
  double *sums = calloc ((size_t)n + 1, sizeof *sums);
  if (sums == NULL)
    return cpu_no_memory (error, "The power of the frequencies", (size_t)n * sizeof *sums);
  cpu_power_sums (s, view, sums, error);
  *power = 0;
  for (int64_t q = 0; q < n; q++)
    *power += sums[q];
  free (sums);
  return SBK_OK;
}

const SbkBackend sbk_cpu = {
  .abi = SBK_ABI,
  .name = "cpu",
  .score = cpu_score,
  .open = cpu_open,
  .close = cpu_close,
  .spectrum_from_counts = cpu_spectrum_from_counts,
  .spectrum_from_values = cpu_spectrum_from_values,
  .spectrum_free = cpu_spectrum_free,
  .spectrum_set_q = cpu_spectrum_set_q,
  .pairs_at_once = 5e7,
  .power = cpu_power,
  .spectrum_read = cpu_spectrum_read,
  .value = cpu_value,
  .gradient = cpu_gradient,
  .hessian = cpu_hessian,
  .sums = cpu_sums,
  .spectrum_set_scale = cpu_spectrum_set_scale,
  .geometry = cpu_geometry,
  .aliases = cpu_aliases,
  .alias_gradient = cpu_alias_gradient,
  .value_sums = cpu_value_sums,
  .gradient_part = cpu_gradient_part,
  .hessian_part = cpu_hessian_part,
  .hessian_end = cpu_hessian_end,
  .geometry_part = cpu_geometry_part,
  .power_sums = cpu_power_sums,
  .sums_part = cpu_sums_part,
  .aliases_part = cpu_aliases_part,
};
