/* What is worth saying of an acquisition once its frames went by: empty, damaged and dark frames, hot and saturated
 * pixels, descan. */
#ifndef SB_CORE_NOTES_H
#define SB_CORE_NOTES_H

#include "core/columns.h"

/* Adds sentences (char *) to a list. */
void notes_of_columns (const SbColumns *columns, GPtrArray *notes);

#endif
