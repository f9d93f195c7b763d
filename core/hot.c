#include "core/hot.h"

#include <math.h>

/* A disk of 3 pixels radius gives each of its pixels more than this many bright neighbours in 5 x 5, even at
 * its edge; a hot pixel, or a cluster of up to this many, has fewer. */
enum { N_COMPANY = 4, REACH = 2 };

/* The value that N_COMPANY of the neighbours reach: what the surroundings vouch for. */
static double
company (const double *mean, const guint8 *bad, gint64 rows, gint64 cols, gint64 row, gint64 col)
{
  double top[N_COMPANY];
  for (int k = 0; k < N_COMPANY; k++)
    top[k] = -INFINITY;
  for (gint64 r = MAX (row - REACH, 0); r <= MIN (row + REACH, rows - 1); r++)
    for (gint64 c = MAX (col - REACH, 0); c <= MIN (col + REACH, cols - 1); c++) {
      gint64 i = r * cols + c;
      double value = mean[i];
      if ((r == row && c == col) || (bad != NULL && bad[i]) || !(value > top[N_COMPANY - 1]))
        continue;
      int k = N_COMPANY - 1;
      for (; k > 0 && top[k - 1] < value; k--)
        top[k] = top[k - 1];
      top[k] = value;
    }
  return top[N_COMPANY - 1];
}

gint64
hot_find (const double *mean, const guint8 *bad, gint64 rows, gint64 cols, double factor, double floor, guint8 *hot)
{
  double plateau = 0;
  for (gint64 row = 0; row < rows; row++)
    for (gint64 col = 0; col < cols; col++) {
      gint64 i = row * cols + col;
      if ((bad == NULL || !bad[i]) && mean[i] > plateau)
        plateau = MAX (plateau, MIN (mean[i], company (mean, bad, rows, cols, row, col)));
    }
  gint64 n = 0;
  for (gint64 i = 0; i < rows * cols; i++) {
    hot[i] = (bad == NULL || !bad[i]) && mean[i] > factor * plateau + floor;
    n += hot[i];
  }
  return n;
}
