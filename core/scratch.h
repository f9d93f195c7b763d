/* Room in a file that has no name, where memory is short: mapped, so that it is used like memory. What was looked at goes
 * back to the system when it is released; the system keeps it or writes it out as it sees fit. */
#ifndef SB_CORE_SCRATCH_H
#define SB_CORE_SCRATCH_H

#include <glib.h>

typedef struct SbScratch {
  char *data;
  gsize size;
  int fd;
  gsize slack;   /* bytes that may be looked at between two releases */
  gsize touched; /* atomic */
} SbScratch;

/* In TMPDIR; where that is not set in /var/tmp, or /tmp. what: of the sentence, as in sb_alloc. */
SbScratch *scratch_new (gsize size, gsize slack, const char *what, GError **error);
void scratch_free (SbScratch *scratch);
void scratch_release (SbScratch *scratch);
/* Counts what is looked at, and releases when it was more than the slack. Any thread. */
void scratch_touch (SbScratch *scratch, gsize bytes);
/* Reads without mapping, where looks are small and far apart: a mapped page brings its neighbours. */
gboolean scratch_read (const SbScratch *scratch, gsize offset, gsize size, gpointer to);
const char *scratch_folder (void);

#endif
