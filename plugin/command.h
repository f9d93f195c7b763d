/* A command: what a host can run. One short file of commands/ each; it lists the groups of rows that it shows
 * and makes one call into core. No rows, no defaults, no mathematics. */
#ifndef SB_PLUGIN_COMMAND_H
#define SB_PLUGIN_COMMAND_H

#include "core/pipeline.h"
#include "plugin/lists.h"
#include "plugin/options.h"

typedef struct SbCommand {
  const char *name;  /* "run" */
  const char *title; /* of a menu entry */
  const char *help;  /* one sentence; ends with a full stop */
  gboolean needs_data;
  const char *files;                 /* the row that takes any number of files where a host has them; NULL: none */
  gboolean own_files;                /* it writes them itself; of several ranks rank 0 runs it alone: */
  gboolean deals_out;                /* but for one that hands its work out to them itself */
  const SbParamGroup *const *groups; /* NULL-terminated */
  SbResult *(*run) (SbWork *work, const SbOptions *options, SbProgress *progress, GError **error);
} SbCommand;

extern const SbCommand *const command_registry[]; /* generated, NULL-terminated */

/* NULL: there is none. */
const SbCommand *command_find (const char *name);

/* The groups a command was given, as core takes them. */
SbPipelineOptions command_pipeline (const SbOptions *options);

#endif
