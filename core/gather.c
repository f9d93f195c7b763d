#include "core/gather.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/plan.h"

enum { BLOCK_BYTES = 16 << 20 };

static gpointer
alloc_zero (gsize count, gsize size, GError **error)
{
  gpointer p = sb_alloc (count, size, "The sums over the frames", error);
  if (p != NULL)
    memset (p, 0, MAX (count, 1) * size);
  return p;
}

/* What is taken below, so that a scan that cannot be is refused before its memory is touched. */
static gboolean
sums_fit (const SbGather *gather, GError **error)
{
  gsize a_pixel = 1 + sizeof (double)
                  + (gather->stored == SB_F32 ? 1 + GATHER_WORDS * sizeof (gint64) : gather->item + sizeof (guint64));
  double bytes = (double)gather->size * (double)a_pixel + (double)gather->positions * (sizeof (double) + 1)
                 + (double)gather->total;
  return plan_allows (gather->engine, (guint64)MIN (bytes, 0x1p62), "The sums over the frames", error);
}

/* All ones where a pixel counts, 0 where the file masks it. */
static void
fill_good (SbGather *gather)
{
  const guint8 *mask = gather->acquisition->header.mask;
  gsize item = gather->stored == SB_F32 ? 1 : gather->item;
  for (gint64 i = 0; i < gather->size; i++)
    memset ((char *)gather->good + (gsize)i * item, mask != NULL && mask[i] ? 0 : 0xff, item);
}

SbGather *
gather_new (SbEngine *engine, SbAcquisition *acquisition, const double centre[2], double radius, GError **error)
{
  if (!engine_check (engine, error))
    return NULL;
  SbGather *gather = g_new0 (SbGather, 1);
  const SbHeader *header = &acquisition->header;
  gather->engine = engine;
  gather->acquisition = acquisition;
  for (int i = 0; i < 2; i++)
    gather->centre[i] = centre != NULL ? centre[i] : NAN;
  gather->radius = radius;
  gather->rows = header->detector_rows;
  gather->cols = header->detector_cols;
  gather->size = gather->rows * gather->cols;
  gather->positions = acquisition_positions (acquisition);
  gather->total = acquisition_frame_count (acquisition);
  gather->held = gather->positions;
  gather->dtype = header->dtype;
  gather->stored = header->dtype <= SB_U32 ? header->dtype : SB_F32;
  gather->item = dtype_size (gather->stored);
  gather->block = CLAMP (BLOCK_BYTES / ((gint64)gather->item * gather->size) / 8 * 8, 8, GATHER_BLOCK);
  gather->n_tiles = (gather->size + GATHER_TILE - 1) / GATHER_TILE;
  g_mutex_init (&gather->lock);

  gsize size = (gsize)gather->size;
  gboolean whole = gather->stored != SB_F32;
  if (sums_fit (gather, error))
    gather->tile = alloc_zero ((gsize)gather->n_tiles, sizeof *gather->tile, error);
  gboolean ok = gather->tile != NULL && (gather->good = alloc_zero (size, whole ? gather->item : 1, error)) != NULL
                && (gather->high = alloc_zero (size, sizeof (double), error)) != NULL
                && (gather->not_finite = alloc_zero (size, 1, error)) != NULL
                && (gather->frame_sum = alloc_zero ((gsize)gather->positions, sizeof (double), error)) != NULL
                && (gather->seen = alloc_zero ((gsize)gather->total, 1, error)) != NULL
                && (gather->there = alloc_zero ((gsize)gather->positions, 1, error)) != NULL;
  if (ok && whole)
    ok = (gather->sum = alloc_zero (size, sizeof (guint64), error)) != NULL;
  else if (ok)
    ok = (gather->words = alloc_zero (size, GATHER_WORDS * sizeof (gint64), error)) != NULL;
  if (!ok) {
    gather_free (gather);
    return NULL;
  }
  for (gint64 t = 0; t < gather->n_tiles; t++)
    g_mutex_init (&gather->tile[t].lock);
  fill_good (gather);
  return gather;
}

void
gather_free (SbGather *gather)
{
  if (gather == NULL)
    return;
  for (gint64 t = 0; gather->tile != NULL && t < gather->n_tiles; t++)
    g_mutex_clear (&gather->tile[t].lock);
  g_mutex_clear (&gather->lock);
  g_free (gather->tile);
  g_free (gather->good);
  g_free (gather->sum);
  g_free (gather->words);
  g_free (gather->high);
  g_free (gather->not_finite);
  g_free (gather->pixel);
  if (gather->scratch == NULL)
    g_free (gather->counts);
  scratch_free (gather->scratch);
  g_free (gather->frame_sum);
  g_free (gather->seen);
  g_free (gather->there);
  g_free (gather->look);
  g_free (gather);
}

void
gather_reset (SbGather *gather)
{
  gsize size = (gsize)gather->size;
  for (gint64 t = 0; t < gather->n_tiles; t++)
    gather->tile[t].frames = 0;
  memset (gather->high, 0, size * sizeof (double));
  memset (gather->not_finite, 0, size);
  if (gather->sum != NULL)
    memset (gather->sum, 0, size * sizeof (guint64));
  if (gather->words != NULL)
    memset (gather->words, 0, size * GATHER_WORDS * sizeof (gint64));
}

gint64
gather_count (SbGather *gather)
{
  g_mutex_lock (&gather->lock);
  gint64 n = gather->pushed;
  g_mutex_unlock (&gather->lock);
  return n;
}

gboolean
gather_preview (SbGather *gather, double *mean, gint64 *frames, GError **error)
{
  SbPattern pattern;
  if (!gather_pattern (gather, HOT_FACTOR, &pattern, NULL, error))
    return FALSE;
  memcpy (mean, pattern.mean, (gsize)gather->size * sizeof (double));
  *frames = pattern.frames;
  pattern_clear (&pattern);
  return TRUE;
}

static gboolean
check_state (const SbGather *gather, const char *what, GError **error)
{
  if (gather->state == GATHER_FINISHED)
    return sb_fail (error, SB_ERROR_STATE, "%s after finish; start a new acquisition.", what);
  if (gather->state == GATHER_FAILED)
    return sb_fail (error, SB_ERROR_STATE, "%s after an earlier failure; start a new acquisition.", what);
  return TRUE;
}

/* For those who look while frames still come in. Holding the lock. */
static void
note_there (SbGather *gather, gint64 n, const gint64 *position)
{
  for (gint64 i = 0; i < n; i++)
    gather->there[position[i]] = 1;
}

/* Chooses the pixels from what was looked at and turns that into columns. Holding the lock. */
static gboolean
end_look (SbGather *gather, GError **error)
{
  if (!gather_choose (gather, error))
    return FALSE;
  gather_block (gather, GATHER_TURN, gather->n_look, gather->look_position, gather->look);
  note_there (gather, gather->n_look, gather->look_position);
  g_clear_pointer (&gather->look, g_free);
  gather->state = GATHER_STREAMING;
  return TRUE;
}

/* Takes frames for the first look; *taken of them. */
static gboolean
look_at (SbGather *gather, gint64 n, const gint64 *position, gconstpointer frames, gint64 *taken, GError **error)
{
  gsize bytes = (gsize)gather->size * gather->item;
  gboolean ok = check_state (gather, "Frames cannot be pushed", error);
  *taken = 0;
  if (!ok || gather->state != GATHER_LOOKING)
    return ok;
  if (gather->look == NULL)
    gather->look = sb_alloc (GATHER_LOOK, bytes, "The first look at the frames", error);
  if (gather->look == NULL)
    return FALSE;
  *taken = MIN (n, GATHER_LOOK - gather->n_look);
  gather_block (gather, GATHER_ADD, *taken, position, frames);
  memcpy ((char *)gather->look + (gsize)gather->n_look * bytes, frames, (gsize)*taken * bytes);
  memcpy (gather->look_position + gather->n_look, position, (gsize)*taken * sizeof *position);
  gather->n_look += *taken;
  return gather->n_look < GATHER_LOOK || end_look (gather, error);
}

/* Converted frames on their way: to the first look while it lasts, then into the columns. */
static gboolean
push_block (SbGather *gather, gint64 n, const gint64 *position, const char *frames, GError **error)
{
  gint64 taken;
  g_mutex_lock (&gather->lock);
  gboolean ok = look_at (gather, n, position, frames, &taken, error);
  g_mutex_unlock (&gather->lock);
  if (!ok || n == taken)
    return ok;
  gather_block (gather, GATHER_ADD | GATHER_TURN, n - taken, position + taken,
                frames + (gsize)taken * (gsize)gather->size * gather->item);
  g_mutex_lock (&gather->lock);
  note_there (gather, n - taken, position + taken);
  g_mutex_unlock (&gather->lock);
  return TRUE;
}

/* Converts the used frames block by block and passes them on. */
static gboolean
push_frames (SbGather *gather, gint64 first, gint64 n, const char *frames, SbDtype dtype, const gint64 strides[3],
             GError **error)
{
  gsize bytes = (gsize)gather->size * gather->item;
  g_autofree char *block = sb_alloc ((gsize)MIN (n, gather->block), bytes, "A block of frames", error);
  gint64 position[GATHER_BLOCK], held = 0;
  if (block == NULL)
    return FALSE;
  for (gint64 f = 0; f < n; f++) {
    gint64 at = acquisition_position (gather->acquisition, first + f);
    if (at >= 0) {
      position[held] = at;
      if (!gather_convert (gather, first + f, frames + f * strides[0], dtype, strides[1], strides[2],
                           block + (gsize)held * bytes, error))
        return FALSE;
      held++;
    }
    if (held == gather->block || (held > 0 && f + 1 == n)) {
      if (!push_block (gather, held, position, block, error))
        return FALSE;
      held = 0;
    }
  }
  return TRUE;
}

/* Notes the frames as seen, or says which one is wrong. Holding the lock. */
static gboolean
claim (SbGather *gather, gint64 first, gint64 n, GError **error)
{
  if (!check_state (gather, "Frames cannot be pushed", error))
    return FALSE;
  for (gint64 f = first; f < first + n; f++)
    if (gather->seen[f])
      return sb_fail (error, SB_ERROR_ARGUMENT, "Frame %" G_GINT64_FORMAT " was pushed twice; push every frame once.", f);
  memset (gather->seen + first, 1, (gsize)n);
  gather->active++;
  return TRUE;
}

gboolean
gather_push (SbGather *gather, gint64 first, gint64 n, gconstpointer frames, SbDtype dtype, const gint64 strides[3],
             GError **error)
{
  if (!engine_check (gather->engine, error))
    return FALSE;
  if (first < 0 || n < 0 || first > gather->total || n > gather->total - first)
    return sb_fail (error, SB_ERROR_ARGUMENT,
                    "Frames %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT " are outside of the "
                    "acquisition, which has frames 0 to %" G_GINT64_FORMAT "; check scan_shape and the frame index.",
                    first, (gint64)((guint64)first + (guint64)n - 1), gather->total - 1);
  if (!dtype_fits (dtype, gather->dtype))
    return sb_fail (error, SB_ERROR_ARGUMENT, "Frames of type %s do not fit the declared type %s; declare dtype %s.",
                    dtype_name (dtype), dtype_name (gather->dtype), dtype_name (dtype));
  if (n == 0)
    return TRUE;
  g_mutex_lock (&gather->lock);
  gboolean ok = claim (gather, first, n, error);
  g_mutex_unlock (&gather->lock);
  if (!ok)
    return FALSE;
  ok = push_frames (gather, first, n, frames, dtype, strides, error);
  g_mutex_lock (&gather->lock);
  gather->active--;
  if (ok)
    gather->pushed += n;
  else
    gather->state = GATHER_FAILED;
  g_mutex_unlock (&gather->lock);
  return ok;
}

static gboolean
check_complete (const SbGather *gather, GError **error)
{
  gint64 came = 0, missing = -1;
  for (gint64 p = 0; p < gather->positions; p++) {
    gint64 frame = acquisition_frame (gather->acquisition, p);
    gboolean there = frame >= 0 && frame < gather->total && gather->seen[frame];
    came += there;
    if (!there && missing < 0)
      missing = frame;
  }
  if (missing >= 0)
    return sb_fail (error, SB_ERROR_DATA,
                    "Only %" G_GINT64_FORMAT " of the %" G_GINT64_FORMAT " frames of the scan came; "
                    "frame %" G_GINT64_FORMAT " is the first one missing: push it and all others before finish.",
                    came, gather->positions, missing);
  return TRUE;
}

SbColumns *
gather_finish (SbGather *gather, GError **error)
{
  SbColumns *columns = NULL;
  if (!engine_check (gather->engine, error))
    return NULL;
  g_mutex_lock (&gather->lock);
  gboolean ok = check_state (gather, "Finish cannot be called", error);
  if (ok && gather->active > 0)
    ok = sb_fail (error, SB_ERROR_STATE, "Frames are still being pushed; call finish when all pushes have returned.");
  ok = ok && check_complete (gather, error);
  if (ok) {
    if (gather->state != GATHER_LOOKING || end_look (gather, error))
      columns = gather_take (gather, error);
    gather->state = columns != NULL ? GATHER_FINISHED : GATHER_FAILED;
  }
  g_mutex_unlock (&gather->lock);
  return columns;
}
