/* The session: engine, queue of jobs, lifetime. */
#include <unistd.h>

#include "core/error.h"
#include "core/ranks.h"
#include "plugin/inside.h"
#include "plugin/status.h"

sb_session *
session_ref (sb_session *session)
{
  g_atomic_int_inc (&session->refs);
  return session;
}

void
session_unref (sb_session *session)
{
  if (!g_atomic_int_dec_and_test (&session->refs))
    return;
  engine_free (session->engine);
  options_free (session->options);
  g_mutex_clear (&session->lock);
  g_cond_clear (&session->changed);
  g_free (session);
}

gboolean
session_forked (const sb_session *session, GError **error)
{
  if (session->owner == getpid ())
    return FALSE;
  sb_fail (error, SB_ERROR_FORKED,
           "This process was forked from the one that made the session; make a new session in it, or start "
           "it with spawn.");
  return TRUE;
}

gboolean
session_check (sb_session *session, GError **error)
{
  if (session == NULL)
    return sb_fail (error, SB_ERROR_ARGUMENT, "The session is NULL; make one with sb_session_new.");
  if (session_forked (session, error))
    return FALSE;
  g_mutex_lock (&session->lock);
  gboolean closed = session->closed;
  g_mutex_unlock (&session->lock);
  return !closed || sb_fail (error, SB_ERROR_STATE, "The session was freed; make a new one with sb_session_new.");
}

gboolean
session_enter (sb_session *session, sb_job *job, GError **error)
{
  g_mutex_lock (&session->lock);
  gboolean open = !session->closed;
  if (open)
    g_queue_push_tail (&session->queue, job);
  g_mutex_unlock (&session->lock);
  return open || sb_fail (error, SB_ERROR_STATE, "The session was freed; make a new one with sb_session_new.");
}

gboolean
session_wait_turn (sb_session *session, sb_job *job, GError **error)
{
  g_mutex_lock (&session->lock);
  while (g_queue_peek_head (&session->queue) != job && !progress_cancelled (&job->progress))
    g_cond_wait (&session->changed, &session->lock);
  g_mutex_unlock (&session->lock);
  return progress_step (&job->progress, 0, error);
}

void
session_leave (sb_session *session, sb_job *job)
{
  g_mutex_lock (&session->lock);
  g_queue_remove (&session->queue, job);
  g_cond_broadcast (&session->changed);
  g_mutex_unlock (&session->lock);
}

int
sb_session_new (sb_session **out, const char *json)
{
  g_autoptr (GError) error = NULL;
  if (out == NULL)
    return status_of (sb_fail (&error, SB_ERROR_ARGUMENT, "out is NULL; give the address of an sb_session pointer."), &error);
  *out = NULL;
  g_autoptr (SbOptions) options = options_parse (json, session_groups, "the session", &error);
  if (options == NULL)
    return status_of (FALSE, &error);
  SbEngine *engine = engine_new (options_get (options, &engine_params), &error);
  if (engine == NULL)
    return status_of (FALSE, &error);
  sb_session *session = g_new0 (sb_session, 1);
  session->refs = 1;
  session->owner = getpid ();
  session->engine = engine;
  session->options = g_steal_pointer (&options);
  g_mutex_init (&session->lock);
  g_cond_init (&session->changed);
  g_queue_init (&session->queue);
  *out = session;
  return SB_OK;
}

int
sb_session_rank (const sb_session *session)
{
  int size;
  if (session == NULL)
    return ranks_launched (&size);
  return session->engine->ranks != NULL ? ranks_rank (session->engine->ranks) : 0;
}

void
sb_session_free (sb_session *session)
{
  /* In a forked child locks may be held by threads that do not exist: what is left there goes with the
   * process. */
  if (session == NULL || session_forked (session, NULL))
    return;
  g_mutex_lock (&session->lock);
  session->closed = TRUE;
  for (GList *at = session->queue.head; at != NULL; at = at->next)
    progress_cancel (&((sb_job *)at->data)->progress);
  g_cond_broadcast (&session->changed);
  while (!g_queue_is_empty (&session->queue))
    g_cond_wait (&session->changed, &session->lock);
  g_mutex_unlock (&session->lock);
  session_unref (session);
}
