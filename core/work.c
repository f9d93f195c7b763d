#include "core/work.h"

#include <math.h>

#include "core/descan.h"
#include "core/error.h"

SbWork *
work_new (SbEngine *engine, SbAcquisition *acquisition)
{
  SbWork *work = g_new0 (SbWork, 1);
  work->engine = engine;
  work->acquisition = acquisition;
  work->agreement_zero = NAN;
  g_mutex_init (&work->busy);
  return work;
}

void
work_take_columns (SbWork *work, SbColumns *columns)
{
  work_forget_spectrum (work);
  g_clear_pointer (&work->columns, columns_free);
  work->columns = columns;
  work->pushed = columns != NULL;
}

void
work_forget_spectrum (SbWork *work)
{
  g_clear_pointer (&work->spectrum, spectrum_free);
  g_clear_pointer (&work->calibration, calibration_free);
  g_clear_pointer (&work->calibration_options.orientation, g_free);
  work->calibration_passes = (SbPasses){ 0 };
  work->agreement_zero = NAN;
  work->measured_sampling = 0;
}

void
work_free (SbWork *work)
{
  if (work == NULL)
    return;
  work_forget_spectrum (work);
  g_clear_pointer (&work->columns, columns_free);
  g_mutex_clear (&work->busy);
  g_free (work);
}

gboolean
work_lock (SbWork *work, SbProgress *progress, GError **error)
{
  while (!g_mutex_trylock (&work->busy)) {
    if (progress_cancelled (progress))
      return sb_fail (error, SB_ERROR_CANCELLED, "Cancelled.");
    g_usleep (10000);
  }
  return TRUE;
}

void
work_unlock (SbWork *work)
{
  g_mutex_unlock (&work->busy);
}

/* ---- columns ---- */

static gboolean
scan_is_usable (const SbAcquisition *acquisition, GError **error)
{
  if (acquisition->used_rows >= 2 && acquisition->used_cols >= 2)
    return TRUE;
  return sb_fail (error, SB_ERROR_DATA,
                  "The scan has %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT
                  " points, too few for ptychography; give scan_shape where the file does not know it.",
                  acquisition->used_rows, acquisition->used_cols);
}

/* Whether all good pixels of the disk the user describes were kept. */
static gboolean
columns_hold (const SbColumns *columns, const double centre[2], double radius)
{
  const SbPattern *pattern = &columns->pattern;
  SbDisk disk = { { centre[0], centre[1] }, radius };
  if (isnan (centre[0]) || isnan (centre[1]) || isnan (radius)) {
    SbDisk found;
    if (!disk_find (pattern->mean, pattern->bad, pattern->rows, pattern->cols, &found, NULL))
      return TRUE; /* the caller meets the same failure and words it */
    if (isnan (centre[0]) || isnan (centre[1])) {
      disk.centre[0] = found.centre[0];
      disk.centre[1] = found.centre[1];
    }
    disk.radius = isnan (radius) ? found.radius : radius;
  }
  gint64 kept = 0;
  for (gint64 p = 0; p < pattern->rows * pattern->cols; p++) {
    while (kept < columns->n_pixels && columns->pixel[kept] < p)
      kept++;
    double row = (double)(p / pattern->cols) - disk.centre[0], col = (double)(p % pattern->cols) - disk.centre[1];
    if (row * row + col * col > disk.radius * disk.radius || pattern->bad[p])
      continue;
    if (kept == columns->n_pixels || columns->pixel[kept] != p)
      return FALSE;
  }
  return TRUE;
}

gboolean
work_need_columns (SbWork *work, const SbOptics *optics, const SbCalibrationOptions *calibration, SbProgress *progress,
                   SbSeconds *seconds, GError **error)
{
  double radius = optics->semiangle / calibration->sampling; /* NAN where either is not known */
  if (!scan_is_usable (work->acquisition, error))
    return FALSE;
  if (work->columns != NULL && (work->pushed || columns_hold (work->columns, calibration->centre, radius)))
    return TRUE;
  if (work->acquisition->path == NULL)
    return sb_fail (error, SB_ERROR_STATE, "The frames are not all there yet; push the rest and finish before starting.");
  gint64 start = g_get_monotonic_time ();
  work_forget_spectrum (work);
  g_clear_pointer (&work->columns, columns_free);
  work->columns = descan_load (work->engine, work->acquisition, calibration->centre, radius, progress, error);
  seconds->load += (double)(g_get_monotonic_time () - start) * 1e-6;
  return work->columns != NULL;
}

/* ---- calibration and G ---- */

/* NAN equals NAN: both are "not given". */
static gboolean
same (double a, double b)
{
  return a == b || (isnan (a) && isnan (b));
}

static gboolean
made_with (const SbWork *work, const SbOptics *optics, const SbCalibrationOptions *calibration,
           const SbSpectrumOptions *spectrum)
{
  const SbCalibrationOptions *c = &work->calibration_options;
  const SbSpectrumOptions *s = &work->spectrum_options;
  const SbOptics *o = &work->optics;
  return work->spectrum != NULL && o->energy == optics->energy && o->semiangle == optics->semiangle
         && o->step[0] == optics->step[0] && o->step[1] == optics->step[1] && same (c->centre[0], calibration->centre[0])
         && same (c->centre[1], calibration->centre[1]) && same (c->sampling, calibration->sampling)
         && same (c->rotation, calibration->rotation) && g_strcmp0 (c->orientation, calibration->orientation) == 0
         && same (s->band[0], spectrum->band[0]) && same (s->band[1], spectrum->band[1]) && s->edge == spectrum->edge;
}

gboolean
work_need_spectrum (SbWork *work, const SbOptics *optics, const SbCalibrationOptions *calibration,
                    const SbSpectrumOptions *spectrum, SbProgress *progress, SbSeconds *seconds, GError **error)
{
  if (made_with (work, optics, calibration, spectrum))
    return TRUE;
  gint64 start = g_get_monotonic_time ();
  work_forget_spectrum (work);
  work->calibration = calibrate_run (work->engine, work->columns, optics, calibration, spectrum, &work->spectrum,
                                     &work->calibration_passes, progress, error);
  /* With the rotation given nothing is searched: the time went into G. */
  gboolean searched = isnan (calibration->rotation) || g_strcmp0 (calibration->orientation, "auto") == 0;
  *(searched ? &seconds->calibrate : &seconds->prepare) += (double)(g_get_monotonic_time () - start) * 1e-6;
  if (work->calibration == NULL) {
    work_forget_spectrum (work);
    return FALSE;
  }
  work->optics = *optics;
  work->calibration_options = *calibration;
  work->calibration_options.orientation = g_strdup (calibration->orientation);
  work->spectrum_options = *spectrum;
  work->chosen = work->calibration->frame;
  return TRUE;
}
