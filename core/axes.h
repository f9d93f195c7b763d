/* The four calibrated axes of an acquisition as files give them: scan row, scan column, detector row, detector
 * column. */
#ifndef SB_CORE_AXES_H
#define SB_CORE_AXES_H

#include "core/acquisition.h"

typedef struct SbAxis {
  double scale; /* units a pixel; NAN: not given */
  char *units;  /* NULL: not given */
} SbAxis;

void axes_clear (SbAxis axes[4]);
/* Into step, sampling and reciprocal of the header; what it says already is kept. FALSE where they cannot be right:
 * the detector's axes first, unknown units, pixels that are not square. */
gboolean axes_apply (const char *path, const SbAxis axes[4], SbHeader *header, GError **error);

#endif
