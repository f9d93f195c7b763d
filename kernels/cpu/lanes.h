/* Arithmetic of W lanes: sine and cosine of pi x, sinc and its derivatives, the aperture. */

INLINE vec
FN (splat) (REAL x)
{
  return (vec){ 0 } + x;
}

INLINE vec
FN (choose) (ivec mask, vec a, vec b)
{
  return (vec)(((ivec)a & mask) | ((ivec)b & ~mask));
}

INLINE vec
FN (load_double) (const double *from)
{
  REAL to[W];
  vec v;
  for (int l = 0; l < W; l++)
    to[l] = (REAL)from[l];
  memcpy (&v, to, sizeof v);
  return v;
}

/* G as it is stored, W lanes of it. */
INLINE vec
FN (load_g) (const STORED *from)
{
  REAL to[W];
  vec v;
  for (int l = 0; l < W; l++)
    to[l] = (REAL)from[l];
  memcpy (&v, to, sizeof v);
  return v;
}

/* Adds a lane each to float64 sums. */
INLINE void
FN (flush) (double *sum, vec v)
{
  REAL from[W];
  memcpy (from, &v, sizeof v);
  for (int l = 0; l < W; l++)
    sum[l] += (double)from[l];
}

/* Nearest integer, its parity as a sign bit, and what is left: x = n + f, |f| <= 1/2. */
INLINE vec
FN (reduce) (vec x, ivec *sign)
{
  const REAL magic = SINGLE ? (REAL)12582912.0 : (REAL)6755399441055744.0;
  vec shifted = x + magic;
  *sign = (ivec)shifted << (8 * sizeof (REAL) - 1);
  return x - (shifted - magic);
}

/* sin (pi f) / f and cos (pi f) as polynomials of u = f^2 <= 1/4: minimax in float32 (6e-11, 2e-10), series in float64. */
INLINE vec
FN (sin_over) (vec u)
{
#if SINGLE
  vec p = u * (REAL)-0.007028303855203096 + (REAL)0.08205035020147247;
  p = p * u + (REAL)-0.599252186531583;
  p = p * u + (REAL)2.550163317938427;
  p = p * u + (REAL)-5.167712764593;
  return p * u + (REAL)3.141592653536132;
#else
  static const double c[] = { 3.141592653589793,     -5.16771278004997,       2.5501640398773455,     -0.5992645293207921,
                              0.08214588661112823,   -0.0073704309457143504,  0.00046630280576761255, -2.1915353447830217e-05,
                              7.952054001475513e-07, -2.2948428997269873e-08, 5.392664662608129e-10 };
  vec p = FN (splat) (c[10]);
  for (int i = 9; i >= 0; i--)
    p = p * u + c[i];
  return p;
#endif
}

INLINE vec
FN (cosine) (vec u)
{
#if SINGLE
  vec p = u * (REAL)-0.024395932097550446 + (REAL)0.2349370685950865;
  p = p * u + (REAL)-1.3352119493905503;
  p = p * u + (REAL)4.058709154763134;
  p = p * u + (REAL)-4.934802136928946;
  return p * u + (REAL)0.999999999779154;
#else
  static const double c[] = { 1.0,
                              -4.934802200544679,
                              4.0587121264167685,
                              -1.3352627688545895,
                              0.2353306303588932,
                              -0.02580689139001406,
                              0.0019295743094039231,
                              -0.0001046381049248457,
                              4.303069587032947e-06,
                              -1.3878952462213771e-07,
                              3.604730797462501e-09,
                              -7.700707130601354e-11 };
  vec p = FN (splat) (c[11]);
  for (int i = 10; i >= 0; i--)
    p = p * u + c[i];
  return p;
#endif
}

/* amplitude * exp (i pi x) */
INLINE void
FN (turn) (vec x, vec amplitude, vec *re, vec *im)
{
  ivec sign;
  vec f = FN (reduce) (x, &sign);
  vec u = f * f;
  vec a = (vec)((ivec)amplitude ^ sign);
  *re = a * FN (cosine) (u);
  *im = a * (f * FN (sin_over) (u));
}

/* sin (pi x) / (pi x) */
INLINE vec
FN (sinc) (vec x)
{
  ivec sign;
  vec f = FN (reduce) (x, &sign);
  vec p = FN (sin_over) (f * f) * (REAL)0.3183098861837906715;
  vec far = (vec)((ivec)(f / x) ^ sign);
  return p * FN (choose) (f == x, FN (splat) (1), far);
}

/* sinc, its first and its second derivative; a series where |x| <= 1/2, where the closed forms cancel. */
INLINE void
FN (sinc_derivatives) (vec x, vec *s0, vec *s1, vec *s2)
{
  const REAL pi2 = (REAL)9.869604401089358;
  ivec sign;
  vec f = FN (reduce) (x, &sign);
  vec u = f * f;
  ivec near = f == x;
  vec safe = FN (choose) (near, FN (splat) (1), x);
  vec p = FN (sin_over) (u) * (REAL)0.3183098861837906715;
  vec s = p * FN (choose) (near, FN (splat) (1), (vec)((ivec)(f / safe) ^ sign));
  vec d = ((vec)((ivec)FN (cosine) (u) ^ sign) - s) / safe;
#if SINGLE
  static const float q[] = { -3.289868133685167f,  3.246969697882688f,     -1.144510792918217f,
                             0.20918018755651802f, -0.023440732503210802f, 0.0017093053411668673f };
  static const float r[] = { -3.2898681335504425f, 9.740909061342194f,    -5.7225527592531f,
                             1.4642458917422054f,  -0.21088731241099415f, 0.018661457076369133f };
  const int n = 6;
#else
  static const double q[] = { -3.289868133696453,      3.2469697011334144,     -1.1445109447325053,    0.2091827825412384,
                              -0.023460810354558236,   0.001781145516372852,   -9.766223126318933e-05, 4.049947846619244e-06,
                              -1.3148481279991994e-07, 3.4330769499642866e-09, -7.365893777096947e-11 };
  static const double r[] = { -3.289868133696453,     9.740909103400243,     -5.722554723662526,     1.4642794777886687,
                              -0.21114729319102413,   0.019592600680101373,  -0.0012696090064214613, 6.074921769928866e-05,
                              -2.235241817598639e-06, 6.522846204932145e-08, -1.5468376931903588e-09 };
  const int n = 11;
#endif
  vec pq = FN (splat) (q[n - 1]), pr = FN (splat) (r[n - 1]);
  for (int i = n - 2; i >= 0; i--) {
    pq = pq * u + q[i];
    pr = pr * u + r[i];
  }
  *s0 = s;
  *s1 = FN (choose) (near, x * pq, d);
  *s2 = FN (choose) (near, pr, -pi2 * s - 2 * d / safe);
}

/* The aperture's clip ((1 - r^2) / (2 edge) + 1/2, 0, 1) as slope * (offset - r^2) clipped. */
INLINE vec
FN (aperture) (vec r2, REAL slope, REAL offset)
{
  vec a = (offset - r2) * slope;
  a = FN (choose) (a > 0, a, FN (splat) (0));
  return FN (choose) (a < 1, a, FN (splat) (1));
}
