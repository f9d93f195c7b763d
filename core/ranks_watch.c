/* The watch: calls of MPI wait for ever for a rank that is gone, so a thread beside them hears every rank twice a second,
 * over TCP lines of its own. What happens to one rank is a fault that all know within seconds; it stops their jobs. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/error.h"
#include "core/ranks.h"
#include "core/ranks_line.h"

#define SECOND G_TIME_SPAN_SECOND
enum { LOOK_MS = 200 };
static const gint64 BEAT = SECOND / 2, PATIENCE = 6 * SECOND, GATHERING = 60 * SECOND, STOPPING = 8 * SECOND;
/* A kill makes the launcher stop all other ranks: that is not what the user is to hear. */
static const gint64 CANCEL_WAITS = 3 * SECOND / 10;

struct SbWatch {
  int rank, size;
  SbAddress address;
  int listener, wake;
  guint n; /* of lines: rank 0 has one with each other rank, they have one with it */
  SbLine *line;
  GThread *thread;
  gint64 beaten, looked, woken; /* when the thread last did so, and when it went on after a long stop */
  GMutex lock;                  /* of all below, and of what is said */
  GCond changed;
  gboolean stop, ending;
  guint connected;
  guint32 job; /* that runs, or ran last */
  gboolean running, broken;
  SbProgress *progress;
  SbFault fault; /* text NULL: none */
  guint32 fault_job;
  gint64 cancelled; /* when a rank said that it was cancelled; 0: none did */
  guint32 verdict;  /* the last job whose end all came to */
};

/* ---- faults; holding the lock ---- */

static void
say_all (SbWatch *watch, const SbMessage *message, const char *text)
{
  for (guint i = 0; i < watch->n; i++)
    line_say (&watch->line[i], message, text);
}

/* The first one counts; only that a rank is lost is worth more than that it was cancelled. */
static void
take_fault (SbWatch *watch, int rank, int code, gboolean lost, guint32 job, const char *text)
{
  if (job < watch->job || (watch->fault.text != NULL && !(lost && watch->fault.code == SB_ERROR_CANCELLED)))
    return;
  g_free (watch->fault.text);
  watch->fault = (SbFault){ rank, code, lost, g_utf8_make_valid (text, -1) };
  watch->fault_job = job;
  watch->broken = watch->broken || lost;
  if (watch->rank == 0) {
    SbMessage message = { .said = SAID_FAIL, .rank = rank, .code = code, .job = job, .lost = lost };
    say_all (watch, &message, text);
  }
  if (watch->progress != NULL && watch->running)
    progress_cancel (watch->progress);
  g_cond_broadcast (&watch->changed);
}

static void
lose (SbWatch *watch, SbLine *line, const char *how)
{
  g_autofree char *text = g_strdup_printf ("Rank %d on %s (process %d) %s, so that all ranks stopped; start the same command "
                                           "again.",
                                           line->rank, line->host, (int)line->pid, how);
  if (watch->woken > 0 && watch->looked - watch->woken < PATIENCE)
    _exit (1);         /* this process was stopped: the others have given it up and told the user */
  if (watch->ending) { /* MPI waits for it and cannot be stopped otherwise */
    if (watch->rank == (line->rank == 0 ? 1 : 0))
      fprintf (stderr, "sideband: Rank %d on %s (process %d) %s.\n", line->rank, line->host, (int)line->pid, how);
    _exit (1);
  }
  take_fault (watch, line->rank, SB_ERROR_BACKEND, TRUE, MAX (watch->job, 1), text);
}

/* ---- the thread ---- */

static void
hear (SbWatch *watch, SbLine *line, const SbMessage *message, const char *text)
{
  switch ((SbSaid)message->said) {
  case SAID_FAIL:
    if (watch->rank > 0)
      take_fault (watch, message->rank, message->code, message->lost != 0, message->job, text);
    else if (message->code == SB_ERROR_CANCELLED)
      watch->cancelled = watch->cancelled > 0 ? watch->cancelled : g_get_monotonic_time ();
    else {
      g_autofree char *told = g_strdup_printf ("Rank %d on %s: %s", line->rank, line->host, text);
      take_fault (watch, line->rank, message->code, FALSE, message->job, told);
    }
    break;
  case SAID_END:
  case SAID_VERDICT:
    *(message->said == SAID_END ? &line->ended : &watch->verdict) = message->job;
    watch->broken = watch->broken || message->code != 0;
    break;
  default: line->left = line->left || message->said == SAID_BYE;
  }
  g_cond_broadcast (&watch->changed);
}

static void
hear_all (SbWatch *watch, const struct pollfd *polled)
{
  char text[LINE_TEXT];
  SbMessage message;
  for (guint i = 0; i < watch->n; i++) {
    SbLine *line = &watch->line[i];
    if (line->fd < 0 || polled[i].revents == 0)
      continue;
    gboolean there = line_read (line);
    while (line_next (line, &message, text))
      hear (watch, line, &message, text);
    if (there)
      continue;
    if (!line->left)
      lose (watch, line, "was killed or ended without a word");
    line_close (line);
    line->left = TRUE;
    g_cond_broadcast (&watch->changed);
  }
}

static void
check_all (SbWatch *watch, gint64 now)
{
  if (watch->cancelled > 0 && now - watch->cancelled > CANCEL_WAITS) {
    watch->cancelled = 0;
    take_fault (watch, 0, SB_ERROR_CANCELLED, FALSE, watch->job, "Cancelled.");
  }
  for (guint i = 0; i < watch->n; i++) {
    SbLine *line = &watch->line[i];
    if (line->fd >= 0 && now - line->heard > PATIENCE) {
      lose (watch, line, "has not answered for 6 s (it was stopped, or its machine or network hangs)");
      line_close (line);
    }
    if (line->left && watch->running && line->ended < watch->job && watch->fault.text == NULL && watch->verdict < watch->job)
      lose (watch, line, "left before the end");
  }
  if (now - watch->beaten < BEAT)
    return;
  SbMessage beat = { .said = SAID_BEAT };
  say_all (watch, &beat, NULL);
  watch->beaten = now;
}

static void
take_caller (SbWatch *watch)
{
  SbLine line = { .fd = -1 };
  if (!line_accept (watch->listener, &watch->address, watch->size, &line))
    return;
  g_mutex_lock (&watch->lock);
  SbLine *place = &watch->line[line.rank - 1];
  if (place->fd < 0 && !place->left) {
    *place = line;
    watch->connected++;
  } else
    line_close (&line);
  g_cond_broadcast (&watch->changed);
  g_mutex_unlock (&watch->lock);
}

static gpointer
watch_thread (gpointer pointer)
{
  SbWatch *watch = pointer;
  g_autofree struct pollfd *polled = g_new0 (struct pollfd, watch->n + 2);
  for (gboolean stop = FALSE; !stop;) {
    for (guint i = 0; i < watch->n; i++)
      polled[i] = (struct pollfd){ watch->line[i].fd, POLLIN, 0 };
    polled[watch->n] = (struct pollfd){ watch->wake, POLLIN, 0 };
    polled[watch->n + 1] = (struct pollfd){ watch->connected < watch->n ? watch->listener : -1, POLLIN, 0 };
    if (poll (polled, watch->n + 2, LOOK_MS) < 0)
      continue;
    if (polled[watch->n + 1].revents != 0)
      take_caller (watch);
    gint64 now = g_get_monotonic_time ();
    watch->woken = now - watch->looked > PATIENCE / 2 ? now : watch->woken;
    watch->looked = now;
    g_mutex_lock (&watch->lock);
    hear_all (watch, polled);
    check_all (watch, now);
    stop = watch->stop;
    g_mutex_unlock (&watch->lock);
  }
  return NULL;
}

/* ---- begin and end ---- */

static gboolean
wait_for_callers (SbWatch *watch, GError **error)
{
  gint64 until = g_get_monotonic_time () + GATHERING;
  g_mutex_lock (&watch->lock);
  while (watch->connected < watch->n && g_cond_wait_until (&watch->changed, &watch->lock, until))
    ;
  gboolean all = watch->connected == watch->n;
  g_mutex_unlock (&watch->lock);
  return all
         || sb_fail (error, SB_ERROR_BACKEND, "Only %u of %u ranks reached rank 0 on %s by TCP; open the ports between them.",
                     watch->connected + 1, watch->n + 1, watch->address.host);
}

SbWatch *
watch_new (SbRanks *ranks, GError **error)
{
  SbWatch *watch = g_new0 (SbWatch, 1);
  watch->rank = ranks->rank;
  watch->size = ranks->size;
  watch->n = ranks->rank == 0 ? (guint)ranks->size - 1 : 1;
  watch->line = g_new0 (SbLine, watch->n);
  for (guint i = 0; i < watch->n; i++)
    watch->line[i].fd = -1;
  watch->wake = eventfd (0, EFD_CLOEXEC);
  watch->listener = -1;
  g_mutex_init (&watch->lock);
  g_cond_init (&watch->changed);
  gboolean good = TRUE;
  if (watch->rank == 0)
    good = (watch->listener = line_listen (&watch->address, error)) >= 0;
  /* all take part, so that nobody waits: without a port the others find nobody there */
  good = ranks_broadcast (ranks, &watch->address, sizeof watch->address, good ? error : NULL) && good;
  if (good && watch->rank > 0)
    good = line_connect (&watch->address, watch->rank, &watch->line[0], error);
  watch->connected = watch->rank > 0;
  watch->looked = g_get_monotonic_time ();
  if (good)
    watch->thread = g_thread_try_new ("sideband watch", watch_thread, watch, error);
  if (watch->thread != NULL && (watch->rank > 0 || wait_for_callers (watch, error)))
    return watch;
  watch_free (watch);
  return NULL;
}

void
watch_ending (SbWatch *watch)
{
  SbMessage bye = { .said = SAID_BYE };
  if (watch == NULL)
    return;
  g_mutex_lock (&watch->lock);
  watch->ending = TRUE;
  say_all (watch, &bye, NULL);
  g_mutex_unlock (&watch->lock);
}

void
watch_free (SbWatch *watch)
{
  if (watch == NULL)
    return;
  const guint64 one = 1;
  const SbMessage bye = { .said = SAID_BYE };
  g_mutex_lock (&watch->lock);
  watch->stop = TRUE;
  if (!watch->ending)
    say_all (watch, &bye, NULL);
  g_mutex_unlock (&watch->lock);
  if (watch->thread != NULL && write (watch->wake, &one, sizeof one) == sizeof one)
    g_thread_join (watch->thread);
  for (guint i = 0; i < watch->n; i++)
    line_close (&watch->line[i]);
  if (watch->listener >= 0)
    close (watch->listener);
  close (watch->wake);
  g_free (watch->line);
  g_free (watch->fault.text);
  g_mutex_clear (&watch->lock);
  g_cond_clear (&watch->changed);
  g_free (watch);
}

/* ---- jobs ---- */

gboolean
watch_fault (SbWatch *watch, SbFault *fault)
{
  if (watch == NULL)
    return FALSE;
  g_mutex_lock (&watch->lock);
  gboolean some = watch->fault.text != NULL;
  if (some && fault != NULL) {
    *fault = watch->fault;
    fault->text = g_strdup (watch->fault.text);
  }
  g_mutex_unlock (&watch->lock);
  return some;
}

void
watch_begin (SbWatch *watch, SbProgress *progress)
{
  g_mutex_lock (&watch->lock);
  watch->job++;
  watch->running = TRUE;
  watch->progress = progress;
  if (watch->fault.text != NULL && watch->fault_job < watch->job && !watch->fault.lost)
    g_clear_pointer (&watch->fault.text, g_free);
  else if (watch->fault.text != NULL)
    progress_cancel (progress);
  g_mutex_unlock (&watch->lock);
}

void
watch_tell (SbWatch *watch, int code, const char *text)
{
  g_mutex_lock (&watch->lock);
  SbMessage message = { .said = SAID_FAIL, .rank = watch->rank, .code = code, .job = watch->job + !watch->running };
  if (watch->rank > 0)
    say_all (watch, &message, text);
  else if (code == SB_ERROR_CANCELLED)
    watch->cancelled = watch->cancelled > 0 ? watch->cancelled : g_get_monotonic_time ();
  else {
    g_autofree char *told = g_strdup_printf ("Rank 0 on %s: %s", watch->address.host, text);
    take_fault (watch, 0, code, FALSE, message.job, told);
  }
  g_mutex_unlock (&watch->lock);
}

/* Rank 0: whether all came; the one that did not in late. */
static gboolean
all_ended (const SbWatch *watch, SbLine **late)
{
  for (guint i = 0; i < watch->n; i++)
    if (watch->line[i].ended < watch->job && !watch->line[i].left) {
      *late = &watch->line[i];
      return FALSE;
    }
  return watch->cancelled == 0;
}

/* Holding the lock. TRUE: the wait is over. */
static gboolean
meet_over (SbWatch *watch, gint64 *faulty)
{
  SbLine *late = &watch->line[0];
  if (watch->fault.text != NULL && watch->fault.lost)
    return TRUE;
  if (watch->rank == 0 && all_ended (watch, &late))
    watch->verdict = watch->job;
  if (watch->verdict >= watch->job)
    return TRUE;
  if (watch->fault.text != NULL && *faulty == 0)
    *faulty = g_get_monotonic_time ();
  if (*faulty > 0 && g_get_monotonic_time () - *faulty > STOPPING)
    lose (watch, late, "did not stop when another rank failed");
  return FALSE;
}

gboolean
watch_meet (SbWatch *watch, gboolean *broken)
{
  gint64 faulty = 0;
  gboolean told = FALSE;
  g_mutex_lock (&watch->lock);
  SbMessage message = { .said = SAID_END, .rank = watch->rank, .job = watch->job, .code = *broken };
  watch->broken = watch->broken || *broken;
  if (watch->rank > 0)
    say_all (watch, &message, NULL);
  while (!meet_over (watch, &faulty)) {
    if (!told && progress_cancelled (watch->progress) && watch->fault.text == NULL) {
      g_mutex_unlock (&watch->lock);
      watch_tell (watch, SB_ERROR_CANCELLED, "Cancelled.");
      g_mutex_lock (&watch->lock);
      told = TRUE;
    }
    g_cond_wait_until (&watch->changed, &watch->lock, g_get_monotonic_time () + LOOK_MS * 1000);
  }
  message.said = SAID_VERDICT;
  message.code = watch->broken;
  if (watch->rank == 0)
    say_all (watch, &message, NULL);
  gboolean met = watch->verdict >= watch->job;
  *broken = watch->broken;
  watch->running = FALSE;
  watch->progress = NULL;
  g_mutex_unlock (&watch->lock);
  return met;
}

void
watch_linger (SbWatch *watch)
{
  gint64 until = g_get_monotonic_time () + 3 * SECOND;
  g_mutex_lock (&watch->lock);
  while (!watch->line[0].left && watch->line[0].fd >= 0 && g_cond_wait_until (&watch->changed, &watch->lock, until))
    ;
  g_mutex_unlock (&watch->lock);
}
