/* Images of a scan that is still running, from the frames that are there. Each look costs about the same however
 * large the acquisition is: where it is large only some of the bright-field pixels are looked at, and scan points are
 * binned. */
#ifndef SB_CORE_LIVE_H
#define SB_CORE_LIVE_H

#include "core/calibrate.h"
#include "core/gather.h"
#include "core/optics.h"

typedef struct SbLive SbLive;
/* The gather is borrowed; optics and calibration (copied) hold what is known, NAN: not known. */
SbLive *live_new (SbGather *gather, const SbOptics *optics, const SbCalibrationOptions *calibration);
void live_free (SbLive *live);

/* what: "bright_field" (mean counts of a bright-field pixel, 0 where no frame is) or "ssb", behind which coefficients
 * may stand: "ssb C10=5.5 C12=1.2 phi12=0.3" (phase in rad by single sideband). [used_rows * used_cols]; not before
 * the first 64 frames came: SB_ERROR_STATE. Frames may be pushed meanwhile; looks of one SbLive one at a time. */
float *live_image (SbLive *live, const char *what, GError **error);

#endif
