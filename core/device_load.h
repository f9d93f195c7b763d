/* Columns that a device gathers: stored frames go there as they lie in the file, are decoded there, and the counts stay
 * there. The same numbers as columns_load's way through the host's memory. */
#ifndef SB_CORE_DEVICE_LOAD_H
#define SB_CORE_DEVICE_LOAD_H

#include "core/detector.h"

/* Whether the engine's backend can be asked. */
gboolean device_load_can (const SbEngine *engine, const SbAcquisition *acquisition);
/* As columns_load. *declined, without an error: the device has no room for it. */
SbColumns *device_load (SbEngine *engine, SbAcquisition *acquisition, const double centre[2], double radius,
                        SbProgress *progress, gboolean *declined, GError **error);

/* What holds counts on a device. */
typedef struct SbDeviceColumns SbDeviceColumns;
void device_columns_free (SbDeviceColumns *device);
/* detector_counts from these columns: only the detector's pixels are brought to the host. column: as detector_sum finds
 * them. Sums of whole numbers, float32. */
gboolean device_columns_sum (SbEngine *engine, const SbColumns *columns, const SbDetector *detector, const gint64 *column,
                             float *out, SbProgress *progress, GError **error);

#endif
