/* A series: many acquisitions, each with its own result, then one table and one aligned stack. A batch that was
 * killed goes on where it stood: what is finished is kept, and the table is made anew from the finished results. */
#ifndef SB_CORE_BATCH_BATCH_H
#define SB_CORE_BATCH_BATCH_H

#include "core/pipeline.h"

typedef struct SbBatchOptions {
  char *inputs;      /* a line each: file, folder, glob or @list */
  char *aberrations; /* refit | first | given */
  gint64 jobs;
  gboolean resume, align, dry_run;
} SbBatchOptions;
extern const SbParamGroup batch_params;

typedef struct SbBatchCall {
  const SbPipelineOptions *pipeline;
  const SbAcquisitionOptions *acquisition;
  const SbBatchOptions *batch;
  const SbOutputOptions *output;
  json_t *parameters; /* that reproduce a result; written into each */
} SbBatchCall;

/* The result's info has `series` (counts), `table` {"columns": [{"name", "title", "unit", "shown"}], "rows":
 * [[...]]}, `stack`, `files` and `warnings`; its array is the aligned stack where it is not too large to hand over.
 * Acquisitions that fail are rows of the table; an error is what stops all of them. */
SbResult *pipeline_batch (SbWork *work, const SbBatchCall *call, SbProgress *progress, GError **error);

#endif
