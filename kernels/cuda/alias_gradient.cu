/* What aliases leave of G, and its derivatives: residual = G - sum_m x_m gamma_m of a slab of groups, one thread a group,
 * then the gradient with r = conj (x_m) residual, one thread a member. */
#include "kernels/cuda/pairs.cuh"

#include <stdlib.h>

#include "kernels/cuda/aliases.cuh"

enum { MAX_CHUNK_ROWS = 16, THREADS = 128, FAR_AWAY = 100 };
#define SLAB 1e9 /* bytes of residuals at a time */

/* residual[pixel][groups]: of groups first .. first + count; T is also how it is stored. */
template <typename T, typename S, int DEPTH>
__global__ void
__launch_bounds__ (THREADS) residual_kernel (CudaG v, CudaAliases a, int first_group, int count, long long pitch,
                                             const SbkModel *on_device, const double *x, typename Complex<T>::type *residual)
{
  typedef typename Complex<T>::type C;
  __shared__ Chunk<MAX_CHUNK_ROWS> chunk;
  int first = blockIdx.y * v.chunk_rows, last = min (first + v.chunk_rows, v.n_rows);
  chunk_begin (chunk, v, on_device, first, last);
  int i = blockIdx.x * THREADS + threadIdx.x, group = first_group + min (i, count - 1), q = a.source[group];
  int begin = a.start[group], n = i < count ? a.start[group + 1] - begin : 0, most = __reduce_max_sync (0xffffffffu, n);
  Edge<T> edge = edge_make<T> (v);
  for (int r = first; r < last; r++) {
    double row_x = v.row_x[r];
    if (i < count && view_row (v, r))
      for (int k = align_up (v.row_start[r], v.k_first, v.k_stride); k < v.row_start[r + 1]; k += v.k_stride) {
        C g;
        load_g<T, S> (v, k, q, g.x, g.y);
        residual[(long long)k * pitch + i] = g;
      }
    for (int m = 0; m < most; m++) {
      double vx = m < n ? a.vx[begin + m] : (double)FAR_AWAY, vy = m < n ? a.vy[begin + m] : (double)FAR_AWAY;
      T xr = m < n ? (T)x[2 * (begin + m)] : (T)0, xi = m < n ? (T)x[2 * (begin + m) + 1] : (T)0;
      Stretches s;
      stretches_find (s, v, r, row_x, vx, vy);
      if (s.cut[0] == s.cut[3] || m >= n)
        continue;
      Row<T> row;
      row_begin<T> (row, chunk.model, chunk.here[r - first], row_x, vx, vy);
      for (int k = align_up (s.cut[0], v.k_first, v.k_stride); k < s.cut[3]; k += v.k_stride) {
        T y, a0, ar, ai, br, bi;
        load_pixel (v, k, y, a0);
        T wa = amplitude<T> (row.dx2_minus, y - row.vy, a0, edge.slope, edge.offset);
        T wb = amplitude<T> (row.dx2_plus, y + row.vy, a0, edge.slope, edge.offset);
        if (!(wa + wb > 0))
          continue;
        if (DEPTH != DEPTH_NONE) {
          wa *= sinc<DEPTH> (fma (y, row.x_slope, row.x_minus));
          wb *= sinc<DEPTH> (fma (y, row.x_slope, row.x_plus));
        }
        turn (horner<T> (row.minus, y), ar, ai);
        turn (horner<T> (row.plus, y), br, bi);
        T cr = wa * ar - wb * br, ci = wa * ai - wb * bi;
        C *to = residual + (long long)k * pitch + i;
        C z = *to;
        z.x -= xr * cr - xi * ci;
        z.y -= xr * ci + xi * cr;
        *to = z;
      }
    }
  }
}

/* Factors of the members [first, first + count): f = conj (x), no weight; and which residual is theirs. */
__global__ void
member_factors (int first, int count, int first_group, const double *x, const int *group_of, double *factors, int *column)
{
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= count)
    return;
  factors[i] = x[2 * (first + i)];
  factors[(size_t)count + i] = -x[2 * (first + i) + 1];
  factors[2 * (size_t)count + i] = 0;
  column[i] = group_of[first + i] - first_group;
}

typedef struct {
  SbkSpectrum *s;
  const SbkView *view;
  const SbkAliases *aliases;
  CudaAliases a;
  int precise, depth;
  const SbkModel *model;
  const double *x;
  double *total;
} Job;

/* Adds the slab of groups [first, first + count). */
static SbkStatus
gradient_slab (const Job *job, int64_t first, int64_t count, double gradient[SBK_N], SbkError *error)
{
  SbkSpectrum *s = job->s;
  SbkContext *context = s->context;
  int wide = s->wide || job->precise;
  long long pitch = (count + 31) / 32 * 32;
  int64_t begin = job->aliases->start[first], members = job->aliases->start[first + count] - begin;
  double out[SBK_N];
  if (members == 0)
    return SBK_OK;
  void *residual = cuda_room (context, ROOM_RESIDUAL, (size_t)pitch * (size_t)s->n_pixels * (wide ? 16 : 8), error);
  double *factors = (double *)cuda_room (context, ROOM_H, (size_t)members * 28, error);
  if (residual == NULL || factors == NULL)
    return SBK_NO_MEMORY;
  int *column = (int *)(factors + 3 * members);
  CudaG v = cuda_view (s, job->view, count, MAX_CHUNK_ROWS);
  dim3 grid (cuda_blocks (count, THREADS), v.chunks);
#define CALL(T, S, D)                                                                                                          \
  residual_kernel<T, S, D><<<grid, THREADS, 0, context->stream>>> (v, job->a, (int)first, (int)count, pitch, job->model,       \
                                                                   job->x, (Complex<T>::type *)residual)
  CUDA_DISPATCH (s->wide, job->precise, job->depth, CALL);
#undef CALL
  member_factors<<<cuda_blocks (members, 256), 256, 0, context->stream>>> ((int)begin, (int)members, (int)first, job->x,
                                                                           job->a.group_of, factors, column);
  CUDA_TRY (context, cudaGetLastError (), "The dealiased gradient");
  SbkView whole = *job->view;
  whole.q_first = 0;
  whole.q_count = members;
  whole.q_stride = 1;
  whole.q_phase = 0;
  CudaG g = v;
  g.g = residual;
  g.pitch = pitch;
  g.vx = job->a.vx + begin;
  g.vy = job->a.vy + begin;
  g.column = column;
  SbkStatus status = cuda_gradient_pass (s, &whole, members, &g, wide, job->precise, job->depth, job->model, factors,
                                         job->total, error);
  if (status == SBK_OK)
    status = cuda_fetch (context, out, job->total, sizeof out, error);
  for (int i = 0; i < SBK_N && status == SBK_OK; i++)
    gradient[i] += out[i];
  return status;
}

SbkStatus
cuda_alias_gradient (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, const SbkAliases *aliases,
                     const double *x, double gradient[SBK_N], const int *cancel, SbkError *error)
{
  SbkContext *context = s->context;
  Job job = { s, view, aliases, {}, precise, 0, NULL, NULL, NULL };
  size_t members = (size_t)aliases->start[aliases->n_groups];
  for (int i = 0; i < SBK_N; i++)
    gradient[i] = 0;
  if (members == 0)
    return SBK_OK;
  SbkStatus status = cuda_aliases_send (context, aliases, &job.a, error);
  SbkModel *on_device = (SbkModel *)cuda_room (context, ROOM_MODELS, sizeof *model, error);
  double *amplitudes = (double *)cuda_room (context, ROOM_FINE, members * 16, error);
  job.total = (double *)cuda_room (context, ROOM_TOTAL, 4096, error);
  if (status != SBK_OK || on_device == NULL || amplitudes == NULL || job.total == NULL)
    return status != SBK_OK ? status : SBK_NO_MEMORY;
  status = cuda_send (context, on_device, model, sizeof *model, error);
  if (status == SBK_OK)
    status = cuda_send (context, amplitudes, x, members * 16, error);
  job.model = on_device;
  job.x = amplitudes;
  job.depth = cuda_depth (s, model, cuda_aliases_reach (aliases));
  double a_group = (double)s->n_pixels * (s->wide || precise ? 16 : 8);
  int64_t slab = (int64_t)(SLAB / a_group) < 32 ? 32 : (int64_t)(SLAB / a_group);
  for (int64_t first = 0; status == SBK_OK && first < aliases->n_groups; first += slab) {
    int64_t left = aliases->n_groups - first;
    status = cuda_cancelled (cancel) ? SBK_CANCELLED : gradient_slab (&job, first, left < slab ? left : slab, gradient, error);
  }
  /* slabs follow from the pixels that are here, so what all of them left goes round once */
  if (status == SBK_OK && view->together)
    status = cuda_send (context, job.total, gradient, SBK_N * sizeof *gradient, error);
  if (status == SBK_OK)
    status = cuda_sum_view (context, view, job.total, SBK_N, error);
  if (status == SBK_OK && view->together)
    status = cuda_fetch (context, gradient, job.total, SBK_N * sizeof *gradient, error);
  return status;
}
