/* Counts to G: columns about their means, real transforms of the scan, the frequencies that are kept. */
#include "kernels/cuda/pairs.cuh"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/fft.h"

#define WORK 768e6 /* bytes of images and half spectra that are transformed at a time */

/* Sums of counts: exact integers, float64 for floats. */
template <typename C> struct SumOf {
  typedef unsigned long long type;
};
template <> struct SumOf<float> {
  typedef double type;
};
template <> struct SumOf<double> {
  typedef double type;
};

template <typename X>
__device__ __forceinline__ X
block_total (X x, X *shared /* [32] */)
{
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2)
    x += __shfl_down_sync (0xffffffffu, x, lane);
  if (threadIdx.x % 32 == 0)
    shared[threadIdx.x / 32] = x;
  __syncthreads ();
  x = 0;
  for (int w = 0; w < 32; w++)
    x += shared[w];
  return x;
}

/* count - mean: for integers in float32, split so that no digit is lost. */
template <typename R, typename C>
__device__ __forceinline__ R
about_mean (C count, double mean, long long whole, float rest)
{
  if (sizeof (R) == sizeof (float) && (C)0.5f == (C)0)
    return (R)((float)((long long)count - whole) - rest);
  return (R)((double)count - mean);
}

/* One block a column: its mean, then the column about it, scaled and tapered. FOUR counts a thread at a time. */
template <typename C, typename R>
__global__ void __launch_bounds__ (1024) column_kernel (const C *counts, const long long *column, long long n, int cols,
                                                        int rows, double scale, const double *window, R *real)
{
  typedef typename SumOf<C>::type X;
  __shared__ X shared[32];
  const C *from = counts + (column != NULL ? column[blockIdx.x] : (long long)blockIdx.x) * n;
  R *to = real + (long long)blockIdx.x * n;
  bool aligned = n % 4 == 0 && (size_t)from % (4 * sizeof (C)) == 0 && window == NULL;
  struct __align__ (sizeof (C) * 4) Four
  {
    C x[4];
  };
  struct __align__ (16) FourOut
  {
    R x[4];
  };
  X sum = 0;
  if (aligned)
    for (long long i = threadIdx.x; i < n / 4; i += 1024) {
      Four f = ((const Four *)from)[i];
      sum += (X)f.x[0] + (X)f.x[1] + (X)f.x[2] + (X)f.x[3];
    }
  else
    for (long long i = threadIdx.x; i < n; i += 1024)
      sum += (X)from[i];
  double mean = (double)block_total<X> (sum, shared) / (double)n;
  long long whole = llrint (mean);
  float rest = (float)(mean - (double)whole);
  R factor = (R)scale;
  if (aligned)
    for (long long i = threadIdx.x; i < n / 4; i += 1024) {
      Four f = ((const Four *)from)[i];
      FourOut out;
#pragma unroll
      for (int j = 0; j < 4; j++)
        out.x[j] = about_mean<R> (f.x[j], mean, whole, rest) * factor;
      ((FourOut *)to)[i] = out;
    }
  else
    for (long long i = threadIdx.x; i < n; i += 1024) {
      R x = about_mean<R> (from[i], mean, whole, rest) * factor;
      if (window != NULL)
        x *= (R)(window[i / cols] * window[rows + i % cols]);
      to[i] = x;
    }
}

template <typename C2>
__global__ void
band_kernel (const C2 *half, long long stride, const int *index /* place in the half spectrum, ~place: conjugate */, int n_q,
             long long pitch, C2 *g)
{
  int q = blockIdx.x * 256 + threadIdx.x;
  if (q >= pitch)
    return;
  C2 z;
  z.x = z.y = 0;
  if (q < n_q) {
    int at = index[q];
    z = half[(long long)blockIdx.y * stride + (at < 0 ? ~at : at)];
    if (at < 0)
      z.y = -z.y;
  }
  g[(long long)blockIdx.y * pitch + q] = z;
}

typedef struct {
  SbkSpectrum *s;
  const SbkBand *band;
  const SbkCounts *counts;
  size_t count_size, real_size;
  int on_device; /* the counts lie on the device already */
  int batch;
  char *room; /* counts of a batch (host counts only) */
  char *pinned;
  char *real, *half;
  int *index;
  double *window;
  CudaFft *fft;
  int64_t first, n; /* of the present batch */
} FromCounts;

static size_t
type_size (SbkType type)
{
  return type == SBK_U8 ? 1 : type == SBK_U16 ? 2 : type == SBK_F64 ? 8 : 4;
}

static void
pack_task (int64_t i, unsigned worker, void *data)
{
  FromCounts *f = (FromCounts *)data;
  size_t bytes = (size_t)(f->band->scan_rows * f->band->scan_cols) * f->count_size;
  (void)worker;
  memcpy (f->pinned + (size_t)i * bytes, (const char *)f->counts->counts + (size_t)f->counts->column[f->first + i] * bytes,
          bytes);
}

template <typename C, typename R>
static void
launch_columns (const FromCounts *f, const void *counts, const long long *column, double scale)
{
  column_kernel<C, R><<<(unsigned)f->n, 1024, 0, f->s->context->stream>>> (
      (const C *)counts, column, f->band->scan_rows * f->band->scan_cols, (int)f->band->scan_cols, (int)f->band->scan_rows,
      scale, f->window, (R *)f->real);
}

template <typename R>
static void
launch_type (const FromCounts *f, const void *counts, const long long *column, double scale)
{
  switch (f->counts->type) {
  case SBK_U8: launch_columns<unsigned char, R> (f, counts, column, scale); break;
  case SBK_U16: launch_columns<unsigned short, R> (f, counts, column, scale); break;
  case SBK_U32: launch_columns<unsigned int, R> (f, counts, column, scale); break;
  case SBK_F32: launch_columns<float, R> (f, counts, column, scale); break;
  default: launch_columns<double, R> (f, counts, column, scale); break;
  }
}

static SbkStatus
transform_batch (FromCounts *f, const long long *column, SbkError *error)
{
  SbkSpectrum *s = f->s;
  SbkContext *context = s->context;
  int64_t n = f->band->scan_rows * f->band->scan_cols, half = f->band->scan_rows * (f->band->scan_cols / 2 + 1);
  double scale = f->counts->scale / (double)n;
  const void *counts = f->counts->counts;
  if (!f->on_device) {
    /* the copy before has ended when its pinned buffer is filled again */
    CUDA_TRY (context, cudaStreamSynchronize (context->stream), "The transform of the scan");
    context->threads.run (context->threads.pool, f->n, pack_task, f);
    CUDA_TRY (context,
              cudaMemcpyAsync (f->room, f->pinned, (size_t)(f->n * n) * f->count_size, cudaMemcpyHostToDevice, context->stream),
              "The copy of the counts");
    counts = f->room;
  }
  if (s->wide)
    launch_type<double> (f, counts, f->on_device ? column + f->first : NULL, scale);
  else
    launch_type<float> (f, counts, f->on_device ? column + f->first : NULL, scale);
  CUDA_TRY (context, cudaGetLastError (), "The transform of the scan");
  SbkStatus status = cuda_fft_run (f->fft, f->real, f->half, error);
  if (status != SBK_OK)
    return status;
  dim3 grid (cuda_blocks (s->view.pitch, 256), (unsigned)f->n);
  if (s->wide)
    band_kernel<double2><<<grid, 256, 0, context->stream>>> ((const double2 *)f->half, half, f->index, (int)s->n_q,
                                                             s->view.pitch, (double2 *)s->view.g + f->first * s->view.pitch);
  else
    band_kernel<float2><<<grid, 256, 0, context->stream>>> ((const float2 *)f->half, half, f->index, (int)s->n_q, s->view.pitch,
                                                            (float2 *)s->view.g + f->first * s->view.pitch);
  return cuda_check (context, cudaGetLastError (), "The transform of the scan", error);
}

/* index of the half spectrum (~: conjugate), columns, tapers: one room, after the images. */
static SbkStatus
send_tables (FromCounts *f, long long **column, SbkError *error)
{
  SbkSpectrum *s = f->s;
  int64_t rows = f->band->scan_rows, cols = f->band->scan_cols, width = cols / 2 + 1;
  size_t size = (size_t)s->n_pixels * 8 + (size_t)(rows + cols) * 8 + (size_t)s->n_q * 4;
  char *host = (char *)malloc (size + 64), *device = (char *)cuda_room (s->context, ROOM_FINE, size + 64, error);
  if (host == NULL || device == NULL) {
    free (host);
    return SBK_NO_MEMORY;
  }
  long long *columns = (long long *)host;
  double *window = (double *)(columns + s->n_pixels);
  int *index = (int *)(window + rows + cols);
  for (int64_t k = 0; k < s->n_pixels; k++)
    columns[k] = f->counts->column[k];
  for (int64_t q = 0; q < s->n_q; q++) {
    int64_t r = f->band->index[q] / cols, c = f->band->index[q] % cols;
    index[q] = c < width ? (int)(r * width + c) : ~(int)((rows - r) % rows * width + cols - c);
  }
  for (int64_t i = 0; i < rows + cols; i++) {
    int64_t at = i < rows ? i : i - rows, n = i < rows ? rows : cols, from_end = at < n - 1 - at ? at : n - 1 - at;
    window[i] = from_end < f->counts->taper ? 0.5 - 0.5 * cos (M_PI * ((double)from_end + 0.5) / (double)f->counts->taper) : 1;
  }
  SbkStatus status = cuda_send (s->context, device, host, size, error);
  *column = (long long *)device;
  f->window = f->counts->taper > 0 ? (double *)(device + ((char *)window - host)) : NULL;
  f->index = (int *)(device + ((char *)index - host));
  free (host);
  return status;
}

static SbkStatus
transform_all (FromCounts *f, const int *cancel, SbkError *error)
{
  SbkSpectrum *s = f->s;
  SbkContext *context = s->context;
  int64_t n = f->band->scan_rows * f->band->scan_cols, half = f->band->scan_rows * (f->band->scan_cols / 2 + 1);
  double a_pixel = (double)n * (double)f->real_size + (double)half * 2 * (double)f->real_size;
  long long *column = NULL;
  f->batch = (int)fmin (fmax (WORK / a_pixel, 1), (double)s->n_pixels);
  f->real = (char *)cuda_room (context, ROOM_IMAGE, (size_t)f->batch * (size_t)n * f->real_size, error);
  f->half = (char *)cuda_room (context, ROOM_HALF, (size_t)f->batch * (size_t)half * 2 * f->real_size, error);
  if (f->real == NULL || f->half == NULL)
    return SBK_NO_MEMORY;
  if (!f->on_device) {
    f->room = (char *)cuda_room (context, ROOM_COUNTS, (size_t)f->batch * (size_t)n * f->count_size, error);
    f->pinned = (char *)cuda_pinned (context, (size_t)f->batch * (size_t)n * f->count_size, error);
    if (f->room == NULL || f->pinned == NULL)
      return SBK_NO_MEMORY;
  }
  SbkStatus status = send_tables (f, &column, error);
  if (status == SBK_OK)
    status = cuda_fft_new (&f->fft, context, f->band->scan_rows, f->band->scan_cols, f->batch, s->wide, 0, error);
  for (f->first = 0; status == SBK_OK && f->first < s->n_pixels; f->first += f->batch) {
    f->n = s->n_pixels - f->first < f->batch ? s->n_pixels - f->first : f->batch;
    status = cuda_cancelled (cancel) ? SBK_CANCELLED : transform_batch (f, column, error);
  }
  if (status == SBK_OK)
    status = cuda_check (context, cudaStreamSynchronize (context->stream), "The transform of the scan", error);
  cuda_fft_free (f->fft);
  return status;
}

SbkStatus
cuda_spectrum_from_counts (SbkContext *context, SbkSpectrum **out, const SbkPixels *pixels, const SbkBand *band,
                           const SbkCounts *counts, const int *cancel, SbkError *error)
{
  SbkStatus status = cuda_spectrum_alloc (context, out, pixels, band, error);
  if (status != SBK_OK)
    return status;
  cudaPointerAttributes where;
  FromCounts f;
  memset (&f, 0, sizeof f);
  f.s = *out;
  f.band = band;
  f.counts = counts;
  f.count_size = type_size (counts->type);
  f.real_size = (*out)->wide ? sizeof (double) : sizeof (float);
  f.on_device = cudaPointerGetAttributes (&where, counts->counts) == cudaSuccess && where.type == cudaMemoryTypeDevice;
  cudaGetLastError (); /* an ordinary pointer is no error of ours */
  status = transform_all (&f, cancel, error);
  if (status != SBK_OK) {
    cuda_spectrum_free (*out);
    *out = NULL;
  }
  return status;
}
