#include "plugin/command.h"

const SbCommand *
command_find (const char *name)
{
  for (guint i = 0; command_registry[i] != NULL; i++)
    if (g_strcmp0 (command_registry[i]->name, name) == 0)
      return command_registry[i];
  return NULL;
}

SbPipelineOptions
command_pipeline (const SbOptions *options)
{
  return (SbPipelineOptions){
    .optics = options_get (options, &optics_params),
    .calibration = options_get (options, &calibration_params),
    .spectrum = options_get (options, &spectrum_params),
    .aberrations = options_get (options, &aberration_params),
    .fit = options_get (options, &fit_params),
    .reconstruction = options_get (options, &reconstruction_params),
    .exports = options_get (options, &export_params),
    .detector = options_get (options, &detector_params),
  };
}
