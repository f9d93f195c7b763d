#include "core/disk_edge.h"

#include <math.h>
#include <string.h>

#include "core/order.h"

enum { MAX_SECTORS = 180, MIN_SECTORS = 12 };

/* How far the edge stands outside the circle, by angle. */
typedef struct Edge {
  int n;
  double cosine[MAX_SECTORS], sine[MAX_SECTORS];
  double shift[MAX_SECTORS];
  gboolean valid[MAX_SECTORS];
  double weight[MAX_SECTORS];
} Edge;

/* Median of the usable pixels with from <= distance < to; NAN where there are fewer than `least`. */
static double
median_between (const DiskImage *image, const SbDisk *disk, double from, double to, gint64 least)
{
  gint64 n = 0;
  gint64 first_row = (gint64)MAX (ceil (disk->centre[0] - to), 0);
  gint64 last_row = (gint64)MIN (floor (disk->centre[0] + to), image->rows - 1);
  gint64 first_col = (gint64)MAX (ceil (disk->centre[1] - to), 0);
  gint64 last_col = (gint64)MIN (floor (disk->centre[1] + to), image->cols - 1);
  for (gint64 row = first_row; row <= last_row; row++)
    for (gint64 col = first_col; col <= last_col; col++) {
      double y = row - disk->centre[0], x = col - disk->centre[1], d2 = y * y + x * x;
      gint64 i = row * image->cols + col;
      if (d2 >= from * from && d2 < to * to && !image->skip[i])
        image->scratch[n++] = image->value[i];
    }
  return n < MAX (least, 1) ? NAN : order_select (image->scratch, (gsize)n, (gsize)n / 2);
}

static gboolean
measure_levels (const DiskImage *image, const SbDisk *disk, DiskQuality *quality)
{
  double radius = disk->radius;
  quality->plateau = median_between (image, disk, 0, MAX (0.8 * radius, 1.01), 1);
  quality->outside = median_between (image, disk, 1.25 * radius + 1, 1.6 * radius + 3, 8);
  if (isnan (quality->outside))
    quality->outside = 0;
  return isfinite (quality->plateau) && quality->plateau > 0 && quality->plateau > quality->outside;
}

/* 0 outside, 1 inside: a ramp about half the plateau, so that neither noise nor structure far from it counts.
 */
static inline double
coverage (const DiskQuality *quality, double value)
{
  double level = (value - quality->outside) / (quality->plateau - quality->outside);
  return CLAMP (2 * level - 0.5, 0.0, 1.0);
}

/* The area that the edge has more than the circle, sector by sector. */
static void
measure_edge (const DiskImage *image, const SbDisk *disk, const DiskQuality *quality, double width, Edge *edge)
{
  edge->n = CLAMP ((int)(2 * G_PI * disk->radius / 2.5), MIN_SECTORS, MAX_SECTORS);
  for (int j = 0; j < edge->n; j++) {
    double angle = (j + 0.5) * 2 * G_PI / edge->n - G_PI;
    edge->cosine[j] = cos (angle);
    edge->sine[j] = sin (angle);
    edge->shift[j] = 0;
    edge->valid[j] = TRUE;
  }
  double reach = disk->radius + width, inner = MAX (disk->radius - width, 0);
  for (gint64 row = (gint64)floor (disk->centre[0] - reach); row <= ceil (disk->centre[0] + reach); row++)
    for (gint64 col = (gint64)floor (disk->centre[1] - reach); col <= ceil (disk->centre[1] + reach); col++) {
      double y = row - disk->centre[0], x = col - disk->centre[1], d2 = y * y + x * x;
      if (d2 < inner * inner || d2 > reach * reach)
        continue;
      double distance = sqrt (d2);
      int j = MIN ((int)((atan2 (x, y) + G_PI) * edge->n / (2 * G_PI)), edge->n - 1);
      gboolean there = row >= 0 && row < image->rows && col >= 0 && col < image->cols;
      gint64 i = row * image->cols + col;
      if (there && !image->skip[i]) {
        double model = CLAMP (disk->radius - distance + 0.5, 0.0, 1.0);
        edge->shift[j] += coverage (quality, image->value[i]) - model;
      } else if (fabs (distance - disk->radius) < 1.5)
        edge->valid[j] = FALSE;
    }
  for (int j = 0; j < edge->n; j++)
    edge->shift[j] /= disk->radius * 2 * G_PI / edge->n;
}

/* Weighted least squares of shift = step[2] + step[0] cos + step[1] sin. */
static gboolean
solve_step (const Edge *edge, double step[3])
{
  double a[3][4] = { { 0 } };
  for (int j = 0; j < edge->n; j++) {
    double basis[3] = { edge->cosine[j], edge->sine[j], 1 };
    for (int p = 0; p < 3; p++) {
      for (int q = 0; q < 3; q++)
        a[p][q] += edge->weight[j] * basis[p] * basis[q];
      a[p][3] += edge->weight[j] * basis[p] * edge->shift[j];
    }
  }
  double scale = a[2][2];
  for (int p = 0; p < 3; p++) { /* symmetric and positive: no pivoting needed */
    if (!(a[p][p] > 1e-4 * scale))
      return FALSE;
    for (int r = 0; r < 3; r++)
      if (r != p) {
        double factor = a[r][p] / a[p][p];
        for (int q = p; q < 4; q++)
          a[r][q] -= factor * a[p][q];
      }
  }
  for (int p = 0; p < 3; p++)
    step[p] = a[p][3] / a[p][p];
  return TRUE;
}

/* Absolute values first, then Tukey's weights, so that a part of the edge that is no edge of the disk has no
 * say. */
static gboolean
fit_step (Edge *edge, double step[3], double *scatter)
{
  double residual[MAX_SECTORS], sorted[MAX_SECTORS];
  for (int j = 0; j < edge->n; j++)
    edge->weight[j] = edge->valid[j] ? 1 : 0;
  for (int round = 0; round < 10; round++) {
    if (!solve_step (edge, step))
      return FALSE;
    int n = 0;
    for (int j = 0; j < edge->n; j++) {
      residual[j] = fabs (edge->shift[j] - step[0] * edge->cosine[j] - step[1] * edge->sine[j] - step[2]);
      if (edge->valid[j])
        sorted[n++] = residual[j];
    }
    *scatter = 1.4826 * order_select (sorted, (gsize)n, (gsize)n / 2);
    double cut = 4.7 * MAX (*scatter, 0.1);
    for (int j = 0; j < edge->n; j++) {
      double u = residual[j] / cut;
      double tukey = u < 1 ? (1 - u * u) * (1 - u * u) : 0;
      edge->weight[j] = !edge->valid[j] ? 0 : round < 4 ? 1 / MAX (residual[j], 0.1) : tukey;
    }
  }
  return TRUE;
}

/* Robust standard deviation of what is not the disk. */
static double
scatter_outside (const DiskImage *image, const SbDisk *disk)
{
  gint64 n = 0;
  for (gint64 row = 0; row < image->rows; row++)
    for (gint64 col = 0; col < image->cols; col++) {
      gint64 i = row * image->cols + col;
      double y = row - disk->centre[0], x = col - disk->centre[1], limit = disk->radius + 2;
      if (!image->skip[i] && y * y + x * x > limit * limit)
        image->scratch[n++] = image->value[i];
    }
  if (n < 20)
    return 0;
  double middle = order_select (image->scratch, (gsize)n, (gsize)n / 2);
  for (gint64 i = 0; i < n; i++)
    image->scratch[i] = fabs (image->scratch[i] - middle);
  return 1.4826 * order_select (image->scratch, (gsize)n, (gsize)n / 2);
}

/* What the circle holds and what lies about it. */
static void
judge (const DiskImage *image, const SbDisk *disk, DiskQuality *quality)
{
  double radius = disk->radius, margin = MAX (1.5, 0.1 * radius), reach = radius + 3.5;
  double inner = median_between (image, disk, MAX (radius - 1 - margin, 0), MAX (radius - 1, 1.01), 1);
  double outer = median_between (image, disk, radius + 1, radius + 1 + margin, 1);
  quality->sharpness = isfinite (inner) && isfinite (outer) ? (inner - outer) / (quality->plateau - quality->outside) : 0;
  quality->noise = scatter_outside (image, disk);
  gint64 in = 0, filled = 0, out = 0, spilt = 0;
  for (gint64 row = (gint64)MAX (disk->centre[0] - reach, 0); row < MIN (disk->centre[0] + reach, image->rows); row++)
    for (gint64 col = (gint64)MAX (disk->centre[1] - reach, 0); col < MIN (disk->centre[1] + reach, image->cols); col++) {
      gint64 i = row * image->cols + col;
      if (image->skip[i])
        continue;
      double distance = hypot (row - disk->centre[0], col - disk->centre[1]);
      gboolean bright = coverage (quality, image->value[i]) > 0.5;
      if (distance < MAX (disk->radius - 1, 0.8)) {
        in++;
        filled += bright;
      } else if (distance > disk->radius + 1.5 && distance < reach) {
        out++;
        spilt += bright;
      }
    }
  quality->filled = in > 0 ? (double)filled / (double)in : 0;
  quality->spilt = out > 0 ? (double)spilt / (double)out : 1;
}

static gboolean
is_plausible (const DiskImage *image, const SbDisk *disk)
{
  double size = (double)(image->rows + image->cols);
  return isfinite (disk->radius) && disk->radius > 0.7 && disk->radius < size && isfinite (disk->centre[0])
         && isfinite (disk->centre[1]) && disk->centre[0] > -disk->radius && disk->centre[1] > -disk->radius
         && disk->centre[0] < image->rows + disk->radius && disk->centre[1] < image->cols + disk->radius;
}

gboolean
disk_refine (const DiskImage *image, int iterations, SbDisk *disk, DiskQuality *quality)
{
  Edge edge = { 0 };
  for (int i = 0; i < iterations; i++) {
    if (!is_plausible (image, disk) || !measure_levels (image, disk, quality))
      return FALSE;
    double width = i < 3 ? MAX (3.0, 0.3 * disk->radius) : MAX (2.5, 0.12 * disk->radius), step[3];
    measure_edge (image, disk, quality, width, &edge);
    if (!fit_step (&edge, step, &quality->scatter))
      return FALSE;
    disk->centre[0] += CLAMP (step[0], -width, width);
    disk->centre[1] += CLAMP (step[1], -width, width);
    disk->radius += CLAMP (step[2], -width / 2, width / 2);
    if (i > 3 && hypot (hypot (step[0], step[1]), step[2]) < 1e-6)
      break;
  }
  if (!is_plausible (image, disk) || !measure_levels (image, disk, quality))
    return FALSE;
  int seen = 0;
  for (int j = 0; j < edge.n; j++)
    seen += edge.weight[j] > 0.1;
  quality->seen = (double)seen / MAX (edge.n, 1);
  judge (image, disk, quality);
  return TRUE;
}
