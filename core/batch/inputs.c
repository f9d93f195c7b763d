/* What the user named - files, folders, patterns, lists - as the acquisitions of a series. */
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/batch/inside.h"
#include "core/error.h"
#include "core/seal.h"

enum { HEAD = 4096, DEEPEST_LIST = 4 };

typedef struct Candidate {
  char *path;
  gboolean found; /* not named itself: must look like an acquisition */
  gboolean opens, dropped;
} Candidate;

static void
candidate_free (gpointer pointer)
{
  Candidate *candidate = pointer;
  g_free (candidate->path);
  g_free (candidate);
}

/* scan_2 before scan_10: runs of digits by their value, all else by its bytes. */
static int
compare_names (gconstpointer a, gconstpointer b)
{
  const char *x = *(const char *const *)a, *y = *(const char *const *)b;
  while (*x != '\0' && *y != '\0') {
    if (g_ascii_isdigit (*x) && g_ascii_isdigit (*y)) {
      const char *p = x + strspn (x, "0"), *q = y + strspn (y, "0");
      gsize n = strspn (p, "0123456789"), m = strspn (q, "0123456789");
      int order = n != m ? (n < m ? -1 : 1) : strncmp (p, q, n);
      if (order != 0)
        return order;
      x = p + n;
      y = q + m;
    } else if (*x != *y)
      return (guchar)*x < (guchar)*y ? -1 : 1;
    else {
      x++;
      y++;
    }
  }
  return *x == *y ? strcmp (*(const char *const *)a, *(const char *const *)b) : *x != '\0' ? 1 : -1;
}

static gboolean
is_folder (const char *path)
{
  struct stat status;
  return stat (path, &status) == 0 && S_ISDIR (status.st_mode);
}

/* Surer than by its name alone (which is enough where the user said what raw files hold); never one of our results.
 */
static gboolean
looks_usable (const char *path, const SbAcquisitionOptions *options)
{
  struct stat status;
  guint8 head[HEAD];
  int best = 0;
  FILE *file = stat (path, &status) == 0 && S_ISREG (status.st_mode) ? fopen (path, "rbe") : NULL;
  if (file == NULL)
    return FALSE;
  gsize size = fread (head, 1, sizeof head, file);
  fclose (file);
  for (guint i = 0; format_registry[i] != NULL; i++)
    best = MAX (best, format_registry[i]->probe (path, head, size));
  return best > 1 || (best == 1 && options != NULL && options->dtype != NULL);
}

static gboolean
is_result (const char *path)
{
  if (seal_exists (path))
    return TRUE;
  for (guint i = 0; writer_registry[i] != NULL; i++)
    if (g_str_has_suffix (path, writer_registry[i]->suffix) && writer_registry[i]->ours (path))
      return TRUE;
  return FALSE;
}

static void
add (GPtrArray *list, const char *path, gboolean found)
{
  Candidate *candidate = g_new0 (Candidate, 1);
  candidate->path = g_canonicalize_filename (path, NULL);
  candidate->found = found;
  g_ptr_array_add (list, candidate);
}

static gboolean
add_folder (GPtrArray *list, const char *path, GError **error)
{
  g_autoptr (GError) reason = NULL;
  GDir *folder = g_dir_open (path, 0, &reason);
  if (folder == NULL)
    return sb_fail (error, SB_ERROR_IO, "The folder %s cannot be read (%s); check its permissions.", path, reason->message);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  for (const char *name; (name = g_dir_read_name (folder)) != NULL;)
    if (name[0] != '.')
      g_ptr_array_add (names, g_strdup (name));
  g_dir_close (folder);
  g_ptr_array_sort (names, compare_names);
  for (guint i = 0; i < names->len; i++) {
    g_autofree char *inside = g_build_filename (path, names->pdata[i], NULL);
    add (list, inside, TRUE);
  }
  return TRUE;
}

static gboolean
add_pattern (GPtrArray *list, const char *pattern, GError **error)
{
  glob_t matches = { 0 };
  int failed = glob (pattern, GLOB_NOSORT, NULL, &matches);
  if (failed == 0) {
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    for (gsize i = 0; i < matches.gl_pathc; i++)
      g_ptr_array_add (names, g_strdup (matches.gl_pathv[i]));
    g_ptr_array_sort (names, compare_names);
    for (guint i = 0; i < names->len; i++)
      add (list, names->pdata[i], TRUE);
  }
  globfree (&matches);
  return failed == 0 || sb_fail (error, SB_ERROR_ARGUMENT, "No file matches %s; check inputs.", pattern);
}

static gboolean add_lines (GPtrArray *list, const char *text, const char *folder, int depth, GError **error);

/* Names in a list file are seen from where it lies. */
static gboolean
add_list (GPtrArray *list, const char *path, int depth, GError **error)
{
  g_autofree char *text = NULL;
  g_autofree char *folder = g_path_get_dirname (path);
  g_autoptr (GError) reason = NULL;
  if (depth >= DEEPEST_LIST)
    return sb_fail (error, SB_ERROR_ARGUMENT, "The list %s is named by lists that name each other; write one list.", path);
  if (!g_file_test (path, G_FILE_TEST_IS_REGULAR) || !g_file_get_contents (path, &text, NULL, &reason))
    return sb_fail (error, SB_ERROR_IO, "The list %s cannot be read%s%s; check the name after the @.", path,
                    reason != NULL ? ": " : "", reason != NULL ? reason->message : "");
  return add_lines (list, g_str_has_prefix (text, "\xef\xbb\xbf") ? text + 3 : text, folder, depth + 1, error);
}

static gboolean
add_lines (GPtrArray *list, const char *text, const char *folder, int depth, GError **error)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  gboolean good = TRUE;
  for (guint i = 0; good && lines[i] != NULL; i++) {
    char *line = lines[i];
    gsize length = strlen (line);
    if (length > 0 && line[length - 1] == '\r')
      line[length - 1] = '\0';
    if (line[0] == '\0' || (depth > 0 && line[0] == '#'))
      continue;
    gboolean is_list = line[0] == '@';
    g_autofree char *path = g_canonicalize_filename (line + is_list, folder);
    if (is_list)
      good = add_list (list, path, depth, error);
    else if (is_folder (path))
      good = add_folder (list, path, error);
    else if (strpbrk (line, "*?[") != NULL && !g_file_test (path, G_FILE_TEST_EXISTS))
      good = add_pattern (list, path, error);
    else
      add (list, path, FALSE);
  }
  return good;
}

/* Data files and the sidecar of a detector's master, by name: also where the master is too damaged to list them. */
static gboolean
belongs_by_name (const char *path, GHashTable *masters)
{
  const char *data = g_strrstr (path, "_data_");
  if (!g_str_has_suffix (path, ".h5"))
    return FALSE;
  const char *end = data != NULL && data[6 + strspn (data + 6, "0123456789")] == '.' ? data : strrchr (path, '.');
  g_autofree char *stem = g_strndup (path, (gsize)(end - path));
  return g_hash_table_contains (masters, stem);
}

static GHashTable *
find_masters (const GPtrArray *list)
{
  static const char suffix[] = "_master.h5";
  GHashTable *masters = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  for (guint i = 0; i < list->len; i++) {
    const char *path = ((const Candidate *)list->pdata[i])->path;
    if (g_str_has_suffix (path, suffix))
      g_hash_table_add (masters, g_strndup (path, strlen (path) - strlen (suffix)));
  }
  return masters;
}

/* Files of another acquisition of the list are no acquisitions themselves. Of two that name each other the first
 * counts. */
static void
drop_parts (GPtrArray *list, const SbAcquisitionOptions *options)
{
  g_autoptr (GHashTable) parts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GHashTable) masters = find_masters (list);
  for (guint i = 0; i < list->len; i++) {
    Candidate *candidate = list->pdata[i];
    candidate->dropped = candidate->dropped || belongs_by_name (candidate->path, masters)
                         || g_hash_table_contains (parts, candidate->path);
    SbAcquisition *acquisition = candidate->dropped ? NULL : acquisition_open (candidate->path, options, NULL);
    if (acquisition == NULL)
      continue;
    candidate->opens = TRUE;
    for (guint f = 0; f < acquisition->header.files->len; f++) {
      char *file = g_canonicalize_filename (acquisition->header.files->pdata[f], NULL);
      if (strcmp (file, candidate->path) != 0)
        g_hash_table_add (parts, file);
      else
        g_free (file);
    }
    acquisition_free (acquisition);
  }
  for (guint i = 0; i < list->len; i++) {
    Candidate *candidate = list->pdata[i];
    if (!candidate->opens && g_hash_table_contains (parts, candidate->path))
      candidate->dropped = TRUE;
  }
}

GPtrArray *
batch_inputs (const char *inputs, const SbAcquisitionOptions *options, GError **error)
{
  g_autoptr (GPtrArray) list = g_ptr_array_new_with_free_func (candidate_free);
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  if (inputs == NULL || inputs[strspn (inputs, " \t\r\n")] == '\0') {
    sb_fail (error, SB_ERROR_ARGUMENT, "No acquisitions were named; give inputs: files, a folder, a pattern or @list.");
    return NULL;
  }
  if (!add_lines (list, inputs, NULL, 0, error))
    return NULL;
  for (guint i = 0; i < list->len; i++) {
    Candidate *candidate = list->pdata[i];
    candidate->dropped = !g_hash_table_add (seen, candidate->path) || is_result (candidate->path)
                         || (candidate->found && !looks_usable (candidate->path, options));
  }
  drop_parts (list, options);
  for (guint i = 0; i < list->len; i++) {
    Candidate *candidate = list->pdata[i];
    if (!candidate->dropped)
      g_ptr_array_add (paths, g_steal_pointer (&candidate->path));
  }
  if (paths->len > 0)
    return g_steal_pointer (&paths);
  g_autofree char *shown = g_strdelimit (g_strdup (inputs), "\n", ' ');
  sb_fail (error, SB_ERROR_ARGUMENT, "There is no acquisition that can be read in %.200s; check inputs.", shown);
  return NULL;
}
