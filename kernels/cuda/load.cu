/* Frames to columns: batches go through page-locked buffers, one stream each, so that the caller's reading, the copy
 * and the decoding of three batches overlap. */
#include "kernels/cuda/load.h"

#include <stdlib.h>
#include <string.h>

#define NONE_DAMAGED (~0ull)

static void
slot_free (LoadSlot *slot)
{
  void *device[] = { slot->buffer, slot->blocks_device, slot->frames, slot->planes };
  void *pinned[] = { slot->pinned, slot->blocks, slot->seen };
  if (slot->stream != NULL) {
    cudaStreamSynchronize (slot->stream);
    cudaStreamDestroy (slot->stream);
  }
  if (slot->done != NULL)
    cudaEventDestroy (slot->done);
  for (size_t i = 0; i < sizeof device / sizeof *device; i++)
    if (device[i] != NULL)
      cudaFree (device[i]);
  for (size_t i = 0; i < sizeof pinned / sizeof *pinned; i++)
    if (pinned[i] != NULL)
      cudaFreeHost (pinned[i]);
  memset (slot, 0, sizeof *slot);
}

void
load_end (SbkLoad *load)
{
  void *device[] = { load->damaged_device, load->good, load->sum, load->high, load->pixel, load->frame_sum };
  for (int i = 0; i < LOAD_SLOTS; i++)
    slot_free (&load->slot[i]);
  for (size_t i = 0; i < sizeof device / sizeof *device; i++)
    if (device[i] != NULL)
      cudaFree (device[i]);
  load->damaged_device = NULL;
  load->good = NULL;
  load->sum = NULL;
  load->high = NULL;
  load->pixel = NULL;
  load->frame_sum = NULL;
  free (load->pixel_host);
  load->pixel_host = NULL;
  load->context = NULL;
}

static void
load_free (SbkLoad *load)
{
  if (load == NULL)
    return;
  load_end (load);
  if (load->counts != NULL)
    cudaFree (load->counts);
  cudaGetLastError ();
  free (load);
}

static SbkStatus
slot_make (SbkLoad *load, LoadSlot *slot, SbkError *error)
{
  const char *what = "The frames on their way";
  CUDA_TRY (load->context, cudaStreamCreateWithFlags (&slot->stream, cudaStreamNonBlocking), what);
  CUDA_TRY (load->context, cudaEventCreateWithFlags (&slot->done, cudaEventDisableTiming), what);
  CUDA_TRY (load->context, cudaMallocHost ((void **)&slot->pinned, load->buffer_bytes), "Page-locked memory");
  CUDA_TRY (load->context, cudaMallocHost ((void **)&slot->seen, sizeof *slot->seen), "Page-locked memory");
  CUDA_TRY (load->context, cudaMalloc ((void **)&slot->buffer, load->buffer_bytes), what);
  *slot->seen = NONE_DAMAGED;
  return cuda_check (load->context, cudaMalloc ((void **)&slot->frames, (size_t)load->buffer_frames * load->pitch), what,
                     error);
}

/* Sums at zero, and which pixels they are of. */
static SbkStatus
sums_make (SbkLoad *load, SbkError *error)
{
  const char *what = "The sums over the frames";
  SbkContext *context = load->context;
  size_t n = (size_t)(load->frames.rows * load->frames.cols);
  CUDA_TRY (context, cudaMalloc (&load->good, load->pitch), what);
  CUDA_TRY (context, cudaMalloc ((void **)&load->sum, n * sizeof *load->sum), what);
  CUDA_TRY (context, cudaMalloc ((void **)&load->high, n * sizeof *load->high), what);
  CUDA_TRY (context, cudaMalloc ((void **)&load->damaged_device, sizeof *load->damaged_device), what);
  CUDA_TRY (context, cudaMemsetAsync (load->sum, 0, n * sizeof *load->sum, context->stream), what);
  CUDA_TRY (context, cudaMemsetAsync (load->high, 0, n * sizeof *load->high, context->stream), what);
  CUDA_TRY (context, cudaMemsetAsync (load->damaged_device, 0xff, sizeof *load->damaged_device, context->stream), what);
  unsigned char *good = (unsigned char *)calloc (1, load->pitch);
  if (good == NULL)
    return cuda_fail (error, SBK_NO_MEMORY, "Not enough memory.");
  for (size_t i = 0; i < n; i++)
    memset (good + i * load->element, load->frames.mask != NULL && load->frames.mask[i] ? 0 : 0xff, load->element);
  load->frames.mask = NULL;
  SbkStatus status = cuda_send (context, load->good, good, load->pitch, error);
  if (status == SBK_OK)
    status = cuda_check (context, cudaStreamSynchronize (context->stream), what, error);
  free (good);
  return status;
}

static SbkStatus
load_begin (SbkContext *context, SbkLoad **out, const SbkFrames *frames, size_t buffer_bytes, int64_t buffer_frames,
            SbkError *error)
{
  *out = NULL;
  if (frames->type != SBK_U8 && frames->type != SBK_U16 && frames->type != SBK_U32)
    return cuda_fail (error, SBK_UNSUPPORTED, "The CUDA backend loads uint8, uint16 and uint32 frames.");
  SbkLoad *load = (SbkLoad *)calloc (1, sizeof *load);
  if (load == NULL)
    return cuda_fail (error, SBK_NO_MEMORY, "Not enough memory.");
  load->context = context;
  load->frames = *frames;
  load->element = load_type_size (frames->type);
  load->bytes = (size_t)(frames->rows * frames->cols) * load->element;
  load->pitch = (load->bytes + 15) / 16 * 16;
  load->buffer_bytes = buffer_bytes;
  load->buffer_frames = buffer_frames;
  load->damaged = NONE_DAMAGED;
  SbkStatus status = buffer_frames < 1 || buffer_frames >> LOAD_KIND_SHIFT != 0 || load->bytes > 0x7fffffff
                         ? cuda_fail (error, SBK_UNSUPPORTED, "The CUDA backend does not load frames of this size.")
                         : sums_make (load, error);
  for (int i = 0; status == SBK_OK && i < LOAD_SLOTS; i++)
    status = slot_make (load, &load->slot[i], error);
  if (status != SBK_OK) {
    load_free (load);
    return status;
  }
  *out = load;
  return SBK_OK;
}

static int64_t
lowest (unsigned long long damaged)
{
  return damaged == NONE_DAMAGED ? -1 : (int64_t)damaged;
}

static SbkStatus
load_buffer (SbkLoad *load, void **data, int64_t *damaged, SbkError *error)
{
  LoadSlot *slot = &load->slot[load->next];
  CUDA_TRY (load->context, cudaEventSynchronize (slot->done), "Loading frames");
  if (*slot->seen < load->damaged)
    load->damaged = *slot->seen;
  *data = slot->pinned;
  *damaged = lowest (load->damaged);
  return SBK_OK;
}

static SbkStatus
planes_make (SbkLoad *load, LoadSlot *slot, SbkError *error)
{
  if (slot->planes != NULL)
    return SBK_OK;
  return cuda_check (load->context, cudaMalloc ((void **)&slot->planes, (size_t)load->buffer_frames * load->pitch),
                     "The large blocks of the frames", error);
}

static SbkStatus
load_push (SbkLoad *load, int64_t first, int64_t n, const SbkStored *frames, SbkError *error)
{
  LoadSlot *slot = &load->slot[load->next];
  size_t n_blocks, largest, used = 0;
  if (n < 1 || n > load->buffer_frames)
    return cuda_fail (error, SBK_UNSUPPORTED, "A batch holds at most %lld frames.", (long long)load->buffer_frames);
  SbkStatus status = load_blocks (load, slot, first, n, frames, &n_blocks, &largest, error);
  if (status == SBK_OK && largest > LOAD_SHARED)
    status = planes_make (load, slot, error);
  if (status != SBK_OK)
    return status;
  for (int64_t i = 0; i < n; i++) {
    size_t end = (size_t)frames[i].offset + frames[i].size;
    used = end > used ? end : used;
  }
  used = used < load->buffer_bytes ? used : load->buffer_bytes;
  CUDA_TRY (load->context, cudaMemcpyAsync (slot->buffer, slot->pinned, used, cudaMemcpyHostToDevice, slot->stream),
            "The copy of the frames");
  CUDA_TRY (load->context,
            cudaMemcpyAsync (slot->blocks_device, slot->blocks, n_blocks * sizeof *slot->blocks, cudaMemcpyHostToDevice,
                             slot->stream),
            "The copy of the frames");
  status = load_decode (load, slot, first, n_blocks, error);
  if (status == SBK_OK)
    status = load_gather (load, slot, first, n, error);
  if (status != SBK_OK)
    return status;
  CUDA_TRY (load->context,
            cudaMemcpyAsync (slot->seen, load->damaged_device, sizeof *slot->seen, cudaMemcpyDeviceToHost, slot->stream),
            "Loading frames");
  CUDA_TRY (load->context, cudaEventRecord (slot->done, slot->stream), "Loading frames");
  load->next = (load->next + 1) % LOAD_SLOTS;
  return SBK_OK;
}

SbkStatus
load_wait (SbkLoad *load, SbkError *error)
{
  for (int i = 0; i < LOAD_SLOTS; i++) {
    CUDA_TRY (load->context, cudaStreamSynchronize (load->slot[i].stream), "Loading frames");
    if (*load->slot[i].seen < load->damaged)
      load->damaged = *load->slot[i].seen;
  }
  return SBK_OK;
}

static SbkStatus
load_sums (SbkLoad *load, uint64_t *sum, uint32_t *high, int64_t *damaged, SbkError *error)
{
  SbkContext *context = load->context;
  size_t n = (size_t)(load->frames.rows * load->frames.cols);
  SbkStatus status = load_wait (load, error);
  *damaged = lowest (load->damaged);
  if (status == SBK_OK)
    status = cuda_fetch (context, sum, load->sum, n * sizeof *load->sum, error);
  if (status == SBK_OK)
    status = cuda_fetch (context, high, load->high, n * sizeof *load->high, error);
  if (status != SBK_OK)
    return status;
  CUDA_TRY (context, cudaMemsetAsync (load->sum, 0, n * sizeof *load->sum, context->stream), "The sums over the frames");
  CUDA_TRY (context, cudaMemsetAsync (load->high, 0, n * sizeof *load->high, context->stream), "The sums over the frames");
  return cuda_check (context, cudaStreamSynchronize (context->stream), "The sums over the frames", error);
}

extern const SbkLoader cuda_loader = {
  .begin = load_begin,
  .buffer = load_buffer,
  .push = load_push,
  .sums = load_sums,
  .choose = load_choose,
  .take = load_take,
  .read = load_read,
  .free = load_free,
};
