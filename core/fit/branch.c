#include <math.h>

#include "core/error.h"
#include "core/fit/stages.h"
#include "core/reconstruct.h"

#define DECIDES 0.2 /* skewness beyond which the sign of the phase is taken as known */

static gboolean
native_skewness (const SbStages *stages, const SbCoordinates *at, double *skewness, GError **error)
{
  char method[] = "phase";
  SbReconstructionOptions options = { .method = method, .upsampling = 1, .regularisation = NAN };
  SbImage *image = reconstruct (stages->spectrum, at, &options, NULL, error);
  if (image == NULL)
    return FALSE;
  *skewness = image_skewness (image->phase, (gsize)(image->rows * image->cols));
  image_free (image);
  return TRUE;
}

static gboolean
turn_to_twin (const SbStages *stages, SbFit *fit, GError **error)
{
  enum { N = SB_N_COORDINATES };
  SbFrame frame = stages->spectrum->frame;
  SbCoordinates twin, ones, sign;
  for (int i = 0; i < N; i++)
    ones.x[i] = 1;
  coordinates_twin (&ones, &sign);
  coordinates_twin (&fit->at, &twin);
  fit->at = twin;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      fit->covariance[i][j] *= sign.x[i] * sign.x[j];
      fit->spread_covariance[i][j] *= sign.x[i] * sign.x[j];
    }
  frame.rotation += frame.rotation > 0 ? -G_PI : G_PI;
  fit->skewness = -fit->skewness;
  return spectrum_set_frame (stages->spectrum, &frame, error);
}

gboolean
branch_choose (const SbStages *stages, const char *choice, SbFit *fit, GError **error)
{
  gboolean pinned = g_strcmp0 (choice, "auto") != 0 && choice != NULL;
  if (!native_skewness (stages, &fit->at, &fit->skewness, error))
    return FALSE;
  gboolean twin = pinned ? g_str_equal (choice, "twin") : fit->skewness < -DECIDES;
  fit->branch = pinned                                                         ? SB_BRANCH_PINNED
                : twin                                                         ? SB_BRANCH_TWIN
                : fabs (fit->skewness) <= DECIDES || !isfinite (fit->skewness) ? SB_BRANCH_INCONCLUSIVE
                                                                               : SB_BRANCH_KEPT;
  if (fit->branch == SB_BRANCH_INCONCLUSIVE)
    g_ptr_array_add (fit->warnings,
                     sb_text ("The sign of the phase is inconclusive (skewness %.2f): the rotation could be off by 180 "
                              "degrees; give branch = keep or twin.",
                              fit->skewness));
  if (pinned && !twin && fit->skewness < -DECIDES)
    g_ptr_array_add (fit->warnings,
                     sb_text ("Atoms come out with a negative phase (skewness %.2f): branch = twin turns the rotation "
                              "by 180 degrees.",
                              fit->skewness));
  return !twin || turn_to_twin (stages, fit, error);
}
