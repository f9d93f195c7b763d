/* A reader that mends what another one delivers: frames that cannot be decoded become empty ones, and frames whose
 * disk moved with the scan (descan) are moved back by whole pixels. Everything behind it reads mended frames. */
#ifndef SB_CORE_MEND_H
#define SB_CORE_MEND_H

#include "core/acquisition.h"

/* Row and column of the disk as a plane over the scan: at the middle, and more with every scan row and column. */
typedef struct SbPlane {
  double at[2], by_row[2], by_col[2];
} SbPlane;

extern const char *const mend_damaged_choices[]; /* of the row damaged_frames */
extern const char *const mend_descan_choices[];  /* of the row descan */

/* Puts itself before the reader where the options ask for one of the two. */
void mend_install (SbAcquisition *acquisition);
gboolean mend_removes_descan (const SbAcquisition *acquisition);
/* How far the disk of each frame is moved back; pixels, nearest. */
void mend_set_plane (SbAcquisition *acquisition, const SbPlane *plane);
const SbPlane *mend_plane (const SbAcquisition *acquisition); /* NULL: nothing is moved */
void plane_shift (const SbPlane *plane, const SbAcquisition *acquisition, gint64 position, gint64 shift[2]);
/* Frames taken as empty so far; *why: what was wrong with the first of them (to be freed). */
gint64 mend_damaged (const SbAcquisition *acquisition, char **why);

#endif
