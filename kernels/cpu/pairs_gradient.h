/* All 31 derivatives of a block from real moments: t_a = 2 Im (conj (a) r), t_b = -2 Im (conj (b) r) times powers of y,
 * summed along a row; x and the shift by q come in once a row and once a block. */

/* r = r_of[0, 1] G - r_of[2] gamma, from conj (h) / n and |h|^2 / n^2. */
INLINE void
FN (residual_factors) (double h[2][SBK_LANES], double n[SBK_LANES], int half, vec r_of[3])
{
  double re[W], im[W], w[W];
  for (int l = 0; l < W; l++) {
    int at = half * W + l;
    double inverse = n[at] > 0 ? 1 / n[at] : 0;
    re[l] = h[0][at] * inverse;
    im[l] = -h[1][at] * inverse;
    w[l] = (h[0][at] * h[0][at] + h[1][at] * h[1][at]) * inverse * inverse;
  }
  r_of[0] = FN (load_double) (re);
  r_of[1] = FN (load_double) (im);
  r_of[2] = FN (load_double) (w);
}

#define Moments FN (Moments)
typedef struct Moments {
  vec a[SBK_DEGREE + 1], b[SBK_DEGREE + 1]; /* sum t y^j */
  vec ua[2], ub[2];                         /* sum u y^j: derivative by the argument of sinc */
} Moments;

INLINE void
FN (gradient_segment) (const CpuBlock *block, const Row *row, const vec r_of[3], int half, int64_t from, int64_t to, int has_a,
                       int has_b, int thick, Moments *sum)
{
  const SbkSpectrum *s = block->spectrum;
  Moments m = *sum;
  for (int64_t k = from; k < to; k += block->k_stride) {
    REAL y = (REAL)s->pixel_y[k], a0 = (REAL)s->pixel_a[k];
    const STORED *g = (const STORED *)block->g + 2 * SBK_LANES * k + half * W;
    vec gr = FN (load_g) (g), gi = FN (load_g) (g + SBK_LANES);
    vec ar = { 0 }, ai = { 0 }, br = { 0 }, bi = { 0 }, as = { 0 }, bs = { 0 }, pr = { 0 }, pi = { 0 };
    vec da = { 0 }, db = { 0 }, unused;
    if (has_a) {
      FN (turn) (FN (horner) (row->minus, y), FN (amplitude_minus) (row, y, a0), &ar, &ai);
      if (thick)
        FN (sinc_derivatives) (row->x_minus + y * row->x_slope, &as, &da, &unused);
      pr = thick ? ar * as : ar;
      pi = thick ? ai * as : ai;
    }
    if (has_b) {
      FN (turn) (FN (horner) (row->plus, y), FN (amplitude_plus) (row, y, a0), &br, &bi);
      if (thick)
        FN (sinc_derivatives) (row->x_plus + y * row->x_slope, &bs, &db, &unused);
      pr -= thick ? br * bs : br;
      pi -= thick ? bi * bs : bi;
    }
    /* r = conj (h) / n G - |h|^2 / n^2 gamma */
    vec rr = r_of[0] * gr - r_of[1] * gi - r_of[2] * pr;
    vec ri = r_of[0] * gi + r_of[1] * gr - r_of[2] * pi;
    if (has_a) {
      vec t = 2 * (ar * ri - ai * rr);
      if (thick) {
        vec u = 2 * (ar * rr + ai * ri) * da;
        m.ua[0] += u;
        m.ua[1] += u * y;
        t *= as;
      }
      m.a[0] += t;
      for (int j = 1; j <= SBK_DEGREE; j++) {
        t *= y;
        m.a[j] += t;
      }
    }
    if (has_b) {
      vec t = -2 * (br * ri - bi * rr);
      if (thick) {
        vec u = -2 * (br * rr + bi * ri) * db;
        m.ub[0] += u;
        m.ub[1] += u * y;
        t *= bs;
      }
      m.b[0] += t;
      for (int j = 1; j <= SBK_DEGREE; j++) {
        t *= y;
        m.b[j] += t;
      }
    }
  }
  *sum = m;
}

#ifndef SBK_GRADIENT_ENDS
#define SBK_GRADIENT_ENDS
/* Moments of a block in float64, all lanes: SBK_CARRY_GRADIENT of them. */
typedef struct BlockMoments {
  double a[SBK_N_MONOMIALS][SBK_LANES], b[SBK_N_MONOMIALS][SBK_LANES]; /* sum t x^i y^j */
  double u[3][SBK_LANES];                                              /* [0] sum (u_a + u_b), [1] sum (E_a u_a + E_b u_b) */
} BlockMoments;

/* sum t (x - sx)^i (y - sy)^j from the moments of x^p y^q. */
static double
shifted_moment (double m[SBK_N_MONOMIALS][SBK_LANES], int lane, int i, int j, double sx, double sy)
{
  static const int binomial[7][7] = {
    { 1 }, { 1, 1 }, { 1, 2, 1 }, { 1, 3, 3, 1 }, { 1, 4, 6, 4, 1 }, { 1, 5, 10, 10, 5, 1 }, { 1, 6, 15, 20, 15, 6, 1 }
  };
  double sum = 0, px = 1;
  for (int p = i; p >= 0; p--, px *= -sx) {
    double py = 1, inner = 0;
    for (int q = j; q >= 0; q--, py *= -sy)
      inner += binomial[j][q] * py * m[sbk_monomial (p, q)][lane];
    sum += binomial[i][p] * px * inner;
  }
  return sum;
}

/* sum (t_a - t_b) B(k) - t_a B(k-q) + t_b B(k+q) for every monomial B, 2 pi from turns; tilt and depth. Never inlined: the
 * same instructions whoever calls it. */
static void __attribute__ ((noinline)) gradient_of_block (const CpuBlock *block, BlockMoments *m, double gradient[SBK_N])
{
  for (int l = 0; l < SBK_LANES; l++) {
    double vx = block->vx[l], vy = block->vy[l];
    if (block->valid[l] == 0)
      continue;
    for (int i = 0; i <= SBK_DEGREE; i++)
      for (int j = 0; i + j <= SBK_DEGREE; j++) {
        int at = sbk_monomial (i, j);
        double d = m->a[at][l] - m->b[at][l] - shifted_moment (m->a, l, i, j, vx, vy)
                   + shifted_moment (m->b, l, i, j, -vx, -vy);
        gradient[at] += 2 * M_PI * d;
      }
    gradient[SBK_TILT_X] -= block->model->depth * vx * m->u[0][l];
    gradient[SBK_TILT_Y] -= block->model->depth * vy * m->u[0][l];
    gradient[SBK_DEPTH] += m->u[1][l];
  }
}
#endif

/* A row's moments into the block's. */
static void
FN (moments_flush) (const CpuBlock *block, const Moments *sum, double x, int half, BlockMoments *m)
{
  double power = 1;
  for (int i = 0; i <= SBK_DEGREE; i++, power *= x)
    for (int j = 0; i + j <= SBK_DEGREE; j++) {
      double *a = m->a[sbk_monomial (i, j)] + half * W, *b = m->b[sbk_monomial (i, j)] + half * W;
      for (int l = 0; l < W; l++) {
        a[l] += power * (double)sum->a[j][l];
        b[l] += power * (double)sum->b[j][l];
      }
    }
  if (block->model->depth == 0)
    return;
  for (int l = 0; l < W; l++) {
    int at = half * W + l;
    double vx = block->vx[at], vy = block->vy[at];
    double v2 = vx * vx + vy * vy, vt = vx * block->model->tilt[0] + vy * block->model->tilt[1];
    m->u[0][at] += (double)sum->ua[0][l] + (double)sum->ub[0][l];
    m->u[1][at] += (x * vx - v2 / 2 - vt) * (double)sum->ua[0][l] + vy * (double)sum->ua[1][l]
                   + (x * vx + v2 / 2 - vt) * (double)sum->ub[0][l] + vy * (double)sum->ub[1][l];
  }
}

/* Adds the moments with r = r_of[0, 1] G - r_of[2] gamma of each part of the block. */
static void
FN (gradient_with) (const CpuBlock *block, vec (*r_of)[3], BlockMoments *m)
{
  const SbkSpectrum *s = block->spectrum;
  int thick = block->model->depth != 0;
  for (int half = 0; half < SBK_LANES / W; half++) {
    const double *vx = block->vx + half * W, *vy = block->vy + half * W;
    for (int64_t index = 0; index < s->n_rows; index++) {
      Row row;
      Moments sum;
      int begun = 0;
#define THIN_CALL(from, to, a, b) FN (gradient_segment) (block, &row, r_of[half], half, from, to, a, b, 0, &sum)
#define THICK_CALL(from, to, a, b) FN (gradient_segment) (block, &row, r_of[half], half, from, to, a, b, 1, &sum)
#define SEGMENT(from, to, a, b)                                                                                                \
  do {                                                                                                                         \
    if (!begun) {                                                                                                              \
      FN (row_begin) (&row, s, block->model, index, vx, vy);                                                                   \
      memset (&sum, 0, sizeof sum);                                                                                            \
    }                                                                                                                          \
    begun = 1;                                                                                                                 \
    if (thick)                                                                                                                 \
      SEGMENT_KINDS (THICK_CALL, from, to, a, b);                                                                              \
    else                                                                                                                       \
      SEGMENT_KINDS (THIN_CALL, from, to, a, b);                                                                               \
  } while (0)
      EACH_SEGMENT (block, vx, vy, index, SEGMENT);
#undef SEGMENT
#undef THIN_CALL
#undef THICK_CALL
      if (begun)
        FN (moments_flush) (block, &sum, s->row_x[index], half, m);
    }
  }
}

static void
FN (pairs_gradient) (const CpuBlock *block, double h[2][SBK_LANES], double n[SBK_LANES], double *carry, double *gradient)
{
  vec r_of[SBK_LANES / W][3];
  BlockMoments own, *m = carry != NULL ? (BlockMoments *)carry : &own;
  if (carry == NULL)
    memset (m, 0, sizeof *m);
  for (int half = 0; half < SBK_LANES / W; half++)
    FN (residual_factors) (h, n, half, r_of[half]);
  FN (gradient_with) (block, r_of, m);
  if (gradient != NULL)
    gradient_of_block (block, m, gradient);
}
#undef Moments
