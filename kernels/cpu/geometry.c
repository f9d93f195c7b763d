/* Rotation and scale of the detector on the CPU: pixels moved, and the derivatives of the value by them. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/cpu.h"

SbkStatus
cpu_spectrum_set_scale (SbkSpectrum *s, double scale, SbkError *error)
{
  double by = scale / s->scale;
  if (!(scale > 0))
    return cpu_fail (error, SBK_UNSUPPORTED, "A scale of %g is not possible.", scale);
  s->scale = scale;
  s->edge *= by;
  for (int64_t r = 0; r < s->n_rows; r++)
    s->row_x[r] *= by;
  for (int64_t r = 0; r < s->n_rows; r++)
    for (int64_t k = s->row_start[r]; k < s->row_start[r + 1]; k++) {
      s->pixel_y[k] *= by;
      double a = (1 - s->row_x[r] * s->row_x[r] - s->pixel_y[k] * s->pixel_y[k]) / (2 * s->edge) + 0.5;
      s->pixel_a[k] = a < 0 ? 0 : a > 1 ? 1 : a;
    }
  return SBK_OK;
}

typedef struct {
  SbkSpectrum *spectrum;
  const SbkView *view;
  const CpuPairs *pairs;
  const SbkModel *model;
  double *part; /* [blocks][3] value, turn, scale */
  const int *cancel;
} GeometryJob;

static void
geometry_task (int64_t i, unsigned worker, void *data)
{
  GeometryJob *job = data;
  CpuBlock block;
  double h[2][SBK_LANES], n[SBK_LANES];
  (void)worker;
  if (cpu_cancelled (job->cancel))
    return;
  cpu_block_init (&block, job->spectrum, job->view, cpu_view_block (job->view, i), job->model);
  job->part[3 * i] = cpu_block_value (job->pairs, &block, h, n);
  job->pairs->geometry (&block, h, n, NULL, job->part + 3 * i + 1);
}

SbkStatus
cpu_geometry (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, double *value, double derivative[2],
              const int *cancel, SbkError *error)
{
  int64_t blocks = sbk_view_blocks (view);
  double *part = calloc (3 * (size_t)blocks + 1, sizeof *part);
  if (part == NULL)
    return cpu_no_memory (error, "The gradient", 3 * (size_t)blocks * sizeof *part);
  GeometryJob job = { s, view, cpu_pairs (s, precise), model, part, cancel };
  s->context->threads.run (s->context->threads.pool, blocks, geometry_task, &job);
  *value = derivative[0] = derivative[1] = 0;
  for (int64_t i = 0; i < blocks; i++) {
    *value += part[3 * i];
    derivative[0] += part[3 * i + 1];
    derivative[1] += part[3 * i + 2];
  }
  free (part);
  return cpu_cancelled (cancel) ? SBK_CANCELLED : SBK_OK;
}
