/* Frequencies to the image: scattered into half a spectrum, transformed in float64, rounded where that is asked for. */
#include "kernels/cuda/cuda.h"

#include <stdlib.h>

#include "kernels/cuda/fft.h"

enum { THREADS = 256 };

/* place: row * width + col of the half spectrum, ~place where column 0 wants the conjugate in the mirrored row as well. */
__global__ void
scatter_kernel (int n, int rows, int width, const int *place, const double2 *phi, double2 *half)
{
  int f = blockIdx.x * THREADS + threadIdx.x;
  if (f >= n)
    return;
  int at = place[f], to = at < 0 ? ~at : at;
  double2 z = phi[f];
  half[to] = z;
  if (at < 0) {
    z.y = -z.y;
    half[(rows - to / width) % rows * width] = z;
  }
}

__global__ void
round_kernel (long long n, const double *from, float *to)
{
  long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
  if (i < n)
    to[i] = (float)from[i];
}

static SbkStatus
send_places (SbkContext *context, const SbkPlaces *p, SbkError *error)
{
  int64_t width = p->cols / 2 + 1;
  void *room = cuda_room (context, ROOM_PLACES, (size_t)p->n * sizeof (int) + 64, error);
  if (room == NULL)
    return SBK_NO_MEMORY;
  if (p->stamp != 0 && p->stamp == context->places_stamp)
    return SBK_OK;
  context->places_stamp = 0;
  int *place = (int *)malloc ((size_t)p->n * sizeof *place + 1);
  if (place == NULL)
    return cuda_fail (error, SBK_NO_MEMORY, "Not enough memory.");
  for (int64_t f = 0; f < p->n; f++) {
    int64_t row = p->position[f] / p->cols, col = p->position[f] % p->cols;
    place[f] = col == 0 ? ~(int)(row * width) : (int)(row * width + col);
  }
  SbkStatus status = cuda_send (context, room, place, (size_t)p->n * sizeof *place, error);
  free (place);
  if (status == SBK_OK)
    context->places_stamp = p->stamp;
  return status;
}

SbkStatus
cuda_image (SbkContext *context, const SbkPlaces *p, const double *phi, double *out, float *rounded, SbkError *error)
{
  int64_t width = p->cols / 2 + 1, pixels = p->rows * p->cols;
  size_t n = (size_t)pixels * sizeof (double), m = (size_t)(p->rows * width) * sizeof (double2);
  double2 *half = (double2 *)cuda_room (context, ROOM_HALF, m, error);
  double *image = (double *)cuda_room (context, ROOM_IMAGE, n, error);
  double2 *on_device = (double2 *)cuda_room (context, ROOM_PHI, (size_t)p->n * sizeof (double2) + 64, error);
  CudaFft *fft = NULL;
  if (half == NULL || image == NULL || on_device == NULL)
    return SBK_NO_MEMORY;
  SbkStatus status = send_places (context, p, error);
  if (status == SBK_OK)
    status = cuda_fft_get (&fft, context, p->rows, p->cols, 1, 1, 1, error);
  if (status == SBK_OK)
    status = cuda_send (context, on_device, phi, (size_t)p->n * sizeof (double2), error);
  if (status != SBK_OK)
    return status;
  CUDA_TRY (context, cudaMemsetAsync (half, 0, m, context->stream), "The image");
  if (p->n > 0)
    scatter_kernel<<<cuda_blocks (p->n, THREADS), THREADS, 0, context->stream>>> (
        (int)p->n, (int)p->rows, (int)width, (const int *)context->room[ROOM_PLACES].data, on_device, half);
  status = cuda_fft_run (fft, half, image, error);
  if (status != SBK_OK)
    return status;
  if (rounded == NULL)
    return cuda_fetch (context, out, image, n, error);
  float *single = (float *)half; /* spent by the transform */
  round_kernel<<<cuda_blocks (pixels, THREADS), THREADS, 0, context->stream>>> (pixels, image, single);
  CUDA_TRY (context, cudaGetLastError (), "The image");
  return cuda_fetch (context, rounded, single, (size_t)pixels * sizeof (float), error);
}
