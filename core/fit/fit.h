/* The fit of the 28 coordinates: search, march, low order, joint, climb, converge; errors; branch. */
#ifndef SB_CORE_FIT_FIT_H
#define SB_CORE_FIT_FIT_H

#include "core/agreement.h"

/* Where the fit starts and what it may move. Also what a reconstruction without a fit takes as known. */
typedef struct SbAberrationOptions {
  char *coefficients; /* "C10=5.5 C12=1.2 phi12=0.3": known values, held (nm, rad; tilt mrad; depth nm) */
  char *start;        /* the same form: where to start; no search of what is given */
  char *lock;         /* "C30 depth": names held at their start (or zero) */
  char *range;        /* "C10=-40:40 depth=0:6": limits */
  char *from;         /* a result file: its values are start (fit) or known (reconstruct), its calibration is taken */
} SbAberrationOptions;
extern const SbParamGroup aberration_params;

typedef struct SbFitOptions {
  gint64 seed, trials;
  double higher_order_limit;  /* rad at the edge */
  char *branch;               /* auto | keep | twin */
} SbFitOptions;
extern const SbParamGroup fit_params;

/* The options' texts, resolved to coordinates. */
typedef struct SbStart {
  SbCoordinates start;
  gboolean given[SB_N_COORDINATES];  /* start says so */
  gboolean locked[SB_N_COORDINATES];
  double low[SB_N_COORDINATES], high[SB_N_COORDINATES];
} SbStart;
/* Unknown names, wrong units, two values for one coefficient: one sentence that names the nearest name. from_values: the
 * coordinates of the file `from` or NULL. */
gboolean start_resolve (SbStart *start, const SbAberrationOptions *options, const SbFitOptions *fit, const SbOptics *optics,
                        const SbCoordinates *from_values, GError **error);

typedef enum SbBranch { SB_BRANCH_KEPT, SB_BRANCH_TWIN, SB_BRANCH_INCONCLUSIVE, SB_BRANCH_PINNED } SbBranch;

typedef struct SbFit {
  SbCoordinates at;
  gboolean fitted[SB_N_COORDINATES];
  double agreement;           /* S in float64 at `at` */
  double agreement_zero;      /* S without aberrations */
  double agreement_thin;      /* of the polished thin fit */
  double error[SB_N_COORDINATES];   /* counting noise, one standard deviation; NAN where held */
  double covariance[SB_N_COORDINATES][SB_N_COORDINATES];
  double noise_ratio;         /* (1 - S) sum |G|^2 / pairs over sigma^2 */
  double limit;               /* the higher-order box that was used */
  SbBranch branch;
  double skewness;
  SbPasses passes;
  GPtrArray *warnings;
} SbFit;

SbFit *fit_run (SbSpectrum *spectrum, const SbStart *start, const SbFitOptions *options, SbProgress *progress, GError **error);
void fit_free (SbFit *fit);

#endif
