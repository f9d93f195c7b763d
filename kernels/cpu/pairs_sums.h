/* Sums over the bright field that a reconstruction needs, for up to SBK_LANES fine frequencies. */

/* The ssb sets, decided in float64: k - q inside and k + q outside (+1), the other way round (-1), neither or both (0). */
INLINE vec
FN (ssb_side) (double x, double y, const double *vx, const double *vy)
{
  vec side = { 0 };
  for (int l = 0; l < W; l++) {
    double mx = x - vx[l], my = y - vy[l], px = x + vx[l], py = y + vy[l];
    int in_minus = mx * mx + my * my <= 1, in_plus = px * px + py * py <= 1;
    side[l] = (REAL)(in_minus - in_plus);
  }
  return side;
}

/* Row by row: the weight exp (i pi shift (y)), or k.v = slope y + offset. */
#define Weight FN (Weight)
typedef struct Weight {
  vec shift[SBK_DEGREE];
  vec offset, slope;
} Weight;

INLINE void
FN (weight_begin) (Weight *weight, SbkSumKind kind, const SbkModel *m, double x, const double *vx, const double *vy)
{
  double shift[SBK_DEGREE][SBK_LANES], offset[W];
  if (kind == SBK_SUM_SHIFTED) {
    row_shift (m->chi, x, vx, vy, W, shift);
    for (int j = 0; j < SBK_DEGREE; j++)
      weight->shift[j] = FN (load_double) (shift[j]);
  } else if (kind == SBK_SUM_MOMENT) {
    for (int l = 0; l < W; l++)
      offset[l] = x * vx[l];
    weight->offset = FN (load_double) (offset);
    weight->slope = FN (load_double) (vy);
  }
}

/* <w,G> and <w,gamma> of a pixel; seen: > 0 where a or b is there. */
INLINE void
FN (sums_weighted) (SbkSumKind kind, const Weight *weight, REAL y, vec seen, vec cr, vec ci, vec gr, vec gi, vec sum[8])
{
  vec wr = { 0 }, wi = { 0 };
  if (kind == SBK_SUM_SHIFTED)
    FN (turn) (FN (horner) (weight->shift, y), FN (choose) (seen > 0, FN (splat) (1), FN (splat) (0)), &wr, &wi);
  else
    wr = FN (choose) (seen > 0, weight->offset + y * weight->slope, FN (splat) (0));
  sum[0] += wr * gr + wi * gi;
  sum[1] += wr * gi - wi * gr;
  sum[2] += wr * cr + wi * ci;
  sum[3] += wr * ci - wi * cr;
}

INLINE void
FN (sums_pixel) (SbkSumKind kind, vec side, vec ar, vec ai, vec br, vec bi, vec gr, vec gi, vec sum[8])
{
  if (kind == SBK_SUM_MATCHED) {
    vec cr = ar - br, ci = ai - bi;
    sum[0] += cr * gr + ci * gi;
    sum[1] += cr * gi - ci * gr;
    sum[2] += cr * cr + ci * ci;
  } else if (kind == SBK_SUM_SSB) {
    /* one of the two at most counts; its unit phase times G, with the sign of its side */
    vec re = FN (choose) (side > 0, ar, FN (choose) (side < 0, br, FN (splat) (0)));
    vec im = FN (choose) (side > 0, ai, FN (choose) (side < 0, bi, FN (splat) (0)));
    vec modulus = { 0 };
    for (int l = 0; l < W; l++)
      modulus[l] = (REAL)sqrt ((double)re[l] * (double)re[l] + (double)im[l] * (double)im[l]);
    vec inverse = FN (choose) (modulus > 0, side / FN (choose) (modulus > 0, modulus, FN (splat) (1)), FN (splat) (0));
    sum[0] += inverse * (re * gr + im * gi);
    sum[1] += inverse * (re * gi - im * gr);
    sum[2] += modulus;
  } else {
    sum[0] += ar * ar + ai * ai;
    sum[1] += br * br + bi * bi;
    sum[2] += ar * br + ai * bi;
    sum[3] += ar * bi - ai * br;
    sum[4] += ar * gr + ai * gi;
    sum[5] += ar * gi - ai * gr;
    sum[6] += br * gr + bi * gi;
    sum[7] += br * gi - bi * gr;
  }
}

static void
FN (pairs_sums) (const CpuFine *fine, double *out)
{
  const SbkSpectrum *s = fine->spectrum;
  CpuBlock block = {
    .spectrum = s, .k_first = fine->k_first, .k_stride = fine->k_stride, .view = fine->view, .model = fine->model
  };
  int width = sbk_sum_width (fine->kind), thick = fine->model->depth != 0;
  double total[8][SBK_LANES];
  memset (total, 0, sizeof total);
  for (int l = 0; fine->add && l < fine->lanes; l++)
    for (int i = 0; i < width; i++)
      total[i][l] = out[l * width + i];
  for (int half = 0; half * W < fine->lanes; half++) {
    const double *vx = fine->vx + half * W, *vy = fine->vy + half * W;
    for (int64_t index = 0; index < s->n_rows; index++) {
      Row row;
      Weight weight;
      vec sum[8] = { { 0 } };
      int begun = 0;
#define SEGMENT(from, to, a, b)                                                                                                \
  do {                                                                                                                         \
    if (!begun) {                                                                                                              \
      FN (row_begin) (&row, s, fine->model, index, vx, vy);                                                                    \
      FN (weight_begin) (&weight, fine->kind, fine->model, s->row_x[index], vx, vy);                                           \
    }                                                                                                                          \
    begun = 1;                                                                                                                 \
    for (int64_t k = from; k < to; k += fine->k_stride) {                                                                      \
      REAL y = (REAL)s->pixel_y[k], a0 = (REAL)s->pixel_a[k];                                                                  \
      vec ar, ai, br, bi, gr = { 0 }, gi = { 0 }, side = { 0 };                                                                \
      vec am = FN (amplitude_minus) (&row, y, a0), ap = FN (amplitude_plus) (&row, y, a0);                                     \
      vec seen = am + ap;                                                                                                      \
      if (thick) {                                                                                                             \
        am *= FN (sinc) (row.x_minus + y * row.x_slope);                                                                       \
        ap *= FN (sinc) (row.x_plus + y * row.x_slope);                                                                        \
      }                                                                                                                        \
      FN (turn) (FN (horner) (row.minus, y), am, &ar, &ai);                                                                    \
      FN (turn) (FN (horner) (row.plus, y), ap, &br, &bi);                                                                     \
      for (int l = 0; l < W; l++) {                                                                                            \
        const STORED *g = (const STORED *)fine->g[half * W + l] + 2 * SBK_LANES * k;                                           \
        gr[l] = (REAL)g[0];                                                                                                    \
        gi[l] = (REAL)g[SBK_LANES] * (REAL)fine->sign[half * W + l];                                                           \
      }                                                                                                                        \
      if (fine->kind == SBK_SUM_SSB)                                                                                           \
        side = FN (ssb_side) (s->row_x[index], s->pixel_y[k], vx, vy);                                                         \
      if (fine->kind == SBK_SUM_SHIFTED || fine->kind == SBK_SUM_MOMENT)                                                       \
        FN (sums_weighted) (fine->kind, &weight, y, seen, ar - br, ai - bi, gr, gi, sum);                                      \
      else                                                                                                                     \
        FN (sums_pixel) (fine->kind, side, ar, ai, br, bi, gr, gi, sum);                                                       \
    }                                                                                                                          \
  } while (0)
      EACH_SEGMENT (&block, vx, vy, index, SEGMENT);
#undef SEGMENT
      for (int i = 0; begun && i < width; i++)
        FN (flush) (total[i] + half * W, sum[i]);
    }
  }
  for (int l = 0; l < fine->lanes; l++)
    for (int i = 0; i < width; i++)
      out[l * width + i] = total[i][l];
}
#undef Row
#undef Weight
