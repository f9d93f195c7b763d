/* Sums over the bright field for a reconstruction: a thread a fine frequency, a chunk of rows a block, chunks added in order. */
#include "kernels/cuda/pairs.cuh"

#include <math.h>
#include <stdlib.h>

enum { MAX_CHUNK_ROWS = 64 };

typedef struct {
  const double *vx, *vy;
  const int *source;
  const unsigned char *conj;
  long long n;
} CudaFine;

/* The ssb sets in float64: +1 where k - q only is inside, -1 where k + q only is. */
__device__ __forceinline__ int
ssb_side (double x, double y, double vx, double vy)
{
  double mx = x - vx, my = y - vy, px = x + vx, py = y + vy;
  return (mx * mx + my * my <= 1) - (px * px + py * py <= 1);
}

/* The weight of a row: exp (i pi p (y)) with p = v.grad chi in half turns, its constant reduced modulo 2, or k.v. */
template <typename T> struct Weight {
  T c[SBK_DEGREE];
};

template <typename T, int KIND>
__device__ __forceinline__ void
weight_begin (Weight<T> &weight, const double *chi, double x, double vx, double vy)
{
  if (KIND == SBK_SUM_MOMENT) {
    weight.c[0] = (T)(x * vx);
    weight.c[1] = (T)vy;
  }
  if (KIND == SBK_SUM_SHIFTED)
#pragma unroll
    for (int j = 0; j < SBK_DEGREE; j++) {
      double by_x = 0, by_y = 0; /* of y^j in d chi / dx and d chi / dy */
#pragma unroll
      for (int i = SBK_DEGREE - j; i >= 1; i--)
        by_x = fma (by_x, x, i * chi[(i + j) * (i + j + 1) / 2 + j]);
#pragma unroll
      for (int i = SBK_DEGREE - j - 1; i >= 0; i--)
        by_y = fma (by_y, x, (j + 1) * chi[(i + j + 1) * (i + j + 2) / 2 + j + 1]);
      double c = 2 * (vx * by_x + vy * by_y);
      weight.c[j] = (T)(j == 0 ? c - 2 * rint (c / 2) : c);
    }
}

template <typename T, int KIND>
__device__ __forceinline__ void
weight_at (const Weight<T> &weight, T y, T &re, T &im)
{
  re = fma (weight.c[1], y, weight.c[0]);
  im = 0;
  if (KIND == SBK_SUM_SHIFTED)
    turn (horner<T> (weight.c, y), re, im);
}

/* partial[(chunk * width + i)][n] */
template <typename T, typename S, int KIND, int DEPTH>
__global__ void
__launch_bounds__ (CUDA_THREADS) sums_kernel (CudaG v, CudaFine fine, const SbkModel *on_device, double *partial)
{
  constexpr bool WEIGHTED = KIND == SBK_SUM_SHIFTED || KIND == SBK_SUM_MOMENT;
  constexpr int WIDTH = KIND == SBK_SUM_COMPLEX ? 8 : WEIGHTED ? 4 : 3;
  __shared__ Chunk<MAX_CHUNK_ROWS> chunk;
  int first = blockIdx.y * v.chunk_rows, last = min (first + v.chunk_rows, v.n_rows);
  chunk_begin (chunk, v, on_device, first, last);
  long long index = (long long)blockIdx.x * CUDA_THREADS + threadIdx.x, at = min (index, fine.n - 1);
  double vx = fine.vx[at], vy = fine.vy[at], total[WIDTH] = { 0 };
  int q = fine.source[at];
  T sign = fine.conj[at] ? -1 : 1;
  Edge<T> edge = edge_make<T> (v);
  for (int r = first; r < last; r++) {
    Stretches s;
    double x = v.row_x[r];
    stretches_find (s, v, r, x, vx, vy);
    if (s.cut[0] == s.cut[3])
      continue;
    Row<T> row;
    T sum[WIDTH] = { 0 };
    Weight<T> weight;
    row_begin<T> (row, chunk.model, chunk.here[r - first], x, vx, vy);
    weight_begin<T, KIND> (weight, chunk.model.chi, x, vx, vy);
    for (int c = 0; c < 3; c++) {
      int from = s.cut[c], to = s.cut[c + 1];
      if (!(from >= s.a0 && to <= s.a1) && !(from >= s.b0 && to <= s.b1))
        continue;
      for (int k = align_up (from, v.k_first, v.k_stride); k < to; k += v.k_stride) {
        T y, a0, gr, gi, ar, ai, br, bi;
        load_pixel (v, k, y, a0);
        load_g<T, S> (v, k, q, gr, gi);
        gi *= sign;
        T wa = amplitude<T> (row.dx2_minus, y - row.vy, a0, edge.slope, edge.offset);
        T wb = amplitude<T> (row.dx2_plus, y + row.vy, a0, edge.slope, edge.offset);
        bool seen = wa + wb > 0;
        if (DEPTH != DEPTH_NONE) {
          wa *= sinc<DEPTH> (fma (y, row.x_slope, row.x_minus));
          wb *= sinc<DEPTH> (fma (y, row.x_slope, row.x_plus));
        }
        turn (horner<T> (row.minus, y), ar, ai);
        turn (horner<T> (row.plus, y), br, bi);
        ar *= wa;
        ai *= wa;
        br *= wb;
        bi *= wb;
        if (KIND == SBK_SUM_MATCHED) {
          T cr = ar - br, ci = ai - bi;
          sum[0] += cr * gr + ci * gi;
          sum[1] += cr * gi - ci * gr;
          sum[2] += cr * cr + ci * ci;
        } else if (KIND == SBK_SUM_SSB) {
          int side = ssb_side (x, v.pixel[k].x, vx, vy);
          T re = side > 0 ? ar : br, im = side > 0 ? ai : bi, modulus = sqrt (re * re + im * im);
          if (side != 0 && modulus > 0) {
            T unit = (T)side / modulus;
            sum[0] += unit * (re * gr + im * gi);
            sum[1] += unit * (re * gi - im * gr);
            sum[2] += modulus;
          }
        } else if (WEIGHTED) {
          T wr, wi, cr = ar - br, ci = ai - bi;
          weight_at<T, KIND> (weight, y, wr, wi);
          wr = seen ? wr : (T)0;
          wi = seen ? wi : (T)0;
          sum[0] += wr * gr + wi * gi;
          sum[1] += wr * gi - wi * gr;
          sum[2] += wr * cr + wi * ci;
          sum[WIDTH > 3 ? 3 : 0] += wr * ci - wi * cr;
        } else {
          sum[0] += ar * ar + ai * ai;
          sum[1] += br * br + bi * bi;
          sum[2] += ar * br + ai * bi;
          sum[WIDTH > 3 ? 3 : 0] += ar * bi - ai * br;
          sum[WIDTH > 4 ? 4 : 0] += ar * gr + ai * gi;
          sum[WIDTH > 4 ? 5 : 0] += ar * gi - ai * gr;
          sum[WIDTH > 4 ? 6 : 0] += br * gr + bi * gi;
          sum[WIDTH > 4 ? 7 : 0] += br * gi - bi * gr;
        }
      }
    }
#pragma unroll
    for (int i = 0; i < WIDTH; i++)
      total[i] += (double)sum[i];
  }
  if (index < fine.n)
#pragma unroll
    for (int i = 0; i < WIDTH; i++)
      partial[((size_t)blockIdx.y * WIDTH + i) * fine.n + index] = total[i];
}

__global__ void
sums_gather (long long n, int width, int chunks, const double *partial, double *out)
{
  long long at = (long long)blockIdx.x * 256 + threadIdx.x;
  if (at >= n)
    return;
  for (int i = 0; i < width; i++) {
    double x = 0;
    for (int c = 0; c < chunks; c++)
      x += partial[((size_t)c * width + i) * n + at];
    out[at * width + i] = x;
  }
}

template <typename T, typename S, int DEPTH>
static void
launch (SbkSumKind kind, dim3 grid, cudaStream_t stream, const CudaG &v, const CudaFine &fine, const SbkModel *model,
        double *partial)
{
#define KIND(K)                                                                                                                \
  case K: sums_kernel<T, S, K, DEPTH><<<grid, CUDA_THREADS, 0, stream>>> (v, fine, model, partial); break
  switch (kind) {
    KIND (SBK_SUM_MATCHED);
    KIND (SBK_SUM_SSB);
    KIND (SBK_SUM_COMPLEX);
    KIND (SBK_SUM_SHIFTED);
    KIND (SBK_SUM_MOMENT);
  default: break;
  }
#undef KIND
}

/* The fine frequencies on the device; reach: the largest |q|. */
static SbkStatus
send_fine (SbkContext *context, const SbkFine *fine, CudaFine *on_device, double *reach, SbkError *error)
{
  size_t n = (size_t)fine->n;
  char *room = (char *)cuda_room (context, ROOM_KEPT_FINE, n * 21 + 64, error);
  CudaFine f = { (const double *)room, (const double *)(room + n * 8), (const int *)(room + n * 16),
                 (const unsigned char *)(room + n * 20), fine->n };
  *on_device = f;
  *reach = context->fine_reach;
  if (room != NULL && fine->stamp != 0 && fine->stamp == context->fine_stamp)
    return SBK_OK;
  context->fine_stamp = 0;
  int *source = (int *)malloc (n * sizeof *source + 1);
  if (room == NULL || source == NULL) {
    free (source);
    return SBK_NO_MEMORY;
  }
  *reach = 0;
  for (size_t i = 0; i < n; i++) {
    source[i] = (int)fine->source[i];
    *reach = fmax (*reach, fine->vx[i] * fine->vx[i] + fine->vy[i] * fine->vy[i]);
  }
  *reach = sqrt (*reach);
  SbkStatus status = cuda_send (context, room, fine->vx, n * 8, error);
  if (status == SBK_OK)
    status = cuda_send (context, room + n * 8, fine->vy, n * 8, error);
  if (status == SBK_OK)
    status = cuda_send (context, room + n * 16, source, n * 4, error);
  if (status == SBK_OK)
    status = cuda_send (context, room + n * 20, fine->conj, n, error);
  free (source);
  if (status == SBK_OK) {
    context->fine_stamp = fine->stamp;
    context->fine_reach = *reach;
  }
  return status;
}

SbkStatus
cuda_sums (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, const SbkFine *fine, SbkSumKind kind,
           double *out, const int *cancel, SbkError *error)
{
  SbkContext *context = s->context;
  CudaFine f;
  if (kind >= SBK_SUM_KINDS)
    return cuda_fail (error, SBK_UNSUPPORTED, "The CUDA backend does not know sums of kind %d.", (int)kind);
  if (fine->n == 0)
    return SBK_OK;
  double v_max;
  SbkStatus status = send_fine (context, fine, &f, &v_max, error);
  if (status != SBK_OK)
    return status;
  CudaG v = cuda_view (s, view, fine->n, MAX_CHUNK_ROWS);
  int width = sbk_sum_width (kind);
  size_t n = (size_t)fine->n;
  double *partial = (double *)cuda_room (context, ROOM_PARTIAL, (size_t)v.chunks * width * n * sizeof (double), error);
  double *sums = (double *)cuda_room (context, ROOM_OUT, n * width * sizeof (double), error);
  SbkModel *on_device = (SbkModel *)cuda_room (context, ROOM_MODELS, sizeof *model, error);
  if (partial == NULL || sums == NULL || on_device == NULL)
    return SBK_NO_MEMORY;
  status = cuda_send (context, on_device, model, sizeof *model, error);
  if (status != SBK_OK)
    return status;
  dim3 grid (cuda_blocks (fine->n, CUDA_THREADS), v.chunks);
#define CALL(T, S, D) launch<T, S, D> (kind, grid, context->stream, v, f, on_device, partial)
  CUDA_DISPATCH (s->wide, precise, cuda_depth (s, model, v_max), CALL);
#undef CALL
  sums_gather<<<cuda_blocks (fine->n, 256), 256, 0, context->stream>>> (fine->n, width, v.chunks, partial, sums);
  CUDA_TRY (context, cudaGetLastError (), "The sums of the reconstruction");
  status = cuda_sum_view (context, view, sums, n * width, error);
  if (status == SBK_OK)
    status = cuda_fetch (context, out, sums, n * width * sizeof (double), error);
  return status == SBK_OK && cuda_cancelled (cancel) ? SBK_CANCELLED : status;
}
