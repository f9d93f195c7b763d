/* A device that is none: the loader rows in plain C, in the host's memory, so that everything round them is tested where there
 * is no GPU. Decodes with tests/parity's own decoder. */
#ifndef SB_TESTS_UNIT_DEVICE_DOUBLE_H
#define SB_TESTS_UNIT_DEVICE_DOUBLE_H

#include "core/engine.h"

/* sbk_cpu with a loader. */
const SbkBackend *device_double (void);
extern gint device_double_loads;    /* that were begun, and not freed yet */
extern gint64 device_double_frames; /* that went by since it was set to 0 */
extern gboolean device_double_full; /* no room for columns */

#endif
