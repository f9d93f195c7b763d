/* Where the library's modules lie. */
#ifndef SB_CORE_MODULE_H
#define SB_CORE_MODULE_H

#include <glib.h>

/* A module's file beside the library (or program) that holds this code, or in that folder of the build; NULL: neither. */
char *module_beside (const char *file, const char *build_folder);

#endif
