#include "core/share.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/plan.h"
#include "core/ranks.h"

/* Cuts lie between detector rows as long as a share has some of them: kernels add up a row in single precision, so that
 * whole rows leave the same sums however many ranks there are. A pixel of the disk costs a column of G, one beside it
 * only its counts. */
enum { ROWS_A_SHARE = 8, DISK_WEIGHT = 8, SLAB_BYTES = 32 << 20 };

/* [first, end) of n things for a rank. */
static gint64
part_start (gint64 n, int rank, int size)
{
  return n / size * rank + MIN (n % size, rank);
}

gint64
share_part (const SbEngine *engine, gint64 n, gint64 *first)
{
  const SbReduce *all = engine->reduce;
  *first = all != NULL ? part_start (n, all->rank, all->size) : 0;
  return (all != NULL ? part_start (n, all->rank + 1, all->size) : n) - *first;
}

/* Where a rank's scan positions begin: blocks that are read at once stay whole. */
static gint64
frames_start (const SbGather *gather, int rank)
{
  gint64 blocks = (gather->positions + gather->block - 1) / gather->block;
  return MIN (part_start (blocks, rank, gather->engine->reduce->size) * gather->block, gather->positions);
}

void
share_frames (SbGather *gather)
{
  if (gather->engine->reduce == NULL)
    return;
  int rank = gather->engine->reduce->rank;
  gather->shared = TRUE;
  gather->first = frames_start (gather, rank);
  gather->held = frames_start (gather, rank + 1) - gather->first;
}

/* ---- sums ---- */

/* Whole numbers and largest values: exact, whatever the order. */
gboolean
share_sums (SbGather *gather, GError **error)
{
  SbRanks *ranks = gather->engine->ranks;
  gsize size = (gsize)gather->size, tiles = (gsize)gather->n_tiles;
  if (!gather->shared)
    return TRUE;
  g_autofree guint64 *counts = sb_alloc (tiles + size, sizeof *counts, "The sums over the frames", error);
  if (counts == NULL)
    return FALSE;
  for (gsize t = 0; t < tiles; t++)
    counts[t] = (guint64)gather->tile[t].frames;
  for (gsize i = 0; i < size; i++)
    counts[tiles + i] = gather->not_finite[i];
  gpointer sums = gather->sum != NULL ? (gpointer)gather->sum : (gpointer)gather->words;
  gsize n = gather->sum != NULL ? size : size * GATHER_WORDS;
  if (!ranks_combine (ranks, RANKS_OTHER, RANKS_SUM_WHOLE, counts, tiles + size, error)
      || !ranks_combine (ranks, RANKS_OTHER, RANKS_MAX_DOUBLE, gather->high, size, error)
      || !ranks_combine (ranks, RANKS_OTHER, RANKS_SUM_WHOLE, sums, n, error))
    return FALSE;
  for (gsize t = 0; t < tiles; t++)
    gather->tile[t].frames = (gint64)counts[t];
  for (gsize i = 0; i < size; i++)
    gather->not_finite[i] = counts[tiles + i] > 0;
  return TRUE;
}

/* ---- cuts ---- */

/* The disk that the pixels were chosen by; FALSE: not known any more. */
static gboolean
find_disk (const SbGather *gather, const SbPattern *pattern, SbDisk *disk)
{
  gboolean centre = isfinite (gather->centre[0]) && isfinite (gather->centre[1]);
  gboolean radius = isfinite (gather->radius) && gather->radius > 0;
  if (!(centre && radius) && !disk_find (pattern->mean, pattern->bad, pattern->rows, pattern->cols, disk, NULL))
    return FALSE;
  for (int i = 0; centre && i < 2; i++)
    disk->centre[i] = gather->centre[i];
  disk->radius = radius ? gather->radius : disk->radius;
  return TRUE;
}

/* cut[size + 1]: rank r gets pixels [cut[r], cut[r + 1]) of the final ones. */
static gboolean
make_cuts (const SbGather *gather, const SbColumns *columns, gint64 *cut, GError **error)
{
  gint64 n = columns->n_pixels, cols = columns->pattern.cols, total = 0, rows = 0, last = -1;
  int size = gather->engine->reduce->size;
  SbDisk disk;
  gboolean known = find_disk (gather, &columns->pattern, &disk);
  g_autofree gint64 *before = sb_alloc ((gsize)n + 1, sizeof *before, "The shares of the pixels", error);
  if (before == NULL)
    return FALSE;
  for (gint64 k = 0; k < n; k++) {
    gint64 row = columns->pixel[k] / cols, col = columns->pixel[k] % cols;
    gboolean inside = !known || hypot ((double)row - disk.centre[0], (double)col - disk.centre[1]) <= disk.radius;
    rows += inside && row != last;
    last = inside ? row : last;
    before[k] = total;
    total += inside ? DISK_WEIGHT : 1;
  }
  before[n] = total;
  if (total / DISK_WEIGHT < size || n < size)
    return sb_fail (error, SB_ERROR_ARGUMENT,
                    "There are more ranks (%d) than bright-field pixels (%" G_GINT64_FORMAT "); start "
                    "fewer.",
                    size, n);
  gboolean whole_rows = rows >= (gint64)size * ROWS_A_SHARE;
  cut[0] = 0;
  for (int r = 1; r < size; r++) {
    double wanted = (double)total * r / size;
    gint64 best = MIN (cut[r - 1] + 1, n - 1);
    for (gint64 k = best; k < n; k++)
      if ((!whole_rows || columns->pixel[k] / cols != columns->pixel[k - 1] / cols)
          && fabs ((double)before[k] - wanted) < fabs ((double)before[best] - wanted))
        best = k;
    cut[r] = best;
  }
  cut[size] = n;
  return TRUE;
}

/* ---- exchange ---- */

/* One exchange of a few pixels of every share. */
typedef struct Slab {
  SbGather *gather;
  const gint64 *cut, *start; /* [size + 1] pixels and scan positions of the ranks */
  gsize *to, *to_at, *from, *from_at;
  char *came;
  char *counts; /* [own pixels][positions] */
} Slab;

static gboolean
exchange_slab (const Slab *slab, gint64 first, gint64 n, GError **error)
{
  const SbGather *gather = slab->gather;
  SbRanks *ranks = gather->engine->ranks;
  gsize item = gather->item, held = (gsize)gather->held * item;
  gint64 own = CLAMP (slab->cut[ranks->rank + 1] - slab->cut[ranks->rank] - first, 0, n);
  for (int r = 0; r < ranks->size; r++) {
    gint64 theirs = CLAMP (slab->cut[r + 1] - slab->cut[r] - first, 0, n);
    slab->to[r] = (gsize)theirs * held;
    slab->to_at[r] = (gsize)(slab->cut[r] + first) * held;
    slab->from[r] = (gsize)own * (gsize)(slab->start[r + 1] - slab->start[r]) * item;
    slab->from_at[r] = (gsize)own * (gsize)slab->start[r] * item;
  }
  if (!ranks_exchange (ranks, RANKS_FRAMES, gather->counts, slab->to, slab->to_at, slab->came, slab->from, slab->from_at,
                       error))
    return FALSE;
  for (int r = 0; r < ranks->size; r++) {
    gsize piece = (gsize)(slab->start[r + 1] - slab->start[r]) * item;
    for (gint64 k = 0; k < own; k++)
      memcpy (slab->counts + ((gsize)(first + k) * (gsize)gather->positions + (gsize)slab->start[r]) * item,
              slab->came + slab->from_at[r] + (gsize)k * piece, piece);
  }
  return TRUE;
}

static gboolean
exchange (SbGather *gather, const gint64 *cut, const gint64 *start, char *counts, GError **error)
{
  int size = gather->engine->reduce->size;
  gint64 most = 0, column = gather->positions * (gint64)gather->item, step = CLAMP (SLAB_BYTES / column, 1, 4096);
  for (int r = 0; r < size; r++)
    most = MAX (most, cut[r + 1] - cut[r]);
  step = MIN (step, most);
  g_autofree gsize *list = g_new0 (gsize, 4 * (gsize)size);
  g_autofree char *came = sb_alloc ((gsize)step, (gsize)column, "The counts of other ranks", error);
  Slab slab = { gather, cut, start, list, list + size, list + 2 * size, list + 3 * size, came, counts };
  gboolean good = came != NULL;
  for (gint64 first = 0; good && first < most; first += step)
    good = exchange_slab (&slab, first, step, error);
  return good;
}

static gboolean
gather_sums (const SbGather *gather, SbColumns *columns, const gint64 *start, GError **error)
{
  int size = gather->engine->reduce->size;
  g_autofree gsize *place = g_new (gsize, (gsize)size + 1), *twice = g_new (gsize, (gsize)size + 1);
  for (int r = 0; r <= size; r++) {
    place[r] = (gsize)start[r] * sizeof (double);
    twice[r] = 2 * place[r];
  }
  return ranks_gather (gather->engine->ranks, RANKS_OTHER, columns->frame_sum, place, error)
         && ranks_gather (gather->engine->ranks, RANKS_OTHER, columns->frame_com, twice, error);
}

/* Room for the counts of this rank's share, in memory or in a scratch file. */
static gboolean
make_room (const SbGather *gather, SbColumns *columns, GError **error)
{
  gsize bytes = (gsize)columns->held * (gsize)gather->positions * gather->item;
  const char *what = "The bright-field columns";
  gboolean in_file = FALSE;
  if (!plan_columns (gather->engine, bytes, gather->positions, (guint64)gather->size * gather->item, &in_file, error))
    return FALSE;
  if (!in_file)
    return (columns->counts = sb_alloc (bytes, 1, what, error)) != NULL;
  columns->scratch = scratch_new (bytes, plan_slack (gather->engine), what, error);
  columns->counts = columns->scratch != NULL ? columns->scratch->data : NULL;
  return columns->counts != NULL;
}

gboolean
share_columns (SbGather *gather, SbColumns *columns, GError **error)
{
  const SbReduce *all = gather->engine->reduce;
  g_autofree gint64 *cut = g_new0 (gint64, (gsize)all->size + 1), *start = g_new0 (gint64, (gsize)all->size + 1);
  if (!make_cuts (gather, columns, cut, error))
    return FALSE;
  gpointer read = g_steal_pointer (&columns->counts);
  SbScratch *read_in = g_steal_pointer (&columns->scratch);
  columns->first = cut[all->rank];
  columns->held = cut[all->rank + 1] - columns->first;
  gboolean good = make_room (gather, columns, error);
  if (good && gather->shared) {
    for (int r = 0; r <= all->size; r++)
      start[r] = frames_start (gather, r);
    gather->counts = read;
    good = exchange (gather, cut, start, columns->counts, error) && gather_sums (gather, columns, start, error);
    gather->counts = NULL;
  } else if (good) { /* every rank was pushed all frames */
    gsize each = (gsize)gather->positions * gather->item;
    memcpy (columns->counts, (char *)read + (gsize)columns->first * each, (gsize)columns->held * each);
  }
  if (read_in == NULL)
    g_free (read);
  scratch_free (read_in);
  return good;
}

/* ---- the spectrum ---- */

gboolean
share_pixels (SbSpectrum *spectrum, const SbColumns *columns, SbBrightField *b, GError **error)
{
  if (spectrum->engine->reduce == NULL)
    return TRUE;
  g_autofree gint64 *start = g_new0 (gint64, (gsize)b->n_rows + 1);
  gint64 n = 0, rows = 0;
  for (gint64 r = 0; r < b->n_rows; r++) {
    gint64 before = n;
    for (gint64 k = b->row_start[r]; k < b->row_start[r + 1]; k++) {
      gint64 column = b->column[k] - columns->first;
      if (column < 0 || column >= columns->held)
        continue;
      spectrum->own_first = n == 0 ? k : spectrum->own_first;
      spectrum->own_row = n == 0 ? r : spectrum->own_row;
      b->column[n] = column;
      b->pixel_y[n++] = b->pixel_y[k];
    }
    if (n == before)
      continue;
    b->row_x[rows++] = b->row_x[r];
    start[rows] = n;
  }
  memcpy (b->row_start, start, ((gsize)rows + 1) * sizeof *start);
  b->n_rows = rows;
  b->n = spectrum->own_pixels = n;
  return n > 0
         || sb_fail (error, SB_ERROR_ARGUMENT,
                     "The bright field of %" G_GINT64_FORMAT " pixels is too small for %d ranks; "
                     "start fewer.",
                     spectrum->n_pixels, spectrum->engine->reduce->size);
}

gboolean
share_plan (SbSpectrum *spectrum, GError **error)
{
  const SbReduce *all = spectrum->engine->reduce;
  double parts = spectrum->plan.in_parts;
  gboolean known = all == NULL || all->sum (all->comm, &parts, 1, error);
  spectrum->somewhere_in_parts = parts > 0;
  return known;
}

gboolean
share_view (const SbSpectrum *spectrum, const SbkView *view, SbkView *own)
{
  gint64 skip = spectrum->own_first - view->k_first, rows = MAX (view->row_stride, 1);
  *own = *view;
  if (spectrum->engine->reduce == NULL)
    return TRUE;
  own->row_first = ((view->row_first - spectrum->own_row) % rows + rows) % rows;
  own->k_first = skip <= 0 ? -skip : (view->k_stride - skip % view->k_stride) % view->k_stride;
  return own->k_first < spectrum->own_pixels;
}
