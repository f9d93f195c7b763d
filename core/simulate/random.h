/* Seeded random numbers: one stream a purpose, so that nothing depends on the order in which threads work. */
#ifndef SB_CORE_SIMULATE_RANDOM_H
#define SB_CORE_SIMULATE_RANDOM_H

#include <glib.h>

typedef struct SbRandom {
  guint64 state;
} SbRandom;

SbRandom random_stream (guint64 seed, guint64 stream);
double random_uniform (SbRandom *random); /* (0, 1) */
/* A Poisson count of this mean (>= 0). */
double random_poisson (SbRandom *random, double mean);

#endif
