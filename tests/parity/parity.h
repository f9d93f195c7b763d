/* Parity of a backend with the float64 CPU reference: needs libc, the kernels and nothing else, so that it builds and runs
 * on a machine that has only a compiler and a GPU. */
#ifndef SB_TESTS_PARITY_H
#define SB_TESTS_PARITY_H

#include "kernels/backend.h"

/* A made-up acquisition: pixels on a lattice (with holes), frequencies of a small scan, random G and model. */
typedef struct Scene {
  const char *name;
  double radius;  /* detector pixels */
  int rows, cols; /* scan */
  int holes;      /* bad pixels */
  int count;      /* frequencies kept; 0: all */
  double turns;   /* size of chi's coefficients */
  double depth;   /* 0: thin */
  uint64_t seed;

  SbkPixels pixels;
  int64_t *row_start, *index, *column;
  double *row_x, *pixel_y, *vx, *vy, *g;
  int64_t n_q;
  SbkModel model;
  SbkView view;
} Scene;

void scene_make (Scene *scene);
void scene_free (Scene *scene);
double scene_random (uint64_t *state); /* uniform in [-1, 1) */

/* The table of a module file, NULL with a reason. */
const SbkBackend *parity_module (const char *path, const char **reason);
/* The same pixels of G in two spectra, cut at a detector row: passes in parts against the whole (in_parts.c). report (context,
 * kernel, what, error). */
typedef void (*ParityReport) (const Scene *scene, const char *kernel, const char *what, int precise, double error);
void parity_parts (const Scene *scene, SbkSpectrum *whole, const SbkBackend *device, SbkContext *context, int precise,
                   ParityReport report);
/* Threads of the CPU reference: one. */
SbkThreads parity_threads (void);

#endif
