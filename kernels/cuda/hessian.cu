/* Value, gradient and Hessian over chosen coordinates, from tiles: which degrees are asked for, what the tiles leave, and the
 * terms of each frequency's first derivatives. */
#include "kernels/cuda/hessian.cuh"

#include <stdlib.h>
#include <string.h>

enum { MAX_LIST = 30 + 3, COMBINE_Q = 32, COMBINE_THREADS = 256 };

/* The groups that hold the chosen coordinates, and each group's place in the list of all their coordinates. */
typedef struct {
  int n_groups, degree[HESSIAN_GROUPS], place[HESSIAN_GROUPS];
  int n;               /* coordinates of all groups */
  int position[SBK_N]; /* of a kernel coordinate in that list, -1 */
} Layout;

static void
layout_make (Layout *l, int n, const int *chosen)
{
  int needed[HESSIAN_GROUPS] = { 0 };
  for (int i = 0; i < n; i++) {
    int degree = 2, m = chosen[i];
    if (m < SBK_N_MONOMIALS)
      for (degree = 0; (degree + 1) * (degree + 2) / 2 <= m;)
        degree++;
    needed[degree] = degree > 0;
  }
  memset (l, 0, sizeof *l);
  for (int i = 0; i < SBK_N; i++)
    l->position[i] = -1;
  for (int d = 1; d < HESSIAN_GROUPS; d++) {
    if (!needed[d])
      continue;
    l->degree[l->n_groups] = d;
    l->place[l->n_groups++] = l->n;
    for (int j = 0; j <= d; j++)
      l->position[d * (d + 1) / 2 + j] = l->n++;
    for (int e = 0; e < 3 && d == 2; e++)
      l->position[SBK_TILT_X + e] = l->n++;
  }
}

/* first[group base + (chunk * size + i) * 3 + m][q_count] -> chunks added, all coordinates: sum[i * 3 + m][q_count] */
template <typename T>
__global__ void
first_gather (int q_count, int chunks, int size, int place, const T *first, double *sum)
{
  int q = blockIdx.x * 256 + threadIdx.x, i = blockIdx.y;
  if (q >= q_count)
    return;
  double x = 0;
  for (int c = 0; c < chunks; c++)
    x += (double)first[((size_t)c * size * 3 + i) * q_count + q];
  sum[((size_t)place * 3 + i) * q_count + q] = x;
}

/* Gradient and the first-derivative terms of the Hessian (upper triangle by rows), summed over COMBINE_Q frequencies. */
__global__ void
__launch_bounds__ (COMBINE_THREADS) hessian_combine (int q_count, int n, const double *h, const double *sum, double *block)
{
  __shared__ double d[3 * MAX_LIST][COMBINE_Q], of_q[4][COMBINE_Q];
  int q0 = blockIdx.x * COMBINE_Q, count = min (COMBINE_Q, q_count - q0), pairs = n * (n + 1) / 2;
  for (int i = threadIdx.x; i < 3 * n * COMBINE_Q; i += COMBINE_THREADS) {
    int q = i % COMBINE_Q;
    d[i / COMBINE_Q][q] = q < count ? sum[(size_t)(i / COMBINE_Q) * q_count + q0 + q] : 0;
  }
  if (threadIdx.x < COMBINE_Q) {
    int q = threadIdx.x;
    double hr = 0, hi = 0, in = 0;
    if (q < count) {
      double nn = h[2 * (size_t)q_count + q0 + q];
      hr = h[q0 + q];
      hi = h[(size_t)q_count + q0 + q];
      in = nn > 0 ? 1 / nn : 0;
    }
    of_q[0][q] = hr;
    of_q[1][q] = hi;
    of_q[2][q] = in;
    of_q[3][q] = (hr * hr + hi * hi) * in * in;
  }
  __syncthreads ();
  for (int p = threadIdx.x; p < n + pairs; p += COMBINE_THREADS) {
    double x = 0;
    if (p < n) {
      for (int q = 0; q < count; q++)
        x += 2 * (of_q[0][q] * d[3 * p][q] + of_q[1][q] * d[3 * p + 1][q]) * of_q[2][q] - of_q[3][q] * d[3 * p + 2][q];
    } else {
      int i = 0, rest = p - n;
      while (rest >= n - i)
        rest -= n - i++;
      int j = i + rest;
      for (int q = 0; q < count; q++) {
        double hr = of_q[0][q], hi = of_q[1][q], in = of_q[2][q];
        double along_i = hr * d[3 * i][q] + hi * d[3 * i + 1][q], along_j = hr * d[3 * j][q] + hi * d[3 * j + 1][q];
        double ni = d[3 * i + 2][q], nj = d[3 * j + 2][q];
        x += 2 * (d[3 * i][q] * d[3 * j][q] + d[3 * i + 1][q] * d[3 * j + 1][q]) * in
             - 2 * (along_i * nj + along_j * ni) * in * in + 2 * of_q[3][q] * ni * nj * in;
      }
    }
    block[(size_t)blockIdx.x * (n + pairs) + p] = x;
  }
}

/* total[width]: columns of block[n][width] */
__global__ void
hessian_total (int n, int width, const double *block, double *total)
{
  __shared__ double shared[8];
  double x = 0;
  for (int i = threadIdx.x; i < n; i += 256)
    x += block[(size_t)i * width + blockIdx.x];
  x = block_sum<256> (x, shared);
  if (threadIdx.x == 0)
    total[blockIdx.x] = x;
}

/* Gradient and first-derivative terms from h (ROOM_H) and sum[n * 3][q_count], into total[n + n (n + 1) / 2]. */
static SbkStatus
combine (SbkContext *context, int q_count, int n, const double *sum, double *total, SbkError *error)
{
  int width = n + n * (n + 1) / 2, blocks = cuda_blocks (q_count, COMBINE_Q);
  double *block = (double *)cuda_room (context, ROOM_BLOCKS, (size_t)blocks * width * sizeof (double), error);
  if (block == NULL)
    return SBK_NO_MEMORY;
  hessian_combine<<<blocks, COMBINE_THREADS, 0, context->stream>>> (q_count, n, (const double *)context->room[ROOM_H].data, sum,
                                                                    block);
  hessian_total<<<width, 256, 0, context->stream>>> (blocks, width, block, total);
  return cuda_check (context, cudaGetLastError (), "The Hessian pass", error);
}

/* One tile's second-order sums to total. */
static SbkStatus
run_tile (SbkSpectrum *s, const CudaG *v, HessianTile tile, int depth, size_t element, int di, int dj, int place, double *total,
          double *sum, SbkError *error)
{
  SbkContext *context = s->context;
  int width = group_size (di) * group_size (dj);
  dim3 grid (cuda_blocks (v->q_count, CUDA_THREADS), v->chunks);
  int blocks = (int)(grid.x * grid.y);
  double *block = (double *)cuda_room (context, ROOM_BLOCKS, (size_t)blocks * width * sizeof (double), error);
  void *first = cuda_room (context, ROOM_PARTIAL, (size_t)v->chunks * 3 * 10 * v->q_count * element, error);
  if (block == NULL || first == NULL)
    return SBK_NO_MEMORY;
  const double *h = (const double *)context->room[ROOM_H].data;
  tile (depth, di, dj, grid, context->stream, *v, (const SbkModel *)context->room[ROOM_MODELS].data, h, block, first);
  hessian_total<<<width, 256, 0, context->stream>>> (blocks, width, block, total);
  if (di == dj) {
    dim3 gather (cuda_blocks (v->q_count, 256), 3 * group_size (di));
    if (element == sizeof (float))
      first_gather<float>
          <<<gather, 256, 0, context->stream>>> (v->q_count, v->chunks, group_size (di), place, (const float *)first, sum);
    else
      first_gather<double>
          <<<gather, 256, 0, context->stream>>> (v->q_count, v->chunks, group_size (di), place, (const double *)first, sum);
  }
  return cuda_check (context, cudaGetLastError (), "The Hessian pass", error);
}

/* full[n_list * n_list] (upper triangle) += 2 x the tiles' sums. */
static void
add_tiles (const Layout *l, const double *tiles, double *full)
{
  for (int a = 0; a < l->n_groups; a++)
    for (int b = a; b < l->n_groups; b++) {
      int ni = group_size (l->degree[a]), nj = group_size (l->degree[b]);
      for (int i = 0; i < ni; i++)
        for (int j = a == b ? i : 0; j < nj; j++)
          full[(l->place[a] + i) * l->n + l->place[b] + j] += 2 * tiles[i * nj + j];
      tiles += ni * nj;
    }
}

/* All tiles: second-order sums to `at`, first derivatives of each frequency to sum[n * 3][q_count]. */
static SbkStatus
run_tiles (SbkSpectrum *s, const CudaG *v, int precise, int depth, const Layout *l, double *at, double *sum, const int *cancel,
           SbkError *error)
{
  size_t element = s->wide || precise ? sizeof (double) : sizeof (float);
  HessianTile tile = s->wide ? cuda_hessian_wide : precise ? cuda_hessian_mixed : cuda_hessian_single;
  for (int a = 0; a < l->n_groups; a++)
    for (int b = a; b < l->n_groups; b++) {
      if (cuda_cancelled (cancel))
        return SBK_CANCELLED;
      SbkStatus status = run_tile (s, v, tile, depth, element, l->degree[a], l->degree[b], l->place[a], at, sum, error);
      if (status != SBK_OK)
        return status;
      at += group_size (l->degree[a]) * group_size (l->degree[b]);
    }
  return SBK_OK;
}

static int
tiles_size (const Layout *l)
{
  int size = 0;
  for (int a = 0; a < l->n_groups; a++)
    for (int b = a; b < l->n_groups; b++)
      size += group_size (l->degree[a]) * group_size (l->degree[b]);
  return size;
}

static SbkStatus
hessian_passes (SbkSpectrum *s, const SbkView *view, const CudaG *v, int precise, int depth, const Layout *l, double *out,
                int n_out, double *value, const int *cancel, SbkError *error)
{
  SbkContext *context = s->context;
  double *sum = (double *)cuda_room (context, ROOM_FIRST, (size_t)l->n * 3 * v->q_count * sizeof (double), error);
  double *total = (double *)cuda_room (context, ROOM_OUT, (size_t)n_out * sizeof (double), error);
  if (sum == NULL || total == NULL)
    return SBK_NO_MEMORY;
  SbkStatus status = run_tiles (s, v, precise, depth, l, total, sum, cancel, error);
  if (status == SBK_OK)
    status = cuda_sum_view (context, view, total, (size_t)tiles_size (l), error);
  if (status == SBK_OK)
    status = cuda_sum_view (context, view, sum, (size_t)l->n * 3 * v->q_count, error);
  if (status == SBK_OK)
    status = combine (context, v->q_count, l->n, sum, total + tiles_size (l), error);
  if (status == SBK_OK)
    status = cuda_fetch (context, out, total, (size_t)n_out * sizeof (double), error);
  return status != SBK_OK ? status : cuda_fetch (context, value, context->room[ROOM_TOTAL].data, sizeof (double), error);
}

SbkStatus
cuda_hessian (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, int n, const int *chosen, double *value,
              double *gradient, double *hessian, const int *cancel, SbkError *error)
{
  Layout l;
  int64_t q_count = sbk_view_count (view);
  layout_make (&l, n, chosen);
  int tiles = tiles_size (&l), pairs = l.n * (l.n + 1) / 2;
  int n_out = tiles + l.n + pairs;
  memset (gradient, 0, (size_t)n * sizeof *gradient);
  memset (hessian, 0, (size_t)n * n * sizeof *hessian);
  *value = 0;
  if (q_count == 0)
    return SBK_OK;
  CudaG whole = cuda_view (s, view, q_count, 64), v = cuda_view (s, view, q_count, HESSIAN_CHUNK_ROWS);
  SbkStatus status = cuda_value_pass (s, &whole, precise, model, 1, 1, view->together, error);
  if (status != SBK_OK)
    return status;
  double *out = (double *)calloc ((size_t)n_out + (size_t)l.n * l.n, sizeof *out), *full = out + n_out;
  if (out == NULL)
    return cuda_fail (error, SBK_NO_MEMORY, "Not enough memory for the Hessian.");
  status = hessian_passes (s, view, &v, precise, cuda_depth (s, model, s->v_max), &l, out, n_out, value, cancel, error);
  if (status == SBK_OK) {
    const double *combined = out + tiles;
    add_tiles (&l, out, full);
    for (int i = 0, at = l.n; i < l.n; i++)
      for (int j = i; j < l.n; j++, at++)
        full[i * l.n + j] += combined[at];
    for (int i = 0; i < n; i++) {
      int p = l.position[chosen[i]];
      gradient[i] = p < 0 ? 0 : combined[p];
      for (int j = 0; j < n; j++) {
        int q = l.position[chosen[j]];
        if (p >= 0 && q >= 0)
          hessian[i * n + j] = p <= q ? full[p * l.n + q] : full[q * l.n + p];
      }
    }
  }
  free (out);
  return status;
}

/* ---- in parts ---- */

/* The part's first derivatives to where hessian_end expects them; its second-order sums, of all frequencies together, to the
 * first lane of the view's first block. */
static void
keep_part (const Layout *l, int n, const int *chosen, int64_t count, const double *out, const double *sum, double *full,
           double *first, double *second)
{
  add_tiles (l, out, full);
  for (int i = 0, at = 0; i < n; i++) {
    int p = l->position[chosen[i]];
    for (int c = 0; c < 3 && p >= 0; c++)
      for (int64_t q = 0; q < count; q++)
        first[(q / SBK_LANES) * sbk_carry_first (n) + (3 * i + c) * SBK_LANES + q % SBK_LANES] +=
            sum[(size_t)(3 * p + c) * (size_t)count + q];
    for (int j = i; j < n; j++, at++) {
      int r = l->position[chosen[j]];
      if (p >= 0 && r >= 0)
        second[at * SBK_LANES] += p <= r ? full[p * l->n + r] : full[r * l->n + p];
    }
  }
}

SbkStatus
cuda_hessian_part (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, int n, const int *chosen,
                   const double *sums, double *first, double *second, const int *cancel, SbkError *error)
{
  SbkContext *context = s->context;
  Layout l;
  int64_t count = sbk_view_count (view);
  layout_make (&l, n, chosen);
  size_t tiles = (size_t)tiles_size (&l), firsts = (size_t)l.n * 3 * (size_t)count;
  SbkStatus status = count > 0 ? cuda_parts_begin (context, count, sums, model, error) : SBK_OK;
  if (count == 0 || status != SBK_OK)
    return status;
  double *sum = (double *)cuda_room (context, ROOM_FIRST, firsts * sizeof (double), error);
  double *total = (double *)cuda_room (context, ROOM_IMAGE, tiles * sizeof (double), error);
  double *host = (double *)calloc (tiles + firsts + (size_t)l.n * l.n, sizeof *host);
  if (sum == NULL || total == NULL || host == NULL) {
    free (host);
    return SBK_NO_MEMORY;
  }
  CudaG v = cuda_view (s, view, count, HESSIAN_CHUNK_ROWS);
  status = run_tiles (s, &v, precise, cuda_depth (s, model, s->v_max), &l, total, sum, cancel, error);
  if (status == SBK_OK)
    status = cuda_fetch (context, host, total, tiles * sizeof *host, error);
  if (status == SBK_OK)
    status = cuda_fetch (context, host + tiles, sum, firsts * sizeof *host, error);
  if (status == SBK_OK)
    keep_part (&l, n, chosen, count, host, host + tiles, host + tiles + firsts, first, second);
  free (host);
  return status;
}

SbkStatus
cuda_hessian_end (SbkContext *context, const SbkView *view, int n, const double *sums, const double *first,
                  const double *second, double *gradient, double *hessian, SbkError *error)
{
  int64_t count = sbk_view_count (view);
  int pairs = n * (n + 1) / 2;
  SbkModel none = { { 0 }, { 0, 0 }, 0 };
  double out[SBK_N + SBK_N * (SBK_N + 1) / 2];
  SbkStatus status = count > 0 ? cuda_parts_begin (context, count, sums, &none, error) : SBK_OK;
  if (count == 0 || status != SBK_OK)
    return status;
  size_t firsts = (size_t)n * 3 * (size_t)count;
  double *sum = (double *)cuda_room (context, ROOM_FIRST, firsts * sizeof (double), error);
  double *total = (double *)cuda_room (context, ROOM_IMAGE, sizeof out, error),
         *host = (double *)malloc (firsts * sizeof *host);
  if (sum == NULL || total == NULL || host == NULL) {
    free (host);
    return SBK_NO_MEMORY;
  }
  for (int i = 0; i < 3 * n; i++)
    for (int64_t q = 0; q < count; q++)
      host[(size_t)i * (size_t)count + q] = first[(q / SBK_LANES) * sbk_carry_first (n) + i * SBK_LANES + q % SBK_LANES];
  status = cuda_send (context, sum, host, firsts * sizeof *host, error);
  free (host);
  if (status == SBK_OK)
    status = combine (context, (int)count, n, sum, total, error);
  if (status == SBK_OK)
    status = cuda_fetch (context, out, total, (size_t)(n + pairs) * sizeof *out, error);
  for (int i = 0, at = 0; i < n && status == SBK_OK; i++) {
    gradient[i] += out[i];
    for (int j = i; j < n; j++, at++) {
      double x = out[n + at] + second[at * SBK_LANES];
      hessian[i * n + j] += x;
      if (j > i)
        hessian[j * n + i] += x;
    }
  }
  return status;
}
