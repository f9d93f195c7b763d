/* Virtual detectors: images over the scan from the counts in parts of the detector. */
#ifndef SB_CORE_DETECTOR_H
#define SB_CORE_DETECTOR_H

#include "core/columns.h"

typedef struct SbDetectorOptions {
  char *shape;         /* bright_field | annular | segments | mask */
  double inner, outer; /* mrad; NAN: by the shape */
  gint64 segments;
  double angle; /* deg, where the first segment begins, from the detector's rows towards its columns */
  char *mask;   /* .npy [rows, cols] of bytes or booleans */
} SbDetectorOptions;
extern const SbParamGroup detector_params;

/* Which pixels each detector sums; bad pixels are in none. */
typedef struct SbDetector {
  gint64 n;      /* detectors: 1, or as many as segments */
  gint64 *start; /* [n + 1] */
  gint32 *pixel; /* row * cols + col, ascending within a detector */
} SbDetector;
void detector_free (SbDetector *detector);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SbDetector, detector_free)

/* Pixels with inner < r <= outer (r = 0 counts as inside), in units of the detector's pixels. */
typedef struct SbDetectorGeometry {
  double centre[2], inner, outer;
  gint64 segments; /* 1: undivided */
  double angle;    /* rad */
} SbDetectorGeometry;
SbDetector *detector_new (const SbPattern *pattern, const SbDetectorGeometry *geometry, GError **error);
SbDetector *detector_from_mask (const SbPattern *pattern, const char *path, GError **error);

/* counts [n][positions], whole numbers summed exactly before they are rounded to float32. From the columns where they hold
 * every pixel, else from the acquisition's file; SB_ERROR_STATE where there is none. */
float *detector_counts (SbEngine *engine, const SbColumns *columns, const SbDetector *detector, SbProgress *progress,
                        GError **error);

#endif
