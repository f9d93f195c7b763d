/* A TIFF of 32-bit float pages that ImageJ and Fiji open calibrated: the head, then the samples of page after page. */
#ifndef SB_CORE_TIFF_H
#define SB_CORE_TIFF_H

#include "core/result.h"

enum { TAG_SOFTWARE = 305 }; /* "sideband 0.1.0" in every first directory */

/* All pages have the first one's shape. The array's title and unit are the page's label; its samples are not read. */
typedef struct SbTiffPage {
  const SbArray *array;
  double low, high; /* display range */
} SbTiffPage;

/* Channels have each their own unit and display range; slices share those of the first. */
typedef enum SbTiffKind { SB_TIFF_CHANNELS, SB_TIFF_SLICES } SbTiffKind;

/* Everything but the samples, which follow without a gap. */
GByteArray *tiff_head (const SbTiffPage *pages, int n_pages, SbTiffKind kind);
/* The samples of a page as they stand in the file. */
gboolean tiff_append (int file, const SbArray *array, GError **error);

#endif
