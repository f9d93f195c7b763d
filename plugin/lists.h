/* Which groups of rows belong to what a host makes: a session, data, a command. */
#ifndef SB_PLUGIN_LISTS_H
#define SB_PLUGIN_LISTS_H

#include "core/param.h"

typedef struct SbParametersOptions {
  char *params; /* a file of values for the other rows; NULL: none */
} SbParametersOptions;
extern const SbParamGroup parameters_params; /* params: part of every list */

extern const SbParamGroup *const session_groups[]; /* NULL-terminated */
extern const SbParamGroup *const data_groups[];    /* NULL-terminated */
extern const SbParamGroup *const pushed_groups[];  /* of frames that a host pushes */

/* The row of this name in a NULL-terminated list of groups and, where wanted, its group; NULL: none. */
const SbParam *groups_find (const SbParamGroup *const *groups, const char *name, const SbParamGroup **group);
/* The row whose name takes the fewest edits to become name; NULL only for lists without rows. */
const SbParam *groups_nearest (const SbParamGroup *const *groups, const char *name);
/* What takes a row of this name: "the session", "the data", "the command fit"; NULL: nothing does. */
char *groups_owner (const char *name);

#endif
