/* G(q,k): which pixels and frequencies it holds, and how to get it from columns of counts. */
#ifndef SB_CORE_SPECTRUM_H
#define SB_CORE_SPECTRUM_H

#include <glib.h>

#include "core/calibrate.h"
#include "core/columns.h"
#include "core/engine.h"
#include "core/optics.h"
#include "core/plan.h"

typedef struct SbSpectrumOptions {
  double band[2]; /* |q| limits in units of k_max, [low, high]; NAN: 0, 2 */
  gint64 edge;    /* scan points of the cosine taper */
} SbSpectrumOptions;
extern const SbParamGroup spectrum_params; /* band, edge */

/* G with all that the agreement needs. Frequencies are ordered: the band by shells of |q| (so that a smaller band is a
 * prefix), then what only upsampled reconstructions read (Nyquist rows, outside the user's band). */
typedef struct SbSpectrum {
  SbEngine *engine;            /* borrowed */
  SbkSpectrum *g;              /* NULL: in parts */
  gboolean somewhere_in_parts; /* here, or on another rank */
  struct SbParts *parts; /* makes G part by part where it does not fit; NULL: G is resident. Passes go through core/passes.h */
  SbPlan plan;           /* where G and the columns are; without columns all zero */
  SbOptics optics;
  SbFrame frame;
  double k_max; /* 1/angstrom */
  gint64 scan_rows, scan_cols;
  gint64 n_pixels, n_band, n_q;
  gint64 own_first, own_row,
      own_pixels;          /* of them (own_row: of their detector rows), that are held here; the others by other ranks */
  gint64 *index;           /* [n_q] row * scan_cols + col */
  double *q;               /* [n_q][2] scan frame, units of k_max */
  double *radius;          /* [n_band] |q| in ascending order, whatever the order they are held in */
  gint64 *slot;            /* [scan_rows * scan_cols] place in index, -1: not stored (ask spectrum_find) */
  double power;            /* sum |G|^2 over the band, all pixels */
  double mean_counts;      /* a bright-field pixel and frame */
  double mean_a2;          /* mean of A^2 over the pixels */
  double edge_width;       /* of the aperture, units of k_max */
  gint64 saturated;        /* bright-field pixels that saturate */
  double scale;            /* of the detector sampling, over that G was made with; 0 stands for 1 */
  struct SbFineGrid *fine; /* of the last reconstruction; NULL: none yet */
  gboolean dealiased;      /* agreements over the whole band are dealiased (see core/alias_agreement.h) */
} SbSpectrum;

/* Bright-field pixels: distance to the centre x sampling <= semiangle (1 + 1e-9), bad pixels left out. */
SbSpectrum *spectrum_new (SbEngine *engine, const SbColumns *columns, const SbOptics *optics, const SbCalibration *calibration,
                          const SbSpectrumOptions *options, SbProgress *progress, GError **error);
void spectrum_free (SbSpectrum *spectrum);
/* Sees the same G with another rotation or orientation. */
gboolean spectrum_set_frame (SbSpectrum *spectrum, const SbFrame *frame, GError **error);
/* Sees the same pixels with another detector sampling, `scale` times the one that G was made with. */
gboolean spectrum_set_scale (SbSpectrum *spectrum, double scale, GError **error);
/* Frequencies with |q| < limit (units of k_max), rounded up to whole blocks, at least `at_least`. */
gint64 spectrum_band_count (const SbSpectrum *spectrum, double limit, gint64 at_least);
/* Storage position of a frequency of the full FFT; *conj where its negative is stored; -1: not stored. */
gint64 spectrum_find (const SbSpectrum *spectrum, gint64 row, gint64 col, gboolean *conj);

/* A kernel's status as ours: TRUE for SBK_OK. */
gboolean spectrum_fail (SbkStatus status, const SbkError *kernel, GError **error);

#endif
