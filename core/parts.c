#include "core/parts.h"

#include <string.h>

#include "core/error.h"
#include "core/share.h"

enum { KEPT = 6, LEAST_PIXELS = 32 };

/* A piece of G that stays: frequencies [q_first, q_first + q_count) of the pixels that the view holds. */
typedef struct Kept {
  SbkSpectrum *g; /* NULL: a free place */
  gint64 q_first, q_count, k_first, k_stride, row_first, row_stride;
  guint64 bytes, used;
} Kept;

struct SbParts {
  SbEngine *engine; /* borrowed */
  SbPartsSource source;
  double *vx, *vy;     /* [n_q] */
  GArray *scales;      /* double: every one that was set, in order, so that pixels move by the same bits */
  guint64 room, least; /* for everything at once; for a part that comes and goes */
  Kept kept[KEPT];
  guint64 clock;
};

SbParts *
parts_new (SbEngine *engine, const SbPartsSource *source, guint64 room, GError **error)
{
  gsize n = (gsize)source->band.n_q;
  g_autofree double *vx = sb_alloc (n, sizeof *vx, "The frequencies", error);
  g_autofree double *vy = vx != NULL ? sb_alloc (n, sizeof *vy, "The frequencies", error) : NULL;
  if (vy == NULL)
    return NULL;
  memset (vx, 0, n * sizeof *vx);
  memset (vy, 0, n * sizeof *vy);
  SbParts *parts = g_new0 (SbParts, 1);
  parts->engine = engine;
  parts->source = *source;
  parts->vx = g_steal_pointer (&vx);
  parts->vy = g_steal_pointer (&vy);
  parts->scales = g_array_new (FALSE, FALSE, sizeof (double));
  parts->room = room;
  gint64 widest = LEAST_PIXELS;
  for (gint64 r = 0; r < source->pixels.n_rows; r++)
    widest = MAX (widest, source->pixels.row_start[r + 1] - source->pixels.row_start[r]);
  parts->least = (guint64)widest * plan_pixel (engine, source->band.n_q);
  return parts;
}

static void
kept_drop (SbParts *parts, Kept *kept)
{
  if (kept->g != NULL && engine_check (parts->engine, NULL))
    parts->engine->backend->spectrum_free (kept->g);
  memset (kept, 0, sizeof *kept);
}

void
parts_free (SbParts *parts)
{
  if (parts == NULL)
    return;
  for (int i = 0; i < KEPT; i++)
    kept_drop (parts, &parts->kept[i]);
  g_free ((gpointer)parts->source.pixels.row_start);
  g_free ((gpointer)parts->source.pixels.row_x);
  g_free ((gpointer)parts->source.pixels.pixel_y);
  g_free ((gpointer)parts->source.counts.column);
  g_free (parts->vx);
  g_free (parts->vy);
  g_array_unref (parts->scales);
  g_free (parts);
}

gboolean
parts_set_q (SbParts *parts, const double *vx, const double *vy, GError **error)
{
  SbkError kernel = { "" };
  memcpy (parts->vx, vx, (gsize)parts->source.band.n_q * sizeof *vx);
  memcpy (parts->vy, vy, (gsize)parts->source.band.n_q * sizeof *vy);
  for (int i = 0; i < KEPT; i++) {
    const Kept *kept = &parts->kept[i];
    if (kept->g != NULL
        && !spectrum_fail (parts->engine->backend->spectrum_set_q (kept->g, vx + kept->q_first, vy + kept->q_first, &kernel),
                           &kernel, error))
      return FALSE;
  }
  return TRUE;
}

gboolean
parts_set_scale (SbParts *parts, double scale, GError **error)
{
  SbkError kernel = { "" };
  g_array_append_val (parts->scales, scale);
  for (int i = 0; i < KEPT; i++)
    if (parts->kept[i].g != NULL
        && !spectrum_fail (parts->engine->backend->spectrum_set_scale (parts->kept[i].g, scale, &kernel), &kernel, error))
      return FALSE;
  return TRUE;
}

/* ---- making a piece ---- */

/* Pixels of rows [from, to) that a view holds. */
static gint64
pixels_count (const SbParts *parts, const SbkView *view, gint64 from, gint64 to)
{
  const gint64 *start = parts->source.pixels.row_start;
  if (view->row_stride > 1) {
    SbkView row = *view;
    gint64 count = 0;
    row.row_stride = 1;
    for (gint64 r = from; r < to; r++)
      count += sbk_view_row (view, r) ? pixels_count (parts, &row, r, r + 1) : 0;
    return count;
  }
  gint64 before = MAX (start[from] - view->k_first + view->k_stride - 1, 0) / view->k_stride;
  gint64 until = MAX (start[to] - view->k_first + view->k_stride - 1, 0) / view->k_stride;
  return until - before;
}

/* G of the view's pixels in rows [from, to), frequencies [q_first, q_first + q_count). */
static gboolean
piece_make (const SbParts *parts, const SbkView *view, gint64 from, gint64 to, gint64 q_first, gint64 q_count,
            SbProgress *progress, SbkSpectrum **g, GError **error)
{
  const SbkBackend *backend = parts->engine->backend;
  const SbPartsSource *source = &parts->source;
  const SbkPixels *all = &source->pixels;
  gsize n = (gsize)pixels_count (parts, view, from, to), rows = (gsize)(to - from);
  g_autofree gint64 *row_start = g_new0 (gint64, rows + 1),
                    *column = sb_alloc (n, sizeof *column, "The pixels of a part", error);
  g_autofree double *row_x = g_new (double, rows);
  g_autofree double *pixel_y = column != NULL ? sb_alloc (n, sizeof *pixel_y, "The pixels of a part", error) : NULL;
  if (pixel_y == NULL)
    return FALSE;
  SbkPixels pixels = { 0, 0, row_start, row_x, pixel_y, all->edge };
  for (gint64 r = from; r < to; r++) {
    gint64 before = pixels.n_pixels;
    for (gint64 k = all->row_start[r]; k < all->row_start[r + 1]; k++) {
      if (!sbk_view_row (view, r) || k < view->k_first || (k - view->k_first) % view->k_stride != 0)
        continue;
      pixel_y[pixels.n_pixels] = all->pixel_y[k];
      column[pixels.n_pixels++] = source->counts.column[k];
    }
    if (pixels.n_pixels == before)
      continue;
    row_x[pixels.n_rows] = all->row_x[r];
    row_start[++pixels.n_rows] = pixels.n_pixels;
  }
  SbkBand band = source->band;
  band.index += q_first;
  band.n_q = q_count;
  SbkCounts counts = source->counts;
  counts.column = column;
  SbkError kernel = { "" };
  SbkStatus status = backend->spectrum_from_counts (parts->engine->context, g, &pixels, &band, &counts,
                                                    progress_cancel_flag (progress), &kernel);
  if (status == SBK_OK)
    status = backend->spectrum_set_q (*g, parts->vx + q_first, parts->vy + q_first, &kernel);
  for (guint i = 0; status == SBK_OK && i < parts->scales->len; i++)
    status = backend->spectrum_set_scale (*g, g_array_index (parts->scales, double, i), &kernel);
  if (status != SBK_OK)
    g_clear_pointer (g, backend->spectrum_free);
  return spectrum_fail (status, &kernel, error);
}

/* ---- pieces that stay ---- */

/* The view as a kept piece sees it; FALSE where the piece does not hold it. */
static gboolean
kept_view (const Kept *kept, const SbkView *view, gint64 q_first, gint64 q_count, SbkView *inside)
{
  if (kept->g == NULL || q_first < kept->q_first || q_first + q_count > kept->q_first + kept->q_count
      || view->k_first < kept->k_first || view->k_stride % kept->k_stride != 0
      || (view->k_first - kept->k_first) % kept->k_stride != 0)
    return FALSE;
  *inside = *view;
  inside->q_first -= kept->q_first;
  if (kept->row_stride > 1) { /* its rows stand side by side: it serves the view it was made for */
    if (view->row_stride != kept->row_stride || view->row_first != kept->row_first || view->k_stride != kept->k_stride
        || view->k_first != kept->k_first)
      return FALSE;
    inside->k_first = inside->row_first = 0;
    inside->k_stride = inside->row_stride = 1;
    return TRUE;
  }
  if (view->row_stride > 1 && kept->k_stride > 1) /* rows without pixels are gone */
    return FALSE;
  inside->k_first = (view->k_first - kept->k_first) / kept->k_stride;
  inside->k_stride = view->k_stride / kept->k_stride;
  return TRUE;
}

/* What is kept may take three quarters of the room; parts that come and go have the rest. */
static guint64
kept_room (const SbParts *parts)
{
  return MIN (parts->room / 4 * 3, parts->room - MIN (parts->least, parts->room));
}

/* A free place for so many bytes; what was not used for the longest time goes. */
static Kept *
kept_place (SbParts *parts, guint64 bytes)
{
  for (;;) {
    Kept *place = NULL, *oldest = NULL;
    guint64 taken = 0;
    for (int i = 0; i < KEPT; i++) {
      Kept *kept = &parts->kept[i];
      taken += kept->bytes;
      if (kept->g == NULL)
        place = kept;
      else if (oldest == NULL || kept->used < oldest->used)
        oldest = kept;
    }
    if (place != NULL && taken + bytes <= kept_room (parts))
      return place;
    kept_drop (parts, oldest);
  }
}

/* parts_whole of a view of what is held here. */
static gboolean
whole (SbSpectrum *spectrum, const SbkView *view, gboolean whole_q, SbProgress *progress, SbPart *part, GError **error)
{
  SbParts *parts = spectrum->parts;
  *part = (SbPart){ spectrum->g, *view, TRUE, TRUE };
  if (parts == NULL)
    return TRUE;
  const SbkPixels *pixels = &parts->source.pixels;
  gint64 q_first = whole_q ? 0 : view->q_first, q_count = whole_q ? spectrum->n_q : view->q_count;
  for (int i = 0; i < KEPT; i++)
    if (kept_view (&parts->kept[i], view, q_first, q_count, &part->view)) {
      part->g = parts->kept[i].g;
      parts->kept[i].used = ++parts->clock;
      return TRUE;
    }
  part->g = NULL;
  guint64 bytes = plan_pixel (parts->engine, q_count) * (guint64)pixels_count (parts, view, 0, pixels->n_rows);
  if (bytes == 0 || bytes > kept_room (parts))
    return TRUE;
  Kept *kept = kept_place (parts, bytes);
  if (!piece_make (parts, view, 0, pixels->n_rows, q_first, q_count, progress, &kept->g, error))
    return FALSE;
  *kept = (Kept){ kept->g,         q_first,          q_count, view->k_first, view->k_stride,
                  view->row_first, view->row_stride, bytes,   ++parts->clock };
  part->g = kept->g;
  return kept_view (kept, view, q_first, q_count, &part->view);
}

gboolean
parts_whole (SbSpectrum *spectrum, const SbkView *view, gboolean whole_q, SbProgress *progress, SbPart *part, GError **error)
{
  SbkView own;
  *part = (SbPart){ NULL, *view, TRUE, TRUE };
  return !share_view (spectrum, view, &own) || whole (spectrum, &own, whole_q, progress, part, error);
}

/* ---- */

/* Rows from `from` on whose part of G fits into the room. */
static gint64
rows_end (const SbParts *parts, const SbkView *view, gint64 from, gint64 q_count)
{
  guint64 each = plan_pixel (parts->engine, q_count), taken = 0;
  for (int i = 0; i < KEPT; i++)
    taken += parts->kept[i].bytes;
  gint64 most = MAX ((gint64)((parts->room - MIN (taken, parts->room)) / MAX (each, 1)), LEAST_PIXELS);
  gint64 end = from + 1;
  while (end < parts->source.pixels.n_rows && pixels_count (parts, view, from, end + 1) <= most)
    end++;
  return end;
}

gboolean
parts_each (SbSpectrum *spectrum, const SbkView *all, gboolean whole_q, SbPartWork work, gpointer data, SbProgress *progress,
            GError **error)
{
  SbParts *parts = spectrum->parts;
  SbPart part;
  SbkError kernel = { "" };
  SbkView own, *view = &own;
  if (!share_view (spectrum, all, view)) /* other ranks have all of it */
    return TRUE;
  if (!whole (spectrum, view, whole_q, progress, &part, error))
    return FALSE;
  if (part.g != NULL)
    return spectrum_fail (work (&part, data, &kernel), &kernel, error);
  gint64 n_rows = parts->source.pixels.n_rows;
  gint64 q_first = whole_q ? 0 : view->q_first, q_count = whole_q ? spectrum->n_q : view->q_count;
  part.view = (SbkView){ view->q_first - q_first, view->q_count, view->q_stride, view->q_phase, 0, 1, 0, 1 };
  for (gint64 from = 0, end; from < n_rows; from = end) {
    end = rows_end (parts, view, from, q_count);
    part.only = from == 0 && end == n_rows;
    part.last = pixels_count (parts, view, end, n_rows) == 0;
    if (pixels_count (parts, view, from, end) == 0)
      continue;
    if (!piece_make (parts, view, from, end, q_first, q_count, progress, &part.g, error))
      return FALSE;
    SbkStatus status = work (&part, data, &kernel);
    spectrum->engine->backend->spectrum_free (part.g);
    if (!spectrum_fail (status, &kernel, error))
      return FALSE;
    if (part.last)
      break;
  }
  return TRUE;
}
