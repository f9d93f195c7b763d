/* Rotation and scale of the detector: pixels moved, and the derivatives of the value by them. u moves by (-y, x) where the
 * detector turns and by (x, y) where it grows (its ramp with it); three parts: chi, the aperture on its ramps, k in the
 * argument of sinc. */
#include "kernels/cuda/pairs.cuh"

enum { MAX_CHUNK_ROWS = 16, THREADS = 128 };

__global__ void
scale_rows (int n, double by, double *row_x, double *row_y0)
{
  int r = blockIdx.x * 128 + threadIdx.x;
  if (r >= n)
    return;
  row_x[r] *= by;
  row_y0[r] *= by;
}

/* One block a row; row_x is scaled already, edge the new one. */
__global__ void
scale_pixels (const int *row_start, const double *row_x, double by, double edge, double2 *pixel, float2 *pixel_f)
{
  double x = row_x[blockIdx.x];
  for (int k = row_start[blockIdx.x] + threadIdx.x; k < row_start[blockIdx.x + 1]; k += blockDim.x) {
    double2 p;
    p.x = pixel[k].x * by;
    p.y = clip ((1 - x * x - p.x * p.x) / (2 * edge) + 0.5);
    pixel[k] = p;
    pixel_f[k] = make_float2 ((float)p.x, (float)p.y);
  }
}

SbkStatus
cuda_spectrum_set_scale (SbkSpectrum *s, double scale, SbkError *error)
{
  double by = scale / s->scale;
  if (!(scale > 0))
    return cuda_fail (error, SBK_UNSUPPORTED, "A scale of %g is not possible.", scale);
  s->scale = scale;
  s->view.edge *= by;
  s->view.dy *= by;
  scale_rows<<<cuda_blocks (s->n_rows, 128), 128, 0, s->context->stream>>> ((int)s->n_rows, by, (double *)s->view.row_x,
                                                                            (double *)s->view.row_y0);
  scale_pixels<<<(unsigned)s->n_rows, 128, 0, s->context->stream>>> (s->view.row_start, s->view.row_x, by, s->view.edge,
                                                                     (double2 *)s->view.pixel, (float2 *)s->view.pixel_f);
  return cuda_check (s->context, cudaGetLastError (), "The new scale", error);
}

/* d/dy of a row polynomial; its constant plays no part. */
template <typename T>
__device__ __forceinline__ T
horner_slope (const T c[SBK_DEGREE], T y)
{
  T p = (SBK_DEGREE - 1) * c[SBK_DEGREE - 1];
#pragma unroll
  for (int j = SBK_DEGREE - 2; j >= 1; j--)
    p = fma (p, y, (T)j * c[j]);
  return p;
}

/* One pixel as one sideband sees it: what both share. */
template <typename T> struct Place {
  T x, y, a0, a0_scale /* d A (k) / d log scale */, inverse /* 1 / (2 edge) */, vx, vy, depth, rr, ri;
};

/* Adds 2 Re (conj (d side) r) of one sideband, side = A (k) A (k - s v) exp (i pi p) sinc (argument), times s, to sum. */
template <typename T, int DEPTH>
__device__ __forceinline__ void
geometry_side (const Place<T> &k, T s, T dx2, T p, T px, T py, T argument, T sum[2])
{
  T dx = k.x - s * k.vx, dy = k.y - s * k.vy, r2 = fma (dy, dy, dx2), ramp = (1 - r2) * k.inverse + (T)0.5;
  T on = ramp > 0 && ramp < 1 ? k.inverse : (T)0, am = clip (ramp), s0 = 1, s1 = 0, unused, er, ei;
  if (DEPTH != DEPTH_NONE)
    sinc_derivatives<DEPTH> (argument, s0, s1, unused);
  turn (p, er, ei);
  T along = er * k.rr + ei * k.ri, across = (er * k.ri - ei * k.rr) * (T)3.14159265358979323846;
  T amplitude = k.a0 * am, vturn = k.x * k.vy - k.y * k.vx, vgrow = k.x * k.vx + k.y * k.vy;
  T d_turn = k.a0 * on * 2 * s * vturn;
  T d_grow = k.a0_scale * am - k.a0 * on * (2 * (dx * k.x + dy * k.y) + 1 - r2);
  sum[0] += 2 * s
            * ((d_turn * s0 + amplitude * s1 * (k.depth * vturn)) * along + amplitude * s0 * (py * k.x - px * k.y) * across);
  sum[1] += 2 * s
            * ((d_grow * s0 + amplitude * s1 * (k.depth * vgrow)) * along + amplitude * s0 * (px * k.x + py * k.y) * across);
}

/* chi's derivative by x, in shared memory: its monomials, and along each row of the chunk. */
struct Slope {
  double chi[SBK_N_MONOMIALS], here[MAX_CHUNK_ROWS][SBK_DEGREE + 1];
};

__device__ __forceinline__ void
slope_begin (Slope &slope, const double *chi, const CudaG &v, int first, int last)
{
  for (int m = threadIdx.x; m < SBK_N_MONOMIALS; m += blockDim.x)
    slope.chi[m] = 0;
  __syncthreads ();
  for (int at = threadIdx.x; at < SBK_DEGREE * SBK_DEGREE; at += blockDim.x) {
    int i = at / SBK_DEGREE, j = at % SBK_DEGREE, d = i + j;
    if (d < SBK_DEGREE)
      slope.chi[d * (d + 1) / 2 + j] = (i + 1) * chi[(d + 1) * (d + 2) / 2 + j];
  }
  __syncthreads ();
  /* the constant belongs here too: it is no phase */
  for (int i = threadIdx.x; i < (last - first) * (SBK_DEGREE + 1); i += blockDim.x) {
    int j = i % (SBK_DEGREE + 1);
    double a = 0, x = v.row_x[first + i / (SBK_DEGREE + 1)];
    for (int e = SBK_DEGREE - j; e >= 0; e--)
      a = fma (a, x, slope.chi[(e + j) * (e + j + 1) / 2 + j]);
    slope.here[i / (SBK_DEGREE + 1)][j] = j == 0 ? a - slope.chi[0] : a;
  }
  __syncthreads ();
}

/* block[chunk * gridDim.x + block][2] */
template <typename T, typename S, int DEPTH>
__global__ void
__launch_bounds__ (THREADS) geometry_kernel (CudaG v, const SbkModel *on_device, const double *h, double *block)
{
  __shared__ Chunk<MAX_CHUNK_ROWS> chunk;
  __shared__ Slope slope;
  __shared__ double shared[THREADS / 32];
  int first = blockIdx.y * v.chunk_rows, last = min (first + v.chunk_rows, v.n_rows);
  chunk_begin (chunk, v, on_device, first, last);
  slope_begin (slope, chunk.model.chi, v, first, last);
  int i = blockIdx.x * THREADS + threadIdx.x, at = min (i, v.q_count - 1), q = view_q (v, at);
  double vx = v.vx[q], vy = v.vy[q], total[2] = { 0, 0 };
  double hr = h[at], hi = h[(size_t)v.q_count + at], n = h[2 * (size_t)v.q_count + at];
  double inverse = i < v.q_count && n > 0 ? 1 / n : 0;
  T f_re = (T)(hr * inverse), f_im = (T)(-hi * inverse), f_w = (T)((hr * hr + hi * hi) * inverse * inverse);
  Edge<T> edge = edge_make<T> (v);
  for (int r = first; r < last; r++) {
    Stretches s;
    double x = v.row_x[r];
    stretches_find (s, v, r, x, vx, vy);
    if (s.cut[0] == s.cut[3])
      continue;
    Row<T> row;
    T minus[SBK_DEGREE], plus[SBK_DEGREE], sum[2] = { 0, 0 };
    row_begin<T> (row, chunk.model, chunk.here[r - first], x, vx, vy);
    row_difference<T, false> (slope.chi, slope.here[r - first], x, vx, vy, 1, minus);
    row_difference<T, false> (slope.chi, slope.here[r - first], x, -vx, -vy, -1, plus);
    for (int k = align_up (s.cut[0], v.k_first, v.k_stride); k < s.cut[3]; k += v.k_stride) {
      T y, a0, gr, gi, ar, ai, br, bi;
      load_pixel (v, k, y, a0);
      load_g<T, S> (v, k, q, gr, gi);
      T wa = amplitude<T> (row.dx2_minus, y - row.vy, a0, edge.slope, edge.offset);
      T wb = amplitude<T> (row.dx2_plus, y + row.vy, a0, edge.slope, edge.offset);
      T xa = fma (y, row.x_slope, row.x_minus), xb = fma (y, row.x_slope, row.x_plus);
      if (DEPTH != DEPTH_NONE) {
        wa *= sinc<DEPTH> (xa);
        wb *= sinc<DEPTH> (xb);
      }
      T pa = horner<T> (row.minus, y), pb = horner<T> (row.plus, y);
      turn (pa, ar, ai);
      turn (pb, br, bi);
      T cr = wa * ar - wb * br, ci = wa * ai - wb * bi;
      Place<T> place = { (T)x,
                         y,
                         a0,
                         0,
                         edge.slope,
                         (T)vx,
                         (T)vy,
                         (T)chunk.model.depth,
                         f_re * gr - f_im * gi - f_w * cr,
                         f_re * gi + f_im * gr - f_w * ci };
      if (a0 > 0 && a0 < 1)
        place.a0_scale = -(1 + (T)(x * x) + y * y) * edge.slope;
      geometry_side<T, DEPTH> (place, 1, row.dx2_minus, pa, horner<T> (minus, y), horner_slope<T> (row.minus, y), xa, sum);
      geometry_side<T, DEPTH> (place, -1, row.dx2_plus, pb, horner<T> (plus, y), horner_slope<T> (row.plus, y), xb, sum);
    }
    total[0] += (double)sum[0];
    total[1] += (double)sum[1];
  }
  for (int e = 0; e < 2; e++) {
    double d = block_sum<THREADS> (i < v.q_count ? total[e] : 0, shared);
    if (threadIdx.x == 0)
      block[((size_t)blockIdx.y * gridDim.x + blockIdx.x) * 2 + e] = d;
  }
}

__global__ void
geometry_total (int n, const double *block, double *total)
{
  __shared__ double shared[8];
  double x = 0;
  for (int i = threadIdx.x; i < n; i += 256)
    x += block[(size_t)i * 2 + blockIdx.x];
  x = block_sum<256> (x, shared);
  if (threadIdx.x == 0)
    total[blockIdx.x] = x;
}

/* h, n and the model lie on the device already; total[2] too. */
SbkStatus
cuda_geometry_pass (SbkSpectrum *s, const SbkView *view, int64_t q_count, int precise, const SbkModel *model, double *total,
                    SbkError *error)
{
  SbkContext *context = s->context;
  CudaG v = cuda_view (s, view, q_count, MAX_CHUNK_ROWS);
  dim3 grid (cuda_blocks (q_count, THREADS), v.chunks);
  int blocks = (int)(grid.x * grid.y);
  double *block = (double *)cuda_room (context, ROOM_BLOCKS, (size_t)blocks * 2 * sizeof (double), error);
  if (block == NULL)
    return SBK_NO_MEMORY;
  const double *h = (const double *)context->room[ROOM_H].data;
  const SbkModel *on_device = (const SbkModel *)context->room[ROOM_MODELS].data;
#define CALL(T, S, D) geometry_kernel<T, S, D><<<grid, THREADS, 0, context->stream>>> (v, on_device, h, block)
  CUDA_DISPATCH (s->wide, precise, cuda_depth (s, model, s->v_max), CALL);
#undef CALL
  geometry_total<<<2, 256, 0, context->stream>>> (blocks, block, total);
  return cuda_check (context, cudaGetLastError (), "The derivatives by rotation and scale", error);
}

SbkStatus
cuda_geometry (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, double *value, double derivative[2],
               const int *cancel, SbkError *error)
{
  SbkContext *context = s->context;
  int64_t q_count = sbk_view_count (view);
  double out[3];
  *value = derivative[0] = derivative[1] = 0;
  if (q_count == 0)
    return SBK_OK;
  CudaG whole = cuda_view (s, view, q_count, 64);
  SbkStatus status = cuda_value_pass (s, &whole, precise, model, 1, 1, view->together, error);
  if (status != SBK_OK)
    return status;
  double *total = (double *)context->room[ROOM_TOTAL].data;
  status = cuda_geometry_pass (s, view, q_count, precise, model, total + 1, error);
  if (status == SBK_OK)
    status = cuda_sum_view (context, view, total + 1, 2, error);
  if (status == SBK_OK)
    status = cuda_fetch (context, out, total, sizeof out, error);
  if (status != SBK_OK)
    return status;
  *value = out[0];
  derivative[0] = out[1];
  derivative[1] = out[2];
  return cuda_cancelled (cancel) ? SBK_CANCELLED : SBK_OK;
}
