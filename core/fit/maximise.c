#include "core/fit/maximise.h"

#include <math.h>
#include <string.h>

#include "core/fit/eigen.h"

#define FLAT 1e-7 /* scaled curvature below which float32 leaves only noise */
enum { N = SB_N_COORDINATES, RENEW = 12 /* quasi-Newton steps after which the Hessian is made anew */ };

/* One point: S, its gradient and Hessian over the chosen coordinates. */
typedef struct {
  SbCoordinates at;
  double s, gradient[N], hessian[N * N];
} Point;

static gboolean
is_newton (const SbMaximise *p)
{
  return p->hessian == NULL && p->curvature == NULL;
}

static gboolean
evaluate (const SbMaximise *p, Point *point, GError **error)
{
  double all[N];
  if (is_newton (p)) {
    if (!agreement_hessian (p->agreement, &point->at, p->n, p->chosen, &point->s, point->gradient, point->hessian, error))
      return FALSE;
    history_add (p->history, p->stage, SB_CALL_HESSIAN, p->agreement, &point->at, point->s);
    return TRUE;
  }
  if (!agreement_gradient (p->agreement, &point->at, &point->s, all, error))
    return FALSE;
  for (int i = 0; i < p->n; i++)
    point->gradient[i] = all[p->chosen[i]];
  history_add (p->history, p->stage, SB_CALL_GRADIENT, p->agreement, &point->at, point->s);
  return TRUE;
}

/* The Hessian that quasi-Newton starts from. */
static gboolean
curve (const SbMaximise *p, Point *point, gboolean again, GError **error)
{
  double s, gradient[N];
  if (p->hessian != NULL && !again) {
    memcpy (point->hessian, p->hessian, (gsize)p->n * (gsize)p->n * sizeof (double));
    return TRUE;
  }
  if (p->curvature == NULL)
    return TRUE;
  return agreement_hessian (p->curvature, &point->at, p->n, p->chosen, &s, gradient, point->hessian, error);
}

/* Coordinates at a limit whose gradient points outward stay there. */
static int
free_coordinates (const SbMaximise *p, const Point *point, int free[N])
{
  int count = 0;
  for (int i = 0; i < p->n; i++) {
    double x = point->at.x[p->chosen[i]];
    gboolean low = x <= p->low[p->chosen[i]] && point->gradient[i] <= 0;
    gboolean high = x >= p->high[p->chosen[i]] && point->gradient[i] >= 0;
    if (!low && !high)
      free[count++] = i;
  }
  return count;
}

/* Smallest curvature that counts, per S: the first steps reach about 2 rad, 3 nm of depth, 6 mrad of tilt at most, however
 * little the data say there. */
static double
least_curvature (int coordinate)
{
  return coordinate < SB_N_CHI ? 0.25 : coordinate == SB_DEPTH ? 0.1 : 0.03;
}

/* The model -S over the free coordinates, scaled by its diagonal and diagonalised. */
typedef struct {
  int n, free[N];
  double scale[N], values[N], vectors[N * N], gradient[N]; /* gradient in the eigenbasis */
} Model;

static void
model_make (const SbMaximise *p, const Point *point, Model *m)
{
  double b[N * N];
  m->n = free_coordinates (p, point, m->free);
  for (int i = 0; i < m->n; i++) {
    int f = m->free[i];
    double curvature = fabs (point->hessian[f * p->n + f]), least = point->s * least_curvature (p->chosen[f]);
    m->scale[i] = sqrt (fmax (curvature, fmax (least, 1e-300)));
  }
  for (int i = 0; i < m->n; i++)
    for (int j = 0; j < m->n; j++)
      b[i * m->n + j] = -point->hessian[m->free[i] * p->n + m->free[j]] / (m->scale[i] * m->scale[j]);
  eigen_symmetric (m->n, b, m->values, m->vectors);
  for (int e = 0; e < m->n; e++) {
    m->gradient[e] = 0;
    if (fabs (m->values[e]) < FLAT)
      m->values[e] = FLAT;
    for (int i = 0; i < m->n; i++)
      m->gradient[e] += m->vectors[i * m->n + e] * point->gradient[m->free[i]] / m->scale[i];
  }
}

static double
step_length (const Model *m, double shift)
{
  double sum = 0;
  for (int e = 0; e < m->n; e++) {
    double y = m->gradient[e] / (m->values[e] + shift);
    sum += y * y;
  }
  return sqrt (sum);
}

/* Shift of the eigenvalues that gives the step within the radius. */
static double
step_shift (const Model *m, double radius)
{
  double least = INFINITY;
  for (int e = 0; e < m->n; e++)
    least = fmin (least, m->values[e]);
  double low = least > 0 ? 0 : 1e-6 - least;
  if (step_length (m, low) <= radius)
    return low;
  double high = low + 1;
  while (step_length (m, high) > radius)
    high = low + 2 * (high - low);
  for (int i = 0; i < 60 && high - low > 1e-6 * high; i++) {
    double middle = (low + high) / 2;
    if (step_length (m, middle) > radius)
      low = middle;
    else
      high = middle;
  }
  return high;
}

/* Step over the chosen coordinates, cut at the limits; the gain that the model predicts for it. */
static double
step_take (const SbMaximise *p, const Point *point, const Model *m, double shift, double step[N], SbCoordinates *to)
{
  double predicted = 0;
  *to = point->at;
  memset (step, 0, N * sizeof *step);
  for (int i = 0; i < m->n; i++) {
    double y = 0;
    for (int e = 0; e < m->n; e++)
      y += m->vectors[i * m->n + e] * m->gradient[e] / (m->values[e] + shift);
    int f = m->free[i], c = p->chosen[f];
    to->x[c] = CLAMP (point->at.x[c] + y / m->scale[i], p->low[c], p->high[c]);
    step[f] = to->x[c] - point->at.x[c];
  }
  for (int i = 0; i < p->n; i++) {
    predicted += point->gradient[i] * step[i];
    for (int j = 0; j < p->n; j++)
      predicted += 0.5 * step[i] * point->hessian[i * p->n + j] * step[j];
  }
  return predicted;
}

/* BFGS on -S. */
static void
update_hessian (const SbMaximise *p, const Point *from, Point *to, const double step[N])
{
  double bs[N] = { 0 }, sbs = 0, sy = 0;
  memcpy (to->hessian, from->hessian, sizeof to->hessian);
  for (int i = 0; i < p->n; i++) {
    for (int j = 0; j < p->n; j++)
      bs[i] -= from->hessian[i * p->n + j] * step[j];
    sbs += step[i] * bs[i];
    sy += step[i] * (from->gradient[i] - to->gradient[i]);
  }
  if (!(sbs > 0) || sy < 1e-3 * sbs)
    return;
  for (int i = 0; i < p->n; i++)
    for (int j = 0; j < p->n; j++) {
      double yi = from->gradient[i] - to->gradient[i], yj = from->gradient[j] - to->gradient[j];
      to->hessian[i * p->n + j] += bs[i] * bs[j] / sbs - yi * yj / sy;
    }
}

/* Below what float32 resolves of S the prediction decides. */
static gboolean
acceptable (double gain, double predicted, double s)
{
  return gain > 0.05 * predicted || predicted < 1e-7 * s;
}

static double
next_radius (const Model *model, double radius, double shift, double gain, double predicted, double s)
{
  if (predicted < 1e-7 * s)
    return radius;
  if (gain < 0.25 * predicted)
    return fmin (radius, step_length (model, shift)) / 3;
  return gain > 0.75 * predicted && shift > 0 ? fmin (2 * radius, 4 * sqrt (s)) : radius;
}

/* A quasi-Newton model that foretells badly, or that is old, is made anew where that is cheap. */
static gboolean
refresh (const SbMaximise *p, Point *here, gboolean poor, int *age, GError **error)
{
  gboolean old = *age >= RENEW || (poor && *age > 0);
  ++*age;
  if (p->curvature == NULL || !old)
    return TRUE;
  *age = 1;
  return curve (p, here, TRUE, error);
}

/* Steps from *here; it is the best point afterwards. */
static gboolean
climb_on (const SbMaximise *p, Point *here, SbMaximum *maximum, GError **error)
{
  double radius = sqrt (here->s), first = 0;
  int small = 0, age = 0;
  gboolean poor = FALSE, trusted = FALSE; /* of the step before; trusted: one was foretold well */
  for (; maximum->steps < p->max_steps; maximum->steps++) {
    Point there;
    Model model;
    double step[N];
    if (!refresh (p, here, poor, &age, error))
      return FALSE;
    model_make (p, here, &model);
    maximum->converged = model.n == 0;
    if (maximum->converged)
      break;
    double shift = step_shift (&model, radius);
    double predicted = step_take (p, here, &model, shift, step, &there.at);
    gboolean whole = step_length (&model, shift) < 0.99 * radius; /* not cut by the radius */
    small = whole && predicted < fmax (p->tolerance * here->s, p->first_share * first) ? small + 1 : 0;
    first = fmax (first, predicted);
    if (small > 0 && (small >= p->settle || (trusted && !poor))) {
      here->at = there.at;
      maximum->converged = TRUE;
      break;
    }
    if (!evaluate (p, &there, error))
      return FALSE;
    double gain = there.s - here->s;
    if (!is_newton (p))
      update_hessian (p, here, &there, step);
    radius = next_radius (&model, radius, shift, gain, predicted, here->s);
    poor = gain < 0.25 * predicted && predicted > 1e-6 * here->s;
    trusted = trusted || (whole && predicted > 1e-7 * here->s && gain > 0.5 * predicted && gain < 2 * predicted);
    if (acceptable (gain, predicted, here->s))
      *here = there;
    else if (!is_newton (p))
      memcpy (here->hessian, there.hessian, sizeof here->hessian);
  }
  return TRUE;
}

gboolean
maximise (const SbMaximise *p, const SbCoordinates *start, SbMaximum *maximum, GError **error)
{
  Point here;
  here.at = *start;
  for (int i = 0; i < p->n; i++)
    here.at.x[p->chosen[i]] = CLAMP (start->x[p->chosen[i]], p->low[p->chosen[i]], p->high[p->chosen[i]]);
  memset (maximum, 0, sizeof *maximum);
  if (!evaluate (p, &here, error) || (!is_newton (p) && !curve (p, &here, FALSE, error))
      || !climb_on (p, &here, maximum, error))
    return FALSE;
  maximum->at = here.at;
  maximum->s = here.s;
  memcpy (maximum->hessian, here.hessian, sizeof maximum->hessian);
  return TRUE;
}
