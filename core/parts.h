/* G in parts: a spectrum that does not fit into memory is made from its columns of counts whenever a pass needs it, some
 * detector rows at a time; parts of it that fit are kept. Inside of spectrum and passes only. */
#ifndef SB_CORE_PARTS_H
#define SB_CORE_PARTS_H

#include "core/spectrum.h"

/* A part of G with the view of it that a pass asked for. */
typedef struct SbPart {
  SbkSpectrum *g;
  SbkView view;
  gboolean only, last; /* of the parts of this pass on this machine */
} SbPart;

typedef struct SbParts SbParts;

/* What G is made from; arrays are taken over, index is borrowed. */
typedef struct SbPartsSource {
  SbkPixels pixels;
  SbkBand band;
  SbkCounts counts;
} SbPartsSource;

/* room: bytes that parts of G may take. */
SbParts *parts_new (SbEngine *engine, const SbPartsSource *source, guint64 room, GError **error);
void parts_free (SbParts *parts);
/* As the kernels' spectrum_set_q and spectrum_set_scale. */
gboolean parts_set_q (SbParts *parts, const double *vx, const double *vy, GError **error);
gboolean parts_set_scale (SbParts *parts, double scale, GError **error);

/* The view of G where it is, or can be kept, as one piece; part->g NULL: it cannot. whole_q: with every frequency, whatever
 * the view's q fields say. */
gboolean parts_whole (SbSpectrum *spectrum, const SbkView *view, gboolean whole_q, SbProgress *progress, SbPart *part,
                      GError **error);
typedef SbkStatus (*SbPartWork) (const SbPart *part, gpointer data, SbkError *error);
/* Calls work for every part of the view's pixels, in their order. */
gboolean parts_each (SbSpectrum *spectrum, const SbkView *view, gboolean whole_q, SbPartWork work, gpointer data,
                     SbProgress *progress, GError **error);

#endif
