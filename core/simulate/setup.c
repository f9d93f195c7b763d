#include "core/simulate/setup.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/fit/values.h"

#define DEFAULT_THICKNESS 30.0 /* angstrom */
#define DISK_SHARE 2.4         /* detector width over the disk's radius, where no sampling is given */
#define LEAST_MARGIN 3.0       /* angstrom round a scan that is not periodic */
#define LARGEST_GRID 8192
#define LARGEST_SLICES 4e9 /* complex numbers in all slices */

enum { DEFAULT_SCAN = 50, DEFAULT_DETECTOR = 72, MOST_SLICES = 10000, MOST_FRAMES = 100000000, MOST_PIXELS = 1 << 26 };

/* ---- frames ---- */

void
simulation_turn (const SbSimulation *s, const double scan[2], double out[2])
{
  double c = cos (s->frame.rotation), n = sin (s->frame.rotation);
  out[0] = c * scan[0] + n * scan[1];
  out[1] = -n * scan[0] + c * scan[1];
}

void
simulation_turn_back (const SbSimulation *s, const double in[2], double scan[2])
{
  double c = cos (s->frame.rotation), n = sin (s->frame.rotation);
  scan[0] = c * in[0] - n * in[1];
  scan[1] = n * in[0] + c * in[1];
}

void
simulation_point (const SbSimulation *s, const double scan[2], double out[2])
{
  double from[2] = { scan[0] - s->extent[0] / 2, scan[1] - s->extent[1] / 2 };
  simulation_turn (s, from, out);
  for (int a = 0; a < 2; a++)
    out[a] += s->period[a] / 2;
}

void
simulation_point_back (const SbSimulation *s, const double in[2], double scan[2])
{
  double from[2] = { in[0] - s->period[0] / 2, in[1] - s->period[1] / 2 };
  simulation_turn_back (s, from, scan);
  for (int a = 0; a < 2; a++)
    scan[a] += s->extent[a] / 2;
}

double
simulation_frequency (const SbSimulation *s, int axis, gint64 i)
{
  return (double)(i > s->grid[axis] / 2 ? i - s->grid[axis] : i) / s->cell[axis];
}

double
simulation_aperture (const SbSimulation *s, double k_squared)
{
  double limit = s->k_max * s->k_max, width = s->sampling * 1e-3 / s->wavelength;
  if (!s->soft)
    return k_squared <= limit * (1 + 1e-9) ? 1 : 0;
  return CLAMP ((limit - k_squared) / (2 * s->k_max * width) + 0.5, 0.0, 1.0);
}

double
simulation_chi (const SbSimulation *s, const double k[2])
{
  double scan[2];
  simulation_turn_back (s, k, scan);
  return optics_chi (&s->at, scan[0] / s->k_max, scan[1] / s->k_max);
}

/* ---- options ---- */

/* What these groups hold beside what a simulation uses. */
static gboolean
refuse_others (const SbSimulateOptions *o, GError **error)
{
  const SbAcquisitionOptions *a = o->acquisition;
  const SbAberrationOptions *b = o->aberrations;
  const char *name = a->scan_region[2] > 0  ? "scan_region"
                     : a->dtype != NULL     ? "dtype"
                     : a->header_bytes != 0 ? "header_bytes"
                     : a->partial           ? "partial"
                     : b->start != NULL     ? "start"
                     : b->lock != NULL      ? "lock"
                     : b->range != NULL     ? "range"
                     : b->from != NULL      ? "from"
                                            : NULL;
  return name == NULL
         || sb_fail (error, SB_ERROR_ARGUMENT,
                     "%s has no meaning for a simulation; leave it out (aberrations are given by "
                     "coefficients).",
                     name);
}

static gboolean
check_size (const gint64 shape[2], const char *name, gint64 most, GError **error)
{
  gint64 n;
  if (!__builtin_mul_overflow (shape[0], shape[1], &n) && n <= most)
    return TRUE;
  return sb_fail (error, SB_ERROR_ARGUMENT,
                  "%s %" G_GINT64_FORMAT ",%" G_GINT64_FORMAT " is too large for a simulation; give at "
                  "most %" G_GINT64_FORMAT " points.",
                  name, shape[0], shape[1], most);
}

static gboolean
init_scan (SbSimulation *s, const SbSimulateOptions *o, const SbSpecimen *atoms, GError **error)
{
  gboolean cell = atoms != NULL && atoms->cell[0] > 0;
  for (int a = 0; a < 2; a++) {
    s->scan[a] = o->acquisition->scan_shape[a] > 0 ? o->acquisition->scan_shape[a] : DEFAULT_SCAN;
    s->detector[a] = o->acquisition->detector_shape[a] > 0 ? o->acquisition->detector_shape[a] : DEFAULT_DETECTOR;
    s->optics.step[a] = o->optics->step[a];
    if (isnan (s->optics.step[a]) && cell && s->periodic)
      s->optics.step[a] = atoms->cell[a] / (double)s->scan[a];
    s->extent[a] = (double)s->scan[a] * s->optics.step[a];
  }
  if (!check_size (s->scan, "scan_shape", MOST_FRAMES, error)
      || !check_size (s->detector, "detector_shape", MOST_PIXELS, error))
    return FALSE;
  s->optics.energy = o->optics->energy;
  s->optics.semiangle = o->optics->semiangle;
  const char *missing = isnan (s->optics.energy)      ? "energy (kV)"
                        : isnan (s->optics.semiangle) ? "semiangle (mrad)"
                        : isnan (s->optics.step[0])   ? "step (Å)"
                                                      : NULL;
  if (missing != NULL)
    return sb_fail (error, SB_ERROR_ARGUMENT, "Give %s: a simulation does not know it.", missing);
  for (int a = 0; a < 2 && cell && s->periodic; a++)
    if (fabs (s->extent[a] - atoms->cell[a]) > 1e-3 * atoms->cell[a])
      return sb_fail (error, SB_ERROR_ARGUMENT,
                      "A periodic scan covers the atoms' cell of %g x %g Å, but scan_shape times step "
                      "makes %g x %g Å; change step, or give periodic = false.",
                      atoms->cell[0], atoms->cell[1], s->extent[0], s->extent[1]);
  return TRUE;
}

static gboolean
init_probe (SbSimulation *s, const SbSimulateOptions *o, GError **error)
{
  SbValues values;
  s->wavelength = optics_wavelength (s->optics.energy);
  s->k_max = optics_k_max (&s->optics);
  if (!values_resolve ("coefficients", o->aberrations->coefficients, &s->optics, &values, error))
    return FALSE;
  if (values.given[SB_DEPTH])
    return sb_fail (error, SB_ERROR_ARGUMENT,
                    "coefficients: depth of a simulation is the specimen's thickness; give thickness.");
  s->at = values.at;
  s->at.x[SB_DEPTH] = s->thickness / 10;
  double tilt = hypot (s->at.x[SB_TILT_ROW], s->at.x[SB_TILT_COL]);
  if (tilt > 500)
    return sb_fail (error, SB_ERROR_ARGUMENT, "coefficients: a tilt of %g mrad is too large; give up to 500 mrad.", tilt);
  return TRUE;
}

/* A pixel is a whole number of the periodic specimen's frequencies, where the user leaves it free. */
static void
init_detector (SbSimulation *s, const SbCalibrationOptions *o)
{
  double wanted = DISK_SHARE * s->optics.semiangle / (double)MIN (s->detector[0], s->detector[1]);
  double spot = 1e3 * s->wavelength / MAX (s->extent[0], s->extent[1]); /* mrad */
  for (int a = 0; a < 2; a++)
    s->centre[a] = !isnan (o->centre[a]) ? o->centre[a] : (double)(s->detector[a] / 2);
  s->sampling = o->sampling;
  if (isnan (s->sampling) && s->periodic)
    s->sampling = spot < s->optics.semiangle / 8 ? spot * MAX (round (wanted / spot), 1) : spot / ceil (spot / wanted);
  else if (isnan (s->sampling))
    s->sampling = wanted;
  s->frame.rotation = isnan (o->rotation) ? 0 : remainder (o->rotation * G_PI / 180, 2 * G_PI);
  s->frame.transpose = g_strcmp0 (o->orientation, "transpose") == 0;
}

/* ---- grids ---- */

/* How far the probe reaches from its position: the steepest chi, and the spread through half the specimen. */
static double
probe_reach (const SbSimulation *s)
{
  enum { RAYS = 48, RADII = 8 };
  double most = 0, h = 1e-4 * s->k_max;
  for (int i = 0; i < RAYS; i++)
    for (int j = 1; j <= RADII; j++) {
      double r = s->k_max * j / RADII, phi = 2 * G_PI * i / RAYS;
      double row[2] = { r * cos (phi) + h, r * sin (phi) }, col[2] = { r * cos (phi), r * sin (phi) + h };
      double at[2] = { r * cos (phi), r * sin (phi) }, chi = simulation_chi (s, at);
      most = MAX (most, hypot (simulation_chi (s, row) - chi, simulation_chi (s, col) - chi) / h / (2 * G_PI));
    }
  return most + s->thickness / 2 * s->optics.semiangle * 1e-3;
}

static gboolean
init_periodic (SbSimulation *s, GError **error)
{
  double quarter = s->frame.rotation / (G_PI / 2), pixel = s->wavelength / (s->sampling * 1e-3);
  if (fabs (quarter - round (quarter)) > 1e-9)
    return sb_fail (error, SB_ERROR_ARGUMENT,
                    "A scan rotated by %g degrees cannot be periodic on the detector's axes; give a "
                    "multiple of 90, or periodic = false.",
                    s->frame.rotation * 180 / G_PI);
  gboolean swapped = fabs (remainder (quarter, 2)) > 0.5;
  for (int a = 0; a < 2; a++) {
    s->period[a] = s->extent[swapped ? 1 - a : a];
    s->cell[a] = s->period[a] * ceil (pixel / s->period[a] - 1e-6);
  }
  return TRUE;
}

/* The turned scan with a margin, a whole number of frequencies to a detector pixel. */
static void
init_open (SbSimulation *s)
{
  double pixel = s->wavelength / (s->sampling * 1e-3), margin = MAX (probe_reach (s), 0) + LEAST_MARGIN;
  double c = fabs (cos (s->frame.rotation)), n = fabs (sin (s->frame.rotation));
  double need[2] = { c * s->extent[0] + n * s->extent[1], n * s->extent[0] + c * s->extent[1] };
  for (int a = 0; a < 2; a++)
    s->period[a] = s->cell[a] = pixel * ceil ((need[a] + 2 * margin) / pixel - 1e-6);
}

/* The least even number of small prime factors. */
static gint64
good_size (double least)
{
  for (gint64 n = MAX (2 * (gint64)ceil (least / 2 - 1e-9), 8);; n += 2) {
    gint64 rest = n;
    static const int primes[] = { 2, 3, 5, 7 };
    for (guint i = 0; i < G_N_ELEMENTS (primes); i++)
      while (rest % primes[i] == 0)
        rest /= primes[i];
    if (rest == 1)
      return n;
  }
}

/* Two thirds of the grid's frequencies are used: enough for the detector, and for the probe scattered once.
 */
static gboolean
init_grid (SbSimulation *s, double pixel, GError **error)
{
  double reach = 0;
  for (int a = 0; a < 2; a++)
    reach = MAX (reach, MAX (s->centre[a], (double)s->detector[a] - 1 - s->centre[a]) + 1);
  reach = MAX (1.02 * reach * s->sampling * 1e-3 / s->wavelength, 2 * s->k_max);
  double size = isnan (pixel) ? 1 / (3 * reach) : pixel, coarsest = 0;
  for (int a = 0; a < 2; a++) {
    if (!(s->cell[a] / size <= LARGEST_GRID))
      return sb_fail (error, SB_ERROR_ARGUMENT,
                      "A grid of %g x %g Å in steps of %.3g Å is too large; give a smaller scan, less "
                      "defocus, or pixel.",
                      s->cell[0], s->cell[1], size);
    s->grid[a] = good_size (s->cell[a] / size);
    coarsest = MAX (coarsest, s->cell[a] / (double)s->grid[a]);
  }
  s->band_limit = 1 / (3 * coarsest);
  if (s->band_limit < s->k_max)
    return sb_fail (error, SB_ERROR_ARGUMENT, "pixel = %g Å is too coarse for this aperture; give less than %.3g Å.", pixel,
                    1 / (3 * s->k_max));
  if ((double)s->n_slices * (double)s->grid[0] * (double)s->grid[1] > LARGEST_SLICES)
    return sb_fail (error, SB_ERROR_ARGUMENT,
                    "%" G_GINT64_FORMAT " slices of %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT
                    " are too many; give thicker slices or a smaller scan.",
                    s->n_slices, s->grid[0], s->grid[1]);
  return TRUE;
}

static gboolean
init_slices (SbSimulation *s, const SbSimulationOptions *o, const SbSpecimen *atoms, GError **error)
{
  s->thickness = isnan (o->thickness) ? DEFAULT_THICKNESS : o->thickness * 10;
  if (isnan (o->thickness) && atoms != NULL) {
    double reach = 0;
    for (guint i = 0; i < atoms->atoms->len; i++)
      reach = MAX (reach, fabs (g_array_index (atoms->atoms, SbAtom, i).r[2]));
    s->thickness = atoms->cell[2] > 0 ? atoms->cell[2] : MAX (2 * reach, 1);
  }
  gboolean empty = g_strcmp0 (o->specimen, "empty") == 0;
  double n = ceil (s->thickness / (o->slice * 10) - 1e-9);
  if (!(n <= MOST_SLICES))
    return sb_fail (error, SB_ERROR_ARGUMENT, "%g slices are too many; give thickness and slice for up to %d.", n, MOST_SLICES);
  s->n_slices = empty ? 0 : (gint64)MAX (n, 1);
  return TRUE;
}

gboolean
simulation_init (SbSimulation *s, const SbSimulateOptions *options, const SbSpecimen *atoms, GError **error)
{
  const SbSimulationOptions *o = options->simulation;
  memset (s, 0, sizeof *s);
  s->soft = g_strcmp0 (o->aperture, "soft") == 0;
  s->periodic = o->periodic;
  s->dose = o->dose;
  s->seed = (guint64)o->random_seed;
  if (!refuse_others (options, error) || !init_scan (s, options, atoms, error) || !init_slices (s, o, atoms, error)
      || !init_probe (s, options, error))
    return FALSE;
  init_detector (s, options->calibration);
  if (s->periodic && !init_periodic (s, error))
    return FALSE;
  if (!s->periodic)
    init_open (s);
  return init_grid (s, o->pixel, error);
}
