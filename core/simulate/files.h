/* The files of one simulation: all written under temporary names, then renamed, or none left. */
#ifndef SB_CORE_SIMULATE_FILES_H
#define SB_CORE_SIMULATE_FILES_H

#include "core/result.h"

typedef struct SbFileSet SbFileSet;

/* <output>/simulated, or the prefix that output is. Existing files of a simulation of ours are replaced,
 * others only with force. */
SbFileSet *files_new (const SbOutputOptions *output, GError **error);
/* A further file <prefix><suffix>; the name under which to write it, NULL on failure. */
const char *files_add (SbFileSet *files, const char *suffix, GError **error);
/* What <prefix><suffix> is called without its folder (g_free). */
char *files_name (const SbFileSet *files, const char *suffix);
gboolean files_commit (SbFileSet *files, GError **error);
json_t *files_list (const SbFileSet *files); /* absolute names */
/* Removes what was not committed. */
void files_free (SbFileSet *files);
/* "<the real file's name> cannot be written: ..." for the file added last. */
gboolean files_fail (const SbFileSet *files, const GError *reason, GError **error);

/* The attribute by which a master of ours is known. */
#define FILES_MARK "sideband_simulation"

#endif
