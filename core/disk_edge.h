/* The circle that a bright disk's edge follows; inside of disk_find. */
#ifndef SB_CORE_DISK_EDGE_H
#define SB_CORE_DISK_EDGE_H

#include "core/calibrate.h"

typedef struct DiskImage {
  gint64 rows, cols;
  const double *value;
  const guint8 *skip; /* bad and hot pixels */
  double *scratch;    /* [rows * cols] */
} DiskImage;

/* How much a circle looks like the bright field. */
typedef struct DiskQuality {
  double plateau, outside; /* medians inside and just outside */
  double filled, spilt;    /* shares of the inside and of the surroundings above half the plateau */
  double sharpness;        /* step across the edge, of plateau - outside; 1: a hard edge */
  double noise;            /* robust standard deviation of all that is not the disk */
  double seen;             /* share of the circumference that could be used */
  double scatter;          /* of the edge about the circle, pixels (robust) */
} DiskQuality;

/* Moves the circle on to the half-plateau edge; parts of the edge that are cut by the detector, hidden by bad
 * pixels or out of line (a neighbouring spot) do not count. FALSE where there is no such edge. */
gboolean disk_refine (const DiskImage *image, int iterations, SbDisk *disk, DiskQuality *quality);

#endif
