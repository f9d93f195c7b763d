/* The multislice calculation of one scan point after another, and its detector. */
#ifndef SB_CORE_SIMULATE_MULTISLICE_H
#define SB_CORE_SIMULATE_MULTISLICE_H

#include "core/simulate/setup.h"

/* How the simulation's frequencies along one axis fall on detector pixels: shares by overlap. */
typedef struct SbBinning {
  gint64 n;      /* frequencies, in FFT order */
  gint32 *first; /* [n + 1]: into pixel and share */
  gint32 *pixel;
  double *share;
} SbBinning;
gboolean binning_init (SbBinning *binning, gint64 n, double pitch, gint64 pixels, double centre, double pixel_pitch,
                       GError **error);
void binning_clear (SbBinning *binning);

typedef struct SbMultislice SbMultislice;
/* Atoms in the simulation's frame, z = 0 the mid-plane, before the tilt. The simulation is borrowed. */
SbMultislice *multislice_new (SbEngine *engine, const SbSimulation *simulation, const SbSpecimen *specimen,
                              SbProgress *progress, GError **error);
void multislice_free (SbMultislice *multislice);
/* Memory a thread needs to compute frames; NULL: none left. */
gpointer multislice_scratch (const SbMultislice *multislice, GError **error);
/* The share of the electrons in each detector pixel [rows * cols] at a point of the scan. */
void multislice_frame (const SbMultislice *multislice, gint64 row, gint64 col, gpointer scratch, double *out);

/* Slices (in slices.c): transmission functions, band-limited, one slice behind the other; interleaved
 * complex. */
float *slices_make (SbEngine *engine, const SbSimulation *simulation, const SbSpecimen *specimen, SbProgress *progress,
                    GError **error);

#endif
