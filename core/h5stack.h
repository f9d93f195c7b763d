/* Frames of one HDF5 dataset as a reader delivers them: plain or virtual, in its own file or in others. */
#ifndef SB_CORE_H5STACK_H
#define SB_CORE_H5STACK_H

#include "core/acquisition.h"

/* Which image of a frame: of those along the second axis of four; SB_NO_CHANNEL: the first two axes are the scan. */
enum { SB_NO_CHANNEL = -1 };

/* Opens a dataset and fills what it says of frames: counts, shapes, dtype, files, what is missing. Links are
 * followed. */
SbReader *h5stack_open (const char *path, const char *dataset, gint64 channel, SbHeader *header, GError **error);
/* For SbFormat. */
gboolean h5stack_read (SbReader *reader, gint64 first, gint64 n, gpointer out, GError **error);
void h5stack_close (SbReader *reader);

#endif
