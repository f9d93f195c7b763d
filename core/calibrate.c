#include "core/calibrate.h"

#include <math.h>

#include "core/error.h"
#include "core/rotation.h"
#include "core/spectrum.h"

#define MIN_RADIUS 3.0 /* detector pixels */
#define DISAGREES 0.10 /* of the measured disk with the given sampling and semi-angle */

static const char *const orientations[] = { "auto", "identity", "transpose", NULL };

static const SbParam rows[] = {
  { "centre", "Disk centre", "pixels", "Centre of the bright-field disk, row,col from 0; not given: found.", SB_PARAM_PAIR,
    G_STRUCT_OFFSET (SbCalibrationOptions, centre), NAN, NULL, -1e5, 1e5, 0, 256, NULL, NULL, 0 },
  { "sampling", "Detector sampling", "mrad/pixel",
    "Angle between neighbouring detector pixels; not given: semi-angle / radius.", SB_PARAM_DOUBLE,
    G_STRUCT_OFFSET (SbCalibrationOptions, sampling), NAN, NULL, 1e-4, 100, 0.05, 5, NULL, NULL, 0 },
  { "rotation", "Rotation", "deg", "Rotation of the detector to the scan axes; not given: found.", SB_PARAM_DOUBLE,
    G_STRUCT_OFFSET (SbCalibrationOptions, rotation), NAN, NULL, -360, 360, -180, 180, NULL, NULL, SB_PARAM_LIVE },
  { "orientation", "Orientation", "", "Whether detector rows and columns are exchanged.", SB_PARAM_CHOICE,
    G_STRUCT_OFFSET (SbCalibrationOptions, orientation), NAN, "auto", 0, 0, 0, 0, orientations, NULL, 0 },
};
const SbParamGroup calibration_params = { "calibration", "Calibration", sizeof (SbCalibrationOptions), rows,
                                          G_N_ELEMENTS (rows) };

void
calibration_free (SbCalibration *calibration)
{
  if (calibration == NULL)
    return;
  g_ptr_array_unref (calibration->warnings);
  g_free (calibration);
}

/* Central differences of the rotated centre of mass: curl = s D + c C, least over theta in closed form. */
double
calibrate_curl (const SbColumns *columns, gboolean transpose, const double step[2])
{
  gint64 rows_n = columns->acquisition->used_rows, cols_n = columns->acquisition->used_cols;
  double dd = 0, cc = 0, dc = 0;
  const double *com = columns->frame_com;
  for (gint64 r = 1; r + 1 < rows_n; r++)
    for (gint64 c = 1; c + 1 < cols_n; c++) {
      const double *up = com + 2 * ((r - 1) * cols_n + c), *down = com + 2 * ((r + 1) * cols_n + c);
      const double *left = com + 2 * (r * cols_n + c - 1), *right = com + 2 * (r * cols_n + c + 1);
      int u = transpose ? 1 : 0, v = 1 - u;
      double u_row = (down[u] - up[u]) / step[0], v_row = (down[v] - up[v]) / step[0];
      double u_col = (right[u] - left[u]) / step[1], v_col = (right[v] - left[v]) / step[1];
      double divergence = u_row + v_col, curl = v_row - u_col;
      if (!isfinite (divergence) || !isfinite (curl))
        continue;
      dd += divergence * divergence;
      cc += curl * curl;
      dc += divergence * curl;
    }
  if (!(dd + cc > 0))
    return NAN;
  /* d/dtheta sum (s D + c C)^2 = 0; the one of the two extrema that is the minimum */
  double theta = 0.5 * atan2 (-2 * dc, dd - cc);
  return theta * 180 / G_PI;
}

/* Centre, radius and sampling. */
static gboolean
calibrate_disk (SbCalibration *calibration, const SbColumns *columns, const SbOptics *optics,
                const SbCalibrationOptions *options, GError **error)
{
  const SbPattern *p = &columns->pattern;
  g_autoptr (GError) local = NULL;
  SbDisk disk;
  calibration->given_centre = !isnan (options->centre[0]) && !isnan (options->centre[1]);
  calibration->given_sampling = !isnan (options->sampling);
  gboolean found = disk_find (p->mean, p->bad, p->rows, p->cols, &disk, &local);
  if (!found && !(calibration->given_centre && calibration->given_sampling)) {
    g_propagate_error (error, g_steal_pointer (&local));
    return FALSE;
  }
  if (!found) {
    g_ptr_array_add (calibration->warnings, sb_text ("The given centre and sampling are used unchecked: %s", local->message));
    disk = (SbDisk){ { options->centre[0], options->centre[1] }, optics->semiangle / options->sampling };
  }
  for (int i = 0; i < 2; i++)
    calibration->centre[i] = calibration->given_centre ? options->centre[i] : disk.centre[i];
  calibration->radius = disk.radius;
  calibration->sampling = calibration->given_sampling ? options->sampling : optics->semiangle / disk.radius;
  double used = optics->semiangle / calibration->sampling;
  if (used < MIN_RADIUS)
    return sb_fail (error, SB_ERROR_DATA,
                    "The bright-field disk has a radius of %.2f detector pixels, at least %g are needed; "
                    "check semiangle and sampling, or record with a longer camera length.",
                    used, MIN_RADIUS);
  if (fabs (used / disk.radius - 1) > DISAGREES)
    g_ptr_array_add (calibration->warnings,
                     sb_text ("The disk measures %.2f pixels in radius, but semi-angle / sampling = %.4g mrad / %.4g "
                              "mrad/pixel makes %.2f: one of the two is wrong.",
                              disk.radius, optics->semiangle, calibration->sampling, used));
  return TRUE;
}

SbCalibration *
calibrate_run (SbEngine *engine, const SbColumns *columns, const SbOptics *optics, const SbCalibrationOptions *options,
               const SbSpectrumOptions *spectrum_options, SbSpectrum **spectrum, SbPasses *passes, SbProgress *progress,
               GError **error)
{
  SbCalibration *calibration = g_new0 (SbCalibration, 1);
  calibration->warnings = g_ptr_array_new_with_free_func (g_free);
  calibration->given_rotation = !isnan (options->rotation);
  calibration->given_orientation = g_strcmp0 (options->orientation, "auto") != 0 && options->orientation != NULL;
  if (calibration->given_rotation)
    calibration->frame.rotation = remainder (options->rotation * G_PI / 180, 2 * G_PI);
  calibration->frame.transpose = g_strcmp0 (options->orientation, "transpose") == 0;
  for (int o = 0; o < 2; o++)
    for (int i = 0; i < SB_ROTATION_STEPS; i++)
      calibration->scan_agreement[o][i] = NAN;
  for (int i = 0; i < SB_ROTATION_STEPS; i++)
    calibration->scan_angle[i] = 180.0 / SB_ROTATION_STEPS * i;
  *spectrum = NULL;
  if (!calibrate_disk (calibration, columns, optics, options, error))
    goto failed;
  *spectrum = spectrum_new (engine, columns, optics, calibration, spectrum_options, progress, error);
  if (*spectrum == NULL)
    goto failed;
  if (!(calibration->given_rotation && calibration->given_orientation)
      && !rotation_find (calibration, *spectrum, passes, progress, error))
    goto failed;
  calibration->curl_rotation = calibrate_curl (columns, calibration->frame.transpose, optics->step);
  return calibration;
failed:
  g_clear_pointer (spectrum, spectrum_free);
  calibration_free (calibration);
  return NULL;
}
