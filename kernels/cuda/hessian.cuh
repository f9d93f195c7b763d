/* Exact Hessian in tiles of coordinates: those of one degree of chi (degree 2 together with tilt and depth) against those
 * of another. A tile sums Re (conj (gamma_ij) r) - w Re (conj (gamma_i) gamma_j) over pairs in registers; a tile on the
 * diagonal leaves the first derivatives of h and n of each frequency as well. */
#ifndef SBK_CUDA_HESSIAN_CUH
#define SBK_CUDA_HESSIAN_CUH

#include "kernels/cuda/hessian_low.cuh"

enum { HESSIAN_GROUPS = 7 /* degrees 1 .. 6; 0 unused */ };

/* coordinates of a degree's group */
__host__ __device__ constexpr int
group_size (int degree)
{
  return degree + 1 + (degree == 2 ? 3 : 0);
}

/* Phase derivatives of the chi part of a group: sign (B (x, y) - B (x - sign qx, y - sign qy)), 2 pi from turns. */
template <typename T, int D>
__device__ __forceinline__ void
thetas (T x, T y, T qx, T qy, T sign, T out[D + 1])
{
  T u = x - sign * qx, v = y - sign * qy;
  T px[D + 1], pu[D + 1];
  px[0] = sign * (T)6.283185307179586;
  pu[0] = px[0];
#pragma unroll
  for (int i = 1; i <= D; i++) {
    px[i] = px[i - 1] * x;
    pu[i] = pu[i - 1] * u;
  }
  T py = 1, pv = 1;
#pragma unroll
  for (int j = 0; j <= D; j++) {
    out[j] = px[D - j] * py - pu[D - j] * pv;
    py *= y;
    pv *= v;
  }
}

/* One sideband c of a pair, sign +1 for a, -1 for b. With c = c' s (X), theta the phase's and xi X's derivatives, its part of
 * Re (conj (gamma_ij) r) - w Re (conj (gamma_i) gamma_j) is
 *   chi, chi:     theta_i theta_j chi_chi
 *   chi, extra:   theta_i xi_e    chi_extra
 *   extra, extra: xi_e xi_f       extra_extra + X_ef mixed
 * (the product of a chi with an extra derivative of one side is imaginary: no w term). */
template <typename T> struct Side {
  T re, im; /* c' */
  T s, s1;
  T along; /* d X / d depth */
  T chi_chi, chi_extra, extra_extra, mixed;
};

template <int EXTRA, typename T>
__device__ __forceinline__ void
side_sums (Side<T> &c, T s2, T sign, T w, T rr, T ri)
{
  T along = c.re * rr + c.im * ri, across = c.re * ri - c.im * rr, power = w * (c.re * c.re + c.im * c.im);
  c.chi_chi = -sign * c.s * along - power * c.s * c.s;
  if (EXTRA) {
    c.chi_extra = sign * c.s1 * across;
    c.extra_extra = sign * s2 * along - power * c.s1 * c.s1;
    c.mixed = sign * c.s1 * along;
  }
}

/* What both sides have in common: p = conj (a') b', times w. */
template <typename T> struct Cross {
  T re, im;
};

/* One group's derivatives at a pair. */
template <typename T, int D> struct Derivatives {
  T a[D + 1], b[D + 1]; /* theta of both sides */
};

/* Entry (i, j) of a tile. */
template <typename T, int DI, int DJ, int A, int B>
__device__ __forceinline__ T
tile_entry (int i, int j, const Side<T> &a, const Side<T> &b, const Cross<T> &x, const Derivatives<T, DI> &ti,
            const Derivatives<T, DJ> &tj, const T slope[2], const T mixed[2])
{
  bool ci = i <= DI, cj = j <= DJ;
  T sum = 0;
  if (ci && cj) {
    if (A)
      sum = ti.a[i] * tj.a[j] * a.chi_chi;
    if (B)
      sum = fma (ti.b[i] * tj.b[j], b.chi_chi, sum);
    if (A && B)
      sum = fma (ti.a[i] * tj.b[j] + ti.b[i] * tj.a[j], x.re * a.s * b.s, sum);
    return sum;
  }
  if (ci || cj) {
    int e = ci ? j - DJ - 1 : i - DI - 1;
    T xa = e == 2 ? a.along : slope[e], xb = e == 2 ? b.along : slope[e];
    T ta = 0, tb = 0;
    if (A)
      ta = ci ? ti.a[i] : tj.a[j];
    if (B)
      tb = ci ? ti.b[i] : tj.b[j];
    if (A)
      sum = ta * xa * a.chi_extra;
    if (B)
      sum = fma (tb * xb, b.chi_extra, sum);
    if (A && B)
      sum += x.im * (ta * xb * (a.s * b.s1) - tb * xa * (a.s1 * b.s));
    return sum;
  }
  int e = i - DI - 1, f = j - DJ - 1;
  T xa = e == 2 ? a.along : slope[e], xb = e == 2 ? b.along : slope[e];
  T ya = f == 2 ? a.along : slope[f], yb = f == 2 ? b.along : slope[f];
  T both = e < 2 && f == 2 ? mixed[e] : e == 2 && f < 2 ? mixed[f] : (T)0;
  if (A)
    sum = xa * ya * a.extra_extra + both * a.mixed;
  if (B)
    sum += xb * yb * b.extra_extra + both * b.mixed;
  if (A && B)
    sum = fma (xa * yb + xb * ya, x.re * a.s1 * b.s1, sum);
  return sum;
}

/* block[chunk * gridDim.x + block][NI * NJ]; first[(chunk * NI + i) * 3 + {Re h_i, Im h_i, n_i}][q_count] */
template <typename T, typename S, int DI, int DJ, int DEPTH>
__global__ void
__launch_bounds__ (CUDA_THREADS) hessian_kernel (CudaG v, const SbkModel *on_device, const double *h, double *block, T *first)
{
  constexpr int NI = group_size (DI), NJ = group_size (DJ), SUMS = DI == DJ ? NI * 3 : 1;
  constexpr int EXTRA = DI == 2 || DJ == 2;
  __shared__ Chunk<HESSIAN_CHUNK_ROWS> chunk;
  __shared__ double lanes[CUDA_THREADS / 32][NI * NJ];
  int row_from = blockIdx.y * v.chunk_rows, row_to = min (row_from + v.chunk_rows, v.n_rows);
  chunk_begin (chunk, v, on_device, row_from, row_to);
  const SbkModel &model = chunk.model;
  int index = blockIdx.x * CUDA_THREADS + threadIdx.x, at = min (index, v.q_count - 1), q = view_q (v, at);
  double vx = v.vx[q], vy = v.vy[q];
  double hr = h[at], hi = h[(size_t)v.q_count + at], n = h[2 * (size_t)v.q_count + at];
  double inverse = index < v.q_count && n > 0 ? 1 / n : 0;
  T fr = (T)(hr * inverse), fi = (T)(-hi * inverse), w = (T)((hr * hr + hi * hi) * inverse * inverse);
  T depth = (T)model.depth, qx = (T)vx, qy = (T)vy;
  T v2 = (T)((vx * vx + vy * vy) / 2), vt = (T)(vx * model.tilt[0] + vy * model.tilt[1]);
  T slope[2] = { -depth * qx, -depth * qy }, mixed[2] = { -qx, -qy };
  Edge<T> edge = edge_make<T> (v);
  T second[NI * NJ], sums[SUMS];
#pragma unroll
  for (int i = 0; i < NI * NJ; i++)
    second[i] = 0;
#pragma unroll
  for (int i = 0; i < SUMS; i++)
    sums[i] = 0;
  for (int r = row_from; r < row_to; r++) {
    Stretches stretch;
    double x64 = v.row_x[r];
    stretches_find (stretch, v, r, x64, vx, vy);
    if (stretch.cut[0] == stretch.cut[3])
      continue;
    Row<T> row;
    row_begin<T> (row, model, chunk.here[r - row_from], x64, vx, vy);
    T x = (T)x64;
    each_stretch (v, stretch, [&] (int from, int to, auto has_a, auto has_b) {
      constexpr int A = decltype (has_a)::value, B = decltype (has_b)::value;
      each_pixel<T, S, 1> (v, q, from, to, [&] (T y, T a0, T gr, T gi) {
        Side<T> a, b;
        Derivatives<T, DI> ti;
        Derivatives<T, DJ> tj;
        Cross<T> cross = { 0, 0 };
        T along = x * qx + y * qy - vt, a2 = 0, b2 = 0, cr = 0, ci = 0;
        a.re = a.im = b.re = b.im = 0;
        a.s = b.s = 1;
        a.s1 = b.s1 = 0;
        a.along = along - v2;
        b.along = along + v2;
        if (A) {
          T weight = amplitude<T> (row.dx2_minus, y - row.vy, a0, edge.slope, edge.offset);
          turn (horner<T> (row.minus, y), a.re, a.im);
          a.re *= weight;
          a.im *= weight;
          if (DEPTH != DEPTH_NONE || EXTRA)
            sinc_derivatives<DEPTH == DEPTH_NONE ? DEPTH_NEAR : DEPTH> (depth * a.along, a.s, a.s1, a2);
          cr = a.re * a.s;
          ci = a.im * a.s;
        }
        if (B) {
          T weight = amplitude<T> (row.dx2_plus, y + row.vy, a0, edge.slope, edge.offset);
          turn (horner<T> (row.plus, y), b.re, b.im);
          b.re *= weight;
          b.im *= weight;
          if (DEPTH != DEPTH_NONE || EXTRA)
            sinc_derivatives<DEPTH == DEPTH_NONE ? DEPTH_NEAR : DEPTH> (depth * b.along, b.s, b.s1, b2);
          cr = fma (-b.re, b.s, cr);
          ci = fma (-b.im, b.s, ci);
        }
        T rr = fr * gr - fi * gi - w * cr, ri = fr * gi + fi * gr - w * ci;
        if (A) {
          side_sums<EXTRA> (a, a2, (T)1, w, rr, ri);
          thetas<T, DI> (x, y, qx, qy, 1, ti.a);
          thetas<T, DJ> (x, y, qx, qy, 1, tj.a);
        }
        if (B) {
          side_sums<EXTRA> (b, b2, (T)-1, w, rr, ri);
          thetas<T, DI> (x, y, qx, qy, -1, ti.b);
          thetas<T, DJ> (x, y, qx, qy, -1, tj.b);
        }
        T pr = 0, pi = 0;
        if (A && B) {
          pr = a.re * b.re + a.im * b.im;
          pi = a.re * b.im - a.im * b.re;
          cross.re = w * pr;
          cross.im = w * pi;
        }
        if (DI == DJ) {
          /* conj (side) G, with and without the depth factor's derivative */
          T gar = a.re * gr + a.im * gi, gai = a.re * gi - a.im * gr;
          T gbr = b.re * gr + b.im * gi, gbi = b.re * gi - b.im * gr;
          T turn_n = -2 * a.s * b.s * pi;
          T push_a = 2 * a.s1 * (a.s * (a.re * a.re + a.im * a.im) - b.s * pr);
          T push_b = 2 * b.s1 * (a.s * pr - b.s * (b.re * b.re + b.im * b.im));
#pragma unroll
          for (int i = 0; i < NI; i++) {
            T *to = &sums[DI == DJ ? 3 * i : 0];
            if (i <= DI) {
              if (A) {
                to[0] = fma (ti.a[i], a.s * gai, to[0]);
                to[DI == DJ ? 1 : 0] = fma (-ti.a[i], a.s * gar, to[DI == DJ ? 1 : 0]);
              }
              if (B) {
                to[0] = fma (-ti.b[i], b.s * gbi, to[0]);
                to[DI == DJ ? 1 : 0] = fma (ti.b[i], b.s * gbr, to[DI == DJ ? 1 : 0]);
              }
              if (A && B)
                to[DI == DJ ? 2 : 0] = fma (ti.a[i] - ti.b[i], turn_n, to[DI == DJ ? 2 : 0]);
            } else {
              int e = i - DI - 1;
              T xa = e == 2 ? a.along : slope[e == 2 ? 0 : e], xb = e == 2 ? b.along : slope[e == 2 ? 0 : e];
              to[0] += xa * a.s1 * gar - xb * b.s1 * gbr;
              to[DI == DJ ? 1 : 0] += xa * a.s1 * gai - xb * b.s1 * gbi;
              to[DI == DJ ? 2 : 0] += xa * push_a - xb * push_b;
            }
          }
        }
#pragma unroll
        for (int i = 0; i < NI; i++)
#pragma unroll
          for (int j = 0; j < NJ; j++) {
            if (DI == DJ && j < i)
              continue;
            second[i * NJ + j] += tile_entry<T, DI, DJ, A, B> (i, j, a, b, cross, ti, tj, slope, mixed);
          }
      });
    });
  }
  if (DI == DJ && index < v.q_count)
#pragma unroll
    for (int i = 0; i < NI * 3; i++)
      first[((size_t)blockIdx.y * NI * 3 + i) * v.q_count + index] = sums[DI == DJ ? i : 0];
  int warp = threadIdx.x / 32;
#pragma unroll
  for (int i = 0; i < NI * NJ; i++) {
    double d = (double)second[i];
#pragma unroll
    for (int lane = 16; lane > 0; lane /= 2)
      d += __shfl_down_sync (0xffffffffu, d, lane);
    if (threadIdx.x % 32 == 0)
      lanes[warp][i] = d;
  }
  __syncthreads ();
  for (int i = threadIdx.x; i < NI * NJ; i += CUDA_THREADS) {
    double d = 0;
    for (int k = 0; k < CUDA_THREADS / 32; k++)
      d += lanes[k][i];
    block[((size_t)blockIdx.y * gridDim.x + blockIdx.x) * (NI * NJ) + i] = d;
  }
}

template <typename T, typename S, int DI, int DJ>
static void
hessian_launch (int depth, dim3 grid, cudaStream_t stream, const CudaG &v, const SbkModel *model, const double *h,
                double *block, void *first)
{
  /* no depth: sinc (0) by its polynomial; float64 has one way for all depths */
  bool far = depth == DEPTH_FAR || sizeof (T) == sizeof (double);
  if constexpr (DI == 2 && DJ == 2) {
    if (far)
      hessian_low_kernel<T, S, DEPTH_FAR><<<grid, CUDA_THREADS, 0, stream>>> (v, model, h, block, (T *)first);
    else
      hessian_low_kernel<T, S, DEPTH_NEAR><<<grid, CUDA_THREADS, 0, stream>>> (v, model, h, block, (T *)first);
  } else if (far)
    hessian_kernel<T, S, DI, DJ, DEPTH_FAR><<<grid, CUDA_THREADS, 0, stream>>> (v, model, h, block, (T *)first);
  else
    hessian_kernel<T, S, DI, DJ, DEPTH_NEAR><<<grid, CUDA_THREADS, 0, stream>>> (v, model, h, block, (T *)first);
}

template <typename T, typename S, int DI, int DJ>
static void
hessian_launch_from (int depth, int dj, dim3 grid, cudaStream_t stream, const CudaG &v, const SbkModel *model, const double *h,
                     double *block, void *first)
{
  if (dj == DJ)
    hessian_launch<T, S, DI, DJ> (depth, grid, stream, v, model, h, block, first);
  else if constexpr (DJ < SBK_DEGREE)
    hessian_launch_from<T, S, DI, DJ + 1> (depth, dj, grid, stream, v, model, h, block, first);
}

/* Tile (di, dj), di <= dj. */
template <typename T, typename S>
static void
hessian_tile (int depth, int di, int dj, dim3 grid, cudaStream_t stream, const CudaG &v, const SbkModel *model, const double *h,
              double *block, void *first)
{
  switch (di) {
  case 1: hessian_launch_from<T, S, 1, 1> (depth, dj, grid, stream, v, model, h, block, first); break;
  case 2: hessian_launch_from<T, S, 2, 2> (depth, dj, grid, stream, v, model, h, block, first); break;
  case 3: hessian_launch_from<T, S, 3, 3> (depth, dj, grid, stream, v, model, h, block, first); break;
  case 4: hessian_launch_from<T, S, 4, 4> (depth, dj, grid, stream, v, model, h, block, first); break;
  case 5: hessian_launch_from<T, S, 5, 5> (depth, dj, grid, stream, v, model, h, block, first); break;
  default: hessian_launch_from<T, S, 6, 6> (depth, dj, grid, stream, v, model, h, block, first); break;
  }
}

typedef void (*HessianTile) (int depth, int di, int dj, dim3 grid, cudaStream_t stream, const CudaG &v, const SbkModel *model,
                             const double *h, double *block, void *first);
extern const HessianTile cuda_hessian_single, cuda_hessian_mixed, cuda_hessian_wide;

#endif
