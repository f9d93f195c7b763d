/* The acquisitions of a series, `jobs` at a time. The thread that called waits, passes the cancel on and adds up the
 * progress. */
#include "core/batch/inside.h"
#include "core/error.h"

enum { WAIT_MS = 50 };

typedef struct Worker {
  SbBatch *batch;
  SbEngine *engine;
  SbProgress progress;
  GThread *thread;
  gboolean busy; /* under the batch's lock */
} Worker;

/* ---- one after the other: what happened to each ---- */

static void
log_item (SbBatch *batch, const SbBatchItem *item, gint64 started)
{
  double seconds = (double)(g_get_monotonic_time () - started) * 1e-6;
  const char *event = item->state == ITEM_FAILED ? "failed" : item->kept ? "kept" : "done";
  json_t *fields = json_pack ("{s:s}", "name", item->name);
  json_t *agreement = item->info != NULL ? json_object_get (item->info, "agreement") : NULL;
  if (item->message != NULL)
    json_object_set_new (fields, "message", json_string (item->message));
  if (agreement != NULL)
    json_object_set (fields, "agreement", agreement);
  if (!item->kept)
    json_object_set_new (fields, "seconds", json_real (seconds));
  log_line (batch, event, fields);
  g_autofree char *told = item->message != NULL ? sb_text ("%s: failed: %s", item->name, item->message)
                          : item->kept          ? sb_text ("%s: finished before.", item->name)
                                                : sb_text ("%s: done in %.1f s.", item->name, seconds);
  g_info ("%u of %u, %s", batch->ended, batch->items->len, told);
}

static void
take_reference (SbBatch *batch, const SbBatchItem *item)
{
  const json_t *stamp = json_object_get (item->info, "batch");
  batch->reference = g_strconcat (item->prefix, "_result.h5", NULL);
  batch->reference_key = g_strdup (json_string_value (json_object_get (stamp, "key")));
}

/* Takes the error. Cancelled is not failed: the acquisition waits for the next run. */
static void
item_end (SbBatch *batch, SbBatchItem *item, gboolean done, gboolean fatal, GError *error, gint64 started)
{
  g_mutex_lock (&batch->lock);
  gboolean cancelled = !done && g_error_matches (error, SB_ERROR, SB_ERROR_CANCELLED);
  batch->ended++;
  if (done)
    item->state = ITEM_DONE;
  if (done && batch->seeking && batch->reference == NULL)
    take_reference (batch, item);
  if (!done && !cancelled) {
    item->state = ITEM_FAILED;
    item->message = g_utf8_make_valid (error != NULL ? error->message : "It failed without saying why.", -1);
  }
  if (!cancelled)
    log_item (batch, item, started);
  if ((fatal || cancelled) && batch->fatal == NULL && error != NULL)
    batch->fatal = g_error_copy (error);
  g_mutex_unlock (&batch->lock);
  g_clear_error (&error);
}

static void
run_item (SbBatch *batch, SbBatchItem *item, SbEngine *engine, SbProgress *progress)
{
  GError *error = NULL;
  gboolean fatal = FALSE;
  gint64 started = g_get_monotonic_time ();
  gboolean done = one_run (batch, item, engine, FALSE, batch->reference, progress, &fatal, &error);
  item_end (batch, item, done, fatal, error, started);
}

/* Holding the lock. While the first one is sought whose aberrations hold for all, it is the last one to start. */
static gboolean
more_to_start (const SbBatch *batch)
{
  return batch->fatal == NULL && batch->next < batch->items->len && !(batch->seeking && batch->reference != NULL);
}

/* The next acquisition that waits; NULL: none, or nothing more shall start. */
static SbBatchItem *
next_item (Worker *worker)
{
  SbBatch *batch = worker->batch;
  SbBatchItem *item = NULL;
  g_mutex_lock (&batch->lock);
  while (item == NULL && more_to_start (batch)) {
    item = batch->items->pdata[batch->next++];
    if (item->state != ITEM_WAITING)
      item = NULL;
  }
  worker->busy = item != NULL;
  g_mutex_unlock (&batch->lock);
  return item;
}

static gpointer
work (gpointer pointer)
{
  Worker *worker = pointer;
  for (SbBatchItem *item; (item = next_item (worker)) != NULL;) {
    progress_stage (&worker->progress, "load", 0, 1);
    run_item (worker->batch, item, worker->engine, &worker->progress);
    g_atomic_int_set (&worker->progress.permyriad, 0);
  }
  return NULL;
}

/* ---- watching over them ---- */

/* Share that is done; FALSE: all workers rest. */
static gboolean
look (SbBatch *batch, Worker *workers, guint n, double *share, const char **stage)
{
  gboolean busy = FALSE;
  double parts = 0;
  g_mutex_lock (&batch->lock);
  for (guint i = 0; i < n; i++) {
    if (!workers[i].busy)
      continue;
    busy = TRUE;
    parts += g_atomic_int_get (&workers[i].progress.permyriad) / 10000.0;
    *stage = g_atomic_pointer_get (&workers[i].progress.stage);
  }
  *share = (batch->ended + parts) / batch->items->len;
  busy = busy || more_to_start (batch);
  g_mutex_unlock (&batch->lock);
  return busy;
}

static void
watch (SbBatch *batch, Worker *workers, guint n)
{
  double share = 0;
  const char *stage = NULL;
  while (look (batch, workers, n, &share, &stage)) {
    if (batch->progress != NULL && stage != NULL)
      g_atomic_pointer_set (&batch->progress->stage, stage);
    progress_step (batch->progress, share, NULL);
    for (guint i = 0; i < n && progress_cancelled (batch->progress); i++)
      progress_cancel (&workers[i].progress);
    g_usleep (WAIT_MS * 1000);
  }
}

static gboolean
start (Worker *worker, SbBatch *batch, guint jobs, GError **error)
{
  g_autoptr (GError) reason = NULL;
  worker->batch = batch;
  worker->engine = jobs == 1 ? batch->engine : engine_new_share (batch->engine, jobs, error);
  if (worker->engine == NULL)
    return FALSE;
  worker->busy = TRUE; /* before anyone looks */
  worker->thread = g_thread_try_new ("sideband batch", work, worker, &reason);
  if (worker->thread != NULL)
    return TRUE;
  worker->busy = FALSE;
  return sb_fail (error, SB_ERROR_MEMORY, "No thread could be started for a series (%s); give fewer jobs.", reason->message);
}

static gboolean
run_all (SbBatch *batch, guint jobs, GError **error)
{
  guint started = 0;
  g_autofree Worker *workers = g_new0 (Worker, jobs);
  gboolean good = TRUE;
  while (good && started < jobs && (good = start (&workers[started], batch, jobs, error)))
    started++;
  if (!good) {
    g_mutex_lock (&batch->lock);
    batch->next = batch->items->len;
    g_mutex_unlock (&batch->lock);
    for (guint i = 0; i < started; i++)
      progress_cancel (&workers[i].progress);
  }
  watch (batch, workers, started);
  for (guint i = 0; i < jobs; i++) {
    if (workers[i].thread != NULL)
      g_thread_join (workers[i].thread);
    if (jobs > 1)
      engine_free (workers[i].engine);
  }
  return good;
}

/* Found where an earlier run left it, so that a mended file before it does not take its place. */
static void
find_reference (SbBatch *batch)
{
  for (guint i = 0; i < batch->items->len && batch->reference == NULL; i++) {
    gboolean fatal;
    if (one_run (batch, batch->items->pdata[i], batch->engine, TRUE, NULL, NULL, &fatal, NULL))
      item_end (batch, batch->items->pdata[i], TRUE, FALSE, NULL, g_get_monotonic_time ());
  }
}

/* The first one that can be fitted, where the aberrations of one hold for all; then the others. */
gboolean
workers_run (SbBatch *batch, GError **error)
{
  gboolean good = TRUE;
  progress_stage (batch->progress, "load", 0, 0.95);
  if (batch_first_only (batch)) {
    batch->seeking = TRUE;
    if (batch->call->batch->resume)
      find_reference (batch);
    good = batch->reference != NULL || run_all (batch, 1, error);
    batch->seeking = FALSE;
    batch->next = 0;
  }
  if (good && batch->fatal == NULL)
    good = run_all (batch, (guint)CLAMP (batch->call->batch->jobs, 1, (gint64)MAX (batch->items->len, 1)), error);
  if (good && batch->fatal != NULL)
    g_propagate_error (error, g_error_copy (batch->fatal));
  return good && batch->fatal == NULL;
}
