/* Exact Hessian of a block over any chosen coordinates: f = |h|^2 / n of each q, so
 * f_ij = 2 Re sum conj (gamma_ij) r - 2 |h|^2/n^2 Re <gamma_i, gamma_j> + terms of the first derivatives of h and n. */

#ifndef SBK_HESSIAN_ENDS
#define SBK_HESSIAN_ENDS
static inline int
triangle (int n, int i, int j)
{
  return i * n - i * (i - 1) / 2 + j - i; /* i <= j */
}

/* The rest of a block, from sums over pixels: second[] = sum Re (conj (gamma_ij) r) - w Re <gamma_i, gamma_j>,
 * first[] = Re h_i, Im h_i, n_i. Never inlined: the same instructions whoever calls it. */
static void __attribute__ ((noinline))
hessian_of_block (double h[2][SBK_LANES], double n[SBK_LANES], int count, const double *second, const double *first,
                  double *gradient, double *hessian)
{
  for (int l = 0; l < SBK_LANES; l++) {
    if (!(n[l] > 0))
      continue;
    double hr = h[0][l], hi = h[1][l], h2 = hr * hr + hi * hi, in = 1 / n[l];
    for (int i = 0; i < count; i++) {
      const double *di = first + (size_t)i * 3 * SBK_LANES + l;
      double along_i = hr * di[0] + hi * di[SBK_LANES], n_i = di[2 * SBK_LANES];
      gradient[i] += 2 * along_i * in - h2 * in * in * n_i;
      for (int j = i; j < count; j++) {
        const double *dj = first + (size_t)j * 3 * SBK_LANES + l;
        double along_j = hr * dj[0] + hi * dj[SBK_LANES], n_j = dj[2 * SBK_LANES];
        int at = triangle (count, i, j);
        hessian[at] += 2 * second[(size_t)at * SBK_LANES + l] + 2 * (di[0] * dj[0] + di[SBK_LANES] * dj[SBK_LANES]) * in
                       - 2 * (along_i * n_j + along_j * n_i) * in * in + 2 * h2 * n_i * n_j * in * in * in;
      }
    }
  }
}

/* exponents of monomial m */
static inline void
monomial_powers (int m, int *i, int *j)
{
  int d = 0;
  while ((d + 1) * (d + 2) / 2 <= m)
    d++;
  *j = m - d * (d + 1) / 2;
  *i = d - *j;
}
#endif

#define Hessian FN (Hessian)
/* The sums of W lanes along a row. */
typedef struct Hessian {
  int count, n_chi;                        /* chosen coordinates, ordered: chi first */
  int order[SBK_N];                        /* position among the caller's */
  int px[SBK_N], py[SBK_N];                /* powers of the chi monomials */
  int extra[3];                            /* SBK_TILT_X .. SBK_DEPTH of the rest */
  int thin;                                /* no depth, nothing asked about it */
  vec second[SBK_N * (SBK_N + 1) / 2 + 8]; /* chi x chi triangle, extra x chi, extra x extra */
  vec first[SBK_N][3];
} Hessian;

INLINE void
FN (powers) (vec x, vec p[SBK_DEGREE + 1])
{
  p[0] = FN (splat) (1);
  for (int i = 1; i <= SBK_DEGREE; i++)
    p[i] = p[i - 1] * x;
}

/* One sideband at one pixel: value without and with the depth factor, and its derivatives. */
#define Side FN (Side)
typedef struct Side {
  vec re, im;       /* with the depth factor */
  vec theta[SBK_N]; /* d phase / d chi coordinate */
  vec dr[3], di[3]; /* d side / d (tilt x, tilt y, depth) */
  vec s1, s2;       /* sinc', sinc'' */
  vec slope[3];     /* d X / d (tilt x, tilt y, depth) */
} Side;

INLINE void
FN (side_set) (Side *side, const Hessian *z, vec bare_re, vec bare_im, vec x, const vec slope[3])
{
  vec s0;
  if (z->thin) {
    side->re = bare_re;
    side->im = bare_im;
    side->s1 = side->s2 = FN (splat) (0);
    return;
  }
  FN (sinc_derivatives) (x, &s0, &side->s1, &side->s2);
  side->re = bare_re * s0;
  side->im = bare_im * s0;
  for (int e = 0; e < z->count - z->n_chi; e++) {
    side->slope[e] = slope[z->extra[e] - SBK_TILT_X];
    side->dr[e] = bare_re * side->s1 * side->slope[e];
    side->di[e] = bare_im * side->s1 * side->slope[e];
  }
}

INLINE void
FN (first_sums) (Hessian *z, int i, vec dr, vec di, vec gr, vec gi, vec cr, vec ci)
{
  z->first[i][0] += dr * gr + di * gi;
  z->first[i][1] += dr * gi - di * gr;
  z->first[i][2] += 2 * (dr * cr + di * ci);
}

/* Everything of one pixel. */
INLINE void
FN (hessian_pixel) (Hessian *z, const Side *a, const Side *b, const vec r_of[3], vec mixed_x, vec mixed_y, vec gr, vec gi,
                    vec bare_ra, vec bare_rb, vec rr, vec ri)
{
  int n = z->count, c = z->n_chi;
  vec dr[SBK_N], di[SBK_N], wr[SBK_N], wi[SBK_N], ta[SBK_N], tb[SBK_N];
  vec cr = a->re - b->re, ci = a->im - b->im, w = r_of[2];
  vec alpha = a->re * rr + a->im * ri, beta = b->re * rr + b->im * ri;
  for (int i = 0; i < n; i++) {
    if (i < c) {
      dr[i] = b->theta[i] * b->im - a->theta[i] * a->im;
      di[i] = a->theta[i] * a->re - b->theta[i] * b->re;
      ta[i] = alpha * a->theta[i];
      tb[i] = beta * b->theta[i];
    } else {
      dr[i] = a->dr[i - c] - b->dr[i - c];
      di[i] = a->di[i - c] - b->di[i - c];
    }
    wr[i] = w * dr[i];
    wi[i] = w * di[i];
    FN (first_sums) (z, i, dr[i], di[i], gr, gi, cr, ci);
  }
  vec *second = z->second;
  for (int i = 0; i < c; i++)
    for (int j = i; j < c; j++, second++)
      *second += tb[i] * b->theta[j] - ta[i] * a->theta[j] - wr[i] * dr[j] - wi[i] * di[j];
  for (int e = 0; e < n - c; e++) {
    vec ia = a->dr[e] * ri - a->di[e] * rr, ib = b->dr[e] * ri - b->di[e] * rr; /* Im (conj (side_e) r) */
    for (int i = 0; i < c; i++)
      z->second[c * (c + 1) / 2 + e * c + i] += a->theta[i] * ia - b->theta[i] * ib - wr[i] * dr[c + e] - wi[i] * di[c + e];
    for (int f = e; f < n - c; f++) {
      vec xa = a->s2 * a->slope[e] * a->slope[f], xb = b->s2 * b->slope[e] * b->slope[f];
      if ((z->extra[f] == SBK_DEPTH) != (z->extra[e] == SBK_DEPTH)) {
        vec mixed = z->extra[e] == SBK_TILT_X || z->extra[f] == SBK_TILT_X ? mixed_x : mixed_y;
        xa += a->s1 * mixed;
        xb += b->s1 * mixed;
      }
      z->second[c * (c + 1) / 2 + (n - c) * c + e * 3 + f] += bare_ra * xa - bare_rb * xb - wr[c + e] * dr[c + f]
                                                              - wi[c + e] * di[c + f];
    }
  }
}

INLINE void
FN (hessian_segment) (const CpuBlock *block, const Row *row, double x, const vec r_of[3], int half, int64_t from, int64_t to,
                      Hessian *z)
{
  const SbkSpectrum *s = block->spectrum;
  const double *vx = block->vx + half * W, *vy = block->vy + half * W;
  const REAL turn = (REAL)(2 * M_PI), depth = (REAL)block->model->depth;
  vec lx = FN (load_double) (vx), ly = FN (load_double) (vy);
  vec v2 = (lx * lx + ly * ly) / 2, vt = lx * (REAL)block->model->tilt[0] + ly * (REAL)block->model->tilt[1];
  vec xm[SBK_DEGREE + 1], xp[SBK_DEGREE + 1], x0[SBK_DEGREE + 1];
  FN (powers) ((REAL)x - lx, xm);
  FN (powers) ((REAL)x + lx, xp);
  FN (powers) (FN (splat) ((REAL)x), x0);
  for (int64_t k = from; k < to; k += block->k_stride) {
    REAL y = (REAL)s->pixel_y[k], a0 = (REAL)s->pixel_a[k];
    const STORED *g = (const STORED *)block->g + 2 * SBK_LANES * k + half * W;
    vec gr = FN (load_g) (g), gi = FN (load_g) (g + SBK_LANES);
    vec ym[SBK_DEGREE + 1], yp[SBK_DEGREE + 1], y0[SBK_DEGREE + 1];
    FN (powers) (y - ly, ym);
    FN (powers) (y + ly, yp);
    FN (powers) (FN (splat) (y), y0);
    Side a, b;
    vec are, aim, bre, bim;
    FN (turn) (FN (horner) (row->minus, y), FN (amplitude_minus) (row, y, a0), &are, &aim);
    FN (turn) (FN (horner) (row->plus, y), FN (amplitude_plus) (row, y, a0), &bre, &bim);
    vec along = (REAL)x * lx + y * ly - vt;
    vec sa[3] = { -depth * lx, -depth * ly, along - v2 }, sb[3] = { -depth * lx, -depth * ly, along + v2 };
    FN (side_set) (&a, z, are, aim, depth * sa[2], sa);
    FN (side_set) (&b, z, bre, bim, depth * sb[2], sb);
    for (int i = 0; i < z->n_chi; i++) {
      vec here = x0[z->px[i]] * y0[z->py[i]];
      a.theta[i] = turn * (here - xm[z->px[i]] * ym[z->py[i]]);
      b.theta[i] = turn * (xp[z->px[i]] * yp[z->py[i]] - here);
    }
    vec cr = a.re - b.re, ci = a.im - b.im;
    vec rr = r_of[0] * gr - r_of[1] * gi - r_of[2] * cr;
    vec ri = r_of[0] * gi + r_of[1] * gr - r_of[2] * ci;
    FN (hessian_pixel) (z, &a, &b, r_of, -lx, -ly, gr, gi, are * rr + aim * ri, bre * rr + bim * ri, rr, ri);
  }
}

/* Only what is used: the whole struct is as large as the cache. */
static void
FN (hessian_clear) (Hessian *z)
{
  int c = z->n_chi, e = z->count - c;
  memset (z->second, 0, (size_t)(c * (c + 1) / 2 + e * c + (e > 0 ? 9 : 0)) * sizeof (vec));
  memset (z->first, 0, (size_t)z->count * sizeof z->first[0]);
}

/* A row's sums into the block's, in the caller's order of coordinates. */
static void
FN (hessian_flush) (Hessian *z, int half, CpuHessianScratch *scratch)
{
  int n = z->count, c = z->n_chi;
  const vec *second = z->second;
  for (int i = 0; i < n; i++)
    for (int m = 0; m < 3; m++)
      FN (flush) (scratch->first + (size_t)(z->order[i] * 3 + m) * SBK_LANES + half * W, z->first[i][m]);
  for (int i = 0; i < n; i++)
    for (int j = i; j < n; j++) {
      int at = j < c   ? triangle (c, i, j)
               : i < c ? c * (c + 1) / 2 + (j - c) * c + i
                       : c * (c + 1) / 2 + (n - c) * c + (i - c) * 3 + j - c;
      int p = z->order[i], q = z->order[j];
      FN (flush) (scratch->second + (size_t)triangle (n, p < q ? p : q, p < q ? q : p) * SBK_LANES + half * W, second[at]);
    }
  FN (hessian_clear) (z);
}

static void
FN (hessian_begin) (Hessian *z, int count, const int *chosen)
{
  z->count = count;
  z->n_chi = 0;
  for (int pass = 0, at = 0; pass < 2; pass++)
    for (int i = 0; i < count; i++) {
      int chi = chosen[i] < SBK_N_MONOMIALS;
      if (chi != (pass == 0))
        continue;
      if (chi) {
        monomial_powers (chosen[i], &z->px[at], &z->py[at]);
        z->n_chi++;
      } else
        z->extra[at - z->n_chi] = chosen[i];
      z->order[at++] = i;
    }
  FN (hessian_clear) (z);
}

static void
FN (pairs_hessian) (const CpuBlock *block, double h[2][SBK_LANES], double n[SBK_LANES], int count, const int *chosen,
                    CpuHessianScratch *scratch)
{
  const SbkSpectrum *s = block->spectrum;
  Hessian z;
  FN (hessian_begin) (&z, count, chosen);
  z.thin = block->model->depth == 0 && z.n_chi == count;
  for (int half = 0; half < SBK_LANES / W; half++) {
    const double *vx = block->vx + half * W, *vy = block->vy + half * W;
    vec r_of[3];
    FN (residual_factors) (h, n, half, r_of);
    for (int64_t index = 0; index < s->n_rows; index++) {
      Row row;
      int begun = 0;
#define SEGMENT(from, to, has_a, has_b)                                                                                        \
  do {                                                                                                                         \
    if (!begun)                                                                                                                \
      FN (row_begin) (&row, s, block->model, index, vx, vy);                                                                   \
    begun = 1;                                                                                                                 \
    FN (hessian_segment) (block, &row, s->row_x[index], r_of, half, from, to, &z);                                             \
  } while (0)
      EACH_SEGMENT (block, vx, vy, index, SEGMENT);
#undef SEGMENT
      if (begun)
        FN (hessian_flush) (&z, half, scratch);
    }
  }
}
#undef Hessian
#undef Side
