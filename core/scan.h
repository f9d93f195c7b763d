/* The scan of an acquisition: how many rows and columns, which flyback columns, which part is used. */
#ifndef SB_CORE_SCAN_H
#define SB_CORE_SCAN_H

#include "core/acquisition.h"

/* Fills scan_rows, scan_cols, flyback, region, used_rows and used_cols from options and header; nothing is
 * guessed: what cannot be known is asked for, and frames are never shifted. name: the file, for messages. */
gboolean scan_resolve (SbAcquisition *acquisition, const char *name, GError **error);

#endif
