/* A simulated acquisition (the film of examples/acquisitions), and the same with scan rows and columns left out. */
#ifndef SB_TESTS_SPARSE_H
#define SB_TESTS_SPARSE_H

#include <jansson.h>

#include "core/fit/fit.h"
#include "core/reconstruct.h"

typedef struct Film {
  char *folder, *name;
  json_t *about; /* film.json */
  SbEngine *engine;
  SbAcquisition *acquisition;
  SbColumns *columns;
} Film;

Film *film_open (const char *precision);
/* Another one of the same form; NULL, and the test skipped, where it is not there. */
Film *film_open_other (const char *root, const char *name, const char *precision);
Film *film_open_in (const char *folder, const char *name, const char *precision); /* 300 kV, 30 mrad, 0.4 Å */
void film_close (Film *film);
/* Every `keep`-th row and column of the scan; calibrated as the file of the simulation says, turned and scaled by these. */
SbSpectrum *film_spectrum (const Film *film, gint64 keep, double turn, double scale);
/* "truth" or "optimum" (of S) */
SbCoordinates film_coordinates (const Film *film, const char *key);
/* Correlation with the projected potential over |q| < limit (k_max); of an image [rows * cols] over the film's field. */
double film_correlation (const Film *film, const float *image, gint64 rows, gint64 cols, double limit);
double film_c10 (const SbCoordinates *at); /* nm */

#endif
