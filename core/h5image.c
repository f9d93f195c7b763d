#include "core/h5image.h"

#include "core/error.h"
#include "core/seal.h"

/* The bytes of the file, made by HDF5's in-memory driver, and the seal behind them. NULL: no memory. */
static char *
make_image (gboolean (*put) (hid_t file, const SbResult *result), const SbResult *result, gsize *size)
{
  hid_t access = H5Pcreate (H5P_FILE_ACCESS), how = H5Pcreate (H5P_FILE_CREATE);
  H5Pset_fapl_core (access, (size_t)1 << 20, FALSE);
  H5Pset_obj_track_times (how, FALSE);
  hid_t file = H5Fcreate ("sideband", H5F_ACC_TRUNC, how, access);
  char *image = NULL;
  if (file >= 0 && put (file, result) && H5Fflush (file, H5F_SCOPE_GLOBAL) >= 0) {
    ssize_t n = H5Fget_file_image (file, NULL, 0);
    image = n > 0 ? g_try_malloc ((gsize)n + SEAL_SIZE) : NULL;
    if (image != NULL && H5Fget_file_image (file, image, (size_t)n) != n)
      g_clear_pointer (&image, g_free);
    if (image != NULL)
      seal_make (image, (gsize)n, (guint8 *)image + n);
    *size = (gsize)MAX (n, 0) + SEAL_SIZE;
  }
  if (file >= 0)
    H5Fclose (file);
  H5Pclose (access);
  H5Pclose (how);
  return image;
}

gboolean
h5image_save (const char *path, gboolean (*put) (hid_t file, const SbResult *result), const SbResult *result, GError **error)
{
  gsize size = 0;
  if (!h5io_begin (error))
    return FALSE;
  g_autofree char *image = make_image (put, result, &size);
  h5io_end ();
  if (image == NULL)
    return sb_fail (error, SB_ERROR_MEMORY, "no memory to build the file; close other programs");
  return save_bytes (path, image, size, error);
}
