/* The counts at bright-field pixels: columns [pixel][scan position], gathered from frames that stream by.
 * Memory is the columns, never the 4-D array. Files and pushed frames take the same way. */
#ifndef SB_CORE_COLUMNS_H
#define SB_CORE_COLUMNS_H

#include <glib.h>

#include "core/acquisition.h"
#include "core/engine.h"

/* What is known of every detector pixel once all frames went by (exact whatever the order of frames). */
typedef struct SbPattern {
  gint64 rows, cols;
  double *mean;                   /* [rows * cols] counts a frame; bad pixels hold 0 */
  guint8 *bad;                    /* [rows * cols] masked by the file, hot, or not finite somewhere */
  gint64 masked, hot, not_finite; /* how many of each */
  gint64 saturated;               /* pixels saturated in some used frame; they stay */
  gint64 frames;                  /* used frames */
} SbPattern;

/* As kernels call it; of the columns' types. */
SbkType dtype_kernel (SbDtype dtype);

typedef struct SbColumns {
  SbAcquisition *acquisition; /* borrowed */
  SbPattern pattern;
  gint64 n_pixels;                /* superset kept while streaming */
  gint32 *pixel;                  /* [n_pixels] row * cols + col, ascending */
  SbDtype dtype;                  /* SB_U8, SB_U16, SB_U32 or SB_F32 */
  gint64 first, held;             /* pixels whose counts are here: all of them, or this rank's share */
  gpointer counts;                /* [held][positions] */
  struct SbScratch *scratch;      /* that the counts lie in; NULL: in memory */
  struct SbDeviceColumns *device; /* that the counts lie on: `counts` is for its kernels alone; NULL: the host can read them */
  gint64 positions;
  double *frame_sum; /* [positions] over good pixels */
  double *frame_com; /* [positions][2] centre of mass over the superset, (row, col) pixels */
} SbColumns;

/* Streaming: begin -> push any number of blocks in any order -> finish. */
typedef struct SbGather SbGather;

/* Detector pixels to keep are decided from the sparse mean of a file or the first 64 pushed frames; centre and radius in
 * pixels, where the user gave them, override (NAN: not given). */
SbGather *gather_new (SbEngine *engine, SbAcquisition *acquisition, const double centre[2], double radius, GError **error);
/* n frames from frame index first; element strides in bytes, (frame, row, col). dtype may differ from the declared one only
 * if it is narrower. A frame pushed twice is an error. Thread-safe. */
gboolean gather_push (SbGather *gather, gint64 first, gint64 n, gconstpointer frames, SbDtype dtype, const gint64 strides[3],
                      GError **error);
gint64 gather_count (SbGather *gather); /* frames pushed so far */
/* A look at what is there: fills mean[rows * cols] (counts a frame) and the number of frames it stands for. */
gboolean gather_preview (SbGather *gather, double *mean, gint64 *frames, GError **error);
SbColumns *gather_finish (SbGather *gather, GError **error); /* the gather is still to be freed */
void gather_free (SbGather *gather);

/* Reads the acquisition's file through a gather: sparse mean first, then every frame, several threads. */
SbColumns *columns_load (SbEngine *engine, SbAcquisition *acquisition, const double centre[2], double radius,
                         SbProgress *progress, GError **error);
void columns_free (SbColumns *columns);
/* Moves the counts to a scratch file, where they are not in one yet; slack as in scratch_new. */
gboolean columns_to_file (SbColumns *columns, gsize slack, GError **error);
/* One pixel's counts were looked at: where they lie in a scratch file, they need not stay in memory. Any thread. */
void columns_looked (gconstpointer columns);

#endif
