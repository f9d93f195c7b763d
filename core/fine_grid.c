/* The fine grid of a reconstruction. A scan's spectrum repeats: fine frequency q reads G at q modulo 1 / step. One of each
 * +-q pair is held, the one with a positive column (or, in column 0, a positive row). */
#include "core/reconstruct.h"

#include <math.h>
#include <string.h>

#include "core/error.h"

struct SbFineRings {
  gint64 *order, *start, n; /* order NULL: not known yet */
};

static gint64
wrapped (gint64 i, gint64 n)
{
  gint64 r = i % n;
  return r < 0 ? r + n : r;
}

/* Columns 0 .. (cols - 1) / 2 and every row but the Nyquist ones, which have no partner of their own sign. */
static gint64
half_size (gint64 rows, gint64 cols)
{
  return rows * ((cols - 1) / 2 + 1);
}

static gboolean
grid_alloc (SbFineGrid *grid, gint64 n, double **vx, double **vy, gint64 **source, guint8 **conj, GError **error)
{
  const char *what = "The frequencies of the upsampled image";
  *vx = sb_alloc ((gsize)n, sizeof (double), what, error);
  *vy = *vx != NULL ? sb_alloc ((gsize)n, sizeof (double), what, error) : NULL;
  *source = *vy != NULL ? sb_alloc ((gsize)n, sizeof (gint64), what, error) : NULL;
  *conj = *source != NULL ? sb_alloc ((gsize)n, 1, what, error) : NULL;
  grid->fine = (SbkFine){ .n = 0, .vx = *vx, .vy = *vy, .source = *source, .conj = *conj };
  if (*conj == NULL)
    return FALSE;
  grid->position = sb_alloc ((gsize)n, sizeof (gint64), what, error);
  grid->q = grid->position != NULL ? sb_alloc ((gsize)n, sizeof (double), what, error) : NULL;
  return grid->q != NULL;
}

/* Order of n entries by ascending key in [0, keys), equal keys as they stood in `from` (NULL: 0 .. n - 1). */
static gboolean
order_by (gint64 n, const gint64 *key, gint64 keys, const gint64 *from, gint64 *to, GError **error)
{
  g_autofree gint64 *place = sb_alloc ((gsize)keys + 1, sizeof *place, "The order of the image's frequencies", error);
  if (place == NULL)
    return FALSE;
  memset (place, 0, (gsize)(keys + 1) * sizeof *place);
  for (gint64 i = 0; i < n; i++)
    place[key[i] + 1]++;
  for (gint64 k = 0; k < keys; k++)
    place[k + 1] += place[k];
  for (gint64 i = 0; i < n; i++) {
    gint64 e = from != NULL ? from[i] : i;
    to[place[key[e]]++] = e;
  }
  return TRUE;
}

static void
reorder (gpointer values, gsize size, gint64 n, const gint64 *order, gpointer room)
{
  for (gint64 i = 0; i < n; i++)
    memcpy ((char *)room + (gsize)i * size, (char *)values + (gsize)order[i] * size, size);
  memcpy (values, room, (gsize)n * size);
}

/* Frequencies of one alias side by side, in the order in which G stores what they read: kernels then read G in one go. */
static gboolean
grid_sort (SbFineGrid *grid, const gint64 *alias, gint64 aliases, gint64 n_q, GError **error)
{
  gint64 n = grid->fine.n;
  const char *what = "The order of the image's frequencies";
  g_autofree gint64 *by_source = sb_alloc ((gsize)n, sizeof (gint64), what, error);
  g_autofree gint64 *order = by_source != NULL ? sb_alloc ((gsize)n, sizeof (gint64), what, error) : NULL;
  g_autofree double *room = order != NULL ? sb_alloc ((gsize)n, sizeof (double), what, error) : NULL;
  if (room == NULL || !order_by (n, grid->fine.source, n_q, NULL, by_source, error)
      || !order_by (n, alias, aliases, by_source, order, error))
    return FALSE;
  reorder ((gpointer)grid->fine.vx, sizeof (double), n, order, room);
  reorder ((gpointer)grid->fine.vy, sizeof (double), n, order, room);
  reorder ((gpointer)grid->fine.source, sizeof (gint64), n, order, room);
  reorder ((gpointer)grid->fine.conj, 1, n, order, room);
  reorder (grid->position, sizeof (gint64), n, order, room);
  reorder (grid->q, sizeof (double), n, order, room);
  return TRUE;
}

/* The map to the detector frame is linear: two vectors give it. */
typedef struct {
  double along_row[2], along_col[2];
} Units;

static Units
units_make (const SbSpectrum *spectrum, double per_row, double per_col)
{
  const double row_unit[2] = { per_row, 0 }, col_unit[2] = { 0, per_col };
  Units u;
  frame_to_detector (&spectrum->frame, row_unit, u.along_row);
  frame_to_detector (&spectrum->frame, col_unit, u.along_col);
  return u;
}

static guint64
next_stamp (void)
{
  static guint64 last = 0;
  return __atomic_add_fetch (&last, 1, __ATOMIC_RELAXED);
}

/* vx, vy of the spectrum's frame, from where the frequencies lie. */
static void
grid_aim (SbFineGrid *grid, const SbSpectrum *spectrum, double per_row, double per_col)
{
  Units u = units_make (spectrum, per_row, per_col);
  double *vx = (double *)grid->fine.vx, *vy = (double *)grid->fine.vy;
  for (gint64 f = 0; f < grid->fine.n; f++) {
    gint64 row = grid->position[f] / grid->cols, j = grid->position[f] % grid->cols;
    gint64 i = row > (grid->rows - 1) / 2 ? row - grid->rows : row;
    vx[f] = (double)i * u.along_row[0] + (double)j * u.along_col[0];
    vy[f] = (double)i * u.along_row[1] + (double)j * u.along_col[1];
  }
  grid->frame = spectrum->frame;
  grid->fine.stamp = next_stamp ();
}

/* Which of the scan's spectra a fine frequency reads: how many away, rounded; the sign of the pair apart. */
static gint64
alias_of (gint64 i, gint64 j, gint64 scan_rows, gint64 scan_cols, const gint64 factor[2], gboolean negative)
{
  return (((i + scan_rows / 2 + factor[0] * scan_rows) / scan_rows) * (2 * factor[1] + 1) + (j + scan_cols / 2) / scan_cols) * 2
         + negative;
}

static SbFineGrid *
grid_make (const SbSpectrum *spectrum, const gint64 factor[2], double per_row, double per_col, GError **error)
{
  gint64 scan_rows = spectrum->scan_rows, scan_cols = spectrum->scan_cols;
  double *vx, *vy;
  gint64 *source, n = 0;
  guint8 *conj;

  g_autoptr (SbFineGrid) grid = g_new0 (SbFineGrid, 1);
  grid->engine = spectrum->engine;
  grid->rows = scan_rows * factor[0];
  grid->cols = scan_cols * factor[1];
  grid->factor[0] = factor[0];
  grid->factor[1] = factor[1];
  grid->ring = MAX (per_row, per_col);
  grid->aperture = spectrum->mean_a2 * (double)spectrum->n_pixels;
  grid->stamp = next_stamp ();
  grid->kept = g_new0 (struct SbFineRings, 1);
  if (half_size (grid->rows, grid->cols) > G_MAXINT) {
    sb_fail (error, SB_ERROR_ARGUMENT,
             "An image of %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT " pixels is too large; give a smaller upsampling.",
             grid->rows, grid->cols);
    return NULL;
  }
  if (!grid_alloc (grid, half_size (grid->rows, grid->cols), &vx, &vy, &source, &conj, error))
    return NULL;
  gint64 last_row = (grid->rows - 1) / 2, last_col = (grid->cols - 1) / 2;
  gint64 aliases = 2 * (2 * factor[0] + 2) * (2 * factor[1] + 1);
  g_autofree gint64 *alias = sb_alloc ((gsize)half_size (grid->rows, grid->cols), sizeof *alias,
                                       "The frequencies of the upsampled image", error);
  if (alias == NULL)
    return NULL;
  for (gint64 i = -last_row; i <= last_row; i++) {
    for (gint64 j = i > 0 ? 0 : 1; j <= last_col; j++) {
      double q[2] = { (double)i * per_row, (double)j * per_col };
      gint64 row = wrapped (i, scan_rows), col = wrapped (j, scan_cols);
      if (q[0] * q[0] + q[1] * q[1] >= 4)
        continue;
      if (row == 0 && col == 0) /* an alias of q = 0 reads the mean pattern */
        continue;
      gboolean negative = FALSE;
      gint64 stored = spectrum_find (spectrum, row, col, &negative);
      if (stored < 0) {
        grid->absent++;
        continue;
      }
      alias[n] = alias_of (i, j, scan_rows, scan_cols, factor, negative);
      source[n] = stored;
      conj[n] = negative ? 1 : 0;
      grid->position[n] = wrapped (i, grid->rows) * grid->cols + j;
      grid->q[n] = sqrt (q[0] * q[0] + q[1] * q[1]);
      n++;
    }
  }
  grid->fine.n = n;
  if (!grid_sort (grid, alias, aliases, spectrum->n_q, error))
    return NULL;
  grid_aim (grid, spectrum, per_row, per_col);
  return g_steal_pointer (&grid);
}

/* The spectrum keeps the last grid, if it is not huge: another frame only turns it. */
SbFineGrid *
fine_grid_new (SbSpectrum *spectrum, const gint64 factor[2], GError **error)
{
  enum { KEPT = 1 << 22 };
  const double *step = spectrum->optics.step;
  /* Frequency i is i / (size of the scan) whatever the factor: the field of view stays. */
  double per_row = 1 / ((double)spectrum->scan_rows * step[0] * spectrum->k_max);
  double per_col = 1 / ((double)spectrum->scan_cols * step[1] * spectrum->k_max);
  SbFineGrid *grid = spectrum->fine;
  gboolean same = grid != NULL && grid->factor[0] == factor[0] && grid->factor[1] == factor[1];
  gboolean aimed = same && grid->frame.rotation == spectrum->frame.rotation
                   && grid->frame.transpose == spectrum->frame.transpose;
  if (same && (aimed || grid->refs == 0)) {
    if (!aimed)
      grid_aim (grid, spectrum, per_row, per_col);
  } else {
    if ((grid = grid_make (spectrum, factor, per_row, per_col, error)) == NULL)
      return NULL;
    if (grid->fine.n > KEPT)
      return grid;
    fine_grid_free (spectrum->fine);
    spectrum->fine = grid;
  }
  grid->refs++;
  return grid;
}

void
fine_grid_free (SbFineGrid *grid)
{
  if (grid == NULL || grid->refs-- > 0)
    return;
  g_free ((gpointer)grid->fine.vx);
  g_free ((gpointer)grid->fine.vy);
  g_free ((gpointer)grid->fine.source);
  g_free ((gpointer)grid->fine.conj);
  g_free (grid->position);
  g_free (grid->q);
  if (grid->kept != NULL) {
    g_free (grid->kept->order);
    g_free (grid->kept->start);
  }
  g_free (grid->kept);
  g_free (grid);
}

/* order by ascending q, equal ones as they stand: digits of q in units of 2^-43, then what those leave. */
static gboolean
order_by_q (const double *q, gint64 n, gint64 *order, GError **error)
{
  enum { BITS = 11, DIGITS = 4 };
  g_autofree gint64 *other = sb_alloc ((gsize)n, sizeof *other, "The rings", error);
  g_autofree gint64 *digit = other != NULL ? sb_alloc ((gsize)n, sizeof *digit, "The rings", error) : NULL;
  if (digit == NULL)
    return FALSE;
  for (int d = 0; d < DIGITS; d++) {
    for (gint64 i = 0; i < n; i++)
      digit[i] = (gint64)((guint64)(q[i] * 0x1p43) >> (BITS * d) & ((1 << BITS) - 1));
    if (!order_by (n, digit, 1 << BITS, d == 0 ? NULL : d % 2 == 1 ? other : order, d % 2 == 0 ? other : order, error))
      return FALSE;
  }
  for (gint64 i = 1; i < n; i++) {
    gint64 e = order[i], at = i;
    for (; at > 0 && q[order[at - 1]] > q[e]; at--)
      order[at] = order[at - 1];
    order[at] = e;
  }
  return TRUE;
}

static gint64
rings_find (const SbFineGrid *grid, gint64 *order, gint64 *start, GError **error)
{
  gint64 n = grid->fine.n, rings = 0;
  start[0] = 0;
  if (n == 0)
    return 0;
  if (!order_by_q (grid->q, n, order, error))
    return -1;
  for (gint64 i = 1; i < n; i++) {
    if (i - start[rings] >= SB_RING_LEAST && grid->q[order[i]] - grid->q[order[start[rings]]] >= grid->ring)
      start[++rings] = i;
  }
  if (rings > 0 && n - start[rings] < SB_RING_LEAST)
    rings--; /* too few left at the rim: they join the last ring */
  start[++rings] = n;
  return rings;
}

gint64
fine_grid_rings (const SbFineGrid *grid, gint64 *order, gint64 *start, GError **error)
{
  struct SbFineRings *kept = grid->kept;
  gsize n = (gsize)grid->fine.n;
  if (kept != NULL && kept->order != NULL) {
    memcpy (order, kept->order, n * sizeof *order);
    memcpy (start, kept->start, (gsize)(kept->n + 1) * sizeof *start);
    return kept->n;
  }
  gint64 rings = rings_find (grid, order, start, error);
  if (kept == NULL || rings < 0)
    return rings;
  g_free (kept->start);
  kept->start = g_try_malloc_n ((gsize)rings + 1, sizeof *start);
  kept->order = kept->start != NULL ? g_try_malloc_n (n, sizeof *order) : NULL;
  if (kept->order != NULL) { /* worth keeping, no matter if not */
    memcpy (kept->order, order, n * sizeof *order);
    memcpy (kept->start, start, ((gsize)rings + 1) * sizeof *start);
    kept->n = rings;
  }
  return rings;
}
