#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/gather.h"
#include "core/share.h"

enum { SPAN = 512, LANES = 16 }; /* scan positions of one task; inner loops of fixed length become vectors */

typedef struct Take {
  SbGather *gather;
  SbColumns *columns;
  const guint8 *fate;
  double sentinel; /* counts of a frame that are no counts */
  double com[2];   /* of the mean pattern: where a frame has nothing to say */
} Take;

#define DEFINE_READ(NAME, T)                                                                                                   \
  static void NAME (const T *column, gint64 n, double *out)                                                                    \
  {                                                                                                                            \
    gint64 whole = n / LANES * LANES;                                                                                          \
    for (gint64 i = 0; i < whole; i += LANES)                                                                                  \
      for (int l = 0; l < LANES; l++)                                                                                          \
        out[i + l] = (double)column[i + l];                                                                                    \
    for (gint64 i = whole; i < n; i++)                                                                                         \
      out[i] = (double)column[i];                                                                                              \
  }

DEFINE_READ (read_u8, guint8)
DEFINE_READ (read_u16, guint16)
DEFINE_READ (read_u32, guint32)
DEFINE_READ (read_f32, float)

/* What was looked at of columns that lie in a scratch file. */
static void
looked (const SbGather *gather, gint64 values)
{
  if (gather->scratch != NULL)
    scratch_touch (gather->scratch, (gsize)values * gather->item);
}

/* Column k at positions [from, from + n). */
static void
read_span (const SbGather *gather, gint64 k, gint64 from, gint64 n, double *out)
{
  guint32 read[SPAN]; /* room for any type */
  gsize at = ((gsize)k * (gsize)gather->held + (gsize)(from - gather->first)) * gather->item;
  gconstpointer column = (const char *)gather->counts + at;
  if (gather->scratch != NULL && scratch_read (gather->scratch, at, (gsize)n * gather->item, read))
    column = read;
  if (gather->stored == SB_U8)
    read_u8 (column, n, out);
  else if (gather->stored == SB_U16)
    read_u16 (column, n, out);
  else if (gather->stored == SB_U32)
    read_u32 (column, n, out);
  else
    read_f32 (column, n, out);
}

/* Sums over the pixels of a span's frames; those of one detector row are added up before they are weighted
 * with it. */
typedef struct Span {
  double value[SPAN], line[SPAN], sum[SPAN], row[SPAN], col[SPAN];
} Span;

static void
add_pixel (Span *span, double col)
{
  for (gint64 i = 0; i < SPAN; i += LANES)
    for (int l = 0; l < LANES; l++) {
      span->line[i + l] += span->value[i + l];
      span->col[i + l] += col * span->value[i + l];
    }
}

static void
end_line (Span *span, double row)
{
  for (gint64 i = 0; i < SPAN; i++) {
    span->sum[i] += span->line[i];
    span->row[i] += row * span->line[i];
    span->line[i] = 0;
  }
}

static void
store_com (const Take *take, const Span *span, gint64 n, double *com)
{
  const SbGather *gather = take->gather;
  for (gint64 i = 0; i < n; i++) {
    double row = span->row[i] / span->sum[i], col = span->col[i] / span->sum[i];
    gboolean inside = span->sum[i] > 0 && row >= 0 && row <= (double)(gather->rows - 1) && col >= 0
                      && col <= (double)(gather->cols - 1);
    com[2 * i] = inside ? row : take->com[0];
    com[2 * i + 1] = inside ? col : take->com[1];
  }
}

/* Pixels in their order, whatever the threads: the same bits. */
static void
sum_span (gint64 task, guint worker, gpointer data)
{
  const Take *take = data;
  const SbGather *gather = take->gather;
  gint64 from = gather->first + task * SPAN, n = MIN (gather->first + gather->held - from, SPAN), line = -1;
  double *total = take->columns->frame_sum + from;
  Span span = { 0 };
  for (gint64 i = 0; i < n; i++)
    total[i] = gather->frame_sum[from + i] - take->sentinel;
  for (gint64 k = 0; k < gather->n_pixels; k++) {
    gint64 pixel = gather->pixel[k];
    if (take->fate[k] == PIXEL_DROPPED)
      continue;
    read_span (gather, k, from, n, span.value);
    if (take->fate[k] == PIXEL_REFUSED) {
      for (gint64 i = 0; i < n; i++)
        total[i] -= isfinite (span.value[i]) ? span.value[i] : 0;
      continue;
    }
    if (pixel / gather->cols != line) {
      end_line (&span, (double)line);
      line = pixel / gather->cols;
    }
    add_pixel (&span, (double)(pixel % gather->cols));
  }
  end_line (&span, (double)line);
  store_com (take, &span, n, take->columns->frame_com + 2 * from);
}

/* Drops the columns that are not final, in place. */
static void
compact (SbGather *gather, const guint8 *fate)
{
  gsize bytes = (gsize)gather->held * gather->item;
  char *counts = gather->counts;
  gint64 n = 0;
  for (gint64 k = 0; k < gather->n_pixels; k++)
    if (fate[k] == PIXEL_FINAL) {
      if (n != k)
        memcpy (counts + (gsize)n * bytes, counts + (gsize)k * bytes, bytes);
      gather->pixel[n++] = gather->pixel[k];
      looked (gather, 2 * gather->held);
    }
  gather->n_pixels = n;
  if (gather->scratch != NULL || n == 0 || bytes == 0)
    return;
  gpointer less = g_try_realloc (gather->counts, (gsize)n * bytes);
  if (less != NULL)
    gather->counts = less;
}

void
gather_mean_com (const SbGather *gather, const SbPattern *pattern, const guint8 *fate, double com[2])
{
  double sum = 0, row = 0, col = 0;
  for (gint64 k = 0; k < gather->n_pixels; k++)
    if (fate[k] == PIXEL_FINAL) {
      gint64 i = gather->pixel[k];
      sum += pattern->mean[i];
      row += pattern->mean[i] * (double)(i / gather->cols);
      col += pattern->mean[i] * (double)(i % gather->cols);
    }
  gboolean some = sum > 0 && row >= 0 && col >= 0;
  com[0] = some ? row / sum : (double)(gather->rows - 1) / 2;
  com[1] = some ? col / sum : (double)(gather->cols - 1) / 2;
}

SbColumns *
gather_take_begin (SbGather *gather, guint8 **fate, gint64 *n_final, gint64 *sentinels, GError **error)
{
  SbColumns *columns = g_new0 (SbColumns, 1);
  const char *what = "The sums of the frames";
  columns->acquisition = gather->acquisition;
  columns->positions = gather->positions;
  columns->dtype = gather->stored;
  columns->frame_sum = sb_alloc ((gsize)gather->positions, sizeof (double), what, error);
  columns->frame_com = columns->frame_sum == NULL ? NULL
                                                  : sb_alloc ((gsize)gather->positions, 2 * sizeof (double), what, error);
  if (columns->frame_com == NULL || !gather_judge (gather, &columns->pattern, fate, n_final, sentinels, error))
    g_clear_pointer (&columns, columns_free);
  return columns;
}

SbColumns *
gather_take (SbGather *gather, GError **error)
{
  g_autofree guint8 *fate = NULL;
  gint64 n_final = 0, sentinels = 0;
  SbColumns *columns = gather_take_begin (gather, &fate, &n_final, &sentinels, error);
  if (columns == NULL)
    return NULL;
  Take take = { gather, columns, fate, (double)sentinels * dtype_all_ones (gather->stored), { 0 } };
  gather_mean_com (gather, &columns->pattern, fate, take.com);
  engine_parallel (gather->engine, (gather->held + SPAN - 1) / SPAN, sum_span, &take);
  compact (gather, fate);
  columns->n_pixels = columns->held = gather->n_pixels;
  columns->pixel = g_steal_pointer (&gather->pixel);
  columns->counts = g_steal_pointer (&gather->counts);
  columns->scratch = g_steal_pointer (&gather->scratch);
  if (gather->engine->reduce != NULL && !share_columns (gather, columns, error))
    g_clear_pointer (&columns, columns_free);
  return columns;
}
