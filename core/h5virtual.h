/* What a virtual dataset is made of: which images of which files stand where. */
#ifndef SB_CORE_H5VIRTUAL_H
#define SB_CORE_H5VIRTUAL_H

#include <glib.h>

/* Evenly spaced images along one axis of a dataset. */
typedef struct SbSpaced {
  gint64 start, stride, count;
} SbSpaced;

/* One mapping of whole images. */
typedef struct SbMapping {
  char *file, *dataset; /* as they stand there; "." is the file itself */
  SbSpaced at[2];       /* images of the virtual dataset, rows of images first */
  SbSpaced from[2];     /* images of the source, as many in all */
  gboolean whole;       /* all images of the source, one after the other: from says nothing */
} SbMapping;

typedef struct SbVirtual {
  gint64 lead[2], rows, cols; /* as SbH5Frames has them */
  int rank;
  GPtrArray *mappings; /* SbMapping * */
} SbVirtual;

/* FALSE with a sentence where it is not made of whole images. Takes the lock itself. */
gboolean h5virtual_read (const char *path, const char *dataset, SbVirtual *virtual, GError **error);
void h5virtual_clear (SbVirtual *virtual);
/* The image of the source that is image (row, col) of the virtual dataset; -1: the mapping does not hold it. length:
 * images in a row of the source. */
gint64 mapping_image (const SbMapping *mapping, gint64 row, gint64 col, gint64 length);

#endif
