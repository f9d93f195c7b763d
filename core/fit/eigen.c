#include "core/fit/eigen.h"

#include <math.h>

static void
rotate (int n, double *a, double *v, int p, int q)
{
  double apq = a[p * n + q];
  if (apq == 0)
    return;
  double theta = (a[q * n + q] - a[p * n + p]) / (2 * apq);
  double t = (theta >= 0 ? 1 : -1) / (fabs (theta) + sqrt (theta * theta + 1));
  double c = 1 / sqrt (t * t + 1), s = t * c;
  for (int k = 0; k < n; k++) {
    double x = a[k * n + p], y = a[k * n + q];
    a[k * n + p] = c * x - s * y;
    a[k * n + q] = s * x + c * y;
  }
  for (int k = 0; k < n; k++) {
    double x = a[p * n + k], y = a[q * n + k];
    a[p * n + k] = c * x - s * y;
    a[q * n + k] = s * x + c * y;
    x = v[k * n + p];
    y = v[k * n + q];
    v[k * n + p] = c * x - s * y;
    v[k * n + q] = s * x + c * y;
  }
}

void
eigen_symmetric (int n, double *a, double *values, double *vectors)
{
  for (int i = 0; i < n * n; i++)
    vectors[i] = i % (n + 1) == 0;
  for (int sweep = 0; sweep < 60; sweep++) {
    double off = 0, diagonal = 0;
    for (int i = 0; i < n; i++) {
      diagonal += a[i * n + i] * a[i * n + i];
      for (int j = i + 1; j < n; j++)
        off += a[i * n + j] * a[i * n + j];
    }
    if (off <= 1e-32 * diagonal)
      break;
    for (int p = 0; p < n; p++)
      for (int q = p + 1; q < n; q++)
        rotate (n, a, vectors, p, q);
  }
  for (int i = 0; i < n; i++)
    values[i] = a[i * n + i];
}
