/* What DECTRIS masters, old and new, say of the detector and the beam in NeXus' words. */
#ifndef SB_CORE_FORMATS_NXDETECTOR_H
#define SB_CORE_FORMATS_NXDETECTOR_H

#include "core/acquisition.h"
#include "core/h5io.h"

/* Where a master keeps them; lists end with NULL. */
typedef struct SbNxPlaces {
  const char *const *masks, *const *flatfields;
  const char *const *applied; /* whether the detector used the flatfield */
} SbNxPlaces;

/* Is it a master or a data file of a DECTRIS detector in the older layout? Between h5io_begin() and h5io_end(). */
gboolean nxdetector_is_dectris (hid_t file);
/* Of the beam, kV; NAN where it is not (sensibly) given. Between h5io_begin() and h5io_end(). */
double nxdetector_energy (hid_t file, const char *path);
double nxdetector_wavelength (hid_t file, const char *path); /* the same from a wavelength */
/* header->mask, or a warning; a flatfield that nobody used is said; pixels that are not square are refused. Once
 * the shape of the frames is known. Takes the lock itself. */
gboolean nxdetector_maps (const char *path, const SbNxPlaces *places, SbHeader *header, GError **error);

#endif
