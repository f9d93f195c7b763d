/* One acquisition among several ranks: each reads a part of the frames, then one exchange gives each the whole scan of a
 * share of the pixels. What is known of every pixel (sums, mean pattern) or of every frame stays in all of them, the same
 * bits as when one process reads alone. */
#ifndef SB_CORE_SHARE_H
#define SB_CORE_SHARE_H

#include <jansson.h>

#include "core/bright_field.h"
#include "core/gather.h"
#include "core/spectrum.h"

/* How many of n things are this rank's, from *first on: all of them where nothing is shared. */
gint64 share_part (const SbEngine *engine, gint64 n, gint64 *first);
/* The scan positions whose frames this rank reads. */
void share_frames (SbGather *gather);
/* The sums over the frames of all ranks. */
gboolean share_sums (SbGather *gather, GError **error);
/* Columns of this rank's frames become columns of this rank's pixels; sums of frames become everybody's. */
gboolean share_columns (SbGather *gather, SbColumns *columns, GError **error);

/* Leaves of the bright field the pixels whose counts are here. */
gboolean share_pixels (SbSpectrum *spectrum, const SbColumns *columns, SbBrightField *b, GError **error);
/* Notes whether any rank has G in parts. */
gboolean share_plan (SbSpectrum *spectrum, GError **error);
/* A view of all pixels as this rank sees it; FALSE: it has none of them. */
gboolean share_view (const SbSpectrum *spectrum, const SbkView *view, SbkView *own);

/* What the ranks held and sent, a list of one number a rank each: for the result. NULL: not all could say so. */
json_t *share_report (SbEngine *engine, const SbColumns *columns, const SbSpectrum *spectrum);

#endif
