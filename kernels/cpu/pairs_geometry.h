/* Derivatives of a block by the place of its pixels: u moves by (-y, x) where the detector turns and by (x, y) where it
 * grows (its ramp with it). Three parts: chi, the aperture on its ramps, k in the argument of sinc. */

#define Slopes FN (Slopes)
/* Row polynomials: d/dx of chi's differences, half turns. */
typedef struct Slopes {
  vec minus[SBK_DEGREE], plus[SBK_DEGREE];
} Slopes;

/* chi_x: monomials of d chi / dx. */
static void
FN (slopes_begin) (Slopes *slopes, const SbkSpectrum *s, const double chi_x[SBK_N_MONOMIALS], int64_t index, const double *vx,
                   const double *vy)
{
  double here[SBK_DEGREE + 1], minus[SBK_DEGREE][SBK_LANES], plus[SBK_DEGREE][SBK_LANES], x = s->row_x[index];
  row_here (chi_x, x, here);
  row_unreduced (chi_x, here, x, vx, vy, 1, W, minus);
  row_unreduced (chi_x, here, x, vx, vy, -1, W, plus);
  for (int j = 0; j < SBK_DEGREE; j++) {
    slopes->minus[j] = FN (load_double) (minus[j]);
    slopes->plus[j] = FN (load_double) (plus[j]);
  }
}

/* d/dy of a row polynomial; its constant plays no part. */
INLINE vec
FN (horner_slope) (const vec c[SBK_DEGREE], REAL y)
{
  vec p = (REAL)(SBK_DEGREE - 1) * c[SBK_DEGREE - 1];
  for (int j = SBK_DEGREE - 2; j >= 1; j--)
    p = p * y + (REAL)j * c[j];
  return p;
}

/* One pixel of one row as one sideband sees it; everything but the lanes is the same for both. */
typedef struct FN (Place) {
  REAL x, y, a0; /* position and A there */
  REAL a0_scale; /* d A (k) / d log scale */
  REAL inverse;  /* 1 / (2 edge) */
} FN (Place);

/* Adds 2 Re (conj (d side) r) of one sideband, side = A (k) A (k - s v) exp (i pi p) sinc, to sum[2], times `sign`. */
INLINE void
FN (geometry_side) (const FN (Place) * k, REAL s, REAL sign, vec vx, vec vy, vec dx2, vec p, vec px, vec py, vec argument,
                    REAL depth, int thick, vec rr, vec ri, vec sum[2])
{
  vec dx = k->x - s * vx, dy = k->y - s * vy, r2 = dx2 + dy * dy;
  vec ramp = (1 - r2) * k->inverse + (REAL)0.5;
  vec on = FN (choose) (ramp > 0, FN (choose) (ramp < 1, FN (splat) (k->inverse), FN (splat) (0)), FN (splat) (0));
  vec am = FN (choose) (ramp > 0, FN (choose) (ramp < 1, ramp, FN (splat) (1)), FN (splat) (0));
  vec s0 = FN (splat) (1), s1 = FN (splat) (0), unused, er, ei;
  if (thick)
    FN (sinc_derivatives) (argument, &s0, &s1, &unused);
  FN (turn) (p, FN (splat) (1), &er, &ei);
  vec along = er * rr + ei * ri, across = (er * ri - ei * rr) * (REAL)M_PI;
  vec amplitude = k->a0 * am;
  /* turn: (k - s v).(-y, x) = -s v.(-y, x) */
  vec vturn = k->x * vy - k->y * vx, vgrow = k->x * vx + k->y * vy;
  vec d_turn = k->a0 * on * 2 * s * vturn;
  vec d_grow = k->a0_scale * am - k->a0 * on * (2 * (dx * k->x + dy * k->y) + 1 - r2);
  sum[0] += 2 * sign
            * ((d_turn * s0 + amplitude * s1 * (depth * vturn)) * along + amplitude * s0 * (py * k->x - px * k->y) * across);
  sum[1] += 2 * sign
            * ((d_grow * s0 + amplitude * s1 * (depth * vgrow)) * along + amplitude * s0 * (px * k->x + py * k->y) * across);
}

/* gamma of W lanes at one pixel. */
INLINE void
FN (geometry_gamma) (const Row *row, REAL y, REAL a0, int thick, vec *cr, vec *ci)
{
  vec am = FN (amplitude_minus) (row, y, a0), ap = FN (amplitude_plus) (row, y, a0), br, bi;
  if (thick) {
    am *= FN (sinc) (row->x_minus + y * row->x_slope);
    ap *= FN (sinc) (row->x_plus + y * row->x_slope);
  }
  FN (turn) (FN (horner) (row->minus, y), am, cr, ci);
  FN (turn) (FN (horner) (row->plus, y), ap, &br, &bi);
  *cr -= br;
  *ci -= bi;
}

static void
FN (geometry_row) (const CpuBlock *block, const Row *row, const Slopes *slopes, const vec r_of[3], int half, int64_t index,
                   double out[2][SBK_LANES])
{
  const SbkSpectrum *s = block->spectrum;
  int thick = block->model->depth != 0;
  vec sum[2] = { { 0 } }, vx = FN (load_double) (block->vx + half * W);
  int64_t from = s->row_start[index];
  from += (block->k_first - from % block->k_stride + block->k_stride) % block->k_stride;
  for (int64_t k = from; k < s->row_start[index + 1]; k += block->k_stride) {
    FN (Place)
    at = {
      .x = (REAL)s->row_x[index], .y = (REAL)s->pixel_y[k], .a0 = (REAL)s->pixel_a[k], .inverse = (REAL)(1 / (2 * s->edge))
    };
    double r2 = s->row_x[index] * s->row_x[index] + s->pixel_y[k] * s->pixel_y[k];
    at.a0_scale = s->pixel_a[k] > 0 && s->pixel_a[k] < 1 ? -(REAL)((1 + r2) / (2 * s->edge)) : 0;
    const STORED *g = (const STORED *)block->g + 2 * SBK_LANES * k + half * W;
    vec gr = FN (load_g) (g), gi = FN (load_g) (g + SBK_LANES), cr, ci;
    FN (geometry_gamma) (row, at.y, at.a0, thick, &cr, &ci);
    vec rr = r_of[0] * gr - r_of[1] * gi - r_of[2] * cr;
    vec ri = r_of[0] * gi + r_of[1] * gr - r_of[2] * ci;
    FN (geometry_side)
    (&at, 1, 1, vx, row->vy, row->dx2_minus, FN (horner) (row->minus, at.y), FN (horner) (slopes->minus, at.y),
     FN (horner_slope) (row->minus, at.y), row->x_minus + at.y * row->x_slope, (REAL)block->model->depth, thick, rr, ri, sum);
    FN (geometry_side)
    (&at, -1, -1, vx, row->vy, row->dx2_plus, FN (horner) (row->plus, at.y), FN (horner) (slopes->plus, at.y),
     FN (horner_slope) (row->plus, at.y), row->x_plus + at.y * row->x_slope, (REAL)block->model->depth, thick, rr, ri, sum);
  }
  FN (flush) (out[0] + half * W, sum[0]);
  FN (flush) (out[1] + half * W, sum[1]);
}

static void
FN (pairs_geometry) (const CpuBlock *block, double h[2][SBK_LANES], double n[SBK_LANES], double *carry, double *derivative)
{
  const SbkSpectrum *s = block->spectrum;
  double chi_x[SBK_N_MONOMIALS] = { 0 }, own[2][SBK_LANES] = { { 0 } };
  double (*out)[SBK_LANES] = carry != NULL ? (double (*)[SBK_LANES])carry : own;
  for (int i = 0; i < SBK_DEGREE; i++)
    for (int j = 0; i + j < SBK_DEGREE; j++)
      chi_x[sbk_monomial (i, j)] = (i + 1) * block->model->chi[sbk_monomial (i + 1, j)];
  for (int half = 0; half < SBK_LANES / W; half++) {
    const double *vx = block->vx + half * W, *vy = block->vy + half * W;
    vec r_of[3];
    FN (residual_factors) (h, n, half, r_of);
    for (int64_t index = 0; index < s->n_rows; index++) {
      Row row;
      Slopes slopes;
      if (!sbk_view_row (block->view, index))
        continue;
      FN (row_begin) (&row, s, block->model, index, vx, vy);
      FN (slopes_begin) (&slopes, s, chi_x, index, vx, vy);
      FN (geometry_row) (block, &row, &slopes, r_of, half, index, out);
    }
  }
  for (int l = 0; derivative != NULL && l < SBK_LANES; l++)
    for (int i = 0; i < 2; i++)
      derivative[i] += block->valid[l] * out[i][l];
}
#undef Slopes
