/* Frames of a weak object by plain loops in float64: the model's formula once more, on its own. */
#ifndef SB_TESTS_WEAK_OBJECT_H
#define SB_TESTS_WEAK_OBJECT_H

#include "core/columns.h"
#include "core/optics.h"

typedef struct WeakObject {
  SbOptics optics;
  gint64 scan[2], detector[2];
  double centre[2], radius; /* of the disk, pixels; detector axes are scan axes */
  double counts;            /* of a pixel inside, a frame */
  double peak;              /* rad, the object's largest phase about its mean */
  gboolean wrong;           /* P(q - k) instead of P(k - q) in the first sideband */
  SbCoordinates at;         /* tilt and depth are not used: a thin object */
} WeakObject;

/* 300 kV, 30 mrad, 0.4 angstrom, a scan and a detector of odd and even sizes, no aberrations. */
void weak_object_init (WeakObject *object);
/* Counts [scan points][pixels]; truth (may be NULL): the object's phase less its mean, [scan points]. */
float *weak_object_frames (const WeakObject *object, double *truth);
/* Any frames of the object's shape through the gather; frees neither. */
SbColumns *weak_object_columns (const WeakObject *object, SbEngine *engine, const float *frames, SbAcquisition **acquisition,
                                GError **error);
/* Correlation of two images about their means; *scale (may be NULL): of a over b by least squares. */
double weak_correlation (gsize n, const double *a, const double *b, double *scale);

#endif
