/* A stack of detector frames in one HDF5 dataset: what it is, and its frames, decoded outside HDF5's lock. */
#ifndef SB_CORE_H5FRAMES_H
#define SB_CORE_H5FRAMES_H

#include "core/acquisition.h"
#include "core/chunk.h"
#include "core/h5io.h"

typedef enum SbStorage {
  SB_STORAGE_CHUNKS, /* decoded here */
  SB_STORAGE_LIBRARY /* contiguous, compact, or filters that HDF5 itself has: H5Dread */
} SbStorage;

typedef struct SbH5Frames {
  char *path, *dataset;
  gint64 frames, rows, cols;
  SbDtype dtype;
  int rank;       /* of the dataset: 3, 2 where it is one frame, or 4 where its frames stand in rows */
  gint64 lead[2]; /* rows of frames and frames in a row: 1 and all of them, but for rank 4 */
  SbStorage storage;
  gint64 chunk[3]; /* frames, rows, cols a chunk; 0 where it has none */
  gint64 tile[2];  /* rows of frames and frames of a row in a chunk; chunk[0] is their product */
  SbChunkCodec codec;
  struct SbFrameChunk *places; /* [frames] where they lie, once somebody asked */
  gboolean no_places;          /* asked: not each in one piece */
  hid_t file, id;              /* guarded by the lock of h5io; negative: not open now */
} SbH5Frames;

/* Opens path and looks at a dataset of it; NULL with a sentence naming the file. Takes the lock itself. */
SbH5Frames *h5frames_new (const char *path, const char *dataset, GError **error);
/* Frames [first, first + n) in native byte order. Thread-safe; opens the file again where it was closed to
 * keep the number of open files small. Errors name the file and, with first_name added to the frame's number,
 * the frame. */
gboolean h5frames_read (SbH5Frames *frames, gint64 first, gint64 n, gint64 first_name, gpointer out, GError **error);
/* Makes sure that the dataset is open; between h5io_begin() and h5io_end(). */
gboolean h5frames_ensure_open (SbH5Frames *frames, GError **error);
/* Where frames [first, first + n) lie, encoded as frames->codec says; FALSE: not each in one piece. */
gboolean h5frames_chunks (SbH5Frames *frames, gint64 first, gint64 n, SbFrameChunk *out);
void h5frames_free (SbH5Frames *frames);
/* A number of an attribute of the dataset; FALSE: absent. Takes the lock. */
gboolean h5frames_attribute (SbH5Frames *frames, const char *name, double *value);

#endif
