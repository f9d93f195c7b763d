#include "core/columns.h"

#include <math.h>
#include <string.h>

#include "core/device_load.h"
#include "core/error.h"
#include "core/gather.h"
#include "core/share.h"
#include "core/scratch.h"

enum { SPARSE_STRIDE = 16, SPARSE_LEAST = 64, SPARSE_TASK = 8 };

/* One pass over the file: tasks read a few frames each and hand them to the gather. */
typedef struct Pass {
  SbGather *gather;
  SbProgress *progress;
  double from, to;                      /* share of the stage */
  gint64 first_task, n_tasks, per_task; /* scan positions of a task */
  gint64 stride;                        /* of scan positions */
  guint parts;
  char **raw, **block; /* [worker], made on first use */
  GMutex lock;         /* of all below */
  gint64 done;
  gint64 failed; /* lowest task that failed; G_MAXINT64: none */
  GError *error;
} Pass;

/* Of several failures the one that comes first in the scan is told, whatever the threads did. */
static void
pass_fail (Pass *pass, gint64 task, GError *error)
{
  g_mutex_lock (&pass->lock);
  if (task < pass->failed) {
    g_clear_error (&pass->error);
    pass->error = error;
    pass->failed = task;
  } else
    g_error_free (error);
  g_mutex_unlock (&pass->lock);
}

static gboolean
make_buffers (Pass *pass, guint worker, GError **error)
{
  const SbGather *gather = pass->gather;
  gsize raw = (gsize)gather->size * dtype_size (gather->dtype), bytes = (gsize)gather->size * gather->item;
  if (pass->block[worker] == NULL)
    pass->block[worker] = sb_alloc ((gsize)pass->per_task, bytes, "A block of frames", error);
  if (pass->block[worker] != NULL && pass->raw[worker] == NULL && gather->stored != gather->dtype)
    pass->raw[worker] = sb_alloc ((gsize)pass->per_task, raw, "A block of frames", error);
  return pass->block[worker] != NULL && (gather->stored == gather->dtype || pass->raw[worker] != NULL);
}

/* Reads frames [frame, frame + n) as the stored type. */
static gboolean
read_frames (Pass *pass, guint worker, gint64 frame, gint64 n, char *out, GError **error)
{
  const SbGather *gather = pass->gather;
  const SbAcquisition *acquisition = gather->acquisition;
  gboolean same = gather->stored == gather->dtype;
  char *raw = same ? out : pass->raw[worker];
  if (!acquisition->format->read (acquisition->reader, frame, n, raw, error))
    return FALSE;
  gsize item = dtype_size (gather->dtype);
  gint64 row_stride = (gint64)item * gather->cols;
  for (gint64 f = 0; !same && f < n; f++)
    if (!gather_convert (gather, frame + f, raw + (gsize)f * (gsize)gather->size * item, gather->dtype, row_stride,
                         (gint64)item, out + (gsize)f * (gsize)gather->size * gather->item, error))
      return FALSE;
  return TRUE;
}

/* Frames that lie side by side in the file are read at once; flyback and frames outside of the region are not
 * read. */
static gboolean
read_task (Pass *pass, gint64 task, guint worker, GError **error)
{
  SbGather *gather = pass->gather;
  gint64 position[GATHER_BLOCK], n = 0;
  gsize bytes = (gsize)gather->size * gather->item;
  for (gint64 i = 0; i < pass->per_task && (task * pass->per_task + i) * pass->stride < gather->positions; i++)
    position[n++] = (task * pass->per_task + i) * pass->stride;
  if (!make_buffers (pass, worker, error))
    return FALSE;
  for (gint64 i = 0, run; i < n; i += run) {
    gint64 frame = acquisition_frame (gather->acquisition, position[i]);
    for (run = 1; i + run < n && acquisition_frame (gather->acquisition, position[i + run]) == frame + run; run++)
      ;
    if (!read_frames (pass, worker, frame, run, pass->block[worker] + (gsize)i * bytes, error))
      return FALSE;
  }
  gather_block (gather, pass->parts, n, position, pass->block[worker]);
  return TRUE;
}

static void
pass_task (gint64 i, guint worker, gpointer data)
{
  Pass *pass = data;
  gint64 task = pass->first_task + i;
  GError *error = NULL;
  g_mutex_lock (&pass->lock);
  gboolean stop = pass->failed < task;
  g_mutex_unlock (&pass->lock);
  if (stop)
    return;
  if (progress_cancelled (pass->progress) || read_task (pass, task, worker, &error)) {
    g_mutex_lock (&pass->lock);
    double share = (double)++pass->done / (double)pass->n_tasks;
    progress_step (pass->progress, pass->from + (pass->to - pass->from) * share, &error);
    g_mutex_unlock (&pass->lock);
  }
  if (error != NULL)
    pass_fail (pass, task, error);
}

static gboolean
pass_run (SbGather *gather, SbProgress *progress, gint64 stride, gint64 per_task, guint parts, double from, double to,
          GError **error)
{
  guint workers = MAX (gather->engine->threads, 1);
  gint64 n = (gather->positions + stride - 1) / stride;
  Pass pass = { .gather = gather,
                .progress = progress,
                .from = from,
                .to = to,
                .stride = stride,
                .per_task = per_task,
                .parts = parts,
                .failed = G_MAXINT64 };
  pass.n_tasks = share_part (gather->engine, (n + per_task - 1) / per_task, &pass.first_task);
  pass.raw = g_new0 (char *, workers);
  pass.block = g_new0 (char *, workers);
  g_mutex_init (&pass.lock);
  engine_parallel (gather->engine, pass.n_tasks, pass_task, &pass);
  for (guint w = 0; w < workers; w++) {
    g_free (pass.raw[w]);
    g_free (pass.block[w]);
  }
  g_free (pass.raw);
  g_free (pass.block);
  g_mutex_clear (&pass.lock);
  if (pass.error != NULL)
    g_propagate_error (error, pass.error);
  return pass.error == NULL;
}

SbColumns *
columns_load (SbEngine *engine, SbAcquisition *acquisition, const double centre[2], double radius, SbProgress *progress,
              GError **error)
{
  SbColumns *columns = NULL;
  if (acquisition->reader == NULL || acquisition->format == NULL) {
    sb_fail (error, SB_ERROR_STATE, "This acquisition has no file to read; push its frames and finish it.");
    return NULL;
  }
  gboolean declined = TRUE;
  if (engine->reduce == NULL && device_load_can (engine, acquisition))
    columns = device_load (engine, acquisition, centre, radius, progress, &declined, error);
  if (!declined)
    return columns;
  SbGather *gather = gather_new (engine, acquisition, centre, radius, error);
  if (gather == NULL)
    return NULL;
  share_frames (gather);
  gint64 stride = CLAMP (gather->positions / SPARSE_LEAST, 1, SPARSE_STRIDE);
  if (pass_run (gather, progress, stride, SPARSE_TASK, GATHER_ADD, 0, 0.06, error) && share_sums (gather, error)
      && gather_choose (gather, error)) {
    gather_reset (gather);
    if (pass_run (gather, progress, 1, gather->block, GATHER_ADD | GATHER_TURN, 0.06, 0.97, error)
        && share_sums (gather, error))
      columns = gather_take (gather, error);
  }
  gather_free (gather);
  if (columns != NULL && !progress_step (progress, 1, error))
    g_clear_pointer (&columns, columns_free);
  return columns;
}

void
columns_looked (gconstpointer data)
{
  const SbColumns *columns = data;
  if (columns->scratch != NULL)
    scratch_touch (columns->scratch, (gsize)columns->positions * dtype_size (columns->dtype));
}

gboolean
columns_to_file (SbColumns *columns, gsize slack, GError **error)
{
  gsize each = (gsize)columns->positions * dtype_size (columns->dtype);
  if (columns->scratch != NULL || columns->device != NULL)
    return TRUE;
  SbScratch *scratch = scratch_new ((gsize)columns->held * each, slack, "The bright-field columns", error);
  if (scratch == NULL)
    return FALSE;
  for (gint64 k = 0; k < columns->held; k++) {
    memcpy (scratch->data + (gsize)k * each, (char *)columns->counts + (gsize)k * each, each);
    scratch_touch (scratch, each);
  }
  scratch_release (scratch);
  g_free (columns->counts);
  columns->counts = scratch->data;
  columns->scratch = scratch;
  return TRUE;
}

SbkType
dtype_kernel (SbDtype dtype)
{
  switch (dtype) {
  case SB_U8: return SBK_U8;
  case SB_U16: return SBK_U16;
  case SB_U32: return SBK_U32;
  default: return SBK_F32;
  }
}

void
columns_free (SbColumns *columns)
{
  if (columns == NULL)
    return;
  pattern_clear (&columns->pattern);
  g_free (columns->pixel);
  if (columns->scratch == NULL && columns->device == NULL)
    g_free (columns->counts);
  scratch_free (columns->scratch);
  device_columns_free (columns->device);
  g_free (columns->frame_sum);
  g_free (columns->frame_com);
  g_free (columns);
}
