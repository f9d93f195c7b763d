#include "core/alias.h"

#include <math.h>
#include <string.h>

#include "core/error.h"

#define SLAB_BYTES (256e6) /* sums held at once */
#ifndef CMPLX              /* glibc offers it to GCC alone; a sum with I would lose the sign of zeros and infinities */
#define CMPLX(re, im) __builtin_complex ((double)(re), (double)(im))
#endif

static const char what[] = "The aliases of the scan's frequencies";

void
alias_groups_free (SbAliasGroups *groups)
{
  if (groups == NULL)
    return;
  g_free (groups->start);
  g_free (groups->source);
  g_free (groups->vx);
  g_free (groups->vy);
  g_free (groups->fine);
  g_free (groups->ring_of);
  g_free (groups->conj);
  g_free (groups->slab_start);
  g_free (groups->slab_place);
  g_free (groups);
}

/* A scan frequency that is its own negative: G is real there, and it holds both of every pair. */
static gboolean
is_own_negative (const SbSpectrum *s, gint64 q)
{
  gint64 row = s->index[q] / s->scan_cols, col = s->index[q] % s->scan_cols;
  return 2 * row % s->scan_rows == 0 && 2 * col % s->scan_cols == 0;
}

static gboolean
view_holds (const SbkView *view, gint64 q)
{
  gint64 block = q / SBK_LANES - view->q_first / SBK_LANES - view->q_phase;
  return q >= view->q_first && q < view->q_first + view->q_count && block >= 0 && block % view->q_stride == 0;
}

/* Members of each stored frequency, 0 where it is not wanted. */
static void
count_members (const SbSpectrum *spectrum, const SbFineGrid *grid, const SbkView *view, gint64 *count)
{
  for (gint64 f = 0; f < grid->fine.n; f++) {
    gint64 q = grid->fine.source[f];
    if (view == NULL || view_holds (view, q))
      count[q] += is_own_negative (spectrum, q) ? 2 : 1;
  }
}

static gboolean
groups_alloc (SbAliasGroups *g, GError **error)
{
  gsize n = (gsize)g->n_groups + 1, members = (gsize)g->n_members;
  return (g->start = sb_alloc (n, sizeof (gint64), what, error)) != NULL
         && (g->source = sb_alloc (n, sizeof (gint64), what, error)) != NULL
         && (g->slab_start = sb_alloc (n, sizeof (gint64), what, error)) != NULL
         && (g->slab_place = sb_alloc (n, sizeof (gint64), what, error)) != NULL
         && (g->vx = sb_alloc (members, sizeof (double), what, error)) != NULL
         && (g->vy = sb_alloc (members, sizeof (double), what, error)) != NULL
         && (g->fine = sb_alloc (members, sizeof (gint64), what, error)) != NULL
         && (g->ring_of = sb_alloc (members, sizeof (gint64), what, error)) != NULL
         && (g->conj = sb_alloc (members, 1, what, error)) != NULL;
}

static void
put_member (SbAliasGroups *g, const SbFineGrid *grid, gint64 at, gint64 f, gboolean negative, gboolean wanted)
{
  g->vx[at] = negative ? -grid->fine.vx[f] : grid->fine.vx[f];
  g->vy[at] = negative ? -grid->fine.vy[f] : grid->fine.vy[f];
  g->fine[at] = wanted ? f : -1;
  g->ring_of[at] = f;
  g->conj[at] = negative ? 1 : 0;
}

SbAliasGroups *
alias_groups_new (const SbSpectrum *spectrum, const SbFineGrid *grid, const SbkView *view, GError **error)
{
  g_autoptr (SbAliasGroups) g = g_new0 (SbAliasGroups, 1);
  g_autofree gint64 *count = sb_alloc ((gsize)spectrum->n_q, sizeof (gint64), what, error);
  if (count == NULL)
    return NULL;
  memset (count, 0, (gsize)spectrum->n_q * sizeof (gint64));
  count_members (spectrum, grid, view, count);
  for (gint64 q = 0; q < spectrum->n_q; q++) {
    g->n_groups += count[q] > 0;
    g->n_members += count[q];
    g->most = MAX (g->most, count[q]);
  }
  if (!groups_alloc (g, error))
    return NULL;
  gint64 group = 0, at = 0;
  for (gint64 q = 0; q < spectrum->n_q; q++) { /* count becomes the next free place */
    if (count[q] == 0)
      continue;
    g->source[group] = q;
    g->start[group++] = at;
    at += count[q];
    count[q] = at - count[q];
  }
  g->start[group] = at;
  for (gint64 f = 0; f < grid->fine.n; f++) {
    gint64 q = grid->fine.source[f];
    gboolean negative = grid->fine.conj[f];
    if (view != NULL && !view_holds (view, q))
      continue;
    put_member (g, grid, count[q]++, f, negative, TRUE);
    if (is_own_negative (spectrum, q))
      put_member (g, grid, count[q]++, f, !negative, FALSE);
  }
  return g_steal_pointer (&g);
}

static gint64
slab_end (const SbAliasGroups *g, gint64 first, gint64 *numbers)
{
  gint64 end = first;
  *numbers = 0;
  while (end < g->n_groups) {
    gint64 width = sbk_alias_width (g->start[end + 1] - g->start[end]);
    if (end > first && (double)(*numbers + width) * sizeof (double) > SLAB_BYTES)
      break;
    *numbers += width;
    end++;
  }
  return end;
}

SbkAliases
alias_slab (SbAliasGroups *g, gint64 first)
{
  gint64 numbers, end = slab_end (g, first, &numbers);
  g->slab_place[0] = 0;
  for (gint64 i = first; i <= end; i++) {
    g->slab_start[i - first] = g->start[i] - g->start[first];
    if (i < end)
      g->slab_place[i - first + 1] = g->slab_place[i - first] + sbk_alias_width (g->start[i + 1] - g->start[i]);
  }
  return (SbkAliases){ .n_groups = end - first,
                       .most = g->most,
                       .start = g->slab_start,
                       .source = g->source + first,
                       .vx = g->vx + g->start[first],
                       .vy = g->vy + g->start[first],
                       .place = g->slab_place };
}

gsize
alias_slab_room (SbAliasGroups *g)
{
  gint64 most = 1, numbers;
  for (gint64 first = 0; first < g->n_groups;) {
    first = slab_end (g, first, &numbers);
    most = MAX (most, numbers);
  }
  return (gsize)most;
}

/* ---- solving ---- */

typedef struct {
  const SbkAliases *slab;
  const double *sums, *ridge;
  double eps;
  double complex *x;
  double *explained;
  double complex *scratch; /* [workers][most][most + 1] */
} SolveJob;

/* a b of plain complex numbers, without C's care for infinities. */
static inline double complex
times (double complex a, double complex b)
{
  return CMPLX (creal (a) * creal (b) - cimag (a) * cimag (b), creal (a) * cimag (b) + cimag (a) * creal (b));
}

/* The upper triangle u with u^H u = a, in place; FALSE where a is not positive. */
static gboolean
factor (int n, double complex *a, double least)
{
  for (int j = 0; j < n; j++) {
    double d = creal (a[j * n + j]);
    for (int k = 0; k < j; k++)
      d -= creal (times (conj (a[k * n + j]), a[k * n + j]));
    if (!(d > least))
      return FALSE;
    d = sqrt (d);
    a[j * n + j] = d;
    for (int l = j + 1; l < n; l++) {
      double complex sum = a[j * n + l];
      for (int k = 0; k < j; k++)
        sum -= times (conj (a[k * n + j]), a[k * n + l]);
      a[j * n + l] = CMPLX (creal (sum) / d, cimag (sum) / d);
    }
  }
  return TRUE;
}

static void
substitute (int n, const double complex *u, double complex *x)
{
  for (int j = 0; j < n; j++) {
    for (int k = 0; k < j; k++)
      x[j] -= times (conj (u[k * n + j]), x[k]);
    x[j] /= creal (u[j * n + j]);
  }
  for (int j = n - 1; j >= 0; j--) {
    for (int l = j + 1; l < n; l++)
      x[j] -= times (u[j * n + l], x[l]);
    x[j] /= creal (u[j * n + j]);
  }
}

/* Number of M_ml in a group's packed triangle. */
static inline gint64
packed (gint64 n, gint64 m, gint64 l)
{
  return 2 * (m * n - m * (m - 1) / 2 + l - m);
}

/* One group: those members that have power and are not held, with more added to the diagonal until it is positive. */
static void
solve_group (gint64 n, const double *sums, const double *ridge, double eps, double complex *x, double complex *a)
{
  double complex *h = a + n * n;
  double largest = 0;
  int count = 0;
  for (gint64 m = 0; m < n; m++) {
    double weight = sums[packed (n, m, m)], own = ridge != NULL ? ridge[m] : eps;
    gboolean free = weight > 0 && isfinite (own);
    x[m] = free ? 1 : 0;
    count += free;
    if (free)
      largest = fmax (largest, weight + own);
  }
  gboolean done = count == 0;
  for (double add = 0; !done && isfinite (add); add = fmax (10 * add, 1e-12 * largest)) {
    for (gint64 m = 0, i = 0; m < n; m++) {
      if (creal (x[m]) == 0)
        continue;
      for (gint64 l = m, j = i; l < n; l++) {
        if (creal (x[l]) == 0)
          continue;
        const double *p = sums + packed (n, m, l);
        double diagonal = m == l ? add + (ridge != NULL ? ridge[m] : eps) : 0;
        a[i * count + j++] = CMPLX (p[0] + diagonal, p[1]);
      }
      i++;
    }
    done = factor (count, a, 1e-14 * largest);
  }
  const double *g = sums + n * (n + 1);
  for (gint64 m = 0, i = 0; m < n; m++)
    if (creal (x[m]) != 0)
      h[i++] = CMPLX (g[2 * m], g[2 * m + 1]);
  if (count > 0 && done)
    substitute (count, a, h);
  for (gint64 m = 0, i = 0; m < n; m++)
    x[m] = creal (x[m]) != 0 && done ? h[i++] : 0;
}

static void
solve_task (gint64 i, guint worker, gpointer data)
{
  SolveJob *job = data;
  const SbkAliases *slab = job->slab;
  gint64 first = slab->start[i], n = slab->start[i + 1] - first;
  const double *sums = job->sums + slab->place[i], *g = sums + n * (n + 1);
  double complex *x = job->x + first;
  solve_group (n, sums, job->ridge != NULL ? job->ridge + first : NULL, job->eps, x,
               job->scratch + (gint64)worker * slab->most * (slab->most + 1));
  if (job->explained == NULL)
    return;
  job->explained[i] = 0;
  for (gint64 m = 0; m < n; m++)
    job->explained[i] += g[2 * m] * creal (x[m]) + g[2 * m + 1] * cimag (x[m]);
}

gboolean
alias_solve (SbEngine *engine, const SbkAliases *slab, const double *sums, const double *ridge, double eps, double complex *x,
             double *explained, GError **error)
{
  gsize room = (gsize)slab->most * (gsize)(slab->most + 1) * engine->threads;
  g_autofree double complex *scratch = sb_alloc (room, sizeof *scratch, what, error);
  if (scratch == NULL)
    return FALSE;
  SolveJob job = { slab, sums, ridge, eps, x, explained, scratch };
  engine_parallel (engine, slab->n_groups, solve_task, &job);
  return TRUE;
}
