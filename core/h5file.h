/* How HDF5 reads files. Between h5io_begin() and h5io_end(). */
#ifndef SB_CORE_H5FILE_H
#define SB_CORE_H5FILE_H

#include <glib.h>
#include <hdf5.h>

/* Opens for reading; negative: it cannot be. */
hid_t h5file_open (const char *path);
/* SB_ERROR_DATA where HDF5 was kept from a damaged heap since the lock of h5io was taken, which forgets. */
gboolean h5file_check (GError **error);
void h5file_forget (void);

#endif
