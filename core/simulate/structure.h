/* The projected phase of atoms, by their structure factors: exact places, no grid in between. */
#ifndef SB_CORE_SIMULATE_STRUCTURE_H
#define SB_CORE_SIMULATE_STRUCTURE_H

#include "core/progress.h"
#include "core/simulate/specimen.h"

typedef struct SbStructureGrid {
  double cell[2]; /* angstrom */
  gint64 grid[2];
  gint64 repeats[2];  /* the atoms of one period stand for this many in the cell */
  double limit;       /* frequencies beyond are left out, 1/angstrom */
  double interaction; /* of potential_interaction() */
} SbStructureGrid;

/* The Fourier series of the phase (rad) of n atoms, ordered by element: complex [rows][cols], of which the
 * backward transform is the phase. FALSE: no memory. Cancelled, it returns early. */
gboolean structure_spectrum (const SbStructureGrid *grid, const SbAtom *atoms, guint n, const SbProgress *progress,
                             double *spectrum);
/* Orders atoms by element; the order of the atoms of one element is kept. */
void structure_sort (GArray *atoms);

#endif
