/* Provenance: what a result says about how it came to be. */
#ifndef SB_PLUGIN_RECORD_H
#define SB_PLUGIN_RECORD_H

#include "plugin/inside.h"

/* Adds "command", "source", "parameters" (a params file of the next run) and, where core did not, "version"
 * and "backend". */
void record_provenance (SbResult *result, const sb_job *job);

#endif
