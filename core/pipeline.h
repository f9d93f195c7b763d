/* The main job on one acquisition: load -> calibrate -> G -> fit -> reconstruct -> result. A work keeps what it made, so
 * that the next command with the same settings starts from there. */
#ifndef SB_CORE_PIPELINE_H
#define SB_CORE_PIPELINE_H

#include "core/acquisition.h"
#include "core/calibrate.h"
#include "core/columns.h"
#include "core/detector.h"
#include "core/engine.h"
#include "core/exports.h"
#include "core/fit/fit.h"
#include "core/reconstruct.h"
#include "core/result.h"
#include "core/spectrum.h"

/* The option structs of a command; NULL: that group's defaults. */
typedef struct SbPipelineOptions {
  const SbOpticsOptions *optics;
  const SbCalibrationOptions *calibration;
  const SbSpectrumOptions *spectrum;
  const SbAberrationOptions *aberrations;
  const SbFitOptions *fit;
  const SbReconstructionOptions *reconstruction;
  const SbExportOptions *exports;
  const SbDetectorOptions *detector;
} SbPipelineOptions;

typedef struct SbWork SbWork;
/* Both are borrowed and must outlive the work. */
SbWork *work_new (SbEngine *engine, SbAcquisition *acquisition);
/* Columns of pushed frames (owned from now on); without, the work loads its acquisition's file when first asked. */
void work_take_columns (SbWork *work, SbColumns *columns);
void work_free (SbWork *work);

/* Each returns a new result whose info holds `acquisition`, `calibration`, `seconds`, `version`, `backend` and what the
 * command adds (agreement, values, coordinates, branch, passes, method ...). Optics that neither options nor file give are
 * asked for: SB_ERROR_ARGUMENT naming the parameter. */
SbResult *pipeline_info (SbWork *work, const SbPipelineOptions *options, SbProgress *progress, GError **error);
SbResult *pipeline_calibrate (SbWork *work, const SbPipelineOptions *options, SbProgress *progress, GError **error);
SbResult *pipeline_fit (SbWork *work, const SbPipelineOptions *options, SbProgress *progress, GError **error);
SbResult *pipeline_reconstruct (SbWork *work, const SbPipelineOptions *options, SbProgress *progress, GError **error);
/* Images of a virtual detector over the scan; optics are needed only where angles are given. */
SbResult *pipeline_detector (SbWork *work, const SbPipelineOptions *options, SbProgress *progress, GError **error);
SbResult *pipeline_run (SbWork *work, const SbPipelineOptions *options, SbProgress *progress, GError **error);

#endif
