/* Inside of what ranks say to each other about a series. */
#ifndef SB_CORE_BATCH_TOGETHER_H
#define SB_CORE_BATCH_TOGETHER_H

#include "core/batch/inside.h"
#include "core/ranks.h"

enum { REST = -1, NOTHING = -2 }; /* instead of the number of an acquisition */

/* A rank tells rank 0 what became of an acquisition and asks for the next; the answer is its number, or REST. */
typedef struct Call {
  gint32 item;                    /* NOTHING: there was none before */
  gint32 done, kept, fatal, code; /* SbErrorCode where it is not done */
  gint32 unused;
  double seconds;
  guint64 text; /* bytes that follow: the info as JSON, or why it failed */
} Call;

typedef enum Turn { CALL, TEXT, ANSWER, RESTS } Turn;

/* The talk with one other rank: what is on its way, and in which buffer. */
typedef struct Talk {
  int rank;
  Turn turn;
  SbLetter letter;
  Call call;
  char *text;
  gint32 answer;
  guint resting; /* jobs there that were told to rest */
} Talk;

struct SbTogether {
  guint n; /* rank 0 talks with all others, they with it */
  Talk *talk;
  guint64 bytes; /* of the plan */
  char *plan;    /* the series as rank 0 tells it */
  GMutex one_at_a_time;
  gboolean left; /* a talk was left before its end: its buffers may still be in use */
};

/* Waits until a letter has arrived; looks often enough to delay nothing, seldom enough to leave the processor to others. */
gboolean together_wait (SbRanks *ranks, SbLetter *letter, GError **error);

#endif
