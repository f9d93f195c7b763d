/* Pictures that are written as PNG: grey images with a scale bar, and the one that proves a calibration. */
#ifndef SB_CORE_PICTURE_H
#define SB_CORE_PICTURE_H

#include "core/calibrate.h"

/* 0.1 and 99.9 percentile of the finite samples (0, 1 without any): what is drawn black and white. */
void picture_range (const float *image, gsize n, double *low, double *high);
/* All return NULL where there is no memory. rgb [rows * cols * 3], g_malloc. Grey from the 0.1 and 99.9
 * percentile. */
guint8 *picture_grey (const float *image, gint64 rows, gint64 cols);
/* A phase image magnified to at least 400 pixels a side, with a scale bar ("1 nm") and the grey range. step:
 * nm (NAN: no scale bar); unit: of the samples ("rad"). The strip with both stands below the image and counts
 * in out_rows. */
guint8 *picture_image (const float *image, gint64 rows, gint64 cols, double step_row, double step_col, const char *unit,
                       gint64 *out_rows, gint64 *out_cols);
/* Mean pattern with the fitted circle and the circle of the given semi-angle, beside S against rotation for
 * both orientations (axes, ticks, labels, legend, the chosen angle marked). */
guint8 *picture_calibration (const SbPattern *pattern, const SbCalibration *calibration, double semiangle, gint64 *out_rows,
                             gint64 *out_cols);

#endif
