/* The commands on one acquisition. Each is a few stages; what they find is written into the result as it is found. */
#include "core/pipeline.h"

#include <math.h>

#include "core/error.h"
#include "core/picture.h"
#include "core/report.h"
#include "core/stages.h"

/* The disk alone where the optics are not known or the calibration fails: info describes, it does not refuse. */
static gboolean
info_calibrate (SbCommand *command, const SbShares *shares, GError **error)
{
  SbWork *work = command->work;
  const SbSetup *setup = &command->setup;
  const SbPattern *pattern = &work->columns->pattern;
  const SbOptics *optics = &setup->optics;
  SbDisk disk;
  GError *failure = NULL;
  if (!isnan (optics->energy) && !isnan (optics->semiangle) && !isnan (optics->step[0]) && !isnan (optics->step[1])) {
    if (stage_prepare (command, shares, FALSE, &failure))
      return TRUE;
  } else if (disk_find (pattern->mean, pattern->bad, pattern->rows, pattern->cols, &disk, &failure)) {
    command_set (command, "calibration", report_disk (&disk));
  }
  if (failure != NULL && failure->code != SB_ERROR_DATA && failure->code != SB_ERROR_ARGUMENT) {
    g_propagate_error (error, failure);
    return FALSE;
  }
  if (failure != NULL)
    setup_warn (&command->setup, "%s", failure->message);
  g_clear_error (&failure);
  stage_pattern (command);
  return TRUE;
}

SbResult *
pipeline_info (SbWork *work, const SbPipelineOptions *options, SbProgress *progress, GError **error)
{
  static const SbShares shares = { 0.6, 1, 1 };
  SbCommand command;
  if (!command_begin (&command, work, options, FALSE, progress, error))
    return NULL;
  progress_stage (progress, "load", 0, shares.load);
  gboolean done = work_need_columns (work, &command.setup.optics, &command.setup.calibration, progress, &command.seconds, error)
                  && info_calibrate (&command, &shares, error);
  return command_end (&command, done);
}

SbResult *
pipeline_calibrate (SbWork *work, const SbPipelineOptions *options, SbProgress *progress, GError **error)
{
  static const SbShares shares = { 0.6, 1, 1 };
  SbCommand command;
  if (!command_begin (&command, work, options, TRUE, progress, error))
    return NULL;
  gboolean done = stage_prepare (&command, &shares, TRUE, error);
  if (done) {
    gint64 rows = 0, cols = 0;
    guint8 *picture = picture_calibration (&work->columns->pattern, work->calibration, work->optics.semiangle, &rows, &cols);
    if (picture != NULL)
      result_add_picture (command.result, "picture", "calibration", picture, rows, cols);
    command_set (&command, "rotation_scan", report_rotation_scan (work->calibration));
    command_set (&command, "passes", report_passes (&work->calibration_passes));
  }
  return command_end (&command, done);
}

SbResult *
pipeline_fit (SbWork *work, const SbPipelineOptions *options, SbProgress *progress, GError **error)
{
  static const SbShares shares = { 0.3, 0.5, 1 };
  SbCommand command;
  if (!command_begin (&command, work, options, TRUE, progress, error))
    return NULL;
  SbFit *fit = stage_prepare (&command, &shares, TRUE, error) ? stage_fit (&command, shares.calibrate, shares.fit, error)
                                                              : NULL;
  gboolean done = fit != NULL && stage_export (&command, &fit->at, error);
  if (fit != NULL)
    fit_free (fit);
  return command_end (&command, done);
}

SbResult *
pipeline_reconstruct (SbWork *work, const SbPipelineOptions *options, SbProgress *progress, GError **error)
{
  static const SbShares shares = { 0.5, 0.8, 0.9 };
  SbCommand command;
  gboolean known = FALSE;
  if (!command_begin (&command, work, options, TRUE, progress, error))
    return NULL;
  const SbCoordinates *at = &command.start.start;
  for (int i = 0; i < SB_N_COORDINATES; i++)
    known = known || command.start.given[i];
  if (!known)
    setup_warn (&command.setup, "No coefficients were given, so that the image is that of a probe without aberrations.");
  gboolean done = stage_prepare (&command, &shares, FALSE, error);
  if (done) {
    progress_stage (progress, "agreement", shares.calibrate, shares.fit);
    done = stage_agreement (&command, at, error) && stage_reconstruct (&command, at, shares.fit, error)
           && stage_export (&command, at, error);
  }
  if (done) {
    command_set (&command, "values", report_values (&command.setup.optics, at, NULL));
    command_set (&command, "coordinates", report_coordinates (at));
  }
  return command_end (&command, done);
}

SbResult *
pipeline_run (SbWork *work, const SbPipelineOptions *options, SbProgress *progress, GError **error)
{
  static const SbShares shares = { 0.3, 0.45, 0.93 };
  SbCommand command;
  if (!command_begin (&command, work, options, TRUE, progress, error))
    return NULL;
  SbFit *fit = stage_prepare (&command, &shares, TRUE, error) ? stage_fit (&command, shares.calibrate, shares.fit, error)
                                                              : NULL;
  gboolean done = fit != NULL && stage_reconstruct (&command, &fit->at, shares.fit, error)
                  && stage_export (&command, &fit->at, error);
  if (fit != NULL)
    fit_free (fit);
  return command_end (&command, done);
}
