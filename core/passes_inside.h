/* Inside of passes only. */
#ifndef SB_CORE_PASSES_INSIDE_H
#define SB_CORE_PASSES_INSIDE_H

#include "core/parts.h"

/* G as one piece that one call goes through: nobody shares it, or the devices that share it add up among themselves (then the
 * view says so). part->g NULL: not so. */
gboolean passes_alone (SbSpectrum *spectrum, const SbkView *view, gboolean whole_q, SbProgress *progress, SbPart *part,
                       GError **error);
/* Adds up over all that share the spectrum. */
gboolean passes_reduce (const SbSpectrum *spectrum, double *values, gsize n, GError **error);
SbkStatus passes_unsupported (const SbSpectrum *spectrum, SbkError *error);

#endif
