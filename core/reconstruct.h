/* Reconstruction: Phi(q) on the fine grid by a method, then the image. */
#ifndef SB_CORE_RECONSTRUCT_H
#define SB_CORE_RECONSTRUCT_H

#include <complex.h>

#include "core/spectrum.h"

typedef struct SbReconstructionOptions {
  char *method;          /* a name of the method registry; default phase */
  gint64 upsampling;     /* 0: auto */
  double regularisation; /* NAN: from the noise, ring by ring */
  gboolean quality;      /* resolution and transfer, see core/quality.h */
  gboolean half_images;
} SbReconstructionOptions;
extern const SbParamGroup reconstruction_params;

/* Half of the fine grid (one of each +-q pair) with the sums a method asked for. */
typedef struct SbFineGrid {
  SbEngine *engine;  /* borrowed; transforms the image where its backend can */
  gint64 rows, cols; /* of the fine grid */
  gint64 factor[2];
  SbkFine fine;
  gint64 *position;         /* [fine.n] row * cols + col in the fine FFT grid */
  double *q;                /* [fine.n] |q| in units of k_max */
  double ring;              /* spacing of the measured frequencies, units of k_max: the least width of a ring */
  double aperture;          /* sum of A^2 over the bright-field pixels: <w,gamma> at its largest */
  gint64 absent;            /* fine frequencies left out because their measured frequency is not stored */
  SbFrame frame;            /* that fine.vx, vy were made for */
  guint64 stamp;            /* of position: never changes */
  struct SbFineRings *kept; /* of fine_grid_rings */
  int refs;                 /* more than one owner */
} SbFineGrid;
/* A grid that is owned, or shared with the spectrum: it is not to be changed. */
SbFineGrid *fine_grid_new (SbSpectrum *spectrum, const gint64 factor[2], GError **error);
void fine_grid_free (SbFineGrid *grid);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SbFineGrid, fine_grid_free)

/* Rings of |q| at least grid->ring wide that hold at least SB_RING_LEAST frequencies: order[fine.n] sorts the frequencies by
 * |q|, ring r is order[start[r] .. start[r + 1]); returns the number of rings, -1 without memory. start holds fine.n + 1. */
enum { SB_RING_LEAST = 16 };
gint64 fine_grid_rings (const SbFineGrid *grid, gint64 *order, gint64 *start, GError **error);

typedef struct SbImage {
  gint64 rows, cols;
  gint64 factor[2];
  double step[2];    /* angstrom */
  float *phase;      /* rad */
  float *absorption; /* relative amplitude change; NULL unless the method gives it */
  gint64 absent;     /* frequencies left out because the spectrum does not hold them */
} SbImage;
void image_free (SbImage *image);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SbImage, image_free)

/* One method; a file of methods/ defines one as `const SbMethod method_NAME`. */
typedef struct SbMethod {
  const char *name;  /* "phase" */
  const char *title; /* "Phase (least squares)" */
  const char *help;  /* one sentence */
  SbkSumKind sums;
  /* Phi (and, where the method has it, absorption) of every fine frequency from its sums; noise: sigma^2 per pair;
   * eps: the user's regularisation or NAN. */
  gboolean (*solve) (const SbFineGrid *grid, const double *sums, double noise, double eps, double complex *phi,
                     double complex *absorption, GError **error);
  gboolean has_absorption;
  /* Instead of solve, where the sums of one frequency do not decide its Phi: from G itself. */
  gboolean (*solve_grid) (SbSpectrum *spectrum, const SbFineGrid *grid, const SbCoordinates *at, double eps,
                          SbProgress *progress, double complex *phi, double complex *absorption, GError **error);
  const char *unit; /* of the image; NULL: rad */
} SbMethod;
extern const SbMethod *const method_registry[]; /* generated, NULL-terminated */
const char *const *method_names (void);
const SbMethod *method_find (const char *name); /* NULL: none */

/* The factors a reconstruction takes: asked on both axes, or (asked 0) the smallest that reach lambda / (4 semiangle). */
void upsampling_factors (const SbOptics *optics, gint64 asked, gint64 factor[2]);

/* The kernel's sums at every fine frequency [fine.n * sbk_sum_width (kind)], over pixels k_first, k_first + k_stride ... */
double *fine_grid_sums (SbSpectrum *spectrum, const SbFineGrid *grid, const SbCoordinates *at, SbkSumKind kind, gint64 k_first,
                        gint64 k_stride, SbProgress *progress, GError **error);
/* phi(r) [rows * cols] of a Phi held at one of each +-q pair; the same rounded to float32. */
double *fine_grid_image (const SbFineGrid *grid, const double complex *phi, GError **error);
float *fine_grid_image_single (const SbFineGrid *grid, const double complex *phi, GError **error);
/* Method, regularisation and upsampling are what reconstruct takes: for checking before hours of work. */
gboolean reconstruction_check (const SbReconstructionOptions *options, GError **error);
/* The image before it is rounded to float32, [grid->rows * grid->cols]; absorption NULL unless the method gives it. */
gboolean reconstruct_double (SbSpectrum *spectrum, const SbCoordinates *at, const SbReconstructionOptions *options,
                             SbProgress *progress, SbFineGrid **grid, double **phase, double **absorption, GError **error);
SbImage *reconstruct (SbSpectrum *spectrum, const SbCoordinates *at, const SbReconstructionOptions *options,
                      SbProgress *progress, GError **error);
/* Skewness about the median of an image: ((mean (x - med)^3) / (mean (x - med)^2)^1.5. */
double image_skewness (const float *x, gsize n);
/* sigma^2 per pair: (mean A^2)^2 / (mu N). */
double spectrum_noise (const SbSpectrum *spectrum);

#endif
