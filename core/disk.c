#include <math.h>
#include <string.h>

#include "core/calibrate.h"
#include "core/disk_edge.h"
#include "core/error.h"
#include "core/hot.h"
#include "core/order.h"

/* A bright region at one threshold is a candidate; its circle is refined, and the circle that looks most like
 * an evenly filled disk holding much intensity wins. Thresholds are tried from the brightest down, because
 * neither the plateau nor how much of the pattern it covers is known beforehand. */
enum { N_LEVELS = 22, N_REGIONS = 4, MIN_RADIUS = 3 };
static const double LEVEL_RATIO = 0.77;

typedef struct Region {
  double sum;
  gint64 n;
  SbDisk disk;
  gboolean round; /* it has an edge to fit a circle to */
} Region;

/* Mean of the usable pixels in a window of 2 half + 1; 0 where there are none. */
static void
smooth (const double *mean, const guint8 *skip, gint64 rows, gint64 cols, gint64 half, double *out)
{
  for (gint64 row = 0; row < rows; row++)
    for (gint64 col = 0; col < cols; col++) {
      double sum = 0;
      gint64 n = 0;
      for (gint64 r = MAX (row - half, 0); r <= MIN (row + half, rows - 1); r++)
        for (gint64 c = MAX (col - half, 0); c <= MIN (col + half, cols - 1); c++)
          if (!skip[r * cols + c]) {
            sum += mean[r * cols + c];
            n++;
          }
      out[row * cols + col] = n > 0 ? sum / (double)n : 0;
    }
}

/* Circle through boundary points by linear least squares (Kasa): y^2 + x^2 = 2 a y + 2 b x + c, about an
 * origin. */
static gboolean
fit_circle (const double s[10], const double origin[2], SbDisk *disk)
{
  /* s: n, y, x, yy, yx, xx, yz, xz, z with z = y^2 + x^2 */
  double n = s[0], my = s[1] / n, mx = s[2] / n, mz = s[8] / n;
  double yy = s[3] / n - my * my, yx = s[4] / n - my * mx, xx = s[5] / n - mx * mx;
  double yz = s[6] / n - my * mz, xz = s[7] / n - mx * mz, det = yy * xx - yx * yx;
  if (!(n >= 5) || !(det > 1e-6 * (yy + xx) * (yy + xx)))
    return FALSE;
  double a = (yz * xx - xz * yx) / (2 * det), b = (xz * yy - yz * yx) / (2 * det);
  double r2 = mz - 2 * a * my - 2 * b * mx + a * a + b * b;
  disk->centre[0] = origin[0] + a;
  disk->centre[1] = origin[1] + b;
  disk->radius = sqrt (MAX (r2, 0)) + 0.5; /* the boundary pixels' centres lie half a pixel inside the edge */
  return TRUE;
}

/* Fills one connected region from seed and fits a circle to its boundary, the detector's own edge left out.
 */
static Region
flood (const double *value, gint64 rows, gint64 cols, double level, gint64 seed, guint8 *seen, gint64 *stack)
{
  Region region = { 0 };
  double origin[2] = { (double)(seed / cols), (double)(seed % cols) }, s[10] = { 0 };
  gint64 top = 0;
  stack[top++] = seed;
  seen[seed] = 1;
  while (top > 0) {
    gint64 i = stack[--top], row = i / cols, col = i % cols;
    gboolean boundary = FALSE;
    region.sum += value[i];
    region.n++;
    const gint64 step[4][2] = { { -1, 0 }, { 1, 0 }, { 0, -1 }, { 0, 1 } };
    for (int k = 0; k < 4; k++) {
      gint64 r = row + step[k][0], c = col + step[k][1], j = r * cols + c;
      if (r < 0 || r >= rows || c < 0 || c >= cols)
        continue;
      if (value[j] < level)
        boundary = TRUE;
      else if (!seen[j]) {
        seen[j] = 1;
        stack[top++] = j;
      }
    }
    if (boundary) {
      double y = (double)row - origin[0], x = (double)col - origin[1], z = y * y + x * x;
      const double terms[9] = { 1, y, x, y * y, y * x, x * x, y * z, x * z, z };
      for (int k = 0; k < 9; k++)
        s[k] += terms[k];
    }
  }
  region.round = s[0] >= 5 && fit_circle (s, origin, &region.disk);
  return region;
}

/* The few regions above level that hold most. */
static int
find_regions (const double *value, gint64 rows, gint64 cols, double level, guint8 *seen, gint64 *stack, Region best[N_REGIONS])
{
  int n = 0;
  memset (seen, 0, (gsize)(rows * cols));
  for (gint64 i = 0; i < rows * cols; i++) {
    if (seen[i] || value[i] < level)
      continue;
    Region region = flood (value, rows, cols, level, i, seen, stack);
    if (region.n < 5 || !region.round)
      continue;
    int k = n < N_REGIONS ? n++ : N_REGIONS;
    for (; k > 0 && best[k - 1].sum < region.sum; k--)
      if (k < N_REGIONS)
        best[k] = best[k - 1];
    if (k < N_REGIONS)
      best[k] = region;
  }
  return n;
}

/* 0: not a disk. */
static double
score (const SbDisk *disk, const DiskQuality *q)
{
  double contrast = (q->plateau - q->outside) / q->plateau;
  if (contrast < 0.25 || q->filled < 0.7 || q->spilt > 0.3 || q->seen < 0.25 || q->sharpness < 0.4
      || q->plateau - q->outside < 3.5 * q->noise || q->scatter > MAX (0.8, 0.06 * disk->radius))
    return 0;
  return disk->radius * disk->radius * (q->plateau - q->outside) * q->filled * (1 - q->spilt) * q->seen * q->sharpness;
}

/* The best circle of at least some radius on one smoothed pattern; FALSE where none looks like a disk. */
static gboolean
search (const DiskImage *image, double top, double least, guint8 *seen, gint64 *stack, SbDisk *disk)
{
  double best = 0;
  SbDisk tried = { { NAN, NAN }, NAN };
  for (int l = 1; l <= N_LEVELS; l++) {
    Region region[N_REGIONS];
    int n = find_regions (image->value, image->rows, image->cols, top * pow (LEVEL_RATIO, l), seen, stack, region);
    for (int k = 0; k < n; k++) {
      SbDisk candidate = region[k].disk;
      DiskQuality quality;
      double moved = hypot (hypot (candidate.centre[0] - tried.centre[0], candidate.centre[1] - tried.centre[1]),
                            candidate.radius - tried.radius);
      if (moved < 0.2) /* the next threshold finds the same edge again */
        continue;
      tried = candidate;
      if (!disk_refine (image, 8, &candidate, &quality) || candidate.radius < least)
        continue;
      double s = score (&candidate, &quality);
      if (s > best) {
        best = s;
        *disk = candidate;
      }
    }
  }
  return best > 0;
}

/* Standard deviation of single pixels inside the disk over its plateau, from neighbours along a row. */
static double
relative_noise (const DiskImage *image, const SbDisk *disk, const double *mean)
{
  gint64 n = 0;
  double plateau = 0;
  for (gint64 row = 0; row < image->rows; row++)
    for (gint64 col = 0; col + 1 < image->cols; col++) {
      gint64 i = row * image->cols + col;
      if (hypot (row - disk->centre[0], col - disk->centre[1]) < 0.8 * disk->radius && !image->skip[i] && !image->skip[i + 1]) {
        image->scratch[n++] = fabs (mean[i + 1] - mean[i]);
        plateau += mean[i];
      }
    }
  return n > 0 && plateau > 0 ? 1.4826 / G_SQRT2 * order_select (image->scratch, (gsize)n, (gsize)n / 2) * (double)n / plateau
                              : 1;
}

typedef struct Work {
  double *smoothed, *scratch;
  guint8 *skip, *seen;
  gint64 *stack;
} Work;

static void
work_clear (Work *work)
{
  g_free (work->smoothed);
  g_free (work->scratch);
  g_free (work->skip);
  g_free (work->seen);
  g_free (work->stack);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Work, work_clear)

static gboolean
no_disk (GError **error, const char *why)
{
  return sb_fail (error, SB_ERROR_DATA,
                  "No bright-field disk was found in the mean pattern (%s); check that it shows the "
                  "bright-field disk, or give centre and sampling.",
                  why);
}

/* Marks what cannot be used, measures the smallest and largest good value. */
static gboolean
prepare (const double *mean, const guint8 *bad, gint64 rows, gint64 cols, Work *work, GError **error)
{
  gint64 n = rows * cols;
  double low = INFINITY, high = -INFINITY;
  for (gint64 i = 0; i < n; i++)
    work->seen[i] = (bad != NULL && bad[i]) || !isfinite (mean[i]);
  hot_find (mean, work->seen, rows, cols, HOT_FACTOR, 0, work->skip);
  for (gint64 i = 0; i < n; i++) {
    work->skip[i] = work->skip[i] || work->seen[i];
    if (!work->skip[i]) {
      low = MIN (low, mean[i]);
      high = MAX (high, mean[i]);
    }
  }
  if (!isfinite (low))
    return no_disk (error, "no pixel is usable: all are masked, hot or not finite in some frame");
  if (high <= 0)
    return no_disk (error, "nothing but single pixels is above zero");
  return low == high ? no_disk (error, "it is flat") : TRUE;
}

gboolean
disk_find (const double *mean, const guint8 *bad, gint64 rows, gint64 cols, SbDisk *disk, GError **error)
{
  if (mean == NULL || rows < 1 || cols < 1)
    return sb_fail (error, SB_ERROR_ARGUMENT,
                    "A mean pattern of %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT
                    " pixels cannot be searched for a disk; give a detector shape of at least 1 x 1.",
                    rows, cols);
  const char *what = "The search for the bright-field disk";
  gsize n = (gsize)(rows * cols);
  g_auto (Work) work = { 0 };
  if ((work.smoothed = sb_alloc (n, sizeof (double), what, error)) == NULL
      || (work.scratch = sb_alloc (n, sizeof (double), what, error)) == NULL
      || (work.skip = sb_alloc (n, 1, what, error)) == NULL || (work.seen = sb_alloc (n, 1, what, error)) == NULL
      || (work.stack = sb_alloc (n, sizeof (gint64), what, error)) == NULL)
    return FALSE;
  if (!prepare (mean, bad, rows, cols, &work, error))
    return FALSE;

  DiskImage image = { rows, cols, work.smoothed, work.skip, work.scratch };
  SbDisk found = { { NAN, NAN }, NAN };
  gboolean ok = FALSE;
  for (gint64 half = 1; half <= 4 && !ok; half *= 2) {
    double top = 0;
    smooth (mean, work.skip, rows, cols, half, work.smoothed);
    for (gsize i = 0; i < n; i++)
      top = MAX (top, work.smoothed[i]);
    /* noise smoothed over a window looks like disks of the window's size */
    double least = half == 1 ? 0 : 2.5 * (double)half;
    ok = top > 0 && search (&image, top, least, work.seen, work.stack, &found);
  }
  if (!ok)
    return no_disk (error, "no evenly filled round region with an edge stands out");
  /* measured on the pattern as it is, or as little smoothed as its noise asks for */
  DiskQuality quality;
  double noise = relative_noise (&image, &found, mean);
  gint64 half = noise < 0.15 ? 0 : noise < 0.45 ? 1 : noise < 0.75 ? 2 : 4;
  smooth (mean, work.skip, rows, cols, half, work.smoothed);
  if (!disk_refine (&image, 40, &found, &quality) || score (&found, &quality) == 0)
    return no_disk (error, "the brightest region has no clear edge");
  if (found.radius < MIN_RADIUS && quality.plateau - quality.outside < 10 * quality.noise)
    return no_disk (error, "no bright region stands out of the noise");
  if (found.radius < MIN_RADIUS) {
    char radius[G_ASCII_DTOSTR_BUF_SIZE];
    return sb_fail (error, SB_ERROR_DATA,
                    "The bright-field disk is only %s detector pixels in radius; at least %d are needed: use a "
                    "longer camera length or less binning.",
                    g_ascii_formatd (radius, sizeof radius, "%.1f", found.radius), MIN_RADIUS);
  }
  *disk = found;
  return TRUE;
}
