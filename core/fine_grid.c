/* The fine grid of a reconstruction. A scan's spectrum repeats: fine frequency q reads G at q modulo 1 / step. One of each
 * +-q pair is held, the one with a positive column (or, in column 0, a positive row). */
#include "core/reconstruct.h"

#include <math.h>

#include "core/error.h"

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

SbFineGrid *
fine_grid_new (const SbSpectrum *spectrum, const gint64 factor[2], GError **error)
{
  const double *step = spectrum->optics.step;
  gint64 scan_rows = spectrum->scan_rows, scan_cols = spectrum->scan_cols;
  /* Frequency i is i / (size of the scan) whatever the factor: the field of view stays. */
  double per_row = 1 / ((double)scan_rows * step[0] * spectrum->k_max);
  double per_col = 1 / ((double)scan_cols * step[1] * spectrum->k_max);
  double *vx, *vy;
  gint64 *source, n = 0;
  guint8 *conj;

  g_autoptr (SbFineGrid) grid = g_new0 (SbFineGrid, 1);
  grid->rows = scan_rows * factor[0];
  grid->cols = scan_cols * factor[1];
  grid->factor[0] = factor[0];
  grid->factor[1] = factor[1];
  grid->ring = MAX (per_row, per_col);
  if (half_size (grid->rows, grid->cols) > G_MAXINT) {
    sb_fail (error, SB_ERROR_ARGUMENT, "An image of %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT
             " pixels is too large; give a smaller upsampling.", grid->rows, grid->cols);
    return NULL;
  }
  if (!grid_alloc (grid, half_size (grid->rows, grid->cols), &vx, &vy, &source, &conj, error))
    return NULL;

  gint64 last_row = (grid->rows - 1) / 2, last_col = (grid->cols - 1) / 2;
  for (gint64 i = -last_row; i <= last_row; i++) {
    for (gint64 j = i > 0 ? 0 : 1; j <= last_col; j++) {
      double q[2] = { (double)i * per_row, (double)j * per_col }, v[2];
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
      frame_to_detector (&spectrum->frame, q, v);
      vx[n] = v[0];
      vy[n] = v[1];
      source[n] = stored;
      conj[n] = negative ? 1 : 0;
      grid->position[n] = wrapped (i, grid->rows) * grid->cols + j;
      grid->q[n] = sqrt (q[0] * q[0] + q[1] * q[1]);
      n++;
    }
  }
  grid->fine.n = n;
  return g_steal_pointer (&grid);
}

void
fine_grid_free (SbFineGrid *grid)
{
  if (grid == NULL)
    return;
  g_free ((gpointer)grid->fine.vx);
  g_free ((gpointer)grid->fine.vy);
  g_free ((gpointer)grid->fine.source);
  g_free ((gpointer)grid->fine.conj);
  g_free (grid->position);
  g_free (grid->q);
  g_free (grid);
}

static int
by_q (gconstpointer a, gconstpointer b, gpointer data)
{
  const double *q = data;
  gint64 i = *(const gint64 *)a, j = *(const gint64 *)b;
  if (q[i] != q[j])
    return q[i] < q[j] ? -1 : 1;
  return i < j ? -1 : i > j;
}

gint64
fine_grid_rings (const SbFineGrid *grid, gint64 *order, gint64 *start)
{
  gint64 n = grid->fine.n, rings = 0;
  start[0] = 0;
  if (n == 0)
    return 0;
  for (gint64 i = 0; i < n; i++)
    order[i] = i;
  g_qsort_with_data (order, (gint)n, sizeof (gint64), by_q, grid->q); /* n fits: fine_grid_new */
  for (gint64 i = 1; i < n; i++) {
    if (i - start[rings] >= SB_RING_LEAST && grid->q[order[i]] - grid->q[order[start[rings]]] >= grid->ring)
      start[++rings] = i;
  }
  if (rings > 0 && n - start[rings] < SB_RING_LEAST)
    rings--; /* too few left at the rim: they join the last ring */
  start[++rings] = n;
  return rings;
}
