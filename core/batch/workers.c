/* The acquisitions of a series, `jobs` at a time. The thread that called waits, passes the cancel on and adds up the
 * progress. */
#include "core/batch/inside.h"
#include "core/error.h"

enum { WAIT_MS = 50, CALL_MS = 5 /* where other ranks call */ };

typedef struct Worker {
  SbBatch *batch;
  SbEngine *engine;
  SbProgress progress;
  GThread *thread;
  gboolean busy; /* under the batch's lock */
} Worker;

/* ---- one after the other: what happened to each ---- */

static void
log_item (SbBatch *batch, const SbOutcome *outcome)
{
  const SbBatchItem *item = outcome->item;
  const char *event = item->state == ITEM_FAILED ? "failed" : item->kept ? "kept" : "done";
  json_t *fields = json_pack ("{s:s}", "name", item->name);
  json_t *agreement = item->info != NULL ? json_object_get (item->info, "agreement") : NULL;
  if (item->message != NULL)
    json_object_set_new (fields, "message", json_string (item->message));
  if (agreement != NULL)
    json_object_set (fields, "agreement", agreement);
  if (batch->together != NULL)
    json_object_set_new (fields, "rank", json_integer (outcome->rank));
  if (!item->kept)
    json_object_set_new (fields, "seconds", json_real (outcome->seconds));
  log_line (batch, event, fields);
  g_autofree char *told = item->message != NULL ? sb_text ("%s: failed: %s", item->name, item->message)
                          : item->kept          ? sb_text ("%s: finished before.", item->name)
                                                : sb_text ("%s: done in %.1f s.", item->name, outcome->seconds);
  g_info ("%u of %u, %s", batch->ended, batch->items->len, told);
}

static void
take_reference (SbBatch *batch, const SbBatchItem *item)
{
  const json_t *stamp = json_object_get (item->info, "batch");
  batch->reference = g_strconcat (item->prefix, "_result.h5", NULL);
  batch->reference_key = g_strdup (json_string_value (json_object_get (stamp, "key")));
}

/* Cancelled is not failed: the acquisition waits for the next run. */
void
item_end (SbBatch *batch, const SbOutcome *outcome)
{
  SbBatchItem *item = outcome->item;
  const GError *error = outcome->error;
  g_mutex_lock (&batch->lock);
  gboolean cancelled = !outcome->done && g_error_matches (error, SB_ERROR, SB_ERROR_CANCELLED);
  batch->ended++;
  if (outcome->done)
    item->state = ITEM_DONE;
  if (outcome->done && batch->seeking && batch->reference == NULL)
    take_reference (batch, item);
  if (!outcome->done && !cancelled) {
    item->state = ITEM_FAILED;
    item->message = g_utf8_make_valid (error != NULL ? error->message : "It failed without saying why.", -1);
  }
  if (!cancelled)
    log_item (batch, outcome);
  if ((outcome->fatal || cancelled) && batch->fatal == NULL && error != NULL)
    batch->fatal = g_error_copy (error);
  g_mutex_unlock (&batch->lock);
}

static void
run_item (Worker *worker, SbOutcome *outcome)
{
  SbBatch *batch = worker->batch;
  gint64 started = g_get_monotonic_time ();
  outcome->done = one_run (batch, outcome->item, worker->engine, FALSE, batch->reference, &worker->progress, &outcome->fatal,
                           &outcome->error);
  outcome->seconds = (double)(g_get_monotonic_time () - started) * 1e-6;
}

/* Holding the lock. While the first one is sought whose aberrations hold for all, it is the last one to start. */
static gboolean
more_to_start (const SbBatch *batch)
{
  return batch->fatal == NULL && batch->next < batch->items->len && !(batch->seeking && batch->reference != NULL);
}

SbBatchItem *
item_take (SbBatch *batch)
{
  SbBatchItem *item = NULL;
  while (item == NULL && more_to_start (batch)) {
    item = batch->items->pdata[batch->next++];
    if (item->state != ITEM_WAITING)
      item = NULL;
  }
  return item;
}

/* The next one for this worker; NULL: none. */
static SbBatchItem *
take_next (SbBatch *batch)
{
  g_mutex_lock (&batch->lock);
  SbBatchItem *item = item_take (batch);
  g_mutex_unlock (&batch->lock);
  return item;
}

/* From rank 0, which is told what became of the one before. */
static SbBatchItem *
fetch_next (SbBatch *batch, const SbOutcome *ended)
{
  g_autoptr (GError) error = NULL;
  SbBatchItem *item = together_next (batch, ended, &error);
  g_mutex_lock (&batch->lock);
  if (error != NULL && batch->fatal == NULL)
    batch->fatal = g_steal_pointer (&error);
  g_mutex_unlock (&batch->lock);
  return item;
}

/* FALSE: nothing more for this worker. */
static gboolean
go_on (Worker *worker, SbOutcome *outcome)
{
  SbBatch *batch = worker->batch;
  SbBatchItem *next;
  if (together_follows (batch))
    next = fetch_next (batch, outcome);
  else {
    if (outcome->item != NULL)
      item_end (batch, outcome);
    next = take_next (batch);
  }
  g_atomic_int_set (&worker->progress.permyriad, 0);
  g_clear_error (&outcome->error);
  *outcome = (SbOutcome){ .item = next };
  g_mutex_lock (&batch->lock);
  worker->busy = next != NULL;
  g_mutex_unlock (&batch->lock);
  return next != NULL;
}

static gpointer
work (gpointer pointer)
{
  Worker *worker = pointer;
  SbOutcome outcome = { 0 };
  while (go_on (worker, &outcome)) {
    progress_stage (&worker->progress, "load", 0, 1);
    run_item (worker, &outcome);
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

/* Another rank is lost, which says more than that the work here was cancelled for it. */
static void
give_up (SbBatch *batch, GError *error, Worker *workers, guint n)
{
  g_mutex_lock (&batch->lock);
  g_clear_error (&batch->fatal);
  batch->fatal = error;
  g_mutex_unlock (&batch->lock);
  for (guint i = 0; i < n; i++)
    progress_cancel (&workers[i].progress);
}

static void
watch (SbBatch *batch, Worker *workers, guint n)
{
  double share = 0;
  const char *stage = NULL;
  gboolean leads = batch->together != NULL && !together_follows (batch);
  while (look (batch, workers, n, &share, &stage) || (leads && !together_over (batch))) {
    GError *error = NULL;
    if (batch->progress != NULL && stage != NULL)
      g_atomic_pointer_set (&batch->progress->stage, stage);
    progress_step (batch->progress, share, NULL);
    for (guint i = 0; i < n && progress_cancelled (batch->progress); i++)
      progress_cancel (&workers[i].progress);
    if (leads && !together_step (batch, &error))
      give_up (batch, error, workers, n);
    g_usleep ((leads ? CALL_MS : WAIT_MS) * 1000);
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
    SbOutcome outcome = { .item = batch->items->pdata[i] };
    outcome.done = one_run (batch, outcome.item, batch->engine, TRUE, NULL, NULL, &outcome.fatal, NULL);
    if (outcome.done)
      item_end (batch, &outcome);
  }
}

static gboolean
end (SbBatch *batch, gboolean good, GError **error)
{
  if (good && batch->fatal != NULL)
    g_propagate_error (error, g_error_copy (batch->fatal));
  return good && batch->fatal == NULL;
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
    good = together_lead (batch, error) && run_all (batch, batch_jobs (batch), error);
  return end (batch, good, error);
}

gboolean
workers_follow (SbBatch *batch, GError **error)
{
  progress_stage (batch->progress, "load", 0, 1);
  return end (batch, run_all (batch, batch_jobs (batch), error), error);
}
