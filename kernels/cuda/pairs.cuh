/* Arithmetic of one (q, k) pair and what is made once a detector row. One thread owns one frequency; neighbours in a warp
 * have neighbouring frequencies, so that a warp's pixels are one short stretch of each row. */
#ifndef SBK_CUDA_PAIRS_CUH
#define SBK_CUDA_PAIRS_CUH

#include "kernels/cuda/cuda.h"

template <typename S> struct Complex;
template <> struct Complex<float> {
  typedef float2 type;
};
template <> struct Complex<double> {
  typedef double2 type;
};

/* Storage position of the view's i-th frequency. */
__device__ __forceinline__ int
view_q (const CudaG &v, int i)
{
  return v.q_first + ((i / SBK_LANES) * v.q_stride + v.q_phase) * SBK_LANES + i % SBK_LANES;
}

/* A warp's common range of pixel indices. */
__device__ __forceinline__ int
warp_min (int x)
{
  return __reduce_min_sync (0xffffffffu, x);
}

__device__ __forceinline__ int
warp_max (int x)
{
  return __reduce_max_sync (0xffffffffu, x);
}

/* [from, to) of the row's pixels that the aperture shifted by (sx, sy) may reach, for the warp. */
__device__ __forceinline__ void
row_reach (const CudaG &v, int row, double x, double sx, double sy, int *from, int *to)
{
  int first = v.row_start[row], end = v.row_start[row + 1];
  float dx = (float)(x - sx), left = (float)(1 + v.edge) * 1.00001f - dx * dx;
  int low = end, high = first;
  if (left > 0) {
    if (v.row_whole[row]) {
      float half = sqrtf (left), y0 = (float)(v.row_y0[row] - sy), inverse = (float)(1 / v.dy);
      low = first + (int)floorf (fmaxf ((-half - y0) * inverse, 0.0f));
      high = first + (int)ceilf (fmaxf (fminf ((half - y0) * inverse, (float)(end - first)), -1.0f)) + 1;
      low = min (low, end);
      high = min (max (high, first), end);
    } else {
      low = first;
      high = end;
    }
    if (high <= low) {
      low = end;
      high = first;
    }
  }
  low = warp_min (low);
  high = warp_max (high);
  *from = low < high ? low : end;
  *to = low < high ? high : end;
}

/* The up to three stretches of a row: cut[i] .. cut[i + 1], of which the a or the b side or both can reach. */
struct Stretches {
  int cut[4], a0, a1, b0, b1;
};

__device__ __forceinline__ void
sort_pair (int &a, int &b)
{
  int low = min (a, b), high = max (a, b);
  a = low;
  b = high;
}

__device__ __forceinline__ void
stretches_find (Stretches &s, const CudaG &v, int row, double x, double vx, double vy)
{
  row_reach (v, row, x, vx, vy, &s.a0, &s.a1);
  row_reach (v, row, x, -vx, -vy, &s.b0, &s.b1);
  s.cut[0] = s.a0;
  s.cut[1] = s.a1;
  s.cut[2] = s.b0;
  s.cut[3] = s.b1;
  sort_pair (s.cut[0], s.cut[1]);
  sort_pair (s.cut[2], s.cut[3]);
  sort_pair (s.cut[0], s.cut[2]);
  sort_pair (s.cut[1], s.cut[3]);
  sort_pair (s.cut[1], s.cut[2]);
}

__device__ __forceinline__ int
align_up (int from, int first, int stride)
{
  return stride == 1 ? from : from + (first - from % stride + stride) % stride;
}

/* Coefficients in y of chi (x, y) - chi (x - sx, y - sy), half turns; here: chi's own in y on this row. */
template <typename T>
__device__ __forceinline__ void
row_difference (const double *chi, const double *here, double x, double sx, double sy, double sign, T out[SBK_DEGREE])
{
  double p[SBK_DEGREE + 1], u = x - sx;
#pragma unroll
  for (int j = 0; j <= SBK_DEGREE; j++) {
    double b = 0;
#pragma unroll
    for (int i = SBK_DEGREE - j; i >= 0; i--)
      b = fma (b, u, i + j == 0 ? 0.0 : chi[(i + j) * (i + j + 1) / 2 + j]);
    p[j] = b;
  }
#pragma unroll
  for (int i = 0; i < SBK_DEGREE; i++)
#pragma unroll
    for (int j = SBK_DEGREE - 1; j >= i; j--)
      p[j] = fma (-sy, p[j + 1], p[j]);
  double constant = 2 * sign * (here[0] - p[0]);
  out[0] = (T)(constant - 2 * rint (constant / 2));
#pragma unroll
  for (int j = 1; j < SBK_DEGREE; j++)
    out[j] = (T)(2 * sign * (here[j] - p[j]));
}

/* chi along a row as a polynomial of y, once for a block. */
__device__ __forceinline__ void
row_here (const double *chi, double x, int j, double *here)
{
  double a = 0;
  for (int i = SBK_DEGREE - j; i >= 0; i--)
    a = fma (a, x, i + j == 0 ? 0.0 : chi[(i + j) * (i + j + 1) / 2 + j]);
  *here = a;
}

template <typename T> struct Row {
  T minus[SBK_DEGREE], plus[SBK_DEGREE];
  T dx2_minus, dx2_plus, vy, x_minus, x_plus, x_slope;
};

template <typename T>
__device__ __forceinline__ void
row_begin (Row<T> &row, const SbkModel &m, const double *here, double x, double vx, double vy)
{
  row_difference<T> (m.chi, here, x, vx, vy, 1, row.minus);
  row_difference<T> (m.chi, here, x, -vx, -vy, -1, row.plus);
  double v2 = (vx * vx + vy * vy) / 2, vt = vx * m.tilt[0] + vy * m.tilt[1];
  row.dx2_minus = (T)((x - vx) * (x - vx));
  row.dx2_plus = (T)((x + vx) * (x + vx));
  row.vy = (T)vy;
  row.x_minus = (T)(m.depth * (x * vx - v2 - vt));
  row.x_plus = (T)(m.depth * (x * vx + v2 - vt));
  row.x_slope = (T)(m.depth * vy);
}

template <typename T>
__device__ __forceinline__ T
horner (const T c[SBK_DEGREE], T y)
{
  T p = c[SBK_DEGREE - 1];
#pragma unroll
  for (int j = SBK_DEGREE - 2; j >= 0; j--)
    p = fma (p, y, c[j]);
  return p;
}

/* exp (i pi x) */
__device__ __forceinline__ void
turn (float x, float &re, float &im)
{
  float f = (x - 2.0f * rintf (x * 0.5f)) * 3.14159265358979f;
  re = __cosf (f);
  im = __sinf (f);
}

__device__ __forceinline__ void
turn (double x, double &re, double &im)
{
  sincospi (x, &im, &re);
}

/* sin (pi x) / (pi x), 1/x of its derivative and its second derivative as polynomials of u = x^2 <= 1/4. */
__device__ __forceinline__ float
sinc_near (float u)
{
  float p = fmaf (u, -0.0022371786f, 0.026117438f);
  p = fmaf (p, u, -0.19074790f);
  p = fmaf (p, u, 0.81174220f);
  p = fmaf (p, u, -1.6449341f);
  return fmaf (p, u, 1.0f);
}

__device__ __forceinline__ double
sinc_near (double u)
{
  const double w[11] = { 1.0, -1.6449340668482264, 0.8117424252833536, -0.19075182412208422, 0.0261478478176548,
                         -0.0023460810354558235, 0.000148428793031071, -6.975873661656381e-06, 2.5312174041370274e-07,
                         -7.304711822217775e-09, 1.7165384749821432e-10 };
  double p = w[10];
#pragma unroll
  for (int i = 9; i >= 0; i--)
    p = fma (p, u, w[i]);
  return p;
}

template <typename T>
__device__ __forceinline__ void
derivatives_near (T u, T &first_over_x, T &second)
{
  const double q[11] = { -3.289868133696453, 3.2469697011334144, -1.1445109447325053, 0.2091827825412384,
                         -0.023460810354558236, 0.001781145516372852, -9.766223126318933e-05, 4.049947846619244e-06,
                         -1.3148481279991994e-07, 3.4330769499642866e-09, -7.365893777096947e-11 };
  const double r[11] = { -3.289868133696453, 9.740909103400243, -5.722554723662526, 1.4642794777886687,
                         -0.21114729319102413, 0.019592600680101373, -0.0012696090064214613, 6.074921769928866e-05,
                         -2.235241817598639e-06, 6.522846204932145e-08, -1.5468376931903588e-09 };
  const int n = sizeof (T) == sizeof (float) ? 6 : 11;
  T b = (T)q[n - 1], d = (T)r[n - 1];
#pragma unroll
  for (int i = n - 2; i >= 0; i--) {
    b = fma (b, u, (T)q[i]);
    d = fma (d, u, (T)r[i]);
  }
  first_over_x = b;
  second = d;
}

__device__ __forceinline__ float
sinc (float x)
{
  float u = x * x, z = (x - 2.0f * rintf (x * 0.5f)) * 3.14159265358979f;
  float far = __fdividef (__sinf (z), x * 3.14159265358979f);
  return u < 0.25f ? sinc_near (u) : far;
}

__device__ __forceinline__ double
sinc (double x)
{
  double u = x * x;
  return u < 0.25 ? sinc_near (u) : sinpi (x) / (x * 3.14159265358979323846);
}

/* sinc, first and second derivative; series where the closed forms cancel. */
template <typename T>
__device__ __forceinline__ void
sinc_derivatives (T x, T &s0, T &s1, T &s2)
{
  const T pi2 = (T)9.869604401089358;
  T u = x * x, c, s, near1, near2;
  bool near = u < (T)0.25;
  derivatives_near<T> (u, near1, near2);
  turn (x, c, s);
  T inverse = 1 / (near ? (T)1 : x);
  s0 = near ? sinc_near (u) : s * inverse * (T)0.3183098861837906715;
  T far1 = (c - s0) * inverse;
  s1 = near ? x * near1 : far1;
  s2 = near ? near2 : -pi2 * s0 - 2 * far1 * inverse;
}

__device__ __forceinline__ float
clip (float x)
{
  return __saturatef (x);
}

__device__ __forceinline__ double
clip (double x)
{
  return fmin (fmax (x, 0.0), 1.0);
}

/* A (k -+ q) times A (k) */
template <typename T>
__device__ __forceinline__ T
amplitude (T dx2, T dy, T a0, T slope, T offset)
{
  return a0 * clip (fma (fma (dy, dy, dx2), -slope, offset));
}

template <typename T> struct Edge {
  T slope, offset;
};

template <typename T>
__device__ __forceinline__ Edge<T>
edge_make (const CudaG &v)
{
  Edge<T> e = { (T)(1 / (2 * v.edge)), (T)(1 / (2 * v.edge) + 0.5) };
  return e;
}

__device__ __forceinline__ void
load_pixel (const CudaG &v, int k, float &y, float &a)
{
  float2 p = __ldg (v.pixel_f + k);
  y = p.x;
  a = p.y;
}

__device__ __forceinline__ void
load_pixel (const CudaG &v, int k, double &y, double &a)
{
  double2 p = __ldg (v.pixel + k);
  y = p.x;
  a = p.y;
}

template <typename T, typename S>
__device__ __forceinline__ void
load_g (const CudaG &v, int k, int q, T &re, T &im)
{
  typedef typename Complex<S>::type C;
  C g = __ldg ((const C *)v.g + (long long)k * v.pitch + q);
  re = (T)g.x;
  im = (T)g.y;
}

/* Sum over a block in fixed order: lanes of a warp by halves, then warps one after the other. Valid in thread 0. */
template <int THREADS>
__device__ __forceinline__ double
block_sum (double x, double *shared /* [THREADS / 32] */)
{
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2)
    x += __shfl_down_sync (0xffffffffu, x, lane);
  __syncthreads ();
  if (threadIdx.x % 32 == 0)
    shared[threadIdx.x / 32] = x;
  __syncthreads ();
  if (threadIdx.x == 0)
    for (int w = 1; w < THREADS / 32; w++)
      x += shared[w];
  return x;
}

#endif
