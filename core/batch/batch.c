#include "core/batch/batch.h"

#include <math.h>
#include <stddef.h>
#include <unistd.h>

#include "core/batch/inside.h"
#include "core/error.h"
#include "core/report.h"
#include "core/work.h"

static const char *const aberration_choices[] = { "refit", "first", "given", NULL };

#define FIELD(field) .offset = offsetof (SbBatchOptions, field)
static const SbParam rows[] = {
  { .name = "inputs",
    .title = "Acquisitions",
    .unit = "",
    .type = SB_PARAM_PATH,
    FIELD (inputs),
    .help = "Acquisitions, one a line: a file, a folder with all that is in it, a pattern with * or ?, or @ and the "
            "name of a list.",
    .value = NAN,
    .min = -INFINITY,
    .max = INFINITY,
    .flags = SB_PARAM_NO_RECORD },
  { .name = "aberrations",
    .title = "Aberrations",
    .unit = "",
    .type = SB_PARAM_CHOICE,
    FIELD (aberrations),
    .help = "Fitted to each acquisition (refit), fitted to the first and held for all (first), or known from "
            "coefficients and from (given).",
    .value = NAN,
    .text = "refit",
    .min = -INFINITY,
    .max = INFINITY,
    .choices = aberration_choices },
  { .name = "jobs",
    .title = "At a time",
    .unit = "",
    .type = SB_PARAM_INT,
    FIELD (jobs),
    .help = "Acquisitions that are computed at a time; they share threads and memory.",
    .value = 1,
    .min = 1,
    .max = 256,
    .show_min = 1,
    .show_max = 16,
    .flags = SB_PARAM_NO_RECORD | SB_PARAM_ADVANCED },
  { .name = "resume",
    .title = "Keep what is finished",
    .unit = "",
    .type = SB_PARAM_BOOL,
    FIELD (resume),
    .help = "Keep the results of an earlier run of the same files with the same parameters.",
    .value = 1,
    .min = 0,
    .max = 1,
    .flags = SB_PARAM_NO_RECORD | SB_PARAM_ADVANCED },
  { .name = "align",
    .title = "Align the images",
    .unit = "",
    .type = SB_PARAM_BOOL,
    FIELD (align),
    .help = "Align the images of the stack to the first one; the drift is in the table.",
    .value = 1,
    .min = 0,
    .max = 1,
    .flags = SB_PARAM_NO_RECORD },
  { .name = "dry_run",
    .title = "Only predict",
    .unit = "",
    .type = SB_PARAM_BOOL,
    FIELD (dry_run),
    .help = "Compute and write nothing, but say what would be done and about what time and memory it takes.",
    .value = 0,
    .min = 0,
    .max = 1,
    .flags = SB_PARAM_NO_RECORD | SB_PARAM_ADVANCED },
};

const SbParamGroup batch_params = { "batch", "Series", sizeof (SbBatchOptions), rows, G_N_ELEMENTS (rows) };

void
item_free (gpointer pointer)
{
  SbBatchItem *item = pointer;
  g_free (item->path);
  g_free (item->name);
  g_free (item->prefix);
  g_free (item->message);
  json_decref (item->info);
  g_free (item);
}

void
batch_warn (SbBatch *batch, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_ptr_array_add (batch->warnings, sb_text_va (format, args));
  va_end (args);
}

gboolean
batch_first_only (const SbBatch *batch)
{
  return g_strcmp0 (batch->call->batch->aberrations, "first") == 0;
}

static guint
count (const SbBatch *batch, SbItemState state)
{
  guint n = 0;
  for (guint i = 0; i < batch->items->len; i++)
    n += ((SbBatchItem *)batch->items->pdata[i])->state == state;
  return n;
}

SbBatchItem *
batch_add (SbBatch *batch, char *path)
{
  SbBatchItem *item = g_new0 (SbBatchItem, 1);
  item->index = batch->items->len;
  item->path = path;
  item->shift[0] = item->shift[1] = item->correlation = NAN;
  g_ptr_array_add (batch->items, item);
  return item;
}

guint
batch_jobs (const SbBatch *batch)
{
  return (guint)CLAMP (batch->call->batch->jobs, 1, (gint64)MAX (batch->items->len, 1));
}

static gboolean
list_items (SbBatch *batch, GError **error)
{
  g_autoptr (GPtrArray) paths = batch_inputs (batch->call->batch->inputs, batch->call->acquisition, error);
  for (guint i = 0; paths != NULL && i < paths->len; i++)
    batch_add (batch, g_strdup (paths->pdata[i]));
  return paths != NULL;
}

/* ---- the result ---- */

static json_t *
seconds_since (gint64 start)
{
  return json_pack ("{s:f}", "total", (double)(g_get_monotonic_time () - start) * 1e-6);
}

static json_t *
describe_series (const SbBatch *batch)
{
  guint kept = 0;
  for (guint i = 0; i < batch->items->len; i++)
    kept += ((SbBatchItem *)batch->items->pdata[i])->kept;
  return json_pack ("{s:i, s:i, s:i, s:i}", "acquisitions", (int)batch->items->len, "done", (int)count (batch, ITEM_DONE),
                    "kept", (int)kept, "failed", (int)count (batch, ITEM_FAILED));
}

static json_t *
describe_stack (const SbBatch *batch)
{
  const gint64 *s = batch->stack_shape, *o = batch->stack_overlap;
  if (batch->stack_path == NULL)
    return json_null ();
  return json_pack ("{s:[I, I, I], s:[I, I, I, I]}", "shape", (json_int_t)s[0], (json_int_t)s[1], (json_int_t)s[2], "overlap",
                    (json_int_t)o[0], (json_int_t)o[1], (json_int_t)o[2], (json_int_t)o[3]);
}

static void
finish_info (const SbBatch *batch, SbResult *result)
{
  json_t *warnings = report_strings (batch->warnings);
  g_autoptr (GString) names = g_string_new (NULL);
  for (guint i = 0; i < batch->items->len; i++) {
    const SbBatchItem *item = batch->items->pdata[i];
    if (item->state == ITEM_FAILED)
      g_string_append_printf (names, "%s%s", names->len > 0 ? ", " : "", item->name);
  }
  if (names->len > 0) {
    g_autofree char *text = g_strdup_printf ("%u of %u acquisitions failed (%s); the table says why.",
                                             count (batch, ITEM_FAILED), batch->items->len, names->str);
    json_array_append_new (warnings, json_string (text));
  }
  json_object_set_new (result->info, "series", describe_series (batch));
  json_object_set_new (result->info, "warnings", warnings);
  json_object_set_new (result->info, "seconds", seconds_since (batch->began));
  json_object_set_new (result->info, "version", json_string (SB_VERSION));
  json_object_set_new (result->info, "backend", json_string (batch->engine->backend->name));
}

/* The file of the table holds what does not change from run to run. */
static gboolean
save_table (SbBatch *batch, SbResult *result, GError **error)
{
  SbResult *lasting = result_new ();
  json_t *table = table_make (batch), *files = json_array ();
  json_object_set_new (lasting->info, "table", table);
  json_object_set_new (lasting->info, "stack", describe_stack (batch));
  json_object_set_new (lasting->info, "version", json_string (SB_VERSION));
  gboolean saved = result_save_at (lasting, table_writers, batch->prefix, batch->call->output->force, error);
  json_object_set (result->info, "table", table);
  json_object_set (result->info, "stack", json_object_get (lasting->info, "stack"));
  json_array_extend (files, json_object_get (lasting->info, "files"));
  if (batch->stack_path != NULL) {
    g_autofree char *shown = g_filename_display_name (batch->stack_path);
    json_array_append_new (files, json_string (shown));
  }
  json_object_set_new (result->info, "files", files);
  result_free (lasting);
  return saved;
}

/* ---- the run ---- */

static gboolean
check_any (const SbBatch *batch, GError **error)
{
  const SbBatchItem *first = batch->items->pdata[0];
  if (count (batch, ITEM_DONE) > 0)
    return TRUE;
  if (batch->items->len == 1)
    return sb_fail (error, SB_ERROR_DATA, "%s", first->message);
  return sb_fail (error, SB_ERROR_DATA, "None of the %u acquisitions could be used; of the first one: %s", batch->items->len,
                  first->message);
}

static gboolean
run_locked (SbBatch *batch, SbResult *result, GError **error)
{
  if (!log_open (batch, error))
    return FALSE;
  log_line (
      batch, "start",
      json_pack ("{s:s, s:i, s:i}", "version", SB_VERSION, "process", (int)getpid (), "acquisitions", (int)batch->items->len));
  gboolean good = workers_run (batch, error) && stack_make (batch, result, error) && save_table (batch, result, error)
                  && check_any (batch, error);
  json_t *fields = describe_series (batch);
  if (!good && error != NULL && *error != NULL)
    json_object_set_new (fields, "message", json_string ((*error)->message));
  log_line (batch, good ? "end" : "stopped", fields);
  close (batch->log_file);
  return good;
}

static gboolean
run (SbBatch *batch, SbResult *result, GError **error)
{
  gboolean good = place_open (batch, error) && run_locked (batch, result, error);
  if (!good && together_lost_here (batch))
    place_tidy (batch);
  place_close (batch);
  return good;
}

/* Another rank than 0: its results are files; what is said of the series is rank 0's. */
static gboolean
follow (SbBatch *batch, GError **error)
{
  gboolean good = together_join (batch, error) && (batch->together == NULL || workers_follow (batch, error));
  if (!good && batch->prefix != NULL && together_lost_here (batch))
    place_tidy (batch);
  return good;
}

/* ---- the prediction ---- */

static json_t *
predicted_row (const SbBatchItem *item)
{
  const char *status = item->state == ITEM_FAILED ? "fails" : item->kept ? "finished" : "waiting";
  g_autofree char *path = g_utf8_make_valid (item->path, -1);
  return json_pack ("[s, s, o, o, s, s]", item->name, status, report_number (item->megabytes), report_number (item->seconds),
                    path, item->message != NULL ? item->message : "");
}

static gboolean
dry_run (SbBatch *batch, SbResult *result, GError **error)
{
  double seconds = 0, most = 0;
  if (!place_names (batch, error) || !predict_all (batch, error))
    return FALSE;
  json_t *columns = json_pack ("[{s:s,s:s,s:s,s:b},{s:s,s:s,s:s,s:b},{s:s,s:s,s:s,s:b},{s:s,s:s,s:s,s:b},{s:s,s:s,s:s,s:b},"
                               "{s:s,s:s,s:s,s:b}]",
                               "name", "name", "unit", "", "title", "name", "shown", TRUE, "name", "status", "unit", "",
                               "title", "status", "shown", TRUE, "name", "memory", "unit", "MB", "title", "memory", "shown",
                               TRUE, "name", "seconds", "unit", "s", "title", "time", "shown", TRUE, "name", "file", "unit", "",
                               "title", "acquisition", "shown", FALSE, "name", "message", "unit", "", "title", "why it fails",
                               "shown", FALSE);
  json_t *list = json_array ();
  for (guint i = 0; i < batch->items->len; i++) {
    const SbBatchItem *item = batch->items->pdata[i];
    json_array_append_new (list, predicted_row (item));
    seconds += item->seconds;
    most = MAX (most, item->megabytes);
  }
  gint64 jobs = MIN (batch->call->batch->jobs, (gint64)batch->items->len);
  json_object_set_new (result->info, "dry_run", json_true ());
  json_object_set_new (result->info, "table", json_pack ("{s:o, s:o}", "columns", columns, "rows", list));
  json_object_set_new (
      result->info, "predicted",
      json_pack ("{s:o, s:o}", "seconds", report_number (seconds), "memory_mb", report_number (most * (double)jobs)));
  return TRUE;
}

SbResult *
pipeline_batch (SbWork *work, const SbBatchCall *call, SbProgress *progress, GError **error)
{
  SbBatch batch = { .engine = work->engine, .call = call, .progress = progress, .lock_file = -1, .log_file = -1 };
  SbResult *result = result_new ();
  batch.began = g_get_monotonic_time ();
  batch.items = g_ptr_array_new_with_free_func (item_free);
  batch.warnings = g_ptr_array_new_with_free_func (g_free);
  g_mutex_init (&batch.lock);
  json_object_set_new (call->parameters, "precision", json_string (work->engine->precise ? "double" : "single"));
  GError *local = NULL;
  gboolean follows = together_follows (&batch), good;
  if (follows)
    good = follow (&batch, &local);
  else
    good = list_items (&batch, &local)
           && (call->batch->dry_run ? dry_run (&batch, result, &local) : run (&batch, result, &local));
  together_dismiss (&batch);
  if (good && !follows)
    finish_info (&batch, result);
  else if (!good) {
    g_propagate_error (error, local);
    g_clear_pointer (&result, result_free);
  }
  together_free (batch.together);
  g_ptr_array_unref (batch.items);
  g_ptr_array_unref (batch.warnings);
  g_clear_error (&batch.fatal);
  g_mutex_clear (&batch.lock);
  g_free (batch.prefix);
  g_free (batch.made);
  g_free (batch.lock_path);
  g_free (batch.reference);
  g_free (batch.reference_key);
  g_free (batch.stack_path);
  return result;
}
