#include "plugin/record.h"

#include "core/report.h"

void
record_provenance (SbResult *result, const sb_job *job)
{
  json_t *info = result->info;
  json_t *parameters = json_object ();
  options_record (job->session->options, parameters);
  if (job->data != NULL)
    options_record (job->data->options, parameters);
  for (guint i = 0; i < calibration_params.n_rows; i++) /* of pushed frames: for live images only */
    json_object_del (parameters, calibration_params.rows[i].name);
  options_record (job->options, parameters);
  json_object_set_new (info, "parameters", parameters);
  json_object_set_new (info, "command", json_string (job->command->name));
  if (job->data != NULL)
    json_object_set_new (info, "source", report_source (job->data->acquisition));
  if (json_object_get (info, "version") == NULL)
    json_object_set_new (info, "version", json_string (SB_VERSION));
  if (json_object_get (info, "backend") == NULL)
    json_object_set_new (info, "backend", json_string (job->session->engine->backend->name));
}
