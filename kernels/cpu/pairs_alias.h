/* Aliases: sums of one measured frequency over all pairs of the frequencies that it holds together, and the derivatives of
 * what they leave of G. gamma of a few pixels is made once, then multiplied with itself as a matrix. */

/* gamma of W lanes at `count` pixels of a row from pixel `from` on (in strides), `stride` reals apart. */
static void
FN (alias_gamma) (const CpuAliasGroup *group, const Row *row, int64_t from, int count, REAL *re, REAL *im, int64_t stride)
{
  const SbkSpectrum *s = group->spectrum;
  int thick = group->model->depth != 0;
  for (int p = 0; p < count; p++) {
    int64_t k = from + p * group->k_stride;
    REAL y = (REAL)s->pixel_y[k], a0 = (REAL)s->pixel_a[k];
    vec am = FN (amplitude_minus) (row, y, a0), ap = FN (amplitude_plus) (row, y, a0), ar, ai, br, bi;
    if (thick) {
      am *= FN (sinc) (row->x_minus + y * row->x_slope);
      ap *= FN (sinc) (row->x_plus + y * row->x_slope);
    }
    FN (turn) (FN (horner) (row->minus, y), am, &ar, &ai);
    FN (turn) (FN (horner) (row->plus, y), ap, &br, &bi);
    ar -= br;
    ai -= bi;
    memcpy (re + p * stride, &ar, sizeof ar);
    memcpy (im + p * stride, &ai, sizeof ai);
  }
}

/* gamma of all members at a few pixels of a row: [pixel][re | im][stride], each at its lane, G at lane tiles * SBK_LANES. */
INLINE void
FN (alias_fill) (const CpuAliasGroup *group, int64_t index, int64_t from, int count)
{
  int64_t lanes = (int64_t)group->tiles * SBK_LANES, half = lanes + SBK_LANES;
  REAL *gamma = (REAL *)group->gamma;
  for (int64_t at = 0; at < lanes; at += W) {
    Row row;
    if (at >= group->n) {
      for (int p = 0; p < 2 * count; p++)
        memset (gamma + p * half + at, 0, W * sizeof (REAL));
      continue;
    }
    FN (row_begin) (&row, group->spectrum, group->model, index, group->vx + at, group->vy + at);
    FN (alias_gamma) (group, &row, from, count, gamma + at, gamma + half + at, 2 * half);
  }
  for (int p = 0; p < count; p++) {
    const STORED *g = (const STORED *)group->g + 2 * SBK_LANES * (from + p * group->k_stride);
    gamma[2 * p * half + lanes] = (REAL)g[0];
    gamma[(2 * p + 1) * half + lanes] = (REAL)g[SBK_LANES];
  }
}

/* Adds conj (z_r) gamma_l of `count` pixels for four rows r, at these lanes of the buffer, and W lanes l. */
INLINE void
FN (alias_multiply) (const REAL *gamma, int64_t half, int count, const int64_t row[4], int64_t at, vec re[4], vec im[4])
{
  for (int i = 0; i < 4; i++)
    re[i] = im[i] = FN (splat) (0);
  for (int p = 0; p < count; p++) {
    const REAL *zr = gamma + 2 * p * half, *zi = zr + half;
    vec gr, gi;
    memcpy (&gr, zr + at, sizeof gr);
    memcpy (&gi, zi + at, sizeof gi);
    for (int i = 0; i < 4; i++) {
      re[i] += zr[row[i]] * gr + zi[row[i]] * gi;
      im[i] += zr[row[i]] * gi - zi[row[i]] * gr;
    }
  }
}

/* The products of a few pixels into group->sum: row r holds
 * <gamma_r, gamma_l> of l from r's own vector on, row n <G, gamma_l>. */
static void
FN (alias_products) (const CpuAliasGroup *group, int count)
{
  int64_t lanes = (int64_t)group->tiles * SBK_LANES, half = lanes + SBK_LANES;
  for (int first = 0; first <= group->n; first += 4) {
    int64_t row[4];
    for (int i = 0; i < 4; i++)
      row[i] = first + i < group->n ? first + i : lanes;
    for (int64_t at = first + 3 < group->n ? first / W * W : 0; at < group->n; at += W) {
      vec re[4], im[4];
      FN (alias_multiply) ((const REAL *)group->gamma, half, count, row, at, re, im);
      for (int i = 0; i < 4 && first + i <= group->n; i++) {
        double *sum = group->sum + 2 * (first + i) * lanes + at;
        FN (flush) (sum, re[i]);
        FN (flush) (sum + lanes, im[i]);
      }
    }
  }
}

/* group->sum as the parts before left it in out. */
static void
FN (alias_resume) (const CpuAliasGroup *group, const double *out)
{
  int64_t lanes = (int64_t)group->tiles * SBK_LANES;
  for (int m = 0; m < group->n; m++)
    for (int l = m; l < group->n; l++) {
      group->sum[2 * m * lanes + l] = *out++;
      group->sum[(2 * m + 1) * lanes + l] = *out++;
    }
  for (int m = 0; m < group->n; m++) {
    group->sum[2 * group->n * lanes + m] = *out++;
    group->sum[(2 * group->n + 1) * lanes + m] = -*out++;
  }
}

static void
FN (alias_sums) (const CpuAliasGroup *group, double *out)
{
  const SbkSpectrum *s = group->spectrum;
  int64_t lanes = (int64_t)group->tiles * SBK_LANES, at = 0;
  memset (group->sum, 0, (size_t)(group->n + 1) * 2 * (size_t)lanes * sizeof (double));
  if (group->add)
    FN (alias_resume) (group, out);
  for (int64_t index = 0; index < s->n_rows; index++) {
    int64_t from = s->row_start[index], end = s->row_start[index + 1];
    from += (group->k_first - from % group->k_stride + group->k_stride) % group->k_stride;
    while (from < end && sbk_view_row (group->view, index)) {
      int64_t left = (end - from + group->k_stride - 1) / group->k_stride;
      int count = (int)(left < CPU_ALIAS_PIXELS ? left : CPU_ALIAS_PIXELS);
      FN (alias_fill) (group, index, from, count);
      FN (alias_products) (group, count);
      from += count * group->k_stride;
    }
  }
  for (int m = 0; m < group->n; m++)
    for (int l = m; l < group->n; l++) {
      out[at++] = group->sum[2 * m * lanes + l];
      out[at++] = l == m ? 0 : group->sum[(2 * m + 1) * lanes + l];
    }
  for (int m = 0; m < group->n; m++) {
    out[at++] = group->sum[2 * group->n * lanes + m];
    out[at++] = -group->sum[(2 * group->n + 1) * lanes + m];
  }
}

/* G - sum_m x_m gamma_m at every pixel, in all lanes alike, where the gradient expects G. */
static void
FN (alias_residual) (const CpuAliasGroup *group)
{
  const SbkSpectrum *s = group->spectrum;
  int64_t lanes = (int64_t)group->tiles * SBK_LANES, half = lanes + SBK_LANES;
  for (int64_t index = 0; index < s->n_rows; index++) {
    int64_t from = s->row_start[index], end = s->row_start[index + 1];
    from += (group->k_first - from % group->k_stride + group->k_stride) % group->k_stride;
    while (from < end && sbk_view_row (group->view, index)) {
      int64_t left = (end - from + group->k_stride - 1) / group->k_stride;
      int count = (int)(left < CPU_ALIAS_PIXELS ? left : CPU_ALIAS_PIXELS);
      FN (alias_fill) (group, index, from, count);
      for (int p = 0; p < count; p++) {
        const REAL *gr = (const REAL *)group->gamma + 2 * p * half, *gi = gr + half;
        double re = (double)gr[lanes], im = (double)gi[lanes];
        for (int m = 0; m < group->n; m++) {
          re -= group->x[2 * m] * (double)gr[m] - group->x[2 * m + 1] * (double)gi[m];
          im -= group->x[2 * m] * (double)gi[m] + group->x[2 * m + 1] * (double)gr[m];
        }
        STORED *to = (STORED *)group->residual + 2 * SBK_LANES * (from + p * group->k_stride);
        for (int l = 0; l < SBK_LANES; l++) {
          to[l] = (STORED)re;
          to[SBK_LANES + l] = (STORED)im;
        }
      }
      from += count * group->k_stride;
    }
  }
}

/* dS = 2 Re sum_m conj (x_m) <d gamma_m, residual>: the gradient of one frequency with r = conj (x_m) residual. */
static void
FN (alias_gradient) (const CpuAliasGroup *group, double gradient[SBK_N])
{
  FN (alias_residual) (group);
  for (int tile = 0; tile < group->tiles; tile++) {
    CpuBlock block = { .spectrum = group->spectrum,
                       .g = group->residual,
                       .vx = group->vx + tile * SBK_LANES,
                       .vy = group->vy + tile * SBK_LANES,
                       .k_first = group->k_first,
                       .k_stride = group->k_stride,
                       .view = group->view,
                       .model = group->model };
    double re[SBK_LANES], im[SBK_LANES];
    vec r_of[SBK_LANES / W][3];
    for (int l = 0; l < SBK_LANES; l++) {
      int m = tile * SBK_LANES + l;
      block.valid[l] = m < group->n;
      re[l] = m < group->n ? group->x[2 * m] : 0;
      im[l] = m < group->n ? -group->x[2 * m + 1] : 0;
    }
    for (int part = 0; part < SBK_LANES / W; part++) {
      r_of[part][0] = FN (load_double) (re + part * W);
      r_of[part][1] = FN (load_double) (im + part * W);
      r_of[part][2] = FN (splat) (0);
    }
    BlockMoments m;
    memset (&m, 0, sizeof m);
    FN (gradient_with) (&block, r_of, &m);
    gradient_of_block (&block, &m, gradient);
  }
}
