#include "core/axes.h"

#include <math.h>
#include <string.h>

#include "core/axisunits.h"
#include "core/error.h"

/* Scale of two detector axes that belong to square pixels. */
static const double SQUARE = 0.01;

void
axes_clear (SbAxis axes[4])
{
  for (int i = 0; i < 4; i++)
    g_clear_pointer (&axes[i].units, g_free);
}

/* An axis that nobody calibrated. */
static gboolean
is_plain (const SbAxis *axis)
{
  static const char *const words[] = { "",        "pixel",       "pixels", "px",   "pix",  "[]",
                                       "unknown", "<undefined>", "None",   "a.u.", "[pix]" };
  for (guint i = 0; axis->units != NULL && i < G_N_ELEMENTS (words); i++)
    if (strcmp (axis->units, words[i]) == 0)
      return TRUE;
  return axis->units == NULL || !isfinite (axis->scale) || axis->scale == 0;
}

static gboolean
check_units (const char *path, const SbAxis axes[4], GError **error)
{
  static const char *const names[4] = { "scan row", "scan column", "detector row", "detector column" };
  SbAxisKind kind[4];
  double factor;
  for (int i = 0; i < 4; i++) {
    kind[i] = is_plain (&axes[i]) ? SB_AXIS_UNKNOWN : axis_kind (axes[i].units, &factor);
    if (kind[i] == SB_AXIS_UNKNOWN && !is_plain (&axes[i]))
      return sb_fail (error, SB_ERROR_DATA,
                      "%s gives its %s axis in %s, which is not known: correct it to nm, A, mrad, rad, 1/nm or A^-1 (or "
                      "to pixels where it is not calibrated).",
                      path, names[i], axes[i].units);
  }
  gboolean scan_first = kind[0] == SB_AXIS_LENGTH || kind[1] == SB_AXIS_LENGTH;
  gboolean detector_first = kind[0] == SB_AXIS_RECIPROCAL || kind[0] == SB_AXIS_ANGLE || kind[1] == SB_AXIS_RECIPROCAL
                            || kind[1] == SB_AXIS_ANGLE;
  if (detector_first && !scan_first && kind[2] != SB_AXIS_RECIPROCAL && kind[2] != SB_AXIS_ANGLE)
    return sb_fail (error, SB_ERROR_DATA,
                    "%s is stored with the detector's axes first (in %s): save it as [scan row, scan column, detector "
                    "row, detector column].",
                    path, axes[0].units != NULL ? axes[0].units : axes[1].units);
  return TRUE;
}

/* Both detector axes in mrad, or in 1/angstrom where that is what the file says; NAN. */
static gboolean
check_square (const char *path, const SbAxis axes[4], GError **error)
{
  double factor[2];
  SbAxisKind kind[2];
  for (int i = 0; i < 2; i++)
    kind[i] = is_plain (&axes[i + 2]) ? SB_AXIS_UNKNOWN : axis_kind (axes[i + 2].units, &factor[i]);
  if (kind[0] == SB_AXIS_UNKNOWN || kind[0] != kind[1])
    return TRUE;
  double row = fabs (axes[2].scale) * factor[0], col = fabs (axes[3].scale) * factor[1];
  return fabs (row / col - 1) <= SQUARE
         || sb_fail (error, SB_ERROR_DATA,
                     "%s says that a detector pixel is %g %s high and %g %s wide; only square pixels can be used: bin the "
                     "frames to square ones.",
                     path, fabs (axes[2].scale), axes[2].units, fabs (axes[3].scale), axes[3].units);
}

gboolean
axes_apply (const char *path, const SbAxis axes[4], SbHeader *header, GError **error)
{
  double factor;
  if (!check_units (path, axes, error) || !check_square (path, axes, error))
    return FALSE;
  for (int i = 0; i < 2; i++)
    if (isnan (header->step[i]) && !is_plain (&axes[i]))
      header->step[i] = axis_step (axes[i].scale, axes[i].units);
  const SbAxis *axis = is_plain (&axes[2]) ? &axes[3] : &axes[2];
  if (is_plain (axis))
    return TRUE;
  SbAxisKind kind = axis_kind (axis->units, &factor);
  if (kind == SB_AXIS_ANGLE && isnan (header->sampling))
    header->sampling = fabs (axis->scale) * factor;
  if (kind == SB_AXIS_RECIPROCAL && isnan (header->reciprocal))
    header->reciprocal = fabs (axis->scale) * factor;
  return TRUE;
}
