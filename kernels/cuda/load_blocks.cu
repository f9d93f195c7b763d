/* Stored frames to numbers: the host walks the lengths of their blocks, a warp decodes each block. */
#include "kernels/cuda/load.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/decode.cuh"

enum { HEADER = 12, FRAMES_A_TASK = 32, WARPS = 4 };

static unsigned
big32 (const unsigned char *p)
{
  return (unsigned)p[0] << 24 | (unsigned)p[1] << 16 | (unsigned)p[2] << 8 | p[3];
}

/* One batch on the host. */
typedef struct Walk {
  const SbkLoad *load;
  const unsigned char *data;
  const SbkStored *frames;
  int64_t n;
  size_t *start; /* [n + 1] first counts, then where each frame's blocks begin */
  size_t *block; /* [n] bytes of a block */
  LoadBlock *blocks;
  size_t *largest;    /* [n] of its inflated blocks */
  unsigned char *bad; /* [n] */
} Walk;

static SbkFilter
filter_of (const Walk *walk, int64_t i)
{
  return walk->frames[i].plain ? SBK_FILTER_NONE : walk->load->frames.filter;
}

/* How many blocks a frame claims to have; 0: it cannot be one. */
static size_t
count_blocks (Walk *walk, int64_t i)
{
  const SbkLoad *load = walk->load;
  const SbkStored *stored = &walk->frames[i];
  SbkFilter filter = filter_of (walk, i);
  size_t unit = 8 * load->element, whole = load->bytes / unit * unit, *block = &walk->block[i];
  if (stored->offset > load->buffer_bytes || stored->size > load->buffer_bytes - stored->offset)
    return 0;
  if (filter == SBK_FILTER_NONE || filter == SBK_FILTER_BITSHUFFLE) {
    *block = filter == SBK_FILTER_NONE ? (size_t)LOAD_SHARED : (size_t)load->frames.block * load->element;
    if (stored->size != load->bytes)
      return 0;
  } else {
    const unsigned char *p = walk->data + stored->offset;
    if (stored->size < HEADER || big32 (p) != 0 || big32 (p + 4) != load->bytes)
      return 0;
    *block = big32 (p + 8);
    if (*block == 0 || *block > 0x7fffffff || (filter == SBK_FILTER_BITSHUFFLE_LZ4 && *block % unit != 0))
      return 0;
  }
  if (filter == SBK_FILTER_NONE || filter == SBK_FILTER_LZ4)
    whole = load->bytes;
  size_t n = (whole + *block - 1) / *block;
  int lengths = filter == SBK_FILTER_LZ4 || filter == SBK_FILTER_BITSHUFFLE_LZ4;
  if (lengths && n > stored->size / 5) /* a length and a byte each */
    return 0;
  return n + (whole < load->bytes);
}

/* Every block's place, or FALSE. */
static int
fill_blocks (Walk *walk, int64_t i)
{
  const SbkLoad *load = walk->load;
  SbkFilter filter = filter_of (walk, i);
  int lengths = filter == SBK_FILTER_LZ4 || filter == SBK_FILTER_BITSHUFFLE_LZ4;
  int planes = filter == SBK_FILTER_BITSHUFFLE || filter == SBK_FILTER_BITSHUFFLE_LZ4;
  size_t unit = 8 * load->element, whole = planes ? load->bytes / unit * unit : load->bytes;
  size_t at = lengths ? HEADER : 0, size = walk->frames[i].size, out = 0;
  const unsigned char *p = walk->data + walk->frames[i].offset;
  LoadBlock *to = walk->blocks + walk->start[i];
  for (; out < whole; out += walk->block[i], to++) {
    size_t n = whole - out < walk->block[i] ? whole - out : walk->block[i], stored = n;
    unsigned kind = planes ? BLOCK_PLANES : BLOCK_COPY;
    if (lengths) {
      if (size - at < 4)
        return 0;
      stored = big32 (p + at);
      at += 4;
      if (stored == 0 || stored > size - at)
        return 0;
      kind = planes ? BLOCK_LZ4_PLANES : stored == n ? BLOCK_COPY : BLOCK_LZ4;
    }
    *to = (LoadBlock){ walk->frames[i].offset + at, (unsigned)stored, (unsigned)out, (unsigned)n,
                       (unsigned)i | kind << LOAD_KIND_SHIFT };
    if (kind >= BLOCK_LZ4 && n > walk->largest[i])
      walk->largest[i] = n;
    at += stored;
  }
  size_t tail = load->bytes - whole;
  if (tail > 0 && size - at >= tail)
    *to = (LoadBlock){ walk->frames[i].offset + at, (unsigned)tail, (unsigned)whole, (unsigned)tail, (unsigned)i };
  return size - at == tail;
}

static void
count_task (int64_t task, unsigned worker, void *data)
{
  Walk *walk = (Walk *)data;
  (void)worker;
  for (int64_t i = task * FRAMES_A_TASK; i < walk->n && i < (task + 1) * FRAMES_A_TASK; i++) {
    walk->start[i] = count_blocks (walk, i);
    walk->bad[i] = walk->start[i] == 0;
  }
}

static void
fill_task (int64_t task, unsigned worker, void *data)
{
  Walk *walk = (Walk *)data;
  (void)worker;
  for (int64_t i = task * FRAMES_A_TASK; i < walk->n && i < (task + 1) * FRAMES_A_TASK; i++) {
    walk->largest[i] = 0;
    if (!walk->bad[i] && !fill_blocks (walk, i)) {
      walk->bad[i] = 1;
      memset (walk->blocks + walk->start[i], 0, (walk->start[i + 1] - walk->start[i]) * sizeof (LoadBlock));
    }
  }
}

static SbkStatus
blocks_room (SbkLoad *load, LoadSlot *slot, size_t n, SbkError *error)
{
  if (n <= slot->blocks_room)
    return SBK_OK;
  if (slot->blocks != NULL)
    cudaFreeHost (slot->blocks);
  if (slot->blocks_device != NULL)
    cudaFree (slot->blocks_device);
  slot->blocks = slot->blocks_device = NULL;
  slot->blocks_room = 0;
  n += n / 4;
  CUDA_TRY (load->context, cudaMallocHost ((void **)&slot->blocks, n * sizeof *slot->blocks), "Page-locked memory");
  CUDA_TRY (load->context, cudaMalloc ((void **)&slot->blocks_device, n * sizeof *slot->blocks), "The blocks of the frames");
  slot->blocks_room = n;
  return SBK_OK;
}

SbkStatus
load_blocks (SbkLoad *load, LoadSlot *slot, int64_t first, int64_t n, const SbkStored *frames, size_t *n_blocks,
             size_t *largest, SbkError *error)
{
  const SbkThreads *threads = &load->context->threads;
  size_t *host = (size_t *)malloc (((size_t)n + 1) * 3 * sizeof *host + (size_t)n);
  if (host == NULL)
    return cuda_fail (error, SBK_NO_MEMORY, "Not enough memory.");
  Walk walk = { load,
                (const unsigned char *)slot->pinned,
                frames,
                n,
                host,
                host + n + 1,
                NULL,
                host + 2 * (n + 1),
                (unsigned char *)(host + 3 * (n + 1)) };
  int64_t tasks = (n + FRAMES_A_TASK - 1) / FRAMES_A_TASK;
  threads->run (threads->pool, tasks, count_task, &walk);
  size_t total = 0;
  for (int64_t i = 0; i < n; i++) {
    size_t mine = walk.start[i];
    walk.start[i] = total;
    total += mine;
  }
  walk.start[n] = total;
  SbkStatus status = blocks_room (load, slot, total, error);
  if (status == SBK_OK) {
    walk.blocks = slot->blocks;
    threads->run (threads->pool, tasks, fill_task, &walk);
  }
  *n_blocks = total;
  *largest = 0;
  for (int64_t i = 0; status == SBK_OK && i < n; i++) {
    if (walk.bad[i] && (unsigned long long)(first + i) < load->damaged)
      load->damaged = (unsigned long long)(first + i);
    if (walk.largest[i] > *largest)
      *largest = walk.largest[i];
  }
  free (host);
  return status;
}

/* A warp a block. */
template <int E>
__global__ void
__launch_bounds__ (WARPS *WARP)
    decode_kernel (const unsigned char *__restrict__ buffer, const LoadBlock *blocks, long long n, unsigned char *frames,
                   unsigned char *planes, size_t pitch, int swap, unsigned long long first, unsigned long long *damaged)
{
  __shared__ __align__ (16) unsigned char shared[WARPS][LOAD_SHARED];
  long long at = (long long)blockIdx.x * WARPS + threadIdx.x / WARP;
  unsigned lane = threadIdx.x % WARP;
  if (at >= n)
    return;
  LoadBlock b = blocks[at];
  unsigned kind = b.frame >> LOAD_KIND_SHIFT, frame = b.frame & ((1u << LOAD_KIND_SHIFT) - 1);
  const unsigned char *in = buffer + b.in;
  unsigned char *out = frames + frame * pitch;
  if (kind == BLOCK_PLANES) {
    planes_turn<E> (in, b.out_size, out + b.out, swap, lane);
    return;
  }
  if (kind != BLOCK_COPY) {
    unsigned char *room = shared[threadIdx.x / WARP];
    bool good;
    if (b.out_size <= LOAD_SHARED) {
      good = lz4_decode (in, b.in_size, room, b.out_size, lane);
      if (good && kind == BLOCK_LZ4_PLANES) {
        planes_turn<E> (room, b.out_size, out + b.out, swap, lane);
        return;
      }
    } else {
      room = planes + frame * pitch + b.out;
      good = lz4_decode (in, b.in_size, room, b.out_size, lane);
      if (good && kind == BLOCK_LZ4_PLANES) {
        planes_turn<E> (room, b.out_size, out + b.out, swap, lane);
        return;
      }
    }
    if (!good) {
      if (lane == 0)
        atomicMin (damaged, first + frame);
      return;
    }
    in = room;
  }
  unsigned turn = swap ? E - 1 : 0; /* place of a byte within its number, reversed */
  for (unsigned i = lane; i < b.out_size; i += WARP)
    out[(b.out + i) ^ turn] = in[i];
}

SbkStatus
load_decode (SbkLoad *load, LoadSlot *slot, int64_t first, size_t n_blocks, SbkError *error)
{
  unsigned grid = (unsigned)((n_blocks + WARPS - 1) / WARPS);
  if (grid == 0)
    return SBK_OK;
#define DECODE(E)                                                                                                              \
  decode_kernel<E><<<grid, WARPS * WARP, 0, slot->stream>>> (                                                                  \
      (const unsigned char *)slot->buffer, slot->blocks_device, (long long)n_blocks, slot->frames, slot->planes, load->pitch,  \
      load->frames.swap, (unsigned long long)first, load->damaged_device)
  if (load->element == 1)
    DECODE (1);
  else if (load->element == 2)
    DECODE (2);
  else
    DECODE (4);
  return cuda_check (load->context, cudaGetLastError (), "Decoding frames", error);
}
