/* Progress and cancel of one job: polled from any thread, never calling back into a host. */
#ifndef SB_CORE_PROGRESS_H
#define SB_CORE_PROGRESS_H

#include <glib.h>

typedef struct SbProgress {
  gint cancel;       /* atomic; non-zero asks the work to stop. Kernels poll its address. */
  gint permyriad;    /* atomic; 0 .. 10000 of the whole job */
  const char *stage; /* atomic pointer to a static string: "load", "calibrate", "fit", ... */
  double from, to;   /* the share of the job that the present stage covers; only the working thread touches it */
} SbProgress;

/* All accept progress == NULL. */

/* Enters a stage that covers [from, to] of the job. */
void progress_stage (SbProgress *progress, const char *stage, double from, double to);

/* Reports the fraction 0..1 of the present stage; FALSE with SB_ERROR_CANCELLED when the user asked to stop. */
gboolean progress_step (SbProgress *progress, double fraction, GError **error);

void progress_cancel (SbProgress *progress);
gboolean progress_cancelled (const SbProgress *progress);

/* The cancel flag as kernels take it (NULL without progress). */
const int *progress_cancel_flag (const SbProgress *progress);

#endif
