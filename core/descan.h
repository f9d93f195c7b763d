/* Descan: the disk that wanders over the detector as the beam is scanned, found as a plane and removed. */
#ifndef SB_CORE_DESCAN_H
#define SB_CORE_DESCAN_H

#include "core/columns.h"
#include "core/mend.h"

/* The plane through the centres of mass, frames far off it left out, and how far it goes from one end of the scan to
 * the other, in pixels of detector rows and columns. FALSE: too few frames. */
gboolean descan_fit (const SbColumns *columns, SbPlane *plane, double travel[2]);
/* Whether it goes further than its own uncertainty and than matters. */
gboolean descan_matters (const SbColumns *columns, const SbPlane *plane, const double travel[2]);
/* columns_load; where the acquisition's option says so the plane is removed first, which loads again. */
SbColumns *descan_load (SbEngine *engine, SbAcquisition *acquisition, const double centre[2], double radius,
                        SbProgress *progress, GError **error);

#endif
