#include "core/spectrum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bright_field.h"
#include "core/error.h"
#include "core/parts.h"
#include "core/passes.h"
#include "core/share.h"
#include "core/reconstruct.h"

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

/* Image pixels a scan point that the aperture resolves; see upsampling_factors. */
static gint64
finest (const SbOptics *optics)
{
  double step = MAX (optics->step[0], optics->step[1]);
  return MAX ((gint64)ceil (step * 4 * optics_k_max (optics) - 1e-12), 1);
}

static gboolean
make_plan (SbSpectrum *s, const SbColumns *columns, const SbBrightField *b, GError **error)
{
  guint64 column = (guint64)columns->positions * dtype_size (columns->dtype);
  SbPlanned what = { .positions = columns->positions, .n_pixels = b->n, .n_q = s->n_q, .upsampling = finest (&s->optics),
                     .columns = column * (guint64)columns->held, .column = column, .in_file = columns->scratch != NULL };
  what.on_device = columns->device != NULL ? what.columns : 0;
  for (gint64 r = 0; r < b->n_rows; r++)
    what.widest = MAX (what.widest, b->row_start[r + 1] - b->row_start[r]);
  if (!plan_spectrum (s->engine, &what, &s->plan, error))
    return FALSE;
  if (!share_plan (s, error))
    return FALSE;
  /* Where the counts lie is no part of what they are. */
  return !s->plan.in_file || columns_to_file ((SbColumns *)columns, plan_slack (s->engine), error);
}

/* G at once, or what its parts are made from: that takes b's arrays over. */
static gboolean
make_g (SbSpectrum *s, const SbColumns *columns, SbBrightField *b, const SbSpectrumOptions *options, SbProgress *progress,
        GError **error)
{
  SbPartsSource source = {
    .pixels = { b->n, b->n_rows, b->row_start, b->row_x, b->pixel_y, s->edge_width },
    .band = { s->scan_rows, s->scan_cols, s->n_q, s->index },
    .counts = { dtype_kernel (columns->dtype), columns->counts, b->column, s->mean_a2 / s->mean_counts, options->edge,
                columns_looked, columns },
  };
  if (s->plan.in_parts) {
    s->parts = parts_new (s->engine, &source, s->plan.room);
    memset (b, 0, sizeof *b);
    return TRUE;
  }
  SbkError kernel = { "" };
  SbkStatus status = s->engine->backend->spectrum_from_counts (s->engine->context, &s->g, &source.pixels, &source.band,
                                                               &source.counts, progress_cancel_flag (progress), &kernel);
  return spectrum_fail (status, &kernel, error);
}

static gboolean
transform (SbSpectrum *s, const SbColumns *columns, SbBrightField *b, const SbSpectrumOptions *options, SbProgress *progress,
           GError **error)
{
  double sum = 0;
  for (gint64 k = 0; k < b->n; k++)
    sum += columns->pattern.mean[columns->pixel[b->column[k]]];
  s->mean_counts = sum / (double)b->n;
  if (!(s->mean_counts > 0))
    return sb_fail (error, SB_ERROR_DATA, "The bright field holds no counts (mean %g); check centre and sampling.",
                    s->mean_counts);
  s->mean_a2 = bright_field_power (b, s->edge_width);
  if (2 * options->edge > MIN (s->scan_rows, s->scan_cols))
    return sb_fail (error, SB_ERROR_ARGUMENT, "edge = %" G_GINT64_FORMAT " is more than half of the scan (%" G_GINT64_FORMAT
                    " x %" G_GINT64_FORMAT "); give a smaller edge.", options->edge, s->scan_rows, s->scan_cols);
  return share_pixels (s, columns, b, error) && make_plan (s, columns, b, error) && make_g (s, columns, b, options, progress, error);
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
  SbBrightField bright = { 0 };
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
  s->n_pixels = s->own_pixels = bright.n;
  ok = ok && transform (s, columns, &bright, options, progress, error) && spectrum_set_frame (s, &calibration->frame, error);
  bright_field_clear (&bright);
  SbkView all = { 0, s->n_band, 1, 0, 0, 1 };
  ok = ok && passes_power (s, &all, &s->power, progress, error);
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
  parts_free (spectrum->parts);
  fine_grid_free (spectrum->fine);
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
  frame_to_detector_all (frame, (gsize)s->n_q, s->q, vx, vy);
  s->frame = *frame;
  if (s->parts != NULL)
    return parts_set_q (s->parts, vx, vy, error);
  return spectrum_fail (s->engine->backend->spectrum_set_q (s->g, vx, vy, &kernel), &kernel, error);
}

gboolean
spectrum_set_scale (SbSpectrum *s, double scale, GError **error)
{
  SbkError kernel = { "" };
  s->edge_width *= scale / (s->scale > 0 ? s->scale : 1);
  s->scale = scale;
  if (s->parts != NULL)
    return parts_set_scale (s->parts, scale, error);
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
