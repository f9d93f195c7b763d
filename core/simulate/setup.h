/* What is simulated, resolved from the options: optics, geometry, grids.
 *
 * Two frames: the scan's, and the simulation's, whose axes are the detector's (before its transposition), so
 * that detector pixels are sums over the grid of k whatever the rotation. The mid-plane of the object is z =
 * 0. */
#ifndef SB_CORE_SIMULATE_SETUP_H
#define SB_CORE_SIMULATE_SETUP_H

#include "core/simulate/simulate.h"
#include "core/simulate/specimen.h"

typedef struct SbSimulation {
  SbOptics optics;
  SbCoordinates at;  /* chi at the mid-plane, tilt (mrad), depth = thickness (nm) */
  double wavelength; /* angstrom */
  double k_max;      /* 1/angstrom */
  gint64 scan[2], detector[2];
  double centre[2]; /* detector pixels */
  double sampling;  /* mrad / pixel */
  SbFrame frame;
  gboolean soft, periodic;
  double dose;
  guint64 seed;
  double extent[2]; /* of the scan, angstrom */
  double period[2]; /* of the specimen in the simulation's frame, angstrom */
  double cell[2];   /* whole number of periods */
  gint64 grid[2];
  double band_limit; /* of the grid, 1/angstrom */
  double thickness;  /* angstrom */
  gint64 n_slices;
} SbSimulation;

/* atoms: of specimen = file, or NULL; it gives the period and thickness that the options do not. */
gboolean simulation_init (SbSimulation *simulation, const SbSimulateOptions *options, const SbSpecimen *atoms, GError **error);
/* A point or (turn only) a vector of the scan's frame in the simulation's, and back. */
void simulation_turn (const SbSimulation *simulation, const double scan[2], double out[2]);
void simulation_turn_back (const SbSimulation *simulation, const double in[2], double scan[2]);
void simulation_point (const SbSimulation *simulation, const double scan[2], double out[2]);
void simulation_point_back (const SbSimulation *simulation, const double in[2], double scan[2]);
/* Frequency number i of an axis, in FFT order; 1/angstrom. */
double simulation_frequency (const SbSimulation *simulation, int axis, gint64 i);
/* The aperture at |k|^2 (1/angstrom^2). */
double simulation_aperture (const SbSimulation *simulation, double k_squared);
double simulation_chi (const SbSimulation *simulation, const double k[2]); /* rad; k of the simulation's frame */

#endif
