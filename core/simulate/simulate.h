/* The simulator: a specimen, a multislice calculation of every scan point, and an acquisition in files with
 * its truth. */
#ifndef SB_CORE_SIMULATE_SIMULATE_H
#define SB_CORE_SIMULATE_SIMULATE_H

#include "core/pipeline.h"
#include "core/result.h"

typedef struct SbSimulationOptions {
  char *specimen;      /* film | columns | empty | file */
  char *atoms;         /* XYZ file of specimen = file */
  char *mixture;       /* "C=0.9 Si=0.1" */
  double density;      /* g/cm3; NAN: by the kind of specimen */
  double min_distance; /* angstrom; NAN: by the kind of specimen */
  double thickness;    /* nm; NAN: 3, or what the file says */
  double slice;        /* nm */
  double pixel;        /* angstrom; NAN: from the detector */
  char *aperture;      /* hard | soft */
  gboolean periodic;
  double dose; /* electrons a frame; 0: expected counts without noise */
  gint64 random_seed;
} SbSimulationOptions;
extern const SbParamGroup simulation_params;

typedef struct SbSimulateOptions {
  const SbOpticsOptions *optics;
  const SbAcquisitionOptions *acquisition;
  const SbCalibrationOptions *calibration;
  const SbAberrationOptions *aberrations;
  const SbSimulationOptions *simulation;
  const SbOutputOptions *output;
} SbSimulateOptions;

/* The engine is the work's, which needs no acquisition. The result's info lists `files` and `truth`.
 * Cancelled or failed, nothing is left on the disk. */
SbResult *pipeline_simulate (SbWork *work, const SbSimulateOptions *options, SbProgress *progress, GError **error);
SbResult *simulate_run (SbEngine *engine, const SbSimulateOptions *options, SbProgress *progress, GError **error);

#endif
