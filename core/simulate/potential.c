#include "core/simulate/potential.h"

#include <math.h>

#include "core/optics.h"

const SbElement *
potential_find (const char *name)
{
  char *end = NULL;
  guint64 number = g_ascii_strtoull (name, &end, 10);
  if (end != name && *end == '\0')
    return number >= 1 && number <= SB_N_ELEMENTS ? &potential_elements[number - 1] : NULL;
  for (int i = 0; i < SB_N_ELEMENTS; i++)
    if (g_ascii_strcasecmp (potential_elements[i].symbol, name) == 0)
      return &potential_elements[i];
  return NULL;
}

double
potential_factor (const SbElement *element, double k_squared)
{
  double f = 0;
  for (int i = 0; i < 3; i++)
    f += element->a[i] / (k_squared + element->b[i]) + element->c[i] * exp (-element->d[i] * k_squared);
  return f;
}

/* The projected potential is h^2 / (2 pi m e) f and the phase 2 pi m gamma e lambda / h^2 times it: lambda
 * gamma f. */
double
potential_interaction (double energy_kv)
{
  const double rest = 510.99895; /* m c^2 / e, kV */
  return optics_wavelength (energy_kv) * (1 + energy_kv / rest);
}
