/* Scans coarser than the band: a measured frequency holds several of the object's. They are solved for together, by least
 * squares over all bright-field pixels: x = (M + D)^-1 <gamma,G>, M the Gram matrix of their gamma.
 *
 * By default D is noise / P for each, P the object's power in its ring: the estimate of least error for a random object. P
 * follows from the measured sums alone: E |h_m|^2 - noise M_mm = sum_l |M_ml|^2 P_l, summed over the members of a ring, is a
 * symmetric system over the rings (complex.c does the same with two unknowns). */
#include <math.h>
#include <string.h>

#include "core/alias.h"
#include "core/error.h"
#include "core/passes.h"

static const char what[] = "The rings of the regularisation";

/* Which slab's sums are at hand. */
typedef struct Sums {
  SbSpectrum *spectrum;
  SbAliasGroups *groups;
  SbkModel model;
  double *values;
  gint64 first; /* first group; -1: none yet */
  SbkAliases slab;
} Sums;

static gboolean
sums_need (Sums *sums, gint64 first, SbProgress *progress, GError **error)
{
  SbkView view = { .q_stride = 1, .k_stride = 1 };
  if (sums->first == first)
    return TRUE;
  sums->slab = alias_slab (sums->groups, first);
  sums->first = first;
  return passes_aliases (sums->spectrum, &view, sums->spectrum->engine->precise, &sums->model, &sums->slab, sums->values,
                         progress, error);
}

/* ---- power of the object, ring by ring ---- */

typedef struct Rings {
  gint64 n;
  gint64 *ring;   /* [fine.n] */
  double *matrix; /* [n * n] sum |M_ml|^2 */
  double *excess; /* [n] sum |h_m|^2 - noise M_mm */
  double *power;  /* [n] */
} Rings;

static void
rings_free (Rings *rings)
{
  g_free (rings->ring);
  g_free (rings->matrix);
  g_free (rings->excess);
  g_free (rings->power);
}

static gboolean
rings_init (Rings *rings, const SbFineGrid *grid, GError **error)
{
  gsize n = (gsize)grid->fine.n;
  memset (rings, 0, sizeof *rings);
  g_autofree gint64 *order = sb_alloc (n, sizeof (gint64), what, error);
  g_autofree gint64 *start = order != NULL ? sb_alloc (n + 1, sizeof (gint64), what, error) : NULL;
  if (start == NULL || (rings->ring = sb_alloc (n, sizeof (gint64), what, error)) == NULL)
    return FALSE;
  if ((rings->n = fine_grid_rings (grid, order, start, error)) < 0)
    return FALSE;
  for (gint64 r = 0; r < rings->n; r++)
    for (gint64 i = start[r]; i < start[r + 1]; i++)
      rings->ring[order[i]] = r;
  gsize count = (gsize)rings->n;
  if ((rings->matrix = sb_alloc (count * count, sizeof (double), what, error)) == NULL
      || (rings->excess = sb_alloc (count, sizeof (double), what, error)) == NULL
      || (rings->power = sb_alloc (count, sizeof (double), what, error)) == NULL)
    return FALSE;
  memset (rings->matrix, 0, count * count * sizeof (double));
  memset (rings->excess, 0, count * sizeof (double));
  memset (rings->power, 0, count * sizeof (double));
  return TRUE;
}

static void
rings_add (Rings *rings, const Sums *sums, double noise)
{
  const SbkAliases *slab = &sums->slab;
  for (gint64 g = 0; g < slab->n_groups; g++) {
    const double *p = sums->values + slab->place[g];
    const gint64 *fine = sums->groups->ring_of + sums->groups->start[sums->first + g];
    gint64 n = slab->start[g + 1] - slab->start[g];
    const double *h = p + n * (n + 1);
    for (gint64 m = 0; m < n; m++) {
      gint64 own = rings->ring[fine[m]];
      rings->excess[own] += h[2 * m] * h[2 * m] + h[2 * m + 1] * h[2 * m + 1] - noise * p[0];
      for (gint64 l = m; l < n; l++, p += 2) {
        double square = p[0] * p[0] + p[1] * p[1];
        gint64 other = rings->ring[fine[l]];
        rings->matrix[own * rings->n + other] += square;
        if (l > m)
          rings->matrix[other * rings->n + own] += square;
      }
    }
  }
}

/* Rings that fold onto each other share an excess, and the solution may give one of them nothing. Taken at its word that
 * would leave its frequencies out of the image; a thousandth of the strongest ring's power keeps them, well damped. */
#define LEAST_POWER 1e-3

/* matrix power = excess with no power below zero: sweeps over the rings until nothing moves. */
static void
rings_solve (Rings *rings)
{
  enum { SWEEPS = 500 };
  gint64 n = rings->n;
  for (int sweep = 0; sweep < SWEEPS; sweep++) {
    double moved = 0, largest = 0;
    for (gint64 r = 0; r < n; r++) {
      const double *row = rings->matrix + r * n;
      double left = rings->excess[r], was = rings->power[r];
      for (gint64 o = 0; o < n; o++)
        left -= o == r ? 0 : row[o] * rings->power[o];
      rings->power[r] = row[r] > 0 ? fmax (left / row[r], 0) : 0;
      moved = fmax (moved, fabs (rings->power[r] - was) * row[r]);
      largest = fmax (largest, rings->power[r] * row[r]);
    }
    if (moved <= 1e-6 * largest)
      break;
  }
}

static double
rings_largest (const Rings *rings)
{
  double largest = 0;
  for (gint64 r = 0; r < rings->n; r++)
    largest = fmax (largest, rings->power[r]);
  return largest;
}

static double *
ridge_from_noise (Sums *sums, const SbFineGrid *grid, double noise, SbProgress *progress, GError **error)
{
  const SbAliasGroups *groups = sums->groups;
  Rings rings;
  double *ridge = NULL;
  gboolean ok = rings_init (&rings, grid, error);
  for (gint64 first = 0; ok && first < groups->n_groups; first += sums->slab.n_groups) {
    ok = sums_need (sums, first, progress, error)
         && progress_step (progress, 0.5 * (double)first / (double)groups->n_groups, error);
    if (ok)
      rings_add (&rings, sums, noise);
  }
  if (ok && (ridge = sb_alloc ((gsize)groups->n_members, sizeof *ridge, what, error)) != NULL) {
    rings_solve (&rings);
    double floor = LEAST_POWER * rings_largest (&rings);
    for (gint64 m = 0; m < groups->n_members; m++) {
      double power = fmax (rings.power[rings.ring[groups->ring_of[m]]], floor);
      ridge[m] = power > 0 ? noise / power : INFINITY;
    }
  }
  rings_free (&rings);
  return ridge;
}

/* ---- */

static gboolean
solve_slab (const Sums *sums, const double *ridge, double eps, double complex *x, double complex *phi, GError **error)
{
  const SbAliasGroups *groups = sums->groups;
  gint64 from = groups->start[sums->first], to = groups->start[sums->first + sums->slab.n_groups];
  if (!alias_solve (sums->spectrum->engine, &sums->slab, sums->values, ridge != NULL ? ridge + from : NULL, eps, x, NULL,
                    error))
    return FALSE;
  for (gint64 m = from; m < to; m++)
    if (groups->fine[m] >= 0)
      phi[groups->fine[m]] = -I * x[m - from];
  for (gint64 m = from; m < to; m++) /* Phi (-q) = conj Phi (q) */
    if (groups->fine[m] >= 0 && groups->conj[m])
      phi[groups->fine[m]] = conj (phi[groups->fine[m]]);
  return TRUE;
}

static gboolean
dealiased_solve (SbSpectrum *spectrum, const SbFineGrid *grid, const SbCoordinates *at, double eps, SbProgress *progress,
                 double complex *phi, double complex *absorption, GError **error)
{
  g_autoptr (SbAliasGroups) groups = alias_groups_new (spectrum, grid, NULL, error);
  if (groups == NULL)
    return FALSE;
  Sums sums = { .spectrum = spectrum, .groups = groups, .first = -1 };
  optics_model (&spectrum->optics, &spectrum->frame, at, &sums.model);
  g_autofree double *values = sb_alloc (alias_slab_room (groups), sizeof (double), "The sums of the reconstruction", error);
  g_autofree double complex *x = values != NULL ? sb_alloc ((gsize)groups->n_members, sizeof *x, what, error) : NULL;
  g_autofree double *ridge = NULL;
  sums.values = values;
  if (x == NULL
      || (isnan (eps) && (ridge = ridge_from_noise (&sums, grid, spectrum_noise (spectrum), progress, error)) == NULL))
    return FALSE;
  for (gint64 first = 0; first < groups->n_groups; first += sums.slab.n_groups)
    if (!sums_need (&sums, first, progress, error) || !solve_slab (&sums, ridge, eps, x, phi, error)
        || !progress_step (progress, 0.5 + 0.5 * (double)first / (double)groups->n_groups, error))
      return FALSE;
  return TRUE;
}

const SbMethod method_dealiased = {
  .name = "dealiased",
  .title = "Phase, dealiased",
  .help = "Least squares over all frequencies that a coarse scan folds onto one; the phase image of a sparse scan.",
  .sums = SBK_SUM_MATCHED,
  .solve_grid = dealiased_solve,
};
