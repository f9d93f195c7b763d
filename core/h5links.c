/* The links of an HDF5 group, read without following them: what they lead to may not be there. */
#include <string.h>

#include "core/h5io.h"

void
link_free (SbLink *link)
{
  if (link == NULL)
    return;
  g_free (link->name);
  g_free (link->file);
  g_free (link->target);
  g_free (link);
}

typedef struct Wanted {
  const char *prefix;
  GPtrArray *links;
} Wanted;

/* File and path of a soft or external link. */
static void
read_target (hid_t group, const char *name, const H5L_info_t *info, SbLink *link)
{
  const char *file = NULL, *target = NULL;
  unsigned flags;
  gsize size = info->u.val_size;
  if ((info->type != H5L_TYPE_EXTERNAL && info->type != H5L_TYPE_SOFT) || size == 0 || size > 65536)
    return;
  g_autofree char *value = g_malloc0 (size + 1);
  if (H5Lget_val (group, name, value, size, H5P_DEFAULT) < 0)
    return;
  if (info->type == H5L_TYPE_SOFT)
    link->target = g_strdup (value);
  else if (H5Lunpack_elink_val (value, size, &flags, &file, &target) >= 0) {
    link->file = g_strdup (file);
    link->target = g_strdup (target);
  }
}

static herr_t
add_link (hid_t group, const char *name, const H5L_info_t *info, void *data)
{
  Wanted *wanted = data;
  if (!g_str_has_prefix (name, wanted->prefix))
    return 0;
  SbLink *link = g_new0 (SbLink, 1);
  link->name = g_strdup (name);
  read_target (group, name, info, link);
  g_ptr_array_add (wanted->links, link);
  return 0;
}

/* data_2 before data_10, whatever the number of digits. */
static gint
compare_links (gconstpointer a, gconstpointer b)
{
  const char *x = (*(const SbLink *const *)a)->name, *y = (*(const SbLink *const *)b)->name;
  gsize same = 0;
  while (x[same] != '\0' && x[same] == y[same] && !g_ascii_isdigit (x[same]))
    same++;
  guint64 n = g_ascii_strtoull (x + same, NULL, 10), m = g_ascii_strtoull (y + same, NULL, 10);
  return n < m ? -1 : n > m ? 1 : strcmp (x, y);
}

/* HDF5 1.10 frees what it never filled when it lists a group that keeps its links in a damaged header. A search
 * for a name that is not there reads all of them first, and takes a damaged one for the error that it is. */
gboolean
h5io_group_is_sound (hid_t group)
{
  H5G_info_t info;
  if (H5Gget_info (group, &info) < 0)
    return FALSE;
  return info.storage_type != H5G_STORAGE_TYPE_COMPACT || H5Lexists (group, "\x01 no such name", H5P_DEFAULT) == 0;
}

GPtrArray *
h5io_links (hid_t at, const char *group, const char *prefix)
{
  if (!h5io_exists (at, group))
    return NULL;
  hid_t id = H5Gopen2 (at, group, H5P_DEFAULT);
  if (id < 0)
    return NULL;
  Wanted wanted = { prefix, g_ptr_array_new_with_free_func ((GDestroyNotify)link_free) };
  gboolean good = h5io_group_is_sound (id) && H5Literate (id, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, add_link, &wanted) >= 0;
  /* What could be read before a damaged entry is not enough: half a list would be half an acquisition. */
  if (!good)
    g_clear_pointer (&wanted.links, g_ptr_array_unref);
  H5Gclose (id);
  if (wanted.links != NULL)
    g_ptr_array_sort (wanted.links, compare_links);
  return wanted.links;
}
