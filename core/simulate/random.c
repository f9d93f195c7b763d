#include "core/simulate/random.h"

#include <math.h>

/* splitmix64: Steele, Lea and Flood, Fast splittable pseudorandom number generators (2014). */
static guint64
mix (guint64 z)
{
  z = (z ^ (z >> 30)) * G_GUINT64_CONSTANT (0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * G_GUINT64_CONSTANT (0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static guint64
next (SbRandom *random)
{
  random->state += G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
  return mix (random->state);
}

SbRandom
random_stream (guint64 seed, guint64 stream)
{
  SbRandom random = { mix (mix (seed) + G_GUINT64_CONSTANT (0xd1342543de82ef95) * (stream + 1)) };
  return random;
}

double
random_uniform (SbRandom *random)
{
  return ((double)(next (random) >> 11) + 0.5) * 0x1p-53;
}

static double
log_factorial (double k)
{
  int sign;
  return lgamma_r (k + 1, &sign);
}

/* W. Hoermann, The transformed rejection method for generating Poisson random variables (1993): PTRS. */
static double
poisson_large (SbRandom *random, double mean)
{
  double b = 0.931 + 2.53 * sqrt (mean), a = -0.059 + 0.02483 * b;
  double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
  double log_mean = log (mean);
  for (;;) {
    double u = random_uniform (random) - 0.5, v = random_uniform (random);
    double us = 0.5 - fabs (u), k = floor ((2 * a / us + b) * u + mean + 0.43);
    if (us >= 0.07 && v <= v_r)
      return k;
    if (k < 0 || (us < 0.013 && v > us))
      continue;
    if (log (v * inverse_alpha / (a / (us * us) + b)) <= k * log_mean - mean - log_factorial (k))
      return k;
  }
}

double
random_poisson (SbRandom *random, double mean)
{
  if (!(mean > 0))
    return 0;
  if (mean >= 10)
    return poisson_large (random, mean);
  double limit = exp (-mean), product = random_uniform (random), k = 0;
  while (product > limit) {
    product *= random_uniform (random);
    k++;
  }
  return k;
}
