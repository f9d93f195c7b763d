#include "core/simulate/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/h5io.h"

struct SbFileSet {
  char *prefix; /* absolute */
  char *made;   /* the folder that had to be made */
  GPtrArray *targets, *partials;
  gboolean replace; /* force, or all that is there is ours */
  gboolean committed;
};

static gboolean
folder_exists (const char *path)
{
  struct stat status;
  return stat (path, &status) == 0 && S_ISDIR (status.st_mode);
}

static gboolean
master_is_ours (const char *prefix)
{
  g_autofree char *path = g_strconcat (prefix, "_master.h5", NULL);
  if (!g_file_test (path, G_FILE_TEST_IS_REGULAR) || !h5io_begin (NULL))
    return FALSE;
  hid_t file = h5io_open_file (path, NULL);
  gboolean ours = file >= 0 && H5Aexists (file, FILES_MARK) > 0;
  if (file >= 0)
    H5Fclose (file);
  h5io_end ();
  return ours;
}

static char *
find_prefix (const char *output, char **made, GError **error)
{
  g_autofree char *whole = g_canonicalize_filename (output, NULL);
  g_autofree char *folder = g_path_get_dirname (whole);
  gboolean is_folder = folder_exists (output);
  if (!is_folder && g_str_has_suffix (output, G_DIR_SEPARATOR_S)) {
    if (mkdir (whole, 0777) != 0) {
      g_autoptr (GError) reason = NULL;
      save_failed (&reason, errno);
      result_fail (error, output, "cannot be made", reason);
      return NULL;
    }
    *made = g_strdup (whole);
    is_folder = TRUE;
  }
  if (is_folder)
    return g_build_filename (whole, "simulated", NULL);
  if (!folder_exists (folder)) {
    sb_fail (error, SB_ERROR_IO, "%s cannot be written: there is no folder %s; make it or give another output.", output,
             folder);
    return NULL;
  }
  return g_steal_pointer (&whole);
}

SbFileSet *
files_new (const SbOutputOptions *output, GError **error)
{
  gboolean given = output != NULL && output->output != NULL && output->output[0] != '\0';
  SbFileSet *files = g_new0 (SbFileSet, 1);
  files->targets = g_ptr_array_new_with_free_func (g_free);
  files->partials = g_ptr_array_new_with_free_func (g_free);
  files->prefix = find_prefix (given ? output->output : ".", &files->made, error);
  if (files->prefix == NULL) {
    files_free (files);
    return NULL;
  }
  files->replace = (output != NULL && output->force) || master_is_ours (files->prefix);
  return files;
}

const char *
files_add (SbFileSet *files, const char *suffix, GError **error)
{
  static gint counter = 0;
  struct stat status;
  g_autofree char *target = g_strconcat (files->prefix, suffix, NULL);
  if (lstat (target, &status) == 0 && (!files->replace || S_ISDIR (status.st_mode))) {
    sb_fail (error, SB_ERROR_IO,
             "%s exists and is not of a simulation of Sideband; give another output, or force to replace it.", target);
    return NULL;
  }
  g_ptr_array_add (files->partials,
                   g_strdup_printf ("%s.%d.%d.partial", target, (int)getpid (), g_atomic_int_add (&counter, 1)));
  g_ptr_array_add (files->targets, g_steal_pointer (&target));
  return files->partials->pdata[files->partials->len - 1];
}

char *
files_name (const SbFileSet *files, const char *suffix)
{
  g_autofree char *name = g_path_get_basename (files->prefix);
  return g_strconcat (name, suffix, NULL);
}

gboolean
files_fail (const SbFileSet *files, const GError *reason, GError **error)
{
  const char *target = files->targets->len > 0 ? files->targets->pdata[files->targets->len - 1] : files->prefix;
  return result_fail (error, target, "cannot be written", reason);
}

/* The bytes are on the disk before the name is. */
static gboolean
sync_file (const char *path)
{
  int file = open (path, O_RDWR | O_CLOEXEC);
  if (file < 0)
    return FALSE;
  gboolean done = fsync (file) == 0 || errno == EINVAL || errno == ENOTSUP;
  int why = errno;
  close (file);
  errno = why;
  return done;
}

/* The file added last, the master, is renamed last: where it is, all others are. */
gboolean
files_commit (SbFileSet *files, GError **error)
{
  gboolean good = TRUE;
  guint n = files->targets->len, renamed = 0;
  for (guint i = 0; good && i < n; i++)
    good = sync_file (files->partials->pdata[i]);
  while (good && renamed < n) {
    good = rename (files->partials->pdata[renamed], files->targets->pdata[renamed]) == 0;
    renamed += good;
  }
  files->committed = good;
  if (good)
    return TRUE;
  g_autoptr (GError) reason = NULL;
  save_failed (&reason, errno);
  for (guint i = 0; i < renamed; i++)
    unlink (files->targets->pdata[i]);
  return result_fail (error, files->targets->pdata[MIN (renamed, n - 1)], "cannot be written", reason);
}

json_t *
files_list (const SbFileSet *files)
{
  json_t *list = json_array ();
  for (guint i = 0; i < files->targets->len; i++) {
    g_autofree char *shown = g_filename_display_name (files->targets->pdata[i]);
    json_array_append_new (list, json_string (shown));
  }
  return list;
}

void
files_free (SbFileSet *files)
{
  if (files == NULL)
    return;
  for (guint i = 0; !files->committed && i < files->partials->len; i++)
    unlink (files->partials->pdata[i]);
  if (!files->committed && files->made != NULL)
    rmdir (files->made);
  g_ptr_array_unref (files->targets);
  g_ptr_array_unref (files->partials);
  g_free (files->prefix);
  g_free (files->made);
  g_free (files);
}
