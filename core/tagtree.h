/* The tags of a Gatan DigitalMicrograph file (DM3, DM4), found by their paths. */
#ifndef SB_CORE_TAGTREE_H
#define SB_CORE_TAGTREE_H

#include "core/flatfile.h"

typedef struct SbTagTree SbTagTree;

/* Where an array of numbers stands in the file. */
typedef struct SbTagArray {
  gint64 offset;
  gint64 count; /* of numbers */
  int type;     /* of DM's encoded types: 2 int16, 3 int32, 4 uint16 ... */
} SbTagArray;

gboolean tagtree_is_dm (const guint8 *head, gsize head_size);
/* Reads all tags; what follows the point where a file ends too early is absent. NULL with an error: not such
 * a file. */
SbTagTree *tagtree_read (SbFlatFile *file, const char *path, GError **error);
void tagtree_free (SbTagTree *tree);
gboolean tagtree_is_cut (const SbTagTree *tree); /* the file ends within its tags */
gboolean tagtree_is_big_endian (const SbTagTree *tree);
/* A number at a path such as "ImageList/1/ImageData/DataType"; tags without a label are counted from 0. Of a
 * group: how many tags it has. NAN: none, or a group that is not wholly there. */
double tagtree_number (const SbTagTree *tree, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* A text; NULL: none. It belongs to the tree. */
const char *tagtree_text (const SbTagTree *tree, const char *format, ...) G_GNUC_PRINTF (2, 3);
const SbTagArray *tagtree_array (const SbTagTree *tree, const char *format, ...) G_GNUC_PRINTF (2, 3);
gboolean tagtree_has (const SbTagTree *tree, const char *format, ...) G_GNUC_PRINTF (2, 3);

#endif
