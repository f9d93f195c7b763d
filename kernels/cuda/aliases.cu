/* Aliases: sums of one measured frequency over all pairs of the frequencies that it holds together. A warp a group: its
 * lanes make gamma of all members at a few pixels in shared memory, then each multiplies its own pairs. */
#include "kernels/cuda/pairs.cuh"

#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/aliases.cuh"

enum { PIXELS = 32 /* of a row at a time: a lane each */, SMALL = 6 /* members whose pairs fit the lanes of a warp */ };

/* Which pair is number e: the triangle by rows, then (m, n) for <gamma_m, G>. */
__device__ __forceinline__ void
pair_of (int e, int n, int &m, int &l)
{
  int triangle = n * (n + 1) / 2;
  if (e >= triangle) {
    m = e - triangle;
    l = n;
    return;
  }
  m = 0;
  while (e >= n - m) {
    e -= n - m;
    m++;
  }
  l = m + e;
}

/* conj (z_m) z_l over `count` pixels of the buffer [member][PIXELS]. */
template <typename T>
__device__ __forceinline__ void
multiply (const typename Complex<T>::type *z, int m, int l, int count, T &re, T &im)
{
  const typename Complex<T>::type *a = z + m * PIXELS, *b = z + l * PIXELS;
  re = im = 0;
  for (int p = 0; p < count; p++) {
    re = fma (a[p].x, b[p].x, fma (a[p].y, b[p].y, re));
    im = fma (a[p].x, b[p].y, fma (-a[p].y, b[p].x, im));
  }
}

/* Shared memory of a warp: rows of each member, gamma of each member and G. */
template <typename T>
static size_t
warp_room (int64_t most)
{
  return (size_t)most * sizeof (Row<T>) + (size_t)(most + 1) * PIXELS * sizeof (typename Complex<T>::type);
}

/* out: sums of all groups, at their places; zero where a group is large. */
template <typename T, typename S, int DEPTH>
__global__ void
alias_kernel (CudaG v, CudaAliases a, const SbkModel *on_device, int room, double *out)
{
  typedef typename Complex<T>::type C;
  extern __shared__ __align__ (16) char shared[];
  __shared__ SbkModel model;
  __shared__ double here[4][SBK_DEGREE + 1];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = blockIdx.x * (blockDim.x / 32) + warp;
  for (int i = threadIdx.x; i < (int)(sizeof model / sizeof (double)); i += blockDim.x)
    ((double *)&model)[i] = ((const double *)on_device)[i];
  __syncthreads ();
  if (group >= a.n_groups)
    return;
  int first = a.start[group], n = a.start[group + 1] - first, pairs = n * (n + 3) / 2, q = a.source[group];
  Row<T> *row = (Row<T> *)(shared + (size_t)warp * room);
  C *z = (C *)(row + a.most);
  double *to = out + a.place[group], own_re = 0, own_im = 0;
  int own_m = 0, own_l = 0;
  Edge<T> edge = edge_make<T> (v);
  if (lane < pairs)
    pair_of (lane, n, own_m, own_l);
  for (int r = 0; r < v.n_rows; r++) {
    double x = v.row_x[r];
    int end = v.row_start[r + 1], from = align_up (v.row_start[r], v.k_first, v.k_stride);
    if (from >= end || !view_row (v, r))
      continue;
    if (lane <= SBK_DEGREE)
      row_here (model.chi, x, lane, &here[warp][lane]);
    __syncwarp ();
    for (int m = lane; m < n; m += 32)
      row_begin<T> (row[m], model, here[warp], x, a.vx[first + m], a.vy[first + m]);
    __syncwarp ();
    for (; from < end; from += PIXELS * v.k_stride) {
      int k = from + lane * v.k_stride, count = min (PIXELS, (end - from + v.k_stride - 1) / v.k_stride);
      T y = 0, a0 = 0;
      C g = { 0, 0 };
      if (k < end) {
        load_pixel (v, k, y, a0);
        load_g<T, S> (v, k, q, g.x, g.y);
      }
      z[n * PIXELS + lane] = g;
      for (int m = 0; m < n; m++) {
        C c = { 0, 0 };
        T wa = amplitude<T> (row[m].dx2_minus, y - row[m].vy, a0, edge.slope, edge.offset), re, im;
        T wb = amplitude<T> (row[m].dx2_plus, y + row[m].vy, a0, edge.slope, edge.offset);
        if (wa > 0) {
          if (DEPTH != DEPTH_NONE)
            wa *= sinc<DEPTH> (fma (y, row[m].x_slope, row[m].x_minus));
          turn (horner<T> (row[m].minus, y), re, im);
          c.x = wa * re;
          c.y = wa * im;
        }
        if (wb > 0) {
          if (DEPTH != DEPTH_NONE)
            wb *= sinc<DEPTH> (fma (y, row[m].x_slope, row[m].x_plus));
          turn (horner<T> (row[m].plus, y), re, im);
          c.x = fma (-wb, re, c.x);
          c.y = fma (-wb, im, c.y);
        }
        z[m * PIXELS + lane] = c;
      }
      __syncwarp ();
      T re, im;
      if (n <= SMALL) {
        if (lane < pairs) {
          multiply<T> (z, own_m, own_l, count, re, im);
          own_re += (double)re;
          own_im += (double)im;
        }
      } else {
        for (int e = lane; e < pairs; e += 32) {
          int m, l;
          pair_of (e, n, m, l);
          multiply<T> (z, m, l, count, re, im);
          to[2 * e] += (double)re;
          to[2 * e + 1] += m == l ? 0 : (double)im;
        }
      }
      __syncwarp ();
    }
  }
  if (n <= SMALL && lane < pairs) {
    to[2 * lane] = own_re;
    to[2 * lane + 1] = own_m == own_l ? 0 : own_im;
  }
}

/* Groups and members on the device, in ROOM_ALIASES. */
SbkStatus
cuda_aliases_send (SbkContext *context, const SbkAliases *a, CudaAliases *to, SbkError *error)
{
  size_t groups = (size_t)a->n_groups, members = (size_t)a->start[groups];
  size_t size = members * 16 + (groups + 1) * 8 + (groups + 1) * 4 + groups * 4 + members * 4;
  char *host = (char *)malloc (size + 64), *device = (char *)cuda_room (context, ROOM_ALIASES, size + 64, error);
  if (host == NULL || device == NULL) {
    free (host);
    return SBK_NO_MEMORY;
  }
  double *vx = (double *)host, *vy = vx + members;
  long long *place = (long long *)(vy + members);
  int *start = (int *)(place + groups + 1), *source = start + groups + 1, *group_of = source + groups;
  memcpy (vx, a->vx, members * sizeof *vx);
  memcpy (vy, a->vy, members * sizeof *vy);
  for (size_t g = 0; g <= groups; g++) {
    place[g] = a->place != NULL ? a->place[g] : 0;
    start[g] = (int)a->start[g];
  }
  for (size_t g = 0; g < groups; g++) {
    source[g] = (int)a->source[g];
    for (int64_t m = a->start[g]; m < a->start[g + 1]; m++)
      group_of[m] = (int)g;
  }
  SbkStatus status = cuda_send (context, device, host, size, error);
  *to = (CudaAliases){ (int)groups,
                       (int)a->most,
                       (const int *)(device + ((char *)start - host)),
                       (const int *)(device + ((char *)source - host)),
                       (const int *)(device + ((char *)group_of - host)),
                       (const long long *)(device + ((char *)place - host)),
                       (const double *)device,
                       (const double *)device + members };
  free (host);
  return status;
}

/* As many warps a block as the shared memory takes; 0: not even one. */
template <typename T>
static int
warps_of (int64_t most)
{
  size_t room = warp_room<T> (most), limit = 96 * 1024;
  return room * 4 <= limit ? 4 : room * 2 <= limit ? 2 : room <= 2 * limit ? 1 : 0;
}

template <typename T, typename S, int DEPTH>
static SbkStatus
launch (SbkContext *context, const CudaG &v, const CudaAliases &a, const SbkModel *model, double *out, SbkError *error)
{
  int warps = warps_of<T> (a.most);
  size_t room = warp_room<T> (a.most);
  if (warps == 0)
    return cuda_fail (error, SBK_UNSUPPORTED,
                      "Groups of %d aliases are too large for the GPU; scan with a smaller step, or "
                      "give backend = cpu.",
                      a.most);
  CUDA_TRY (context,
            cudaFuncSetAttribute (alias_kernel<T, S, DEPTH>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  (int)(room * (size_t)warps)),
            "The dealiased sums");
  alias_kernel<T, S, DEPTH>
      <<<cuda_blocks (a.n_groups, warps), 32 * warps, room *(size_t)warps, context->stream>>> (v, a, model, (int)room, out);
  return cuda_check (context, cudaGetLastError (), "The dealiased sums", error);
}

double
cuda_aliases_reach (const SbkAliases *a)
{
  double v_max = 0;
  for (int64_t m = 0; m < a->start[a->n_groups]; m++)
    v_max = fmax (v_max, hypot (a->vx[m], a->vy[m]));
  return v_max;
}

SbkStatus
cuda_aliases (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, const SbkAliases *aliases, double *out,
              const int *cancel, SbkError *error)
{
  SbkContext *context = s->context;
  CudaAliases a;
  if (aliases->n_groups == 0)
    return SBK_OK;
  size_t size = (size_t)aliases->place[aliases->n_groups] * sizeof (double);
  SbkStatus status = cuda_aliases_send (context, aliases, &a, error);
  SbkModel *on_device = (SbkModel *)cuda_room (context, ROOM_MODELS, sizeof *model, error);
  double *sums = (double *)cuda_room (context, ROOM_OUT, size, error);
  if (status != SBK_OK || on_device == NULL || sums == NULL)
    return status != SBK_OK ? status : SBK_NO_MEMORY;
  status = cuda_send (context, on_device, model, sizeof *model, error);
  if (status == SBK_OK)
    status = cuda_check (context, cudaMemsetAsync (sums, 0, size, context->stream), "The dealiased sums", error);
  if (status != SBK_OK)
    return status;
  CudaG v = cuda_view (s, view, 1, 64);
#define CALL(T, S, D) status = launch<T, S, D> (context, v, a, on_device, sums, error)
  CUDA_DISPATCH (s->wide, precise, cuda_depth (s, model, cuda_aliases_reach (aliases)), CALL);
#undef CALL
  if (status == SBK_OK)
    status = cuda_sum_view (context, view, sums, size / sizeof (double), error);
  if (status == SBK_OK)
    status = cuda_fetch (context, out, sums, size, error);
  return status == SBK_OK && cuda_cancelled (cancel) ? SBK_CANCELLED : status;
}
