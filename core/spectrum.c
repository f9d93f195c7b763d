#include "core/spectrum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

#define MIN_BAND 16        /* frequencies */
#define SMALLEST_PREFIX 32 /* frequencies that the coarsest search sees, a full disk of |q| */

static const SbParam rows[] = {
  { "band", "Band limits", "k_max", "Frequencies that the fit uses: low,high in units of k_max (semi-angle / wavelength).",
    SB_PARAM_PAIR, G_STRUCT_OFFSET (SbSpectrumOptions, band), NAN, NULL, 0, 2, 0, 2, NULL, NULL, SB_PARAM_ADVANCED },
  { "edge", "Edge taper", "scan points", "Width of a cosine taper at the border of a scan that is not periodic; 0: none.",
    SB_PARAM_INT, G_STRUCT_OFFSET (SbSpectrumOptions, edge), 0, NULL, 0, 1000, 0, 32, NULL, NULL, SB_PARAM_ADVANCED },
};
const SbParamGroup spectrum_params = { "spectrum", "Spectrum", sizeof (SbSpectrumOptions), rows, G_N_ELEMENTS (rows) };

gboolean
spectrum_fail (SbkStatus status, const SbkError *kernel, GError **error)
{
  switch (status) {
  case SBK_OK:
    return TRUE;
  case SBK_CANCELLED:
    return sb_fail (error, SB_ERROR_CANCELLED, "Cancelled.");
  case SBK_NO_MEMORY:
    return sb_fail (error, SB_ERROR_MEMORY, "%s", kernel->message);
  default:
    return sb_fail (error, SB_ERROR_BACKEND, "%s", kernel->message);
  }
}

/* ---- pixels ---- */

typedef struct {
  gint64 n, n_rows;
  gint64 *column;    /* place in columns->counts */
  gint64 *row_start;
  double *row_x, *pixel_y;
} BrightField;

static void
bright_field_clear (BrightField *b)
{
  g_free (b->column);
  g_free (b->row_start);
  g_free (b->row_x);
  g_free (b->pixel_y);
}

static int
compare_pixel (const void *a, const void *b)
{
  gint32 x = *(const gint32 *)a, y = *(const gint32 *)b;
  return (x > y) - (x < y);
}

/* Decided once, in float64 and detector pixels, before any rotation. */
static gboolean
bright_field_find (BrightField *b, const SbColumns *columns, double semiangle, const SbCalibration *calibration,
                   GError **error)
{
  const SbPattern *p = &columns->pattern;
  double unit = calibration->sampling / semiangle, limit = semiangle * (1 + 1e-9);
  memset (b, 0, sizeof *b);
  b->column = sb_alloc ((gsize)columns->n_pixels, sizeof *b->column, "The bright-field pixels", error);
  b->pixel_y = sb_alloc ((gsize)columns->n_pixels, sizeof *b->pixel_y, "The bright-field pixels", error);
  b->row_start = g_new0 (gint64, p->rows + 1);
  b->row_x = g_new0 (double, p->rows);
  if (b->column == NULL || b->pixel_y == NULL)
    return FALSE;
  for (gint64 r = 0; r < p->rows; r++) {
    gint64 before = b->n;
    for (gint64 c = 0; c < p->cols; c++) {
      double distance = hypot ((double)r - calibration->centre[0], (double)c - calibration->centre[1]);
      gint32 pixel = (gint32)(r * p->cols + c);
      if (distance * calibration->sampling > limit || p->bad[pixel])
        continue;
      const gint32 *found = bsearch (&pixel, columns->pixel, (gsize)columns->n_pixels, sizeof pixel, compare_pixel);
      if (found == NULL)
        return sb_fail (error, SB_ERROR_DATA,
                        "The bright field (centre %.1f,%.1f, radius %.1f pixels) leaves the pixels that were kept while the "
                        "frames came in; give centre and sampling before the first frame.",
                        calibration->centre[0], calibration->centre[1], semiangle / calibration->sampling);
      b->column[b->n] = found - columns->pixel;
      b->pixel_y[b->n++] = ((double)c - calibration->centre[1]) * unit;
    }
    if (b->n == before)
      continue;
    b->row_x[b->n_rows] = ((double)r - calibration->centre[0]) * unit;
    b->row_start[++b->n_rows] = b->n;
  }
  if (b->n == 0)
    return sb_fail (error, SB_ERROR_DATA, "No detector pixel lies in the bright field (centre %.1f,%.1f, sampling %.4g "
                    "mrad/pixel, semi-angle %.4g mrad); check centre and sampling.", calibration->centre[0],
                    calibration->centre[1], calibration->sampling, semiangle);
  return TRUE;
}

/* ---- band ---- */

typedef struct {
  gint64 index;
  gboolean in_band;
  double row, col, r, angle;
  int shell;
} Frequency;

static const double shells[] = { 0.08, 0.16, 0.25, 0.325, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1,
                                 1.2,  1.3,  1.4,  1.5,   1.6, 1.7, 1.8, 1.9, 2.0 };

static int
by_radius (const void *a, const void *b)
{
  const Frequency *x = a, *y = b;
  if (x->in_band != y->in_band)
    return x->in_band ? -1 : 1;
  if (x->r != y->r)
    return x->r < y->r ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

/* Band first, shell by shell; within a shell by angle, so that neighbours in memory overlap alike. */
static int
by_shell (const void *a, const void *b)
{
  const Frequency *x = a, *y = b;
  if (x->in_band != y->in_band)
    return x->in_band ? -1 : 1;
  if (x->shell != y->shell)
    return x->shell < y->shell ? -1 : 1;
  if (x->angle != y->angle)
    return x->angle < y->angle ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

static gint64
signed_frequency (gint64 i, gint64 n)
{
  return i < (n + 1) / 2 ? i : i - n;
}

/* One of each +-q pair with 0 < |q| < 2 k_max. Nyquist rows and columns, and what the user's limits leave out, are kept
 * outside the band for upsampled reconstructions. */
static GArray *
frequencies_list (gint64 n_rows, gint64 n_cols, const double step[2], double k_max, const double band[2])
{
  GArray *list = g_array_new (FALSE, FALSE, sizeof (Frequency));
  double low = isnan (band[0]) ? 0 : band[0], high = isnan (band[1]) ? 2 : band[1];
  for (gint64 i = 0; i < n_rows; i++)
    for (gint64 j = 0; j < n_cols; j++) {
      gint64 si = signed_frequency (i, n_rows), sj = signed_frequency (j, n_cols);
      gint64 ni = signed_frequency ((n_rows - i) % n_rows, n_rows), nj = signed_frequency ((n_cols - j) % n_cols, n_cols);
      if ((si == 0 && sj == 0) || si < ni || (si == ni && sj < nj))
        continue;
      Frequency f = { .index = i * n_cols + j };
      f.row = (double)si / ((double)n_rows * step[0] * k_max);
      f.col = (double)sj / ((double)n_cols * step[1] * k_max);
      f.r = hypot (f.row, f.col);
      if (!(f.r < 2))
        continue;
      f.angle = atan2 (f.col, f.row);
      gboolean nyquist = (n_rows % 2 == 0 && si == -n_rows / 2) || (n_cols % 2 == 0 && sj == -n_cols / 2);
      f.in_band = !nyquist && f.r >= low && f.r < high;
      g_array_append_val (list, f);
    }
  if (list->len == 0) /* no array to sort */
    return list;
  qsort (list->data, list->len, sizeof (Frequency), by_radius);
  for (guint i = 0; i < list->len; i++) {
    Frequency *f = &g_array_index (list, Frequency, i);
    while (f->shell < (int)G_N_ELEMENTS (shells) - 1 && f->r >= shells[f->shell])
      f->shell++;
    f->shell = i < SMALLEST_PREFIX ? 0 : f->shell + 1;
  }
  qsort (list->data, list->len, sizeof (Frequency), by_shell);
  return list;
}

static void
take_frequencies (SbSpectrum *s, const GArray *list)
{
  s->n_q = list->len;
  s->index = g_new (gint64, s->n_q);
  s->q = g_new (double, 2 * s->n_q);
  s->slot = g_new (gint64, s->scan_rows * s->scan_cols);
  for (gint64 i = 0; i < s->scan_rows * s->scan_cols; i++)
    s->slot[i] = -1;
  for (gint64 i = 0; i < s->n_q; i++) {
    const Frequency *f = &g_array_index (list, Frequency, i);
    s->index[i] = f->index;
    s->q[2 * i] = f->row;
    s->q[2 * i + 1] = f->col;
    s->slot[f->index] = i;
    s->n_band += f->in_band;
  }
}

/* ---- */

static SbkType
kernel_type (SbDtype dtype)
{
  switch (dtype) {
  case SB_U8:
    return SBK_U8;
  case SB_U16:
    return SBK_U16;
  case SB_U32:
    return SBK_U32;
  default:
    return SBK_F32;
  }
}

static double
mean_aperture2 (const BrightField *b, double edge)
{
  double sum = 0;
  for (gint64 r = 0; r < b->n_rows; r++)
    for (gint64 k = b->row_start[r]; k < b->row_start[r + 1]; k++) {
      double r2 = b->row_x[r] * b->row_x[r] + b->pixel_y[k] * b->pixel_y[k];
      double a = CLAMP ((1 - r2) / (2 * edge) + 0.5, 0.0, 1.0);
      sum += a * a;
    }
  return sum / (double)b->n;
}

static gboolean
transform (SbSpectrum *s, const SbColumns *columns, const BrightField *b, const SbSpectrumOptions *options,
           SbProgress *progress, GError **error)
{
  double sum = 0;
  for (gint64 k = 0; k < b->n; k++)
    sum += columns->pattern.mean[columns->pixel[b->column[k]]];
  s->mean_counts = sum / (double)b->n;
  if (!(s->mean_counts > 0))
    return sb_fail (error, SB_ERROR_DATA, "The bright field holds no counts (mean %g); check centre and sampling.",
                    s->mean_counts);
  s->mean_a2 = mean_aperture2 (b, s->edge_width);
  if (2 * options->edge > MIN (s->scan_rows, s->scan_cols))
    return sb_fail (error, SB_ERROR_ARGUMENT, "edge = %" G_GINT64_FORMAT " is more than half of the scan (%" G_GINT64_FORMAT
                    " x %" G_GINT64_FORMAT "); give a smaller edge.", options->edge, s->scan_rows, s->scan_cols);
  SbkPixels pixels = { b->n, b->n_rows, b->row_start, b->row_x, b->pixel_y, s->edge_width };
  SbkBand band = { s->scan_rows, s->scan_cols, s->n_q, s->index };
  SbkCounts counts = { kernel_type (columns->dtype), columns->counts, b->column, s->mean_a2 / s->mean_counts, options->edge };
  SbkError kernel = { "" };
  return spectrum_fail (s->engine->backend->spectrum_from_counts (s->engine->context, &s->g, &pixels, &band, &counts,
                                                                  progress_cancel_flag (progress), &kernel),
                        &kernel, error);
}

static gboolean
check_band (const SbSpectrum *s, GError **error)
{
  if (s->n_band >= MIN_BAND)
    return TRUE;
  return sb_fail (error, SB_ERROR_DATA,
                  "Only %" G_GINT64_FORMAT " scan frequencies lie in the band (|q| < 2 k_max = %.3g 1/Å), at least %d are needed; "
                  "the scan (%" G_GINT64_FORMAT " x %" G_GINT64_FORMAT " points, step %g, %g Å) is too small or the band too narrow: scan more "
                  "points, or give a wider band.",
                  s->n_band, 2 * s->k_max, MIN_BAND, s->scan_rows, s->scan_cols, s->optics.step[0], s->optics.step[1]);
}

SbSpectrum *
spectrum_new (SbEngine *engine, const SbColumns *columns, const SbOptics *optics, const SbCalibration *calibration,
              const SbSpectrumOptions *options, SbProgress *progress, GError **error)
{
  BrightField bright = { 0 };
  SbSpectrum *s = g_new0 (SbSpectrum, 1);
  s->engine = engine;
  s->optics = *optics;
  s->k_max = optics_k_max (optics);
  s->scan_rows = columns->acquisition->used_rows;
  s->scan_cols = columns->acquisition->used_cols;
  s->edge_width = calibration->sampling / optics->semiangle;
  s->saturated = columns->pattern.saturated;
  GArray *list = frequencies_list (s->scan_rows, s->scan_cols, optics->step, s->k_max, options->band);
  take_frequencies (s, list);
  g_array_unref (list);
  gboolean ok = check_band (s, error) && bright_field_find (&bright, columns, optics->semiangle, calibration, error);
  s->n_pixels = bright.n;
  ok = ok && transform (s, columns, &bright, options, progress, error) && spectrum_set_frame (s, &calibration->frame, error);
  bright_field_clear (&bright);
  SbkError kernel = { "" };
  SbkView all = { 0, s->n_band, 1, 0, 0, 1 };
  ok = ok && spectrum_fail (engine->backend->power (s->g, &all, &s->power, &kernel), &kernel, error);
  if (ok && !(s->power > 0))
    ok = sb_fail (error, SB_ERROR_DATA, "The bright field does not vary over the scan (%" G_GINT64_FORMAT " x %" G_GINT64_FORMAT
                  " points): there is nothing to fit; check scan_shape and that the beam scanned a specimen.", s->scan_rows,
                  s->scan_cols);
  if (ok)
    return s;
  spectrum_free (s);
  return NULL;
}

void
spectrum_free (SbSpectrum *spectrum)
{
  if (spectrum == NULL)
    return;
  if (spectrum->g != NULL && engine_check (spectrum->engine, NULL))
    spectrum->engine->backend->spectrum_free (spectrum->g);
  g_free (spectrum->index);
  g_free (spectrum->q);
  g_free (spectrum->slot);
  g_free (spectrum);
}

gboolean
spectrum_set_frame (SbSpectrum *s, const SbFrame *frame, GError **error)
{
  g_autofree double *vx = g_new (double, s->n_q), *vy = g_new (double, s->n_q);
  SbkError kernel = { "" };
  for (gint64 i = 0; i < s->n_q; i++) {
    double v[2];
    frame_to_detector (frame, s->q + 2 * i, v);
    vx[i] = v[0];
    vy[i] = v[1];
  }
  s->frame = *frame;
  return spectrum_fail (s->engine->backend->spectrum_set_q (s->g, vx, vy, &kernel), &kernel, error);
}

gboolean
spectrum_set_scale (SbSpectrum *s, double scale, GError **error)
{
  SbkError kernel = { "" };
  s->edge_width *= scale / (s->scale > 0 ? s->scale : 1);
  s->scale = scale;
  return spectrum_fail (s->engine->backend->spectrum_set_scale (s->g, scale, &kernel), &kernel, error);
}

gint64
spectrum_band_count (const SbSpectrum *s, double limit, gint64 at_least)
{
  gint64 count = 0;
  for (gint64 i = 0; i < s->n_band; i++)
    count += hypot (s->q[2 * i], s->q[2 * i + 1]) < limit;
  count = (MAX (count, at_least) + SBK_LANES - 1) / SBK_LANES * SBK_LANES;
  return MIN (count, s->n_band);
}

gint64
spectrum_find (const SbSpectrum *s, gint64 row, gint64 col, gboolean *conj)
{
  gint64 n = s->scan_rows, m = s->scan_cols;
  row = ((row % n) + n) % n;
  col = ((col % m) + m) % m;
  gint64 at = s->slot[row * m + col];
  *conj = at < 0;
  return at >= 0 ? at : s->slot[((n - row) % n) * m + (m - col) % m];
}
