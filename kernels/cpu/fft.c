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

struct SbkFftComplex {
  fftw_plan wide[2]; /* forward, backward */
  fftwf_plan narrow[2];
};

SbkFftComplex *
sbk_fft_complex_new (int64_t rows, int64_t cols, int wide)
{
  static const int signs[2] = { FFTW_FORWARD, FFTW_BACKWARD };
  SbkFftComplex *fft = calloc (1, sizeof *fft);
  void *data = malloc (2 * (size_t)rows * (size_t)cols * (wide ? sizeof (double) : sizeof (float)));
  int planned = 0;
  if (fft != NULL && data != NULL) {
    pthread_mutex_lock (&planner);
    for (int i = 0; i < 2; i++) {
      if (wide)
        fft->wide[i] = fftw_plan_dft_2d ((int)rows, (int)cols, data, data, signs[i], FLAGS);
      else
        fft->narrow[i] = fftwf_plan_dft_2d ((int)rows, (int)cols, data, data, signs[i], FLAGS);
      planned += fft->wide[i] != NULL || fft->narrow[i] != NULL;
    }
    pthread_mutex_unlock (&planner);
  }
  free (data);
  if (planned < 2) {
    sbk_fft_complex_free (fft);
    return NULL;
  }
  return fft;
}

static void
complex_run (const SbkFftComplex *fft, int way, void *data)
{
  if (fft->wide[way] != NULL)
    fftw_execute_dft (fft->wide[way], data, data);
  else
    fftwf_execute_dft (fft->narrow[way], data, data);
}

void
sbk_fft_complex_forward (const SbkFftComplex *fft, void *data)
{
  complex_run (fft, 0, data);
}

void
sbk_fft_complex_backward (const SbkFftComplex *fft, void *data)
{
  complex_run (fft, 1, data);
}

void
sbk_fft_complex_free (SbkFftComplex *fft)
{
  if (fft == NULL)
    return;
  pthread_mutex_lock (&planner);
  for (int i = 0; i < 2; i++) {
    if (fft->wide[i] != NULL)
      fftw_destroy_plan (fft->wide[i]);
    if (fft->narrow[i] != NULL)
      fftwf_destroy_plan (fft->narrow[i]);
  }
  pthread_mutex_unlock (&planner);
  free (fft);
}
