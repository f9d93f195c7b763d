/* The pixels that take part: those of the disk, by detector row. */
#ifndef SB_CORE_BRIGHT_FIELD_H
#define SB_CORE_BRIGHT_FIELD_H

#include "core/calibrate.h"
#include "core/columns.h"

typedef struct SbBrightField {
  gint64 n, n_rows;
  gint64 *column; /* place in columns->counts */
  gint64 *row_start;
  double *row_x, *pixel_y;
} SbBrightField;

/* Decided once, in float64 and detector pixels, before any rotation. */
gboolean bright_field_find (SbBrightField *b, const SbColumns *columns, double semiangle, const SbCalibration *calibration,
                            GError **error);
void bright_field_clear (SbBrightField *b);
/* Mean of A^2 over the pixels. */
double bright_field_power (const SbBrightField *b, double edge);

#endif
