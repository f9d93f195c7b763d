#include "core/h5find.h"

#include <string.h>

#include "core/error.h"

enum { MOST_NAMED = 8 };

typedef struct Search {
  GPtrArray *found;
  SbH5Accept accept;
  gconstpointer data;
} Search;

static void
found_free (gpointer data)
{
  SbH5Found *found = data;
  g_free (found->path);
  g_free (found);
}

static gboolean
may_be_frames (const SbH5Shape *shape)
{
  if (shape->rank != 3 && shape->rank != 4)
    return FALSE;
  for (int i = 0; i < shape->rank; i++)
    if (shape->shape[i] < 1)
      return FALSE;
  return shape->shape[shape->rank - 1] > 1 && shape->shape[shape->rank - 2] > 1;
}

static gboolean
look_at (hid_t file, const char *path, SbH5Kind kind, gpointer data)
{
  Search *search = data;
  SbH5Shape shape;
  if (kind != SB_H5_DATASET)
    return TRUE;
  h5walk_shape (file, path, &shape);
  if (!may_be_frames (&shape) || (search->accept != NULL && !search->accept (file, path, search->data)))
    return TRUE;
  SbH5Found *found = g_new0 (SbH5Found, 1);
  found->path = g_strdup (path);
  found->shape = shape;
  g_ptr_array_add (search->found, found);
  return TRUE;
}

GPtrArray *
h5find_stacks (hid_t file, const char *group, SbH5Accept accept, gconstpointer data)
{
  Search search = { g_ptr_array_new_with_free_func (found_free), accept, data };
  h5walk (file, group, look_at, &search);
  return search.found;
}

static char *
list_of (const GPtrArray *found, int rank)
{
  GString *text = g_string_new (NULL);
  int n = 0;
  for (guint i = 0; i < found->len; i++) {
    const SbH5Found *one = found->pdata[i];
    if (one->shape.rank == rank && n++ < MOST_NAMED)
      g_string_append_printf (text, "%s%s", text->len > 0 ? ", " : "", one->path);
  }
  if (n > MOST_NAMED)
    g_string_append_printf (text, " and %d more", n - MOST_NAMED);
  return g_string_free (text, FALSE);
}

const SbH5Found *
h5find_choose (const char *name, const GPtrArray *found, GError **error)
{
  for (int rank = 4; rank >= 3; rank--) {
    const SbH5Found *only = NULL;
    int n = 0;
    for (guint i = 0; i < found->len; i++) {
      const SbH5Found *one = found->pdata[i];
      if (one->shape.rank == rank) {
        only = one;
        n++;
      }
    }
    if (n == 1)
      return only;
    if (n > 1) {
      g_autofree char *names = list_of (found, rank);
      sb_fail (error, SB_ERROR_ARGUMENT, "%s holds %d arrays of %d axes: give dataset, one of %s.", name, n, rank, names);
      return NULL;
    }
  }
  sb_fail (error, SB_ERROR_DATA,
           "%s holds no array of 3 or 4 axes that could be the frames of a scan: open the file that does, or give "
           "dataset.",
           name);
  return NULL;
}

char *
h5find_named (hid_t file, const char *dataset)
{
  static const char *const children[] = { "", "/data", "/datacube" };
  for (guint i = 0; i < G_N_ELEMENTS (children); i++) {
    SbH5Shape shape;
    g_autofree char *path = g_strconcat (dataset[0] == '/' ? "" : "/", dataset, children[i], NULL);
    h5walk_shape (file, path, &shape);
    if (shape.rank >= 0)
      return g_steal_pointer (&path);
  }
  return NULL;
}
