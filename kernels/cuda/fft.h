/* cuFFT, opened when first needed: the module loads on a machine without it. */
#ifndef SBK_CUDA_FFT_H
#define SBK_CUDA_FFT_H

#include "kernels/cuda/cuda.h"

/* A batch of real rows x cols images to half spectra (forward) or back; out of place, on the context's stream. */
SbkStatus cuda_fft_new (CudaFft **out, SbkContext *context, int64_t rows, int64_t cols, int batch, int wide, int inverse,
                        SbkError *error);
/* The same, kept by the context: not to be freed. */
SbkStatus cuda_fft_get (CudaFft **out, SbkContext *context, int64_t rows, int64_t cols, int batch, int wide, int inverse,
                        SbkError *error);
SbkStatus cuda_fft_run (CudaFft *fft, void *in, void *out, SbkError *error);
void cuda_fft_free (CudaFft *fft);

void cuda_fft_prepare (void);

#endif
