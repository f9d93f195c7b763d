/* The agreement of a scan coarser than the band: S over the span of all aliases' gamma, the same numbers as
 * core/agreement.h, which calls these where an agreement is dealiased. */
#ifndef SB_CORE_ALIAS_AGREEMENT_H
#define SB_CORE_ALIAS_AGREEMENT_H

#include "core/agreement.h"

gboolean alias_agreement_value (const SbAgreement *agreement, gsize n, const SbCoordinates *candidates, double *s,
                                GError **error);
gboolean alias_agreement_gradient (const SbAgreement *agreement, const SbCoordinates *at, double *s,
                                   double gradient[SB_N_COORDINATES], GError **error);
/* Gradient exact; Hessian from differences of the gradient on a part of the pixels: good for steps and error bars, not to
 * the last digit. */
gboolean alias_agreement_hessian (const SbAgreement *agreement, const SbCoordinates *at, int n, const int *chosen, double *s,
                                  double *gradient, double *hessian, GError **error);

#endif
