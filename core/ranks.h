/* The processes that a launcher such as mpirun started together, when they share one acquisition: each holds the whole scan
 * of a share of the bright field. What they hand each other goes through one exchange of the MPI module; a watch beside it
 * (core/ranks_watch.c) sees that nobody waits for one that is gone. */
#ifndef SB_CORE_RANKS_H
#define SB_CORE_RANKS_H

#include <jansson.h>

#include "core/engine.h"
#include "mpi/module.h"

typedef struct SbWatch SbWatch;

struct SbRanks {
  int rank, size;
  int local_rank, local_size; /* among those of this machine */
  const SbMpi *mpi;
  SbWatch *watch;
  SbReduce reduce;      /* what the engine shows to passes */
  SbProgress *progress; /* of the job that runs; NULL: none */
  guint32 sequence;     /* of exchanges */
  gboolean broken;      /* an exchange was left before its end: MPI cannot be used any more */
  guint64 sent[3];      /* bytes to other ranks since the job began, see SbRanksUse */
};

typedef enum SbRanksUse { RANKS_FRAMES, RANKS_SUMS, RANKS_OTHER } SbRanksUse;

/* ---- launch ---- */

/* As the launcher's environment says; 0 of 1 where there is none. */
int ranks_launched (int *size);
/* Whether an engine of this option (auto | local | mpi) works with others. */
gboolean ranks_wanted (const char *engine);
/* Begins MPI; once a process. All ranks call it, as everything below but where it is said otherwise. */
SbRanks *ranks_open (GError **error);
void ranks_close (SbRanks *ranks);

/* ---- jobs ---- */

gboolean ranks_begin (SbRanks *ranks, SbProgress *progress, GError **error);
/* TRUE once every rank has done its part; else the error is what went wrong first, wherever it did. done: this rank has. */
gboolean ranks_end (SbRanks *ranks, gboolean done, GError **error);
/* Tells the others that this one fails. Not collective. */
void ranks_fail (SbRanks *ranks, const GError *error);
/* The sentence that names a rank that is lost (to be freed); NULL: none is. Not collective. */
char *ranks_lost (const SbRanks *ranks);
/* Among those that are left: the one with 0 speaks and writes. Not collective. */
int ranks_rank (const SbRanks *ranks);

/* ---- exchange ---- */

/* All-to-all, see SbMpi.start; bytes. FALSE where a rank failed, is gone, or the user cancelled. */
gboolean ranks_exchange (SbRanks *ranks, SbRanksUse use, gconstpointer send, const gsize *send_n, const gsize *send_at,
                         gpointer recv, const gsize *recv_n, const gsize *recv_at, GError **error);
/* Rank 0's bytes to all. */
gboolean ranks_broadcast (SbRanks *ranks, gpointer data, gsize bytes, GError **error);
/* data holds place[size] bytes; rank r has filled in [place[r], place[r + 1]) and gets the rest. */
gboolean ranks_gather (SbRanks *ranks, SbRanksUse use, gpointer data, const gsize *place, GError **error);
typedef enum SbCombine { RANKS_SUM_DOUBLE, RANKS_SUM_WHOLE /* guint64 */, RANKS_MAX_DOUBLE } SbCombine;
/* Number by number over all ranks, in the order of the ranks: the same bits in all of them, however they are connected. */
gboolean ranks_combine (SbRanks *ranks, SbRanksUse use, SbCombine how, gpointer values, gsize n, GError **error);

/* ---- letters: between two ranks, while the others do something else ---- */

/* On its way: exchange is not NULL. */
typedef struct SbLetter {
  SbMpiExchange *exchange;
  gsize *lists;
} SbLetter;

/* Begin to send data to another rank, or to receive what that rank sends, of just as many bytes, in the order in which it
 * sends it. data stays where it is and as it is until letter_look says that it is done. */
gboolean letter_send (SbRanks *ranks, SbLetter *letter, int peer, gpointer data, gsize bytes, GError **error);
gboolean letter_receive (SbRanks *ranks, SbLetter *letter, int peer, gpointer data, gsize bytes, GError **error);
/* Looks without waiting. FALSE as ranks_exchange: the letter is lost, and its bytes may still be in use by others. */
gboolean letter_look (SbRanks *ranks, SbLetter *letter, gboolean *done, GError **error);

/* ---- watch ---- */

typedef struct SbFault {
  int rank, code; /* SbErrorCode */
  gboolean lost;  /* the rank does not answer any more */
  char *text;
} SbFault;

SbWatch *watch_new (SbRanks *ranks, GError **error);
/* The last thing: from here on the loss of a rank ends the process. */
void watch_ending (SbWatch *watch);
void watch_free (SbWatch *watch);
/* Whether something happened; a copy of it. Any thread; watch may be NULL. */
gboolean watch_fault (SbWatch *watch, SbFault *fault);
void watch_begin (SbWatch *watch, SbProgress *progress);
void watch_tell (SbWatch *watch, int code, const char *text);
/* Waits until all ranks came to the end of the job; FALSE where that cannot be. *broken: any rank's, in and out. */
gboolean watch_meet (SbWatch *watch, gboolean *broken);
/* Waits until the one that speaks has gone, or a few seconds. */
void watch_linger (SbWatch *watch);

#endif
