/* What of the result is no measurement: sentences for people, words for programs. */
#include <math.h>

#include "core/error.h"
#include "core/fit/stages.h"

#define NO_GAIN 1e-4 /* of S, by tilt and depth */
#define WITHIN 4.0   /* squared errors: two standard deviations */

static void
flag (SbFit *fit, const char *word, char *sentence)
{
  g_ptr_array_add (fit->flags, g_strdup (word));
  g_ptr_array_add (fit->warnings, sentence);
}

/* Squared length of (x[a], x[a + 1]) in units of their covariance; spread and error, whichever is larger. */
static double
squared_errors (const SbFit *fit, int a)
{
  double x = fit->at.x[a], y = fit->at.x[a + 1], xx, xy, yy;
  const double (*c)[SB_N_COORDINATES] = fit->covariance;
  xx = c[a][a];
  xy = c[a][a + 1];
  yy = c[a + 1][a + 1];
  if (isfinite (fit->spread[a]) && isfinite (fit->spread[a + 1])
      && fit->spread_covariance[a][a] + fit->spread_covariance[a + 1][a + 1] > xx + yy) {
    xx = fit->spread_covariance[a][a];
    xy = 0;
    yy = fit->spread_covariance[a + 1][a + 1];
  }
  double determinant = xx * yy - xy * xy;
  return determinant > 0 ? (x * x * yy - 2 * x * y * xy + y * y * xx) / determinant : INFINITY;
}

static void
flag_limits (const SbStart *start, SbFit *fit)
{
  for (int i = 0; i < SB_N_COORDINATES; i++) {
    gboolean limit = fit->at.x[i] <= start->low[i] || fit->at.x[i] >= start->high[i];
    const char *unit = i < SB_N_CHI ? "rad at the edge" : i == SB_DEPTH ? "nm" : "mrad";
    if (start->locked[i] || !limit)
      continue;
    if (i == SB_DEPTH && fit->at.x[i] == 0) {
      flag (fit, "depth_zero",
            g_strdup ("The depth came out as zero: the object is thin for these data, and its tilt is "
                      "not determined."));
      continue;
    }
    g_autofree char *word = sb_text ("at_limit:%s", coordinate_name (i));
    flag (fit, word,
          sb_text ("%s stopped at its limit of %.4g %s: it is not a measurement; give a wider range.", coordinate_name (i),
                   fit->at.x[i], unit));
  }
}

void
flags_fill (const SbStart *start, SbFit *fit)
{
  flag_limits (start, fit);
  if (fit->fitted[1] && fit->fitted[2] && isfinite (fit->error[1]) && squared_errors (fit, 1) < WITHIN)
    flag (fit, "phi12_undetermined", g_strdup ("C12 is zero within its error: phi12 is not determined."));
  if (!fit->fitted[SB_TILT_ROW] || !fit->fitted[SB_TILT_COL] || fit->at.x[SB_DEPTH] == 0 || isnan (fit->error[SB_TILT_ROW]))
    return;
  if (fit->gain < 1 + NO_GAIN || squared_errors (fit, SB_TILT_ROW) < WITHIN)
    flag (fit, "tilt_undetermined",
          sb_text ("The tilt is not determined (within its error of zero, or depth and tilt "
                   "explain no more: gain %.4f): it shows only in columns along the beam.",
                   fit->gain));
}
