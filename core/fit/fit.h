/* The fit of the 28 coordinates: search, march, low order, joint, climb, converge; errors; branch. */
#ifndef SB_CORE_FIT_FIT_H
#define SB_CORE_FIT_FIT_H

#include "core/agreement.h"
#include "core/fit/history.h"

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
  double higher_order_limit;             /* rad at the edge */
  char *branch;                          /* auto | keep | twin */
  char *mode;                            /* auto | joint */
  char *refinement;                      /* newton | nelder-mead */
  char *uncertainty;                     /* full | error */
  gboolean history;                      /* keep every trial and step */
  char *objective;                       /* standard | dealiased */
  gboolean free_rotation, free_sampling; /* refined together with the coordinates, see core/fit/geometry.c */
} SbFitOptions;
extern const SbParamGroup fit_params;

/* The options' texts, resolved to coordinates. */
typedef struct SbStart {
  SbCoordinates start;
  gboolean given[SB_N_COORDINATES]; /* start says so */
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
  double agreement;               /* S in float64 at `at` */
  double agreement_zero;          /* S without aberrations */
  double gain;                    /* S of the joint fit of six coordinates over that of the thin fit, on the same pixels */
  double error[SB_N_COORDINATES]; /* counting noise, one standard deviation; NAN where held */
  double covariance[SB_N_COORDINATES][SB_N_COORDINATES];
  double spread[SB_N_COORDINATES]; /* what halves of the data disagree on, one standard deviation; NAN where not known */
  double spread_covariance[SB_N_COORDINATES][SB_N_COORDINATES];
  double half_difference[SB_N_COORDINATES]; /* of the halves of the band */
  double noise_ratio;                       /* (1 - S) sum |G|^2 / pairs over sigma^2 */
  double sampling_scale;                    /* of the detector sampling, over that of G; 1 unless free */
  double rotation_error, sampling_error;    /* counting noise: rad, relative; NAN where held */
  double limit;                             /* the higher-order box that was used */
  SbBranch branch;
  double skewness;
  SbPasses passes;       /* of search, climb and convergence */
  SbPasses check_passes; /* of the error's Hessian and the halves */
  SbHistory *history;    /* NULL: not kept */
  GPtrArray *warnings;   /* sentences */
  GPtrArray *flags;      /* words: "phi12_undetermined", "tilt_undetermined", "depth_zero", "at_limit:C30",
                               * "halves_disagree" */
} SbFit;

SbFit *fit_run (SbSpectrum *spectrum, const SbStart *start, const SbFitOptions *options, SbProgress *progress, GError **error);
void fit_free (SbFit *fit);

#endif
