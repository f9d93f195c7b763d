/* Everything there is, as JSON: built from the rows and the registries, once. */
#ifndef SB_PLUGIN_CATALOG_H
#define SB_PLUGIN_CATALOG_H

#include <jansson.h>

#include "core/param.h"

/* A new object; see sb_catalog. */
json_t *catalog_build (void);

#endif
