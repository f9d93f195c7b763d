/* Which frequencies of the scan G holds, and in which order. */
#ifndef SB_CORE_FREQUENCIES_H
#define SB_CORE_FREQUENCIES_H

#include "core/spectrum.h"

/* Fills n_band, n_q, index, q, radius and slot of a spectrum that knows its engine, optics, k_max and scan.
 * band: limits of |q| in units of k_max, [low, high]; NAN: 0, 2. */
gboolean frequencies_find (SbSpectrum *spectrum, const double band[2], GError **error);

#endif
