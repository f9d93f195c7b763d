/* Saving: every file is written under a temporary name in its own folder and renamed when all is well. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/result.h"

static const SbParam rows[] = {
  { .name = "output",
    .title = "Output",
    .unit = "",
    .type = SB_PARAM_PATH,
    .help = "Folder, or folder and beginning of the name, of the files that are written; the current folder "
            "by default.",
    .offset = offsetof (SbOutputOptions, output),
    .flags = SB_PARAM_NO_RECORD },
  { .name = "force",
    .title = "Replace foreign files",
    .unit = "",
    .type = SB_PARAM_BOOL,
    .help = "Replace existing files even where another program wrote them.",
    .offset = offsetof (SbOutputOptions, force),
    .flags = SB_PARAM_NO_RECORD },
};
const SbParamGroup output_params = { "output", "Output", sizeof (SbOutputOptions), rows, G_N_ELEMENTS (rows) };

/* One file on its way: target is what the user sees, partial what is being written, previous the way back. */
typedef struct Item {
  const SbWriter *writer;
  char *target, *partial, *previous;
  gboolean renamed;
} Item;

static void
item_free (gpointer pointer)
{
  Item *item = pointer;
  g_free (item->target);
  g_free (item->partial);
  g_free (item->previous);
  g_free (item);
}

static Item *
item_new (const SbWriter *writer, const char *target)
{
  static gint counter = 0;
  gint number = g_atomic_int_add (&counter, 1);
  Item *item = g_new0 (Item, 1);
  item->writer = writer;
  item->target = g_strdup (target);
  item->partial = g_strdup_printf ("%s.%d.%d.partial", target, (int)getpid (), number);
  item->previous = g_strdup_printf ("%s.%d.%d.previous", target, (int)getpid (), number);
  return item;
}

gboolean
save_failed (GError **error, int system_error)
{
  const char *remedy = "give another output";
  if (system_error == ENOSPC || system_error == EDQUOT)
    remedy = "free some space or give another output";
  else if (system_error == EACCES || system_error == EROFS || system_error == EPERM)
    remedy = "give an output folder that can be written";
  else if (system_error == ENOENT || system_error == ENOTDIR)
    remedy = "make the folder or give another output";
  else if (system_error == ENAMETOOLONG)
    remedy = "give a shorter output";
  return sb_fail (error, SB_ERROR_IO, "%s; %s", g_strerror (system_error != 0 ? system_error : EIO), remedy);
}

gboolean
save_append (int file, gconstpointer bytes, gsize size, GError **error)
{
  const char *next = bytes;
  while (size > 0) {
    gssize n = write (file, next, MIN (size, (gsize)1 << 30));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return save_failed (error, n < 0 ? errno : ENOSPC);
    next += n;
    size -= (gsize)n;
  }
  return TRUE;
}

gboolean
save_bytes (const char *path, gconstpointer bytes, gsize size, GError **error)
{
  int file = open (path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0)
    return save_failed (error, errno);
  gboolean good = save_append (file, bytes, size, error);
  if (close (file) != 0 && good)
    return save_failed (error, errno);
  return good;
}

/* The bytes are on the disk before the name is: a power cut leaves the old file or the new one. */
static gboolean
sync_path (const char *path, int flags, GError **error)
{
  int file = open (path, flags | O_CLOEXEC);
  if (file < 0)
    return save_failed (error, errno);
  gboolean done = fsync (file) == 0 || errno == EINVAL || errno == ENOTSUP;
  int why = errno;
  close (file);
  return done ? TRUE : save_failed (error, why);
}

static void
sync_folder_of (const char *path)
{
  g_autofree char *folder = g_path_get_dirname (path);
  sync_path (folder, O_RDONLY | O_DIRECTORY, NULL);
}

static gboolean
check_target (const Item *item, gboolean force, GError **error)
{
  struct stat status;
  if (lstat (item->target, &status) != 0) {
    if (errno == ENOENT)
      return TRUE;
    g_autoptr (GError) reason = NULL;
    save_failed (&reason, errno);
    return result_fail (error, item->target, "cannot be written", reason);
  }
  if (stat (item->target, &status) == 0 && !S_ISREG (status.st_mode))
    return sb_fail (error, SB_ERROR_IO, "%s is not a file and is not replaced; give another output.", item->target);
  if (!force && !item->writer->ours (item->target))
    return sb_fail (error, SB_ERROR_IO, "%s exists and is not a file of Sideband; give another output, or force to replace it.",
                    item->target);
  return TRUE;
}

static gboolean
write_partial (const SbResult *result, const Item *item, GError **error)
{
  g_autoptr (GError) reason = NULL;
  if (item->writer->write (result, item->partial, &reason) && sync_path (item->partial, O_RDWR, &reason))
    return TRUE;
  return result_fail (error, item->target, "cannot be written", reason);
}

/* Keeps the file that is replaced under another name until all renames are done. */
static gboolean
put_in_place (Item *item, GError **error)
{
  if (link (item->target, item->previous) != 0 && errno != ENOENT && rename (item->target, item->previous) != 0)
    g_clear_pointer (&item->previous, g_free); /* no way back on this file system */
  if (rename (item->partial, item->target) == 0)
    return item->renamed = TRUE;
  g_autoptr (GError) reason = NULL;
  save_failed (&reason, errno);
  return result_fail (error, item->target, "cannot be written", reason);
}

static void
take_back (const Item *item)
{
  struct stat status;
  unlink (item->partial);
  if (item->previous != NULL && lstat (item->previous, &status) == 0) {
    /* rename () does nothing between two names of one file: the second name then goes by unlink */
    rename (item->previous, item->target);
    unlink (item->previous);
  } else if (item->renamed) {
    unlink (item->target);
  }
}

static gboolean
save_items (const SbResult *result, GPtrArray *items, gboolean force, GError **error)
{
  gboolean good = TRUE;
  for (guint i = 0; good && i < items->len; i++)
    good = check_target (g_ptr_array_index (items, i), force, error);
  if (!good)
    return FALSE;
  for (guint i = 0; good && i < items->len; i++)
    good = write_partial (result, g_ptr_array_index (items, i), error);
  /* The first one last: it is the sealed file, and where it stands complete all others do. */
  for (guint i = items->len; good && i > 0; i--)
    good = put_in_place (g_ptr_array_index (items, i - 1), error);
  for (guint i = 0; i < items->len; i++) {
    const Item *item = g_ptr_array_index (items, i);
    if (!good)
      take_back (item);
    else if (item->previous != NULL)
      unlink (item->previous);
  }
  if (good && items->len > 0)
    sync_folder_of (((const Item *)g_ptr_array_index (items, 0))->target);
  return good;
}

static gboolean
folder_exists (const char *path)
{
  struct stat status;
  return stat (path, &status) == 0 && S_ISDIR (status.st_mode);
}

static gboolean
check_folder_of (const char *path, GError **error)
{
  g_autofree char *folder = g_path_get_dirname (path);
  if (folder_exists (folder))
    return TRUE;
  return sb_fail (error, SB_ERROR_IO, "%s cannot be written: there is no folder %s; make it or give another output.", path,
                  folder);
}

gboolean
result_save (const SbResult *result, const char *path, const char *kind, gboolean force, GError **error)
{
  const SbWriter *writer = NULL;
  g_autoptr (GString) names = g_string_new (NULL);
  for (guint i = 0; writer == NULL && writer_registry[i] != NULL; i++) {
    g_string_append_printf (names, "%s%s", i > 0 ? ", " : "", writer_registry[i]->name);
    if (strcmp (writer_registry[i]->name, kind) == 0)
      writer = writer_registry[i];
  }
  if (writer == NULL)
    return sb_fail (error, SB_ERROR_ARGUMENT, "\"%s\" is no kind of file that can be written; give one of %s.", kind,
                    names->str);
  if (!check_folder_of (path, error))
    return FALSE;
  g_autoptr (GPtrArray) items = g_ptr_array_new_with_free_func (item_free);
  g_ptr_array_add (items, item_new (writer, path));
  return save_items (result, items, force, error);
}

char *
source_base (const char *source)
{
  g_autofree char *name = source != NULL ? g_path_get_basename (source) : g_strdup ("");
  char *dot = strrchr (name, '.');
  if (dot != NULL)
    *dot = '\0';
  if (g_str_has_suffix (name, "_master"))
    name[strlen (name) - strlen ("_master")] = '\0';
  gboolean usable = name[0] != '\0' && strchr (name, G_DIR_SEPARATOR) == NULL;
  return g_strdup (usable ? name : "sideband");
}

/* What the suffixes are put behind. *made: the folder that had to be made, to be taken away on failure. */
static char *
output_prefix (const SbOutputOptions *options, const char *source, char **made, GError **error)
{
  const char *output = options != NULL && options->output != NULL && options->output[0] != '\0' ? options->output : ".";
  g_autofree char *base = source_base (source);
  if (!folder_exists (output)) {
    if (!g_str_has_suffix (output, G_DIR_SEPARATOR_S)) {
      g_autofree char *prefix = g_canonicalize_filename (output, NULL);
      return check_folder_of (prefix, error) ? g_steal_pointer (&prefix) : NULL;
    }
    if (mkdir (output, 0777) != 0) {
      g_autoptr (GError) reason = NULL;
      save_failed (&reason, errno);
      result_fail (error, output, "cannot be made", reason);
      return NULL;
    }
    *made = g_strdup (output);
  }
  g_autofree char *path = g_build_filename (output, base, NULL);
  return g_canonicalize_filename (path, NULL);
}

/* The list goes into every file, so it is set before any is written. */
static void
list_files (SbResult *result, const GPtrArray *items)
{
  json_t *files = json_array ();
  for (guint i = 0; i < items->len; i++) {
    g_autofree char *shown = g_filename_display_name (((const Item *)g_ptr_array_index (items, i))->target);
    json_array_append_new (files, json_string (shown));
  }
  json_object_set_new (result->info, "files", files);
}

gboolean
result_save_at (SbResult *result, const SbWriter *const *writers, const char *prefix, gboolean force, GError **error)
{
  g_autoptr (GPtrArray) items = g_ptr_array_new_with_free_func (item_free);
  for (guint i = 0; writers[i] != NULL; i++) {
    if (!writers[i]->applies (result))
      continue;
    g_autofree char *target = g_strconcat (prefix, writers[i]->suffix, NULL);
    g_ptr_array_add (items, item_new (writers[i], target));
  }
  if (items->len == 0) /* a command that wrote its own files */
    return TRUE;
  json_t *before = json_incref (json_object_get (result->info, "files"));
  list_files (result, items);
  gboolean saved = save_items (result, items, force, error);
  if (!saved && before != NULL)
    json_object_set (result->info, "files", before);
  else if (!saved)
    json_object_del (result->info, "files");
  json_decref (before);
  return saved;
}

gboolean
result_save_all (SbResult *result, const SbOutputOptions *output, const char *source, GError **error)
{
  g_autofree char *made = NULL;
  g_autofree char *prefix = output_prefix (output, source, &made, error);
  if (prefix == NULL)
    return FALSE;
  gboolean saved = result_save_at (result, writer_registry, prefix, output != NULL && output->force, error);
  if (!saved && made != NULL)
    rmdir (made);
  return saved;
}
