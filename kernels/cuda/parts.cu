/* Passes over parts of G: sums of each frequency to the host and back, what a part gives is added to what is there. */
#include "kernels/cuda/pairs.cuh"

#include <stdlib.h>

enum { THREADS = 256 };

/* [3][n] <-> [n][3] */
__global__ void
pack_sums (int n, const double *planes, double *sums)
{
  int q = blockIdx.x * THREADS + threadIdx.x;
  for (int j = 0; j < 3 && q < n; j++)
    sums[3 * (size_t)q + j] = planes[(size_t)j * n + q];
}

__global__ void
unpack_sums (int n, const double *sums, double *planes)
{
  int q = blockIdx.x * THREADS + threadIdx.x;
  for (int j = 0; j < 3 && q < n; j++)
    planes[(size_t)j * n + q] = sums[3 * (size_t)q + j];
}

static void
add (double *to, const double *from, size_t n)
{
  for (size_t i = 0; i < n; i++)
    to[i] += from[i];
}

SbkStatus
cuda_value_sums (SbkSpectrum *s, const SbkView *view, int precise, int64_t n_models, const SbkModel *models, double *sums,
                 const int *cancel, SbkError *error)
{
  SbkContext *context = s->context;
  int64_t n = sbk_view_count (view);
  if (n == 0)
    return SBK_OK;
  CudaG v = cuda_view (s, view, n, 64);
  double *host = (double *)malloc ((size_t)n * 3 * sizeof *host);
  SbkStatus status = host != NULL ? SBK_OK : cuda_fail (error, SBK_NO_MEMORY, "Not enough memory for the sums of a pass.");
  for (int64_t m = 0; m < n_models && status == SBK_OK; m++) {
    double *packed = (double *)cuda_room (context, ROOM_OUT, (size_t)n * 3 * sizeof *packed, error);
    status = packed == NULL            ? SBK_NO_MEMORY
             : cuda_cancelled (cancel) ? SBK_CANCELLED
                                       : cuda_value_pass (s, &v, precise, models + m, 1, 1, 0, error);
    if (status != SBK_OK)
      break;
    pack_sums<<<cuda_blocks (n, THREADS), THREADS, 0, context->stream>>> ((int)n, (const double *)context->room[ROOM_H].data,
                                                                          packed);
    status = cuda_fetch (context, host, packed, (size_t)n * 3 * sizeof *host, error);
    if (status == SBK_OK)
      add (sums + m * n * 3, host, (size_t)n * 3);
  }
  free (host);
  return status;
}

/* Complete sums and the model to the device, where a pass of derivatives expects them: ROOM_H and ROOM_MODELS. */
SbkStatus
cuda_parts_begin (SbkContext *context, int64_t n, const double *sums, const SbkModel *model, SbkError *error)
{
  double *packed = (double *)cuda_room (context, ROOM_OUT, (size_t)n * 3 * sizeof *packed, error);
  double *h = (double *)cuda_room (context, ROOM_H, (size_t)n * 3 * sizeof *h, error);
  SbkModel *on_device = (SbkModel *)cuda_room (context, ROOM_MODELS, sizeof *model, error);
  if (packed == NULL || h == NULL || on_device == NULL || cuda_room (context, ROOM_TOTAL, 4096, error) == NULL)
    return SBK_NO_MEMORY;
  SbkStatus status = cuda_send (context, packed, sums, (size_t)n * 3 * sizeof *sums, error);
  if (status == SBK_OK)
    status = cuda_send (context, on_device, model, sizeof *model, error);
  if (status != SBK_OK)
    return status;
  unpack_sums<<<cuda_blocks (n, THREADS), THREADS, 0, context->stream>>> ((int)n, packed, h);
  return cuda_check (context, cudaGetLastError (), "A pass in parts", error);
}

/* What a part gave goes into carry's first numbers; the last part hands it on. */
static void
carry_on (const double *part, int n, double *carry, double *out)
{
  if (carry != NULL)
    add (carry, part, (size_t)n);
  if (out != NULL)
    add (out, carry != NULL ? carry : part, (size_t)n);
}

SbkStatus
cuda_gradient_part (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, const double *sums, double *carry,
                    double *gradient, const int *cancel, SbkError *error)
{
  SbkContext *context = s->context;
  int64_t n = sbk_view_count (view);
  double part[SBK_N];
  SbkStatus status = n > 0 ? cuda_parts_begin (context, n, sums, model, error) : SBK_OK;
  if (n == 0 || status != SBK_OK)
    return status;
  double *h = (double *)context->room[ROOM_H].data, *total = (double *)context->room[ROOM_TOTAL].data;
  cuda_gradient_factors (context, n, h);
  status = cuda_gradient_pass (s, view, n, NULL, s->wide, precise, cuda_depth (s, model, s->v_max),
                               (const SbkModel *)context->room[ROOM_MODELS].data, h, total, error);
  if (status == SBK_OK)
    status = cuda_fetch (context, part, total, sizeof part, error);
  if (status == SBK_OK)
    carry_on (part, SBK_N, carry, gradient);
  return status == SBK_OK && cuda_cancelled (cancel) ? SBK_CANCELLED : status;
}

SbkStatus
cuda_geometry_part (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, const double *sums, double *carry,
                    double *derivative, const int *cancel, SbkError *error)
{
  SbkContext *context = s->context;
  int64_t n = sbk_view_count (view);
  double part[2];
  SbkStatus status = n > 0 ? cuda_parts_begin (context, n, sums, model, error) : SBK_OK;
  if (n == 0 || status != SBK_OK)
    return status;
  double *total = (double *)context->room[ROOM_TOTAL].data;
  status = cuda_geometry_pass (s, view, n, precise, model, total, error);
  if (status == SBK_OK)
    status = cuda_fetch (context, part, total, sizeof part, error);
  if (status == SBK_OK)
    carry_on (part, 2, carry, derivative);
  return status == SBK_OK && cuda_cancelled (cancel) ? SBK_CANCELLED : status;
}

template <typename S>
__global__ void
power_of_each (CudaG v, double *sums)
{
  typedef typename Complex<S>::type C;
  int i = blockIdx.x * THREADS + threadIdx.x;
  double sum = 0;
  if (i >= v.q_count)
    return;
  int q = view_q (v, i);
  for (int r = v.row_first; r < v.n_rows; r += v.row_stride)
    for (int k = align_up (v.row_start[r], v.k_first, v.k_stride); k < v.row_start[r + 1]; k += v.k_stride) {
      C g = ((const C *)v.g)[(long long)k * v.pitch + q];
      sum += (double)g.x * (double)g.x + (double)g.y * (double)g.y;
    }
  sums[i] = sum;
}

SbkStatus
cuda_power_sums (SbkSpectrum *s, const SbkView *view, double *sums, SbkError *error)
{
  SbkContext *context = s->context;
  int64_t n = sbk_view_count (view);
  if (n == 0)
    return SBK_OK;
  CudaG v = cuda_view (s, view, n, 64);
  double *on_device = (double *)cuda_room (context, ROOM_OUT, (size_t)n * sizeof *on_device, error);
  double *host = (double *)malloc ((size_t)n * sizeof *host);
  SbkStatus status = on_device == NULL || host == NULL ? SBK_NO_MEMORY : SBK_OK;
  if (status == SBK_OK && s->wide)
    power_of_each<double><<<cuda_blocks (n, THREADS), THREADS, 0, context->stream>>> (v, on_device);
  else if (status == SBK_OK)
    power_of_each<float><<<cuda_blocks (n, THREADS), THREADS, 0, context->stream>>> (v, on_device);
  if (status == SBK_OK)
    status = cuda_fetch (context, host, on_device, (size_t)n * sizeof *host, error);
  if (status == SBK_OK)
    add (sums, host, (size_t)n);
  free (host);
  return status;
}

SbkStatus
cuda_sums_part (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, const SbkFine *fine, SbkSumKind kind,
                double *out, const int *cancel, SbkError *error)
{
  size_t n = (size_t)fine->n * (size_t)sbk_sum_width (kind);
  double *part = (double *)malloc (n * sizeof *part + 1);
  if (part == NULL)
    return cuda_fail (error, SBK_NO_MEMORY, "Not enough memory for the sums of the reconstruction.");
  SbkStatus status = cuda_sums (s, view, precise, model, fine, kind, part, cancel, error);
  if (status == SBK_OK)
    add (out, part, n);
  free (part);
  return status;
}

SbkStatus
cuda_aliases_part (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, const SbkAliases *aliases,
                   double *out, const int *cancel, SbkError *error)
{
  size_t n = (size_t)aliases->place[aliases->n_groups];
  double *part = (double *)malloc (n * sizeof *part + 1);
  if (part == NULL)
    return cuda_fail (error, SBK_NO_MEMORY, "Not enough memory for the dealiased sums.");
  SbkStatus status = cuda_aliases (s, view, precise, model, aliases, part, cancel, error);
  if (status == SBK_OK)
    add (out, part, n);
  free (part);
  return status;
}
