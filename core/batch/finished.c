/* What an earlier run finished, and whether it still holds: the same files, the same parameters, every byte intact.
 */
#include <glib/gstdio.h>

#include "core/batch/inside.h"
#include "core/seal.h"

enum { SCHEME = 1 }; /* of what the key is made of */

static json_t *
state_of_files (const SbAcquisition *acquisition)
{
  json_t *files = json_array ();
  for (guint i = 0; i < acquisition->header.files->len; i++) {
    GStatBuf status = { 0 };
    g_autofree char *path = g_canonicalize_filename (acquisition->header.files->pdata[i], NULL);
    g_autofree char *valid = g_utf8_make_valid (path, -1);
    g_stat (path, &status);
    json_array_append_new (files, json_pack ("[s, I, I, I]", valid, (json_int_t)status.st_size,
                                             (json_int_t)status.st_mtim.tv_sec, (json_int_t)status.st_mtim.tv_nsec));
  }
  return files;
}

char *
finished_key (const SbBatch *batch, const SbAcquisition *acquisition, const char *reference_key)
{
  json_t *all = json_pack ("{s:i, s:s, s:o, s:O, s:s}", "scheme", SCHEME, "version", SB_VERSION, "files",
                           state_of_files (acquisition), "parameters", batch->call->parameters, "reference",
                           reference_key != NULL ? reference_key : "");
  g_autofree char *text = json_text (all, FALSE);
  json_decref (all);
  return text != NULL ? g_compute_checksum_for_string (G_CHECKSUM_SHA256, text, -1) : NULL;
}

static gboolean
files_are_there (const SbBatchItem *item, const json_t *files)
{
  g_autofree char *folder = g_path_get_dirname (item->prefix);
  size_t i;
  json_t *file;
  json_array_foreach (files, i, file) {
    if (!json_is_string (file))
      return FALSE;
    g_autofree char *name = g_path_get_basename (json_string_value (file));
    g_autofree char *path = g_build_filename (folder, name, NULL);
    if (!g_file_test (path, G_FILE_TEST_IS_REGULAR))
      return FALSE;
  }
  return json_array_size (files) > 0;
}

/* The sealed file is the last one of its acquisition to be put in place (save.c): where it is intact all are. */
json_t *
finished_info (const SbBatchItem *item, const char *key)
{
  g_autofree char *path = g_strconcat (item->prefix, "_result.h5", NULL);
  if (key == NULL || seal_check (path) != SB_SEAL_INTACT)
    return NULL;
  SbResult *result = result_open (path, NULL);
  if (result == NULL)
    return NULL;
  const json_t *batch = json_object_get (result->info, "batch");
  json_t *info = NULL;
  if (g_strcmp0 (json_string_value (json_object_get (batch, "key")), key) == 0
      && files_are_there (item, json_object_get (result->info, "files")))
    info = json_incref (result->info);
  result_free (result);
  return info;
}
