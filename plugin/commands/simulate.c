#include "plugin/command.h"

#include "core/simulate/simulate.h"

static const SbParamGroup *const groups[] = { &optics_params,     &acquisition_params, &calibration_params, &aberration_params,
                                              &simulation_params, &output_params,      &parameters_params,  NULL };

static SbResult *
run (SbWork *work, const SbOptions *options, SbProgress *progress, GError **error)
{
  SbSimulateOptions simulate = {
    .optics = options_get (options, &optics_params),
    .acquisition = options_get (options, &acquisition_params),
    .calibration = options_get (options, &calibration_params),
    .aberrations = options_get (options, &aberration_params),
    .simulation = options_get (options, &simulation_params),
    .output = options_get (options, &output_params),
  };
  return pipeline_simulate (work, &simulate, progress, error);
}

const SbCommand command_simulate = {
  .name = "simulate",
  .title = "Simulate an acquisition",
  .help = "Simulates an acquisition by the multislice method and writes it as ARINA files with its truth.",
  .needs_data = FALSE,
  .groups = groups,
  .run = run,
};
