/* What the axes of microscopy files are calibrated in: "nm", "A^-1", "1/nm", "mrad" ... */
#ifndef SB_CORE_AXISUNITS_H
#define SB_CORE_AXISUNITS_H

#include <glib.h>

/* The kind of axis that a unit stands for. */
typedef enum SbAxisKind { SB_AXIS_UNKNOWN, SB_AXIS_LENGTH, SB_AXIS_ANGLE, SB_AXIS_RECIPROCAL } SbAxisKind;
/* *factor: to angstrom, mrad or 1/angstrom (units NULL, or unknown: 0). */
SbAxisKind axis_kind (const char *units, double *factor);
/* The step in angstrom of a scan axis; NAN: no positive finite number, or not a length. */
double axis_step (double scale, const char *units);

#endif
