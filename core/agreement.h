/* The agreement S and its derivatives over the 28 coordinates. A view that is part of the band is normalised by the power
 * of that part, so S stays the share that is explained. Passes are counted in full-band, all-pixel units. */
#ifndef SB_CORE_AGREEMENT_H
#define SB_CORE_AGREEMENT_H

#include "core/spectrum.h"

typedef struct SbPasses {
  double value, gradient, hessian;
} SbPasses;

typedef struct SbAgreement {
  SbSpectrum *spectrum; /* borrowed */
  SbkView view;
  double power;         /* of the view */
  double share;         /* of the (q,k) pairs that the view holds */
  gboolean precise;     /* float64 */
  gboolean dealiased;   /* over the span of all aliases; the spectrum's, where the view holds the whole band */
  SbPasses *passes;     /* counted here; NULL: not counted */
  SbProgress *progress; /* for cancel; NULL */
} SbAgreement;

/* The first q_count frequencies of the band, one pixel in k_stride. q_count 0: the whole band. */
gboolean agreement_init (SbAgreement *agreement, SbSpectrum *spectrum, gint64 q_count, gint64 k_stride, SbPasses *passes,
                         SbProgress *progress, GError **error);
/* The same over a view made by hand. */
gboolean agreement_init_view (SbAgreement *agreement, SbSpectrum *spectrum, const SbkView *view, SbPasses *passes,
                              SbProgress *progress, GError **error);
gboolean agreement_value (const SbAgreement *agreement, gsize n, const SbCoordinates *candidates, double *s, GError **error);
gboolean agreement_gradient (const SbAgreement *agreement, const SbCoordinates *at, double *s,
                             double gradient[SB_N_COORDINATES], GError **error);
/* Over the n chosen coordinates: gradient[n], hessian[n * n]. */
gboolean agreement_hessian (const SbAgreement *agreement, const SbCoordinates *at, int n, const int *chosen, double *s,
                            double *gradient, double *hessian, GError **error);

/* S and its derivatives by the detector's rotation (rad) and the logarithm of its sampling, at fixed coordinates and
 * bright-field pixels. Always of the standard agreement. */
gboolean agreement_geometry (const SbAgreement *agreement, const SbCoordinates *at, double *s, double derivative[2],
                             GError **error);

#endif
