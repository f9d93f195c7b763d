/* Where the entries of a ZIP file stand, 64-bit sizes included, so that stored ones are read in place. */
#ifndef SB_CORE_ZIPFILE_H
#define SB_CORE_ZIPFILE_H

#include "core/flatfile.h"

typedef struct SbZipEntry {
  char *name;
  gint64 offset, size; /* of its bytes in the file, as stored */
  gboolean is_stored;  /* not compressed or encrypted */
} SbZipEntry;

gboolean zipfile_is (const guint8 *head, gsize head_size);
/* SbZipEntry *; NULL with an error. Of a file whose end, and so its directory, is missing: the first entry
 * (*cut). */
GPtrArray *zipfile_entries (SbFlatFile *file, const char *path, gboolean *cut, GError **error);

#endif
