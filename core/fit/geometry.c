/* At the maximum over the coordinates only rotation and sampling have a slope; with the second derivatives of all, one
 * Newton step moves both and takes the coordinates along. Those across are differences of exact first derivatives. */
#include "core/fit/geometry.h"

#include <math.h>
#include <string.h>

#include "core/fit/eigen.h"
#include "core/reconstruct.h"

#define STEP 0.004    /* of the differences: rad, relative; wide enough to cross the corners of the aperture's ramp */
#define LARGEST 0.05  /* of one Newton step */
#define SETTLED 0.002 /* predicted gain over noise: a step of a twentieth of the error */
#define PAIRS_ENOUGH 4e7
enum { ALL = SB_N_COORDINATES + 2, STEPS = 12, PIXELS = 365, STRIDE = 8 };

/* Coordinates that can move, then what is free of rotation (0) and sampling (1). */
typedef struct Free {
  int n, chosen[SB_N_COORDINATES];
  int m, which[2];
} Free;

static Free
free_find (const SbStart *start, const SbFitOptions *options, const SbCoordinates *at)
{
  Free f = { 0 };
  for (int i = 0; i < SB_N_COORDINATES; i++)
    if (!start->locked[i] && at->x[i] > start->low[i] && at->x[i] < start->high[i])
      f.chosen[f.n++] = i;
  if (options->free_rotation)
    f.which[f.m++] = 0;
  if (options->free_sampling)
    f.which[f.m++] = 1;
  return f;
}

/* Where the detector is. */
typedef struct Place {
  SbFrame frame;
  double scale;
} Place;

static Place
place_of (const SbSpectrum *spectrum)
{
  return (Place){ spectrum->frame, spectrum->scale > 0 ? spectrum->scale : 1 };
}

static gboolean
place_set (SbSpectrum *spectrum, const Place *from, double turn, double grow, GError **error)
{
  SbFrame frame = { from->frame.rotation + turn, from->frame.transpose };
  return spectrum_set_frame (spectrum, &frame, error) && spectrum_set_scale (spectrum, from->scale * exp (grow), error);
}

/* Derivatives by the free coordinates, then by rotation and sampling. */
static gboolean
first (const SbAgreement *a, const SbCoordinates *at, const Free *f, double derivative[ALL], GError **error)
{
  double s, gradient[SB_N_COORDINATES], geometry[2];
  if (!agreement_gradient (a, at, &s, gradient, error) || !agreement_geometry (a, at, &s, geometry, error))
    return FALSE;
  for (int i = 0; i < f->n; i++)
    derivative[i] = gradient[f->chosen[i]];
  for (int i = 0; i < f->m; i++)
    derivative[f->n + i] = geometry[f->which[i]];
  return TRUE;
}

/* Second derivatives of all that is free, h[(n + m)^2]. */
static gboolean
second (const SbStages *stages, const SbCoordinates *at, const Free *f, gint64 stride, double *h, GError **error)
{
  SbSpectrum *spectrum = stages->spectrum;
  const Place here = place_of (spectrum);
  SbAgreement a;
  double s, unused[SB_N_COORDINATES], inner[SB_N_COORDINATES * SB_N_COORDINATES], side[2][ALL];
  int size = f->n + f->m;
  if (!agreement_init (&a, spectrum, 0, stride, stages->passes, stages->progress, error)
      || (f->n > 0 && !agreement_hessian (&a, at, f->n, f->chosen, &s, unused, inner, error)))
    return FALSE;
  for (int i = 0; i < f->n; i++)
    memcpy (h + i * size, inner + i * f->n, (gsize)f->n * sizeof *h);
  for (int z = 0; z < f->m; z++) {
    gboolean ok = TRUE;
    for (int way = 0; ok && way < 2; way++) {
      double by = way == 0 ? STEP : -STEP;
      ok = place_set (spectrum, &here, f->which[z] == 0 ? by : 0, f->which[z] == 1 ? by : 0, error)
           && first (&a, at, f, side[way], error);
    }
    if (!ok || !place_set (spectrum, &here, 0, 0, error))
      return FALSE;
    for (int i = 0; i < size; i++)
      h[i * size + f->n + z] = (side[0][i] - side[1][i]) / (2 * STEP);
  }
  for (int i = 0; i < size; i++) /* across: both from the columns of rotation and sampling */
    for (int z = f->n; z < size; z++)
      h[z * size + i] = i < f->n ? h[i * size + z] : 0.5 * (h[i * size + z] + h[z * size + i]);
  return TRUE;
}

/* Inverse of -h; directions that are no maximum count as flat ones of little curvature. */
static void
invert (int n, const double *h, double *inverse)
{
  double a[ALL * ALL], scale[ALL], values[ALL], vectors[ALL * ALL], largest = 0;
  for (int i = 0; i < n; i++)
    scale[i] = sqrt (fmax (fabs (h[i * n + i]), 1e-300));
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      a[i * n + j] = -h[i * n + j] / (scale[i] * scale[j]);
  eigen_symmetric (n, a, values, vectors);
  for (int e = 0; e < n; e++)
    largest = fmax (largest, fabs (values[e]));
  memset (inverse, 0, (gsize)(n * n) * sizeof *inverse);
  for (int e = 0; e < n; e++) {
    double v = fmax (fabs (values[e]), 1e-6 * largest);
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++)
        inverse[i * n + j] += vectors[i * n + e] * vectors[j * n + e] / (v * scale[i] * scale[j]);
  }
}

/* The Newton step of all that is free, and the gain that it promises. */
static gboolean
newton (const SbStages *stages, const SbCoordinates *at, const Free *f, double step[ALL], double *predicted, GError **error)
{
  double h[ALL * ALL], inverse[ALL * ALL], slope[ALL];
  int size = f->n + f->m;
  SbAgreement all;
  gint64 stride = stages_stride (stages->spectrum, PIXELS, STRIDE);
  if (!agreement_init (&all, stages->spectrum, 0, 1, stages->passes, stages->progress, error)
      || !first (&all, at, f, slope, error) || !second (stages, at, f, stride, h, error))
    return FALSE;
  invert (size, h, inverse);
  double longest = 0;
  *predicted = 0;
  for (int i = 0; i < size; i++) {
    step[i] = 0;
    for (int j = f->n; j < size; j++) /* the coordinates have converged: what is left of their slope is theirs */
      step[i] += inverse[i * size + j] * slope[j];
    if (i < f->n)
      continue;
    *predicted += 0.5 * step[i] * slope[i];
    longest = fmax (longest, fabs (step[i]));
  }
  for (int i = 0; i < size && longest > LARGEST; i++)
    step[i] *= LARGEST / longest;
  return TRUE;
}

/* Takes `share` of the step and converges there. */
static gboolean
take (const SbStages *stages, const Free *f, const Place *from, const SbMaximum *maximum, const double step[ALL], double share,
      SbMaximum *to, GError **error)
{
  SbMaximum start = *maximum;
  double move[2] = { 0, 0 };
  for (int i = 0; i < f->n; i++) {
    int c = f->chosen[i];
    start.at.x[c] = CLAMP (start.at.x[c] + share * step[i], stages->start->low[c], stages->start->high[c]);
  }
  for (int z = 0; z < f->m; z++)
    move[f->which[z]] = share * step[f->n + z];
  return place_set (stages->spectrum, from, move[0], move[1], error) && converge (stages, &start, to, error);
}

static gboolean
refine (const SbStages *stages, const SbFitOptions *options, SbMaximum *maximum, gboolean *settled, GError **error)
{
  double enough = SETTLED * spectrum_noise (stages->spectrum) / stages->spectrum->power;
  *settled = FALSE;
  for (int i = 0; i < STEPS && !*settled; i++) {
    const Place here = place_of (stages->spectrum);
    Free f = free_find (stages->start, options, &maximum->at);
    double step[ALL], predicted, share = 1;
    SbMaximum there;
    if (!newton (stages, &maximum->at, &f, step, &predicted, error))
      return FALSE;
    *settled = predicted < enough + 1e-8 * maximum->s;
    do {
      if (!take (stages, &f, &here, maximum, step, share, &there, error))
        return FALSE;
      share /= 3;
    } while (there.s < maximum->s * (1 - 1e-7) && share > 0.01);
    if (there.s < maximum->s * (1 - 1e-7)) { /* no way up: stays */
      *settled = TRUE;
      return place_set (stages->spectrum, &here, 0, 0, error);
    }
    *maximum = there;
  }
  return TRUE;
}

gboolean
geometry_refine (const SbStages *stages, const SbFitOptions *options, SbMaximum *maximum, SbFit *fit, GError **error)
{
  SbSpectrum *spectrum = stages->spectrum;
  SbMaximum standard = *maximum;
  gboolean dealiased = spectrum->dealiased, settled = FALSE;
  if (!options->free_rotation && !options->free_sampling)
    return TRUE;
  spectrum->dealiased = FALSE;
  gboolean ok = (!dealiased || converge (stages, maximum, &standard, error))
                && refine (stages, options, &standard, &settled, error);
  spectrum->dealiased = dealiased;
  if (!ok || (dealiased && !converge (stages, &standard, maximum, error)))
    return FALSE;
  if (!dealiased)
    *maximum = standard;
  fit->sampling_scale = place_of (spectrum).scale;
  if (!settled)
    g_ptr_array_add (fit->warnings, g_strdup ("Rotation and sampling of the detector had not settled; they are the best "
                                              "so far."));
  return TRUE;
}

gboolean
geometry_errors (const SbStages *stages, const SbFitOptions *options, SbFit *fit, GError **error)
{
  SbSpectrum *spectrum = stages->spectrum;
  Free f = free_find (stages->start, options, &fit->at);
  double h[ALL * ALL], inverse[ALL * ALL], noise = spectrum_noise (spectrum) / spectrum->power;
  double pairs = (double)spectrum->n_band * (double)spectrum->n_pixels;
  int size = f.n + f.m;
  gboolean dealiased = spectrum->dealiased;
  if (f.m == 0)
    return TRUE;
  spectrum->dealiased = FALSE;
  gboolean ok = second (stages, &fit->at, &f, pairs > PAIRS_ENOUGH ? STRIDE : 1, h, error);
  spectrum->dealiased = dealiased;
  if (!ok)
    return FALSE;
  invert (size, h, inverse);
  for (int z = 0; z < f.m; z++)
    *(f.which[z] == 0 ? &fit->rotation_error : &fit->sampling_error) = sqrt (noise * inverse[(f.n + z) * (size + 1)]);
  for (int i = 0; i < f.n && !dealiased; i++) {
    for (int j = 0; j < f.n; j++)
      fit->covariance[f.chosen[i]][f.chosen[j]] = noise * inverse[i * size + j];
    fit->error[f.chosen[i]] = sqrt (noise * inverse[i * (size + 1)]);
  }
  return TRUE;
}
