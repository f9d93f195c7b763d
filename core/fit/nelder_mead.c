#include "core/fit/nelder_mead.h"

#include <math.h>
#include <string.h>

enum { N = SB_SIMPLEX };

typedef enum { FIRST, REFLECT, EXPAND, OUTSIDE, INSIDE, SHRINK, DONE } Phase;

/* One simplex, corners best first; it waits for S at `wanted`. */
typedef struct {
  const SbSimplexProblem *problem;
  Phase phase;
  int at, iterations; /* corner of FIRST and SHRINK */
  SbCoordinates base; /* what is not moved */
  double x[N + 1][N], s[N + 1];
  double wanted[N], reflected[N], s_reflected;
} Simplex;

/* First sizes: rad, mrad, nm. */
static double
first_step (int coordinate)
{
  return coordinate < SB_N_CHI ? 1 : coordinate == SB_DEPTH ? 1 : 2;
}

static void
within (const SbSimplexProblem *p, double *x)
{
  for (int i = 0; i < p->n; i++)
    x[i] = CLAMP (x[i], p->low[p->chosen[i]], p->high[p->chosen[i]]);
}

static void
simplex_start (Simplex *simplex, const SbSimplexProblem *p, const SbCoordinates *start)
{
  memset (simplex, 0, sizeof *simplex);
  simplex->problem = p;
  simplex->base = *start;
  for (int c = 0; c <= p->n; c++) {
    for (int i = 0; i < p->n; i++)
      simplex->x[c][i] = start->x[p->chosen[i]];
    if (c > 0) {
      double *x = &simplex->x[c][c - 1], step = first_step (p->chosen[c - 1]);
      *x += *x + step > p->high[p->chosen[c - 1]] ? -step : step;
    }
    within (p, simplex->x[c]);
  }
  memcpy (simplex->wanted, simplex->x[0], sizeof simplex->wanted);
}

static void
sort_corners (Simplex *m)
{
  for (int i = 1; i <= m->problem->n; i++)
    for (int j = i; j > 0 && m->s[j] > m->s[j - 1]; j--) {
      double x[N], s = m->s[j];
      memcpy (x, m->x[j], sizeof x);
      memcpy (m->x[j], m->x[j - 1], sizeof x);
      memcpy (m->x[j - 1], x, sizeof x);
      m->s[j] = m->s[j - 1];
      m->s[j - 1] = s;
    }
}

static gboolean
settled (const Simplex *m)
{
  const SbSimplexProblem *p = m->problem;
  for (int c = 1; c <= p->n; c++) {
    if (m->s[0] - m->s[c] > p->s_tolerance * m->s[0])
      return FALSE;
    for (int i = 0; i < p->n; i++)
      if (fabs (m->x[c][i] - m->x[0][i]) > p->x_tolerance)
        return FALSE;
  }
  return TRUE;
}

/* The point at `factor` of the way from the worst corner through the middle of the others (1: the middle, 2: reflected). */
static void
want_through (Simplex *m, double factor)
{
  int n = m->problem->n;
  for (int i = 0; i < n; i++) {
    double middle = 0;
    for (int c = 0; c < n; c++)
      middle += m->x[c][i] / n;
    m->wanted[i] = m->x[n][i] + factor * (middle - m->x[n][i]);
  }
  within (m->problem, m->wanted);
}

static void
next_iteration (Simplex *m)
{
  sort_corners (m);
  m->phase = m->iterations++ >= m->problem->max_iterations || settled (m) ? DONE : REFLECT;
  if (m->phase == REFLECT)
    want_through (m, 2);
}

static void
replace_worst (Simplex *m, const double *x, double s)
{
  int n = m->problem->n;
  memcpy (m->x[n], x, sizeof m->x[n]);
  m->s[n] = s;
  next_iteration (m);
}

static void
want_corner (Simplex *m)
{
  if (m->phase == SHRINK)
    for (int i = 0; i < m->problem->n; i++)
      m->x[m->at][i] = m->x[0][i] + 0.5 * (m->x[m->at][i] - m->x[0][i]);
  memcpy (m->wanted, m->x[m->at], sizeof m->wanted);
}

static void
take_corner (Simplex *m, double s)
{
  m->s[m->at++] = s;
  if (m->at <= m->problem->n)
    want_corner (m);
  else
    next_iteration (m);
}

static void
take_reflected (Simplex *m, double s)
{
  int n = m->problem->n;
  memcpy (m->reflected, m->wanted, sizeof m->reflected);
  m->s_reflected = s;
  if (s > m->s[0]) {
    m->phase = EXPAND;
    want_through (m, 3);
  } else if (s > m->s[n - 1])
    replace_worst (m, m->reflected, s);
  else {
    m->phase = s > m->s[n] ? OUTSIDE : INSIDE;
    want_through (m, m->phase == OUTSIDE ? 1.5 : 0.5);
  }
}

/* S at what was wanted comes in; the next is wanted. */
static void
simplex_take (Simplex *m, double s)
{
  switch (m->phase) {
  case FIRST:
  case SHRINK: take_corner (m, s); break;
  case REFLECT: take_reflected (m, s); break;
  case EXPAND:
    if (s > m->s_reflected)
      replace_worst (m, m->wanted, s);
    else
      replace_worst (m, m->reflected, m->s_reflected);
    break;
  case OUTSIDE:
  case INSIDE:
    if (s > (m->phase == OUTSIDE ? m->s_reflected : m->s[m->problem->n])) {
      replace_worst (m, m->wanted, s);
      break;
    }
    m->phase = SHRINK;
    m->at = 1;
    want_corner (m);
    break;
  case DONE: break;
  }
}

static SbCoordinates
coordinates_of (const Simplex *m, const double *x)
{
  SbCoordinates at = m->base;
  for (int i = 0; i < m->problem->n; i++)
    at.x[m->problem->chosen[i]] = x[i];
  return at;
}

gboolean
nelder_mead (const SbSimplexProblem *problem, int count, const SbCoordinates *starts, SbMaximum *maxima, gint64 *launches,
             GError **error)
{
  g_autofree Simplex *simplex = g_new (Simplex, count);
  g_autofree SbCoordinates *at = g_new (SbCoordinates, count);
  g_autofree double *s = g_new (double, count);
  g_autofree int *who = g_new (int, count);
  for (int i = 0; i < count; i++)
    simplex_start (&simplex[i], problem, &starts[i]);
  for (;;) {
    int n = 0;
    for (int i = 0; i < count; i++)
      if (simplex[i].phase != DONE) {
        at[n] = coordinates_of (&simplex[i], simplex[i].wanted);
        who[n++] = i;
      }
    if (n == 0)
      break;
    if (!agreement_value (problem->agreement, (gsize)n, at, s, error))
      return FALSE;
    *launches += 1;
    for (int i = 0; i < n; i++) {
      history_add (problem->history, "simplex", SB_CALL_VALUE, problem->agreement, &at[i], s[i]);
      simplex_take (&simplex[who[i]], s[i]);
    }
  }
  for (int i = 0; i < count; i++) {
    memset (&maxima[i], 0, sizeof maxima[i]);
    maxima[i].at = coordinates_of (&simplex[i], simplex[i].x[0]);
    maxima[i].s = simplex[i].s[0];
    maxima[i].steps = simplex[i].iterations;
    maxima[i].converged = settled (&simplex[i]);
  }
  return TRUE;
}
