/* An array as NumPy writes it: [frame, row, col] or [scan row, scan col, row, col], C order. */
#ifndef SB_CORE_NPYARRAY_H
#define SB_CORE_NPYARRAY_H

#include "core/flatfile.h"

gboolean npyarray_is (const guint8 *head, gsize head_size);
/* The array that begins at offset: shape, type and frames go to header, and flatfile_read reads them. */
gboolean npyarray_describe (SbFlatFile *file, const char *path, gint64 offset, SbHeader *header, GError **error);

#endif
