#include "kernels/cuda/fft.h"

#include <cufft.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

struct CudaFft {
  cufftHandle plan;
  int wide, inverse, batch;
  int64_t rows, cols;
};

static struct {
  void *library;
  cufftResult (*create) (cufftHandle *);
  cufftResult (*many) (cufftHandle, int, int *, int *, int, int, int *, int, int, cufftType, int, size_t *);
  cufftResult (*destroy) (cufftHandle);
  cufftResult (*stream) (cufftHandle, cudaStream_t);
  cufftResult (*r2c) (cufftHandle, cufftReal *, cufftComplex *);
  cufftResult (*d2z) (cufftHandle, cufftDoubleReal *, cufftDoubleComplex *);
  cufftResult (*z2d) (cufftHandle, cufftDoubleComplex *, cufftDoubleReal *);
} cufft;

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
open_cufft (void)
{
  static const char *const names[] = { "libcufft.so.12", "libcufft.so.11", "libcufft.so.10", "libcufft.so",
                                       "/usr/local/cuda/lib64/libcufft.so" };
  for (size_t i = 0; i < sizeof names / sizeof *names && cufft.library == NULL; i++)
    cufft.library = dlopen (names[i], RTLD_NOW | RTLD_LOCAL);
  if (cufft.library == NULL)
    return;
  *(void **)&cufft.create = dlsym (cufft.library, "cufftCreate");
  *(void **)&cufft.many = dlsym (cufft.library, "cufftMakePlanMany");
  *(void **)&cufft.destroy = dlsym (cufft.library, "cufftDestroy");
  *(void **)&cufft.stream = dlsym (cufft.library, "cufftSetStream");
  *(void **)&cufft.r2c = dlsym (cufft.library, "cufftExecR2C");
  *(void **)&cufft.d2z = dlsym (cufft.library, "cufftExecD2Z");
  *(void **)&cufft.z2d = dlsym (cufft.library, "cufftExecZ2D");
}

static void *
warm (void *unused)
{
  (void)unused;
  pthread_once (&once, open_cufft);
  return NULL;
}

/* The library is large: it is opened while the frames are read. */
void
cuda_fft_prepare (void)
{
  pthread_t thread;
  if (pthread_create (&thread, NULL, warm, NULL) == 0)
    pthread_detach (thread);
}

/* Making a plan costs more than running it: the context keeps the last ones. */
SbkStatus
cuda_fft_get (CudaFft **out, SbkContext *context, int64_t rows, int64_t cols, int batch, int wide, int inverse, SbkError *error)
{
  for (int i = 0; i < FFT_KEPT; i++) {
    CudaFft *f = context->fft[i];
    if (f != NULL && f->rows == rows && f->cols == cols && f->batch == batch && f->wide == wide && f->inverse == inverse) {
      *out = f;
      return SBK_OK;
    }
  }
  SbkStatus status = cuda_fft_new (out, context, rows, cols, batch, wide, inverse, error);
  if (status != SBK_OK)
    return status;
  cuda_fft_free (context->fft[FFT_KEPT - 1]);
  for (int i = FFT_KEPT - 1; i > 0; i--)
    context->fft[i] = context->fft[i - 1];
  context->fft[0] = *out;
  return SBK_OK;
}

SbkStatus
cuda_fft_new (CudaFft **out, SbkContext *context, int64_t rows, int64_t cols, int batch, int wide, int inverse, SbkError *error)
{
  *out = NULL;
  pthread_once (&once, open_cufft);
  if (cufft.create == NULL || cufft.many == NULL || cufft.destroy == NULL || cufft.stream == NULL || cufft.r2c == NULL
      || cufft.d2z == NULL || cufft.z2d == NULL)
    return cuda_fail (error, SBK_DEVICE, "libcufft was not found; install CUDA's cuFFT library or give backend = cpu.");
  CudaFft *fft = (CudaFft *)calloc (1, sizeof *fft);
  int n[2] = { (int)rows, (int)cols };
  size_t work = 0;
  if (fft == NULL)
    return cuda_fail (error, SBK_NO_MEMORY, "Not enough memory.");
  fft->wide = wide;
  fft->inverse = inverse;
  fft->batch = batch;
  fft->rows = rows;
  fft->cols = cols;
  if (cufft.create (&fft->plan) != CUFFT_SUCCESS) {
    free (fft);
    return cuda_fail (error, SBK_DEVICE, "cuFFT could not be started.");
  }
  cufftResult result = cufft.many (fft->plan, 2, n, NULL, 1, 0, NULL, 1, 0,
                                   inverse ? CUFFT_Z2D
                                   : wide  ? CUFFT_D2Z
                                           : CUFFT_R2C,
                                   batch, &work);
  if (result == CUFFT_SUCCESS)
    result = cufft.stream (fft->plan, context->stream);
  if (result != CUFFT_SUCCESS) {
    cuda_fft_free (fft);
    return cuda_fail (error, result == CUFFT_ALLOC_FAILED ? SBK_NO_MEMORY : SBK_DEVICE,
                      "cuFFT refused a transform of %lld x %lld (code %d).", (long long)rows, (long long)cols, (int)result);
  }
  *out = fft;
  return SBK_OK;
}

SbkStatus
cuda_fft_run (CudaFft *fft, void *in, void *out, SbkError *error)
{
  cufftResult result = fft->inverse ? cufft.z2d (fft->plan, (cufftDoubleComplex *)in, (cufftDoubleReal *)out)
                       : fft->wide  ? cufft.d2z (fft->plan, (cufftDoubleReal *)in, (cufftDoubleComplex *)out)
                                    : cufft.r2c (fft->plan, (cufftReal *)in, (cufftComplex *)out);
  return result == CUFFT_SUCCESS ? SBK_OK : cuda_fail (error, SBK_DEVICE, "cuFFT failed (code %d).", (int)result);
}

void
cuda_fft_free (CudaFft *fft)
{
  if (fft == NULL)
    return;
  cufft.destroy (fft->plan);
  free (fft);
}
