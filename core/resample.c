/* A fit that moves the detector's sampling also moves the rim of the bright field: G is made again with the pixels that the
 * new sampling takes in, and fitted from where the fit was, until the sampling stays. */
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/work.h"

#define STAYS 5e-4 /* relative; a hundredth of a pixel of a disk of 20 pixels */
enum { ROUNDS = 6 };

static gboolean
make_spectrum (SbWork *work, double sampling, SbProgress *progress, GError **error)
{
  SbCalibration calibration = *work->calibration;
  calibration.sampling = sampling;
  calibration.frame = work->spectrum->frame;
  if (work->engine->memory > 0) /* no room for two */
    g_clear_pointer (&work->spectrum, spectrum_free);
  SbSpectrum *spectrum = spectrum_new (work->engine, work->columns, &work->optics, &calibration, &work->spectrum_options,
                                       progress, error);
  if (spectrum == NULL)
    return FALSE;
  spectrum_free (work->spectrum);
  work->spectrum = spectrum;
  work->calibration->sampling = sampling;
  return TRUE;
}

static void
add_passes (SbPasses *to, const SbPasses *more)
{
  to->value += more->value;
  to->gradient += more->gradient;
  to->hessian += more->hessian;
}

/* The next round's fit in place of *fit, which keeps what is known from the first. */
static gboolean
again (SbWork *work, const SbStart *start, const SbFitOptions *options, SbProgress *progress, SbFit **fit, GError **error)
{
  SbStart from = *start;
  SbFit *was = *fit;
  from.start = was->at;
  for (int i = 0; i < SB_N_COORDINATES; i++)
    from.given[i] = TRUE;
  SbFit *next = fit_run (work->spectrum, &from, options, progress, error);
  if (next == NULL)
    return FALSE;
  add_passes (&next->passes, &was->passes);
  if (was->branch == SB_BRANCH_TWIN)
    next->branch = SB_BRANCH_TWIN;
  fit_free (was);
  *fit = next;
  return TRUE;
}

SbFit *
work_fit (SbWork *work, const SbStart *start, const SbFitOptions *options, SbProgress *progress, GError **error)
{
  if (work->measured_sampling > 0 && work->calibration->sampling != work->measured_sampling
      && !make_spectrum (work, work->measured_sampling, progress, error))
    return NULL;
  work->measured_sampling = work->calibration->sampling;
  SbFit *fit = fit_run (work->spectrum, start, options, progress, error);
  double moved = fit != NULL && options->free_sampling ? fit->sampling_scale : 1;
  for (int round = 1; fit != NULL && moved != 1 && round < ROUNDS; round++) {
    g_autoptr (GError) local = NULL;
    if (!make_spectrum (work, work->calibration->sampling * moved, progress, &local)) {
      if (local->code == SB_ERROR_DATA) { /* pixels that were not kept: the fit stands on those there are */
        g_ptr_array_add (fit->warnings, g_strdup (local->message));
        break;
      }
      g_propagate_error (error, g_steal_pointer (&local));
      g_clear_pointer (&fit, fit_free);
      break;
    }
    if (fabs (moved - 1) < STAYS)
      break;
    if (!again (work, start, options, progress, &fit, error))
      g_clear_pointer (&fit, fit_free);
    else
      moved = fit->sampling_scale;
  }
  return fit;
}
