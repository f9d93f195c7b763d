/* Rotation and sampling of the detector as free coordinates of the fit, beside the 28. */
#ifndef SB_CORE_FIT_GEOMETRY_H
#define SB_CORE_FIT_GEOMETRY_H

#include "core/fit/stages.h"

/* From a converged maximum: joint Newton steps of what the options free, each followed by `converge`. Leaves the spectrum's
 * frame and scale, and fit->sampling_scale, as found. Of the standard agreement, whatever the fit's objective. */
gboolean geometry_refine (const SbStages *stages, const SbFitOptions *options, SbMaximum *maximum, SbFit *fit, GError **error);
/* After errors_fill: errors of both, and those of the coordinates that they add to. */
gboolean geometry_errors (const SbStages *stages, const SbFitOptions *options, SbFit *fit, GError **error);

#endif
