/* Which dataset of an HDF5 file holds the frames. */
#ifndef SB_CORE_H5FIND_H
#define SB_CORE_H5FIND_H

#include "core/h5walk.h"

typedef struct SbH5Found {
  char *path;
  SbH5Shape shape;
} SbH5Found;

/* Every dataset of 3 or 4 axes below a group that may be frames, in order of names; those that accept (may be NULL)
 * refuses are left out. Between h5io_begin() and h5io_end(). */
typedef gboolean (*SbH5Accept) (hid_t file, const char *path, gconstpointer data);
GPtrArray *h5find_stacks (hid_t file, const char *group, SbH5Accept accept, gconstpointer data);
/* The one of 4 axes, or else the only one of 3; NULL with a sentence that lists them where there is not just one. */
const SbH5Found *h5find_choose (const char *name, const GPtrArray *found, GError **error);
/* A dataset that the user named: itself, or "data" or "datacube" in the group of that name; NULL: there is neither.
 * Between h5io_begin() and h5io_end(). */
char *h5find_named (hid_t file, const char *dataset);

#endif
