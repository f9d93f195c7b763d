#include <math.h>

#include "core/error.h"
#include "core/fit/stages.h"

/* Model, Fit 1: the basin of S widens as the band shrinks, so the trials need only the coarse band; the best march out. */
#define COARSE 0.16
#define COARSE_FREQUENCIES 30
#define USUAL_RANGE 57.4 /* rad of C10 that the usual number of trials covers: 40 nm at 300 kV, 30 mrad */
#define APART 1.5        /* rad between different candidates */
#define PAIRS_ENOUGH 4e7 /* so many pairs give a Hessian to a per cent: with more, a thinner subset does */
enum { BATCH = 40, MARCH_STEPS = 5, LOW = 3, SEARCH_PIXELS = 400 };

static const double march[] = { 0.25, 0.4, 0.6, 0.9, 1.3 };

gint64
stages_stride (const SbSpectrum *spectrum, gint64 pixels, gint64 most)
{
  return CLAMP (spectrum->n_pixels / pixels, 1, most);
}

gint64
stages_most (const SbSpectrum *spectrum, gint64 usual)
{
  double pairs = (double)spectrum->n_band * (double)spectrum->n_pixels;
  return (gint64)CLAMP (pairs / PAIRS_ENOUGH, (double)usual, 64);
}

gint64
stages_joint_stride (const SbSpectrum *spectrum)
{
  return stages_stride (spectrum, 300, stages_most (spectrum, 16));
}

/* C10, C12a, C12b as far as they are free. */
static int
low_list (const SbStart *start, int chosen[LOW])
{
  int n = 0;
  for (int i = 0; i < LOW; i++)
    if (!start->locked[i])
      chosen[n++] = i;
  return n;
}

/* A point drawn from the limits: C10 between its own, C12 within the ellipse of its two. */
static void
draw (GRand *random, const SbStart *start, SbCoordinates *at)
{
  double u[LOW];
  u[0] = g_rand_double_range (random, -1, 1);
  do {
    u[1] = g_rand_double_range (random, -1, 1);
    u[2] = g_rand_double_range (random, -1, 1);
  } while (u[1] * u[1] + u[2] * u[2] > 1);
  *at = start->start;
  for (int i = 0; i < LOW; i++)
    if (!start->locked[i] && !start->given[i])
      at->x[i] = (start->low[i] + start->high[i]) / 2 + u[i] * (start->high[i] - start->low[i]) / 2;
}

static gint64
trial_count (const SbStages *stages)
{
  const SbStart *start = stages->start;
  gboolean search = FALSE;
  for (int i = 0; i < LOW; i++)
    search = search || (!start->locked[i] && !start->given[i]);
  double factor = fmax (1, (start->high[0] - start->low[0]) / 2 / USUAL_RANGE);
  return search ? 1 + (gint64)ceil ((double)stages->trials * fmin (factor, 50)) : 1;
}

static double
distance (const SbCoordinates *a, const SbCoordinates *b)
{
  double sum = 0;
  for (int i = 0; i < LOW; i++)
    sum += (a->x[i] - b->x[i]) * (a->x[i] - b->x[i]);
  return sqrt (sum);
}

/* Into the list of the best, best first, one of each place. */
static void
keep (SbCandidate *kept, int *n, int most, const SbCandidate *new)
{
  for (int i = 0; i < *n; i++)
    if (distance (&kept[i].at, &new->at) < APART) {
      if (kept[i].s >= new->s)
        return;
      for (int j = i; j < *n - 1; j++)
        kept[j] = kept[j + 1];
      --*n;
      break;
    }
  int at = *n;
  while (at > 0 && kept[at - 1].s < new->s)
    at--;
  if (at >= most)
    return;
  for (int j = MIN (*n, most - 1); j > at; j--)
    kept[j] = kept[j - 1];
  kept[at] = *new;
  *n = MIN (*n + 1, most);
}

static gboolean
try_all (const SbStages *stages, SbCandidate kept[SB_KEPT], int *n, GError **error)
{
  SbAgreement coarse;
  gint64 trials = trial_count (stages), stride = stages_stride (stages->spectrum, SEARCH_PIXELS, 31);
  gint64 q_count = spectrum_band_count (stages->spectrum, COARSE, COARSE_FREQUENCIES);
  if (!agreement_init (&coarse, stages->spectrum, q_count, stride, stages->passes, stages->progress, error))
    return FALSE;
  GRand *random = g_rand_new_with_seed ((guint32)stages->seed);
  gboolean ok = TRUE;
  *n = 0;
  for (gint64 done = 0; ok && done < trials; done += BATCH) {
    SbCoordinates at[BATCH];
    double s[BATCH];
    gsize count = (gsize)MIN (BATCH, trials - done);
    for (gsize i = 0; i < count; i++) {
      if (done + (gint64)i == 0)
        at[i] = stages->start->start;
      else
        draw (random, stages->start, &at[i]);
    }
    ok = agreement_value (&coarse, count, at, s, error);
    for (gsize i = 0; ok && i < count; i++) {
      history_add (stages->history, "trial", SB_CALL_VALUE, &coarse, &at[i], s[i]);
      keep (kept, n, SB_KEPT, &(SbCandidate){ at[i], s[i] });
    }
  }
  g_rand_free (random);
  return ok;
}

gboolean
search_low_order (const SbStages *stages, double limit, SbCandidate kept[SB_KEPT], int *n, GError **error)
{
  SbMaximise problem = { .low = stages->start->low,
                         .high = stages->start->high,
                         .max_steps = MARCH_STEPS,
                         .tolerance = 1e-4,
                         .history = stages->history,
                         .stage = "march" };
  problem.n = low_list (stages->start, problem.chosen);
  if (!try_all (stages, kept, n, error))
    return FALSE;
  if (problem.n == 0)
    return TRUE;
  gint64 before = 0, stride = stages_stride (stages->spectrum, SEARCH_PIXELS, 31);
  for (guint m = 0; m <= G_N_ELEMENTS (march) && before < stages->spectrum->n_band; m++) {
    double reach = m < G_N_ELEMENTS (march) ? fmin (march[m], limit) : limit;
    gint64 q_count = spectrum_band_count (stages->spectrum, reach, COARSE_FREQUENCIES);
    SbAgreement part;
    SbCandidate moved[SB_KEPT];
    int n_moved = 0;
    if (q_count == before)
      continue;
    before = q_count;
    if (!agreement_init (&part, stages->spectrum, q_count, stride, stages->passes, stages->progress, error))
      return FALSE;
    problem.agreement = &part;
    for (int i = 0; i < *n; i++) {
      SbMaximum maximum;
      if (!maximise (&problem, &kept[i].at, &maximum, error))
        return FALSE;
      keep (moved, &n_moved, SB_KEPT, &(SbCandidate){ maximum.at, maximum.s });
    }
    *n = n_moved;
    for (int i = 0; i < n_moved; i++)
      kept[i] = moved[i];
  }
  return TRUE;
}
