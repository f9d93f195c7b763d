#include "plugin/command.h"

static const SbParamGroup *const groups[] = {
  &optics_params,         &calibration_params, &spectrum_params, &aberration_params, &fit_params,
  &reconstruction_params, &export_params,      &output_params,   &parameters_params, NULL
};

static SbResult *
run (SbWork *work, const SbOptions *options, SbProgress *progress, GError **error)
{
  SbPipelineOptions pipeline = command_pipeline (options);
  return pipeline_run (work, &pipeline, progress, error);
}

const SbCommand command_run = {
  .name = "run",
  .title = "Fit and reconstruct",
  .help = "Calibrates, fits the aberrations and reconstructs the phase.",
  .needs_data = TRUE,
  .groups = groups,
  .run = run,
};
