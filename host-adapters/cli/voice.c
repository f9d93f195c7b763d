#include "host-adapters/cli/cli.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* stdout and stderr as they were; -1: not turned away. */
static int kept[2] = { -1, -1 };

static void
turn_away (void)
{
  int nowhere = open ("/dev/null", O_WRONLY | O_CLOEXEC);
  for (int i = 0; i < 2 && nowhere >= 0; i++) {
    kept[i] = fcntl (i + 1, F_DUPFD_CLOEXEC, 3);
    dup2 (nowhere, i + 1);
  }
  if (nowhere >= 0)
    close (nowhere);
}

static void
bring_back (void)
{
  for (int i = 0; i < 2; i++) {
    if (kept[i] < 0)
      continue;
    dup2 (kept[i], i + 1);
    close (kept[i]);
    kept[i] = -1;
  }
}

void
voice_follow (int rank)
{
  fflush (stdout);
  fflush (stderr);
  if (rank > 0 && kept[0] < 0)
    turn_away ();
  else if (rank == 0)
    bring_back ();
}

void
voice_wait (void)
{
  enum { SECONDS = 10 };
  if (kept[0] < 0)
    return;
  signal (SIGINT, SIG_DFL);
  signal (SIGTERM, SIG_DFL);
  sleep (SECONDS);
}
