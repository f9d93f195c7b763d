/* Phase by least squares over all bright-field pixels: Phi = -i <gamma,G> / (<gamma,gamma> + eps). */
#include "core/reconstruct.h"

#include <math.h>

#include "core/error.h"

static double complex
phase_value (const double *s, double eps)
{
  double weight = s[2] + eps;
  return weight > 0 ? -I * (s[0] + I * s[1]) / weight : 0;
}

/* The weight of the noise against the object's power P in a ring: E |h|^2 = P n^2 + noise n. */
static void
solve_ring (const double *sums, const gint64 *order, gint64 n, double noise, double complex *phi)
{
  double excess = 0, weight = 0;
  for (gint64 i = 0; i < n; i++) {
    const double *s = sums + 3 * order[i];
    excess += s[0] * s[0] + s[1] * s[1] - noise * s[2];
    weight += s[2] * s[2];
  }
  for (gint64 i = 0; i < n; i++)
    phi[order[i]] = excess > 0 ? phase_value (sums + 3 * order[i], noise * weight / excess) : 0;
}

typedef struct {
  const double *sums;
  const gint64 *order, *start;
  double noise;
  double complex *phi;
} RingJob;

static void
ring_task (gint64 r, guint worker, gpointer data)
{
  RingJob *job = data;
  (void)worker;
  solve_ring (job->sums, job->order + job->start[r], job->start[r + 1] - job->start[r], job->noise, job->phi);
}

static gboolean
phase_solve (const SbFineGrid *grid, const double *sums, double noise, double eps, double complex *phi,
             double complex *absorption, GError **error)
{
  gsize n = (gsize)grid->fine.n;
  if (!isnan (eps)) {
    for (gsize f = 0; f < n; f++)
      phi[f] = phase_value (sums + 3 * f, eps);
    return TRUE;
  }
  g_autofree gint64 *order = sb_alloc (n, sizeof (gint64), "The rings of the regularisation", error);
  g_autofree gint64 *start = order != NULL ? sb_alloc (n + 1, sizeof (gint64), "The rings of the regularisation", error) : NULL;
  if (start == NULL)
    return FALSE;
  gint64 rings = fine_grid_rings (grid, order, start, error);
  RingJob job = { sums, order, start, noise, phi };
  for (gint64 r = 0; grid->engine == NULL && r < rings; r++)
    ring_task (r, 0, &job);
  if (grid->engine != NULL && rings > 0)
    engine_parallel (grid->engine, rings, ring_task, &job);
  return rings >= 0;
}

const SbMethod method_phase = {
  .name = "phase",
  .title = "Phase (least squares)",
  .help = "All of the bright field, weighted by what each pixel transfers; the phase image of a weak object.",
  .sums = SBK_SUM_MATCHED,
  .solve = phase_solve,
};
