#include "plugin/command.h"

static const SbParamGroup *const groups[] = { &optics_params, &calibration_params, &parameters_params, NULL };

static SbResult *
run (SbWork *work, const SbOptions *options, SbProgress *progress, GError **error)
{
  SbPipelineOptions pipeline = command_pipeline (options);
  return pipeline_info (work, &pipeline, progress, error);
}

const SbCommand command_info = {
  .name = "info",
  .title = "Acquisition info",
  .help = "Says what the acquisition is and whether it can be used: scan, detector, optics and warnings.",
  .needs_data = TRUE,
  .groups = groups,
  .run = run,
};
