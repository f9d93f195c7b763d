/* The counts of virtual detectors: from columns at hand, or from the file, which streams by once more. */
#include <string.h>

#include "core/detector.h"
#include "core/device_load.h"
#include "core/error.h"

enum { FRAMES_BYTES = 8 << 20, MOST_FRAMES = 64, CHUNK = 4096 };

typedef struct Sum {
  SbEngine *engine;
  const SbColumns *columns;
  const SbDetector *detector;
  const gint64 *column; /* of each of the detector's pixels; NULL: from the file */
  SbProgress *progress;
  gint64 positions, per_task, n_tasks;
  float *out;          /* [n][positions] */
  char **frames;       /* [worker] */
  GMutex lock;         /* of all below */
  gint64 done, failed; /* lowest task that failed */
  GError *error;
} Sum;

/* Sum of one frame's or column's values at these places, as they are. */
#define INTEGERS(type)                                                                                                         \
  {                                                                                                                            \
    const type *v = values;                                                                                                    \
    gint64 sum = 0;                                                                                                            \
    for (gint64 i = 0; i < n; i++)                                                                                             \
      sum += v[place[i]];                                                                                                      \
    return (double)sum;                                                                                                        \
  }
#define REALS(type)                                                                                                            \
  {                                                                                                                            \
    const type *v = values;                                                                                                    \
    double sum = 0;                                                                                                            \
    for (gint64 i = 0; i < n; i++)                                                                                             \
      sum += (double)v[place[i]];                                                                                              \
    return sum;                                                                                                                \
  }

static double
frame_sum (gconstpointer values, SbDtype dtype, const gint32 *place, gint64 n)
{
  switch (dtype) {
  case SB_U8: INTEGERS (guint8)
  case SB_U16: INTEGERS (guint16)
  case SB_U32: INTEGERS (guint32)
  case SB_I16: INTEGERS (gint16)
  case SB_I32: INTEGERS (gint32)
  case SB_F32: REALS (float)
  case SB_F64: REALS (double)
  }
  return 0;
}

/* ---- from the file ---- */

static gboolean
file_task (Sum *sum, gint64 task, guint worker, GError **error)
{
  SbAcquisition *acquisition = sum->columns->acquisition;
  const SbHeader *header = &acquisition->header;
  gsize bytes = (gsize)(header->detector_rows * header->detector_cols) * dtype_size (header->dtype);
  gint64 first = task * sum->per_task, end = MIN (first + sum->per_task, sum->positions);
  if (sum->frames[worker] == NULL
      && (sum->frames[worker] = sb_alloc ((gsize)sum->per_task, bytes, "A block of frames", error)) == NULL)
    return FALSE;
  for (gint64 p = first, run; p < end; p += run) {
    gint64 frame = acquisition_frame (acquisition, p);
    for (run = 1; p + run < end && acquisition_frame (acquisition, p + run) == frame + run; run++)
      ;
    if (!acquisition->format->read (acquisition->reader, frame, run, sum->frames[worker], error))
      return FALSE;
    for (gint64 f = 0; f < run; f++)
      for (gint64 d = 0; d < sum->detector->n; d++) {
        gint64 start = sum->detector->start[d];
        sum->out[d * sum->positions + p + f] = (float)frame_sum (sum->frames[worker] + (gsize)f * bytes, header->dtype,
                                                                 sum->detector->pixel + start,
                                                                 sum->detector->start[d + 1] - start);
      }
  }
  return TRUE;
}

/* ---- from columns ---- */

static double
column_value (const SbColumns *columns, gint64 column, gint64 position)
{
  gint64 at = column * columns->positions + position;
  switch (columns->dtype) {
  case SB_U8: return ((const guint8 *)columns->counts)[at];
  case SB_U16: return ((const guint16 *)columns->counts)[at];
  case SB_U32: return ((const guint32 *)columns->counts)[at];
  default: return (double)((const float *)columns->counts)[at];
  }
}

/* float64 holds whole numbers exactly up to 2^53. */
static gboolean
column_task (Sum *sum, gint64 task, GError **error)
{
  gint64 first = task * sum->per_task, n = MIN (sum->per_task, sum->positions - first);
  g_autofree double *total = sb_alloc ((gsize)n, sizeof *total, "The detector's counts", error);
  for (gint64 d = 0; total != NULL && d < sum->detector->n; d++) {
    memset (total, 0, (gsize)n * sizeof *total);
    for (gint64 i = sum->detector->start[d]; i < sum->detector->start[d + 1]; i++)
      for (gint64 p = 0; p < n; p++)
        total[p] += column_value (sum->columns, sum->column[i], first + p);
    for (gint64 p = 0; p < n; p++)
      sum->out[d * sum->positions + first + p] = (float)total[p];
  }
  return total != NULL;
}

/* ---- */

static void
sum_task (gint64 task, guint worker, gpointer data)
{
  Sum *sum = data;
  GError *error = NULL;
  g_mutex_lock (&sum->lock);
  gboolean stop = sum->failed < task;
  g_mutex_unlock (&sum->lock);
  if (stop)
    return;
  if (!progress_cancelled (sum->progress)) {
    if (sum->column != NULL)
      column_task (sum, task, &error);
    else
      file_task (sum, task, worker, &error);
  }
  g_mutex_lock (&sum->lock);
  if (error == NULL)
    progress_step (sum->progress, (double)++sum->done / (double)sum->n_tasks, &error);
  if (error != NULL && task < sum->failed) {
    g_clear_error (&sum->error);
    sum->error = g_steal_pointer (&error);
    sum->failed = task;
  }
  g_mutex_unlock (&sum->lock);
  g_clear_error (&error);
}

/* Places of the detector's pixels in the columns; NULL where they do not hold all of them. */
static gint64 *
find_columns (const SbColumns *columns, const SbDetector *detector)
{
  gint64 total = detector->start[detector->n];
  g_autofree gint64 *column = g_try_new (gint64, total);
  for (gint64 d = 0; column != NULL && d < detector->n; d++) {
    gint64 c = 0; /* both lists ascend */
    for (gint64 i = detector->start[d]; i < detector->start[d + 1]; i++) {
      while (c < columns->n_pixels && columns->pixel[c] < detector->pixel[i])
        c++;
      if (c == columns->n_pixels || columns->pixel[c] != detector->pixel[i])
        return NULL;
      column[i] = c;
    }
  }
  return g_steal_pointer (&column);
}

float *
detector_counts (SbEngine *engine, const SbColumns *columns, const SbDetector *detector, SbProgress *progress, GError **error)
{
  const SbHeader *header = &columns->acquisition->header;
  gint64 bytes = header->detector_rows * header->detector_cols * (gint64)dtype_size (header->dtype);
  guint workers = MAX (engine->threads, 1);
  g_autofree gint64 *column = columns->held == columns->n_pixels ? find_columns (columns, detector) : NULL;
  if (!engine_check (engine, error))
    return NULL;
  if (column == NULL && (columns->acquisition->reader == NULL || columns->acquisition->format == NULL)) {
    sb_fail (error, SB_ERROR_STATE,
             "The pushed frames are gone and only the bright field of them was kept; give a detector "
             "within it, or open the acquisition from its file.");
    return NULL;
  }
  g_autofree float *out = sb_alloc ((gsize)(detector->n * columns->positions), sizeof *out, "The detector's images", error);
  if (out == NULL)
    return NULL;
  if (column != NULL && columns->device != NULL)
    return device_columns_sum (engine, columns, detector, column, out, progress, error) ? g_steal_pointer (&out) : NULL;
  Sum sum = { .engine = engine,
              .columns = columns,
              .detector = detector,
              .column = column,
              .progress = progress,
              .positions = columns->positions,
              .out = out,
              .failed = G_MAXINT64 };
  sum.per_task = column != NULL ? CHUNK : CLAMP (FRAMES_BYTES / MAX (bytes, 1), 1, MOST_FRAMES);
  sum.n_tasks = (sum.positions + sum.per_task - 1) / sum.per_task;
  sum.frames = g_new0 (char *, workers);
  g_mutex_init (&sum.lock);
  engine_parallel (engine, sum.n_tasks, sum_task, &sum);
  for (guint w = 0; w < workers; w++)
    g_free (sum.frames[w]);
  g_free (sum.frames);
  g_mutex_clear (&sum.lock);
  if (sum.error == NULL)
    return g_steal_pointer (&out);
  g_propagate_error (error, sum.error);
  return NULL;
}
