/* Calibration: bright-field disk, detector sampling, rotation and orientation by the agreement S. */
#ifndef SB_CORE_CALIBRATE_H
#define SB_CORE_CALIBRATE_H

#include <glib.h>

#include "core/columns.h"
#include "core/optics.h"

struct SbSpectrum;
struct SbPasses;
struct SbSpectrumOptions;

typedef struct SbCalibrationOptions {
  double centre[2];  /* detector pixels (row, col); NAN: found */
  double sampling;   /* mrad / pixel; NAN: semiangle / radius */
  double rotation;   /* deg; NAN: found */
  char *orientation; /* auto | identity | transpose */
} SbCalibrationOptions;
extern const SbParamGroup calibration_params; /* centre, sampling, rotation, orientation */

/* A bright-field disk on a mean pattern. */
typedef struct SbDisk {
  double centre[2], radius; /* pixels */
} SbDisk;
/* Half-plateau threshold: area and centroid of the connected disk, bad pixels left out, hot pixels ignored.
 * SB_ERROR_DATA "no bright-field disk ..." where there is none. bad may be NULL. */
gboolean disk_find (const double *mean, const guint8 *bad, gint64 rows, gint64 cols, SbDisk *disk, GError **error);

enum { SB_ROTATION_STEPS = 18 };
typedef struct SbCalibration {
  double centre[2];
  double radius;        /* measured, pixels */
  double sampling;      /* mrad / pixel */
  SbFrame frame;        /* rotation (rad) and transposition */
  double curl_rotation; /* deg, by the curl of the centre of mass; reported, not used */
  gboolean given_centre, given_sampling, given_rotation, given_orientation;
  double scan_angle[SB_ROTATION_STEPS];        /* deg */
  double scan_agreement[2][SB_ROTATION_STEPS]; /* S: identity, transpose; NAN where not evaluated */
  GPtrArray *warnings;                         /* char * */
} SbCalibration;
void calibration_free (SbCalibration *calibration);

/* Finds what is not given: disk and sampling from the mean pattern; rotation and orientation by S of the thin low-order
 * model, every 10 deg on |q| < 0.4 k_max, the best two refined on the whole band. Hands back G, set to the frame. */
SbCalibration *calibrate_run (SbEngine *engine, const SbColumns *columns, const SbOptics *optics,
                              const SbCalibrationOptions *options, const struct SbSpectrumOptions *spectrum_options,
                              struct SbSpectrum **spectrum, struct SbPasses *passes, SbProgress *progress, GError **error);
/* Rotation (deg) that leaves the centre of mass without curl, in the given orientation; NAN where it does not exist. */
double calibrate_curl (const SbColumns *columns, gboolean transpose, const double step[2]);

#endif
