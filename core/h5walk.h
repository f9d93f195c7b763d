/* Finding one's way in an HDF5 file of unknown layout. Between h5io_begin() and h5io_end(), unless it says
 * otherwise. */
#ifndef SB_CORE_H5WALK_H
#define SB_CORE_H5WALK_H

#include "core/h5io.h"

typedef enum SbH5Kind { SB_H5_GROUP, SB_H5_DATASET, SB_H5_EXTERNAL, SB_H5_OTHER } SbH5Kind;

/* Calls visit for everything that is linked hard, or out of the file, below a group, in order of names; children
 * after their group. Damaged parts, soft links and what lies deeper than any detector file are left out. FALSE
 * of visit ends the walk. */
typedef gboolean (*SbH5Visit) (hid_t file, const char *path, SbH5Kind kind, gpointer data);
void h5walk (hid_t file, const char *group, SbH5Visit visit, gpointer data);

/* What a dataset is; rank -1: there is none, or not one of numbers. */
typedef struct SbH5Shape {
  int rank;
  gint64 shape[4]; /* the first four axes */
  gint64 bytes;    /* of all its numbers; G_MAXINT64 where they are more */
  gboolean is_virtual;
} SbH5Shape;
void h5walk_shape (hid_t file, const char *path, SbH5Shape *shape);

/* Follows soft and external links, also those on the way, to the file and the path where a dataset really is; a
 * file that is not there is an SB_ERROR_IO that names it. Takes the lock itself. */
gboolean h5walk_resolve (const char *path, const char *dataset, char **file, char **inside, GError **error);
/* A link's file by its own name, then by its last part beside the file that holds it (Windows paths, moved
 * folders). No lock. */
char *h5walk_file (const char *from, const char *file);

#endif
