/* What is made in float64 once a detector row: which pixels can overlap, and chi's difference along the row. */

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

/* Coefficients in y of chi (x, y) - chi (x - sx, y - sy), in half turns (so that theta = pi p (y)), the constant reduced
 * modulo 2; sign -1 gives the negative. The y^6 terms cancel. */
INLINE void
row_difference (const double chi[SBK_N_MONOMIALS], double x, double sx, double sy, double sign, double out[SBK_DEGREE])
{
  double shifted[SBK_DEGREE + 1], here[SBK_DEGREE + 1];
  double u = x - sx;
  for (int j = 0; j <= SBK_DEGREE; j++) {
    double a = 0, b = 0;
    for (int i = SBK_DEGREE - j; i >= 0; i--) {
      double c = i + j == 0 ? 0 : chi[sbk_monomial (i, j)];
      a = a * x + c;
      b = b * u + c;
    }
    here[j] = a;
    shifted[j] = b;
  }
  /* p (y - sy) by repeated synthetic division */
  for (int i = 0; i < SBK_DEGREE; i++)
    for (int j = SBK_DEGREE - 1; j >= i; j--)
      shifted[j] -= sy * shifted[j + 1];
  for (int j = 0; j < SBK_DEGREE; j++)
    out[j] = 2 * sign * (here[j] - shifted[j]);
  out[0] -= 2 * rint (out[0] / 2);
}
