#include "tests/physics/image_frequencies.h"

#include <math.h>

double complex *
image_frequencies (const float *image, gint64 rows, gint64 cols, int half)
{
  int n = 2 * half + 1;
  double complex *by_col = g_new0 (double complex, rows *n), *out = g_new0 (double complex, n *n);
  for (int j = -half; j <= half; j++)
    for (gint64 c = 0; c < cols; c++) {
      double complex turn = cexp (-2 * G_PI * I * j * (double)c / (double)cols);
      for (gint64 r = 0; r < rows; r++)
        by_col[r * n + j + half] += image[r * cols + c] * turn / (double)cols;
    }
  for (int i = -half; i <= half; i++)
    for (gint64 r = 0; r < rows; r++) {
      double complex turn = cexp (-2 * G_PI * I * i * (double)r / (double)rows) / (double)rows;
      for (int j = 0; j < n; j++)
        out[(i + half) * n + j] += by_col[r * n + j] * turn;
    }
  g_free (by_col);
  return out;
}
