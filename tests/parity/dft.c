/* The transforms of the CPU reference where there is no FFTW: plain sums in float64, for small sizes. */
#include "kernels/cpu/fft.h"

#include <math.h>
#include <stdlib.h>

struct SbkFft {
  int64_t rows, cols;
  int wide;
};

SbkFft *
sbk_fft_new (int64_t rows, int64_t cols, int wide)
{
  SbkFft *fft = malloc (sizeof *fft);
  if (fft != NULL)
    *fft = (SbkFft){ rows, cols, wide };
  return fft;
}

static void
forward (const SbkFft *f, const double *in, double *out)
{
  int64_t width = f->cols / 2 + 1;
  for (int64_t r = 0; r < f->rows; r++)
    for (int64_t c = 0; c < width; c++) {
      double re = 0, im = 0;
      for (int64_t i = 0; i < f->rows; i++)
        for (int64_t j = 0; j < f->cols; j++) {
          double angle = -2 * M_PI
                         * ((double)(r * i % f->rows) / (double)f->rows + (double)(c * j % f->cols) / (double)f->cols);
          re += in[i * f->cols + j] * cos (angle);
          im += in[i * f->cols + j] * sin (angle);
        }
      out[2 * (r * width + c)] = re;
      out[2 * (r * width + c) + 1] = im;
    }
}

void
sbk_fft_run (const SbkFft *f, void *in, void *out)
{
  int64_t n = f->rows * f->cols, half = 2 * f->rows * (f->cols / 2 + 1);
  double *x = malloc ((size_t)n * sizeof *x), *y = malloc ((size_t)half * sizeof *y);
  for (int64_t i = 0; i < n; i++)
    x[i] = f->wide ? ((double *)in)[i] : (double)((float *)in)[i];
  forward (f, x, y);
  for (int64_t i = 0; i < half; i++) {
    if (f->wide)
      ((double *)out)[i] = y[i];
    else
      ((float *)out)[i] = (float)y[i];
  }
  free (x);
  free (y);
}

void
sbk_fft_free (SbkFft *fft)
{
  free (fft);
}
