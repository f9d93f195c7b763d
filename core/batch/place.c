/* Where the files of a series go, and that only one batch writes there at a time. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/batch/inside.h"
#include "core/error.h"

static gboolean
is_folder (const char *path)
{
  struct stat status;
  return stat (path, &status) == 0 && S_ISDIR (status.st_mode);
}

/* ---- names ---- */

static void
count (GHashTable *names, const char *name)
{
  g_hash_table_insert (names, g_strdup (name), GUINT_TO_POINTER (GPOINTER_TO_UINT (g_hash_table_lookup (names, name)) + 1));
}

/* scan.h5 of two folders: a_scan and b_scan; where that does not tell them apart either, by numbers. */
static void
name_items (const SbBatch *batch)
{
  g_autoptr (GHashTable) bases = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GHashTable) taken = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  for (guint i = 0; i < batch->items->len; i++) {
    g_autofree char *base = source_base (((SbBatchItem *)batch->items->pdata[i])->path);
    count (bases, base);
  }
  for (guint i = 0; i < batch->items->len; i++) {
    SbBatchItem *item = batch->items->pdata[i];
    g_autofree char *base = source_base (item->path);
    gboolean alone = GPOINTER_TO_UINT (g_hash_table_lookup (bases, base)) == 1;
    g_autofree char *folder = g_path_get_dirname (item->path);
    g_autofree char *parent = g_path_get_basename (folder);
    g_autofree char *whole = alone || parent[0] == '/' ? g_strdup (base) : g_strconcat (parent, "_", base, NULL);
    item->name = g_strdup (whole);
    for (guint n = 2; g_hash_table_contains (taken, item->name); n++) {
      g_free (item->name);
      item->name = g_strdup_printf ("%s_%u", whole, n);
    }
    g_hash_table_add (taken, g_strdup (item->name));
  }
}

gboolean
place_names (SbBatch *batch, GError **error)
{
  const char *output = batch->call->output->output;
  name_items (batch);
  if (output == NULL || output[0] == '\0')
    return batch->call->batch->dry_run
           || sb_fail (error, SB_ERROR_ARGUMENT, "A series needs a place for its results; give output, a folder.");
  g_autofree char *whole = g_canonicalize_filename (output, NULL);
  gboolean folder = is_folder (output) || g_str_has_suffix (output, G_DIR_SEPARATOR_S);
  batch->prefix = folder ? g_build_filename (whole, "batch", NULL) : g_strdup (whole);
  for (guint i = 0; i < batch->items->len; i++) {
    SbBatchItem *item = batch->items->pdata[i];
    item->prefix = folder ? g_build_filename (whole, item->name, NULL) : g_strconcat (whole, "_", item->name, NULL);
  }
  return TRUE;
}

/* ---- the folder ---- */

static gboolean
fail_write (const char *path, GError **error)
{
  g_autoptr (GError) reason = NULL;
  save_failed (&reason, errno);
  return result_fail (error, path, "cannot be written", reason);
}

static gboolean
make_folder (SbBatch *batch, GError **error)
{
  g_autofree char *folder = g_path_get_dirname (batch->prefix);
  if (is_folder (folder))
    return TRUE;
  if (!g_str_has_suffix (batch->call->output->output, G_DIR_SEPARATOR_S))
    return sb_fail (error, SB_ERROR_IO, "%s cannot be written: there is no folder %s; make it or give another output.",
                    batch->prefix, folder);
  if (mkdir (folder, 0777) != 0)
    return fail_write (folder, error);
  batch->made = g_steal_pointer (&folder);
  return TRUE;
}

/* ---- the lock ---- */

static gboolean
fail_locked (const SbBatch *batch, GError **error)
{
  char text[32] = "";
  gssize n = pread (batch->lock_file, text, sizeof text - 1, 0);
  gint64 pid = n > 0 ? g_ascii_strtoll (text, NULL, 10) : 0;
  g_autofree char *who = pid > 0 ? g_strdup_printf (" (process %" G_GINT64_FORMAT ")", pid) : g_strdup ("");
  return sb_fail (error, SB_ERROR_STATE, "Another batch%s is writing to this output, %s; wait for it or give another output.",
                  who, batch->prefix);
}

/* The system gives the lock back however a process ends. Where another batch took the file away between our opening
 * and locking it, ours is not the one that others see: once more. */
static gboolean
take_lock (SbBatch *batch, GError **error)
{
  batch->lock_path = g_strconcat (batch->prefix, ".lock", NULL);
  for (;;) {
    struct stat ours, seen;
    batch->lock_file = open (batch->lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (batch->lock_file < 0)
      return fail_write (batch->lock_path, error);
    if (flock (batch->lock_file, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK)
        return fail_locked (batch, error);
      batch_warn (batch, "The file system of %s knows no locks (%s); start no second batch with this output.", batch->prefix,
                  g_strerror (errno));
      return TRUE;
    }
    if (fstat (batch->lock_file, &ours) == 0 && stat (batch->lock_path, &seen) == 0 && ours.st_ino == seen.st_ino
        && ours.st_dev == seen.st_dev)
      break;
    close (batch->lock_file);
  }
  g_autofree char *pid = g_strdup_printf ("%d\n", (int)getpid ());
  g_autoptr (GError) reason = NULL;
  if (ftruncate (batch->lock_file, 0) == 0 && save_append (batch->lock_file, pid, strlen (pid), &reason))
    return TRUE;
  if (reason == NULL)
    save_failed (&reason, errno);
  return result_fail (error, batch->prefix, "cannot be written", reason);
}

/* ---- what a kill left ---- */

static GHashTable *
our_names (const SbBatch *batch)
{
  GHashTable *names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  for (guint i = 0; i < batch->items->len; i++)
    for (guint w = 0; writer_registry[w] != NULL; w++) {
      g_autofree char *base = g_path_get_basename (((SbBatchItem *)batch->items->pdata[i])->prefix);
      g_hash_table_add (names, g_strconcat (base, writer_registry[w]->suffix, NULL));
    }
  g_autofree char *common = g_path_get_basename (batch->prefix);
  for (guint w = 0; table_writers[w] != NULL; w++)
    g_hash_table_add (names, g_strconcat (common, table_writers[w]->suffix, NULL));
  g_hash_table_add (names, g_strconcat (common, stack_writers[0]->suffix, NULL));
  return names;
}

/* A killed process that its parent has not looked after yet does not live. */
static gboolean
lives (gint64 pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/stat", (int)pid), *text = NULL;
  if (kill ((GPid)pid, 0) != 0 && errno != EPERM)
    return FALSE;
  const char *name = g_file_get_contents (path, &text, NULL, NULL) ? strrchr (text, ')') : NULL;
  return name == NULL || strncmp (name, ") Z", 3) != 0;
}

/* "columns_result.h5.4711.3.partial": the name before, and whether that process still lives (we are not yet writing).
 */
static gboolean
parse_leftover (const char *name, char **target, gboolean *previous)
{
  g_auto (GStrv) words = g_strsplit (name, ".", -1);
  guint n = g_strv_length (words);
  if (n < 4)
    return FALSE;
  *previous = strcmp (words[n - 1], "previous") == 0;
  gint64 pid = g_ascii_strtoll (words[n - 3], NULL, 10);
  if ((!*previous && strcmp (words[n - 1], "partial") != 0) || pid <= 0 || pid > G_MAXINT32)
    return FALSE;
  if (pid != getpid () && lives (pid))
    return FALSE;
  gsize tail = strlen (words[n - 1]) + strlen (words[n - 2]) + strlen (words[n - 3]) + 3;
  *target = g_strndup (name, strlen (name) - tail);
  return TRUE;
}

/* A previous file without its target is the only copy: it goes back. */
static void
clear_leftover (const char *folder, const char *name, GHashTable *ours)
{
  g_autofree char *target = NULL;
  gboolean previous = FALSE;
  if (!parse_leftover (name, &target, &previous) || !g_hash_table_contains (ours, target))
    return;
  g_autofree char *left = g_build_filename (folder, name, NULL), *whole = g_build_filename (folder, target, NULL);
  if (previous && access (whole, F_OK) != 0)
    rename (left, whole);
  else
    unlink (left);
}

void
place_tidy (const SbBatch *batch)
{
  g_autofree char *folder = g_path_get_dirname (batch->prefix);
  GDir *listing = g_dir_open (folder, 0, NULL);
  if (listing == NULL)
    return;
  g_autoptr (GHashTable) ours = our_names (batch);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  for (const char *name; (name = g_dir_read_name (listing)) != NULL;)
    g_ptr_array_add (names, g_strdup (name));
  g_dir_close (listing);
  for (guint i = 0; i < names->len; i++)
    clear_leftover (folder, names->pdata[i], ours);
}

gboolean
place_open (SbBatch *batch, GError **error)
{
  if (!place_names (batch, error) || !make_folder (batch, error))
    return FALSE;
  if (!take_lock (batch, error)) {
    if (batch->lock_file >= 0)
      close (batch->lock_file);
    batch->lock_file = -1;
    return FALSE;
  }
  place_tidy (batch);
  return TRUE;
}

void
place_close (SbBatch *batch)
{
  if (batch->lock_file >= 0) {
    unlink (batch->lock_path); /* while it is ours */
    close (batch->lock_file);
  }
  if (batch->made != NULL)
    rmdir (batch->made); /* stays where something was written into it */
}
