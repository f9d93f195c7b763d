/* A seal behind the last byte of our HDF5 files: "sideband" and a sum over all that stands before it. HDF5
 * has no checksum over its data and can crash on damaged structure, so a file is summed before HDF5 sees it.
 * A program that edits the file takes the seal away; it is then as good as any HDF5 file. */
#ifndef SB_CORE_SEAL_H
#define SB_CORE_SEAL_H

#include <glib.h>

enum { SEAL_SIZE = 16 };
typedef enum SbSeal { SB_SEAL_NONE, SB_SEAL_INTACT, SB_SEAL_BROKEN } SbSeal;

void seal_make (gconstpointer bytes, gsize size, guint8 seal[SEAL_SIZE]);
/* SB_SEAL_NONE also where the file cannot be read. */
SbSeal seal_check (const char *path);
/* Is there a seal, intact or not? Reads the last bytes only. */
gboolean seal_exists (const char *path);

#endif
