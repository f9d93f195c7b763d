/* Lists of texts in HDF5: names of channels, of axes. */
#include <string.h>

#include "core/h5io.h"

enum { MOST_TEXTS = 256, MOST_SIZE = 4096 };

/* Reads a dataset or an attribute, told apart by is_attribute. */
static herr_t
fetch (hid_t object, hid_t type, gboolean is_attribute, void *to)
{
  return is_attribute ? H5Aread (object, type, to) : H5Dread (object, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, to);
}

static void
read_variable (hid_t object, hid_t type, gboolean is_attribute, gsize n, GPtrArray *texts)
{
  g_autofree char **owned = g_new0 (char *, n);
  if (fetch (object, type, is_attribute, owned) < 0)
    return;
  for (gsize i = 0; i < n; i++) {
    g_ptr_array_add (texts, g_utf8_make_valid (owned[i] != NULL ? owned[i] : "", -1));
    if (owned[i] != NULL)
      H5free_memory (owned[i]);
  }
}

static void
read_fixed (hid_t object, hid_t type, gboolean is_attribute, gsize n, GPtrArray *texts)
{
  gsize size = H5Tget_size (type);
  if (size == 0 || size > MOST_SIZE)
    return;
  g_autofree char *bytes = g_malloc0 (n * size);
  if (fetch (object, type, is_attribute, bytes) < 0)
    return;
  for (gsize i = 0; i < n; i++) {
    g_autofree char *text = g_strndup (bytes + i * size, size);
    g_ptr_array_add (texts, g_utf8_make_valid (g_strchomp (text), -1));
  }
}

static char **
read_texts (hid_t object, hid_t space, hid_t type, gboolean is_attribute)
{
  hssize_t n = space < 0 ? -1 : H5Sget_simple_extent_npoints (space);
  GPtrArray *texts = g_ptr_array_new ();
  if (n >= 1 && n <= MOST_TEXTS && type >= 0 && H5Tget_class (type) == H5T_STRING) {
    if (H5Tis_variable_str (type) > 0)
      read_variable (object, type, is_attribute, (gsize)n, texts);
    else
      read_fixed (object, type, is_attribute, (gsize)n, texts);
  }
  if (space >= 0)
    H5Sclose (space);
  if (type >= 0)
    H5Tclose (type);
  gboolean none = texts->len == 0;
  g_ptr_array_add (texts, NULL);
  char **list = (char **)g_ptr_array_free (texts, FALSE);
  if (none)
    g_clear_pointer (&list, g_strfreev);
  return list;
}

char **
h5io_texts (hid_t at, const char *path)
{
  hid_t set = h5io_exists (at, path) ? H5Oopen (at, path, H5P_DEFAULT) : H5I_INVALID_HID;
  char **list = NULL;
  if (set >= 0 && H5Iget_type (set) == H5I_DATASET)
    list = read_texts (set, H5Dget_space (set), H5Dget_type (set), FALSE);
  if (set >= 0)
    H5Oclose (set);
  return list;
}

char **
h5io_attribute_texts (hid_t at, const char *path, const char *name)
{
  if (H5Aexists_by_name (at, path, name, H5P_DEFAULT) <= 0)
    return NULL;
  hid_t attribute = H5Aopen_by_name (at, path, name, H5P_DEFAULT, H5P_DEFAULT);
  if (attribute < 0)
    return NULL;
  char **list = read_texts (attribute, H5Aget_space (attribute), H5Aget_type (attribute), TRUE);
  H5Aclose (attribute);
  return list;
}

char *
h5io_long_text (hid_t at, const char *path, const char *name)
{
  enum { LONGEST = 1 << 24 };
  if (H5Aexists_by_name (at, path, name, H5P_DEFAULT) <= 0)
    return NULL;
  hid_t attribute = H5Aopen_by_name (at, path, name, H5P_DEFAULT, H5P_DEFAULT);
  if (attribute < 0)
    return NULL;
  hid_t space = H5Aget_space (attribute), type = H5Aget_type (attribute);
  gsize size = type >= 0 && H5Tget_class (type) == H5T_STRING ? H5Tget_size (type) : 0;
  gboolean one = space >= 0 && H5Sget_simple_extent_npoints (space) == 1,
           is_variable = size > 0 && H5Tis_variable_str (type) > 0;
  char *text = NULL, *owned = NULL;
  if (one && is_variable && H5Aread (attribute, type, &owned) >= 0 && owned != NULL)
    text = g_utf8_make_valid (owned, -1);
  else if (one && !is_variable && size > 0 && size <= LONGEST && (owned = g_try_malloc0 (size + 1)) != NULL
           && H5Aread (attribute, type, owned) >= 0)
    text = g_utf8_make_valid (owned, -1);
  if (is_variable && owned != NULL)
    H5free_memory (owned);
  else
    g_free (owned);
  if (space >= 0)
    H5Sclose (space);
  if (type >= 0)
    H5Tclose (type);
  H5Aclose (attribute);
  return text;
}
