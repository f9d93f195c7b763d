/* What Nion Swift writes beside an array, in .ndata and in .h5: calibrations, voltage, aperture. */
#ifndef SB_CORE_FORMATS_NION_JSON_H
#define SB_CORE_FORMATS_NION_JSON_H

#include "core/acquisition.h"

/* text: the JSON of the properties (metadata.json of an .ndata); rank: axes of the array, 3 or 4, of which the last
 * two are the detector. Fills energy, step, sampling or reciprocal, semiangle. Text that is no JSON is a warning;
 * axes in the wrong order, of unknown units, or pixels that are not square are an error. */
gboolean nion_properties (const char *path, const char *text, gsize size, int rank, SbHeader *header, GError **error);

#endif
