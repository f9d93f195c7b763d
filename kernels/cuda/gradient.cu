/* All 31 derivatives from real moments of t_a and t_b: powers of y along a row, powers of x from row to row, the shift by q
 * in float64 at the end of a chunk; then sums over frequencies in fixed order. */
#include "kernels/cuda/pairs.cuh"

enum { MAX_CHUNK_ROWS = 16 };

template <typename T> struct Moments {
  T a[SBK_DEGREE + 1], b[SBK_DEGREE + 1], ua0, ua1, ub0, ub1;
};

template <typename T> struct Factors {
  T re, im, w;
};

template <typename T, typename S, int A, int B, int THICK>
__device__ __forceinline__ void
gradient_stretch (const CudaG &v, const Row<T> &row, const Edge<T> &edge, const Factors<T> &r, int q, int from, int to,
                  Moments<T> &m)
{
#pragma unroll 2
  for (int k = from; k < to; k += v.k_stride) {
    T y, a0, gr, gi, ar, ai, br, bi, as = 1, bs = 1, da = 0, db = 0, unused, pr = 0, pi = 0;
    load_pixel (v, k, y, a0);
    load_g<T, S> (v, k, q, gr, gi);
    if (A) {
      T w = amplitude<T> (row.dx2_minus, y - row.vy, a0, edge.slope, edge.offset);
      turn (horner<T> (row.minus, y), ar, ai);
      ar *= w;
      ai *= w;
      if (THICK)
        sinc_derivatives<T> (fma (y, row.x_slope, row.x_minus), as, da, unused);
      pr = ar * as;
      pi = ai * as;
    }
    if (B) {
      T w = amplitude<T> (row.dx2_plus, y + row.vy, a0, edge.slope, edge.offset);
      turn (horner<T> (row.plus, y), br, bi);
      br *= w;
      bi *= w;
      if (THICK)
        sinc_derivatives<T> (fma (y, row.x_slope, row.x_plus), bs, db, unused);
      pr = fma (-br, bs, pr);
      pi = fma (-bi, bs, pi);
    }
    T rr = fma (r.re, gr, fma (-r.im, gi, -r.w * pr));
    T ri = fma (r.re, gi, fma (r.im, gr, -r.w * pi));
    if (A) {
      T t = 2 * (ar * ri - ai * rr) * as;
      if (THICK) {
        T u = 2 * (ar * rr + ai * ri) * da;
        m.ua0 += u;
        m.ua1 = fma (u, y, m.ua1);
      }
      m.a[0] += t;
#pragma unroll
      for (int j = 1; j <= SBK_DEGREE; j++) {
        t *= y;
        m.a[j] += t;
      }
    }
    if (B) {
      T t = -2 * (br * ri - bi * rr) * bs;
      if (THICK) {
        T u = -2 * (br * rr + bi * ri) * db;
        m.ub0 += u;
        m.ub1 = fma (u, y, m.ub1);
      }
      m.b[0] += t;
#pragma unroll
      for (int j = 1; j <= SBK_DEGREE; j++) {
        t *= y;
        m.b[j] += t;
      }
    }
  }
}

#define BINOMIAL(n, k)                                                                                                  \
  ((k) == 0 || (k) == (n) ? 1.0                                                                                         \
   : (k) == 1 || (k) == (n)-1 ? (double)(n)                                                                             \
   : (n) == 4 ? 6.0                                                                                                     \
   : (n) == 5 ? 10.0                                                                                                    \
   : (k) == 3 ? 20.0                                                                                                    \
              : 15.0)

/* sum t (x - sx)^i (y - sy)^j from the moments of x^p y^q */
template <typename T>
__device__ __forceinline__ double
shifted (const T m[SBK_N_MONOMIALS], int i, int j, double sx, double sy)
{
  double sum = 0, px = 1;
#pragma unroll
  for (int p = SBK_DEGREE; p >= 0; p--) {
    if (p > i)
      continue;
    double py = 1, inner = 0;
#pragma unroll
    for (int q = SBK_DEGREE; q >= 0; q--) {
      if (q > j)
        continue;
      inner = fma (BINOMIAL (j, q) * py, (double)m[(p + q) * (p + q + 1) / 2 + q], inner);
      py *= -sy;
    }
    sum = fma (BINOMIAL (i, p) * px, inner, sum);
    px *= -sx;
  }
  return sum;
}

/* block[chunk * gridDim.x + block][SBK_N] */
template <typename T, typename S, int THICK>
__global__ void __launch_bounds__ (CUDA_THREADS)
gradient_kernel (CudaG v, const SbkModel *on_device, const double *h, double *block)
{
  __shared__ SbkModel model;
  __shared__ double here[MAX_CHUNK_ROWS][SBK_DEGREE + 1];
  __shared__ double lanes[CUDA_THREADS / 32][SBK_N];
  for (int i = threadIdx.x; i < (int)(sizeof (SbkModel) / sizeof (double)); i += CUDA_THREADS)
    ((double *)&model)[i] = ((const double *)on_device)[i];
  __syncthreads ();
  int first = blockIdx.y * v.chunk_rows, last = min (first + v.chunk_rows, v.n_rows);
  for (int i = threadIdx.x; i < (last - first) * (SBK_DEGREE + 1); i += CUDA_THREADS)
    row_here (model.chi, v.row_x[first + i / (SBK_DEGREE + 1)], i % (SBK_DEGREE + 1),
              &here[i / (SBK_DEGREE + 1)][i % (SBK_DEGREE + 1)]);
  __syncthreads ();
  int i = blockIdx.x * CUDA_THREADS + threadIdx.x, at = min (i, v.q_count - 1), q = view_q (v, at);
  double vx = v.vx[q], vy = v.vy[q];
  double hr = h[at], hi = h[(size_t)v.q_count + at], n = h[2 * (size_t)v.q_count + at];
  double inverse = i < v.q_count && n > 0 ? 1 / n : 0;
  Factors<T> r = { (T)(hr * inverse), (T)(-hi * inverse), (T)((hr * hr + hi * hi) * inverse * inverse) };
  Edge<T> edge = edge_make<T> (v);
  T ma[SBK_N_MONOMIALS], mb[SBK_N_MONOMIALS];
  double u0 = 0, u1 = 0;
#pragma unroll
  for (int m = 0; m < SBK_N_MONOMIALS; m++)
    ma[m] = mb[m] = 0;
  for (int row_i = first; row_i < last; row_i++) {
    Stretches s;
    double x = v.row_x[row_i];
    stretches_find (s, v, row_i, x, vx, vy);
    if (s.cut[0] == s.cut[3])
      continue;
    Row<T> row;
    Moments<T> m;
    row_begin<T> (row, model, here[row_i - first], x, vx, vy);
#pragma unroll
    for (int j = 0; j <= SBK_DEGREE; j++)
      m.a[j] = m.b[j] = 0;
    m.ua0 = m.ua1 = m.ub0 = m.ub1 = 0;
    for (int c = 0; c < 3; c++) {
      int from = s.cut[c], to = s.cut[c + 1];
      bool a = from >= s.a0 && to <= s.a1, b = from >= s.b0 && to <= s.b1;
      from = align_up (from, v.k_first, v.k_stride);
      if (a && b)
        gradient_stretch<T, S, 1, 1, THICK> (v, row, edge, r, q, from, to, m);
      else if (a)
        gradient_stretch<T, S, 1, 0, THICK> (v, row, edge, r, q, from, to, m);
      else if (b)
        gradient_stretch<T, S, 0, 1, THICK> (v, row, edge, r, q, from, to, m);
    }
    T power = 1;
#pragma unroll
    for (int e = 0; e <= SBK_DEGREE; e++) {
#pragma unroll
      for (int j = 0; j <= SBK_DEGREE - e; j++) {
        ma[(e + j) * (e + j + 1) / 2 + j] = fma (power, m.a[j], ma[(e + j) * (e + j + 1) / 2 + j]);
        mb[(e + j) * (e + j + 1) / 2 + j] = fma (power, m.b[j], mb[(e + j) * (e + j + 1) / 2 + j]);
      }
      power *= (T)x;
    }
    if (THICK) {
      double v2 = (vx * vx + vy * vy) / 2, vt = vx * model.tilt[0] + vy * model.tilt[1];
      u0 += (double)m.ua0 + (double)m.ub0;
      u1 += (x * vx - v2 - vt) * (double)m.ua0 + (x * vx + v2 - vt) * (double)m.ub0
            + vy * ((double)m.ua1 + (double)m.ub1);
    }
  }
  int warp = threadIdx.x / 32;
#pragma unroll
  for (int e = 0; e <= SBK_DEGREE; e++)
#pragma unroll
    for (int j = 0; j <= SBK_DEGREE - e; j++) {
      int m = (e + j) * (e + j + 1) / 2 + j;
      double d = (double)ma[m] - (double)mb[m] - shifted<T> (ma, e, j, vx, vy) + shifted<T> (mb, e, j, -vx, -vy);
      d *= 6.283185307179586;
#pragma unroll
      for (int lane = 16; lane > 0; lane /= 2)
        d += __shfl_down_sync (0xffffffffu, d, lane);
      if (threadIdx.x % 32 == 0)
        lanes[warp][m] = d;
    }
  double extra[3] = { -model.depth * vx * u0, -model.depth * vy * u0, u1 };
#pragma unroll
  for (int e = 0; e < 3; e++) {
    double d = extra[e];
#pragma unroll
    for (int lane = 16; lane > 0; lane /= 2)
      d += __shfl_down_sync (0xffffffffu, d, lane);
    if (threadIdx.x % 32 == 0)
      lanes[warp][SBK_TILT_X + e] = d;
  }
  __syncthreads ();
  if (threadIdx.x < SBK_N) {
    double d = 0;
    for (int w = 0; w < CUDA_THREADS / 32; w++)
      d += lanes[w][threadIdx.x];
    block[((size_t)blockIdx.y * gridDim.x + blockIdx.x) * SBK_N + threadIdx.x] = d;
  }
}

__global__ void gradient_total (int n, const double *block, double *total);

/* total[SBK_N] */
__global__ void
gradient_total (int n, const double *block, double *total)
{
  __shared__ double shared[8];
  double x = 0;
  for (int i = threadIdx.x; i < n; i += 256)
    x += block[(size_t)i * SBK_N + blockIdx.x];
  x = block_sum<256> (x, shared);
  if (threadIdx.x == 0)
    total[blockIdx.x] = x;
}

SbkStatus
cuda_gradient (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, double *value,
               double gradient[SBK_N], const int *cancel, SbkError *error)
{
  SbkContext *context = s->context;
  int64_t q_count = cuda_view_count (view);
  double out[1 + SBK_N];
  *value = 0;
  for (int i = 0; i < SBK_N; i++)
    gradient[i] = 0;
  if (q_count == 0)
    return SBK_OK;
  /* The value pass in the chunks it has on its own, so that S has the same bits. */
  CudaG whole = cuda_view (s, view, q_count, 64), v = cuda_view (s, view, q_count, MAX_CHUNK_ROWS);
  SbkStatus status = cuda_value_pass (s, &whole, precise, model, 1, 1, error);
  if (status != SBK_OK)
    return status;
  dim3 grid (cuda_blocks (q_count, CUDA_THREADS), v.chunks);
  int blocks = (int)(grid.x * grid.y);
  double *block = (double *)cuda_room (context, ROOM_BLOCKS, (size_t)blocks * SBK_N * sizeof (double), error);
  if (block == NULL)
    return SBK_NO_MEMORY;
  double *total = (double *)context->room[ROOM_TOTAL].data;
  const double *h = (const double *)context->room[ROOM_H].data;
  const SbkModel *on_device = (const SbkModel *)context->room[ROOM_MODELS].data;
#define CALL(T, S)                                                                                                      \
  if (model->depth != 0)                                                                                                \
    gradient_kernel<T, S, 1><<<grid, CUDA_THREADS, 0, context->stream>>> (v, on_device, h, block);                      \
  else                                                                                                                  \
    gradient_kernel<T, S, 0><<<grid, CUDA_THREADS, 0, context->stream>>> (v, on_device, h, block)
  CUDA_DISPATCH (s, precise, CALL);
#undef CALL
  gradient_total<<<SBK_N, 256, 0, context->stream>>> (blocks, block, total + 1);
  CUDA_TRY (context, cudaGetLastError (), "The gradient pass");
  status = cuda_fetch (context, out, total, sizeof out, error);
  *value = out[0];
  for (int i = 0; i < SBK_N; i++)
    gradient[i] = out[1 + i];
  return status == SBK_OK && cuda_cancelled (cancel) ? SBK_CANCELLED : status;
}
