/* Unmasked hot pixels, found on a mean pattern. */
#ifndef SB_CORE_HOT_H
#define SB_CORE_HOT_H

#include <glib.h>

#define HOT_FACTOR 4.0

/* Sets hot[i] = 1 where mean[i] stands `factor` times above anything that five neighbouring pixels reach
 * together, and by `floor` more (what chance alone may put into one pixel, counts a frame). bad pixels (may
 * be NULL) are neither judged nor trusted. Returns how many. */
gint64 hot_find (const double *mean, const guint8 *bad, gint64 rows, gint64 cols, double factor, double floor, guint8 *hot);

#endif
