#include "core/rotation.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/fit/stages.h"

#define REACH 0.4      /* k_max, of the coarse scan */
#define UNCERTAIN 1.01 /* ratio of S below which two orientations cannot be told apart */
enum { TRIALS = 100, REFINED = 2, SECTIONS = 9, SUBSET_PIXELS = 256, SUBSET = 8 };

/* The search of one frame: low order, thin, the usual ranges. */
typedef struct {
  SbStages stages;
  SbStart start;
  SbCoordinates origin;
} Thin;

static gboolean
thin_init (Thin *thin, SbSpectrum *spectrum, SbPasses *passes, SbProgress *progress, GError **error)
{
  SbAberrationOptions none = { NULL, NULL, NULL, NULL, NULL };
  SbFitOptions fit;
  param_group_defaults (&fit_params, &fit);
  gboolean ok = start_resolve (&thin->start, &none, &fit, &spectrum->optics, NULL, error);
  thin->origin = thin->start.start;
  thin->stages = (SbStages){ spectrum, &thin->start, TRIALS, fit.seed, passes, progress };
  param_group_clear (&fit_params, &fit);
  return ok;
}

/* One place of the (orientation, angle) plane with its best low order. */
typedef struct {
  SbFrame frame;
  SbCandidate best;
} Place;

static gboolean
place_search (Thin *thin, Place *place, double reach, GError **error)
{
  SbCandidate kept[SB_KEPT];
  int n;
  if (!spectrum_set_frame (thin->stages.spectrum, &place->frame, error)
      || !search_low_order (&thin->stages, reach, kept, &n, error))
    return FALSE;
  place->best = kept[0];
  return TRUE;
}

/* S of the thin low-order model on the whole band, from the place's own values. */
static gboolean
place_polish (Thin *thin, Place *place, GError **error)
{
  SbMaximum maximum;
  gint64 stride = stages_stride (thin->stages.spectrum, SUBSET_PIXELS, stages_most (thin->stages.spectrum, SUBSET));
  if (!spectrum_set_frame (thin->stages.spectrum, &place->frame, error)
      || !thin_fit (&thin->stages, &place->best, stride, &maximum, error))
    return FALSE;
  place->best.at = maximum.at;
  place->best.s = maximum.s;
  return TRUE;
}

/* Golden sections of the angle round a place, to a fifth of a degree, then a parabola. */
static gboolean
place_refine (Thin *thin, Place *place, double half_width, GError **error)
{
  const double golden = 0.38196601125010515;
  double low = place->frame.rotation - half_width, high = place->frame.rotation + half_width;
  Place a = *place, b = *place;
  a.frame.rotation = low + golden * (high - low);
  b.frame.rotation = high - golden * (high - low);
  if (!place_polish (thin, &a, error) || !place_polish (thin, &b, error))
    return FALSE;
  for (int i = 0; i < SECTIONS; i++) {
    if (a.best.s >= b.best.s) {
      high = b.frame.rotation;
      b = a;
      a.frame.rotation = low + golden * (high - low);
      if (!place_polish (thin, &a, error))
        return FALSE;
    } else {
      low = a.frame.rotation;
      a = b;
      b.frame.rotation = high - golden * (high - low);
      if (!place_polish (thin, &b, error))
        return FALSE;
    }
  }
  *place = a.best.s >= b.best.s ? a : b;
  return TRUE;
}

/* One angle of the scan: every third is searched, its neighbours start from what it found. */
static gboolean
scan_angle (Thin *thin, Place *places, int i, int n, GError **error)
{
  gboolean searched = i % 3 == 1 || n == 1;
  int near = CLAMP (i - i % 3 + 1, 0, n - 1);
  thin->stages.trials = searched ? TRIALS : 0;
  thin->start.start = searched ? thin->origin : places[near].best.at;
  gboolean ok = place_search (thin, &places[i], REACH, error);
  thin->stages.trials = TRIALS;
  thin->start.start = thin->origin;
  return ok;
}

/* S every 10 degrees of each orientation that is open. */
static gboolean
scan (Thin *thin, SbCalibration *calibration, Place *places, int *n, GError **error)
{
  int steps = calibration->given_rotation ? 1 : SB_ROTATION_STEPS, done = 0;
  *n = 0;
  for (int o = 0; o < 2; o++) {
    if (calibration->given_orientation && o != calibration->frame.transpose)
      continue;
    Place *mine = places + *n;
    for (int i = 0; i < steps; i++)
      mine[i].frame = (SbFrame){ calibration->given_rotation ? calibration->frame.rotation
                                                             : calibration->scan_angle[i] * G_PI / 180,
                                 o };
    for (int pass = 0; pass < 2; pass++)
      for (int i = 0; i < steps; i++) {
        if ((i % 3 == 1 || steps == 1) != (pass == 0))
          continue;
        if (!scan_angle (thin, mine, i, steps, error)
            || !progress_step (thin->stages.progress, 0.7 * ++done / (2.0 * steps), error))
          return FALSE;
        calibration->scan_agreement[o][i] = mine[i].best.s;
      }
    *n += steps;
  }
  return TRUE;
}

/* The best places, neighbours on the circle of 180 degrees counted as one. */
static int
pick (const Place *places, int n, Place *best)
{
  int count = 0;
  gboolean taken[2 * SB_ROTATION_STEPS] = { FALSE };
  while (count < REFINED) {
    int top = -1;
    for (int i = 0; i < n; i++)
      if (!taken[i] && (top < 0 || places[i].best.s > places[top].best.s))
        top = i;
    if (top < 0)
      break;
    best[count++] = places[top];
    for (int i = 0; i < n; i++) {
      double apart = remainder (places[i].frame.rotation - places[top].frame.rotation, G_PI);
      if (places[i].frame.transpose == places[top].frame.transpose && fabs (apart) < 1.5 * G_PI / SB_ROTATION_STEPS)
        taken[i] = TRUE;
    }
  }
  return count;
}

static void
note_orientations (SbCalibration *calibration)
{
  double best[2] = { 0, 0 };
  for (int o = 0; o < 2; o++)
    for (int i = 0; i < SB_ROTATION_STEPS; i++)
      if (!isnan (calibration->scan_agreement[o][i]))
        best[o] = fmax (best[o], calibration->scan_agreement[o][i]);
  if (best[0] > 0 && best[1] > 0 && fmax (best[0] / best[1], best[1] / best[0]) < UNCERTAIN)
    g_ptr_array_add (
        calibration->warnings,
        sb_text ("Orientation is uncertain: S = %.4g as recorded, %.4g transposed; give orientation.", best[0], best[1]));
}

gboolean
rotation_find (SbCalibration *calibration, SbSpectrum *spectrum, SbPasses *passes, SbProgress *progress, GError **error)
{
  Thin thin;
  Place places[2 * SB_ROTATION_STEPS], best[REFINED];
  int n, count;
  if (!thin_init (&thin, spectrum, passes, progress, error) || !scan (&thin, calibration, places, &n, error))
    return FALSE;
  count = pick (places, n, best);
  thin.stages.trials = 0; /* outward from what the scan found */
  for (int i = 0; i < count; i++) {
    thin.start.start = best[i].best.at;
    if (!place_search (&thin, &best[i], 2, error) || !place_polish (&thin, &best[i], error)
        || (!calibration->given_rotation && !place_refine (&thin, &best[i], G_PI / SB_ROTATION_STEPS, error))
        || !progress_step (progress, 0.7 + 0.3 * (i + 1) / count, error))
      return FALSE;
  }
  int top = count > 1 && best[1].best.s > best[0].best.s ? 1 : 0;
  calibration->frame = best[top].frame;
  calibration->frame.rotation = remainder (calibration->frame.rotation, 2 * G_PI);
  note_orientations (calibration);
  return spectrum_set_frame (spectrum, &calibration->frame, error);
}
