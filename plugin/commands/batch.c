#include "plugin/command.h"

#include "core/batch/batch.h"

static const SbParamGroup *const groups[] = { &batch_params,    &optics_params,     &acquisition_params, &calibration_params,
                                              &spectrum_params, &aberration_params, &fit_params,         &reconstruction_params,
                                              &export_params,   &output_params,     &parameters_params,  NULL };

static SbResult *
run (SbWork *work, const SbOptions *options, SbProgress *progress, GError **error)
{
  SbPipelineOptions pipeline = command_pipeline (options);
  json_t *parameters = json_object ();
  options_record (options, parameters);
  SbBatchCall call = {
    .pipeline = &pipeline,
    .acquisition = options_get (options, &acquisition_params),
    .batch = options_get (options, &batch_params),
    .output = options_get (options, &output_params),
    .parameters = parameters,
  };
  SbResult *result = pipeline_batch (work, &call, progress, error);
  json_decref (parameters);
  return result;
}

const SbCommand command_batch = {
  .name = "batch",
  .title = "Series",
  .help = "Fits and reconstructs many acquisitions: a result each, one table, one aligned stack; goes on after a stop.",
  .needs_data = FALSE,
  .files = "inputs",
  .own_files = TRUE,
  .deals_out = TRUE,
  .groups = groups,
  .run = run,
};
