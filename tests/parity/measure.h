/* What the parity programs measure with. */
#ifndef SB_TESTS_PARITY_MEASURE_H
#define SB_TESTS_PARITY_MEASURE_H

#include <math.h>
#include <string.h>

#include "tests/parity/parity.h"

static inline double
largest (const double *x, int n)
{
  double m = 0;
  for (int i = 0; i < n; i++)
    m = fabs (x[i]) > m ? fabs (x[i]) : m;
  return m;
}

/* max |a - b| / scale; NaN where one of them is. */
static inline double
apart (const double *a, const double *b, size_t n, double scale)
{
  double m = 0;
  for (size_t i = 0; i < n; i++) {
    double d = fabs (a[i] - b[i]);
    if (!(d <= m))
      m = d;
  }
  return scale > 0 ? m / scale : m;
}

static inline void
poison (double *x, size_t n)
{
  memset (x, 0xff, n * sizeof *x);
}

/* A backend with a scene's G. */
typedef struct {
  const SbkBackend *table;
  SbkContext *context;
  SbkSpectrum *g;
} Side;

/* A check of kernels.def's bound; a check that two calls gave the same bits. */
void parity_report (const Scene *scene, const char *kernel, const char *what, int precise, double error);
void parity_bits (const Scene *scene, const char *kernel, int same);
void parity_aliases (const Scene *scene, Side *cpu, Side *device, int precise);

#endif
