/* The specimen of a simulation, in the simulation's frame. */
#ifndef SB_CORE_SIMULATE_ATOMS_H
#define SB_CORE_SIMULATE_ATOMS_H

#include "core/simulate/setup.h"

/* read: the atoms of specimen = file, in the scan's frame; NULL otherwise. */
SbSpecimen *atoms_make (const SbSimulation *simulation, const SbSimulationOptions *options, const SbSpecimen *read,
                        SbProgress *progress, GError **error);

#endif
