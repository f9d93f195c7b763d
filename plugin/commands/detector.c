#include "plugin/command.h"

static const SbParamGroup *const groups[] = { &optics_params, &calibration_params, &detector_params,
                                              &output_params, &parameters_params,  NULL };

static SbResult *
run (SbWork *work, const SbOptions *options, SbProgress *progress, GError **error)
{
  SbPipelineOptions pipeline = command_pipeline (options);
  return pipeline_detector (work, &pipeline, progress, error);
}

const SbCommand command_detector = {
  .name = "detector",
  .title = "Virtual detector",
  .help = "Sums the counts in a part of the detector at every scan point: bright field, annular, segments or a mask.",
  .needs_data = TRUE,
  .groups = groups,
  .run = run,
};
