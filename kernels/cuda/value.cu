/* S's numerator: h = <gamma, G> and n = <gamma, gamma> of every frequency, a chunk of detector rows a block, then sums in
 * fixed order: chunks, lanes, blocks. A candidate's chunks do not depend on the batch it stands in. */
#include "kernels/cuda/pairs.cuh"

/* Measured on an H200: four pixels at a time and six blocks a processor 3.10 ms, two and seven 3.51, eight and five 3.43. */
enum { MAX_CHUNK_ROWS = 64, PIXELS = 4 };
template <typename T> struct ValueBlocks {
  enum { value = sizeof (T) == sizeof (float) ? 6 : 1 };
};

/* partial[(candidate * chunks + chunk) * 3 + {hr, hi, n}][q_count] */
template <typename T, typename S, int DEPTH>
__global__ void
__launch_bounds__ (CUDA_THREADS, ValueBlocks<T>::value) value_kernel (CudaG v, const SbkModel *models, double *partial)
{
  __shared__ Chunk<MAX_CHUNK_ROWS> chunk;
  int first = blockIdx.y * v.chunk_rows, last = min (first + v.chunk_rows, v.n_rows);
  chunk_begin (chunk, v, &models[blockIdx.z], first, last);
  /* lanes beyond the view follow its last frequency, so that a warp stays whole */
  int i = blockIdx.x * CUDA_THREADS + threadIdx.x;
  int q = view_q (v, min (i, v.q_count - 1));
  double vx = v.vx[q], vy = v.vy[q], sum[3] = { 0, 0, 0 };
  Edge<T> edge = edge_make<T> (v);
  for (int r = first; r < last; r++) {
    Stretches s;
    double x = v.row_x[r];
    stretches_find (s, v, r, x, vx, vy);
    if (s.cut[0] == s.cut[3])
      continue;
    Row<T> row;
    T hr = 0, hi = 0, n = 0;
    row_begin<T> (row, chunk.model, chunk.here[r - first], x, vx, vy);
    each_stretch (v, s, [&] (int from, int to, auto has_a, auto has_b) {
      each_pixel<T, S, PIXELS> (v, q, from, to, [&] (T y, T a0, T gr, T gi) {
        T cr = 0, ci = 0;
        if (has_a.value) {
          T re, im, w = amplitude<T> (row.dx2_minus, y - row.vy, a0, edge.slope, edge.offset);
          if (DEPTH != DEPTH_NONE)
            w *= sinc<DEPTH> (fma (y, row.x_slope, row.x_minus));
          turn (horner<T> (row.minus, y), re, im);
          cr = w * re;
          ci = w * im;
        }
        if (has_b.value) {
          T re, im, w = amplitude<T> (row.dx2_plus, y + row.vy, a0, edge.slope, edge.offset);
          if (DEPTH != DEPTH_NONE)
            w *= sinc<DEPTH> (fma (y, row.x_slope, row.x_plus));
          turn (horner<T> (row.plus, y), re, im);
          cr = fma (-w, re, cr);
          ci = fma (-w, im, ci);
        }
        hr = fma (cr, gr, fma (ci, gi, hr));
        hi = fma (cr, gi, fma (-ci, gr, hi));
        n = fma (cr, cr, fma (ci, ci, n));
      });
    });
    sum[0] += hr;
    sum[1] += hi;
    sum[2] += n;
  }
  if (i < v.q_count)
    for (int j = 0; j < 3; j++)
      partial[(((size_t)blockIdx.z * v.chunks + blockIdx.y) * 3 + j) * v.q_count + i] = sum[j];
}

/* Chunks added up; |h|^2 / n of each frequency, a sum a block. h (may be NULL) receives [3][q_count] of each model. */
__global__ void
value_gather (int q_count, int chunks, const double *partial, double *h, double *block)
{
  __shared__ double shared[8];
  int i = blockIdx.x * 256 + threadIdx.x;
  double sum[3] = { 0, 0, 0 }, f = 0;
  if (i < q_count) {
    for (int c = 0; c < chunks; c++)
      for (int j = 0; j < 3; j++)
        sum[j] += partial[(((size_t)blockIdx.y * chunks + c) * 3 + j) * q_count + i];
    if (h != NULL)
      for (int j = 0; j < 3; j++)
        h[((size_t)blockIdx.y * 3 + j) * q_count + i] = sum[j];
    if (sum[2] > 0)
      f = (sum[0] * sum[0] + sum[1] * sum[1]) / sum[2];
  }
  f = block_sum<256> (f, shared);
  if (threadIdx.x == 0)
    block[(size_t)blockIdx.y * gridDim.x + blockIdx.x] = f;
}

/* The same sums a block from complete h and n. */
__global__ void
value_again (int q_count, const double *h, double *block)
{
  __shared__ double shared[8];
  int i = blockIdx.x * 256 + threadIdx.x;
  double f = 0;
  h += (size_t)blockIdx.y * 3 * q_count;
  if (i < q_count) {
    double re = h[i], im = h[(size_t)q_count + i], n = h[2 * (size_t)q_count + i];
    f = n > 0 ? (re * re + im * im) / n : 0;
  }
  f = block_sum<256> (f, shared);
  if (threadIdx.x == 0)
    block[(size_t)blockIdx.y * gridDim.x + blockIdx.x] = f;
}

/* total[y][width]: columns of block[y][n][width] added up, thread by thread, then in fixed order. */
__global__ void
cuda_total (int n, int width, const double *block, double *total)
{
  __shared__ double shared[8];
  double x = 0;
  for (int i = threadIdx.x; i < n; i += 256)
    x += block[((size_t)blockIdx.y * n + i) * width + blockIdx.x];
  x = block_sum<256> (x, shared);
  if (threadIdx.x == 0)
    total[(size_t)blockIdx.y * width + blockIdx.x] = x;
}

SbkStatus
cuda_value_pass (SbkSpectrum *s, const CudaG *v, int precise, const SbkModel *models, int n_models, int keep_h, int together,
                 SbkError *error)
{
  SbkContext *context = s->context;
  int blocks = cuda_blocks (v->q_count, 256);
  size_t q = (size_t)v->q_count;
  SbkModel *on_device = (SbkModel *)cuda_room (context, ROOM_MODELS, (size_t)n_models * sizeof *models, error);
  double *partial = (double *)cuda_room (context, ROOM_PARTIAL, (size_t)n_models * v->chunks * 3 * q * sizeof (double), error);
  keep_h = keep_h || together;
  double *h = keep_h ? (double *)cuda_room (context, ROOM_H, (size_t)n_models * 3 * q * sizeof (double), error) : NULL;
  double *block = (double *)cuda_room (context, ROOM_BLOCKS, (size_t)n_models * blocks * sizeof (double), error);
  double *total = (double *)cuda_room (context, ROOM_TOTAL, (size_t)n_models * sizeof (double) + 4096, error);
  if (on_device == NULL || partial == NULL || (keep_h && h == NULL) || block == NULL || total == NULL)
    return SBK_NO_MEMORY;
  SbkStatus status = cuda_send (context, on_device, models, (size_t)n_models * sizeof *models, error);
  if (status != SBK_OK)
    return status;
  dim3 grid (cuda_blocks (v->q_count, CUDA_THREADS), v->chunks, n_models);
#define CALL(T, S, D) value_kernel<T, S, D><<<grid, CUDA_THREADS, 0, context->stream>>> (*v, on_device, partial)
  CUDA_DISPATCH_VALUE (s->wide, precise, cuda_depth (s, models, s->v_max), CALL);
#undef CALL
  value_gather<<<dim3 (blocks, n_models), 256, 0, context->stream>>> (v->q_count, v->chunks, partial, h, block);
  if (together) {
    CUDA_TRY (context, cudaGetLastError (), "The value pass");
    status = cuda_sum_together (context, h, (size_t)n_models * 3 * q, error);
    if (status != SBK_OK)
      return status;
    value_again<<<dim3 (blocks, n_models), 256, 0, context->stream>>> (v->q_count, h, block);
  }
  cuda_total<<<dim3 (1, n_models), 256, 0, context->stream>>> (blocks, 1, block, total);
  CUDA_TRY (context, cudaGetLastError (), "The value pass");
  return SBK_OK;
}

/* Candidates of one call whose partial sums fit in about 1 GB; those with other depth factors apart, so that a candidate
 * takes the same path alone and in a batch. Processes that work together have as many each, whatever their rows are. */
static int
batch_size (const SbkSpectrum *s, const CudaG *v, const SbkModel *models, int64_t left, int together)
{
  double bytes = 24.0 * v->q_count;
  int64_t room = (int64_t)(together ? 4e6 / bytes : 1e9 / (v->chunks * bytes)), n = 1;
  room = room < 1 ? 1 : room > 16384 ? 16384 : room;
  while (n < left && n < room && cuda_depth (s, &models[n], s->v_max) == cuda_depth (s, models, s->v_max))
    n++;
  return (int)n;
}

SbkStatus
cuda_value (SbkSpectrum *s, const SbkView *view, int precise, int64_t n_models, const SbkModel *models, double *value,
            const int *cancel, SbkError *error)
{
  int64_t q_count = sbk_view_count (view);
  if (q_count == 0) {
    for (int64_t i = 0; i < n_models; i++)
      value[i] = 0;
    return SBK_OK;
  }
  CudaG v = cuda_view (s, view, q_count, MAX_CHUNK_ROWS);
  for (int64_t done = 0; done < n_models;) {
    int n = batch_size (s, &v, models + done, n_models - done, view->together);
    if (cuda_cancelled (cancel))
      return SBK_CANCELLED;
    SbkStatus status = cuda_value_pass (s, &v, precise, models + done, n, 0, view->together, error);
    if (status == SBK_OK)
      status = cuda_fetch (s->context, value + done, s->context->room[ROOM_TOTAL].data, (size_t)n * sizeof (double), error);
    if (status != SBK_OK)
      return status;
    done += n;
  }
  return cuda_cancelled (cancel) ? SBK_CANCELLED : SBK_OK;
}
