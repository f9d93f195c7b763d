/* Acquisitions made by the forward model itself: a weak random object, Poisson counts, disk and rotation known. */
#ifndef SB_TESTS_FORWARD_H
#define SB_TESTS_FORWARD_H

#include "core/spectrum.h"

typedef struct Forward {
  double energy, semiangle, step; /* kV, mrad, angstrom */
  gint64 scan;                    /* points each way */
  double radius;                  /* of the disk, detector pixels */
  double rotation;                /* rad */
  double strength;                /* S x bright-field pixels: the counts are chosen for it */
  guint32 seed;                   /* of the object */
  SbCoordinates truth;
} Forward;

/* The counts without noise, and their scale; free with forward_free. */
typedef struct ForwardImage {
  Forward of;
  gint64 detector, n_pixels;
  float *mean; /* [n_pixels][scan * scan] counts expected */
  gint32 *pixel;
  double signal; /* sum |G|^2 over the band a pair, at counts of mean A^2 */
} ForwardImage;

ForwardImage *forward_image (const Forward *forward);
void forward_free (ForwardImage *image);
/* G of one draw of Poisson counts. */
SbSpectrum *forward_draw (const ForwardImage *image, SbEngine *engine, guint32 seed);
/* The truth of one case of the robustness matrix: C10 within 40 nm, C12 to 10 nm, higher orders of 0.5 rad, tilt to 10
 * mrad, depth to 6 nm, S x pixels from 20 to 1000; a field of at least two defocus blurs. */
void forward_random (Forward *forward, double energy, double semiangle, double step, guint32 seed);
SbEngine *forward_engine (void);

#endif
