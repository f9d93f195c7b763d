/* Quality as part of a command: what is measured goes into the result. */
#include <math.h>

#include "core/error.h"
#include "core/quality.h"
#include "core/report.h"
#include "core/stages.h"

static json_t *
report_quality (const SbQuality *quality, double k_max)
{
  gboolean known = !isnan (quality->cutoff);
  json_t *object = json_object ();
  json_object_set_new (object, "resolution", report_number (1 / quality->cutoff));
  json_object_set_new (object, "unit", json_string ("Å"));
  json_object_set_new (object, "frequency", report_number (quality->cutoff));
  json_object_set_new (object, "frequency_unit", json_string ("1/Å"));
  json_object_set_new (object, "share_of_k_max", report_number (quality->cutoff / k_max));
  json_object_set_new (object, "threshold", json_real (QUALITY_THRESHOLD));
  json_object_set_new (object, "limited_by_sampling", json_boolean (known && quality->limited));
  /* then it is an upper bound: see SbQuality */
  json_object_set_new (object, "beyond_scan", json_boolean (known && quality->cutoff > quality->scan_limit));
  json_object_set_new (object, "scan_limit", report_number (quality->scan_limit));
  json_object_set_new (object, "k_max", report_number (k_max));
  json_object_set_new (object, "correlation_of_halves", report_number (quality->total));
  json_object_set_new (object, "correlation_of_whole",
                       report_number (sqrt (MAX (2 * quality->total / (1 + quality->total), 0))));
  json_object_set_new (object, "method", json_string (quality->method));
  json_object_set_new (object, "rings", json_integer (quality->rings));
  return object;
}

static void
set_axis (SbArray *array, int axis, double step, const char *unit)
{
  array->step[axis] = step;
  g_free (array->axis_unit[axis]);
  array->axis_unit[axis] = g_strdup (unit);
}

/* Rings are not all as wide as another: frc_frequency says where each lies. */
static gboolean
add_curve (SbCommand *command, const char *name, const char *title, const char *unit, const double *values, gint64 n,
           GError **error)
{
  float *data = sb_alloc ((gsize)n, sizeof *data, "The quality's curves", error);
  for (gint64 i = 0; data != NULL && i < n; i++)
    data[i] = (float)values[i];
  if (data != NULL)
    set_axis (result_add (command->result, name, title, unit, data, 1, &n), 0, NAN, "1/Å");
  return data != NULL;
}

static void
add_halves (SbCommand *command, SbQuality *quality, const char *unit)
{
  static const char *const names[2] = { "half_1", "half_2" }, *const titles[2] = { "first half", "second half" };
  gint64 shape[2] = { quality->rows, quality->cols };
  const double *step = command->setup.optics.step;
  for (int half = 0; half < 2 && quality->half[half] != NULL; half++) {
    SbArray *array = result_add (command->result, names[half], titles[half], unit, g_steal_pointer (&quality->half[half]), 2,
                                 shape);
    array->detail = TRUE;
    for (int axis = 0; axis < 2; axis++) {
      gint64 scan = axis == 0 ? command->work->spectrum->scan_rows : command->work->spectrum->scan_cols;
      set_axis (array, axis, step[axis] / 10 * (double)scan / (double)shape[axis], "nm");
    }
  }
}

gboolean
stage_quality (SbCommand *command, const SbCoordinates *at, const char *unit, double from, GError **error)
{
  const SbSpectrum *spectrum = command->work->spectrum;
  gint64 start = g_get_monotonic_time ();
  if (!command->setup.reconstruction.quality)
    return TRUE;
  progress_stage (command->progress, "quality", from, 1);
  g_autoptr (SbQuality)
      quality = quality_measure (command->work->spectrum, at, &command->setup.reconstruction, command->progress, error);
  if (quality == NULL)
    return FALSE;
  command->seconds.quality += (double)(g_get_monotonic_time () - start) * 1e-6;
  command_set (command, "quality", report_quality (quality, spectrum->k_max));
  if (quality->rings == 0)
    return TRUE;
  if (!add_curve (command, "frc", "Fourier ring correlation", "", quality->frc, quality->rings, error)
      || !add_curve (command, "frc_frequency", "frequency of the rings", "1/Å", quality->frequency, quality->rings, error)
      || !add_curve (command, "transfer", "transfer", "", quality->transfer, quality->rings, error))
    return FALSE;
  add_halves (command, quality, unit);
  return TRUE;
}
