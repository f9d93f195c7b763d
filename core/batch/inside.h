/* Inside of the batch. */
#ifndef SB_CORE_BATCH_INSIDE_H
#define SB_CORE_BATCH_INSIDE_H

#include "core/batch/batch.h"

typedef enum SbItemState { ITEM_WAITING, ITEM_DONE, ITEM_FAILED } SbItemState;

/* One acquisition of the series. */
typedef struct SbBatchItem {
  guint index;
  char *path;   /* absolute */
  char *name;   /* its own among all of the series: what its files are called by */
  char *prefix; /* absolute; its result is <prefix>_result.h5 */
  SbItemState state;
  gboolean kept;     /* finished by an earlier run */
  char *message;     /* why it failed */
  json_t *info;      /* of its result */
  gboolean in_stack; /* aligned to the first of the stack: */
  double shift[2];   /* nm, where its specimen lies against the first one's; NAN: not known */
  double correlation;
  double megabytes, seconds; /* predicted */
} SbBatchItem;

/* What became of an acquisition where it was computed. */
typedef struct SbOutcome {
  SbBatchItem *item;
  gboolean done, fatal; /* fatal: the reason would stop every other one */
  GError *error;
  double seconds;
  int rank;
} SbOutcome;

typedef struct SbTogether SbTogether;

typedef struct SbBatch {
  SbEngine *engine;
  const SbBatchCall *call;
  SbProgress *progress;
  GPtrArray *items;    /* SbBatchItem * */
  GPtrArray *warnings; /* char * */
  char *prefix;        /* of what the series has in common: <prefix>_table.csv */
  char *made;          /* the folder that had to be made; NULL: it was there */
  int lock_file, log_file;
  char *lock_path;
  char *reference; /* the result that holds the aberrations of all; NULL: none */
  char *reference_key;
  char *stack_path; /* once it is written */
  gint64 stack_shape[3];
  gint64 stack_overlap[4]; /* row, col, rows, cols that every image of the stack covers */
  gint64 began;
  SbTogether *together; /* with other ranks; NULL: not, or not yet */
  gboolean led;         /* rank 0 told the others what there is, or that there is nothing */
  GMutex lock;          /* of all below */
  guint next, ended;
  gboolean seeking; /* the first one that can be fitted: its aberrations hold for all */
  GError *fatal;    /* what stops all */
} SbBatch;

void item_free (gpointer item);
SbBatchItem *batch_add (SbBatch *batch, char *path); /* takes the path */
guint batch_jobs (const SbBatch *batch);
void batch_warn (SbBatch *batch, const char *format, ...) G_GNUC_PRINTF (2, 3);
gboolean batch_first_only (const SbBatch *batch); /* aberrations of the first one hold for all */

/* ---- inputs.c: what the user named, as files ---- */
/* Absolute paths in their order, none twice. */
GPtrArray *batch_inputs (const char *inputs, const SbAcquisitionOptions *options, GError **error);

/* ---- place.c: where files go, and who may write there ---- */
gboolean place_open (SbBatch *batch, GError **error);  /* names, folder, lock, leftovers of a kill */
gboolean place_names (SbBatch *batch, GError **error); /* names only: nothing is written */
void place_tidy (const SbBatch *batch);                /* leftovers of processes that are gone */
void place_close (SbBatch *batch);

/* ---- log.c: a line of JSON for each thing that happened, in <prefix>_log.jsonl ---- */
gboolean log_open (SbBatch *batch, GError **error);
/* Takes fields. A line that cannot be written is lost: the work matters more. */
void log_line (SbBatch *batch, const char *event, json_t *fields);

/* ---- finished.c: what an earlier run left ---- */
/* Names the acquisition as it is now and all that its result depends on. */
char *finished_key (const SbBatch *batch, const SbAcquisition *acquisition, const char *reference_key);
/* The info of an intact result of this key whose files are all there; NULL: there is none. */
json_t *finished_info (const SbBatchItem *item, const char *key);

/* ---- one.c: one acquisition ---- */
/* Its result is there, from now or before; with find_only only what is there counts. reference: the result whose
 * aberrations it takes; NULL: it is fitted, or takes what is given. *fatal: the reason would stop every other one. */
gboolean one_run (SbBatch *batch, SbBatchItem *item, SbEngine *engine, gboolean find_only, const char *reference,
                  SbProgress *progress, gboolean *fatal, GError **error);

/* ---- workers.c: all of them, `jobs` at a time ---- */
gboolean workers_run (SbBatch *batch, GError **error);
/* On another rank than 0: what rank 0 hands out. */
gboolean workers_follow (SbBatch *batch, GError **error);
/* Notes what became of one and tells it; the error stays the caller's. */
void item_end (SbBatch *batch, const SbOutcome *outcome);
/* The next one that waits; NULL: none does, or nothing more shall start. Holding the lock. */
SbBatchItem *item_take (SbBatch *batch);

/* ---- together.c, talk.c: among the processes that a launcher started together ---- */
/* Rank 0 tells the others what the series is, and waits for their calls from now on. Nothing where there are no others. */
gboolean together_lead (SbBatch *batch, GError **error);
/* Rank 0, whatever happened: where it came to no series the others end in order. */
void together_dismiss (SbBatch *batch);
/* Another rank: waits for the series; batch->together stays NULL where there is none. */
gboolean together_join (SbBatch *batch, GError **error);
gboolean together_follows (const SbBatch *batch); /* this is another rank than 0 */
/* Rank 0: answers those that called, without waiting. FALSE: a rank is lost, or the user cancelled. */
gboolean together_step (SbBatch *batch, GError **error);
gboolean together_over (const SbBatch *batch); /* nobody will call any more */
/* Another rank, any thread: tells what became of the one before (item NULL: there was none) and fetches the next. NULL with
 * an error: as together_step. */
SbBatchItem *together_next (SbBatch *batch, const SbOutcome *ended, GError **error);
/* A rank is lost, or all were cancelled, and all ran on this machine: their process ids mean something here. */
gboolean together_lost_here (const SbBatch *batch);
void together_free (SbTogether *together);

/* ---- table.c, table_files.c ---- */
json_t *table_make (const SbBatch *batch);
extern const SbWriter *const table_writers[]; /* of a result whose info has a table */

/* ---- register.c: subpixel registration ---- */
/* Where b's specimen lies against a's, pixels (row, col): b (r + shift) = a (r). Both [rows][cols], upsampled by
 * factor from the scan. correlation: of what both show, -1 .. 1. */
gboolean register_shift (const float *a, const float *b, gint64 rows, gint64 cols, const gint64 factor[2], double shift[2],
                         double *correlation, const SbProgress *progress, GError **error);
/* out (r) = image (r + shift); 0 where the image has nothing there. */
gboolean register_move (const float *image, gint64 rows, gint64 cols, const double shift[2], float *out, GError **error);

/* ---- stack.c ---- */
/* Aligns the images of all results and writes <prefix>_stack.tif; array (may stay NULL): the stack, for the host. */
gboolean stack_make (SbBatch *batch, SbResult *result, GError **error);
extern const SbWriter *const stack_writers[];

/* ---- predict.c: time and memory from headers and a few frames ---- */
gboolean predict_all (SbBatch *batch, GError **error);

#endif
