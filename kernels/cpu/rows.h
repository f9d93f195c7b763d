/* What is made in float64 once a detector row: which pixels can overlap, and chi's difference along the row. */

/* Nearest integer, |x| < 2^51; rint would be a call on the plain instruction set. */
INLINE double
nearest (double x)
{
  const double magic = 6755399441055744.0;
  return (x + magic) - magic;
}

/* [from, to) of pixel indices within a row whose y may lie within the aperture shifted by (sx, sy), over `lanes` lanes. */
INLINE void
row_reach (const SbkSpectrum *s, int64_t row, const double *sx, const double *sy, int lanes, int64_t *from, int64_t *to)
{
  double x = s->row_x[row], reach = 1 + s->edge, low = INFINITY, high = -INFINITY;
  for (int l = 0; l < lanes; l++) {
    double dx = x - sx[l], left = reach - dx * dx;
    if (left <= 0)
      continue;
    double half = sqrt (left) + 1e-9;
    low = fmin (low, sy[l] - half);
    high = fmax (high, sy[l] + half);
  }
  int64_t a = s->row_start[row], b = s->row_start[row + 1];
  if (low > high || a == b || s->pixel_y[a] > high || s->pixel_y[b - 1] < low) {
    *from = *to = b;
    return;
  }
  while (s->pixel_y[a] < low)
    a++;
  while (s->pixel_y[b - 1] > high)
    b--;
  *from = a;
  *to = b;
}

/* chi along a row as a polynomial of y. */
INLINE void
row_here (const double chi[SBK_N_MONOMIALS], double x, double here[SBK_DEGREE + 1])
{
  for (int j = 0; j <= SBK_DEGREE; j++) {
    here[j] = 0;
    for (int i = SBK_DEGREE - j; i >= 0; i--)
      here[j] = here[j] * x + (i + j == 0 ? 0 : chi[sbk_monomial (i, j)]);
  }
}

/* Coefficients in y of chi (x, y) - chi (x - s vx, y - s vy), times s, for `lanes` (constant) frequencies, in half turns (so
 * that theta = pi p (y)). The y^6 terms cancel. Lanes innermost: they are vectors. */
INLINE void
row_unreduced (const double chi[SBK_N_MONOMIALS], const double here[SBK_DEGREE + 1], double x, const double *vx,
               const double *vy, double s, int lanes, double (*out)[SBK_LANES])
{
  double p[SBK_DEGREE + 1][SBK_LANES], u[SBK_LANES], sy[SBK_LANES];
  for (int l = 0; l < lanes; l++) {
    u[l] = x - s * vx[l];
    sy[l] = s * vy[l];
  }
  for (int j = 0; j <= SBK_DEGREE; j++) {
    for (int l = 0; l < lanes; l++)
      p[j][l] = chi[sbk_monomial (SBK_DEGREE - j, j)];
    for (int i = SBK_DEGREE - j - 1; i >= 0; i--) {
      double c = i + j == 0 ? 0 : chi[sbk_monomial (i, j)];
      for (int l = 0; l < lanes; l++)
        p[j][l] = p[j][l] * u[l] + c;
    }
  }
  /* p (y - sy) by repeated synthetic division */
  for (int i = 0; i < SBK_DEGREE; i++)
    for (int j = SBK_DEGREE - 1; j >= i; j--)
      for (int l = 0; l < lanes; l++)
        p[j][l] -= sy[l] * p[j + 1][l];
  for (int j = 0; j < SBK_DEGREE; j++)
    for (int l = 0; l < lanes; l++)
      out[j][l] = 2 * s * (here[j] - p[j][l]);
}

/* The same with the constant reduced modulo 2. */
INLINE void
row_differences (const double chi[SBK_N_MONOMIALS], const double here[SBK_DEGREE + 1], double x, const double *vx,
                 const double *vy, double s, int lanes, double (*out)[SBK_LANES])
{
  row_unreduced (chi, here, x, vx, vy, s, lanes, out);
  for (int l = 0; l < lanes; l++)
    out[0][l] -= 2 * nearest (out[0][l] / 2);
}

/* Coefficients in y of v.grad chi (x, y) for `lanes` frequencies, in half turns, the constant reduced modulo 2. */
INLINE void
row_shift (const double chi[SBK_N_MONOMIALS], double x, const double *vx, const double *vy, int lanes, double (*out)[SBK_LANES])
{
  for (int j = 0; j < SBK_DEGREE; j++) {
    double by_x = 0, by_y = 0; /* of y^j in d chi / dx and d chi / dy */
    for (int i = SBK_DEGREE - j; i >= 1; i--)
      by_x = by_x * x + i * chi[sbk_monomial (i, j)];
    for (int i = SBK_DEGREE - j - 1; i >= 0; i--)
      by_y = by_y * x + (j + 1) * chi[sbk_monomial (i, j + 1)];
    for (int l = 0; l < lanes; l++)
      out[j][l] = 2 * (vx[l] * by_x + vy[l] * by_y);
  }
  for (int l = 0; l < lanes; l++)
    out[0][l] -= 2 * nearest (out[0][l] / 2);
}
