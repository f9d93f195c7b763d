/* Inside of the batch. */
#ifndef SB_CORE_BATCH_INSIDE_H
#define SB_CORE_BATCH_INSIDE_H

#include "core/batch/batch.h"

typedef enum SbItemState { ITEM_WAITING, ITEM_DONE, ITEM_FAILED } SbItemState;

/* One acquisition of the series. */
typedef struct SbBatchItem {
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
  GMutex lock; /* of all below */
  guint next, ended;
  gboolean seeking; /* the first one that can be fitted: its aberrations hold for all */
  GError *fatal;    /* what stops all */
} SbBatch;

void item_free (gpointer item);
void batch_warn (SbBatch *batch, const char *format, ...) G_GNUC_PRINTF (2, 3);
gboolean batch_first_only (const SbBatch *batch); /* aberrations of the first one hold for all */

/* ---- inputs.c: what the user named, as files ---- */
/* Absolute paths in their order, none twice. */
GPtrArray *batch_inputs (const char *inputs, const SbAcquisitionOptions *options, GError **error);

/* ---- place.c: where files go, and who may write there ---- */
gboolean place_open (SbBatch *batch, GError **error);  /* names, folder, lock, leftovers of a kill */
gboolean place_names (SbBatch *batch, GError **error); /* names only: nothing is written */
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
