#include "core/bright_field.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

void
bright_field_clear (SbBrightField *b)
{
  g_free (b->column);
  g_free (b->row_start);
  g_free (b->row_x);
  g_free (b->pixel_y);
}

static int
compare_pixel (const void *a, const void *b)
{
  gint32 x = *(const gint32 *)a, y = *(const gint32 *)b;
  return (x > y) - (x < y);
}

gboolean
bright_field_find (SbBrightField *b, const SbColumns *columns, double semiangle, const SbCalibration *calibration,
                   GError **error)
{
  const SbPattern *p = &columns->pattern;
  double unit = calibration->sampling / semiangle, limit = semiangle * (1 + 1e-9);
  memset (b, 0, sizeof *b);
  b->column = sb_alloc ((gsize)columns->n_pixels, sizeof *b->column, "The bright-field pixels", error);
  b->pixel_y = sb_alloc ((gsize)columns->n_pixels, sizeof *b->pixel_y, "The bright-field pixels", error);
  b->row_start = g_new0 (gint64, p->rows + 1);
  b->row_x = g_new0 (double, p->rows);
  if (b->column == NULL || b->pixel_y == NULL)
    return FALSE;
  for (gint64 r = 0; r < p->rows; r++) {
    gint64 before = b->n;
    for (gint64 c = 0; c < p->cols; c++) {
      double distance = hypot ((double)r - calibration->centre[0], (double)c - calibration->centre[1]);
      gint32 pixel = (gint32)(r * p->cols + c);
      if (distance * calibration->sampling > limit || p->bad[pixel])
        continue;
      const gint32 *found = bsearch (&pixel, columns->pixel, (gsize)columns->n_pixels, sizeof pixel, compare_pixel);
      if (found == NULL)
        return sb_fail (error, SB_ERROR_DATA,
                        "The bright field (centre %.1f,%.1f, radius %.1f pixels) leaves the pixels that were kept while the "
                        "frames came in; give centre and sampling before the first frame.",
                        calibration->centre[0], calibration->centre[1], semiangle / calibration->sampling);
      b->column[b->n] = found - columns->pixel;
      b->pixel_y[b->n++] = ((double)c - calibration->centre[1]) * unit;
    }
    if (b->n == before)
      continue;
    b->row_x[b->n_rows] = ((double)r - calibration->centre[0]) * unit;
    b->row_start[++b->n_rows] = b->n;
  }
  if (b->n == 0)
    return sb_fail (error, SB_ERROR_DATA,
                    "No detector pixel lies in the bright field (centre %.1f,%.1f, sampling %.4g "
                    "mrad/pixel, semi-angle %.4g mrad); check centre and sampling.",
                    calibration->centre[0], calibration->centre[1], calibration->sampling, semiangle);
  return TRUE;
}

double
bright_field_power (const SbBrightField *b, double edge)
{
  double sum = 0;
  for (gint64 r = 0; r < b->n_rows; r++)
    for (gint64 k = b->row_start[r]; k < b->row_start[r + 1]; k++) {
      double r2 = b->row_x[r] * b->row_x[r] + b->pixel_y[k] * b->pixel_y[k];
      double a = CLAMP ((1 - r2) / (2 * edge) + 0.5, 0.0, 1.0);
      sum += a * a;
    }
  return sum / (double)b->n;
}
