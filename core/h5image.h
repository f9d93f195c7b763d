/* HDF5 files made in memory and sealed, so that what is written is whole or not there. */
#ifndef SB_CORE_H5IMAGE_H
#define SB_CORE_H5IMAGE_H

#include "core/h5io.h"
#include "core/result.h"

/* What put leaves in a new file, and the seal behind it, to path. The error is the reason only (see SbWriter). */
gboolean h5image_save (const char *path, gboolean (*put) (hid_t file, const SbResult *result), const SbResult *result,
                       GError **error);

#endif
