/* From GError to the public status and the sentence of sb_error_message (), in one place. */
#ifndef SB_PLUGIN_STATUS_H
#define SB_PLUGIN_STATUS_H

#include <glib.h>

#include "plugin/sideband.h"

/* SB_OK where ok; else the status of the error, whose sentence becomes the thread's. The error is passed by
 * its address so that `return status_of (work (&error), &error)` does not depend on the order in which
 * arguments are evaluated. */
int status_of (gboolean ok, GError *const *error);
/* The status alone; errors of other domains than ours are mapped. */
int status_code (const GError *error);
/* Makes a sentence the thread's. */
void status_say (const char *message);
/* "cancelled", "argument" ...; NULL beyond the last. */
const char *status_name (int status);

#endif
