#include "kernels/cpu/fft.h"

#include <fftw3.h>
#include <pthread.h>
#include <stdlib.h>

struct SbkFft {
  fftw_plan wide;
  fftwf_plan narrow;
};

static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

#define FLAGS (FFTW_ESTIMATE | FFTW_UNALIGNED)

SbkFft *
sbk_fft_new (int64_t rows, int64_t cols, int wide)
{
  SbkFft *fft = calloc (1, sizeof *fft);
  size_t real = (size_t)rows * (size_t)cols, half = (size_t)rows * (size_t)(cols / 2 + 1);
  void *in = malloc (real * (wide ? sizeof (double) : sizeof (float)));
  void *out = malloc (2 * half * (wide ? sizeof (double) : sizeof (float)));
  if (fft != NULL && in != NULL && out != NULL) {
    pthread_mutex_lock (&planner);
    if (wide)
      fft->wide = fftw_plan_dft_r2c_2d ((int)rows, (int)cols, in, out, FLAGS);
    else
      fft->narrow = fftwf_plan_dft_r2c_2d ((int)rows, (int)cols, in, out, FLAGS);
    pthread_mutex_unlock (&planner);
  }
  free (in);
  free (out);
  if (fft != NULL && fft->wide == NULL && fft->narrow == NULL) {
    free (fft);
    return NULL;
  }
  return fft;
}

void
sbk_fft_run (const SbkFft *fft, void *in, void *out)
{
  if (fft->wide != NULL)
    fftw_execute_dft_r2c (fft->wide, in, out);
  else
    fftwf_execute_dft_r2c (fft->narrow, in, out);
}

void
sbk_fft_free (SbkFft *fft)
{
  if (fft == NULL)
    return;
  pthread_mutex_lock (&planner);
  if (fft->wide != NULL)
    fftw_destroy_plan (fft->wide);
  if (fft->narrow != NULL)
    fftwf_destroy_plan (fft->narrow);
  pthread_mutex_unlock (&planner);
  free (fft);
}

int
sbk_fft_c2r_2d (int64_t rows, int64_t cols, double *half, double *out)
{
  pthread_mutex_lock (&planner);
  fftw_plan plan = fftw_plan_dft_c2r_2d ((int)rows, (int)cols, (fftw_complex *)half, out, FLAGS);
  pthread_mutex_unlock (&planner);
  if (plan == NULL)
    return -1;
  fftw_execute (plan);
  pthread_mutex_lock (&planner);
  fftw_destroy_plan (plan);
  pthread_mutex_unlock (&planner);
  return 0;
}
