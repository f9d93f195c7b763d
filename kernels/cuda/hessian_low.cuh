/* The Hessian of the low order: degree 2 of chi, tilt and depth, the tile that fits ask for most. */
#ifndef SBK_CUDA_HESSIAN_LOW_CUH
#define SBK_CUDA_HESSIAN_LOW_CUH

#include "kernels/cuda/pairs.cuh"

enum { HESSIAN_CHUNK_ROWS = 32 };

/* The low order on its own: differences of quadratic monomials and X's derivative by depth are linear in y along a row, so a
 * row leaves moments (1, y, y^2) of few weights and everything else waits for its end. Tilts differ by a constant only: one
 * coordinate of slope one stands for both. */
template <typename T> struct LowMoments {
  T aa[3], bb[3], ab[3];          /* chi, chi: side a, side b, across */
  T ta[3], tb[3], tab[3], tba[3]; /* chi, slope: theta_a xi_a, theta_b xi_b, theta_a xi_b, theta_b xi_a */
  T ua[3], ub[3], uab[3];         /* slope, slope */
  T mixed;
  T ga[2][2], gb[2][2], n[2];         /* chi's first derivatives: Re, Im of conj (side) G times s, by power of y */
  T ha[2][2], hb[2][2], pa[2], pb[2]; /* slope's */
};

template <typename T>
__device__ __forceinline__ void
add3 (T m[3], T w, T y)
{
  T wy = w * y;
  m[0] += w;
  m[1] += wy;
  m[2] = fma (wy, y, m[2]);
}

template <typename T>
__device__ __forceinline__ void
add2 (T m[2], T w, T y)
{
  m[0] += w;
  m[1] = fma (w, y, m[1]);
}

/* sum w (p0 + p1 y) (q0 + q1 y) */
template <typename T>
__device__ __forceinline__ T
product (const T m[3], T p0, T p1, T q0, T q1)
{
  return m[0] * p0 * q0 + m[1] * (p0 * q1 + p1 * q0) + m[2] * p1 * q1;
}

/* Same output as hessian_kernel<.., 2, 2>. */
template <typename T, typename S, int DEPTH>
__global__ void
__launch_bounds__ (CUDA_THREADS, sizeof (T) == sizeof (float) ? 3 : 1)
    hessian_low_kernel (CudaG v, const SbkModel *on_device, const double *h, double *block, T *first)
{
  constexpr int N = 6; /* x^2, xy, y^2, tilt x, tilt y, depth */
  __shared__ Chunk<HESSIAN_CHUNK_ROWS> chunk;
  __shared__ double lanes[CUDA_THREADS / 32][N * N];
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
  Edge<T> edge = edge_make<T> (v);
  /* chi-chi 6, chi-slope 3, chi-depth 3, slope-slope, slope-depth, depth-depth, mixed */
  T cc[6] = { 0 }, cs[3] = { 0 }, cd[3] = { 0 }, ss = 0, sd = 0, dd = 0, mixed = 0;
  T h_chi[3][3] = { { 0 } }, h_slope[3] = { 0 }, h_depth[3] = { 0 };
  for (int r = row_from; r < row_to; r++) {
    Stretches stretch;
    double x64 = v.row_x[r];
    stretches_find (stretch, v, r, x64, vx, vy);
    if (stretch.cut[0] == stretch.cut[3])
      continue;
    Row<T> row;
    LowMoments<T> m;
    row_begin<T> (row, model, chunk.here[r - row_from], x64, vx, vy);
    memset (&m, 0, sizeof m);
    T x = (T)x64;
    each_stretch (v, stretch, [&] (int from, int to, auto has_a, auto has_b) {
      constexpr int A = decltype (has_a)::value, B = decltype (has_b)::value;
      each_pixel<T, S, 2> (v, q, from, to, [&] (T y, T a0, T gr, T gi) {
        T ar = 0, ai = 0, br = 0, bi = 0, as = 1, bs = 1, a1 = 0, b1 = 0, a2 = 0, b2 = 0, cr = 0, ci = 0;
        if (A) {
          T weight = amplitude<T> (row.dx2_minus, y - row.vy, a0, edge.slope, edge.offset);
          turn (horner<T> (row.minus, y), ar, ai);
          ar *= weight;
          ai *= weight;
          sinc_derivatives<DEPTH> (fma (y, row.x_slope, row.x_minus), as, a1, a2);
          cr = ar * as;
          ci = ai * as;
        }
        if (B) {
          T weight = amplitude<T> (row.dx2_plus, y + row.vy, a0, edge.slope, edge.offset);
          turn (horner<T> (row.plus, y), br, bi);
          br *= weight;
          bi *= weight;
          sinc_derivatives<DEPTH> (fma (y, row.x_slope, row.x_plus), bs, b1, b2);
          cr = fma (-br, bs, cr);
          ci = fma (-bi, bs, ci);
        }
        T rr = fr * gr - fi * gi - w * cr, ri = fr * gi + fi * gr - w * ci;
        T pr = ar * br + ai * bi, pi = ar * bi - ai * br;
        if (A) {
          T along = ar * rr + ai * ri, across = ar * ri - ai * rr, power = ar * ar + ai * ai;
          T gar = ar * gr + ai * gi, gai = ar * gi - ai * gr;
          add3 (m.aa, -as * along - w * power * as * as, y);
          add3 (m.ta, a1 * across, y);
          add3 (m.ua, a2 * along - w * power * a1 * a1, y);
          m.mixed = fma (a1, along, m.mixed);
          add2 (m.ga[0], as * gar, y);
          add2 (m.ga[1], as * gai, y);
          add2 (m.ha[0], a1 * gar, y);
          add2 (m.ha[1], a1 * gai, y);
          add2 (m.pa, 2 * a1 * (as * power - (B ? bs * pr : (T)0)), y);
        }
        if (B) {
          T along = br * rr + bi * ri, across = br * ri - bi * rr, power = br * br + bi * bi;
          T gbr = br * gr + bi * gi, gbi = br * gi - bi * gr;
          add3 (m.bb, bs * along - w * power * bs * bs, y);
          add3 (m.tb, -b1 * across, y);
          add3 (m.ub, -b2 * along - w * power * b1 * b1, y);
          m.mixed = fma (-b1, along, m.mixed);
          add2 (m.gb[0], bs * gbr, y);
          add2 (m.gb[1], bs * gbi, y);
          add2 (m.hb[0], b1 * gbr, y);
          add2 (m.hb[1], b1 * gbi, y);
          add2 (m.pb, 2 * b1 * ((A ? as * pr : (T)0) - bs * power), y);
        }
        if (A && B) {
          add3 (m.ab, w * pr * as * bs, y);
          add3 (m.tab, w * pi * as * b1, y);
          add3 (m.tba, -w * pi * a1 * bs, y);
          add3 (m.uab, w * pr * a1 * b1, y);
          add2 (m.n, -2 * as * bs * pi, y);
        }
      });
    });
    /* the row's linear functions: theta_a, theta_b of x^2, xy, y^2 and the depth slopes, (constant, y) */
    const T two_pi = (T)6.283185307179586;
    T pa[3][2] = { { two_pi * (2 * x * qx - qx * qx), 0 },
                   { two_pi * (x * qy - qx * qy), two_pi * qx },
                   { -two_pi * qy * qy, two_pi * 2 * qy } };
    T pb[3][2] = { { two_pi * (2 * x * qx + qx * qx), 0 },
                   { two_pi * (x * qy + qx * qy), two_pi * qx },
                   { two_pi * qy * qy, two_pi * 2 * qy } };
    T ea[2] = { x * qx - v2 - vt, qy }, eb[2] = { x * qx + v2 - vt, qy };
    int k = 0;
#pragma unroll
    for (int i = 0; i < 3; i++) {
#pragma unroll
      for (int j = i; j < 3; j++, k++)
        cc[k] += product (m.aa, pa[i][0], pa[i][1], pa[j][0], pa[j][1]) + product (m.bb, pb[i][0], pb[i][1], pb[j][0], pb[j][1])
                 + product (m.ab, pa[i][0], pa[i][1], pb[j][0], pb[j][1])
                 + product (m.ab, pb[i][0], pb[i][1], pa[j][0], pa[j][1]);
      cs[i] += m.ta[0] * pa[i][0] + m.ta[1] * pa[i][1] + m.tb[0] * pb[i][0] + m.tb[1] * pb[i][1] + m.tab[0] * pa[i][0]
               + m.tab[1] * pa[i][1] + m.tba[0] * pb[i][0] + m.tba[1] * pb[i][1];
      cd[i] += product (m.ta, pa[i][0], pa[i][1], ea[0], ea[1]) + product (m.tb, pb[i][0], pb[i][1], eb[0], eb[1])
               + product (m.tab, pa[i][0], pa[i][1], eb[0], eb[1]) + product (m.tba, pb[i][0], pb[i][1], ea[0], ea[1]);
      h_chi[i][0] += m.ga[1][0] * pa[i][0] + m.ga[1][1] * pa[i][1] - m.gb[1][0] * pb[i][0] - m.gb[1][1] * pb[i][1];
      h_chi[i][1] += m.gb[0][0] * pb[i][0] + m.gb[0][1] * pb[i][1] - m.ga[0][0] * pa[i][0] - m.ga[0][1] * pa[i][1];
      h_chi[i][2] += m.n[0] * (pa[i][0] - pb[i][0]) + m.n[1] * (pa[i][1] - pb[i][1]);
    }
    ss += m.ua[0] + m.ub[0] + 2 * m.uab[0];
    sd += m.ua[0] * ea[0] + m.ua[1] * ea[1] + m.ub[0] * eb[0] + m.ub[1] * eb[1] + m.uab[0] * (ea[0] + eb[0])
          + m.uab[1] * (ea[1] + eb[1]);
    dd += product (m.ua, ea[0], ea[1], ea[0], ea[1]) + product (m.ub, eb[0], eb[1], eb[0], eb[1])
          + 2 * product (m.uab, ea[0], ea[1], eb[0], eb[1]);
    mixed += m.mixed;
#pragma unroll
    for (int c = 0; c < 2; c++) {
      h_slope[c] += m.ha[c][0] - m.hb[c][0];
      h_depth[c] += m.ha[c][0] * ea[0] + m.ha[c][1] * ea[1] - m.hb[c][0] * eb[0] - m.hb[c][1] * eb[1];
    }
    h_slope[2] += m.pa[0] - m.pb[0];
    h_depth[2] += m.pa[0] * ea[0] + m.pa[1] * ea[1] - m.pb[0] * eb[0] - m.pb[1] * eb[1];
  }
  T slope[2] = { -depth * qx, -depth * qy };
  if (index < v.q_count)
#pragma unroll
    for (int c = 0; c < 3; c++) {
#pragma unroll
      for (int i = 0; i < 3; i++)
        first[((size_t)blockIdx.y * N * 3 + 3 * i + c) * v.q_count + index] = h_chi[i][c];
      first[((size_t)blockIdx.y * N * 3 + 9 + c) * v.q_count + index] = slope[0] * h_slope[c];
      first[((size_t)blockIdx.y * N * 3 + 12 + c) * v.q_count + index] = slope[1] * h_slope[c];
      first[((size_t)blockIdx.y * N * 3 + 15 + c) * v.q_count + index] = h_depth[c];
    }
  double full[N * N] = { 0 };
  int k = 0;
#pragma unroll
  for (int i = 0; i < 3; i++) {
#pragma unroll
    for (int j = i; j < 3; j++, k++)
      full[i * N + j] = cc[k];
    full[i * N + 3] = slope[0] * cs[i];
    full[i * N + 4] = slope[1] * cs[i];
    full[i * N + 5] = cd[i];
  }
  full[3 * N + 3] = slope[0] * slope[0] * ss;
  full[3 * N + 4] = slope[0] * slope[1] * ss;
  full[4 * N + 4] = slope[1] * slope[1] * ss;
  full[3 * N + 5] = slope[0] * sd - qx * mixed;
  full[4 * N + 5] = slope[1] * sd - qy * mixed;
  full[5 * N + 5] = dd;
  int warp = threadIdx.x / 32;
#pragma unroll
  for (int i = 0; i < N; i++)
#pragma unroll
    for (int j = 0; j < N; j++) {
      double d = j < i ? 0 : full[i * N + j];
      if (j >= i) {
#pragma unroll
        for (int lane = 16; lane > 0; lane /= 2)
          d += __shfl_down_sync (0xffffffffu, d, lane);
      }
      if (threadIdx.x % 32 == 0)
        lanes[warp][i * N + j] = d;
    }
  __syncthreads ();
  for (int i = threadIdx.x; i < N * N; i += CUDA_THREADS) {
    double d = 0;
    for (int c = 0; c < CUDA_THREADS / 32; c++)
      d += lanes[c][i];
    block[((size_t)blockIdx.y * gridDim.x + blockIdx.x) * (N * N) + i] = d;
  }
}

#endif
