#include <math.h>

#include "core/fit/stages.h"

enum { STEPS = 40, TILTS = 9 };

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
problem_init (SbMaximise *problem, const SbStages *stages, const SbAgreement *agreement)
{
  *problem = (SbMaximise){ .agreement = agreement, .low = stages->start->low, .high = stages->start->high,
                           .max_steps = STEPS, .tolerance = 1e-10 };
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
  problem_init (&problem, stages, &agreement);
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

gboolean
joint_fit (const SbStages *stages, const SbCoordinates *thin, SbMaximum *maximum, GError **error)
{
  static const int joint[] = { 0, 1, 2, SB_TILT_ROW, SB_TILT_COL, SB_DEPTH };
  SbCoordinates at[G_N_ELEMENTS (depths) * TILTS];
  double s[G_N_ELEMENTS (depths) * TILTS];
  SbAgreement agreement;
  SbMaximise problem;
  gsize n = joint_starts (stages->start, thin, at);
  if (!agreement_init (&agreement, stages->spectrum, 0, stages_stride (stages->spectrum, 256, 16), stages->passes,
                       stages->progress, error)
      || !agreement_value (&agreement, n, at, s, error))
    return FALSE;
  gsize best = 0, second = n > 1 ? 1 : 0;
  for (gsize i = 1; i < n; i++)
    if (s[i] > s[best])
      best = i;
  for (gsize i = 0; i < n; i++)
    if (i != best && (second == best || s[i] > s[second]))
      second = i;
  if (!agreement_init (&agreement, stages->spectrum, 0, stages_stride (stages->spectrum, 512, 8), stages->passes,
                       stages->progress, error))
    return FALSE;
  problem_init (&problem, stages, &agreement);
  problem.n = list_free (stages->start, joint, G_N_ELEMENTS (joint), problem.chosen);
  if (!maximise (&problem, &at[best], maximum, error))
    return FALSE;
  SbMaximum other;
  if (second != best) {
    if (!maximise (&problem, &at[second], &other, error))
      return FALSE;
    if (other.s > maximum->s)
      *maximum = other;
  }
  return TRUE;
}
