/* Optics: wavelength, the 28 fit coordinates, chi and its monomials. See the model's Conventions. */
#ifndef SB_CORE_OPTICS_H
#define SB_CORE_OPTICS_H

#include <glib.h>

#include "core/param.h"
#include "kernels/backend.h"

enum { SB_N_CHI = 25, SB_N_COORDINATES = 28, SB_TILT_ROW = 25, SB_TILT_COL = 26, SB_DEPTH = 27, SB_N_TERMS = 14 };

/* One chi coefficient C_nm; m > 0 takes two coordinates (a: cos, b: sin). The row is all there is to adding one. */
typedef struct SbTerm {
  const char *name;  /* "C12" */
  const char *angle; /* "phi12"; NULL where m = 0 */
  const char *title; /* "twofold astigmatism" */
  int n, m;
  double default_range; /* nm, half width of the search (0: not searched) */
} SbTerm;
extern const SbTerm optics_terms[SB_N_TERMS];

/* Coordinates x[28]: chi in rad at the aperture's edge (C10, C12a, C12b, ...), tilt_row, tilt_col in mrad, depth in nm. */
typedef struct SbCoordinates {
  double x[SB_N_COORDINATES];
} SbCoordinates;

/* "C10", "C12a", ..., "tilt_row", "tilt_col", "depth" */
const char *coordinate_name (int index);
int coordinate_index (const char *name); /* -1: none */
int coordinate_order (int index);        /* n of a chi coordinate, 0 for tilt and depth */

typedef struct SbOptics {
  double energy;    /* kV */
  double semiangle; /* mrad */
  double step[2];   /* angstrom, (row, col) */
} SbOptics;

typedef struct SbOpticsOptions {
  double energy;
  double semiangle;
  double step[2];
} SbOpticsOptions;
extern const SbParamGroup optics_params; /* energy, semiangle, step */

/* Relativistic, CODATA; angstrom. */
double optics_wavelength (double energy_kv);
double optics_k_max (const SbOptics *optics); /* semiangle / lambda, 1/angstrom */
/* rad at the edge per nm of a coefficient of order n: 2 pi / lambda * alpha^(n+1) / (n+1) */
double optics_edge_per_nm (const SbOptics *optics, int n);

/* How detector pixels map to the scan frame: rotation in rad, transposed or not. */
typedef struct SbFrame {
  double rotation;
  gboolean transpose;
} SbFrame;
/* A vector of the scan frame seen in the detector frame. */
void frame_to_detector (const SbFrame *frame, const double scan[2], double detector[2]);
/* scan[n][2]. */
void frame_to_detector_all (const SbFrame *frame, gsize n, const double *scan, double *detector_row, double *detector_col);

/* The kernels' plain numbers (detector frame, k in units of k_max, chi in turns) for coordinates of the scan frame. */
void optics_model (const SbOptics *optics, const SbFrame *frame, const SbCoordinates *coordinates, SbkModel *model);
/* Transposed derivative: gradient (30 kernel numbers) -> gradient of the 28 coordinates. */
void optics_gradient (const SbOptics *optics, const SbFrame *frame, const double kernel[SBK_N],
                      double gradient[SB_N_COORDINATES]);
/* jacobian[SBK_N][28]: d kernel number / d coordinate (constant but for tilt and depth scaling, which are linear too). */
void optics_jacobian (const SbOptics *optics, const SbFrame *frame, double *jacobian);

/* chi(k) in rad for k (scan frame) in units of k_max. */
double optics_chi (const SbCoordinates *coordinates, double k_row, double k_col);

/* Polar values, nm and rad: C_nm >= 0 for m > 0, phi in (-pi/m, pi/m]. */
void optics_polar (const SbOptics *optics, const SbCoordinates *coordinates, int term, double *c_nm, double *phi);
void optics_from_polar (const SbOptics *optics, int term, double c_nm, double phi, SbCoordinates *coordinates);

/* Exact twin: rotation + 180 deg, odd n and tilt negated, even n and depth kept. */
void coordinates_twin (const SbCoordinates *in, SbCoordinates *out);

#endif
