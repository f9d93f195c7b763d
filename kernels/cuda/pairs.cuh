/* Arithmetic of one (q, k) pair and what is made once a detector row. One thread owns one frequency; neighbours in a warp
 * have neighbouring frequencies, so that a warp's pixels are one short stretch of each row. */
#ifndef SBK_CUDA_PAIRS_CUH
#define SBK_CUDA_PAIRS_CUH

#include "kernels/cuda/depth.cuh"

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

__device__ __forceinline__ bool
view_row (const CudaG &v, int row)
{
  return v.row_stride == 1 || row % v.row_stride == v.row_first;
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
  if (!view_row (v, row)) { /* nothing of it */
    s.cut[0] = s.cut[1] = s.cut[2] = s.cut[3] = s.a0 = s.a1 = s.b0 = s.b1 = 0;
    return;
  }
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

/* Coefficients in y of chi (x, y) - chi (x - sx, y - sy), half turns, the constant reduced modulo 2 where it is an angle;
 * here: chi's own in y on this row. */
template <typename T, bool ANGLE = true>
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
  out[0] = (T)(ANGLE ? constant - 2 * rint (constant / 2) : constant);
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

/* GROUP pixels of a stretch are loaded while the group before them is worked on; beyond the end the weight is zero. The more
 * work a pixel is, the smaller the group: long loops run out of the instruction cache. */
template <typename T, int GROUP> struct Group {
  T y[GROUP], a[GROUP], re[GROUP], im[GROUP];
};

template <typename T, typename S, int GROUP>
__device__ __forceinline__ void
load_group (const CudaG &v, int q, int k, int to, Group<T, GROUP> &g)
{
#pragma unroll
  for (int i = 0; i < GROUP; i++) {
    int at = k + i * v.k_stride;
    bool inside = at < to;
    at = inside ? at : k;
    load_pixel (v, at, g.y[i], g.a[i]);
    load_g<T, S> (v, at, q, g.re[i], g.im[i]);
    g.a[i] = inside ? g.a[i] : (T)0;
  }
}

/* Calls pixel (y, A, Re G, Im G) for the pixels [from, to) of a stretch. */
template <typename T, typename S, int GROUP, typename F>
__device__ __forceinline__ void
each_pixel (const CudaG &v, int q, int from, int to, F pixel)
{
  Group<T, GROUP> next;
  if (from >= to)
    return;
  load_group<T, S> (v, q, from, to, next);
#pragma unroll 1
  for (int k = from; k < to; k += GROUP * v.k_stride) {
    Group<T, GROUP> now = next;
    int following = k + GROUP * v.k_stride;
    if (following < to)
      load_group<T, S> (v, q, following, to, next);
#pragma unroll
    for (int i = 0; i < GROUP; i++)
      pixel (now.y[i], now.a[i], now.re[i], now.im[i]);
  }
}

/* Runs stretch (from, to, tag of the a side, tag of the b side) over the parts of a row, tags constant. */
template <int N> struct Tag {
  enum { value = N };
};
template <typename F>
__device__ __forceinline__ void
each_stretch (const CudaG &v, const Stretches &s, F stretch)
{
  for (int c = 0; c < 3; c++) {
    int from = s.cut[c], to = s.cut[c + 1];
    bool a = from >= s.a0 && to <= s.a1, b = from >= s.b0 && to <= s.b1;
    from = align_up (from, v.k_first, v.k_stride);
    if (a && b)
      stretch (from, to, Tag<1> (), Tag<1> ());
    else if (a)
      stretch (from, to, Tag<1> (), Tag<0> ());
    else if (b)
      stretch (from, to, Tag<0> (), Tag<1> ());
  }
}

/* The model and chi along each row of the block's chunk, in shared memory. */
template <int ROWS> struct Chunk {
  SbkModel model;
  double here[ROWS][SBK_DEGREE + 1];
};

template <int ROWS>
__device__ __forceinline__ void
chunk_begin (Chunk<ROWS> &chunk, const CudaG &v, const SbkModel *on_device, int first, int last)
{
  for (int i = threadIdx.x; i < (int)(sizeof (SbkModel) / sizeof (double)); i += blockDim.x)
    ((double *)&chunk.model)[i] = ((const double *)on_device)[i];
  __syncthreads ();
  for (int i = threadIdx.x; i < (last - first) * (SBK_DEGREE + 1); i += blockDim.x)
    row_here (chunk.model.chi, v.row_x[first + i / (SBK_DEGREE + 1)], i % (SBK_DEGREE + 1),
              &chunk.here[i / (SBK_DEGREE + 1)][i % (SBK_DEGREE + 1)]);
  __syncthreads ();
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
