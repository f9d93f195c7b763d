/* Inside of the load: what its files share. */
#ifndef SBK_CUDA_LOAD_H
#define SBK_CUDA_LOAD_H

#include "kernels/cuda/cuda.h"

enum {
  LOAD_SLOTS = 3,      /* batches under way */
  LOAD_SHARED = 8192,  /* bytes of a block that is decoded in shared memory; larger ones go through planes */
  LOAD_KIND_SHIFT = 30 /* frames of a batch are fewer */
};

enum { BLOCK_COPY, BLOCK_PLANES, BLOCK_LZ4, BLOCK_LZ4_PLANES };

/* A piece of a stored frame that is decoded on its own. */
typedef struct LoadBlock {
  unsigned long long in; /* place in the buffer */
  unsigned in_size;
  unsigned out, out_size; /* bytes of the frame */
  unsigned frame;         /* of the batch; kind in the highest two bits */
} LoadBlock;

typedef struct LoadSlot {
  cudaStream_t stream;
  cudaEvent_t done;
  char *pinned, *buffer; /* [buffer_bytes] on the host, on the device */
  LoadBlock *blocks, *blocks_device;
  size_t blocks_room;
  unsigned char *frames, *planes; /* [buffer_frames][pitch]; planes: made when a large block comes */
  unsigned long long *seen;       /* pinned: lowest damaged frame when the batch had ended */
} LoadSlot;

struct SbkLoad {
  SbkContext *context;
  SbkFrames frames;
  size_t element, bytes, pitch;
  size_t buffer_bytes;
  int64_t buffer_frames;
  LoadSlot slot[LOAD_SLOTS];
  int next;
  unsigned long long damaged; /* found on the host; ~0: none */
  unsigned long long *damaged_device;
  void *good;              /* [pitch] all ones, or 0 where a pixel is masked or beyond the last */
  unsigned long long *sum; /* [rows * cols] */
  unsigned *high;

  /* with pixels chosen */
  SbkType type;
  int64_t n_pixels, positions;
  int *pixel; /* device */
  int *pixel_host;
  void *counts;
  unsigned long long *frame_sum; /* [positions] */
};

static inline size_t
load_type_size (SbkType type)
{
  return type == SBK_U8 ? 1 : type == SBK_U16 ? 2 : 4;
}

/* The blocks of a batch, in slot->blocks; n_blocks, and the largest of those that are inflated. Notes damaged frames.
 */
SbkStatus load_blocks (SbkLoad *load, LoadSlot *slot, int64_t first, int64_t n, const SbkStored *frames, size_t *n_blocks,
                       size_t *largest, SbkError *error);
/* Enqueues the decoding of a batch whose blocks lie on the device. */
SbkStatus load_decode (SbkLoad *load, LoadSlot *slot, int64_t first, size_t n_blocks, SbkError *error);
/* Enqueues sums and columns of a decoded batch. */
SbkStatus load_gather (SbkLoad *load, LoadSlot *slot, int64_t first, int64_t n, SbkError *error);

SbkStatus load_choose (SbkLoad *load, SbkType type, int64_t n_pixels, const int32_t *pixel, int64_t positions, SbkError *error);
SbkStatus load_take (SbkLoad *load, const SbkTake *take, double *frame_sum, double *frame_com, const void **counts,
                     SbkError *error);
SbkStatus load_read (SbkLoad *load, int64_t first, int64_t n, void *counts, SbkError *error);
/* Waits for all batches; everything that only streaming needs is freed. */
SbkStatus load_wait (SbkLoad *load, SbkError *error);
void load_end (SbkLoad *load);

extern const SbkLoader cuda_loader;

#endif
