/* Atomic potentials by Kirkland's parametrisation. Lengths in angstrom, k in 1/angstrom (no 2 pi). */
#ifndef SB_CORE_SIMULATE_POTENTIAL_H
#define SB_CORE_SIMULATE_POTENTIAL_H

#include <glib.h>

enum { SB_N_ELEMENTS = 103 };

/* f(k) = sum_i a_i / (k^2 + b_i) + c_i exp (-d_i k^2), the first Born amplitude of the atom at rest,
 * angstrom. */
typedef struct SbElement {
  const char *symbol;
  int number;
  double weight; /* u */
  double a[3], b[3], c[3], d[3];
} SbElement;

extern const SbElement potential_elements[SB_N_ELEMENTS]; /* [number - 1] */

/* By symbol ("Si", any case) or atomic number ("14"); NULL: none. */
const SbElement *potential_find (const char *name);
double potential_factor (const SbElement *element, double k_squared);
/* The Fourier transform of an atom's projected phase (rad angstrom^2) per f (k), angstrom: relativistic mass
 * times wavelength. */
double potential_interaction (double energy_kv);

#endif
