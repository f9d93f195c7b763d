/* Frames as detectors store them: bit-shuffled, LZ4 (HDF5 filter 32008). */
#ifndef SB_CORE_SIMULATE_ENCODE_H
#define SB_CORE_SIMULATE_ENCODE_H

#include <glib.h>

gsize encode_bound (gsize size, gsize element);
/* n elements, little-endian in memory, into out (encode_bound () bytes); its length, or 0 where LZ4 fails. */
gsize encode_frame (gconstpointer data, gsize n, gsize element, guint8 *out);

#endif
