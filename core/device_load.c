#include "core/device_load.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "core/device_read.h"
#include "core/devices.h"
#include "core/error.h"

enum { SPARSE_STRIDE = 16, SPARSE_LEAST = 64, AT_ONCE = 32, CHUNK = 4096 };

G_STATIC_ASSERT ((int)PIXEL_DROPPED == (int)SBK_DROPPED && (int)PIXEL_FINAL == (int)SBK_FINAL
                 && (int)PIXEL_REFUSED == (int)SBK_REFUSED);

struct SbDeviceColumns {
  const SbkLoader *loader;
  SbkLoad *load;
  GPid owner; /* a forked child has no device */
};

gboolean
device_load_can (const SbEngine *engine, const SbAcquisition *acquisition)
{
  return engine->backend->loader != NULL && acquisition->header.dtype <= SB_U32;
}

void
device_columns_free (SbDeviceColumns *device)
{
  if (device == NULL)
    return;
  if (device->owner == getpid ())
    device->loader->free (device->load);
  g_free (device);
}

/* ---- loading ---- */

typedef struct Loading {
  SbDevicePass pass;
  SbGather *gather;
  guint64 *sum; /* [size] */
  guint32 *high;
  SbDtype type; /* of the columns */
} Loading;

static SbkFilter
kernel_filter (SbChunkFilter filter)
{
  return filter == SB_CHUNK_LZ4              ? SBK_FILTER_LZ4
         : filter == SB_CHUNK_BITSHUFFLE     ? SBK_FILTER_BITSHUFFLE
         : filter == SB_CHUNK_BITSHUFFLE_LZ4 ? SBK_FILTER_BITSHUFFLE_LZ4
                                             : SBK_FILTER_NONE;
}

/* No room, or not this kind of frames: somebody else does it. */
static gboolean
decline (SbkStatus status, const SbkError *kernel, gboolean *declined, GError **error)
{
  *declined = status == SBK_NO_MEMORY || status == SBK_UNSUPPORTED;
  if (*declined)
    g_info ("Frames are gathered on the CPU: %s", kernel->message);
  return status == SBK_OK || (!*declined && device_fail (status, kernel, error));
}

static gboolean
begin (Loading *loading, gboolean *declined, GError **error)
{
  SbDevicePass *pass = &loading->pass;
  const SbHeader *header = &pass->acquisition->header;
  SbkFrames frames = { header->detector_rows,
                       header->detector_cols,
                       dtype_kernel (header->dtype),
                       kernel_filter (pass->codec.filter),
                       (int64_t)pass->codec.block,
                       pass->codec.swap,
                       header->mask };
  SbkError kernel = { "" };
  loading->sum = sb_alloc ((gsize)loading->gather->size, sizeof *loading->sum, "The sums over the frames", error);
  loading->high = loading->sum == NULL
                      ? NULL
                      : sb_alloc ((gsize)loading->gather->size, sizeof *loading->high, "The sums over the frames", error);
  if (loading->high == NULL)
    return FALSE;
  SbkStatus status = pass->loader->begin (pass->engine->context, &pass->load, &frames, pass->buffer_bytes, pass->buffer_frames,
                                          &kernel);
  return decline (status, &kernel, declined, error);
}

/* The device's sums, as if the gather had added them up. */
static gboolean
take_sums (Loading *loading, gint64 stride, GError **error)
{
  SbGather *gather = loading->gather;
  if (!device_pass_sums (&loading->pass, stride, loading->sum, loading->high, error))
    return FALSE;
  for (gint64 i = 0; i < gather->size; i++) {
    gather->sum[i] = loading->sum[i];
    gather->high[i] = loading->high[i];
  }
  for (gint64 t = 0; t < gather->n_tiles; t++)
    gather->tile[t].frames = (gather->positions + stride - 1) / stride;
  return TRUE;
}

static double
highest (const SbGather *gather)
{
  double most = 0;
  for (gint64 k = 0; k < gather->n_pixels; k++)
    most = MAX (most, gather->high[gather->pixel[k]]);
  return most;
}

/* Counts of short exposures are small: columns of a narrower type hold them just as well, as long as the first look
 * leaves room for twice as many. */
static SbDtype
narrow_type (const SbGather *gather)
{
  double most = highest (gather);
  for (SbDtype t = SB_U8; t < gather->stored; t++)
    if (2 * most < dtype_all_ones (t))
      return t;
  return gather->stored;
}

/* A third of what there is: G, which comes next, is larger than its counts. */
static gboolean
fits (const Loading *loading)
{
  const SbEngine *engine = loading->pass.engine;
  const SbGather *gather = loading->gather;
  guint64 need = (guint64)gather->n_pixels * (guint64)gather->positions * dtype_size (loading->type);
  guint64 budget = G_MAXUINT64;
  if (engine->backend->memory != NULL && devices_memory (engine, &budget, NULL))
    budget = budget / 10 * 9;
  if (engine->memory > 0)
    budget = MIN (budget, engine->memory);
  return need <= budget / 3;
}

static gboolean
choose (Loading *loading, gboolean *declined, GError **error)
{
  SbDevicePass *pass = &loading->pass;
  const SbGather *gather = loading->gather;
  SbkError kernel = { "The counts would leave no room for G." };
  SbkStatus status = SBK_NO_MEMORY;
  if (fits (loading))
    status = pass->loader->choose (pass->load, dtype_kernel (loading->type), gather->n_pixels, gather->pixel, gather->positions,
                                   &kernel);
  return decline (status, &kernel, declined, error);
}

/* All frames into columns; where the narrow type does not hold a count that is needed, once more into the wide one. */
static gboolean
stream (Loading *loading, gboolean *declined, GError **error)
{
  SbGather *gather = loading->gather;
  loading->type = narrow_type (gather);
  for (;;) {
    if (!choose (loading, declined, error) || !device_pass_run (&loading->pass, 1, 0.06, 0.95, error)
        || !take_sums (loading, 1, error))
      return FALSE;
    if (loading->type == gather->stored || highest (gather) <= dtype_all_ones (loading->type))
      return TRUE;
    loading->type = gather->stored;
  }
}

static SbColumns *
take (Loading *loading, GError **error)
{
  SbGather *gather = loading->gather;
  SbDevicePass *pass = &loading->pass;
  g_autofree guint8 *fate = NULL;
  gint64 n_final = 0, sentinels = 0;
  SbkError kernel = { "" };
  const void *counts = NULL;
  SbColumns *columns = gather_take_begin (gather, &fate, &n_final, &sentinels, error);
  if (columns == NULL)
    return NULL;
  SbkTake how = { fate, (double)sentinels * dtype_all_ones (gather->stored), { 0 } };
  gather_mean_com (gather, &columns->pattern, fate, how.com);
  SbkStatus status = pass->loader->take (pass->load, &how, columns->frame_sum, columns->frame_com, &counts, &kernel);
  if (status != SBK_OK) {
    device_fail (status, &kernel, error);
    columns_free (columns);
    return NULL;
  }
  for (gint64 k = 0; k < gather->n_pixels; k++)
    if (fate[k] == PIXEL_FINAL)
      gather->pixel[columns->n_pixels++] = gather->pixel[k];
  columns->held = columns->n_pixels;
  columns->pixel = g_steal_pointer (&gather->pixel);
  columns->dtype = loading->type;
  columns->counts = (gpointer)counts;
  columns->device = g_new (SbDeviceColumns, 1);
  *columns->device = (SbDeviceColumns){ pass->loader, g_steal_pointer (&pass->load), getpid () };
  return columns;
}

SbColumns *
device_load (SbEngine *engine, SbAcquisition *acquisition, const double centre[2], double radius, SbProgress *progress,
             gboolean *declined, GError **error)
{
  Loading loading = {
    .pass = { .engine = engine, .acquisition = acquisition, .loader = engine->backend->loader, .progress = progress }
  };
  SbColumns *columns = NULL;
  *declined = FALSE;
  loading.gather = gather_new (engine, acquisition, centre, radius, error);
  if (loading.gather == NULL)
    return NULL;
  loading.gather->elsewhere = TRUE;
  gint64 stride = CLAMP (acquisition_positions (acquisition) / SPARSE_LEAST, 1, SPARSE_STRIDE);
  if (device_pass_plan (&loading.pass, error) && begin (&loading, declined, error) && loading.pass.load != NULL
      && device_pass_run (&loading.pass, stride, 0, 0.06, error) && take_sums (&loading, stride, error)
      && gather_choose (loading.gather, error) && stream (&loading, declined, error))
    columns = take (&loading, error);
  if (loading.pass.load != NULL)
    loading.pass.loader->free (loading.pass.load);
  device_pass_clear (&loading.pass);
  gather_free (loading.gather);
  g_free (loading.sum);
  g_free (loading.high);
  if (columns != NULL && !progress_step (progress, 1, error))
    g_clear_pointer (&columns, columns_free);
  return columns;
}

/* ---- what the host needs of them ---- */

typedef struct Adding {
  const SbColumns *columns;
  gconstpointer block; /* [n][positions] */
  gint64 n;
  double *total; /* [positions] */
} Adding;

static void
add_task (gint64 task, guint worker, gpointer data)
{
  const Adding *a = data;
  gint64 first = task * CHUNK, last = MIN (first + CHUNK, a->columns->positions);
  for (gint64 k = 0; k < a->n; k++)
    for (gint64 p = first; p < last; p++) {
      gint64 at = k * a->columns->positions + p;
      a->total[p] += a->columns->dtype == SB_U8    ? ((const guint8 *)a->block)[at]
                     : a->columns->dtype == SB_U16 ? ((const guint16 *)a->block)[at]
                                                   : ((const guint32 *)a->block)[at];
    }
}

/* Columns [first, first + n) of those that column lists, where they follow one another. */
static gboolean
fetch (const SbColumns *columns, const gint64 *column, gint64 n, gpointer block, GError **error)
{
  gsize each = (gsize)columns->positions * dtype_size (columns->dtype);
  SbkError kernel = { "" };
  for (gint64 i = 0, run; i < n; i += run) {
    for (run = 1; i + run < n && column[i + run] == column[i] + run; run++)
      ;
    SbkStatus status = columns->device->loader->read (columns->device->load, column[i], run, (char *)block + (gsize)i * each,
                                                      &kernel);
    if (status != SBK_OK)
      return device_fail (status, &kernel, error);
  }
  return TRUE;
}

gboolean
device_columns_sum (SbEngine *engine, const SbColumns *columns, const SbDetector *detector, const gint64 *column, float *out,
                    SbProgress *progress, GError **error)
{
  gint64 positions = columns->positions, all = MAX (detector->start[detector->n], 1);
  g_autofree double *total = sb_alloc ((gsize)positions, sizeof *total, "The detector's counts", error);
  g_autofree char *block = total == NULL ? NULL
                                         : sb_alloc ((gsize)positions * AT_ONCE, dtype_size (columns->dtype),
                                                     "The detector's counts", error);
  Adding adding = { columns, block, 0, total };
  if (block == NULL)
    return FALSE;
  for (gint64 d = 0; d < detector->n; d++) {
    memset (total, 0, (gsize)positions * sizeof *total);
    for (gint64 i = detector->start[d]; i < detector->start[d + 1]; i += adding.n) {
      adding.n = MIN (AT_ONCE, detector->start[d + 1] - i);
      if (!fetch (columns, column + i, adding.n, block, error) || !progress_step (progress, (double)i / (double)all, error))
        return FALSE;
      engine_parallel (engine, (positions + CHUNK - 1) / CHUNK, add_task, &adding);
    }
    for (gint64 p = 0; p < positions; p++)
      out[d * positions + p] = (float)total[p];
  }
  return TRUE;
}
