/* The command detector: load, find the disk, sum, report. */
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/report.h"
#include "core/stages.h"

/* Centre and mrad a pixel: given, or from the disk and what is known of the optics. *sampling NAN: not known. */
static gboolean
find_geometry (const SbCommand *command, double centre[2], double *sampling, double *radius, GError **error)
{
  const SbPattern *pattern = &command->work->columns->pattern;
  const SbCalibrationOptions *given = &command->setup.calibration;
  double semiangle = command->setup.optics.semiangle;
  SbDisk disk = { { given->centre[0], given->centre[1] }, semiangle / given->sampling };
  gboolean whole = !isnan (disk.centre[0]) && !isnan (disk.centre[1]) && !isnan (given->sampling);
  if (!whole) {
    SbDisk found;
    if (!disk_find (pattern->mean, pattern->bad, pattern->rows, pattern->cols, &found, error))
      return FALSE;
    if (isnan (disk.centre[0]) || isnan (disk.centre[1]))
      memcpy (disk.centre, found.centre, sizeof disk.centre);
    disk.radius = isnan (disk.radius) ? found.radius : disk.radius;
  }
  memcpy (centre, disk.centre, 2 * sizeof *centre);
  *radius = disk.radius;
  *sampling = given->sampling;
  if (isnan (*sampling))
    *sampling = isnan (semiangle) ? command->work->acquisition->header.sampling : semiangle / disk.radius;
  return TRUE;
}

static double
pixels (double mrad, double sampling, double otherwise)
{
  return isnan (mrad) ? otherwise : mrad / sampling;
}

static SbDetector *
make (SbCommand *command, const SbDetectorOptions *options, json_t *report, GError **error)
{
  const SbPattern *pattern = &command->work->columns->pattern;
  gboolean annular = g_strcmp0 (options->shape, "annular") == 0, segments = g_strcmp0 (options->shape, "segments") == 0;
  SbDetectorGeometry g = { .segments = segments ? options->segments : 1, .angle = options->angle * G_PI / 180 };
  double sampling, radius;
  if (g_strcmp0 (options->shape, "mask") == 0)
    return detector_from_mask (pattern, options->mask, error);
  if (!find_geometry (command, g.centre, &sampling, &radius, error))
    return NULL;
  if (isnan (sampling) && !(isnan (options->inner) && isnan (options->outer))) {
    sb_fail (error, SB_ERROR_ARGUMENT,
             "Give semiangle (mrad) or sampling (mrad/pixel): without them inner and outer are no "
             "pixels.");
    return NULL;
  }
  if (isnan (radius)) { /* sampling and centre given, the semi-angle not */
    SbDisk disk;
    radius = disk_find (pattern->mean, pattern->bad, pattern->rows, pattern->cols, &disk, NULL) ? disk.radius : NAN;
  }
  g.inner = pixels (options->inner, sampling, annular ? radius : 0);
  g.outer = pixels (options->outer, sampling, annular ? INFINITY : radius);
  if (!(g.outer > g.inner)) {
    sb_fail (error, SB_ERROR_ARGUMENT,
             "The detector's outer angle is %.4g mrad, its inner one %.4g mrad; give an outer one that is "
             "larger.",
             g.outer * sampling, g.inner * sampling);
    return NULL;
  }
  json_object_set_new (report, "centre", report_pair (g.centre[0], g.centre[1]));
  json_object_set_new (report, "sampling", report_number (sampling));
  json_object_set_new (report, "inner", report_number (g.inner * sampling));
  json_object_set_new (report, "outer", report_number (g.outer * sampling));
  json_object_set_new (report, "unit", json_string ("mrad"));
  return detector_new (pattern, &g, error);
}

static void
add_images (SbCommand *command, const SbDetector *detector, float *counts)
{
  const SbAcquisition *acquisition = command->work->acquisition;
  gint64 shape[3] = { detector->n, acquisition->used_rows, acquisition->used_cols };
  int leading = detector->n > 1 ? 1 : 0;
  SbArray *array = result_add (command->result, "detector", "virtual detector", "counts", counts, 2 + leading,
                               shape + 1 - leading);
  for (int axis = 0; axis < 2; axis++) {
    double step = command->setup.optics.step[axis];
    if (isnan (step))
      continue;
    array->step[axis + leading] = step / 10;
    g_free (array->axis_unit[axis + leading]);
    array->axis_unit[axis + leading] = g_strdup ("nm");
  }
}

static gboolean
stage_detector (SbCommand *command, const SbDetectorOptions *options, GError **error)
{
  SbWork *work = command->work;
  json_t *report = json_object (), *numbers = json_array ();
  json_object_set_new (report, "shape", json_string (options->shape));
  g_autoptr (SbDetector) detector = make (command, options, report, error);
  for (gint64 d = 0; detector != NULL && d < detector->n; d++)
    json_array_append_new (numbers, json_integer (detector->start[d + 1] - detector->start[d]));
  json_object_set_new (report, "pixels", numbers);
  command_set (command, "detector", report);
  if (detector == NULL)
    return FALSE;
  progress_stage (command->progress, "detector", 0.5, 1);
  float *counts = detector_counts (work->engine, work->columns, detector, command->progress, error);
  if (counts == NULL)
    return FALSE;
  add_images (command, detector, counts);
  stage_pattern (command);
  return TRUE;
}

SbResult *
pipeline_detector (SbWork *work, const SbPipelineOptions *options, SbProgress *progress, GError **error)
{
  SbCommand command;
  SbDetectorOptions defaults;
  if (!command_begin (&command, work, options, FALSE, progress, error))
    return NULL;
  param_group_defaults (&detector_params, &defaults);
  const SbDetectorOptions *detector = options->detector != NULL ? options->detector : &defaults;
  progress_stage (progress, "load", 0, 0.5);
  gboolean done = work_need_columns (work, &command.setup.optics, &command.setup.calibration, progress, &command.seconds, error)
                  && stage_detector (&command, detector, error);
  param_group_clear (&detector_params, &defaults);
  return command_end (&command, done);
}
