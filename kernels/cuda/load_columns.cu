/* Decoded frames to exact sums and to columns [pixel][position]; at the end the final columns and the frames' centres.
 */
#include "kernels/cuda/load.h"

#include <stdlib.h>
#include <string.h>

enum { SUM_THREADS = 256, SUM_FRAMES = 64, TILE = 64, TILE_THREADS = 256, TAKE_THREADS = 128, AT_ONCE = 8 };

template <typename T> struct LaneSum {
  typedef unsigned type; /* SUM_FRAMES of the largest count, and a vector's counts */
};
template <> struct LaneSum<unsigned> {
  typedef unsigned long long type;
};

/* A thread holds 16 bytes of pixels over SUM_FRAMES frames. Integers: any order of the additions gives the same bits.
 */
template <typename T>
__global__ void
__launch_bounds__ (SUM_THREADS)
    sums_kernel (const unsigned char *frames, size_t pitch, int n, int size, const unsigned char *good, unsigned long long *sum,
                 unsigned *high, unsigned long long *frame_sum)
{
  enum { PER = 16 / sizeof (T) };
  typedef typename LaneSum<T>::type S;
  union Vector {
    uint4 all;
    T x[PER];
  };
  int v = blockIdx.x * SUM_THREADS + threadIdx.x, from = blockIdx.y * SUM_FRAMES, to = min (from + SUM_FRAMES, n);
  bool inside = (size_t)v * 16 < pitch;
  S total[PER];
  T top[PER];
  Vector keep;
  keep.all = inside ? ((const uint4 *)good)[v] : make_uint4 (0, 0, 0, 0);
#pragma unroll
  for (int i = 0; i < PER; i++) {
    total[i] = 0;
    top[i] = 0;
  }
#pragma unroll 4
  for (int f = from; f < to; f++) {
    Vector w;
    w.all = inside ? ((const uint4 *)(frames + (size_t)f * pitch))[v] : make_uint4 (0, 0, 0, 0);
    w.all = make_uint4 (w.all.x & keep.all.x, w.all.y & keep.all.y, w.all.z & keep.all.z, w.all.w & keep.all.w);
    S mine = 0;
#pragma unroll
    for (int i = 0; i < PER; i++) {
      total[i] += w.x[i];
      mine += w.x[i];
      top[i] = max (top[i], w.x[i]);
    }
    if (frame_sum == NULL)
      continue;
#pragma unroll
    for (int lane = 16; lane > 0; lane /= 2)
      mine += __shfl_down_sync (0xffffffffu, mine, lane);
    if (threadIdx.x % 32 == 0 && mine != 0)
      atomicAdd (frame_sum + f, (unsigned long long)mine);
  }
#pragma unroll
  for (int i = 0; i < PER; i++)
    if (top[i] != 0 && v * PER + i < size) {
      atomicAdd (sum + v * PER + i, (unsigned long long)total[i]);
      atomicMax (high + v * PER + i, (unsigned)top[i]);
    }
}

/* TILE pixels of TILE frames, turned in shared memory. */
template <typename T, typename C>
__global__ void
__launch_bounds__ (TILE_THREADS) turn_kernel (const unsigned char *frames, size_t pitch, int n, const int *pixel, int n_pixels,
                                              C *counts, long long positions)
{
  __shared__ C tile[TILE][TILE + 4 / sizeof (C)];
  int k0 = blockIdx.x * TILE, f0 = blockIdx.y * TILE, x = threadIdx.x % TILE, y = threadIdx.x / TILE;
  if (k0 + x < n_pixels) {
    size_t at = (size_t)pixel[k0 + x] * sizeof (T);
    for (int j = y; j < TILE && f0 + j < n; j += TILE_THREADS / TILE)
      tile[x][j] = (C) * (const T *)(frames + (size_t)(f0 + j) * pitch + at);
  }
  __syncthreads ();
  if (f0 + x < n)
    for (int j = y; j < TILE && k0 + j < n_pixels; j += TILE_THREADS / TILE)
      counts[(long long)(k0 + j) * positions + f0 + x] = tile[j][x];
}

template <typename T>
static void
launch_turn (SbkLoad *load, LoadSlot *slot, int64_t first, int64_t n)
{
  dim3 grid (cuda_blocks (load->n_pixels, TILE), cuda_blocks (n, TILE));
  int k = (int)load->n_pixels, f = (int)n;
  if (load->type == SBK_U8)
    turn_kernel<T, unsigned char><<<grid, TILE_THREADS, 0, slot->stream>>> (
        slot->frames, load->pitch, f, load->pixel, k, (unsigned char *)load->counts + first, load->positions);
  else if (load->type == SBK_U16)
    turn_kernel<T, unsigned short><<<grid, TILE_THREADS, 0, slot->stream>>> (
        slot->frames, load->pitch, f, load->pixel, k, (unsigned short *)load->counts + first, load->positions);
  else
    turn_kernel<T, unsigned><<<grid, TILE_THREADS, 0, slot->stream>>> (slot->frames, load->pitch, f, load->pixel, k,
                                                                       (unsigned *)load->counts + first, load->positions);
}

template <typename T>
static void
launch_gather (SbkLoad *load, LoadSlot *slot, int64_t first, int64_t n)
{
  dim3 grid (cuda_blocks ((int64_t)load->pitch / 16, SUM_THREADS), cuda_blocks (n, SUM_FRAMES));
  sums_kernel<T><<<grid, SUM_THREADS, 0, slot->stream>>> (
      slot->frames, load->pitch, (int)n, (int)(load->frames.rows * load->frames.cols), (const unsigned char *)load->good,
      load->sum, load->high, load->frame_sum != NULL ? load->frame_sum + first : NULL);
  if (load->counts != NULL)
    launch_turn<T> (load, slot, first, n);
}

SbkStatus
load_gather (SbkLoad *load, LoadSlot *slot, int64_t first, int64_t n, SbkError *error)
{
  if (load->counts != NULL && (first < 0 || first + n > load->positions))
    return cuda_fail (error, SBK_UNSUPPORTED, "Frames outside of the scan were loaded.");
  if (load->element == 1)
    launch_gather<unsigned char> (load, slot, first, n);
  else if (load->element == 2)
    launch_gather<unsigned short> (load, slot, first, n);
  else
    launch_gather<unsigned> (load, slot, first, n);
  return cuda_check (load->context, cudaGetLastError (), "Gathering the bright field", error);
}

SbkStatus
load_choose (SbkLoad *load, SbkType type, int64_t n_pixels, const int32_t *pixel, int64_t positions, SbkError *error)
{
  SbkContext *context = load->context;
  size_t size = (size_t)n_pixels * (size_t)positions * load_type_size (type), list = (size_t)n_pixels * sizeof *pixel;
  SbkStatus status = load_wait (load, error);
  if (status != SBK_OK)
    return status;
  void *old[] = { load->counts, load->pixel, load->frame_sum };
  for (size_t i = 0; i < sizeof old / sizeof *old; i++)
    if (old[i] != NULL)
      cudaFree (old[i]);
  free (load->pixel_host);
  load->counts = load->pixel = NULL;
  load->frame_sum = NULL;
  load->type = type;
  load->n_pixels = n_pixels;
  load->positions = positions;
  load->pixel_host = (int *)malloc (list);
  if (load->pixel_host == NULL)
    return cuda_fail (error, SBK_NO_MEMORY, "Not enough memory.");
  memcpy (load->pixel_host, pixel, list);
  CUDA_TRY (context, cudaMalloc ((void **)&load->pixel, list), "The bright-field columns");
  CUDA_TRY (context, cudaMalloc ((void **)&load->frame_sum, (size_t)positions * sizeof *load->frame_sum),
            "The bright-field columns");
  CUDA_TRY (context, cudaMalloc (&load->counts, size), "The bright-field columns");
  CUDA_TRY (context, cudaMemsetAsync (load->frame_sum, 0, (size_t)positions * sizeof *load->frame_sum, context->stream),
            "The bright-field columns");
  status = cuda_send (context, load->pixel, pixel, list, error);
  return status != SBK_OK ? status : cuda_check (context, cudaStreamSynchronize (context->stream), "The bright field", error);
}

/* A kept pixel's column: where it lies, where it goes (-1: nowhere), where its pixel is. */
typedef struct Row {
  int from, to, row, col;
} Row;

/* A thread a scan position: columns move up in their order, sums of a detector row before they are weighted with it, as
 * the CPU does it: the same bits. */
template <typename C>
__global__ void
__launch_bounds__ (TAKE_THREADS)
    take_kernel (C *counts, long long positions, const Row *rows, int n_rows, const unsigned long long *frame_sum, double less,
                 double com_row, double com_col, int det_rows, int det_cols, double *out_sum, double *out_com)
{
  long long p = (long long)blockIdx.x * TAKE_THREADS + threadIdx.x;
  if (p >= positions)
    return;
  double total = (double)frame_sum[p] - less, line = 0, sum = 0, row = 0, col = 0;
  int at = -1;
  for (int k = 0; k < n_rows; k += AT_ONCE) {
    C value[AT_ONCE];
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++)
      value[j] = k + j < n_rows ? counts[rows[k + j].from * positions + p] : (C)0;
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++) {
      if (k + j >= n_rows)
        break;
      Row r = rows[k + j];
      double x = (double)value[j];
      if (r.to < 0) {
        total -= x;
        continue;
      }
      if (r.row != at) {
        sum += line;
        row += at * line;
        line = 0;
        at = r.row;
      }
      line += x;
      col += r.col * x;
      counts[r.to * positions + p] = value[j];
    }
  }
  sum += line;
  row += at * line;
  out_sum[p] = total;
  row /= sum;
  col /= sum;
  bool inside = sum > 0 && row >= 0 && row <= (double)(det_rows - 1) && col >= 0 && col <= (double)(det_cols - 1);
  out_com[2 * p] = inside ? row : com_row;
  out_com[2 * p + 1] = inside ? col : com_col;
}

static void
launch_take (SbkLoad *load, const SbkTake *take, const Row *rows, int n_rows, double *sum, double *com)
{
  int grid = cuda_blocks (load->positions, TAKE_THREADS), det_rows = (int)load->frames.rows, det_cols = (int)load->frames.cols;
  cudaStream_t stream = load->context->stream;
  if (load->type == SBK_U8)
    take_kernel<unsigned char><<<grid, TAKE_THREADS, 0, stream>>> ((unsigned char *)load->counts, load->positions, rows, n_rows,
                                                                   load->frame_sum, take->less, take->com[0], take->com[1],
                                                                   det_rows, det_cols, sum, com);
  else if (load->type == SBK_U16)
    take_kernel<unsigned short><<<grid, TAKE_THREADS, 0, stream>>> ((unsigned short *)load->counts, load->positions, rows,
                                                                    n_rows, load->frame_sum, take->less, take->com[0],
                                                                    take->com[1], det_rows, det_cols, sum, com);
  else
    take_kernel<unsigned><<<grid, TAKE_THREADS, 0, stream>>> ((unsigned *)load->counts, load->positions, rows, n_rows,
                                                              load->frame_sum, take->less, take->com[0], take->com[1], det_rows,
                                                              det_cols, sum, com);
}

/* rows and results share one piece of memory. */
static SbkStatus
take_run (SbkLoad *load, const SbkTake *take, const Row *rows, int n_rows, double *frame_sum, double *frame_com,
          SbkError *error)
{
  SbkContext *context = load->context;
  size_t n = (size_t)load->positions, list = ((size_t)n_rows * sizeof *rows + 15) / 16 * 16;
  char *room = NULL;
  CUDA_TRY (context, cudaMalloc ((void **)&room, list + 3 * n * sizeof (double)), "The frames' centres of mass");
  double *sum = (double *)(room + list), *com = sum + n;
  SbkStatus status = cuda_send (context, room, rows, (size_t)n_rows * sizeof *rows, error);
  if (status == SBK_OK) {
    launch_take (load, take, (const Row *)room, n_rows, sum, com);
    status = cuda_check (context, cudaGetLastError (), "The frames' centres of mass", error);
  }
  if (status == SBK_OK)
    status = cuda_fetch (context, frame_sum, sum, n * sizeof *sum, error);
  if (status == SBK_OK)
    status = cuda_fetch (context, frame_com, com, 2 * n * sizeof *com, error);
  cudaFree (room);
  return status;
}

SbkStatus
load_take (SbkLoad *load, const SbkTake *take, double *frame_sum, double *frame_com, const void **counts, SbkError *error)
{
  int n_rows = 0, n_final = 0, cols = (int)load->frames.cols;
  SbkStatus status = load_wait (load, error);
  Row *rows = (Row *)malloc ((size_t)load->n_pixels * sizeof *rows + 1);
  if (rows == NULL)
    return cuda_fail (error, SBK_NO_MEMORY, "Not enough memory.");
  for (int64_t k = 0; k < load->n_pixels; k++)
    if (take->fate[k] != SBK_DROPPED)
      rows[n_rows++] = (Row){ (int)k, take->fate[k] == SBK_FINAL ? n_final++ : -1, load->pixel_host[k] / cols,
                              load->pixel_host[k] % cols };
  if (status == SBK_OK)
    status = take_run (load, take, rows, n_rows, frame_sum, frame_com, error);
  free (rows);
  if (status != SBK_OK)
    return status;
  load->n_pixels = n_final;
  *counts = load->counts;
  load_end (load);
  return SBK_OK;
}

SbkStatus
load_read (SbkLoad *load, int64_t first, int64_t n, void *counts, SbkError *error)
{
  size_t column = (size_t)load->positions * load_type_size (load->type);
  if (first < 0 || n < 0 || first + n > load->n_pixels || load->counts == NULL)
    return cuda_fail (error, SBK_UNSUPPORTED, "Columns that do not exist were asked for.");
  return cuda_check (
      NULL,
      cudaMemcpy (counts, (const char *)load->counts + (size_t)first * column, (size_t)n * column, cudaMemcpyDeviceToHost),
      "A copy from the device", error);
}
