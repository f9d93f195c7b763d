/* Atoms: from an XYZ file, or generated. Lengths in angstrom. */
#ifndef SB_CORE_SIMULATE_SPECIMEN_H
#define SB_CORE_SIMULATE_SPECIMEN_H

#include "core/progress.h"
#include "core/simulate/potential.h"
#include "core/simulate/random.h"

typedef struct SbAtom {
  double r[3]; /* row, col, z; z = 0: mid-plane */
  const SbElement *element;
} SbAtom;

typedef struct SbSpecimen {
  GArray *atoms;  /* SbAtom */
  double cell[3]; /* row, col, z; 0: no cell */
} SbSpecimen;

SbSpecimen *specimen_new (void);
void specimen_free (SbSpecimen *specimen);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SbSpecimen, specimen_free)

/* x is the row, y the column; the cell from Lattice="..." (orthogonal), the beam along z. */
SbSpecimen *specimen_read_xyz (const char *path, GError **error);

/* What a generated specimen is made of. */
typedef struct SbRecipe {
  const char *mixture; /* "C=0.9 Si=0.1" */
  double density;      /* g/cm3 */
  double min_distance; /* of atoms; of columns: in projection */
  double cell[3];      /* filled evenly; periodic in row and col */
} SbRecipe;
SbSpecimen *specimen_film (const SbRecipe *recipe, SbRandom *random, SbProgress *progress, GError **error);
/* Columns along the beam at random places, evenly filled with one element each. */
SbSpecimen *specimen_columns (const SbRecipe *recipe, SbRandom *random, SbProgress *progress, GError **error);

#endif
