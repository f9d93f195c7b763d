/* Inside of the live images. */
#ifndef SB_CORE_LIVE_INSIDE_H
#define SB_CORE_LIVE_INSIDE_H

#include "core/live.h"
#include "core/spectrum.h"

struct SbLive {
  SbGather *gather; /* borrowed */
  SbEngine *engine; /* its own, so that a look and a job never share a context; made when first needed */
  SbOptics optics;
  SbCalibrationOptions calibration;
  gboolean has_frame; /* rotation and orientation that an earlier look found ... */
  SbFrame frame;
  gint64 found_with; /* ... with so many frames */
};

/* What a look sees. */
typedef struct SbGlance {
  SbPattern pattern;
  SbDisk disk;
  guint8 *there; /* [positions] its frame is in the columns */
  gint64 n_there;
  gint64 n;  /* usable pixels of the disk that are looked at */
  gint64 *k; /* [n] their places in gather->pixel */
} SbGlance;

/* So many of the disk's pixels, evenly, that most counts are at most read. */
gboolean glance (SbLive *live, gint64 most, SbGlance *out, GError **error);
void glance_clear (SbGlance *glance);
/* A count; the gather's stored type. */
double glance_count (const SbGather *gather, gint64 k, gint64 position);

float *live_ssb (SbLive *live, const char *coefficients, GError **error);

#endif
