/* A job: one command on a thread of its own; progress and cancel are polled, so no host is ever called back.
 */
#include <unistd.h>

#include "core/error.h"
#include "core/ranks.h"
#include "plugin/inside.h"
#include "plugin/log.h"
#include "plugin/record.h"
#include "plugin/status.h"

static void
job_end (sb_job *job, SbResult *result, const GError *error)
{
  sb_result *wrapped = result != NULL ? result_wrap (result, TRUE) : NULL;
  if (result != NULL)
    g_atomic_int_set (&job->progress.permyriad, 10000);
  log_remark (SB_LOG_INFO, "%s: %s", job->command->name, result != NULL ? "done." : error != NULL ? error->message : "failed.");
  g_mutex_lock (&job->lock);
  job->result = wrapped;
  job->status = result != NULL ? SB_OK : status_code (error);
  if (result == NULL && job->message == NULL)
    job->message = g_utf8_make_valid (error != NULL ? error->message : "The command failed without saying why.", -1);
  job->state = SB_JOB_ENDED;
  g_cond_broadcast (&job->ended);
  g_mutex_unlock (&job->lock);
}

/* Files appear only where the host named an output; then all of them before the job is done, or none. */
static gboolean
write_files (sb_job *job, SbResult *result, GError **error)
{
  const SbOutputOptions *output = options_get (job->options, &output_params);
  if (output == NULL || output->output == NULL || job->command->own_files)
    return TRUE;
  progress_stage (&job->progress, "write", 1, 1);
  return progress_step (&job->progress, 0, error)
         && result_save_all (result, output, job->data != NULL ? job->data->acquisition->path : NULL, error);
}

static SbResult *
run_command (sb_job *job, GError **error)
{
  SbWork *work = job->data != NULL ? job->data->work : work_new (job->session->engine, NULL);
  SbResult *result = job->command->run (work, job->options, &job->progress, error);
  if (job->data == NULL)
    work_free (work);
  return result;
}

/* All ranks do a command together and end alike; the first of them writes. Of what writes its files as it goes each rank
 * computes on its own what it is handed out, or the first does all. */
static SbResult *
run_together (sb_job *job, SbRanks *ranks, GError **error)
{
  SbEngine *engine = job->session->engine;
  const SbReduce *reduce = engine->reduce;
  SbResult *result = NULL;
  gboolean alone = job->command->own_files, idle = alone && !job->command->deals_out && ranks->rank > 0;
  if (ranks_begin (ranks, &job->progress, error)) {
    engine->reduce = alone ? NULL : reduce;
    result = idle ? result_new () : run_command (job, error);
    engine->reduce = reduce;
    if (!ranks_end (ranks, result != NULL, error))
      g_clear_pointer (&result, result_free);
  }
  return result;
}

static gpointer
job_thread (gpointer pointer)
{
  sb_job *job = pointer;
  g_autoptr (GError) error = NULL;
  SbResult *result = NULL;
  SbRanks *ranks = job->session->engine->ranks;
  if (session_wait_turn (job->session, job, &error)) {
    log_remark (SB_LOG_INFO, "%s: started.", job->command->name);
    result = ranks != NULL ? run_together (job, ranks, &error) : run_command (job, &error);
  }
  if (result != NULL) {
    record_provenance (result, job);
    if ((ranks == NULL || ranks->rank == 0) && !write_files (job, result, &error))
      g_clear_pointer (&result, result_free);
  }
  if (job->data != NULL)
    data_rest (job->data); /* a host may keep the job for its result: what it computed on need not stay with it */
  job_end (job, result, error);
  session_leave (job->session, job);
  return NULL;
}

static gboolean
job_new (sb_job **out, sb_session *session, const char *name, sb_data *data, const char *json, GError **error)
{
  if (out == NULL)
    return sb_fail (error, SB_ERROR_ARGUMENT, "out is NULL; give the address of an sb_job pointer.");
  *out = NULL;
  if (!session_check (session, error))
    return FALSE;
  const SbCommand *command = command_find (name);
  if (command == NULL)
    return sb_fail (error, SB_ERROR_ARGUMENT, "\"%.60s\" is no command; sb_catalog lists them.",
                    name != NULL ? name : "(NULL)");
  if (data == NULL && command->needs_data)
    return sb_fail (error, SB_ERROR_ARGUMENT, "The command %s needs data; make them with sb_data_open or sb_data_new.", name);
  if (data != NULL && data->session != session)
    return sb_fail (error, SB_ERROR_ARGUMENT, "The data belong to another session; open them in the session of the job.");
  g_autofree char *whose = g_strdup_printf ("the command %s", name);
  SbOptions *options = options_parse (json, command->groups, whose, error);
  if (options == NULL)
    return FALSE;
  sb_job *job = g_new0 (sb_job, 1);
  job->session = session_ref (session);
  job->data = data != NULL ? data_use (data) : NULL;
  job->command = command;
  job->options = options;
  g_mutex_init (&job->lock);
  g_cond_init (&job->ended);
  *out = job;
  return TRUE;
}

int
sb_job_new (sb_job **out, sb_session *session, const char *command, sb_data *data, const char *json)
{
  g_autoptr (GError) error = NULL;
  return status_of (job_new (out, session, command, data, json, &error), &error);
}

static gboolean
check_job (const sb_job *job, GError **error)
{
  if (job == NULL)
    return sb_fail (error, SB_ERROR_ARGUMENT, "The job is NULL; make one with sb_job_new.");
  return !session_forked (job->session, error);
}

static gboolean
start_locked (sb_job *job, GError **error)
{
  if (job->state != SB_JOB_NEW)
    return sb_fail (error, SB_ERROR_STATE, "The job was started before; make a new one with sb_job_new.");
  if (!session_enter (job->session, job, error))
    return FALSE;
  g_autoptr (GError) reason = NULL;
  job->thread = g_thread_try_new ("sideband job", job_thread, job, &reason);
  if (job->thread != NULL) {
    job->state = SB_JOB_RUNNING;
    return TRUE;
  }
  session_leave (job->session, job);
  return sb_fail (error, SB_ERROR_MEMORY, "No thread could be started for the job (%s); end other work and try again.",
                  reason->message);
}

int
sb_job_start (sb_job *job)
{
  g_autoptr (GError) error = NULL;
  if (!check_job (job, &error) || !session_check (job->session, &error)
      || (job->data != NULL && !data_ready (job->data, &error)))
    return status_of (FALSE, &error);
  g_mutex_lock (&job->lock);
  gboolean ok = start_locked (job, &error);
  g_mutex_unlock (&job->lock);
  return status_of (ok, &error);
}

int
sb_job_wait (sb_job *job, int ms)
{
  g_autoptr (GError) error = NULL;
  if (!check_job (job, &error))
    return status_of (FALSE, &error);
  gint64 until = g_get_monotonic_time () + (gint64)ms * 1000;
  g_mutex_lock (&job->lock);
  gboolean in_time = TRUE;
  while (job->state == SB_JOB_RUNNING && in_time) {
    if (ms < 0)
      g_cond_wait (&job->ended, &job->lock);
    else
      in_time = g_cond_wait_until (&job->ended, &job->lock, until);
  }
  SbJobState state = job->state;
  g_mutex_unlock (&job->lock);
  if (state == SB_JOB_NEW)
    return status_of (sb_fail (&error, SB_ERROR_STATE, "The job was not started; call sb_job_start first."), &error);
  if (state == SB_JOB_RUNNING)
    return SB_RUNNING;
  if (job->status != SB_OK)
    status_say (job->message);
  return job->status;
}

double
sb_job_progress (sb_job *job, const char **stage)
{
  const char *word = job != NULL ? g_atomic_pointer_get (&job->progress.stage) : NULL;
  if (stage != NULL)
    *stage = word != NULL ? word : "";
  return job != NULL ? g_atomic_int_get (&job->progress.permyriad) / 10000.0 : 0;
}

/* A job that waits for its turn sleeps on the session: it is woken to see that it shall not run. */
void
sb_job_cancel (sb_job *job)
{
  if (job == NULL || session_forked (job->session, NULL))
    return;
  g_mutex_lock (&job->session->lock);
  progress_cancel (&job->progress);
  g_cond_broadcast (&job->session->changed);
  g_mutex_unlock (&job->session->lock);
}

static gboolean
job_preview (sb_job *job, const char *what, const sb_view *view, GError **error)
{
  if (g_strcmp0 (what, "mean_pattern") == 0 && job->data != NULL)
    return data_preview (job->data, what, view, error);
  g_mutex_lock (&job->lock);
  const sb_result *result = job->result;
  g_mutex_unlock (&job->lock);
  if (result == NULL)
    return sb_fail (error, SB_ERROR_STATE, "There is no image yet; ask again when the job has ended.");
  return result_copy_image (result, what, view, error);
}

int
sb_job_preview (sb_job *job, const char *what, const sb_view *view)
{
  g_autoptr (GError) error = NULL;
  return status_of (check_job (job, &error) && job_preview (job, what, view, &error), &error);
}

const char *
sb_job_error (sb_job *job)
{
  if (job == NULL || session_forked (job->session, NULL))
    return "";
  const SbRanks *ranks = job->session->engine->ranks;
  g_mutex_lock (&job->lock);
  if (job->state == SB_JOB_RUNNING && job->message == NULL && ranks != NULL)
    job->message = ranks_lost (ranks);
  const char *message = job->message;
  g_mutex_unlock (&job->lock);
  return message != NULL ? message : "";
}

const sb_result *
sb_job_result (sb_job *job)
{
  if (job == NULL || session_forked (job->session, NULL))
    return NULL;
  g_mutex_lock (&job->lock);
  const sb_result *result = job->result;
  g_mutex_unlock (&job->lock);
  return result;
}

void
sb_job_free (sb_job *job)
{
  if (job == NULL || session_forked (job->session, NULL))
    return;
  sb_job_cancel (job);
  if (job->thread != NULL)
    g_thread_join (job->thread);
  else if (job->data != NULL)
    data_rest (job->data);
  result_unwrap (job->result);
  options_free (job->options);
  g_free (job->message);
  g_mutex_clear (&job->lock);
  g_cond_clear (&job->ended);
  if (job->data != NULL)
    data_unref (job->data);
  session_unref (job->session);
  g_free (job);
}
