#include "core/axisunits.h"

#include <math.h>
#include <string.h>

/* As DigitalMicrograph, Swift, py4DSTEM and EMD write them, without blanks and brackets. */
static const struct {
  const char *name;
  SbAxisKind kind;
  double factor;
} units_known[] = {
  { "A", SB_AXIS_LENGTH, 1 },
  { "Å", SB_AXIS_LENGTH, 1 },
  { "\xe2\x84\xab", SB_AXIS_LENGTH, 1 }, /* the sign of its own */
  { "angstrom", SB_AXIS_LENGTH, 1 },
  { "Angstrom", SB_AXIS_LENGTH, 1 },
  { "n_m", SB_AXIS_LENGTH, 10 },
  { "nm", SB_AXIS_LENGTH, 10 },
  { "um", SB_AXIS_LENGTH, 1e4 },
  { "µm", SB_AXIS_LENGTH, 1e4 },
  { "μm", SB_AXIS_LENGTH, 1e4 },
  { "pm", SB_AXIS_LENGTH, 0.01 },
  { "mm", SB_AXIS_LENGTH, 1e7 },
  { "m", SB_AXIS_LENGTH, 1e10 },
  { "mrad", SB_AXIS_ANGLE, 1 },
  { "rad", SB_AXIS_ANGLE, 1e3 },
  { "urad", SB_AXIS_ANGLE, 1e-3 },
  { "µrad", SB_AXIS_ANGLE, 1e-3 },
  { "deg", SB_AXIS_ANGLE, 1e3 * G_PI / 180 },
  { "1/A", SB_AXIS_RECIPROCAL, 1 },
  { "1/Å", SB_AXIS_RECIPROCAL, 1 },
  { "A^-1", SB_AXIS_RECIPROCAL, 1 },
  { "Å^-1", SB_AXIS_RECIPROCAL, 1 },
  { "A-1", SB_AXIS_RECIPROCAL, 1 },
  { "1/nm", SB_AXIS_RECIPROCAL, 0.1 },
  { "nm^-1", SB_AXIS_RECIPROCAL, 0.1 },
  { "nm-1", SB_AXIS_RECIPROCAL, 0.1 },
  { "n_m^-1", SB_AXIS_RECIPROCAL, 0.1 },
  { "1/m", SB_AXIS_RECIPROCAL, 1e-10 },
  { "1/um", SB_AXIS_RECIPROCAL, 1e-4 },
  { "1/µm", SB_AXIS_RECIPROCAL, 1e-4 },
};

SbAxisKind
axis_kind (const char *units, double *factor)
{
  g_autofree char *plain = g_strdup (units != NULL ? units : "");
  char *to = plain;
  for (const char *from = plain; *from != '\0'; from++)
    if (strchr (" []()\t", *from) == NULL)
      *to++ = *from;
  *to = '\0';
  *factor = 0;
  for (guint i = 0; i < G_N_ELEMENTS (units_known); i++)
    if (strcmp (plain, units_known[i].name) == 0) {
      *factor = units_known[i].factor;
      return units_known[i].kind;
    }
  return SB_AXIS_UNKNOWN;
}

static double
sane (double x)
{
  return isfinite (x) && x > 0 ? x : NAN;
}

double
axis_step (double scale, const char *units)
{
  double factor;
  return axis_kind (units, &factor) == SB_AXIS_LENGTH ? sane (fabs (scale) * factor) : NAN;
}
