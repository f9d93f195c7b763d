/* Symmetric matrices: to tridiagonal form by reflections, then rotations with shifts until the off-diagonal is gone (Golub
 * and Van Loan, Matrix Computations, 8.3). Several times faster than Jacobi's rotations at the size of the fit. */
#include "core/fit/eigen.h"

#include <float.h>
#include <math.h>

enum { SWEEPS = 60 };

/* a = Q T Q^T: T's diagonal and (from 1 on) off-diagonal, Q in `vectors`. a is spent. */
static void
tridiagonal (int n, double *a, double *diagonal, double *off, double *vectors)
{
  for (int i = 0; i < n * n; i++)
    vectors[i] = i % (n + 1) == 0;
  for (int k = 0; k + 2 < n; k++) {
    double u[SB_EIGEN_MAX], p[SB_EIGEN_MAX], norm = 0, square = 0, along = 0;
    for (int i = k + 1; i < n; i++)
      norm = hypot (norm, u[i] = a[i * n + k]);
    off[k + 1] = u[k + 1] > 0 ? -norm : norm;
    u[k + 1] -= off[k + 1];
    for (int i = k + 1; i < n; i++)
      square += u[i] * u[i];
    if (square == 0)
      continue;
    /* A - u w^T - w u^T with w = p - (u.p / u.u) u, p = 2 A u / u.u */
    for (int i = k + 1; i < n; i++) {
      p[i] = 0;
      for (int j = k + 1; j < n; j++)
        p[i] += a[i * n + j] * u[j];
      p[i] *= 2 / square;
      along += u[i] * p[i];
    }
    for (int i = k + 1; i < n; i++)
      p[i] -= along / square * u[i];
    for (int i = k + 1; i < n; i++)
      for (int j = k + 1; j < n; j++)
        a[i * n + j] -= u[i] * p[j] + p[i] * u[j];
    for (int i = 0; i < n; i++) {
      double dot = 0;
      for (int j = k + 1; j < n; j++)
        dot += vectors[i * n + j] * u[j];
      dot *= 2 / square;
      for (int j = k + 1; j < n; j++)
        vectors[i * n + j] -= dot * u[j];
    }
  }
  for (int i = 0; i < n; i++)
    diagonal[i] = a[i * n + i];
  if (n > 1)
    off[n - 1] = a[(n - 1) * n + n - 2];
  off[0] = 0;
}

/* One sweep with Wilkinson's shift over the unreduced block [first, last]. */
static void
sweep (int n, int first, int last, double *d, double *off, double *vectors)
{
  double half = (d[last - 1] - d[last]) / 2, tail = off[last] * off[last];
  double shift = d[last] - tail / (half + copysign (hypot (half, off[last]), half));
  double x = d[first] - shift, z = off[first + 1];
  for (int k = first; k < last; k++) {
    double r = hypot (x, z), c = r > 0 ? x / r : 1, s = r > 0 ? z / r : 0;
    double a = d[k], b = off[k + 1], e = d[k + 1];
    if (k > first)
      off[k] = r;
    d[k] = c * c * a + 2 * c * s * b + s * s * e;
    d[k + 1] = s * s * a - 2 * c * s * b + c * c * e;
    off[k + 1] = c * s * (e - a) + (c * c - s * s) * b;
    x = off[k + 1];
    z = 0;
    if (k + 1 < last) {
      z = s * off[k + 2];
      off[k + 2] *= c;
    }
    for (int i = 0; i < n; i++) {
      double p = vectors[i * n + k], q = vectors[i * n + k + 1];
      vectors[i * n + k] = c * p + s * q;
      vectors[i * n + k + 1] = c * q - s * p;
    }
  }
}

void
eigen_symmetric (int n, double *a, double *values, double *vectors)
{
  double off[SB_EIGEN_MAX + 1] = { 0 };
  tridiagonal (n, a, values, off, vectors);
  for (int last = n - 1, left = SWEEPS * n; last > 0 && left > 0;) {
    int first = last;
    while (first > 0 && fabs (off[first]) > DBL_EPSILON * (fabs (values[first]) + fabs (values[first - 1])))
      first--;
    if (first == last) {
      last--;
      continue;
    }
    off[first] = 0;
    sweep (n, first, last, values, off, vectors);
    left--;
  }
}
