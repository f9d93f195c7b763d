/* One HDF5 chunk of a detector file, decoded without any HDF5 plugin; every length it holds is checked. */
#ifndef SB_CORE_CHUNK_H
#define SB_CORE_CHUNK_H

#include <glib.h>

typedef enum SbChunkFilter {
  SB_CHUNK_NONE,
  SB_CHUNK_LZ4,            /* 32004 */
  SB_CHUNK_BITSHUFFLE,     /* 32008 without compression */
  SB_CHUNK_BITSHUFFLE_LZ4, /* 32008 with LZ4 */
  SB_CHUNK_BITSHUFFLE_ZSTD /* 32008 with Zstandard */
} SbChunkFilter;

enum { SB_FILTER_LZ4 = 32004, SB_FILTER_BITSHUFFLE = 32008 };

typedef struct SbChunkCodec {
  SbChunkFilter filter;
  gsize element; /* bytes: 1, 2, 4 or 8 */
  gsize block;   /* elements a block of SB_CHUNK_BITSHUFFLE */
  gboolean swap; /* stored big-endian */
} SbChunkCodec;

/* The codec of a filter id and its values; SB_ERROR_DATA where we have none for it (the caller adds the
 * file). */
gboolean chunk_codec (guint filter, gsize n_values, const unsigned *values, gsize element, gboolean swap, SbChunkCodec *codec,
                      GError **error);
/* No healthy chunk of size decoded bytes is stored in more than this. */
gsize chunk_bound (gsize size);
/* Decodes a stored chunk to exactly out_size bytes in native byte order. filter_mask: HDF5's, bit 0: the
 * filter was skipped. The error's message says what is wrong inside the chunk, without a full stop; callers
 * add file and frame. */
gboolean chunk_decode (const SbChunkCodec *codec, guint32 filter_mask, const guint8 *in, gsize in_size, guint8 *out,
                       gsize out_size, GError **error);
/* Reverses the bytes of n elements in place. */
void chunk_swap (gpointer data, gsize n, gsize element);

#endif
