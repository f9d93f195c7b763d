#include "plugin/command.h"

static const SbParamGroup *const groups[] = { &optics_params,     &calibration_params, &spectrum_params,
                                              &aberration_params, &fit_params,         &export_params,
                                              &output_params,     &parameters_params,  NULL };

static SbResult *
run (SbWork *work, const SbOptions *options, SbProgress *progress, GError **error)
{
  SbPipelineOptions pipeline = command_pipeline (options);
  return pipeline_fit (work, &pipeline, progress, error);
}

const SbCommand command_fit = {
  .name = "fit",
  .title = "Fit aberrations",
  .help = "Calibrates, then fits the aberrations, the sample tilt and the depth.",
  .needs_data = TRUE,
  .groups = groups,
  .run = run,
};
