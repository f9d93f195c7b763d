/* Object headers of HDF5, looked at before the library decodes them. */
#ifndef SB_CORE_H5HEADER_H
#define SB_CORE_H5HEADER_H

#include <glib.h>

/* Where the bytes come from. */
typedef struct SbH5Bytes {
  gboolean (*read) (gconstpointer file, guint64 at, guint8 *to, gsize n);
  gconstpointer file;
  guint64 base;             /* addresses in the file count from here */
  gsize addresses, lengths; /* bytes of each */
  GHashTable *continued;    /* guint64 *: where headers go on that were looked at; grows */
} SbH5Bytes;

/* The byte at which an external link stands that HDF5 must not see, as it names no file or its names have no end; 0: there is
 * none, or no header begins here. */
guint64 h5header_damaged_link (const SbH5Bytes *bytes, guint64 at);

#endif
