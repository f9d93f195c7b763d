/* The watch's lines: a TCP connection of every rank with rank 0, for short messages. Inside of the watch only. */
#ifndef SB_CORE_RANKS_LINE_H
#define SB_CORE_RANKS_LINE_H

#include <glib.h>

enum { LINE_HOST = 64, LINE_TOKEN = 16, LINE_ADDRESSES = 16, LINE_TEXT = 2048 };

typedef enum SbSaid { SAID_BEAT = 1, SAID_FAIL, SAID_END, SAID_VERDICT, SAID_BYE } SbSaid;

typedef struct SbMessage {
  guint32 said;
  gint32 rank, code; /* fail: whose, and its SbErrorCode; end, verdict: code is 1 where MPI is broken */
  guint32 job;
  gint32 lost, pid;
  guint32 length; /* of the text that follows, below LINE_TEXT */
} SbMessage;

/* Where rank 0 listens; what it sends to all before there is any line. */
typedef struct SbAddress {
  guint8 token[LINE_TOKEN]; /* that a caller must know */
  guint32 ipv4[LINE_ADDRESSES];
  guint32 n;
  gint32 pid;
  guint16 port;
  char host[LINE_HOST];
} SbAddress;

typedef struct SbLine {
  int fd; /* -1: closed */
  int rank;
  gint32 pid;
  char host[LINE_HOST];
  gint64 heard;  /* monotonic time */
  gboolean left; /* said bye */
  guint32 ended; /* the last job whose end it came to */
  GByteArray *in;
} SbLine;

void line_host (char host[LINE_HOST]);
/* A listening socket on all of the machine's addresses; -1 with an error. */
int line_listen (SbAddress *address, GError **error);
/* Accepts a caller that knows the token and says who it is; FALSE: nobody, or a stranger. */
gboolean line_accept (int listener, const SbAddress *address, int size, SbLine *line);
gboolean line_connect (const SbAddress *address, int rank, SbLine *line, GError **error);
/* Never waits: a message that does not fit is dropped, which only happens to one that does not read. */
void line_say (const SbLine *line, const SbMessage *message, const char *text);
/* Takes what came; FALSE where the other end is gone. */
gboolean line_read (SbLine *line);
/* The next whole message; text holds LINE_TEXT bytes. */
gboolean line_next (SbLine *line, SbMessage *message, char *text);
void line_close (SbLine *line);

#endif
