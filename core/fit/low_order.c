#include <math.h>

#include "core/fit/nelder_mead.h"
#include "core/fit/stages.h"

#define SHALLOW 0.3     /* nm: as good as no depth */
#define SMALL_DEPTH 1.0 /* nm: where tilt is looked for then */
#define DEEPEST 25.0    /* nm: of the joint trials */
#define TOLERANCE 1e-8
enum { STEPS = 40, TILTS = 9, START_PIXELS = 200, BATCH = 50 };

static const int joint[] = { 0, 1, 2, SB_TILT_ROW, SB_TILT_COL, SB_DEPTH };

/* Starts of the joint fit round the thin one; between them tilt and depth pull the Newton steps in. */
static const double depths[] = { 1.5, 4, 9 }; /* nm */
static const double tilt = 8;                 /* mrad */

/* The chosen among these coordinates that are free. */
static int
list_free (const SbStart *start, const int *from, int n, int chosen[SB_N_COORDINATES])
{
  int count = 0;
  for (int i = 0; i < n; i++)
    if (!start->locked[from[i]])
      chosen[count++] = from[i];
  return count;
}

static void
problem_init (SbMaximise *problem, const SbStages *stages, const SbAgreement *agreement, const char *stage)
{
  *problem = (SbMaximise){ .agreement = agreement,
                           .low = stages->start->low,
                           .high = stages->start->high,
                           .max_steps = STEPS,
                           .tolerance = TOLERANCE,
                           .history = stages->history,
                           .stage = stage };
}

gboolean
thin_fit (const SbStages *stages, const SbCandidate *from, gint64 k_stride, SbMaximum *maximum, GError **error)
{
  static const int thin[] = { 0, 1, 2 };
  SbAgreement agreement;
  SbMaximise problem;
  SbCoordinates start = from->at;
  if (!stages->start->given[SB_DEPTH] && !stages->start->locked[SB_DEPTH])
    start.x[SB_TILT_ROW] = start.x[SB_TILT_COL] = start.x[SB_DEPTH] = 0;
  if (!agreement_init (&agreement, stages->spectrum, 0, k_stride, stages->passes, stages->progress, error))
    return FALSE;
  problem_init (&problem, stages, &agreement, "thin");
  problem.n = list_free (stages->start, thin, G_N_ELEMENTS (thin), problem.chosen);
  return maximise (&problem, &start, maximum, error);
}

/* Tilt and depth where the user did not say. */
static gsize
joint_starts (const SbStart *start, const SbCoordinates *thin, SbCoordinates *at)
{
  gsize n = 0;
  gboolean move_depth = !start->given[SB_DEPTH] && !start->locked[SB_DEPTH];
  for (guint d = 0; d < (move_depth ? G_N_ELEMENTS (depths) : 1); d++)
    for (int t = 0; t < TILTS; t++) {
      double angle = (t - 1) * G_PI / 4, size = t == 0 ? 0 : tilt;
      double move[2] = { size * cos (angle), size * sin (angle) };
      SbCoordinates *a = &at[n];
      gboolean differs = t == 0;
      *a = *thin;
      for (int i = 0; i < 2; i++) {
        int c = SB_TILT_ROW + i;
        if (start->given[c] || start->locked[c])
          continue;
        a->x[c] = CLAMP (move[i], start->low[c], start->high[c]);
        differs = TRUE;
      }
      if (move_depth)
        a->x[SB_DEPTH] = CLAMP (depths[d], start->low[SB_DEPTH], start->high[SB_DEPTH]);
      n += differs;
    }
  return n;
}

/* Differences that count as another place. */
static gboolean
apart (const SbCoordinates *a, const SbCoordinates *b)
{
  static const double size[] = { 1, 1, 1, 4, 4, 2 }; /* rad, mrad, nm */
  for (guint i = 0; i < G_N_ELEMENTS (joint); i++)
    if (fabs (a->x[joint[i]] - b->x[joint[i]]) > size[i])
      return TRUE;
  return FALSE;
}

/* Into the best, best first, one of each place. */
static void
keep (SbCandidate *best, int *n, const SbCandidate *here)
{
  int at = *n, near = -1;
  for (int i = 0; i < *n && near < 0; i++)
    if (!apart (&best[i].at, &here->at))
      near = i;
  if (near >= 0 && best[near].s >= here->s)
    return;
  if (near < 0 && *n < SB_KEPT)
    near = (*n)++;
  at = near >= 0 ? near : SB_KEPT - 1;
  if (near < 0 && best[at].s >= here->s)
    return;
  for (; at > 0 && best[at - 1].s < here->s; at--)
    best[at] = best[at - 1];
  best[at] = *here;
}

/* One of the joint trials: C10 and C12 round the thin fit (every second one far from it), any tilt, any depth. */
static void
draw (GRand *random, const SbStart *start, const SbCoordinates *thin, gboolean far, SbCoordinates *at)
{
  double deepest = fmin (start->high[SB_DEPTH], DEEPEST), u[6];
  for (int i = 0; i < 6; i++)
    u[i] = g_rand_double_range (random, -1, 1);
  *at = *thin;
  for (int i = 0; i < 6; i++) {
    int c = joint[i];
    double middle = (start->low[c] + start->high[c]) / 2, half = (start->high[c] - start->low[c]) / 2;
    if (start->locked[c] || start->given[c])
      continue;
    if (c < SB_N_CHI)
      at->x[c] += (far ? 6 : 2) * u[i];
    else if (c == SB_DEPTH)
      at->x[c] = start->low[c] + (deepest - start->low[c]) * (u[i] + 1) * (u[i] + 1) / 4;
    else
      at->x[c] = middle + half * u[i];
    at->x[c] = CLAMP (at->x[c], start->low[c], start->high[c]);
  }
}

/* The best of the starts (and of the joint trials where they are asked for). */
static gboolean
joint_try (const SbStages *stages, const SbCoordinates *thin, SbCandidate best[SB_KEPT], int *n_best, GError **error)
{
  SbCoordinates at[BATCH];
  double s[BATCH];
  SbAgreement agreement;
  gsize n = joint_starts (stages->start, thin, at);
  gint64 stride = stages_stride (stages->spectrum, START_PIXELS, stages_most (stages->spectrum, 31)),
         left = stages->joint_trials ? stages->trials : 0;
  g_autoptr (GRand) random = g_rand_new_with_seed ((guint32)stages->seed);
  *n_best = 0;
  if (!agreement_init (&agreement, stages->spectrum, 0, stride, stages->passes, stages->progress, error))
    return FALSE;
  for (const char *stage = "start";; stage = "joint trial") {
    if (!agreement_value (&agreement, n, at, s, error))
      return FALSE;
    for (gsize i = 0; i < n; i++) {
      history_add (stages->history, stage, SB_CALL_VALUE, &agreement, &at[i], s[i]);
      keep (best, n_best, &(SbCandidate){ at[i], s[i] });
    }
    if (left == 0)
      return TRUE;
    for (n = 0; n < BATCH && left > 0; left--)
      draw (random, stages->start, thin, left % 2 == 1, &at[n++]);
  }
}

/* At depth zero nothing pulls at tilt or depth any more, and a tilt that ran to its limit got there on a specimen as thin as
 * that: both are left by way of the best tilt at a small depth. */
gboolean
joint_stuck (const SbStart *start, const SbCoordinates *at)
{
  gboolean limit = at->x[SB_DEPTH] < SHALLOW;
  if (start->given[SB_DEPTH] || start->locked[SB_DEPTH] || start->high[SB_DEPTH] <= SMALL_DEPTH)
    return FALSE;
  for (int c = SB_TILT_ROW; c <= SB_TILT_COL; c++)
    limit = limit || (!start->locked[c] && (at->x[c] <= start->low[c] || at->x[c] >= start->high[c]));
  return limit;
}

gboolean
joint_revive (const SbStages *stages, const SbCoordinates *at, SbMaximum *maximum, GError **error)
{
  static const int tilts[] = { SB_TILT_ROW, SB_TILT_COL };
  const SbStart *start = stages->start;
  SbAgreement agreement;
  SbMaximise problem;
  SbCoordinates from = *at;
  from.x[SB_DEPTH] = CLAMP (SMALL_DEPTH, start->low[SB_DEPTH], start->high[SB_DEPTH]);
  for (int c = SB_TILT_ROW; c <= SB_TILT_COL; c++)
    if (!start->locked[c] && !start->given[c])
      from.x[c] = CLAMP (0, start->low[c], start->high[c]);
  if (!agreement_init (&agreement, stages->spectrum, 0, stages_joint_stride (stages->spectrum), stages->passes,
                       stages->progress, error))
    return FALSE;
  problem_init (&problem, stages, &agreement, "joint");
  problem.n = list_free (start, tilts, G_N_ELEMENTS (tilts), problem.chosen);
  if (problem.n > 0 && !maximise (&problem, &from, maximum, error))
    return FALSE;
  if (problem.n > 0)
    from = maximum->at;
  problem.n = list_free (start, joint, G_N_ELEMENTS (joint), problem.chosen);
  return maximise (&problem, &from, maximum, error);
}

gboolean
joint_fit (const SbStages *stages, const SbCoordinates *thin, SbMaximum *maximum, GError **error)
{
  SbAgreement agreement;
  SbMaximise problem;
  SbMaximum other;
  SbCandidate best[SB_KEPT];
  int n;
  if (!joint_try (stages, thin, best, &n, error)
      || !agreement_init (&agreement, stages->spectrum, 0, stages_joint_stride (stages->spectrum), stages->passes,
                          stages->progress, error))
    return FALSE;
  problem_init (&problem, stages, &agreement, "joint");
  problem.n = list_free (stages->start, joint, G_N_ELEMENTS (joint), problem.chosen);
  maximum->s = -1;
  for (int i = 0; i < (stages->joint_trials ? n : MIN (n, 2)); i++) {
    if (!maximise (&problem, &best[i].at, &other, error))
      return FALSE;
    if (other.s > maximum->s)
      *maximum = other;
  }
  if (!joint_stuck (stages->start, &maximum->at))
    return TRUE;
  if (!joint_revive (stages, &maximum->at, &other, error))
    return FALSE;
  if (other.s > maximum->s)
    *maximum = other;
  return TRUE;
}

/* Simplexes from several places; the best of where they come to. */
static gboolean
simplex_best (const SbStages *stages, const SbAgreement *agreement, const int *from, int n_from, const SbCandidate *starts,
              int count, SbMaximum *best, GError **error)
{
  SbSimplexProblem problem = { .agreement = agreement,
                               .low = stages->start->low,
                               .high = stages->start->high,
                               .max_iterations = 200,
                               .x_tolerance = 0.05,
                               .s_tolerance = 1e-6,
                               .history = stages->history };
  SbCoordinates at[SB_KEPT];
  SbMaximum maxima[SB_KEPT];
  gint64 launches = 0;
  for (int i = 0; i < count; i++)
    at[i] = starts[i].at;
  for (int i = 0; i < n_from; i++)
    if (!stages->start->locked[from[i]])
      problem.chosen[problem.n++] = from[i];
  if (!nelder_mead (&problem, count, at, maxima, &launches, error))
    return FALSE;
  *best = maxima[0];
  for (int i = 1; i < count; i++)
    if (maxima[i].s > best->s)
      *best = maxima[i];
  return TRUE;
}

gboolean
simplex_fit (const SbStages *stages, const SbCandidate *kept, int n, SbMaximum *thin, SbMaximum *maximum, GError **error)
{
  SbAgreement agreement;
  SbCandidate flat[SB_KEPT], best[SB_KEPT];
  int n_best;
  for (int i = 0; i < n; i++) {
    flat[i] = kept[i];
    if (!stages->start->given[SB_DEPTH] && !stages->start->locked[SB_DEPTH])
      flat[i].at.x[SB_TILT_ROW] = flat[i].at.x[SB_TILT_COL] = flat[i].at.x[SB_DEPTH] = 0;
  }
  return agreement_init (&agreement, stages->spectrum, 0, stages_joint_stride (stages->spectrum), stages->passes,
                         stages->progress, error)
         && simplex_best (stages, &agreement, joint, 3, flat, n, thin, error)
         && joint_try (stages, &thin->at, best, &n_best, error)
         && simplex_best (stages, &agreement, joint, 6, best, n_best, maximum, error);
}
