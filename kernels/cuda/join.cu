/* Which device this is, and what it does in sums over the devices of several processes (together.h). */
#include "kernels/cuda/cuda.h"

#include <stdio.h>

enum { THREADS = 256 };

static __global__ void
add_parts (size_t n, size_t each, int n_parts, const double *parts, double *out)
{
  size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
  if (i >= n)
    return;
  double sum = parts[i];
  for (int p = 1; p < n_parts; p++)
    sum += parts[p * each + i];
  out[i] = sum;
}

static int
enter (void *owner)
{
  return cudaSetDevice (((SbkContext *)owner)->device) != cudaSuccess;
}

static double *
room (void *owner, size_t n, SbkError *error)
{
  return (double *)cuda_room ((SbkContext *)owner, ROOM_TOGETHER, n * sizeof (double), error);
}

static SbkStatus
add (void *owner, const double *parts, size_t each, int n_parts, double *out, size_t n, SbkError *error)
{
  SbkContext *context = (SbkContext *)owner;
  add_parts<<<(unsigned)((n + THREADS - 1) / THREADS), THREADS, 0, context->stream>>> (n, each, n_parts, parts, out);
  return cuda_check (context, cudaGetLastError (), "The sum over the GPUs", error);
}

static SbkStatus
copy (void *owner, double *to, const double *from, size_t n, SbkError *error)
{
  SbkContext *context = (SbkContext *)owner;
  return cuda_check (context, cudaMemcpyAsync (to, from, n * sizeof *to, cudaMemcpyDeviceToDevice, context->stream),
                     "The sum over the GPUs", error);
}

static int
idle (void *owner)
{
  cudaError_t code = cudaStreamQuery (((SbkContext *)owner)->stream);
  return code == cudaSuccess ? 1 : code == cudaErrorNotReady ? 0 : -1;
}

SbkStatus
cuda_sum_together (SbkContext *context, double *values, size_t n, SbkError *error)
{
  return together_sum (context->together, values, n, error);
}

static SbkStatus
check (SbkContext *context, char name[SBK_DEVICE_TEXT], SbkError *error)
{
  (void)context;
  return together_check (name, error);
}

static SbkStatus
make_id (SbkContext *context, uint8_t id[SBK_ID], SbkError *error)
{
  (void)context;
  return together_id (id, error);
}

static SbkStatus
join (SbkContext *context, const uint8_t id[SBK_ID], int rank, int size, int (*stop) (void *data), void *data, SbkError *error)
{
  TogetherDevice device = { context, context->stream, enter, room, add, copy, idle };
  return together_join (&context->together, &device, id, rank, size, stop, data, error);
}

static void
leave (SbkContext *context)
{
  together_leave (context->together);
  context->together = NULL;
}

static uint64_t
sent (SbkContext *context)
{
  return together_sent (context->together);
}

const SbkTogether cuda_together = { check, make_id, join, leave, sent };

SbkStatus
cuda_device (SbkContext *context, SbkDevice *device, SbkError *error)
{
  struct cudaDeviceProp properties;
  CUDA_TRY (context, cudaGetDeviceProperties (&properties, context->device), "Asking the GPU");
  for (int i = 0; i < 16; i++)
    snprintf (device->id + 2 * i, 3, "%02x", (unsigned char)properties.uuid.bytes[i]);
  snprintf (device->name, sizeof device->name, "%.60s", properties.name);
  return SBK_OK;
}
