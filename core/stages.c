#include "core/stages.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/notes.h"
#include "core/report.h"
#include "core/share.h"

void
command_set (SbCommand *command, const char *key, json_t *value)
{
  json_object_set_new (command->result->info, key, value != NULL ? value : json_null ());
}

static double
seconds_since (gint64 start)
{
  return (double)(g_get_monotonic_time () - start) * 1e-6;
}

/* ---- begin and end ---- */

gboolean
command_begin (SbCommand *command, SbWork *work, const SbPipelineOptions *options, gboolean need_optics, SbProgress *progress,
               GError **error)
{
  memset (command, 0, sizeof *command);
  command->began = g_get_monotonic_time ();
  command->work = work;
  command->progress = progress;
  if (!engine_check (work->engine, error) || !work_lock (work, progress, error))
    return FALSE;
  SbSetup *setup = &command->setup;
  if (setup_init (setup, work->acquisition, options, need_optics, error) && reconstruction_check (&setup->reconstruction, error)
      && (!need_optics
          || start_resolve (&command->start, &setup->aberrations, &setup->fit, &setup->optics,
                            setup->has_from ? &setup->from : NULL, error))) {
    command->result = result_new ();
    return TRUE;
  }
  setup_clear (setup);
  work_unlock (work);
  return FALSE;
}

static json_t *
report_seconds (const SbCommand *command)
{
  const SbSeconds *s = &command->seconds;
  json_t *object = json_object ();
  json_object_set_new (object, "load", report_number (s->load));
  json_object_set_new (object, "prepare", report_number (s->prepare));
  json_object_set_new (object, "calibrate", report_number (s->calibrate));
  json_object_set_new (object, "fit", report_number (s->fit));
  json_object_set_new (object, "reconstruct", report_number (s->reconstruct));
  json_object_set_new (object, "quality", report_number (s->quality));
  json_object_set_new (object, "total", report_number (seconds_since (command->began)));
  return object;
}

/* The result where the command was done, NULL where it was not; either way the work is free again. */
SbResult *
command_end (SbCommand *command, gboolean done)
{
  SbWork *work = command->work;
  if (done) {
    const SbCalibration *calibration = work->calibration;
    json_t *acquisition = report_acquisition (work->acquisition, &command->setup.optics, work->columns, work->spectrum);
    if (work->columns != NULL)
      notes_of_columns (work->columns, command->setup.warnings);
    json_t *warnings = json_copy (json_object_get (acquisition, "warnings"));
    command_set (command, "acquisition", acquisition);
    for (int from = 0; from < 2; from++) {
      GPtrArray *of_calibration = calibration != NULL ? calibration->warnings : NULL;
      json_t *more = report_strings (from == 0 ? command->setup.warnings : of_calibration);
      json_array_extend (warnings, more);
      json_decref (more);
    }
    command_set (command, "warnings", warnings);
    command_set (command, "seconds", report_seconds (command));
    command_set (command, "version", json_string (SB_VERSION));
    command_set (command, "backend", json_string (work->engine->backend->name));
    if (work->engine->reduce != NULL)
      command_set (command, "ranks", share_report (work->engine, work->columns, work->spectrum));
    progress_step (command->progress, 1, NULL);
  } else {
    result_free (command->result);
    command->result = NULL;
  }
  setup_clear (&command->setup);
  work_unlock (work);
  return command->result;
}

/* ---- stages ---- */

/* The share of the disk |q| < 2 k_max that the scan's own frequencies cover: a rectangle cut from a circle, by strips. */
static double
measured_share (const SbOptics *optics)
{
  enum { STRIPS = 4096 };
  double radius = 2 * optics_k_max (optics), top = MIN (1 / (2 * optics->step[0]), radius), area = 0;
  for (int i = 0; i < STRIPS; i++) {
    double row = (i + 0.5) / STRIPS * top;
    area += MIN (sqrt (radius * radius - row * row), 1 / (2 * optics->step[1])) * top / STRIPS;
  }
  return MIN (4 * area / (G_PI * radius * radius), 1);
}

static void
warn_of_share (SbCommand *command)
{
  double share = measured_share (&command->setup.optics);
  command_set (command, "measured_share", report_number (share));
  if (share < 0.1)
    setup_warn (&command->setup,
                "The scan measures only %.1f %% of the frequencies that the aperture passes; %sscan with a "
                "smaller step.",
                100 * share, method_find ("dealiased") != NULL ? "use the method dealiased, or " : "");
}

static void
warn_of_sampling (SbCommand *command)
{
  const SbHeader *header = &command->work->acquisition->header;
  double file = header->sampling, used = command->work->calibration->sampling;
  if (isnan (file)) /* files without the energy give 1/angstrom */
    file = 1e3 * header->reciprocal * optics_wavelength (command->setup.optics.energy);
  if (!isnan (file) && fabs (used - file) > 0.1 * fabs (file))
    setup_warn (&command->setup,
                "The detector sampling is %.4g mrad/pixel by the disk and the semi-angle, but the "
                "acquisition says %.4g mrad/pixel.",
                used, file);
}

void
stage_pattern (SbCommand *command)
{
  const SbPattern *pattern = &command->work->columns->pattern;
  double sampling = command->work->calibration != NULL ? command->work->calibration->sampling : NAN;
  gsize n = (gsize)(pattern->rows * pattern->cols);
  gint64 shape[2] = { pattern->rows, pattern->cols };
  float *mean = g_try_malloc_n (n, sizeof (float));
  if (mean == NULL) /* a look at the data is not worth failing for */
    return;
  for (gsize i = 0; i < n; i++)
    mean[i] = (float)pattern->mean[i];
  SbArray *array = result_add (command->result, "mean_pattern", "mean pattern", "counts", mean, 2, shape);
  for (int axis = 0; axis < 2 && isfinite (sampling); axis++) {
    array->step[axis] = sampling;
    g_free (array->axis_unit[axis]);
    array->axis_unit[axis] = g_strdup ("mrad");
  }
}

/* load and calibrate; `fresh` sees G as calibrated, otherwise as the last fit left it. */
gboolean
stage_prepare (SbCommand *command, const SbShares *shares, gboolean fresh, GError **error)
{
  SbWork *work = command->work;
  const SbSetup *setup = &command->setup;
  progress_stage (command->progress, "load", 0, shares->load);
  if (!progress_step (command->progress, 0, error)
      || !work_need_columns (work, &setup->optics, &setup->calibration, command->progress, &command->seconds, error))
    return FALSE;
  progress_stage (command->progress, "calibrate", shares->load, shares->calibrate);
  if (!progress_step (command->progress, 0, error)
      || !work_need_spectrum (work, &setup->optics, &setup->calibration, &setup->spectrum, command->progress, &command->seconds,
                              error))
    return FALSE;
  if (fresh)
    work->chosen = work->calibration->frame;
  if (!spectrum_set_frame (work->spectrum, &work->chosen, error))
    return FALSE;
  command_set (command, "calibration", report_calibration (work->calibration, &work->chosen));
  if (work->spectrum->plan.given || work->spectrum->plan.in_parts || work->spectrum->plan.in_file)
    command_set (command, "plan", plan_report (&work->spectrum->plan));
  warn_of_share (command);
  warn_of_sampling (command);
  stage_pattern (command);
  return TRUE;
}

/* Of counting noise, over the coordinates in their own units; held ones 0. */
static void
add_covariance (SbCommand *command, const SbFit *fit)
{
  const gint64 shape[2] = { SB_N_COORDINATES, SB_N_COORDINATES };
  float *data = g_new (float, SB_N_COORDINATES *SB_N_COORDINATES);
  for (int i = 0; i < SB_N_COORDINATES; i++)
    for (int j = 0; j < SB_N_COORDINATES; j++)
      data[i * SB_N_COORDINATES + j] = isfinite (fit->covariance[i][j]) ? (float)fit->covariance[i][j] : 0;
  result_add (command->result, "covariance", "covariance of the fitted coordinates", "", data, 2, shape)->detail = TRUE;
  command_set (command, "covariance_names", report_names ());
}

static void
report_fit (SbCommand *command, const SbFit *fit)
{
  SbWork *work = command->work;
  command_set (command, "agreement", report_number (fit->agreement));
  command_set (command, "agreement_zero", report_number (fit->agreement_zero));
  command_set (command, "gain", report_number (fit->gain));
  command_set (command, "values", report_values (&command->setup.optics, &fit->at, fit));
  command_set (command, "coordinates", report_coordinates (&fit->at));
  command_set (command, "branch", report_branch (fit));
  command_set (command, "passes", report_passes (&fit->passes));
  command_set (command, "check_passes", report_passes (&fit->check_passes));
  command_set (command, "flags", report_strings (fit->flags));
  add_covariance (command, fit);
  if (fit->history != NULL)
    command_set (command, "history", report_history (fit->history));
  command_set (command, "noise_ratio", report_number (fit->noise_ratio));
  command_set (command, "higher_order_limit", report_number (fit->limit));
  json_t *calibration = report_calibration (work->calibration, &work->chosen);
  if (!isnan (fit->rotation_error))
    json_object_set_new (calibration, "rotation_error", report_number (fit->rotation_error * 180 / G_PI));
  if (!isnan (fit->sampling_error))
    json_object_set_new (calibration, "sampling_error", report_number (fit->sampling_error * work->calibration->sampling));
  command_set (command, "calibration", calibration);
  for (guint i = 0; fit->warnings != NULL && i < fit->warnings->len; i++)
    setup_warn (&command->setup, "%s", (const char *)g_ptr_array_index (fit->warnings, i));
  if (fit->noise_ratio > 1.2)
    setup_warn (&command->setup,
                "What the fit leaves over is %.2f times the counting noise; the true errors are larger than "
                "those given.",
                fit->noise_ratio);
  if (fit->branch == SB_BRANCH_TWIN && work->calibration->given_rotation)
    setup_warn (&command->setup, "The phase came out negative at the given rotation, so that 180 deg were added; give "
                                 "branch=keep to hold the rotation.");
}

SbFit *
stage_fit (SbCommand *command, double from, double to, GError **error)
{
  SbWork *work = command->work;
  gint64 start = g_get_monotonic_time ();
  progress_stage (command->progress, "fit", from, to);
  SbFit *fit = work_fit (work, &command->start, &command->setup.fit, command->progress, error);
  command->seconds.fit += seconds_since (start);
  if (fit == NULL)
    return NULL;
  work->chosen = work->spectrum->frame;
  work->agreement_zero = fit->agreement_zero;
  report_fit (command, fit);
  return fit;
}

static void
add_image (SbCommand *command, const char *name, const char *unit, const SbImage *image, float *data)
{
  gint64 shape[2] = { image->rows, image->cols };
  SbArray *array = result_add (command->result, name, name, unit, data, 2, shape);
  for (int axis = 0; axis < 2; axis++) {
    array->step[axis] = image->step[axis] / 10;
    g_free (array->axis_unit[axis]);
    array->axis_unit[axis] = g_strdup ("nm");
  }
}

gboolean
stage_reconstruct (SbCommand *command, const SbCoordinates *at, double from, GError **error)
{
  const SbReconstructionOptions *options = &command->setup.reconstruction;
  gint64 start = g_get_monotonic_time ();
  double to = options->quality ? (from + 1) / 2 : 1;
  progress_stage (command->progress, "reconstruct", from, to);
  SbImage *image = reconstruct (command->work->spectrum, at, options, command->progress, error);
  command->seconds.reconstruct += seconds_since (start);
  if (image == NULL)
    return FALSE;
  command_set (command, "method", json_string (options->method));
  command_set (command, "image", report_image (image, options->method));
  if (image->absent > 0)
    setup_warn (&command->setup, "%" G_GINT64_FORMAT " frequencies of the image were not measured and are zero in it.",
                image->absent);
  const char *unit = method_find (options->method)->unit;
  add_image (command, "phase", unit != NULL ? unit : "rad", image, g_steal_pointer (&image->phase));
  if (image->absorption != NULL)
    add_image (command, "absorption", "", image, g_steal_pointer (&image->absorption));
  image_free (image);
  return stage_quality (command, at, unit != NULL ? unit : "rad", to, error);
}

/* S at known values, in float64; that without aberrations is computed once a calibration. */
gboolean
stage_agreement (SbCommand *command, const SbCoordinates *at, GError **error)
{
  SbWork *work = command->work;
  SbCoordinates candidates[2] = { *at };
  gsize n = isnan (work->agreement_zero) ? 2 : 1;
  double s[2];
  SbAgreement agreement;
  if (!agreement_init (&agreement, work->spectrum, 0, 1, NULL, command->progress, error))
    return FALSE;
  agreement.precise = TRUE;
  if (!agreement_value (&agreement, n, candidates, s, error))
    return FALSE;
  if (n == 2)
    work->agreement_zero = s[1];
  command_set (command, "agreement", report_number (s[0]));
  command_set (command, "agreement_zero", report_number (work->agreement_zero));
  return TRUE;
}
