/* The exact values of tests/data/golden (float64, another program's), for tests of the objective and of the images. */
#ifndef SB_TESTS_GOLDEN_H
#define SB_TESTS_GOLDEN_H

#include <glib.h>
#include <hdf5.h>

#include "core/optics.h"
#include "kernels/backend.h"

typedef struct Golden {
  hid_t file;
  double lambda, k_max, edge_width; /* angstrom, 1/angstrom */
} Golden;

/* name: "images-dense". Ends the test program with a sentence where the file is not there. */
Golden *golden_open (const char *name);
void golden_close (Golden *golden);
/* A dataset as doubles, C order; dims (4, may be NULL) is filled up with 1. */
double *golden_array (const Golden *golden, const char *name, gint64 *dims);
gboolean golden_has (const Golden *golden, const char *name);
/* Number i of an attribute. */
double golden_attribute (const Golden *golden, const char *name, int i);
/* p (rad, tilt rad, depth angstrom) in the library's coordinates. */
void golden_coordinates (const Golden *golden, SbCoordinates *coordinates);

/* The bright-field pixels of the file on the detector's lattice: k is that lattice rotated by `rotation` (rad). */
typedef struct GoldenPixels {
  SbkPixels pixels;
  gint64 *order; /* [n_pixels] pixel of the file at each place */
  double *row_x, *pixel_y;
  gint64 *row_start;
  double mean_a2; /* mean of A^2 */
} GoldenPixels;
GoldenPixels *golden_pixels (const Golden *golden, double rotation);
void golden_pixels_free (GoldenPixels *pixels);

#endif
