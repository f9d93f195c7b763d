/* Inside of the CUDA backend: what its files share. C linkage only, no standard C++ library. */
#ifndef SBK_CUDA_H
#define SBK_CUDA_H

#include <cuda_runtime.h>

#include "kernels/backend.h"
#include "kernels/cuda/together.h"

/* Device memory that grows and is kept from call to call. */
typedef struct CudaRoom {
  void *data;
  size_t size;
} CudaRoom;

enum {
  ROOM_MODELS,
  ROOM_PARTIAL, /* sums of a chunk of rows, of each frequency */
  ROOM_H,       /* h and n of each frequency */
  ROOM_BLOCKS,  /* sums of each block of threads */
  ROOM_TOTAL,
  ROOM_FIRST, /* first derivatives of h and n */
  ROOM_FINE,
  ROOM_OUT,
  ROOM_COUNTS,
  ROOM_IMAGE,
  ROOM_HALF,
  ROOM_ALIASES,  /* groups, their members and amplitudes */
  ROOM_RESIDUAL, /* what they leave of G */
  ROOM_KEPT_FINE,
  ROOM_PLACES,
  ROOM_PHI,
  ROOM_TOGETHER, /* what other processes sent */
  ROOMS
};

typedef struct CudaFft CudaFft; /* a transform's plan (fft.h) */
enum { FFT_KEPT = 3 };

struct SbkContext {
  SbkThreads threads;
  int precise;
  int device;
  int processors;
  cudaStream_t stream;
  cudaEvent_t staged[2]; /* the halves of pinned memory are free again */
  CudaRoom room[ROOMS];
  void *pinned;
  size_t pinned_size;
  uint64_t fine_stamp, places_stamp; /* of what ROOM_KEPT_FINE and ROOM_PLACES hold */
  double fine_reach;                 /* largest |q| there */
  CudaFft *fft[FFT_KEPT];
  Together *together; /* NULL: alone */
};

/* What kernels see of a spectrum; passed by value. G is [pixel][pitch], interleaved. */
typedef struct CudaG {
  const void *g;
  long long pitch;
  int n_pixels, n_rows;
  const int *row_start; /* [n_rows + 1] */
  const double *row_x;  /* [n_rows] */
  const double *row_y0; /* [n_rows] first pixel's y */
  const int *row_whole; /* [n_rows] no gap: y = row_y0 + j dy */
  const double2 *pixel; /* [n_pixels] y, A */
  const float2 *pixel_f;
  double dy, edge;
  const double *vx, *vy;                        /* [n_q] */
  const int *column;                            /* where G of a frequency lies; NULL: at its own place */
  int q_first, q_count, q_stride, q_phase;      /* q_count: frequencies the view holds, q_stride in blocks of SBK_LANES */
  int q_end;                                    /* frequencies at or beyond it are not of the view */
  int k_first, k_stride, row_first, row_stride; /* row_stride >= 1 */
  int chunk_rows, chunks;
} CudaG;

struct SbkSpectrum {
  SbkContext *context;
  int64_t n_pixels, n_rows, n_q;
  int wide;
  double v_max; /* largest |q| */
  double scale; /* of the detector sampling, over that G was made with */
  CudaG view;   /* all of it */
  void *memory[10];
  int n_memory;
};

SbkStatus cuda_fail (SbkError *error, SbkStatus status, const char *format, ...) __attribute__ ((format (printf, 3, 4)));
/* cudaError_t as a status with a sentence: what = what was tried. */
SbkStatus cuda_check (SbkContext *context, cudaError_t code, const char *what, SbkError *error);
int cuda_cancelled (const int *cancel);
void *cuda_room (SbkContext *context, int which, size_t size, SbkError *error);
void *cuda_pinned (SbkContext *context, size_t size, SbkError *error);
/* The part of a spectrum that a view holds, cut into chunks of rows so that `threads` fill the device. */
CudaG cuda_view (const SbkSpectrum *spectrum, const SbkView *view, int64_t q_count, int chunk_rows);
/* Bytes to the host, through pinned memory; waits. */
SbkStatus cuda_fetch (SbkContext *context, void *to, const void *from, size_t size, SbkError *error);
SbkStatus cuda_send (SbkContext *context, void *to, const void *from, size_t size, SbkError *error);

SbkStatus cuda_spectrum_from_counts (SbkContext *context, SbkSpectrum **out, const SbkPixels *pixels, const SbkBand *band,
                                     const SbkCounts *counts, const int *cancel, SbkError *error);
SbkStatus cuda_spectrum_from_values (SbkContext *context, SbkSpectrum **out, const SbkPixels *pixels, const SbkBand *band,
                                     const double *g, SbkError *error);
SbkStatus cuda_spectrum_alloc (SbkContext *context, SbkSpectrum **out, const SbkPixels *pixels, const SbkBand *band,
                               SbkError *error);
void cuda_spectrum_free (SbkSpectrum *spectrum);
SbkStatus cuda_spectrum_set_q (SbkSpectrum *spectrum, const double *vx, const double *vy, SbkError *error);
SbkStatus cuda_spectrum_read (SbkSpectrum *spectrum, int64_t first_pixel, int64_t n_pixels, double *g, SbkError *error);
SbkStatus cuda_power (SbkSpectrum *spectrum, const SbkView *view, double *power, SbkError *error);
SbkStatus cuda_value (SbkSpectrum *spectrum, const SbkView *view, int precise, int64_t n_models, const SbkModel *models,
                      double *value, const int *cancel, SbkError *error);
SbkStatus cuda_gradient (SbkSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model, double *value,
                         double gradient[SBK_N], const int *cancel, SbkError *error);
SbkStatus cuda_hessian (SbkSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model, int n,
                        const int *chosen, double *value, double *gradient, double *hessian, const int *cancel,
                        SbkError *error);
SbkStatus cuda_sums (SbkSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model, const SbkFine *fine,
                     SbkSumKind kind, double *out, const int *cancel, SbkError *error);

SbkStatus cuda_image (SbkContext *context, const SbkPlaces *places, const double *phi, double *out, float *rounded,
                      SbkError *error);

/* Which depth factor a model takes (an enumerator of pairs.cuh) where |q| <= v_max. */
int cuda_depth (const SbkSpectrum *spectrum, const SbkModel *model, double v_max);

/* Derivatives of |r|^2, r = f G - w gamma, from factors[3][q_count] on the device into total[SBK_N] there. g: what stands in
 * for the spectrum's G, frequencies and columns; NULL: its own. */
SbkStatus cuda_gradient_pass (SbkSpectrum *s, const SbkView *view, int64_t q_count, const CudaG *g, int wide, int precise,
                              int depth, const SbkModel *on_device, const double *factors, double *total, SbkError *error);

/* h and n of [q_count] to the factors of the gradient, in place on the device. */
void cuda_gradient_factors (SbkContext *context, int64_t q_count, double *h);
SbkStatus cuda_geometry_pass (SbkSpectrum *s, const SbkView *view, int64_t q_count, int precise, const SbkModel *model,
                              double *total, SbkError *error);

SbkStatus cuda_parts_begin (SbkContext *context, int64_t n, const double *sums, const SbkModel *model, SbkError *error);
SbkStatus cuda_value_sums (SbkSpectrum *spectrum, const SbkView *view, int precise, int64_t n_models, const SbkModel *models,
                           double *sums, const int *cancel, SbkError *error);
SbkStatus cuda_gradient_part (SbkSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model,
                              const double *sums, double *carry, double *gradient, const int *cancel, SbkError *error);
SbkStatus cuda_hessian_part (SbkSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model, int n,
                             const int *chosen, const double *sums, double *first, double *second, const int *cancel,
                             SbkError *error);
SbkStatus cuda_hessian_end (SbkContext *context, const SbkView *view, int n, const double *sums, const double *first,
                            const double *second, double *gradient, double *hessian, SbkError *error);
SbkStatus cuda_geometry_part (SbkSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model,
                              const double *sums, double *carry, double *derivative, const int *cancel, SbkError *error);
SbkStatus cuda_power_sums (SbkSpectrum *spectrum, const SbkView *view, double *sums, SbkError *error);
SbkStatus cuda_sums_part (SbkSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model, const SbkFine *fine,
                          SbkSumKind kind, double *out, const int *cancel, SbkError *error);
SbkStatus cuda_aliases_part (SbkSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model,
                             const SbkAliases *aliases, double *out, const int *cancel, SbkError *error);

SbkStatus cuda_aliases (SbkSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model,
                        const SbkAliases *aliases, double *out, const int *cancel, SbkError *error);
SbkStatus cuda_alias_gradient (SbkSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model,
                               const SbkAliases *aliases, const double *x, double gradient[SBK_N], const int *cancel,
                               SbkError *error);
SbkStatus cuda_spectrum_set_scale (SbkSpectrum *spectrum, double scale, SbkError *error);
SbkStatus cuda_geometry (SbkSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model, double *value,
                         double derivative[2], const int *cancel, SbkError *error);

/* value pass of models, left on the device: h and n in ROOM_H ([n_models][3][q_count], where they are kept or shared), S's
 * numerators in ROOM_TOTAL. */
SbkStatus cuda_value_pass (SbkSpectrum *spectrum, const CudaG *view, int precise, const SbkModel *models, int n_models,
                           int keep_h, int together, SbkError *error);

/* values[n] on the device become their sums over the contexts that joined; waits for them. */
SbkStatus cuda_sum_together (SbkContext *context, double *values, size_t n, SbkError *error);
/* The same where a view asks for it. */
static inline SbkStatus
cuda_sum_view (SbkContext *context, const SbkView *view, double *values, size_t n, SbkError *error)
{
  return view->together ? cuda_sum_together (context, values, n, error) : SBK_OK;
}
SbkStatus cuda_device (SbkContext *context, SbkDevice *device, SbkError *error);
extern const SbkTogether cuda_together;

enum { CUDA_THREADS = 128 };
static inline int
cuda_blocks (int64_t n, int threads)
{
  return (int)((n + threads - 1) / threads);
}

#define CUDA_TRY(context, call, what)                                                                                          \
  do {                                                                                                                         \
    SbkStatus status_ = cuda_check (context, call, what, error);                                                               \
    if (status_ != SBK_OK)                                                                                                     \
      return status_;                                                                                                          \
  } while (0)

/* The arithmetic, storage and depth factor (pairs.cuh) of a call, as template arguments. Only the value's float64 has a depth
 * factor of its own for usual depths. */
#define CUDA_DISPATCH_VALUE(wide, precise, depth, CALL)                                                                        \
  do {                                                                                                                         \
    if ((depth) != 1 || (!(precise) && !(wide)))                                                                               \
      CUDA_DISPATCH (wide, precise, depth, CALL);                                                                              \
    else if ((wide))                                                                                                           \
      CALL (double, double, 1);                                                                                                \
    else                                                                                                                       \
      CALL (double, float, 1);                                                                                                 \
  } while (0)

#define CUDA_DISPATCH(wide, precise, depth, CALL)                                                                              \
  do {                                                                                                                         \
    int depth_ = (depth);                                                                                                      \
    if ((wide)) {                                                                                                              \
      if (depth_ == 0)                                                                                                         \
        CALL (double, double, 0);                                                                                              \
      else                                                                                                                     \
        CALL (double, double, 2);                                                                                              \
    } else if (precise) {                                                                                                      \
      if (depth_ == 0)                                                                                                         \
        CALL (double, float, 0);                                                                                               \
      else                                                                                                                     \
        CALL (double, float, 2);                                                                                               \
    } else if (depth_ == 0)                                                                                                    \
      CALL (float, float, 0);                                                                                                  \
    else if (depth_ == 1)                                                                                                      \
      CALL (float, float, 1);                                                                                                  \
    else                                                                                                                       \
      CALL (float, float, 2);                                                                                                  \
  } while (0)

#endif
