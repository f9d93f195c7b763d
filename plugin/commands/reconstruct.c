#include "plugin/command.h"

static const SbParamGroup *const groups[] = { &optics_params,     &calibration_params,    &spectrum_params,
                                              &aberration_params, &reconstruction_params, &export_params,
                                              &output_params,     &parameters_params,     NULL };

static SbResult *
run (SbWork *work, const SbOptions *options, SbProgress *progress, GError **error)
{
  SbPipelineOptions pipeline = command_pipeline (options);
  return pipeline_reconstruct (work, &pipeline, progress, error);
}

const SbCommand command_reconstruct = {
  .name = "reconstruct",
  .title = "Reconstruct",
  .help = "Reconstructs the phase with aberrations that are known.",
  .needs_data = TRUE,
  .groups = groups,
  .run = run,
};
