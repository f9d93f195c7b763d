/* S's numerator: h = <gamma, G> and n = <gamma, gamma> of every frequency, a chunk of detector rows a block, then sums in
 * fixed order: chunks, lanes, blocks. A candidate's chunks do not depend on the batch it stands in. */
#include "kernels/cuda/pairs.cuh"

enum { MAX_CHUNK_ROWS = 64 };

template <typename T, typename S, int A, int B, int THICK>
__device__ __forceinline__ void
value_stretch (const CudaG &v, const Row<T> &row, const Edge<T> &edge, int q, int from, int to, T &hr, T &hi, T &n)
{
#pragma unroll 4
  for (int k = from; k < to; k += v.k_stride) {
    T y, a0, gr, gi, cr = 0, ci = 0;
    load_pixel (v, k, y, a0);
    load_g<T, S> (v, k, q, gr, gi);
    if (A) {
      T re, im, w = amplitude<T> (row.dx2_minus, y - row.vy, a0, edge.slope, edge.offset);
      if (THICK)
        w *= sinc (fma (y, row.x_slope, row.x_minus));
      turn (horner<T> (row.minus, y), re, im);
      cr = w * re;
      ci = w * im;
    }
    if (B) {
      T re, im, w = amplitude<T> (row.dx2_plus, y + row.vy, a0, edge.slope, edge.offset);
      if (THICK)
        w *= sinc (fma (y, row.x_slope, row.x_plus));
      turn (horner<T> (row.plus, y), re, im);
      cr = fma (-w, re, cr);
      ci = fma (-w, im, ci);
    }
    hr = fma (cr, gr, fma (ci, gi, hr));
    hi = fma (cr, gi, fma (-ci, gr, hi));
    n = fma (cr, cr, fma (ci, ci, n));
  }
}

/* partial[(candidate * chunks + chunk) * 3 + {hr, hi, n}][q_count] */
template <typename T, typename S, int THICK>
__global__ void __launch_bounds__ (CUDA_THREADS)
value_kernel (CudaG v, const SbkModel *models, double *partial)
{
  __shared__ SbkModel model;
  __shared__ double here[MAX_CHUNK_ROWS][SBK_DEGREE + 1];
  const double *from_model = (const double *)&models[blockIdx.z];
  for (int i = threadIdx.x; i < (int)(sizeof (SbkModel) / sizeof (double)); i += CUDA_THREADS)
    ((double *)&model)[i] = from_model[i];
  __syncthreads ();
  int first = blockIdx.y * v.chunk_rows, last = min (first + v.chunk_rows, v.n_rows);
  for (int i = threadIdx.x; i < (last - first) * (SBK_DEGREE + 1); i += CUDA_THREADS)
    row_here (model.chi, v.row_x[first + i / (SBK_DEGREE + 1)], i % (SBK_DEGREE + 1),
              &here[i / (SBK_DEGREE + 1)][i % (SBK_DEGREE + 1)]);
  __syncthreads ();
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
    row_begin<T> (row, model, here[r - first], x, vx, vy);
    for (int c = 0; c < 3; c++) {
      int from = s.cut[c], to = s.cut[c + 1];
      bool a = from >= s.a0 && to <= s.a1, b = from >= s.b0 && to <= s.b1;
      from = align_up (from, v.k_first, v.k_stride);
      if (a && b)
        value_stretch<T, S, 1, 1, THICK> (v, row, edge, q, from, to, hr, hi, n);
      else if (a)
        value_stretch<T, S, 1, 0, THICK> (v, row, edge, q, from, to, hr, hi, n);
      else if (b)
        value_stretch<T, S, 0, 1, THICK> (v, row, edge, q, from, to, hr, hi, n);
    }
    sum[0] += hr;
    sum[1] += hi;
    sum[2] += n;
  }
  if (i < v.q_count)
    for (int j = 0; j < 3; j++)
      partial[(((size_t)blockIdx.z * v.chunks + blockIdx.y) * 3 + j) * v.q_count + i] = sum[j];
}

/* Chunks added up; |h|^2 / n of each frequency, a sum a block. h (may be NULL) receives [3][q_count]. */
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
        h[(size_t)j * q_count + i] = sum[j];
    if (sum[2] > 0)
      f = (sum[0] * sum[0] + sum[1] * sum[1]) / sum[2];
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
cuda_value_pass (SbkSpectrum *s, const CudaG *v, int precise, const SbkModel *models, int n_models, int keep_h,
                 SbkError *error)
{
  SbkContext *context = s->context;
  int blocks = cuda_blocks (v->q_count, 256), thick = 0;
  size_t q = (size_t)v->q_count;
  SbkModel *on_device = (SbkModel *)cuda_room (context, ROOM_MODELS, (size_t)n_models * sizeof *models, error);
  double *partial = (double *)cuda_room (context, ROOM_PARTIAL, (size_t)n_models * v->chunks * 3 * q * sizeof (double), error);
  double *h = keep_h ? (double *)cuda_room (context, ROOM_H, 3 * q * sizeof (double), error) : NULL;
  double *block = (double *)cuda_room (context, ROOM_BLOCKS, (size_t)n_models * blocks * sizeof (double), error);
  double *total = (double *)cuda_room (context, ROOM_TOTAL, (size_t)n_models * sizeof (double) + 4096, error);
  if (on_device == NULL || partial == NULL || (keep_h && h == NULL) || block == NULL || total == NULL)
    return SBK_NO_MEMORY;
  for (int i = 0; i < n_models; i++)
    thick |= models[i].depth != 0;
  SbkStatus status = cuda_send (context, on_device, models, (size_t)n_models * sizeof *models, error);
  if (status != SBK_OK)
    return status;
  dim3 grid (cuda_blocks (v->q_count, CUDA_THREADS), v->chunks, n_models);
#define CALL(T, S)                                                                                                      \
  if (thick)                                                                                                            \
    value_kernel<T, S, 1><<<grid, CUDA_THREADS, 0, context->stream>>> (*v, on_device, partial);                         \
  else                                                                                                                  \
    value_kernel<T, S, 0><<<grid, CUDA_THREADS, 0, context->stream>>> (*v, on_device, partial)
  CUDA_DISPATCH (s, precise, CALL);
#undef CALL
  value_gather<<<dim3 (blocks, n_models), 256, 0, context->stream>>> (v->q_count, v->chunks, partial, h, block);
  cuda_total<<<dim3 (1, n_models), 256, 0, context->stream>>> (blocks, 1, block, total);
  CUDA_TRY (context, cudaGetLastError (), "The value pass");
  return SBK_OK;
}

/* Candidates of one call whose partial sums fit in about 1 GB; thin and thick ones apart, so that a candidate takes the
 * same path alone and in a batch. */
static int
batch_size (const CudaG *v, const SbkModel *models, int64_t left)
{
  int64_t room = (int64_t)(1e9 / ((double)v->chunks * 24 * v->q_count)), n = 1;
  room = room < 1 ? 1 : room > 16384 ? 16384 : room;
  while (n < left && n < room && (models[n].depth != 0) == (models[0].depth != 0))
    n++;
  return (int)n;
}

SbkStatus
cuda_value (SbkSpectrum *s, const SbkView *view, int precise, int64_t n_models, const SbkModel *models, double *value,
            const int *cancel, SbkError *error)
{
  int64_t q_count = cuda_view_count (view);
  if (q_count == 0) {
    for (int64_t i = 0; i < n_models; i++)
      value[i] = 0;
    return SBK_OK;
  }
  CudaG v = cuda_view (s, view, q_count, MAX_CHUNK_ROWS);
  for (int64_t done = 0; done < n_models;) {
    int n = batch_size (&v, models + done, n_models - done);
    if (cuda_cancelled (cancel))
      return SBK_CANCELLED;
    SbkStatus status = cuda_value_pass (s, &v, precise, models + done, n, 0, error);
    if (status == SBK_OK)
      status = cuda_fetch (s->context, value + done, s->context->room[ROOM_TOTAL].data, (size_t)n * sizeof (double), error);
    if (status != SBK_OK)
      return status;
    done += n;
  }
  return cuda_cancelled (cancel) ? SBK_CANCELLED : SBK_OK;
}
