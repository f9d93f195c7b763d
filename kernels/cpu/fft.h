/* The only user of FFTW: ESTIMATE | UNALIGNED plans (measured ones differ from run to run), one lock round planning. */
#ifndef SBK_CPU_FFT_H
#define SBK_CPU_FFT_H

#include <stdint.h>

typedef struct SbkFft SbkFft; /* a plan of a real 2-D transform; may be executed by many threads at once */

/* rows x cols real -> rows x (cols / 2 + 1) complex (interleaved), not normalised; out of place. NULL: no memory. */
SbkFft *sbk_fft_new (int64_t rows, int64_t cols, int wide);
void sbk_fft_run (const SbkFft *fft, void *in, void *out);
void sbk_fft_free (SbkFft *fft);

/* half (rows x (cols / 2 + 1) complex, overwritten) -> real image, not normalised. 0: done, -1: no memory. */
int sbk_fft_c2r_2d (int64_t rows, int64_t cols, double *half, double *out);

/* rows x cols complex (interleaved), in place, not normalised; wide: double. Many threads may run one at once. NULL: no
 * memory. */
typedef struct SbkFftComplex SbkFftComplex;
SbkFftComplex *sbk_fft_complex_new (int64_t rows, int64_t cols, int wide);
void sbk_fft_complex_forward (const SbkFftComplex *fft, void *data);  /* exp (-2 pi i ...) */
void sbk_fft_complex_backward (const SbkFftComplex *fft, void *data); /* exp (+2 pi i ...) */
void sbk_fft_complex_free (SbkFftComplex *fft);

#endif
