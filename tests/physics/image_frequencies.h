/* Single frequencies of an image, for comparing images of different sampling over one band. */
#ifndef SB_TESTS_IMAGE_FREQUENCIES_H
#define SB_TESTS_IMAGE_FREQUENCIES_H

#include <complex.h>
#include <glib.h>

/* Frequencies (i, j), |i|, |j| <= half, of an image over its own field of view: [2 half + 1]^2, g_malloc. */
double complex *image_frequencies (const float *image, gint64 rows, gint64 cols, int half);

#endif
