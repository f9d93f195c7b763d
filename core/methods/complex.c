/* Phase and absorption together: G = T(q) a + conj T(-q) b with T = i F + E, F and E the spectra of the phase and of the
 * relative amplitude change, both those of real images. So G = F f + E e with f = i (a - b), e = a + b.
 *
 * A regularisation eps on x = T(q) and y = conj T(-q) is eps (|x|^2 + |y|^2) = 2 eps (|F|^2 + |E|^2). By default F and E
 * have one each, noise over its own power in the ring, because phase is usually far stronger than absorption: one number
 * for both would either dull the phase or fill the absorption with noise. */
#include "core/reconstruct.h"

#include <math.h>

#include "core/error.h"

typedef struct Normal {
  double ff, ee;             /* <f,f>, <e,e> */
  double complex fe, hf, he; /* <f,e>, <f,G>, <e,G> */
} Normal;

static Normal
normal_from_sums (const double *s)
{
  double aa = s[0], bb = s[1], re = s[2], im = s[3];
  double complex ha = s[4] + I * s[5], hb = s[6] + I * s[7];
  return (Normal){ .ff = MAX (aa + bb - 2 * re, 0),
                   .ee = MAX (aa + bb + 2 * re, 0),
                   .fe = -I * (aa - bb) + 2 * im,
                   .hf = -I * (ha - hb),
                   .he = ha + hb };
}

/* An infinite weight holds that part at zero. */
static void
normal_solve (const Normal *m, double eps_f, double eps_e, double complex *f, double complex *e)
{
  double ff = m->ff + eps_f, ee = m->ee + eps_e;
  *f = *e = 0;
  if (!isfinite (eps_f) || !isfinite (eps_e)) {
    if (isfinite (eps_f) && ff > 0)
      *f = m->hf / ff;
    if (isfinite (eps_e) && ee > 0)
      *e = m->he / ee;
    return;
  }
  double cross = creal (m->fe) * creal (m->fe) + cimag (m->fe) * cimag (m->fe);
  double det = ff * ee - cross;
  if (!(det > 1e-13 * ff * ee)) /* the data cannot tell them apart */
    return;
  *f = (ee * m->hf - m->fe * m->he) / det;
  *e = (ff * m->he - conj (m->fe) * m->hf) / det;
}

static double
square (double complex z)
{
  return creal (z) * creal (z) + cimag (z) * cimag (z);
}

/* noise / power of F and E in a ring, from the expected squares of both matched sums:
 * E |hf|^2 - noise ff = P_F ff^2 + P_E |fe|^2, and the same with f and e exchanged (F and E uncorrelated). */
static void
ring_weights (const double *sums, const gint64 *order, gint64 n, double noise, double *eps_f, double *eps_e)
{
  double f4 = 0, e4 = 0, cross = 0, f_excess = 0, e_excess = 0;
  for (gint64 i = 0; i < n; i++) {
    Normal m = normal_from_sums (sums + 8 * order[i]);
    f4 += m.ff * m.ff;
    e4 += m.ee * m.ee;
    cross += square (m.fe);
    f_excess += square (m.hf) - noise * m.ff;
    e_excess += square (m.he) - noise * m.ee;
  }
  double det = f4 * e4 - cross * cross;
  double power_f = det > 0 ? (e4 * f_excess - cross * e_excess) / det : 0;
  double power_e = det > 0 ? (f4 * e_excess - cross * f_excess) / det : 0;
  if (power_f <= 0) /* then all there is belongs to the other */
    power_e = e4 > 0 ? e_excess / e4 : 0;
  else if (power_e <= 0)
    power_f = f4 > 0 ? f_excess / f4 : 0;
  *eps_f = power_f > 0 ? noise / power_f : INFINITY;
  *eps_e = power_e > 0 ? noise / power_e : INFINITY;
}

static gboolean
complex_solve (const SbFineGrid *grid, const double *sums, double noise, double eps, double complex *phi,
               double complex *absorption, GError **error)
{
  gsize n = (gsize)grid->fine.n;
  if (!isnan (eps)) {
    for (gsize q = 0; q < n; q++) {
      Normal m = normal_from_sums (sums + 8 * q);
      normal_solve (&m, 2 * eps, 2 * eps, &phi[q], &absorption[q]);
    }
    return TRUE;
  }
  g_autofree gint64 *order = sb_alloc (n, sizeof (gint64), "The rings of the regularisation", error);
  g_autofree gint64 *start = order != NULL ? sb_alloc (n + 1, sizeof (gint64), "The rings of the regularisation", error) : NULL;
  if (start == NULL)
    return FALSE;
  gint64 rings = fine_grid_rings (grid, order, start, error);
  for (gint64 r = 0; r < rings; r++) {
    double eps_f, eps_e;
    ring_weights (sums, order + start[r], start[r + 1] - start[r], noise, &eps_f, &eps_e);
    for (gint64 i = start[r]; i < start[r + 1]; i++) {
      Normal m = normal_from_sums (sums + 8 * order[i]);
      normal_solve (&m, eps_f, eps_e, &phi[order[i]], &absorption[order[i]]);
    }
  }
  return rings >= 0;
}

const SbMethod method_complex = {
  .name = "complex",
  .title = "Phase and absorption",
  .help = "Phase and relative amplitude change of a general weak object, solved together by least squares.",
  .sums = SBK_SUM_COMPLEX,
  .solve = complex_solve,
  .has_absorption = TRUE,
};
