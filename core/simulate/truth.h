/* What was simulated, for comparison: the phase image and the numbers. */
#ifndef SB_CORE_SIMULATE_TRUTH_H
#define SB_CORE_SIMULATE_TRUTH_H

#include <jansson.h>

#include "core/simulate/setup.h"

/* The phase (rad) of the projected potential at the mid-plane, low-passed at 1.9 k_max, zero mean, [3 rows, 3
 * cols] of the scan; atoms in the simulation's frame, before the tilt. g_free. */
float *truth_image (const SbSimulation *simulation, const SbSpecimen *specimen, SbProgress *progress, GError **error);
/* The bytes of a .npy file with it (g_free). */
guint8 *truth_npy (const SbSimulation *simulation, const float *image, gsize *size, GError **error);
/* Numbers in the units of the model's acquisitions: chi in rad at the edge, tilt in rad, depth in angstrom.
 */
json_t *truth_numbers (const SbSimulation *simulation, const SbSimulationOptions *options, guint n_atoms);

#endif
