/* The CUDA backend's table, its context and small helpers. Opened at run time; everything costly belongs to the context. */
#include "kernels/cuda/cuda.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/fft.h"
#include "kernels/cuda/load.h"

SbkStatus
cuda_fail (SbkError *error, SbkStatus status, const char *format, ...)
{
  va_list args;
  if (error == NULL)
    return status;
  va_start (args, format);
  vsnprintf (error->message, sizeof error->message, format, args);
  va_end (args);
  return status;
}

SbkStatus
cuda_check (SbkContext *context, cudaError_t code, const char *what, SbkError *error)
{
  if (code == cudaSuccess)
    return SBK_OK;
  cudaGetLastError ();
  if (code == cudaErrorMemoryAllocation) {
    size_t available = 0, total = 0;
    cudaMemGetInfo (&available, &total);
    return cuda_fail (error, SBK_NO_MEMORY,
                      "%s did not fit in device memory (%.2f of %.2f GB are free); give a smaller scan "
                      "region or backend = cpu.",
                      what, (double)available / 1e9, (double)total / 1e9);
  }
  return cuda_fail (error, SBK_DEVICE, "%s failed on the GPU: %s; make a new session or give backend = cpu.", what,
                    cudaGetErrorString (code));
}

int
cuda_cancelled (const int *cancel)
{
  return cancel != NULL && __atomic_load_n (cancel, __ATOMIC_RELAXED) != 0;
}

void *
cuda_room (SbkContext *context, int which, size_t size, SbkError *error)
{
  CudaRoom *room = &context->room[which];
  if (room->size >= size && room->data != NULL)
    return room->data;
  if (room->data != NULL) {
    cudaStreamSynchronize (context->stream);
    cudaFree (room->data);
  }
  room->data = NULL;
  room->size = 0;
  if (cuda_check (context, cudaMalloc (&room->data, size + 256), "Working memory", error) != SBK_OK)
    return NULL;
  room->size = size;
  return room->data;
}

void *
cuda_pinned (SbkContext *context, size_t size, SbkError *error)
{
  if (context->pinned_size >= size && context->pinned != NULL)
    return context->pinned;
  cudaStreamSynchronize (context->stream);
  if (context->pinned != NULL)
    cudaFreeHost (context->pinned);
  context->pinned = NULL;
  context->pinned_size = 0;
  if (cuda_check (context, cudaMallocHost (&context->pinned, size + 256), "Page-locked memory", error) != SBK_OK)
    return NULL;
  context->pinned_size = size;
  return context->pinned;
}

/* Large copies go through two page-locked halves, filled and emptied by the session's threads: the driver's own copies from
 * pageable memory are several times slower. */
enum { SMALL = 1 << 16, HALF = 8 << 20, SLICE = 1 << 19 };

typedef struct {
  char *to;
  const char *from;
  size_t size;
} Copy;

static void
copy_task (int64_t i, unsigned worker, void *data)
{
  const Copy *copy = (const Copy *)data;
  size_t at = (size_t)i * SLICE, n = copy->size - at < SLICE ? copy->size - at : SLICE;
  (void)worker;
  memcpy (copy->to + at, copy->from + at, n);
}

static void
copy_parallel (SbkContext *context, void *to, const void *from, size_t size)
{
  Copy copy = { (char *)to, (const char *)from, size };
  if (size <= SLICE)
    memcpy (to, from, size);
  else
    context->threads.run (context->threads.pool, (int64_t)((size + SLICE - 1) / SLICE), copy_task, &copy);
}

SbkStatus
cuda_fetch (SbkContext *context, void *to, const void *from, size_t size, SbkError *error)
{
  char *pinned = (char *)cuda_pinned (context, 2 * HALF, error);
  size_t got = 0, last = 0; /* got: bytes on their way; the piece before lies in the other half */
  if (pinned == NULL)
    return SBK_NO_MEMORY;
  for (int half = 0; got < size || last > 0; half ^= 1) {
    size_t n = size - got < HALF ? size - got : HALF;
    CUDA_TRY (context, cudaStreamSynchronize (context->stream), "The GPU's work");
    if (n > 0)
      CUDA_TRY (
          context,
          cudaMemcpyAsync (pinned + half * (size_t)HALF, (const char *)from + got, n, cudaMemcpyDeviceToHost, context->stream),
          "A copy from the device");
    copy_parallel (context, (char *)to + got - last, pinned + (half ^ 1) * (size_t)HALF, last);
    got += n;
    last = n;
  }
  return SBK_OK;
}

SbkStatus
cuda_send (SbkContext *context, void *to, const void *from, size_t size, SbkError *error)
{
  /* From pageable memory the call returns once the bytes are staged: the caller may free them. */
  if (size <= SMALL)
    return cuda_check (context, cudaMemcpyAsync (to, from, size, cudaMemcpyHostToDevice, context->stream),
                       "A copy to the device", error);
  char *pinned = (char *)cuda_pinned (context, 2 * HALF, error);
  if (pinned == NULL)
    return SBK_NO_MEMORY;
  CUDA_TRY (context, cudaStreamSynchronize (context->stream), "The GPU's work");
  for (size_t at = 0, piece = 0; at < size; at += HALF, piece++) {
    size_t n = size - at < HALF ? size - at : HALF;
    char *half = pinned + (piece % 2) * (size_t)HALF;
    if (piece > 1) /* its copy of two pieces ago has ended */
      CUDA_TRY (context, cudaEventSynchronize (context->staged[piece % 2]), "A copy to the device");
    copy_parallel (context, half, (const char *)from + at, n);
    CUDA_TRY (context, cudaMemcpyAsync ((char *)to + at, half, n, cudaMemcpyHostToDevice, context->stream),
              "A copy to the device");
    CUDA_TRY (context, cudaEventRecord (context->staged[piece % 2], context->stream), "A copy to the device");
  }
  return SBK_OK;
}

CudaG
cuda_view (const SbkSpectrum *s, const SbkView *view, int64_t q_count, int max_rows)
{
  CudaG v = s->view;
  /* Enough blocks that the heavy frequencies and the light ones even out; never a function of the batch. */
  int64_t wanted = (int64_t)s->context->processors * 2048 * 6;
  int64_t chunks = (wanted + q_count - 1) / q_count, least = (v.n_rows + max_rows - 1) / max_rows;
  chunks = chunks < least ? least : chunks > v.n_rows ? v.n_rows : chunks;
  v.chunk_rows = (int)((v.n_rows + chunks - 1) / chunks);
  v.chunks = (v.n_rows + v.chunk_rows - 1) / v.chunk_rows;
  v.q_first = (int)view->q_first;
  v.q_stride = (int)view->q_stride;
  v.q_phase = (int)view->q_phase;
  v.q_count = (int)q_count;
  v.k_first = (int)view->k_first;
  v.k_stride = (int)view->k_stride;
  v.row_first = view->row_stride > 1 ? (int)view->row_first : 0;
  v.row_stride = view->row_stride > 1 ? (int)view->row_stride : 1;
  return v;
}

int
cuda_depth (const SbkSpectrum *s, const SbkModel *model, double v_max)
{
  if (model->depth == 0)
    return 0;
  /* |u.v - v^2/2| <= (1 + edge) / 2 wherever both apertures reach */
  double reach = fabs (model->depth) * ((1 + s->view.edge) / 2 + v_max * hypot (model->tilt[0], model->tilt[1]));
  return reach <= 1.5 ? 1 : 2;
}

static int
cuda_score (void)
{
  int n = 0;
  if (cudaGetDeviceCount (&n) != cudaSuccess) {
    cudaGetLastError ();
    return 0;
  }
  return n > 0 ? 10 : 0;
}

static void
cuda_close (SbkContext *context)
{
  if (context == NULL)
    return;
  together_leave (context->together);
  if (context->stream != NULL)
    cudaStreamSynchronize (context->stream);
  for (int i = 0; i < FFT_KEPT; i++)
    cuda_fft_free (context->fft[i]);
  for (int i = 0; i < ROOMS; i++)
    if (context->room[i].data != NULL)
      cudaFree (context->room[i].data);
  if (context->pinned != NULL)
    cudaFreeHost (context->pinned);
  for (int i = 0; i < 2; i++)
    if (context->staged[i] != NULL)
      cudaEventDestroy (context->staged[i]);
  if (context->stream != NULL)
    cudaStreamDestroy (context->stream);
  free (context);
}

static SbkStatus
cuda_open (SbkContext **out, const SbkOpen *how, SbkError *error)
{
  SbkContext *context = (SbkContext *)calloc (1, sizeof *context);
  struct cudaDeviceProp properties;
  *out = NULL;
  if (context == NULL)
    return cuda_fail (error, SBK_NO_MEMORY, "Not enough memory.");
  context->threads = how->threads;
  context->precise = how->precise;
  SbkStatus status = cuda_check (context, cudaGetDevice (&context->device), "Opening the GPU", error);
  if (status == SBK_OK)
    status = cuda_check (context, cudaGetDeviceProperties (&properties, context->device), "Opening the GPU", error);
  if (status == SBK_OK)
    status = cuda_check (context, cudaStreamCreateWithFlags (&context->stream, cudaStreamNonBlocking), "Opening the GPU",
                         error);
  if (status != SBK_OK) {
    cuda_close (context);
    return status;
  }
  for (int i = 0; i < 2 && status == SBK_OK; i++)
    status = cuda_check (context, cudaEventCreateWithFlags (&context->staged[i], cudaEventDisableTiming), "Opening the GPU",
                         error);
  if (status != SBK_OK) {
    cuda_close (context);
    return status;
  }
  context->processors = properties.multiProcessorCount;
  cuda_fft_prepare ();
  *out = context;
  return SBK_OK;
}

static uint64_t
cuda_memory (SbkContext *context)
{
  size_t available = 0, total = 0;
  (void)context;
  if (cudaMemGetInfo (&available, &total) != cudaSuccess)
    cudaGetLastError ();
  return available;
}

static const SbkBackend cuda_backend = {
  .abi = SBK_ABI,
  .name = "cuda",
  .score = cuda_score,
  .open = cuda_open,
  .close = cuda_close,
  .spectrum_from_counts = cuda_spectrum_from_counts,
  .spectrum_from_values = cuda_spectrum_from_values,
  .spectrum_free = cuda_spectrum_free,
  .spectrum_set_q = cuda_spectrum_set_q,
  .power = cuda_power,
  .spectrum_read = cuda_spectrum_read,
  .value = cuda_value,
  .gradient = cuda_gradient,
  .hessian = cuda_hessian,
  .sums = cuda_sums,
  .aliases = cuda_aliases,
  .alias_gradient = cuda_alias_gradient,
  .spectrum_set_scale = cuda_spectrum_set_scale,
  .geometry = cuda_geometry,
  .image = cuda_image,
  .pairs_at_once = 1e11,
  .memory = cuda_memory,
  .device = cuda_device,
  .together = &cuda_together,
  .value_sums = cuda_value_sums,
  .gradient_part = cuda_gradient_part,
  .hessian_part = cuda_hessian_part,
  .hessian_end = cuda_hessian_end,
  .geometry_part = cuda_geometry_part,
  .power_sums = cuda_power_sums,
  .sums_part = cuda_sums_part,
  .aliases_part = cuda_aliases_part,
  .loader = &cuda_loader, /* the last row */
};

extern "C" __attribute__ ((visibility ("default"))) const SbkBackend *
sbk_module_backend (void)
{
  return &cuda_backend;
}
