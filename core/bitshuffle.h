/* Undoes bitshuffle's bit transposition. */
#ifndef SB_CORE_BITSHUFFLE_H
#define SB_CORE_BITSHUFFLE_H

#include <glib.h>

/* in holds the bit planes of n elements (n a multiple of 8): plane b = 8 * byte + bit, n / 8 bytes each; bit
 * i of byte j is element 8 j + i. out receives the elements, little-endian. They may not overlap. */
void bits_unshuffle (const guint8 *in, guint8 *out, gsize n, gsize element);
/* The same, one bit at a time: what the fast one is checked against. */
void bits_unshuffle_reference (const guint8 *in, guint8 *out, gsize n, gsize element);

#endif
