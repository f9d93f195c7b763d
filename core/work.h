/* What a work holds between commands, and how it is made when something asks for it. Inside the pipeline only. */
#ifndef SB_CORE_WORK_H
#define SB_CORE_WORK_H

#include "core/pipeline.h"

typedef struct SbSeconds {
  double load, prepare, calibrate, fit, reconstruct, quality;
} SbSeconds;

struct SbWork {
  SbEngine *engine;           /* borrowed */
  SbAcquisition *acquisition; /* borrowed */
  GMutex busy;                /* one command at a time */

  SbColumns *columns;
  gboolean pushed; /* cannot be loaded again */

  /* calibration and G, and the settings they were made with */
  SbOptics optics;
  SbCalibrationOptions calibration_options;
  SbSpectrumOptions spectrum_options;
  SbCalibration *calibration;
  SbSpectrum *spectrum;
  SbPasses calibration_passes;
  SbFrame chosen;           /* the calibration's, or the twin's once a fit took it */
  double agreement_zero;    /* NAN: not known yet */
  double measured_sampling; /* the calibration's, which fits with free sampling start from; 0: no fit yet */
};

/* FALSE with SB_ERROR_CANCELLED where the wait for another command was cancelled. */
gboolean work_lock (SbWork *work, SbProgress *progress, GError **error);
void work_unlock (SbWork *work);

/* Columns that hold the disk the options describe; optics->semiangle may be NAN. */
gboolean work_need_columns (SbWork *work, const SbOptics *optics, const SbCalibrationOptions *calibration, SbProgress *progress,
                            SbSeconds *seconds, GError **error);
/* Calibration and G; what was made with the same settings is kept. */
gboolean work_need_spectrum (SbWork *work, const SbOptics *optics, const SbCalibrationOptions *calibration,
                             const SbSpectrumOptions *spectrum, SbProgress *progress, SbSeconds *seconds, GError **error);
/* fit_run; where the sampling is free, on the bright field that the sampling it finds makes. */
SbFit *work_fit (SbWork *work, const SbStart *start, const SbFitOptions *options, SbProgress *progress, GError **error);
void work_forget_spectrum (SbWork *work);

#endif
