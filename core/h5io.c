#include "core/h5io.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/h5file.h"

static GMutex mutex;
static H5E_auto2_t saved_printer; /* guarded by mutex */
static void *saved_data;

void
h5io_lock (void)
{
  g_mutex_lock (&mutex);
  h5file_forget ();
}

void
h5io_unlock (void)
{
  g_mutex_unlock (&mutex);
}

gboolean
h5io_begin (GError **error)
{
  static gboolean checked; /* guarded by mutex */
  unsigned major = 0, minor = 0, release = 0;
  h5io_lock ();
  /* Before any macro of HDF5's headers: with another version those abort the process. */
  if (!checked
      && (H5get_libversion (&major, &minor, &release) < 0 || major != H5_VERS_MAJOR || minor != H5_VERS_MINOR
          || release != H5_VERS_RELEASE)) {
    h5io_unlock ();
    return sb_fail (error, SB_ERROR_BACKEND,
                    "HDF5 %u.%u.%u is loaded in this program, but Sideband was built for %d.%d.%d: load "
                    "Sideband before the "
                    "other library, and without RTLD_GLOBAL.",
                    major, minor, release, H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE);
  }
  checked = TRUE;
  H5Eget_auto2 (H5E_DEFAULT, &saved_printer, &saved_data);
  H5Eset_auto2 (H5E_DEFAULT, NULL, NULL);
  return TRUE;
}

void
h5io_end (void)
{
  H5Eclear2 (H5E_DEFAULT);
  H5Eset_auto2 (H5E_DEFAULT, saved_printer, saved_data);
  h5io_unlock ();
}

/* ---- files ---- */

static const guint8 signature[8] = { 0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n' };

gboolean
h5io_has_signature (const guint8 *head, gsize size)
{
  for (gsize at = 0; at + sizeof signature <= size; at = at == 0 ? 512 : 2 * at)
    if (memcmp (head + at, signature, sizeof signature) == 0)
      return TRUE;
  return FALSE;
}

static guint64
little (const guint8 *p, gsize n)
{
  guint64 x = 0;
  for (gsize i = 0; i < n; i++)
    x |= (guint64)p[i] << (8 * i);
  return x;
}

/* How long the file must be by its superblock, 0 where it does not say. */
static guint64
superblock_end (const guint8 *block, gsize size)
{
  if (size < 48)
    return 0;
  gsize version = block[8], width = version < 2 ? block[13] : block[9];
  gsize base = version == 0 ? 24 : version == 1 ? 28 : 12;
  if (version > 3 || width < 2 || width > 8 || base + 3 * width > size)
    return 0;
  return little (block + base + 2 * width, width); /* from the first byte of the file, whatever stands before */
}

gboolean
h5io_check_size (const char *path, GError **error)
{
  guint8 head[4096];
  struct stat info;
  int file = open (path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return sb_fail (error, SB_ERROR_IO, errno == ENOENT ? "%s is missing." : "%s cannot be read: check its permissions.", path);
  ssize_t got = pread (file, head, sizeof head, 0);
  gboolean known = fstat (file, &info) == 0;
  close (file);
  if (got < 0 || !known)
    return sb_fail (error, SB_ERROR_IO, "%s cannot be read: check the disk or network drive.", path);
  for (gsize at = 0; at + sizeof signature <= (gsize)got; at = at == 0 ? 512 : 2 * at)
    if (memcmp (head + at, signature, sizeof signature) == 0) {
      guint64 need = superblock_end (head + at, (gsize)got - at);
      if (need > (guint64)info.st_size)
        return sb_fail (error, SB_ERROR_IO,
                        "%s is truncated (have %" G_GUINT64_FORMAT " bytes, needs %" G_GUINT64_FORMAT " bytes): copy it again.",
                        path, (guint64)info.st_size, need);
      break;
    }
  return TRUE;
}

hid_t
h5io_open_file (const char *path, GError **error)
{
  if (!h5io_check_size (path, error))
    return H5I_INVALID_HID;
  hid_t file = h5file_open (path);
  if (file < 0)
    sb_fail (error, SB_ERROR_IO, "%s is not a readable HDF5 file: copy it again.", path);
  return file;
}

gboolean
h5io_close_file (hid_t file, gboolean good, GError **error)
{
  if (file >= 0)
    H5Fclose (file);
  g_autoptr (GError) damage = NULL;
  if (h5file_check (&damage))
    return good;
  g_clear_error (error); /* what went wrong for that reason */
  g_propagate_error (error, g_steal_pointer (&damage));
  return FALSE;
}

gboolean
h5io_exists (hid_t at, const char *path)
{
  g_auto (GStrv) parts = g_strsplit (path, "/", -1);
  g_autoptr (GString) so_far = g_string_new (path[0] == '/' ? "/" : "");
  for (guint i = 0; parts[i] != NULL; i++) {
    H5L_info_t link;
    if (parts[i][0] == '\0')
      continue;
    if (so_far->len > 0 && so_far->str[so_far->len - 1] != '/')
      g_string_append_c (so_far, '/');
    g_string_append (so_far, parts[i]);
    if (H5Lexists (at, so_far->str, H5P_DEFAULT) <= 0 || H5Lget_info (at, so_far->str, &link, H5P_DEFAULT) < 0)
      return FALSE;
    if (link.type == H5L_TYPE_EXTERNAL) /* the link is there; what it leads to is another file's matter */
      return parts[i + 1] == NULL;
    if (link.type == H5L_TYPE_SOFT && H5Oexists_by_name (at, so_far->str, H5P_DEFAULT) <= 0)
      return FALSE;
  }
  return so_far->len > 0;
}

/* ---- numbers and texts ---- */

/* Number of elements of a space, -1 where it is absurd for a header entry. */
static gint64
count_of (hid_t space)
{
  hssize_t n = space < 0 ? -1 : H5Sget_simple_extent_npoints (space);
  return n > 4096 ? -1 : (gint64)n;
}

static gboolean
is_number (hid_t type)
{
  H5T_class_t class = type < 0 ? H5T_NO_CLASS : H5Tget_class (type);
  return class == H5T_INTEGER || class == H5T_FLOAT;
}

static void
close_all (hid_t space, hid_t type, hid_t object)
{
  if (space >= 0)
    H5Sclose (space);
  if (type >= 0)
    H5Tclose (type);
  if (object >= 0)
    H5Oclose (object);
}

/* A dataset that is certainly inside this file; negative: there is none. */
static hid_t
open_inside (hid_t at, const char *path)
{
  H5L_info_t link;
  if (!h5io_exists (at, path) || H5Lget_info (at, path, &link, H5P_DEFAULT) < 0 || link.type == H5L_TYPE_EXTERNAL)
    return H5I_INVALID_HID;
  return H5Dopen2 (at, path, H5P_DEFAULT);
}

gboolean
h5io_number (hid_t at, const char *path, double *value)
{
  hid_t set = open_inside (at, path);
  if (set < 0)
    return FALSE;
  hid_t space = H5Dget_space (set), type = H5Dget_type (set);
  gboolean good = count_of (space) == 1 && is_number (type)
                  && H5Dread (set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) >= 0;
  close_all (space, type, set);
  return good;
}

gboolean
h5io_attribute_numbers (hid_t at, const char *path, const char *name, gsize n, double *values)
{
  if (H5Aexists_by_name (at, path, name, H5P_DEFAULT) <= 0)
    return FALSE;
  hid_t attribute = H5Aopen_by_name (at, path, name, H5P_DEFAULT, H5P_DEFAULT);
  if (attribute < 0)
    return FALSE;
  hid_t space = H5Aget_space (attribute), type = H5Aget_type (attribute);
  gboolean good = count_of (space) == (gint64)n && is_number (type) && H5Aread (attribute, H5T_NATIVE_DOUBLE, values) >= 0;
  close_all (space, type, H5I_INVALID_HID);
  H5Aclose (attribute);
  return good;
}

gboolean
h5io_attribute (hid_t at, const char *path, const char *name, double *value)
{
  return h5io_attribute_numbers (at, path, name, 1, value);
}

/* One text through `read` (H5Dread or H5Aread, told apart by is_attribute). */
static char *
read_text (hid_t object, hid_t space, hid_t type, gboolean is_attribute)
{
  char *text = NULL;
  gsize size = type < 0 || H5Tget_class (type) != H5T_STRING || count_of (space) != 1 ? 0 : H5Tget_size (type);
  if (size == 0 || size > 65536)
    return NULL;
  if (H5Tis_variable_str (type) > 0) {
    char *owned = NULL;
    herr_t done = is_attribute ? H5Aread (object, type, &owned) : H5Dread (object, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &owned);
    if (done >= 0 && owned != NULL)
      text = g_utf8_make_valid (owned, -1);
    if (owned != NULL)
      H5free_memory (owned);
    return text;
  }
  g_autofree char *buffer = g_malloc0 (size + 1);
  herr_t done = is_attribute ? H5Aread (object, type, buffer) : H5Dread (object, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, buffer);
  return done >= 0 ? g_utf8_make_valid (buffer, -1) : NULL;
}

char *
h5io_text (hid_t at, const char *path)
{
  hid_t set = open_inside (at, path);
  if (set < 0)
    return NULL;
  hid_t space = H5Dget_space (set), type = H5Dget_type (set);
  char *text = read_text (set, space, type, FALSE);
  close_all (space, type, set);
  return text;
}

char *
h5io_attribute_text (hid_t at, const char *path, const char *name)
{
  if (H5Aexists_by_name (at, path, name, H5P_DEFAULT) <= 0)
    return NULL;
  hid_t attribute = H5Aopen_by_name (at, path, name, H5P_DEFAULT, H5P_DEFAULT);
  if (attribute < 0)
    return NULL;
  hid_t space = H5Aget_space (attribute), type = H5Aget_type (attribute);
  char *text = read_text (attribute, space, type, TRUE);
  close_all (space, type, H5I_INVALID_HID);
  H5Aclose (attribute);
  return text;
}

/* A whole rows x cols dataset of a class of numbers, as a type of 4 bytes. */
static gpointer
read_map (hid_t at, const char *path, gint64 rows, gint64 cols, H5T_class_t wanted, hid_t as)
{
  hid_t set = open_inside (at, path);
  if (set < 0)
    return NULL;
  hid_t space = H5Dget_space (set), type = H5Dget_type (set);
  hsize_t shape[2] = { 0, 0 };
  gpointer map = NULL;
  if (type >= 0 && H5Tget_class (type) == wanted && space >= 0 && H5Sget_simple_extent_ndims (space) == 2
      && H5Sget_simple_extent_dims (space, shape, NULL) == 2 && shape[0] == (hsize_t)rows && shape[1] == (hsize_t)cols)
    map = g_try_malloc_n ((gsize)rows * (gsize)cols, 4);
  if (map != NULL && H5Dread (set, as, H5S_ALL, H5S_ALL, H5P_DEFAULT, map) < 0)
    g_clear_pointer (&map, g_free);
  close_all (space, type, set);
  return map;
}

guint32 *
h5io_map (hid_t at, const char *path, gint64 rows, gint64 cols)
{
  return read_map (at, path, rows, cols, H5T_INTEGER, H5T_NATIVE_UINT32);
}

float *
h5io_floats (hid_t at, const char *path, gint64 rows, gint64 cols)
{
  return read_map (at, path, rows, cols, H5T_FLOAT, H5T_NATIVE_FLOAT);
}

gsize
h5io_numbers (hid_t at, const char *path, gsize n, double *values)
{
  hid_t set = open_inside (at, path);
  if (set < 0)
    return 0;
  hid_t space = H5Dget_space (set), type = H5Dget_type (set);
  hsize_t length = 0, start = 0;
  gsize got = 0;
  if (space >= 0 && is_number (type) && H5Sget_simple_extent_ndims (space) == 1
      && H5Sget_simple_extent_dims (space, &length, NULL) == 1 && length > 0) {
    hsize_t count = MIN (length, (hsize_t)n);
    hid_t memory = H5Screate_simple (1, &count, NULL);
    if (memory >= 0 && H5Sselect_hyperslab (space, H5S_SELECT_SET, &start, NULL, &count, NULL) >= 0
        && H5Dread (set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values) >= 0)
      got = (gsize)count;
    if (memory >= 0)
      H5Sclose (memory);
  }
  close_all (space, type, set);
  return got;
}
