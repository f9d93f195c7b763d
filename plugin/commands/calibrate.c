#include "plugin/command.h"

static const SbParamGroup *const groups[] = { &optics_params, &calibration_params, &spectrum_params,
                                              &output_params, &parameters_params,  NULL };

static SbResult *
run (SbWork *work, const SbOptions *options, SbProgress *progress, GError **error)
{
  SbPipelineOptions pipeline = command_pipeline (options);
  return pipeline_calibrate (work, &pipeline, progress, error);
}

const SbCommand command_calibrate = {
  .name = "calibrate",
  .title = "Calibrate",
  .help = "Finds the bright-field disk, the detector sampling, the rotation and the orientation.",
  .needs_data = TRUE,
  .groups = groups,
  .run = run,
};
