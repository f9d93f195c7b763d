#include "core/ranks.h"

#include <string.h>

#include "core/error.h"

/* Few polls in a row, as long as an answer is near; then the processor is left to others. */
enum { EAGER_POLLS = 2000, PAUSE_US = 100, FEW_VALUES = 512, CAUSE_US = 500000 };

/* ---- faults ---- */

static gboolean
fail_with (const SbRanks *ranks, GError **error)
{
  SbFault fault;
  if (watch_fault (ranks->watch, &fault)) {
    sb_fail (error, (SbErrorCode)fault.code, "%s", fault.text);
    g_free (fault.text);
    return FALSE;
  }
  return sb_fail (error, SB_ERROR_CANCELLED, "Cancelled.");
}

void
ranks_fail (SbRanks *ranks, const GError *error)
{
  if (ranks->watch == NULL)
    return;
  if (error != NULL && error->domain == SB_ERROR)
    watch_tell (ranks->watch, error->code, error->message);
  else
    watch_tell (ranks->watch, SB_ERROR_INTERNAL, error != NULL ? error->message : "The command failed without saying why.");
}

char *
ranks_lost (const SbRanks *ranks)
{
  SbFault fault = { 0 };
  if (watch_fault (ranks->watch, &fault) && !fault.lost)
    g_clear_pointer (&fault.text, g_free);
  return fault.text;
}

int
ranks_rank (const SbRanks *ranks)
{
  SbFault fault = { 0 };
  gboolean first_lost = watch_fault (ranks->watch, &fault) && fault.lost && fault.rank == 0;
  g_free (fault.text);
  return first_lost && ranks->rank > 0 ? ranks->rank - 1 : ranks->rank;
}

/* ---- jobs ---- */

gboolean
ranks_begin (SbRanks *ranks, SbProgress *progress, GError **error)
{
  if (ranks->broken)
    return sb_fail (error, SB_ERROR_STATE,
                    "The processes that work together lost each other in an earlier command; start the "
                    "program again.");
  ranks->progress = progress;
  memset (ranks->sent, 0, sizeof ranks->sent);
  if (ranks->watch != NULL)
    watch_begin (ranks->watch, progress);
  return TRUE;
}

/* A rank's own failure counts more than that it was told to stop. */
static gboolean
is_cancelled (GError *const *error)
{
  return error != NULL && g_error_matches (*error, SB_ERROR, SB_ERROR_CANCELLED);
}

gboolean
ranks_end (SbRanks *ranks, gboolean done, GError **error)
{
  if (ranks->watch == NULL)
    return done;
  SbFault fault = { 0 };
  if (!done)
    ranks_fail (ranks, error != NULL ? *error : NULL);
  gboolean met = watch_meet (ranks->watch, &ranks->broken);
  gboolean failed = watch_fault (ranks->watch, &fault);
  ranks->progress = NULL;
  if (!met)
    ranks->broken = TRUE;
  if (failed && (done || is_cancelled (error) || fault.lost)) {
    g_clear_error (error);
    sb_fail (error, (SbErrorCode)fault.code, "%s", fault.text);
    done = FALSE;
  }
  g_free (fault.text);
  return done;
}

/* ---- exchange ---- */

/* Bytes that lie in an exchange may not be freed while it goes on, and nobody can take it back: the session ends with it. */
static gboolean
look_at (SbRanks *ranks, SbMpiExchange *exchange, gboolean *done, GError **error)
{
  char message[SB_MPI_MESSAGE] = "";
  int state = ranks->mpi->test (exchange, message);
  *done = state > 0;
  if (state > 0)
    return TRUE;
  if (state < 0) {
    ranks->broken = TRUE;
    g_usleep (CAUSE_US); /* the watch may know why */
    return watch_fault (ranks->watch, NULL)
               ? fail_with (ranks, error)
               : sb_fail (error, SB_ERROR_BACKEND, "MPI failed (%s); start the program again.", message);
  }
  if (progress_cancelled (ranks->progress) || watch_fault (ranks->watch, NULL)) {
    ranks->broken = TRUE;
    return fail_with (ranks, error);
  }
  return TRUE;
}

static gboolean
wait_for (SbRanks *ranks, SbMpiExchange *exchange, GError **error)
{
  gboolean done = FALSE;
  for (guint polls = 0; look_at (ranks, exchange, &done, error); polls++) {
    if (done)
      return TRUE;
    if (polls < EAGER_POLLS)
      g_thread_yield ();
    else
      g_usleep (PAUSE_US);
  }
  return FALSE;
}

static SbMpiExchange *
start (SbRanks *ranks, guint32 tag, gconstpointer send, const gsize *send_n, const gsize *send_at, gpointer recv,
       const gsize *recv_n, const gsize *recv_at, GError **error)
{
  char message[SB_MPI_MESSAGE] = "";
  SbMpiExchange *exchange = NULL;
  if (ranks->broken)
    fail_with (ranks, error);
  else if ((exchange = ranks->mpi->start ((int)(tag % 32768), send, send_n, send_at, recv, recv_n, recv_at, message)) == NULL) {
    ranks->broken = TRUE;
    sb_fail (error, SB_ERROR_BACKEND, "MPI failed (%s); start the program again.", message);
  }
  return exchange;
}

gboolean
ranks_exchange (SbRanks *ranks, SbRanksUse use, gconstpointer send, const gsize *send_n, const gsize *send_at, gpointer recv,
                const gsize *recv_n, const gsize *recv_at, GError **error)
{
  SbMpiExchange *exchange = start (ranks, ranks->sequence++, send, send_n, send_at, recv, recv_n, recv_at, error);
  for (int r = 0; exchange != NULL && r < ranks->size; r++)
    ranks->sent[use] += r != ranks->rank ? send_n[r] : 0;
  return exchange != NULL && wait_for (ranks, exchange, error);
}

gboolean
ranks_broadcast (SbRanks *ranks, gpointer data, gsize bytes, GError **error)
{
  gsize n = (gsize)ranks->size;
  g_autofree gsize *none = g_new0 (gsize, n), *to = g_new0 (gsize, n), *from = g_new0 (gsize, n);
  for (int r = 1; ranks->rank == 0 && r < ranks->size; r++)
    to[r] = bytes;
  from[0] = ranks->rank > 0 ? bytes : 0;
  return ranks_exchange (ranks, RANKS_OTHER, data, to, none, data, from, none, error);
}

gboolean
ranks_gather (SbRanks *ranks, SbRanksUse use, gpointer data, const gsize *place, GError **error)
{
  gsize n = (gsize)ranks->size, mine = place[ranks->rank + 1] - place[ranks->rank];
  g_autofree gsize *to = g_new (gsize, n), *from = g_new (gsize, n), *at = g_new (gsize, n);
  for (int r = 0; r < ranks->size; r++) {
    gboolean other = r != ranks->rank;
    to[r] = other ? mine : 0;
    at[r] = place[ranks->rank];
    from[r] = other ? place[r + 1] - place[r] : 0;
  }
  return ranks_exchange (ranks, use, data, to, at, data, from, place, error);
}

/* ---- letters ---- */

/* The tag is that of the exchange to come: none goes on while letters do. */
static gboolean
letter_start (SbRanks *ranks, SbLetter *letter, int peer, gpointer data, gsize bytes, gboolean send, GError **error)
{
  gsize *n = g_new0 (gsize, 2 * (gsize)ranks->size), *none = n + ranks->size;
  n[peer] = bytes;
  letter->lists = n;
  letter->exchange = start (ranks, ranks->sequence, data, send ? n : none, none, data, send ? none : n, none, error);
  if (send)
    ranks->sent[RANKS_OTHER] += bytes;
  if (letter->exchange == NULL)
    g_clear_pointer (&letter->lists, g_free);
  return letter->exchange != NULL;
}

gboolean
letter_send (SbRanks *ranks, SbLetter *letter, int peer, gpointer data, gsize bytes, GError **error)
{
  return letter_start (ranks, letter, peer, data, bytes, TRUE, error);
}

gboolean
letter_receive (SbRanks *ranks, SbLetter *letter, int peer, gpointer data, gsize bytes, GError **error)
{
  return letter_start (ranks, letter, peer, data, bytes, FALSE, error);
}

gboolean
letter_look (SbRanks *ranks, SbLetter *letter, gboolean *done, GError **error)
{
  if (!look_at (ranks, letter->exchange, done, error))
    return FALSE;
  if (*done) {
    letter->exchange = NULL;
    g_clear_pointer (&letter->lists, g_free);
  }
  return TRUE;
}

/* ---- sums ---- */

#define ADD_UP(T, EXPRESSION)                                                                                                  \
  do {                                                                                                                         \
    T *sum = to;                                                                                                               \
    const T *of = from;                                                                                                        \
    for (gsize i = 0; i < n; i++)                                                                                              \
      sum[i] = EXPRESSION;                                                                                                     \
  } while (0)

static void
add (SbCombine how, gpointer to, gconstpointer from, gsize n)
{
  if (how == RANKS_SUM_DOUBLE)
    ADD_UP (double, sum[i] + of[i]);
  else if (how == RANKS_SUM_WHOLE)
    ADD_UP (guint64, sum[i] + of[i]);
  else
    ADD_UP (double, MAX (sum[i], of[i]));
}

/* parts[size][each]: added up, rank after rank, into out[n]. */
static void
add_all (const SbRanks *ranks, SbCombine how, const char *parts, gsize each, char *out, gsize n)
{
  memcpy (out, parts, n * sizeof (double));
  for (int r = 1; r < ranks->size; r++)
    add (how, out, parts + (gsize)r * each * sizeof (double), n);
}

/* Every rank gets everybody's numbers and adds up: one round, for few. */
static gboolean
combine_few (SbRanks *ranks, SbRanksUse use, SbCombine how, char *values, gsize n, GError **error)
{
  gsize bytes = n * sizeof (double), size = (gsize)ranks->size;
  g_autofree gsize *place = g_new (gsize, size + 1);
  g_autofree char *parts = sb_alloc (size, bytes, "The sums of all ranks", error);
  if (parts == NULL)
    return FALSE;
  for (gsize r = 0; r <= size; r++)
    place[r] = r * bytes;
  memcpy (parts + (gsize)ranks->rank * bytes, values, bytes);
  if (!ranks_gather (ranks, use, parts, place, error))
    return FALSE;
  add_all (ranks, how, parts, n, values, n);
  return TRUE;
}

/* Every rank adds up a share of the numbers, then hands it to all. */
static gboolean
combine_many (SbRanks *ranks, SbRanksUse use, SbCombine how, char *values, gsize n, GError **error)
{
  gsize size = (gsize)ranks->size, each = (n + size - 1) / size;
  g_autofree gsize *place = g_new (gsize, size + 1), *to = g_new (gsize, size), *from = g_new (gsize, size),
                   *at = g_new (gsize, size);
  for (gsize r = 0; r <= size; r++)
    place[r] = MIN (r * each, n) * sizeof (double);
  gsize mine = place[ranks->rank + 1] - place[ranks->rank];
  for (gsize r = 0; r < size; r++) {
    to[r] = place[r + 1] - place[r];
    from[r] = mine;
    at[r] = r * each * sizeof (double);
  }
  g_autofree char *parts = sb_alloc (size, MAX (each, 1) * sizeof (double), "The sums of all ranks", error);
  if (parts == NULL || !ranks_exchange (ranks, use, values, to, place, parts, from, at, error))
    return FALSE;
  add_all (ranks, how, parts, each, values + place[ranks->rank], mine / sizeof (double));
  return ranks_gather (ranks, use, values, place, error);
}

gboolean
ranks_combine (SbRanks *ranks, SbRanksUse use, SbCombine how, gpointer values, gsize n, GError **error)
{
  if (ranks->size == 1 || n == 0)
    return TRUE;
  return (n <= FEW_VALUES ? combine_few : combine_many) (ranks, use, how, values, n, error);
}
