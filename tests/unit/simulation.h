/* Options of a simulation, for tests. */
#ifndef SB_TESTS_SIMULATION_H
#define SB_TESTS_SIMULATION_H

#include "core/simulate/simulate.h"

typedef struct Simulated {
  SbOpticsOptions optics;
  SbAcquisitionOptions acquisition;
  SbCalibrationOptions calibration;
  SbAberrationOptions aberrations;
  SbSimulationOptions simulation;
  SbOutputOptions output;
  SbSimulateOptions all;
  char *folder; /* a temporary one, in which the output is <folder>/x */
} Simulated;

/* 300 kV, 30 mrad, empty specimen. */
Simulated *simulated_new (const char *specimen, gint64 scan, double step, gint64 detector);
void simulated_free (Simulated *s);                            /* and the folder with all that is in it */
char *simulated_path (const Simulated *s, const char *suffix); /* <folder>/x<suffix> */
guint simulated_count (const Simulated *s);                    /* files in the folder */
SbEngine *simulated_engine (guint threads);
/* Runs it with so many threads; ends the test program where it fails. */
void simulated_run (const Simulated *s, guint threads);
void simulated_set (char **field, const char *text);

#endif
