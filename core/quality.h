/* How good an image is, from the data alone. The bright-field pixels are split in two interleaved halves; each gives an
 * image by the same method, and their correlation ring by ring (Fourier ring correlation, FRC) says how far the signal
 * stands above the counting noise: the whole image correlates with the object to sqrt (2 FRC / (1 + FRC)), as far as the
 * model holds (what it leaves out is the same in both halves). Frequencies beyond the scan's own are aliases of measured
 * ones, and what leaks in from there is the same in both halves too: beyond 1 / (2 step) the FRC is an upper bound. */
#ifndef SB_CORE_QUALITY_H
#define SB_CORE_QUALITY_H

#include "core/reconstruct.h"

#define QUALITY_THRESHOLD 0.143 /* of the half sets: the whole set then correlates with the truth to 0.5 */

typedef struct SbQuality {
  gint64 rings;
  double *frequency; /* [rings] mean |q|, 1/angstrom */
  double *frc;       /* [rings] -1 .. 1 */
  /* [rings] sqrt (<gamma,gamma> / (4 sum A^2)): the amplitude that reaches the detector, as a share of what an ideal phase
   * plate would give (both sidebands at every pixel, in phase). */
  double *transfer;
  gint64 *count;      /* [rings] frequencies, one of each +-q pair */
  double cutoff;      /* 1/angstrom, where the FRC falls through the threshold; NAN: it is never above */
  gboolean limited;   /* it never falls: the last frequency is the limit */
  double scan_limit;  /* 1/angstrom, 1 / (2 step) */
  const char *method; /* that the halves were made with: phase where the image's own cannot be halved */
  double total;       /* correlation of the halves over all frequencies */
  gint64 rows, cols;
  float *half[2]; /* [rows * cols], where asked for */
} SbQuality;
SbQuality *quality_measure (SbSpectrum *spectrum, const SbCoordinates *at, const SbReconstructionOptions *options,
                            SbProgress *progress, GError **error);
void quality_free (SbQuality *quality);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SbQuality, quality_free)

/* cutoff and limited from the rings. */
void quality_cutoff (SbQuality *quality);

/* The curves of a result as a picture (RGB, g_malloc); NULL: no memory. */
struct SbResult;
gboolean quality_is_in (const struct SbResult *result);
guint8 *picture_quality (const struct SbResult *result, gint64 *rows, gint64 *cols);

#endif
