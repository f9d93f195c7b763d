/* One acquisition of a series, from its file to its result files. */
#include <sys/stat.h>

#include "core/batch/inside.h"
#include "core/error.h"
#include "core/report.h"

/* Refused before hours of work, not after. */
static gboolean
check_targets (const SbBatch *batch, const SbBatchItem *item, GError **error)
{
  for (guint i = 0; writer_registry[i] != NULL && !batch->call->output->force; i++) {
    struct stat status;
    g_autofree char *path = g_strconcat (item->prefix, writer_registry[i]->suffix, NULL);
    if (lstat (path, &status) == 0 && !writer_registry[i]->ours (path))
      return sb_fail (error, SB_ERROR_IO,
                      "%s exists and is not a file of Sideband; give another output, or force to replace it.", path);
  }
  return TRUE;
}

static void
stamp (const SbBatch *batch, SbResult *result, const SbAcquisition *acquisition, gboolean fitted, const char *reference,
       const char *key)
{
  json_t *info = result->info, *parameters = json_deep_copy (batch->call->parameters);
  g_autofree char *valid = reference != NULL ? g_utf8_make_valid (reference, -1) : NULL;
  json_t *whose = valid != NULL ? json_string (valid) : json_null ();
  if (valid != NULL) {
    json_object_set (parameters, "from", whose);
    json_object_del (parameters, "coefficients");
    json_object_del (parameters, "start");
  }
  json_object_set_new (info, "parameters", parameters);
  json_object_set_new (info, "command", json_string (fitted ? "run" : "reconstruct"));
  json_object_set_new (info, "source", report_source (acquisition));
  json_object_set_new (info, "batch", json_pack ("{s:s, s:o}", "key", key, "reference", whose));
}

static SbResult *
compute (const SbBatch *batch, SbAcquisition *acquisition, SbEngine *engine, gboolean fitted, const char *reference,
         SbProgress *progress, GError **error)
{
  SbPipelineOptions options = *batch->call->pipeline;
  SbAberrationOptions aberrations = *options.aberrations;
  if (reference != NULL) {
    aberrations.from = (char *)reference;
    aberrations.coefficients = aberrations.start = NULL;
  }
  options.aberrations = &aberrations;
  SbWork *work = work_new (engine, acquisition);
  SbResult *result = fitted ? pipeline_run (work, &options, progress, error)
                            : pipeline_reconstruct (work, &options, progress, error);
  work_free (work);
  return result;
}

static gboolean
compute_and_save (const SbBatch *batch, SbBatchItem *item, SbAcquisition *acquisition, SbEngine *engine, const char *reference,
                  const char *key, SbProgress *progress, gboolean *fatal, GError **error)
{
  gboolean fitted = reference == NULL && g_strcmp0 (batch->call->batch->aberrations, "given") != 0;
  if (!check_targets (batch, item, error))
    return FALSE;
  SbResult *result = compute (batch, acquisition, engine, fitted, reference, progress, error);
  if (result == NULL)
    return FALSE;
  stamp (batch, result, acquisition, fitted, reference, key);
  gboolean saved = result_save_at (result, writer_registry, item->prefix, batch->call->output->force, error);
  *fatal = !saved;
  if (saved)
    item->info = json_incref (result->info);
  result_free (result);
  return saved;
}

gboolean
one_run (SbBatch *batch, SbBatchItem *item, SbEngine *engine, gboolean find_only, const char *reference, SbProgress *progress,
         gboolean *fatal, GError **error)
{
  *fatal = FALSE;
  SbAcquisition *acquisition = acquisition_open (item->path, batch->call->acquisition, error);
  if (acquisition == NULL)
    return FALSE;
  g_autofree char *key = finished_key (batch, acquisition, reference != NULL ? batch->reference_key : NULL);
  gboolean done = FALSE;
  if (key == NULL)
    sb_fail (error, SB_ERROR_MEMORY, "There is no memory left for %s; close other programs.", item->path);
  else if (batch->call->batch->resume && (item->info = finished_info (item, key)) != NULL)
    done = item->kept = TRUE;
  else if (!find_only)
    done = compute_and_save (batch, item, acquisition, engine, reference, key, progress, fatal, error);
  acquisition_free (acquisition);
  return done;
}
