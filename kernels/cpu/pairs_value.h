/* h = <gamma, G> and n = <gamma, gamma> of a block, added row by row to what is there: the value pass. */

#define Row FN (Row)
/* W lanes on one detector row. */
typedef struct Row {
  vec minus[SBK_DEGREE], plus[SBK_DEGREE]; /* chi (k) - chi (k - q) and chi (k + q) - chi (k), half turns, by powers of y */
  vec dx2_minus, dx2_plus;                 /* squared row distances of k -+ q */
  vec vy;
  vec x_minus, x_plus, x_slope; /* argument of sinc: x_-+ + y x_slope */
  REAL slope, offset;
} Row;

static void
FN (row_begin) (Row *row, const SbkSpectrum *s, const SbkModel *m, int64_t index, const double *vx, const double *vy)
{
  double x = s->row_x[index], here[SBK_DEGREE + 1], minus[SBK_DEGREE][SBK_LANES], plus[SBK_DEGREE][SBK_LANES];
  double x_minus[W], x_plus[W], slope[W], dx2_minus[W], dx2_plus[W];
  row_here (m->chi, x, here);
  row_differences (m->chi, here, x, vx, vy, 1, W, minus);
  row_differences (m->chi, here, x, vx, vy, -1, W, plus);
  for (int j = 0; j < SBK_DEGREE; j++) {
    row->minus[j] = FN (load_double) (minus[j]);
    row->plus[j] = FN (load_double) (plus[j]);
  }
  for (int l = 0; l < W; l++) {
    double v2 = vx[l] * vx[l] + vy[l] * vy[l], vt = vx[l] * m->tilt[0] + vy[l] * m->tilt[1];
    dx2_minus[l] = (x - vx[l]) * (x - vx[l]);
    dx2_plus[l] = (x + vx[l]) * (x + vx[l]);
    x_minus[l] = m->depth * (x * vx[l] - v2 / 2 - vt);
    x_plus[l] = m->depth * (x * vx[l] + v2 / 2 - vt);
    slope[l] = m->depth * vy[l];
  }
  row->dx2_minus = FN (load_double) (dx2_minus);
  row->dx2_plus = FN (load_double) (dx2_plus);
  row->vy = FN (load_double) (vy);
  row->x_minus = FN (load_double) (x_minus);
  row->x_plus = FN (load_double) (x_plus);
  row->x_slope = FN (load_double) (slope);
  row->slope = (REAL)(1 / (2 * s->edge));
  row->offset = (REAL)(1 + s->edge);
}

INLINE vec
FN (horner) (const vec c[SBK_DEGREE], REAL y)
{
  vec p = c[SBK_DEGREE - 1];
  for (int j = SBK_DEGREE - 2; j >= 0; j--)
    p = p * y + c[j];
  return p;
}

INLINE vec
FN (amplitude_minus) (const Row *row, REAL y, REAL a)
{
  vec dy = y - row->vy;
  return a * FN (aperture) (row->dx2_minus + dy * dy, row->slope, row->offset);
}

INLINE vec
FN (amplitude_plus) (const Row *row, REAL y, REAL a)
{
  vec dy = y + row->vy;
  return a * FN (aperture) (row->dx2_plus + dy * dy, row->slope, row->offset);
}

#define Value FN (Value)
typedef struct Value {
  vec hr, hi, n;
} Value;

/* Pixels [from, to) of a row, of which a (k - q inside) or b (k + q inside) or both can differ from zero. */
INLINE void
FN (value_segment) (const CpuBlock *block, const Row *row, int half, int64_t from, int64_t to, int has_a, int has_b, int thick,
                    Value *sum)
{
  const SbkSpectrum *s = block->spectrum;
  vec hr = sum->hr, hi = sum->hi, n = sum->n;
  for (int64_t k = from; k < to; k += block->k_stride) {
    REAL y = (REAL)s->pixel_y[k], a0 = (REAL)s->pixel_a[k];
    const STORED *g = (const STORED *)block->g + 2 * SBK_LANES * k + half * W;
    vec gr = FN (load_g) (g), gi = FN (load_g) (g + SBK_LANES), cr = { 0 }, ci = { 0 };
    if (has_a) {
      vec amplitude = FN (amplitude_minus) (row, y, a0), re, im;
      if (thick)
        amplitude *= FN (sinc) (row->x_minus + y * row->x_slope);
      FN (turn) (FN (horner) (row->minus, y), amplitude, &re, &im);
      cr = re;
      ci = im;
    }
    if (has_b) {
      vec amplitude = FN (amplitude_plus) (row, y, a0), re, im;
      if (thick)
        amplitude *= FN (sinc) (row->x_plus + y * row->x_slope);
      FN (turn) (FN (horner) (row->plus, y), amplitude, &re, &im);
      cr = has_a ? cr - re : -re;
      ci = has_a ? ci - im : -im;
    }
    hr += cr * gr + ci * gi;
    hi += cr * gi - ci * gr;
    n += cr * cr + ci * ci;
  }
  sum->hr = hr;
  sum->hi = hi;
  sum->n = n;
}

/* Calls SEGMENT (from, to, has_a, has_b) for the parts of a row that can overlap. */
#define EACH_SEGMENT(block, vx, vy, index, SEGMENT)                                                                            \
  do {                                                                                                                         \
    double minus_x_[W], minus_y_[W];                                                                                           \
    int64_t cut_[4];                                                                                                           \
    if (!sbk_view_row ((block)->view, index))                                                                                  \
      break;                                                                                                                   \
    for (int l_ = 0; l_ < W; l_++) {                                                                                           \
      minus_x_[l_] = -(vx)[l_];                                                                                                \
      minus_y_[l_] = -(vy)[l_];                                                                                                \
    }                                                                                                                          \
    row_reach ((block)->spectrum, index, vx, vy, W, &cut_[0], &cut_[1]);                                                       \
    row_reach ((block)->spectrum, index, minus_x_, minus_y_, W, &cut_[2], &cut_[3]);                                           \
    int64_t a0_ = cut_[0], a1_ = cut_[1], b0_ = cut_[2], b1_ = cut_[3];                                                        \
    for (int i_ = 1; i_ < 4; i_++)                                                                                             \
      for (int j_ = i_; j_ > 0 && cut_[j_] < cut_[j_ - 1]; j_--) {                                                             \
        int64_t t_ = cut_[j_];                                                                                                 \
        cut_[j_] = cut_[j_ - 1];                                                                                               \
        cut_[j_ - 1] = t_;                                                                                                     \
      }                                                                                                                        \
    for (int i_ = 0; i_ < 3; i_++) {                                                                                           \
      int64_t from_ = cut_[i_], to_ = cut_[i_ + 1];                                                                            \
      int a_ = from_ >= a0_ && to_ <= a1_, b_ = from_ >= b0_ && to_ <= b1_;                                                    \
      from_ += ((block)->k_first - from_ % (block)->k_stride + (block)->k_stride) % (block)->k_stride;                         \
      if (from_ < to_ && (a_ || b_))                                                                                           \
        SEGMENT (from_, to_, a_, b_);                                                                                          \
    }                                                                                                                          \
  } while (0)

/* The three kinds of segment with constant flags, so that each compiles to a loop of its own. */
#define SEGMENT_KINDS(CALL, from, to, a, b)                                                                                    \
  do {                                                                                                                         \
    if ((a) && (b))                                                                                                            \
      CALL (from, to, 1, 1);                                                                                                   \
    else if (a)                                                                                                                \
      CALL (from, to, 1, 0);                                                                                                   \
    else                                                                                                                       \
      CALL (from, to, 0, 1);                                                                                                   \
  } while (0)

static void
FN (pairs_value) (const CpuBlock *block, double h[2][SBK_LANES], double n[SBK_LANES])
{
  const SbkSpectrum *s = block->spectrum;
  int thick = block->model->depth != 0;
  for (int half = 0; half < SBK_LANES / W; half++) {
    const double *vx = block->vx + half * W, *vy = block->vy + half * W;
    for (int64_t index = 0; index < s->n_rows; index++) {
      Row row;
      Value sum = { { 0 }, { 0 }, { 0 } };
      int begun = 0;
#define THIN_CALL(from, to, a, b) FN (value_segment) (block, &row, half, from, to, a, b, 0, &sum)
#define THICK_CALL(from, to, a, b) FN (value_segment) (block, &row, half, from, to, a, b, 1, &sum)
#define SEGMENT(from, to, a, b)                                                                                                \
  do {                                                                                                                         \
    if (!begun)                                                                                                                \
      FN (row_begin) (&row, s, block->model, index, vx, vy);                                                                   \
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
      if (!begun)
        continue;
      FN (flush) (h[0] + half * W, sum.hr);
      FN (flush) (h[1] + half * W, sum.hi);
      FN (flush) (n + half * W, sum.n);
    }
  }
  for (int l = 0; l < SBK_LANES; l++) {
    h[0][l] *= block->valid[l];
    h[1][l] *= block->valid[l];
    n[l] *= block->valid[l];
  }
}
#undef Value
