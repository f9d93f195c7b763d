#include "core/h5walk.h"

#include <string.h>

#include "core/error.h"

/* Nothing that microscopes write is deeper or has more parts. */
enum { MOST_DEEP = 16, MOST_PARTS = 20000, MOST_LINKS = 16 };

/* ---- the parts of a group ---- */

static herr_t
add_name (hid_t group, const char *name, const H5L_info_t *info, void *data)
{
  g_ptr_array_add (data, g_strdup (name));
  return 0;
}

static gint
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

static GPtrArray *
names_of (hid_t file, const char *path)
{
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);
  hid_t group = H5Gopen2 (file, path, H5P_DEFAULT);
  if (group < 0)
    return names;
  if (!h5io_group_is_sound (group) || H5Literate (group, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, add_name, names) < 0)
    g_ptr_array_set_size (names, 0);
  H5Gclose (group);
  g_ptr_array_sort (names, compare_names);
  return names;
}

static SbH5Kind
kind_of (hid_t file, const char *path)
{
  H5L_info_t link;
  if (H5Lexists (file, path, H5P_DEFAULT) <= 0 || H5Lget_info (file, path, &link, H5P_DEFAULT) < 0)
    return SB_H5_OTHER;
  if (link.type != H5L_TYPE_HARD)
    return link.type == H5L_TYPE_EXTERNAL ? SB_H5_EXTERNAL : SB_H5_OTHER;
  hid_t object = H5Oopen (file, path, H5P_DEFAULT);
  H5I_type_t type = object < 0 ? H5I_BADID : H5Iget_type (object);
  if (object >= 0)
    H5Oclose (object);
  return type == H5I_GROUP ? SB_H5_GROUP : type == H5I_DATASET ? SB_H5_DATASET : SB_H5_OTHER;
}

/* What a walk remembers. */
typedef struct Walk {
  hid_t file;
  SbH5Visit visit;
  gpointer data;
  GHashTable *seen; /* guint64 *: addresses of groups, which may hold themselves */
  int left;
} Walk;

static gboolean
is_new (Walk *walk, const char *group)
{
  H5G_stat_t info;
  if (H5Gget_objinfo (walk->file, group, FALSE, &info) < 0)
    return FALSE;
  guint64 *address = g_new (guint64, 1);
  *address = (guint64)info.objno[0] | (guint64)info.objno[1] << 32;
  return g_hash_table_add (walk->seen, address);
}

/* FALSE: visit has had enough. */
static gboolean
walk_group (Walk *walk, const char *group, int deep)
{
  if (deep > MOST_DEEP || !is_new (walk, group))
    return TRUE;
  g_autoptr (GPtrArray) names = names_of (walk->file, group);
  for (guint i = 0; i < names->len; i++) {
    g_autofree char *path = g_strconcat (group, g_str_has_suffix (group, "/") ? "" : "/", names->pdata[i], NULL);
    if (--walk->left < 0)
      return FALSE;
    SbH5Kind kind = kind_of (walk->file, path);
    if (kind == SB_H5_OTHER)
      continue;
    if (!walk->visit (walk->file, path, kind, walk->data))
      return FALSE;
    if (kind == SB_H5_GROUP && !walk_group (walk, path, deep + 1))
      return FALSE;
  }
  return TRUE;
}

void
h5walk (hid_t file, const char *group, SbH5Visit visit, gpointer data)
{
  Walk walk = { file, visit, data, g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL), MOST_PARTS };
  walk_group (&walk, group, 0);
  g_hash_table_unref (walk.seen);
}

/* ---- datasets ---- */

void
h5walk_shape (hid_t file, const char *path, SbH5Shape *shape)
{
  hsize_t axes[H5S_MAX_RANK];
  *shape = (SbH5Shape){ .rank = -1 };
  hid_t set = h5io_exists (file, path) && kind_of (file, path) == SB_H5_DATASET ? H5Dopen2 (file, path, H5P_DEFAULT)
                                                                                : H5I_INVALID_HID;
  if (set < 0)
    return;
  hid_t space = H5Dget_space (set), type = H5Dget_type (set), plan = H5Dget_create_plist (set);
  H5T_class_t class = type < 0 ? H5T_NO_CLASS : H5Tget_class (type);
  if (space >= 0 && (class == H5T_INTEGER || class == H5T_FLOAT))
    shape->rank = H5Sget_simple_extent_dims (space, axes, NULL);
  shape->bytes = type < 0 ? 0 : (gint64)H5Tget_size (type);
  for (int i = 0; i < shape->rank; i++) {
    gint64 n = (gint64)MIN (axes[i], (hsize_t)G_MAXINT64);
    if (i < 4)
      shape->shape[i] = n;
    if (__builtin_mul_overflow (shape->bytes, n, &shape->bytes))
      shape->bytes = G_MAXINT64;
  }
  shape->is_virtual = plan >= 0 && H5Pget_layout (plan) == H5D_VIRTUAL;
  if (plan >= 0)
    H5Pclose (plan);
  if (type >= 0)
    H5Tclose (type);
  if (space >= 0)
    H5Sclose (space);
  H5Dclose (set);
}

/* ---- links ---- */

char *
h5walk_file (const char *from, const char *file)
{
  const char *slash = strrchr (file, '/'), *back = strrchr (file, '\\');
  const char *base = MAX (slash, back) != NULL ? MAX (slash, back) + 1 : file;
  g_autofree char *folder = g_path_get_dirname (from);
  g_autofree char *named = g_path_is_absolute (file) ? g_strdup (file) : g_build_filename (folder, file, NULL);
  if (g_file_test (named, G_FILE_TEST_EXISTS))
    return g_steal_pointer (&named);
  return g_build_filename (folder, base, NULL);
}

/* Where a link leads: file (NULL: this one) and path; FALSE: it cannot be read. */
static gboolean
read_link (hid_t file, const char *path, const H5L_info_t *link, char **to_file, char **to_path)
{
  const char *name = NULL, *target = NULL;
  unsigned flags;
  gsize size = link->u.val_size;
  if (size == 0 || size > 65536)
    return FALSE;
  g_autofree char *value = g_malloc0 (size + 1);
  if (H5Lget_val (file, path, value, size, H5P_DEFAULT) < 0)
    return FALSE;
  if (link->type == H5L_TYPE_SOFT)
    target = value;
  else if (link->type != H5L_TYPE_EXTERNAL || H5Lunpack_elink_val (value, size, &flags, &name, &target) < 0)
    return FALSE;
  *to_file = g_strdup (name);
  *to_path = g_strdup (target);
  return TRUE;
}

/* What became of one walk along a path. */
typedef enum Step { STEP_ARRIVED, STEP_LINK, STEP_ABSENT } Step;

/* Up to the first link that is not hard: *to_file (NULL: the same) and *to_path say where to go on. */
static Step
step_along (hid_t file, const char *dataset, char **to_file, char **to_path)
{
  g_auto (GStrv) parts = g_strsplit (dataset, "/", -1);
  g_autoptr (GString) so_far = g_string_new (NULL);
  for (guint i = 0; parts[i] != NULL; i++) {
    H5L_info_t link;
    if (parts[i][0] == '\0')
      continue;
    g_autofree char *parent = g_strdup (so_far->len > 0 ? so_far->str : "/");
    g_string_append_printf (so_far, "/%s", parts[i]);
    if (H5Lexists (file, so_far->str, H5P_DEFAULT) <= 0 || H5Lget_info (file, so_far->str, &link, H5P_DEFAULT) < 0)
      return STEP_ABSENT;
    if (link.type == H5L_TYPE_HARD)
      continue;
    g_autofree char *rest = g_strjoinv ("/", parts + i + 1), *target = NULL;
    if (!read_link (file, so_far->str, &link, to_file, &target))
      return STEP_ABSENT;
    gboolean relative = *to_file == NULL && target[0] != '/';
    *to_path = g_strconcat (relative ? parent : "", relative ? "/" : "", target, "/", rest, NULL);
    return STEP_LINK;
  }
  return so_far->len > 0 ? STEP_ARRIVED : STEP_ABSENT;
}

gboolean
h5walk_resolve (const char *path, const char *dataset, char **file, char **inside, GError **error)
{
  g_autofree char *at_file = g_strdup (path), *at_path = g_strdup (dataset);
  for (int n = 0; n < MOST_LINKS; n++) {
    char *to_file = NULL, *to_path = NULL;
    Step step = STEP_ABSENT;
    if (!h5io_begin (error))
      return FALSE;
    hid_t id = h5io_open_file (at_file, error);
    if (id >= 0) {
      step = step_along (id, at_path, &to_file, &to_path);
      H5Fclose (id);
    }
    h5io_end ();
    if (id < 0)
      return FALSE;
    if (step == STEP_ABSENT)
      return sb_fail (error, SB_ERROR_DATA, "%s has no dataset %s.", at_file, at_path);
    if (step == STEP_ARRIVED) {
      *file = g_steal_pointer (&at_file);
      *inside = g_steal_pointer (&at_path);
      return TRUE;
    }
    if (to_file != NULL) {
      char *next = h5walk_file (at_file, to_file);
      g_free (at_file);
      at_file = next;
    }
    g_free (to_file);
    g_free (at_path);
    at_path = to_path;
  }
  return sb_fail (error, SB_ERROR_DATA, "%s: the links of dataset %s lead round in a circle.", path, dataset);
}
