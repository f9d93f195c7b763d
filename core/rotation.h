/* Rotation and orientation of the detector by the agreement S. */
#ifndef SB_CORE_ROTATION_H
#define SB_CORE_ROTATION_H

#include "core/agreement.h"

/* Finds what calibration does not hold as given; fills frame, scan_agreement and warnings; sets the spectrum's frame. */
gboolean rotation_find (SbCalibration *calibration, SbSpectrum *spectrum, SbPasses *passes, SbProgress *progress,
                        GError **error);

#endif
