/* Frames that lie one behind the other in a file, as .npy and raw files hold them. */
#ifndef SB_CORE_FLATFILE_H
#define SB_CORE_FLATFILE_H

#include "core/acquisition.h"

/* How a number is stored. */
typedef struct SbStored {
  gsize size;     /* bytes */
  gboolean swap;  /* big-endian */
  gboolean widen; /* int8, delivered as int16 */
  SbDtype dtype;  /* of what is delivered */
} SbStored;
/* NumPy's names with or without byte order: "uint16", "u2", "<u2", ">f4", "|u1"; FALSE: not one we read. */
gboolean stored_from_name (const char *name, SbStored *stored);

typedef struct SbFlatFile SbFlatFile;
SbFlatFile *flatfile_open (const char *path, GError **error);
void flatfile_close (SbFlatFile *file);
gint64 flatfile_size (const SbFlatFile *file);
/* Up to n bytes from offset; less only at the end of the file; -1 with an error. */
gssize flatfile_bytes (SbFlatFile *file, gint64 offset, gsize n, gpointer out, GError **error);
/* How many whole frames are there; their bytes are remembered for flatfile_read. Where fewer than `wanted`
 * are: header's frames, expected_frames and missing say so. FALSE: a shape that cannot be. */
gboolean flatfile_describe (SbFlatFile *file, gint64 offset, const SbStored *stored, gint64 wanted, SbHeader *header,
                            GError **error);
gboolean flatfile_read (SbFlatFile *file, gint64 first, gint64 n, gpointer out, GError **error);
/* As SbFormat's chunks; FALSE where numbers are widened. */
gboolean flatfile_chunks (SbFlatFile *file, gint64 first, gint64 n, SbChunkCodec *codec, SbFrameChunk *out);

#endif
