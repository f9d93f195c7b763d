#include "core/report.h"

#include <math.h>

static void
set (json_t *object, const char *key, json_t *value)
{
  json_object_set_new (object, key, value != NULL ? value : json_null ());
}

json_t *
report_number (double x)
{
  return isfinite (x) ? json_real (x) : json_null ();
}

json_t *
report_pair (double row, double col)
{
  json_t *pair = json_array ();
  json_array_append_new (pair, report_number (row));
  json_array_append_new (pair, report_number (col));
  return pair;
}

json_t *
report_sizes (gint64 rows, gint64 cols)
{
  json_t *sizes = json_array ();
  json_array_append_new (sizes, json_integer (rows));
  json_array_append_new (sizes, json_integer (cols));
  return sizes;
}

json_t *
report_strings (const GPtrArray *strings)
{
  json_t *list = json_array ();
  for (guint i = 0; strings != NULL && i < strings->len; i++)
    json_array_append_new (list, json_string (g_ptr_array_index (strings, i)));
  return list;
}

/* ---- acquisition ---- */

static void
set_columns (json_t *object, const SbColumns *columns)
{
  set (object, "masked_pixels", json_integer (columns->pattern.masked));
  set (object, "hot_pixels", json_integer (columns->pattern.hot));
  set (object, "not_finite_pixels", json_integer (columns->pattern.not_finite));
  set (object, "saturated_pixels", json_integer (columns->pattern.saturated));
}

static void
set_spectrum (json_t *object, const SbSpectrum *spectrum)
{
  set (object, "bright_field_pixels", json_integer (spectrum->n_pixels));
  set (object, "band_frequencies", json_integer (spectrum->n_band));
  set (object, "saturated_bright_field_pixels", json_integer (spectrum->saturated));
  set (object, "mean_counts", report_number (spectrum->mean_counts));
}

json_t *
report_acquisition (const SbAcquisition *acquisition, const SbOptics *optics, const SbColumns *columns,
                    const SbSpectrum *spectrum)
{
  const SbHeader *header = &acquisition->header;
  json_t *object = json_object ();
  g_autofree char *path = acquisition->path != NULL ? g_filename_display_name (acquisition->path) : NULL;
  set (object, "path", path != NULL ? json_string (path) : json_null ());
  set (object, "format", acquisition->format != NULL ? json_string (acquisition->format->name) : json_string ("pushed"));
  set (object, "scan_shape", report_sizes (acquisition->used_rows, acquisition->used_cols));
  set (object, "whole_scan_shape", report_sizes (acquisition->scan_rows, acquisition->scan_cols));
  set (object, "detector_shape", report_sizes (header->detector_rows, header->detector_cols));
  set (object, "frames", json_integer (acquisition_positions (acquisition)));
  set (object, "frames_in_file", json_integer (header->frames));
  set (object, "flyback_columns", json_integer (acquisition->flyback));
  set (object, "dtype", json_string (dtype_name (header->dtype)));
  set (object, "energy", report_number (optics->energy));
  set (object, "semiangle", report_number (optics->semiangle));
  set (object, "step", report_pair (optics->step[0], optics->step[1]));
  if (columns != NULL)
    set_columns (object, columns);
  if (spectrum != NULL)
    set_spectrum (object, spectrum);
  json_t *warnings = report_strings (header->warnings);
  if (header->missing != NULL)
    json_array_append_new (warnings, json_string (header->missing));
  set (object, "warnings", warnings);
  return object;
}

/* ---- calibration ---- */

/* deg in (-180, 180] */
static double
degrees (double rotation)
{
  double deg = fmod (rotation * 180 / G_PI, 360);
  if (deg > 180)
    deg -= 360;
  return deg <= -180 ? deg + 360 : deg;
}

json_t *
report_calibration (const SbCalibration *calibration, const SbFrame *frame)
{
  static const char *const names[] = { "centre", "sampling", "rotation", "orientation" };
  const gboolean given[] = { calibration->given_centre, calibration->given_sampling, calibration->given_rotation,
                             calibration->given_orientation };
  json_t *object = json_object (), *list = json_array ();
  set (object, "centre", report_pair (calibration->centre[0], calibration->centre[1]));
  set (object, "radius", report_number (calibration->radius));
  set (object, "sampling", report_number (calibration->sampling));
  set (object, "rotation", report_number (degrees (frame->rotation)));
  set (object, "orientation", json_string (frame->transpose ? "transpose" : "identity"));
  set (object, "curl_rotation", report_number (calibration->curl_rotation));
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (given[i])
      json_array_append_new (list, json_string (names[i]));
  set (object, "given", list);
  return object;
}

json_t *
report_disk (const SbDisk *disk)
{
  json_t *object = json_object ();
  set (object, "centre", report_pair (disk->centre[0], disk->centre[1]));
  set (object, "radius", report_number (disk->radius));
  return object;
}

json_t *
report_rotation_scan (const SbCalibration *calibration)
{
  static const char *const names[] = { "identity", "transpose" };
  json_t *object = json_object (), *angles = json_array ();
  for (int i = 0; i < SB_ROTATION_STEPS; i++)
    json_array_append_new (angles, report_number (calibration->scan_angle[i]));
  set (object, "angle", angles);
  for (int o = 0; o < 2; o++) {
    json_t *curve = json_array ();
    for (int i = 0; i < SB_ROTATION_STEPS; i++)
      json_array_append_new (curve, report_number (calibration->scan_agreement[o][i]));
    set (object, names[o], curve);
  }
  return object;
}

/* ---- values ---- */

/* One standard deviation of a value by counting noise and by halves of the data; NAN: not known. */
typedef struct {
  double error, spread;
} Deviation;

static json_t *
value_entry (json_t *values, const char *name, double value, Deviation deviation, const char *unit, const char *title,
             gboolean held)
{
  json_t *entry = json_object ();
  set (entry, "value", report_number (value));
  set (entry, "error", report_number (held ? NAN : deviation.error));
  set (entry, "spread", report_number (held ? NAN : deviation.spread));
  set (entry, "unit", json_string (unit));
  set (entry, "title", json_string (title));
  if (held)
    set (entry, "held", json_true ());
  set (values, name, entry);
  return entry;
}

/* Deviations of magnitude (in the unit of a and b) and angle from a covariance of (a, b). */
static void
polar_errors (const SbFit *fit, const double (*c)[SB_N_COORDINATES], int a, int m, double *magnitude, double *angle)
{
  gboolean both = fit->fitted[a] && fit->fitted[a + 1];
  double x = fit->at.x[a], y = fit->at.x[a + 1], r = hypot (x, y);
  double xx = fit->fitted[a] ? c[a][a] : 0, yy = fit->fitted[a + 1] ? c[a + 1][a + 1] : 0, xy = both ? c[a][a + 1] : 0;
  double uniform = G_PI / (m * sqrt (3.0)); /* an angle of which nothing is known */
  *magnitude = sqrt (MAX (0.5 * (xx + yy), 0));
  *angle = uniform;
  if (!(r > 0))
    return;
  *magnitude = sqrt (MAX (x * x * xx + 2 * x * y * xy + y * y * yy, 0)) / r;
  *angle = MIN (sqrt (MAX (y * y * xx - 2 * x * y * xy + x * x * yy, 0)) / (r * r * m), uniform);
}

static void
add_term (json_t *values, const SbOptics *optics, const SbCoordinates *at, const SbFit *fit, int term, int index)
{
  const SbTerm *row = &optics_terms[term];
  double scale = optics_edge_per_nm (optics, row->n), magnitude, angle;
  Deviation size = { NAN, NAN }, turn = { NAN, NAN };
  gboolean held = fit == NULL || !(fit->fitted[index] || (row->m > 0 && fit->fitted[index + 1]));
  optics_polar (optics, at, term, &magnitude, &angle);
  if (row->m == 0) {
    if (!held)
      size = (Deviation){ fit->error[index] / scale, fit->spread[index] / scale };
    json_t *entry = value_entry (values, row->name, magnitude, size, "nm", row->title, held);
    if (row->n == 1)
      set (entry, "defocus", report_number (-magnitude));
    return;
  }
  if (!held)
    polar_errors (fit, fit->covariance, index, row->m, &size.error, &turn.error);
  if (!held && (isfinite (fit->spread[index]) || isfinite (fit->spread[index + 1])))
    polar_errors (fit, fit->spread_covariance, index, row->m, &size.spread, &turn.spread);
  size.error /= scale;
  size.spread /= scale;
  g_autofree char *title = g_strdup_printf ("azimuth of %s", row->title);
  value_entry (values, row->name, magnitude, size, "nm", row->title, held);
  json_t *entry = value_entry (values, row->angle, angle, turn, "rad", title, held);
  set (entry, "degrees", report_number (angle * 180 / G_PI));
}

json_t *
report_values (const SbOptics *optics, const SbCoordinates *at, const SbFit *fit)
{
  static const char *const titles[] = { "specimen tilt, row", "specimen tilt, column", "depth of the object" };
  json_t *values = json_object ();
  int index = 0;
  for (int t = 0; t < SB_N_TERMS; t++) {
    add_term (values, optics, at, fit, t, index);
    index += optics_terms[t].m > 0 ? 2 : 1;
  }
  for (int i = SB_TILT_ROW; i <= SB_DEPTH; i++) {
    gboolean held = fit == NULL || !fit->fitted[i];
    Deviation deviation = { held ? NAN : fit->error[i], held ? NAN : fit->spread[i] };
    value_entry (values, coordinate_name (i), at->x[i], deviation, i == SB_DEPTH ? "nm" : "mrad", titles[i - SB_TILT_ROW],
                 held);
  }
  return values;
}

json_t *
report_coordinates (const SbCoordinates *at)
{
  json_t *object = json_object ();
  for (int i = 0; i < SB_N_COORDINATES; i++)
    set (object, coordinate_name (i), report_number (at->x[i]));
  set (object, "units", json_string ("rad at the edge, mrad, nm"));
  return object;
}

json_t *
report_branch (const SbFit *fit)
{
  static const char *const names[] = { [SB_BRANCH_KEPT] = "kept",
                                       [SB_BRANCH_TWIN] = "twin",
                                       [SB_BRANCH_INCONCLUSIVE] = "inconclusive",
                                       [SB_BRANCH_PINNED] = "pinned" };
  json_t *object = json_object ();
  set (object, "chosen", json_string (names[fit->branch]));
  set (object, "skewness", report_number (fit->skewness));
  return object;
}

json_t *
report_passes (const SbPasses *passes)
{
  json_t *object = json_object ();
  set (object, "value", report_number (passes->value));
  set (object, "gradient", report_number (passes->gradient));
  set (object, "hessian", report_number (passes->hessian));
  return object;
}

json_t *
report_image (const SbImage *image, const char *method)
{
  json_t *object = json_object ();
  set (object, "method", json_string (method));
  set (object, "shape", report_sizes (image->rows, image->cols));
  set (object, "upsampling", report_sizes (image->factor[0], image->factor[1]));
  set (object, "step", report_pair (image->step[0], image->step[1]));
  set (object, "skewness", report_number (image_skewness (image->phase, (gsize)(image->rows * image->cols))));
  return object;
}
