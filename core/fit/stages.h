/* The stages of the fit, in the order they run; each is a function of its own so that calibration and tests can call it. */
#ifndef SB_CORE_FIT_STAGES_H
#define SB_CORE_FIT_STAGES_H

#include "core/fit/fit.h"
#include "core/fit/maximise.h"

typedef struct SbCandidate {
  SbCoordinates at;
  double s;
} SbCandidate;

enum { SB_KEPT = 3 }; /* candidates that go on from the search */

/* What every stage needs. */
typedef struct SbStages {
  SbSpectrum *spectrum;
  const SbStart *start;
  gint64 trials, seed;
  SbPasses *passes;
  SbProgress *progress;
  SbHistory *history;             /* NULL: not kept */
  gboolean joint_trials, simplex; /* mode = joint, refinement = nelder-mead */
} SbStages;

/* Pixel stride that leaves at least `pixels` of them, at most `most`. */
gint64 stages_stride (const SbSpectrum *spectrum, gint64 pixels, gint64 most);
/* The largest stride of a subset: the usual one, or more where the pairs are many. */
gint64 stages_most (const SbSpectrum *spectrum, gint64 usual);
/* Of the thin and the joint fit, so that their S can be compared. */
gint64 stages_joint_stride (const SbSpectrum *spectrum);

/* Seeded trials of C10, C12a, C12b on the coarse band, then outward to |q| < limit (units of k_max; 2: the whole band).
 * Best first; n kept. */
gboolean search_low_order (const SbStages *stages, double limit, SbCandidate kept[SB_KEPT], int *n, GError **error);

/* Thin low order on the whole band from a candidate. */
gboolean thin_fit (const SbStages *stages, const SbCandidate *from, gint64 k_stride, SbMaximum *maximum, GError **error);
/* With tilt and depth, from a few starts of both round the thin fit; pixels of stages_joint_stride. */
gboolean joint_fit (const SbStages *stages, const SbCoordinates *thin, SbMaximum *maximum, GError **error);
/* Depth or tilt ran into a limit where nothing pulls it back; another way there. */
gboolean joint_stuck (const SbStart *start, const SbCoordinates *at);
gboolean joint_revive (const SbStages *stages, const SbCoordinates *at, SbMaximum *maximum, GError **error);

/* Both without derivatives, from all candidates of the search. */
gboolean simplex_fit (const SbStages *stages, const SbCandidate *kept, int n, SbMaximum *thin, SbMaximum *maximum,
                      GError **error);

/* Everything that is free: climbs on a subset of the pixels, converges on all. Fills the coordinates that were free. */
gboolean climb (const SbStages *stages, const SbCoordinates *from, SbMaximum *maximum, GError **error);
gboolean converge (const SbStages *stages, const SbMaximum *from, SbMaximum *maximum, GError **error);
gboolean converge_shallow (const SbStages *stages, SbMaximum *maximum, GError **error);
int free_list (const SbStart *start, int chosen[SB_N_COORDINATES]);

/* Errors from the exact Hessian at the maximum, which is handed back. */
typedef struct SbCurvature {
  int n, chosen[SB_N_COORDINATES]; /* free and not at a limit */
  double hessian[SB_N_COORDINATES * SB_N_COORDINATES];
} SbCurvature;
gboolean errors_fill (const SbStages *stages, SbFit *fit, SbCurvature *curvature, GError **error);

/* The spread, from fits of halves; do they contradict higher orders beyond the safe limit? Then it is narrowed to. */
gboolean halves_fill (const SbStages *stages, const SbCurvature *curvature, SbFit *fit, GError **error);
gboolean halves_disagree (const SbFit *fit, int *worst);
void halves_narrow (SbStart *start, SbFit *fit);
void flags_fill (const SbStart *start, SbFit *fit);

/* Keeps or turns to the twin, by the sign of the phase. */
gboolean branch_choose (const SbStages *stages, const char *choice, SbFit *fit, GError **error);

#endif
