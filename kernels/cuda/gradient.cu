/* All 31 derivatives from real moments of t_a and t_b: powers of y along a row, powers of x from row to row, the shift by q
 * in float64 at the end of a chunk; then sums over frequencies in fixed order. */
#include "kernels/cuda/pairs.cuh"

/* Measured on an H200: one pixel at a time and six blocks a processor 6.1 ms, two and five 6.2, four and four 7.5. */
enum { MAX_CHUNK_ROWS = 16, PIXELS = 1 };

template <typename T> struct Moments {
  T a[SBK_DEGREE + 1], b[SBK_DEGREE + 1], ua0, ua1, ub0, ub1;
};

template <typename T> struct Factors {
  T re, im, w;
};

/* Threads of a block: its 56 moments of each thread lie in shared memory. */
template <typename T> struct GradientThreads {
  enum { value = sizeof (T) == sizeof (float) ? 128 : 64, blocks = sizeof (T) == sizeof (float) ? 6 : 1 };
};

/* Derivatives of one sideband: sums t y^j, and u y^j of the argument of sinc. */
template <typename T, int DEPTH>
__device__ __forceinline__ void
add_side (T sign, T re, T im, T s, T d, T rr, T ri, T y, T m[SBK_DEGREE + 1], T &u0, T &u1)
{
  T t = sign * (re * ri - im * rr);
  if (DEPTH != DEPTH_NONE) {
    T u = sign * (re * rr + im * ri) * d;
    u0 += u;
    u1 = fma (u, y, u1);
    t *= s;
  }
  m[0] += t;
#pragma unroll
  for (int j = 1; j <= SBK_DEGREE; j++) {
    t *= y;
    m[j] += t;
  }
}

#define BINOMIAL(n, k)                                                                                                         \
  ((k) == 0 || (k) == (n)     ? 1.0                                                                                            \
   : (k) == 1 || (k) == (n)-1 ? (double)(n)                                                                                    \
   : (n) == 4                 ? 6.0                                                                                            \
   : (n) == 5                 ? 10.0                                                                                           \
   : (k) == 3                 ? 20.0                                                                                           \
                              : 15.0)

/* sum t (x - sx)^i (y - sy)^j from a thread's moments of x^p y^q */
template <typename T, int THREADS>
__device__ __forceinline__ double
shifted (T (*m)[THREADS], int i, int j, double sx, double sy)
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
      inner = fma (BINOMIAL (j, q) * py, (double)m[(p + q) * (p + q + 1) / 2 + q][threadIdx.x], inner);
      py *= -sy;
    }
    sum = fma (BINOMIAL (i, p) * px, inner, sum);
    px *= -sx;
  }
  return sum;
}

__device__ __forceinline__ double
warp_sum (double d)
{
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2)
    d += __shfl_down_sync (0xffffffffu, d, lane);
  return d;
}

/* factors[3][q_count]: Re and Im of f and the weight w of r = f G - w gamma, whose derivatives these are. block[chunk *
 * gridDim.x + block][SBK_N] */
template <typename T, typename S, int DEPTH>
__global__ void
__launch_bounds__ (GradientThreads<T>::value, GradientThreads<T>::blocks)
    gradient_kernel (CudaG v, const SbkModel *on_device, const double *factors, double *block)
{
  constexpr int THREADS = GradientThreads<T>::value;
  __shared__ Chunk<MAX_CHUNK_ROWS> chunk;
  __shared__ double lanes[THREADS / 32][SBK_N];
  __shared__ T ma[SBK_N_MONOMIALS][THREADS], mb[SBK_N_MONOMIALS][THREADS];
  int first = blockIdx.y * v.chunk_rows, last = min (first + v.chunk_rows, v.n_rows);
  chunk_begin (chunk, v, on_device, first, last);
  int i = blockIdx.x * THREADS + threadIdx.x, at = min (i, v.q_count - 1), q = view_q (v, at);
  double vx = v.vx[q], vy = v.vy[q];
  double valid = i < v.q_count ? 1 : 0;
  Factors<T> f = { (T)(valid * factors[at]), (T)(valid * factors[(size_t)v.q_count + at]),
                   (T)(valid * factors[2 * (size_t)v.q_count + at]) };
  q = v.column != NULL ? v.column[q] : q;
  Edge<T> edge = edge_make<T> (v);
  double u0 = 0, u1 = 0;
#pragma unroll
  for (int m = 0; m < SBK_N_MONOMIALS; m++)
    ma[m][threadIdx.x] = mb[m][threadIdx.x] = 0;
  for (int r = first; r < last; r++) {
    Stretches s;
    double x = v.row_x[r];
    stretches_find (s, v, r, x, vx, vy);
    if (s.cut[0] == s.cut[3])
      continue;
    Row<T> row;
    Moments<T> m;
    row_begin<T> (row, chunk.model, chunk.here[r - first], x, vx, vy);
#pragma unroll
    for (int j = 0; j <= SBK_DEGREE; j++)
      m.a[j] = m.b[j] = 0;
    m.ua0 = m.ua1 = m.ub0 = m.ub1 = 0;
    each_stretch (v, s, [&] (int from, int to, auto has_a, auto has_b) {
      each_pixel<T, S, PIXELS> (v, q, from, to, [&] (T y, T a0, T gr, T gi) {
        T ar, ai, br, bi, as = 1, bs = 1, da = 0, db = 0, unused, pr = 0, pi = 0;
        if (has_a.value) {
          T w = amplitude<T> (row.dx2_minus, y - row.vy, a0, edge.slope, edge.offset);
          turn (horner<T> (row.minus, y), ar, ai);
          ar *= w;
          ai *= w;
          if (DEPTH != DEPTH_NONE)
            sinc_derivatives<DEPTH> (fma (y, row.x_slope, row.x_minus), as, da, unused);
          pr = ar * as;
          pi = ai * as;
        }
        if (has_b.value) {
          T w = amplitude<T> (row.dx2_plus, y + row.vy, a0, edge.slope, edge.offset);
          turn (horner<T> (row.plus, y), br, bi);
          br *= w;
          bi *= w;
          if (DEPTH != DEPTH_NONE)
            sinc_derivatives<DEPTH> (fma (y, row.x_slope, row.x_plus), bs, db, unused);
          pr = fma (-br, bs, pr);
          pi = fma (-bi, bs, pi);
        }
        T rr = fma (f.re, gr, fma (-f.im, gi, -f.w * pr));
        T ri = fma (f.re, gi, fma (f.im, gr, -f.w * pi));
        if (has_a.value)
          add_side<T, DEPTH> (2, ar, ai, as, da, rr, ri, y, m.a, m.ua0, m.ua1);
        if (has_b.value)
          add_side<T, DEPTH> (-2, br, bi, bs, db, rr, ri, y, m.b, m.ub0, m.ub1);
      });
    });
    T power = 1;
#pragma unroll
    for (int e = 0; e <= SBK_DEGREE; e++) {
#pragma unroll
      for (int j = 0; j <= SBK_DEGREE - e; j++) {
        ma[(e + j) * (e + j + 1) / 2 + j][threadIdx.x] += power * m.a[j];
        mb[(e + j) * (e + j + 1) / 2 + j][threadIdx.x] += power * m.b[j];
      }
      power *= (T)x;
    }
    if (DEPTH != DEPTH_NONE) {
      const SbkModel &model = chunk.model;
      double v2 = (vx * vx + vy * vy) / 2, vt = vx * model.tilt[0] + vy * model.tilt[1];
      u0 += (double)m.ua0 + (double)m.ub0;
      u1 += (x * vx - v2 - vt) * (double)m.ua0 + (x * vx + v2 - vt) * (double)m.ub0 + vy * ((double)m.ua1 + (double)m.ub1);
    }
  }
  int warp = threadIdx.x / 32;
#pragma unroll
  for (int e = 0; e <= SBK_DEGREE; e++)
#pragma unroll
    for (int j = 0; j <= SBK_DEGREE - e; j++) {
      int m = (e + j) * (e + j + 1) / 2 + j;
      double d = (double)ma[m][threadIdx.x] - (double)mb[m][threadIdx.x] - shifted<T, THREADS> (ma, e, j, vx, vy)
                 + shifted<T, THREADS> (mb, e, j, -vx, -vy);
      d = warp_sum (6.283185307179586 * d);
      if (threadIdx.x % 32 == 0)
        lanes[warp][m] = d;
    }
  double extra[3] = { -chunk.model.depth * vx * u0, -chunk.model.depth * vy * u0, u1 };
#pragma unroll
  for (int e = 0; e < 3; e++) {
    double d = warp_sum (extra[e]);
    if (threadIdx.x % 32 == 0)
      lanes[warp][SBK_TILT_X + e] = d;
  }
  __syncthreads ();
  if (threadIdx.x < SBK_N) {
    double d = 0;
    for (int w = 0; w < THREADS / 32; w++)
      d += lanes[w][threadIdx.x];
    block[((size_t)blockIdx.y * gridDim.x + blockIdx.x) * SBK_N + threadIdx.x] = d;
  }
}

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

/* h and n of the value to the factors of its gradient, in place. */
__global__ void
gradient_factors (int q_count, double *h)
{
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= q_count)
    return;
  double hr = h[i], hi = h[(size_t)q_count + i], n = h[2 * (size_t)q_count + i], inverse = n > 0 ? 1 / n : 0;
  h[i] = hr * inverse;
  h[(size_t)q_count + i] = -hi * inverse;
  h[2 * (size_t)q_count + i] = (hr * hr + hi * hi) * inverse * inverse;
}

void
cuda_gradient_factors (SbkContext *context, int64_t q_count, double *h)
{
  gradient_factors<<<cuda_blocks (q_count, 256), 256, 0, context->stream>>> ((int)q_count, h);
}

/* factors and model lie on the device already; total[SBK_N] too. */
SbkStatus
cuda_gradient_pass (SbkSpectrum *s, const SbkView *view, int64_t q_count, const CudaG *g, int wide, int precise, int depth,
                    const SbkModel *on_device, const double *factors, double *total, SbkError *error)
{
  SbkContext *context = s->context;
  CudaG v = cuda_view (s, view, q_count, MAX_CHUNK_ROWS);
  if (g != NULL) {
    v.g = g->g;
    v.pitch = g->pitch;
    v.vx = g->vx;
    v.vy = g->vy;
    v.column = g->column;
  }
  int threads = wide || precise ? (int)GradientThreads<double>::value : (int)GradientThreads<float>::value;
  dim3 grid (cuda_blocks (q_count, threads), v.chunks);
  int blocks = (int)(grid.x * grid.y);
  double *block = (double *)cuda_room (context, ROOM_BLOCKS, (size_t)blocks * SBK_N * sizeof (double), error);
  if (block == NULL)
    return SBK_NO_MEMORY;
#define CALL(T, S, D) gradient_kernel<T, S, D><<<grid, threads, 0, context->stream>>> (v, on_device, factors, block)
  CUDA_DISPATCH (wide, precise, depth, CALL);
#undef CALL
  gradient_total<<<SBK_N, 256, 0, context->stream>>> (blocks, block, total);
  return cuda_check (context, cudaGetLastError (), "The gradient pass", error);
}

SbkStatus
cuda_gradient (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, double *value, double gradient[SBK_N],
               const int *cancel, SbkError *error)
{
  SbkContext *context = s->context;
  int64_t q_count = sbk_view_count (view);
  double out[1 + SBK_N];
  *value = 0;
  for (int i = 0; i < SBK_N; i++)
    gradient[i] = 0;
  if (q_count == 0)
    return SBK_OK;
  /* The value pass in the chunks it has on its own, so that S has the same bits. */
  CudaG whole = cuda_view (s, view, q_count, 64);
  SbkStatus status = cuda_value_pass (s, &whole, precise, model, 1, 1, view->together, error);
  if (status != SBK_OK)
    return status;
  double *total = (double *)context->room[ROOM_TOTAL].data, *h = (double *)context->room[ROOM_H].data;
  const SbkModel *on_device = (const SbkModel *)context->room[ROOM_MODELS].data;
  cuda_gradient_factors (context, q_count, h);
  status = cuda_gradient_pass (s, view, q_count, NULL, s->wide, precise, cuda_depth (s, model, s->v_max), on_device, h,
                               total + 1, error);
  if (status == SBK_OK)
    status = cuda_sum_view (context, view, total + 1, SBK_N, error);
  if (status == SBK_OK)
    status = cuda_fetch (context, out, total, sizeof out, error);
  if (status != SBK_OK)
    return status;
  *value = out[0];
  for (int i = 0; i < SBK_N; i++)
    gradient[i] = out[1 + i];
  return cuda_cancelled (cancel) ? SBK_CANCELLED : SBK_OK;
}
