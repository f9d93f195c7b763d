#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/error.h"
#include "core/gather.h"
#include "core/plan.h"

/* Final pixels: the disk and 15 % more (a free sampling may ask for them). While streaming a margin more is
 * kept, for what the disk of all frames differs from that of the first look (descan). */
static const double SUPERSET = 1.15;
/* What chance may put into one dark pixel in all frames together. */
static const double CHANCE_COUNTS = 16;

void
pattern_clear (SbPattern *pattern)
{
  g_clear_pointer (&pattern->mean, g_free);
  g_clear_pointer (&pattern->bad, g_free);
}

double
dtype_all_ones (SbDtype dtype)
{
  return dtype == SB_U8 ? 255 : dtype == SB_U16 ? 65535 : dtype == SB_U32 ? 4294967295.0 : 0;
}

/* Carried to digits in [-2^31, 2^31), so that the leading ones alone decide and nothing cancels. */
static double
words_value (const gint64 *words)
{
  gint64 digit[GATHER_WORDS], carry = 0;
  for (int w = 0; w < GATHER_WORDS; w++) {
    gint64 sum = words[w] + carry;
    digit[w] = w + 1 < GATHER_WORDS ? (gint64)(gint32)(guint32)(sum & 0xffffffff) : sum;
    carry = (sum - digit[w]) / 4294967296LL;
  }
  double value = 0;
  for (int w = GATHER_WORDS - 1; w >= 0; w--)
    value += ldexp ((double)digit[w], 32 * w - 149);
  return value;
}

/* A file without a mask: all ones in every frame is how detectors mark a pixel that does not exist. */
static gboolean
is_sentinel (const SbGather *gather, gint64 i, gint64 frames)
{
  double ones = dtype_all_ones (gather->stored);
  return gather->acquisition->header.mask == NULL && ones > 0 && frames > 0
         && gather->sum[i] == (guint64)ones * (guint64)frames;
}

/* One tile's mean; counts what its pixels are. full: where a pixel saturated. */
static void
fill_tile (SbGather *gather, gint64 t, SbPattern *pattern, guint8 *full, gint64 *sentinels)
{
  const SbHeader *header = &gather->acquisition->header;
  double level = header->has_saturation && header->saturation > 0 ? header->saturation : dtype_all_ones (gather->stored);
  gint64 first = t * GATHER_TILE, last = MIN (gather->size, first + GATHER_TILE);
  const guint8 *mask = header->mask;
  g_mutex_lock (&gather->tile[t].lock);
  gint64 frames = gather->tile[t].frames;
  pattern->frames = MAX (pattern->frames, frames);
  for (gint64 i = first; i < last; i++) {
    gboolean masked = mask != NULL && mask[i];
    gboolean sentinel = is_sentinel (gather, i, frames);
    gboolean broken = !masked && gather->not_finite[i];
    pattern->masked += masked || sentinel;
    *sentinels += sentinel;
    pattern->not_finite += broken;
    pattern->bad[i] = masked || sentinel || broken;
    full[i] = level > 0 && gather->high[i] >= level;
    if (pattern->bad[i] || frames == 0)
      pattern->mean[i] = 0;
    else if (gather->stored == SB_F32)
      pattern->mean[i] = words_value (gather->words + i * GATHER_WORDS) / (double)frames;
    else
      pattern->mean[i] = (double)gather->sum[i] / (double)frames;
  }
  g_mutex_unlock (&gather->tile[t].lock);
}

gboolean
gather_pattern (SbGather *gather, double hot_factor, SbPattern *pattern, gint64 *sentinels, GError **error)
{
  gint64 found = 0;
  memset (pattern, 0, sizeof *pattern);
  pattern->rows = gather->rows;
  pattern->cols = gather->cols;
  pattern->mean = sb_alloc ((gsize)gather->size, sizeof (double), "The mean pattern", error);
  pattern->bad = pattern->mean == NULL ? NULL : sb_alloc ((gsize)gather->size, 1, "The mean pattern", error);
  g_autofree guint8 *hot = pattern->bad == NULL ? NULL : sb_alloc ((gsize)gather->size, 1, "The mean pattern", error);
  g_autofree guint8 *full = hot == NULL ? NULL : sb_alloc ((gsize)gather->size, 1, "The mean pattern", error);
  if (full == NULL) {
    pattern_clear (pattern);
    return FALSE;
  }
  for (gint64 t = 0; t < gather->n_tiles; t++)
    fill_tile (gather, t, pattern, full, &found);
  if (sentinels != NULL)
    *sentinels = found;

  gboolean counted = gather->dtype != SB_F32 && gather->dtype != SB_F64;
  double chance = counted ? CHANCE_COUNTS / (double)MAX (pattern->frames, 1) : 0;
  pattern->hot = hot_find (pattern->mean, pattern->bad, gather->rows, gather->cols, hot_factor, chance, hot);
  for (gint64 i = 0; i < gather->size; i++) {
    if (hot[i]) {
      pattern->bad[i] = 1;
      pattern->mean[i] = 0;
    }
    pattern->saturated += full[i] && !pattern->bad[i];
  }
  return TRUE;
}

/* Where the bright field is: as given, or as found in the mean pattern. */
static gboolean
locate (const SbGather *gather, const SbPattern *pattern, SbDisk *disk, GError **error)
{
  SbDisk found = { { NAN, NAN }, NAN };
  gboolean centre_given = isfinite (gather->centre[0]) && isfinite (gather->centre[1]);
  gboolean radius_given = isfinite (gather->radius) && gather->radius > 0;
  if (!(centre_given && radius_given) && !disk_find (pattern->mean, pattern->bad, pattern->rows, pattern->cols, &found, error))
    return FALSE;
  for (int i = 0; i < 2; i++)
    disk->centre[i] = centre_given ? gather->centre[i] : found.centre[i];
  disk->radius = radius_given ? gather->radius : found.radius;
  return TRUE;
}

static double
distance (const SbGather *gather, gint64 pixel, const SbDisk *disk)
{
  return hypot ((double)(pixel / gather->cols) - disk->centre[0], (double)(pixel % gather->cols) - disk->centre[1]);
}

static gpointer
alloc_counts (SbGather *gather, GError **error)
{
  double bytes = (double)gather->n_pixels * (double)gather->held * (double)gather->item;
  const char *what = "The bright-field columns";
  gboolean in_file = FALSE;
  if (gather->engine != NULL
      && !plan_columns (gather->engine, (guint64)bytes, gather->positions, (guint64)gather->size * gather->item, &in_file,
                        error))
    return NULL;
  if (in_file) {
    gather->scratch = scratch_new ((gsize)gather->n_pixels * (gsize)gather->held * gather->item, plan_slack (gather->engine),
                                   what, error);
    return gather->scratch != NULL ? gather->scratch->data : NULL;
  }
  char *counts = sb_alloc ((gsize)gather->n_pixels, (gsize)gather->held * gather->item, what, error);
#ifdef MADV_HUGEPAGE
  /* a block touches every column, which lie far apart: large pages save most of the address look-ups */
  gsize page = (gsize)sysconf (_SC_PAGESIZE), skip = counts == NULL ? 0 : (page - (gsize)counts % page) % page;
  if (counts != NULL && bytes > 64.0 * (double)page)
    madvise (counts + skip, ((gsize)bytes - skip) / page * page, MADV_HUGEPAGE);
#endif
  return counts;
}

gboolean
gather_choose (SbGather *gather, GError **error)
{
  SbPattern sure, pattern;
  SbDisk disk;
  if (!gather_pattern (gather, HOT_FACTOR, &sure, NULL, error))
    return FALSE;
  gboolean ok = locate (gather, &sure, &disk, error);
  pattern_clear (&sure);
  /* half the factor: columns of all that may turn out hot, to take it out of the frames' sums again */
  if (!ok || !gather_pattern (gather, HOT_FACTOR / 2, &pattern, NULL, error))
    return FALSE;
  gather->pixel = sb_alloc ((gsize)gather->size, sizeof *gather->pixel, "The list of bright-field pixels", error);
  if (gather->pixel != NULL) {
    double reach = SUPERSET * disk.radius + MAX (4, 0.1 * disk.radius);
    const guint8 *mask = gather->acquisition->header.mask;
    for (gint64 t = 0; t < gather->n_tiles; t++) {
      gather->tile[t].kept[0] = gather->n_pixels;
      for (gint64 i = t * GATHER_TILE; i < MIN (gather->size, (t + 1) * GATHER_TILE); i++)
        if (!(mask != NULL && mask[i]) && (pattern.bad[i] || distance (gather, i, &disk) <= reach))
          gather->pixel[gather->n_pixels++] = (gint32)i;
      gather->tile[t].kept[1] = gather->n_pixels;
    }
    if (!gather->elsewhere)
      gather->counts = alloc_counts (gather, error);
  }
  pattern_clear (&pattern);
  return gather->elsewhere ? gather->pixel != NULL : gather->counts != NULL;
}

/* The bright field itself must have been kept whole; names the centre to give where it was not. */
static gboolean
check_kept (const SbGather *gather, const SbPattern *pattern, const SbDisk *disk, GError **error)
{
  gint64 k = 0;
  for (gint64 i = 0; i < gather->size; i++) {
    while (k < gather->n_pixels && gather->pixel[k] < i)
      k++;
    gboolean kept = k < gather->n_pixels && gather->pixel[k] == i;
    if (!kept && !pattern->bad[i] && distance (gather, i, disk) <= disk->radius) {
      char row[G_ASCII_DTOSTR_BUF_SIZE], col[G_ASCII_DTOSTR_BUF_SIZE];
      g_ascii_formatd (row, sizeof row, "%.1f", disk->centre[0]);
      g_ascii_formatd (col, sizeof col, "%.1f", disk->centre[1]);
      return sb_fail (error, SB_ERROR_DATA,
                      "The bright-field disk of all frames is not where that of the first look was, "
                      "so not all of its pixels were kept; give centre %s,%s and load again.",
                      row, col);
    }
  }
  return TRUE;
}

/* What becomes of the kept pixels: independent of the first look. */
static gint64
decide_fate (const SbGather *gather, const SbPattern *pattern, const SbDisk *disk, guint8 *fate)
{
  gint64 n = 0;
  for (gint64 k = 0; k < gather->n_pixels; k++) {
    gint64 i = gather->pixel[k];
    if (pattern->bad[i])
      fate[k] = is_sentinel (gather, i, pattern->frames) ? PIXEL_DROPPED : PIXEL_REFUSED;
    else
      fate[k] = distance (gather, i, disk) <= SUPERSET * disk->radius + 1 ? PIXEL_FINAL : PIXEL_DROPPED;
    n += fate[k] == PIXEL_FINAL;
  }
  return n;
}

gboolean
gather_judge (SbGather *gather, SbPattern *pattern, guint8 **fate, gint64 *n_final, gint64 *sentinels, GError **error)
{
  SbDisk disk;
  if (!gather_pattern (gather, HOT_FACTOR, pattern, sentinels, error))
    return FALSE;
  *fate = sb_alloc ((gsize)gather->n_pixels, 1, "The list of bright-field pixels", error);
  if (*fate == NULL || !locate (gather, pattern, &disk, error) || !check_kept (gather, pattern, &disk, error))
    return FALSE;
  *n_final = decide_fate (gather, pattern, &disk, *fate);
  return *n_final > 0
         || sb_fail (error, SB_ERROR_DATA,
                     "No usable detector pixel lies within the bright-field disk; give "
                     "another centre and sampling.");
}
