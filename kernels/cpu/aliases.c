/* Groups of aliases on the CPU: one task a group, sums and derivatives in fixed order. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/cpu.h"

/* Members beyond the last one lie where no aperture reaches. */
#define FAR_AWAY 100.0

/* A worker's room, for the largest group. */
typedef struct {
  double *vx, *vy, *gamma, *sum;
  void *residual;
} Scratch;

typedef struct {
  const SbkSpectrum *spectrum;
  const SbkView *view;
  const CpuPairs *pairs;
  const SbkModel *model;
  const SbkAliases *aliases;
  int add;          /* sums to what is in out */
  const double *x;  /* of the gradient; NULL: sums */
  double *out;      /* sums, or [groups][SBK_N] */
  Scratch *scratch; /* [workers] */
  const int *cancel;
} AliasJob;

static void
scratch_free (Scratch *scratch, unsigned workers)
{
  for (unsigned w = 0; scratch != NULL && w < workers; w++) {
    free (scratch[w].vx);
    free (scratch[w].vy);
    free (scratch[w].gamma);
    free (scratch[w].sum);
    free (scratch[w].residual);
  }
  free (scratch);
}

static Scratch *
scratch_new (const SbkSpectrum *s, unsigned workers, int64_t most, int gradient)
{
  size_t lanes = (size_t)((most + SBK_LANES - 1) / SBK_LANES) * SBK_LANES;
  Scratch *scratch = calloc (workers, sizeof *scratch);
  for (unsigned w = 0; scratch != NULL && w < workers; w++) {
    Scratch *to = &scratch[w];
    to->vx = malloc (lanes * sizeof (double) + 1);
    to->vy = malloc (lanes * sizeof (double) + 1);
    to->gamma = malloc (CPU_ALIAS_PIXELS * 2 * (lanes + SBK_LANES) * sizeof (double));
    to->sum = malloc ((size_t)(most + 1) * 2 * lanes * sizeof (double) + 1);
    to->residual = gradient ? malloc ((size_t)s->n_pixels * 2 * SBK_LANES * sizeof (double) + 1) : NULL;
    if (!to->vx || !to->vy || !to->gamma || !to->sum || (gradient && !to->residual)) {
      scratch_free (scratch, workers);
      return NULL;
    }
  }
  return scratch;
}

static void
alias_task (int64_t i, unsigned worker, void *data)
{
  AliasJob *job = data;
  const SbkSpectrum *s = job->spectrum;
  const SbkAliases *a = job->aliases;
  Scratch *room = &job->scratch[worker];
  size_t size = s->wide ? sizeof (double) : sizeof (float);
  int64_t q = a->source[i], first = a->start[i];
  CpuAliasGroup group = { .spectrum = s,
                          .vx = room->vx,
                          .vy = room->vy,
                          .k_first = job->view->k_first,
                          .k_stride = job->view->k_stride,
                          .view = job->view,
                          .model = job->model,
                          .gamma = room->gamma,
                          .sum = room->sum,
                          .residual = room->residual,
                          .add = job->add };
  if (cpu_cancelled (job->cancel))
    return;
  group.n = (int)(a->start[i + 1] - first);
  group.tiles = (group.n + SBK_LANES - 1) / SBK_LANES;
  group.g = (const char *)s->g + (size_t)((q / SBK_LANES) * s->n_pixels * 2 * SBK_LANES + q % SBK_LANES) * size;
  for (int m = 0; m < group.tiles * SBK_LANES; m++) {
    room->vx[m] = m < group.n ? a->vx[first + m] : FAR_AWAY;
    room->vy[m] = m < group.n ? a->vy[first + m] : FAR_AWAY;
  }
  if (job->x == NULL) {
    job->pairs->aliases (&group, job->out + a->place[i]);
    return;
  }
  group.x = job->x + 2 * first;
  job->pairs->alias_gradient (&group, job->out + i * SBK_N);
}

static SbkStatus
run (AliasJob *job, SbkError *error)
{
  const SbkContext *context = job->spectrum->context;
  job->scratch = scratch_new (job->spectrum, context->threads.count, job->aliases->most, job->x != NULL);
  if (job->scratch == NULL)
    return cpu_fail (error, SBK_NO_MEMORY, "Not enough memory for groups of %lld aliases; scan with a smaller step.",
                     (long long)job->aliases->most);
  context->threads.run (context->threads.pool, job->aliases->n_groups, alias_task, job);
  scratch_free (job->scratch, context->threads.count);
  return cpu_cancelled (job->cancel) ? SBK_CANCELLED : SBK_OK;
}

SbkStatus
cpu_aliases (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, const SbkAliases *aliases, double *out,
             const int *cancel, SbkError *error)
{
  AliasJob job = { s, view, cpu_pairs (s, precise), model, aliases, 0, NULL, out, NULL, cancel };
  return run (&job, error);
}

SbkStatus
cpu_aliases_part (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, const SbkAliases *aliases,
                  double *out, const int *cancel, SbkError *error)
{
  AliasJob job = { s, view, cpu_pairs (s, precise), model, aliases, 1, NULL, out, NULL, cancel };
  return run (&job, error);
}

SbkStatus
cpu_alias_gradient (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, const SbkAliases *aliases,
                    const double *x, double gradient[SBK_N], const int *cancel, SbkError *error)
{
  double *part = calloc ((size_t)aliases->n_groups * SBK_N + 1, sizeof *part);
  if (part == NULL)
    return cpu_no_memory (error, "The gradient", (size_t)aliases->n_groups * SBK_N * sizeof *part);
  AliasJob job = { s, view, cpu_pairs (s, precise), model, aliases, 0, x, part, NULL, cancel };
  SbkStatus status = run (&job, error);
  memset (gradient, 0, SBK_N * sizeof *gradient);
  for (int64_t i = 0; i < aliases->n_groups; i++)
    for (int j = 0; j < SBK_N; j++)
      gradient[j] += part[i * SBK_N + j];
  free (part);
  return status;
}
