/* What a host gave, checked: one struct of core for each group of a list. */
#ifndef SB_PLUGIN_OPTIONS_H
#define SB_PLUGIN_OPTIONS_H

#include <jansson.h>

#include "core/param.h"

typedef struct SbOptions SbOptions;

/* json: an object of row names, NULL or "" for none. groups: NULL-terminated, outlives the options. whose:
 * who takes them, for messages ("the command run"). The file that `params` names is read first; what stands
 * beside it wins. */
SbOptions *options_parse (const char *json, const SbParamGroup *const *groups, const char *whose, GError **error);
void options_free (SbOptions *options);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SbOptions, options_free)

/* The struct of a group; NULL where the list does not have it. */
gconstpointer options_get (const SbOptions *options, const SbParamGroup *group);

/* Adds to an object every value that another run needs to give the same: not threads, output and the like. */
void options_record (const SbOptions *options, json_t *object);

#endif
