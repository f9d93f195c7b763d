/* G on the device: [pixel][frequency]; from given values, read back, its power. */
#include "kernels/cuda/pairs.cuh"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FAR_AWAY 100.0

static void *
keep (SbkSpectrum *s, size_t size, SbkError *error)
{
  void *p = NULL;
  if (cuda_check (s->context, cudaMalloc (&p, size + 256), "G", error) != SBK_OK)
    return NULL;
  s->memory[s->n_memory++] = p;
  return p;
}

void
cuda_spectrum_free (SbkSpectrum *s)
{
  if (s == NULL)
    return;
  for (int i = 0; i < s->n_memory; i++)
    cudaFree (s->memory[i]);
  free (s);
}

static double
aperture (double r2, double edge)
{
  double a = (1 - r2) / (2 * edge) + 0.5;
  return a < 0 ? 0 : a > 1 ? 1 : a;
}

/* Everything of the pixels in one host block: y and A twice, rows. */
static SbkStatus
send_pixels (SbkSpectrum *s, const SbkPixels *p, SbkError *error)
{
  size_t n = (size_t)p->n_pixels, rows = (size_t)p->n_rows;
  size_t size = n * (sizeof (double2) + sizeof (float2)) + rows * (2 * sizeof (double) + sizeof (int))
                + (rows + 1) * sizeof (int);
  char *host = (char *)calloc (1, size + 64), *device = (char *)keep (s, size + 64, error);
  if (host == NULL || device == NULL) {
    free (host);
    return SBK_NO_MEMORY;
  }
  double2 *pixel = (double2 *)host;
  double *row_x = (double *)(pixel + n), *row_y0 = row_x + rows;
  float2 *pixel_f = (float2 *)(row_y0 + rows);
  int *row_start = (int *)(pixel_f + n), *row_whole = row_start + rows + 1;
  double dy = INFINITY;
  for (size_t r = 0; r < rows; r++)
    for (int64_t k = p->row_start[r]; k < p->row_start[r + 1]; k++) {
      double y = p->pixel_y[k];
      pixel[k].x = y;
      pixel[k].y = aperture (p->row_x[r] * p->row_x[r] + y * y, p->edge);
      pixel_f[k].x = (float)y;
      pixel_f[k].y = (float)pixel[k].y;
      if (k > p->row_start[r])
        dy = fmin (dy, y - p->pixel_y[k - 1]);
    }
  dy = isfinite (dy) ? dy : p->edge;
  for (size_t r = 0; r <= rows; r++)
    row_start[r] = (int)p->row_start[r];
  for (size_t r = 0; r < rows; r++) {
    int64_t first = p->row_start[r], last = p->row_start[r + 1] - 1;
    row_x[r] = p->row_x[r];
    row_y0[r] = p->pixel_y[first];
    row_whole[r] = fabs (p->pixel_y[last] - p->pixel_y[first] - (double)(last - first) * dy) < 0.01 * dy;
  }
  SbkStatus status = cuda_send (s->context, device, host, size, error);
  s->view.pixel = (const double2 *)device;
  s->view.row_x = (const double *)(device + ((char *)row_x - host));
  s->view.row_y0 = (const double *)(device + ((char *)row_y0 - host));
  s->view.pixel_f = (const float2 *)(device + ((char *)pixel_f - host));
  s->view.row_start = (const int *)(device + ((char *)row_start - host));
  s->view.row_whole = (const int *)(device + ((char *)row_whole - host));
  s->view.dy = dy;
  free (host);
  return status;
}

SbkStatus
cuda_spectrum_alloc (SbkContext *context, SbkSpectrum **out, const SbkPixels *pixels, const SbkBand *band, SbkError *error)
{
  SbkSpectrum *s = (SbkSpectrum *)calloc (1, sizeof *s);
  *out = NULL;
  if (s == NULL)
    return cuda_fail (error, SBK_NO_MEMORY, "Not enough memory.");
  s->context = context;
  s->n_pixels = pixels->n_pixels;
  s->n_rows = pixels->n_rows;
  s->n_q = band->n_q;
  s->wide = context->precise;
  s->scale = 1;
  CudaG *v = &s->view;
  v->n_pixels = (int)pixels->n_pixels;
  v->n_rows = (int)pixels->n_rows;
  v->edge = pixels->edge;
  v->pitch = (band->n_q + 31) / 32 * 32;
  size_t bytes = (size_t)v->pitch * (size_t)s->n_pixels * (s->wide ? sizeof (double2) : sizeof (float2));
  size_t free_bytes = 0, total = 0;
  SbkStatus status = cuda_check (context, cudaMemGetInfo (&free_bytes, &total), "The device", error);
  if (status == SBK_OK && bytes > free_bytes)
    status = cuda_fail (error, SBK_NO_MEMORY,
                        "G needs %.2f GB of device memory, %.2f GB are free; give a smaller scan region or backend = cpu.",
                        (double)bytes / 1e9, (double)free_bytes / 1e9);
  if (status == SBK_OK) {
    v->g = keep (s, bytes, error);
    double *q = (double *)keep (s, 2 * (size_t)v->pitch * sizeof (double), error);
    v->vx = q;
    v->vy = q == NULL ? NULL : q + v->pitch;
    status = v->g == NULL || q == NULL ? SBK_NO_MEMORY : send_pixels (s, pixels, error);
  }
  if (status != SBK_OK) {
    cuda_spectrum_free (s);
    return status;
  }
  *out = s;
  return SBK_OK;
}

SbkStatus
cuda_spectrum_set_q (SbkSpectrum *s, const double *vx, const double *vy, SbkError *error)
{
  double *host = (double *)malloc (2 * (size_t)s->view.pitch * sizeof *host);
  if (host == NULL)
    return cuda_fail (error, SBK_NO_MEMORY, "Not enough memory.");
  s->v_max = 0;
  for (int64_t i = 0; i < s->n_q; i++)
    s->v_max = fmax (s->v_max, vx[i] * vx[i] + vy[i] * vy[i]);
  s->v_max = sqrt (s->v_max);
  for (long long i = 0; i < s->view.pitch; i++) {
    host[i] = i < s->n_q ? vx[i] : FAR_AWAY;
    host[s->view.pitch + i] = i < s->n_q ? vy[i] : FAR_AWAY;
  }
  SbkStatus status = cuda_send (s->context, (void *)s->view.vx, host, 2 * (size_t)s->view.pitch * sizeof *host, error);
  free (host);
  return status;
}

template <typename S>
static void
copy_values (S *to, const double *g, long long pitch, int64_t n_pixels, int64_t n_q)
{
  for (int64_t k = 0; k < n_pixels; k++)
    for (int64_t q = 0; q < 2 * n_q; q++)
      to[2 * k * pitch + q] = (S)g[2 * k * n_q + q];
}

SbkStatus
cuda_spectrum_from_values (SbkContext *context, SbkSpectrum **out, const SbkPixels *pixels, const SbkBand *band,
                           const double *g, SbkError *error)
{
  SbkStatus status = cuda_spectrum_alloc (context, out, pixels, band, error);
  if (status != SBK_OK)
    return status;
  SbkSpectrum *s = *out;
  size_t size = (size_t)s->view.pitch * (size_t)s->n_pixels * 2 * (s->wide ? sizeof (double) : sizeof (float));
  void *host = calloc (1, size + 1);
  if (host == NULL)
    status = cuda_fail (error, SBK_NO_MEMORY, "Not enough memory.");
  else if (s->wide)
    copy_values ((double *)host, g, s->view.pitch, s->n_pixels, s->n_q);
  else
    copy_values ((float *)host, g, s->view.pitch, s->n_pixels, s->n_q);
  if (status == SBK_OK)
    status = cuda_send (context, (void *)s->view.g, host, size, error);
  free (host);
  if (status != SBK_OK) {
    cuda_spectrum_free (s);
    *out = NULL;
  }
  return status;
}

SbkStatus
cuda_spectrum_read (SbkSpectrum *s, int64_t first_pixel, int64_t n_pixels, double *g, SbkError *error)
{
  size_t element = s->wide ? sizeof (double) : sizeof (float), row = (size_t)s->view.pitch * 2 * element;
  char *host = (char *)malloc (row * (size_t)n_pixels + 1);
  if (host == NULL)
    return cuda_fail (error, SBK_NO_MEMORY, "Not enough memory.");
  SbkStatus status = cuda_fetch (s->context, host, (const char *)s->view.g + row * (size_t)first_pixel, row * (size_t)n_pixels,
                                 error);
  for (int64_t k = 0; k < n_pixels && status == SBK_OK; k++)
    for (int64_t q = 0; q < 2 * s->n_q; q++)
      g[2 * k * s->n_q + q] = s->wide ? ((const double *)(host + row * (size_t)k))[q]
                                      : (double)((const float *)(host + row * (size_t)k))[q];
  free (host);
  return status;
}

/* ---- sum |G|^2 ---- */

template <typename S>
__global__ void
power_kernel (CudaG v, double *block)
{
  __shared__ double shared[4];
  typedef typename Complex<S>::type C;
  int i = blockIdx.x * 128 + threadIdx.x;
  double sum = 0;
  if (i < v.q_count) {
    int q = view_q (v, i);
    for (int r = v.row_first + blockIdx.y * v.row_stride; r < v.n_rows; r += v.row_stride * gridDim.y)
      for (int k = align_up (v.row_start[r], v.k_first, v.k_stride); k < v.row_start[r + 1]; k += v.k_stride) {
        C g = ((const C *)v.g)[(long long)k * v.pitch + q];
        sum += (double)g.x * (double)g.x + (double)g.y * (double)g.y;
      }
  }
  sum = block_sum<128> (sum, shared);
  if (threadIdx.x == 0)
    block[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

__global__ void
power_total (int n, const double *block, double *total)
{
  __shared__ double shared[8];
  double x = 0;
  for (int i = threadIdx.x; i < n; i += 256)
    x += block[i];
  x = block_sum<256> (x, shared);
  if (threadIdx.x == 0)
    *total = x;
}

SbkStatus
cuda_power (SbkSpectrum *s, const SbkView *view, double *power, SbkError *error)
{
  SbkContext *context = s->context;
  int64_t q_count = sbk_view_count (view);
  *power = 0;
  if (q_count == 0)
    return SBK_OK;
  CudaG v = cuda_view (s, view, q_count, 64);
  dim3 grid (cuda_blocks (q_count, 128), 16);
  double *block = (double *)cuda_room (context, ROOM_BLOCKS, (size_t)grid.x * grid.y * sizeof (double), error);
  double *total = (double *)cuda_room (context, ROOM_TOTAL, 4096, error);
  if (block == NULL || total == NULL)
    return SBK_NO_MEMORY;
  if (s->wide)
    power_kernel<double><<<grid, 128, 0, context->stream>>> (v, block);
  else
    power_kernel<float><<<grid, 128, 0, context->stream>>> (v, block);
  power_total<<<1, 256, 0, context->stream>>> ((int)(grid.x * grid.y), block, total);
  CUDA_TRY (context, cudaGetLastError (), "The power of G");
  SbkStatus status = cuda_sum_view (context, view, total, 1, error);
  return status != SBK_OK ? status : cuda_fetch (context, power, total, sizeof *power, error);
}
