#include "core/spectrum.h"

#include <math.h>
#include <string.h>

#include "core/bright_field.h"
#include "core/error.h"
#include "core/frequencies.h"
#include "core/parts.h"
#include "core/passes.h"
#include "core/share.h"
#include "core/reconstruct.h"

#define MIN_BAND 16 /* frequencies */

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
  case SBK_OK: return TRUE;
  case SBK_CANCELLED: return sb_fail (error, SB_ERROR_CANCELLED, "Cancelled.");
  case SBK_NO_MEMORY: return sb_fail (error, SB_ERROR_MEMORY, "%s", kernel->message);
  default: return sb_fail (error, SB_ERROR_BACKEND, "%s", kernel->message);
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
  SbPlanned what = { .positions = columns->positions,
                     .n_pixels = b->n,
                     .n_q = s->n_q,
                     .upsampling = finest (&s->optics),
                     .columns = column * (guint64)columns->held,
                     .column = column,
                     .in_file = columns->scratch != NULL };
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
    if ((s->parts = parts_new (s->engine, &source, s->plan.room, error)) == NULL)
      return FALSE;
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
    return sb_fail (error, SB_ERROR_ARGUMENT,
                    "edge = %" G_GINT64_FORMAT " is more than half of the scan (%" G_GINT64_FORMAT " x %" G_GINT64_FORMAT
                    "); give a smaller edge.",
                    options->edge, s->scan_rows, s->scan_cols);
  return share_pixels (s, columns, b, error) && make_plan (s, columns, b, error)
         && make_g (s, columns, b, options, progress, error);
}

static gboolean
check_band (const SbSpectrum *s, GError **error)
{
  if (s->n_band >= MIN_BAND)
    return TRUE;
  return sb_fail (error, SB_ERROR_DATA,
                  "Only %" G_GINT64_FORMAT
                  " scan frequencies lie in the band (|q| < 2 k_max = %.3g 1/Å), at least %d are needed; "
                  "the scan (%" G_GINT64_FORMAT " x %" G_GINT64_FORMAT
                  " points, step %g, %g Å) is too small or the band too narrow: scan more "
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
  gboolean ok = frequencies_find (s, options->band, error) && check_band (s, error)
                && bright_field_find (&bright, columns, optics->semiangle, calibration, error);
  s->n_pixels = s->own_pixels = bright.n;
  ok = ok && transform (s, columns, &bright, options, progress, error) && spectrum_set_frame (s, &calibration->frame, error);
  bright_field_clear (&bright);
  SbkView all = { 0, s->n_band, 1, 0, 0, 1 };
  ok = ok && passes_power (s, &all, &s->power, progress, error);
  if (ok && !(s->power > 0))
    ok = sb_fail (error, SB_ERROR_DATA,
                  "The bright field does not vary over the scan (%" G_GINT64_FORMAT " x %" G_GINT64_FORMAT
                  " points): there is nothing to fit; check scan_shape and that the beam scanned a specimen.",
                  s->scan_rows, s->scan_cols);
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
  g_free (spectrum->radius);
  g_free (spectrum->slot);
  g_free (spectrum);
}

gboolean
spectrum_set_frame (SbSpectrum *s, const SbFrame *frame, GError **error)
{
  g_autofree double *vx = sb_alloc ((gsize)s->n_q, sizeof *vx, "The frequencies", error);
  g_autofree double *vy = vx != NULL ? sb_alloc ((gsize)s->n_q, sizeof *vy, "The frequencies", error) : NULL;
  SbkError kernel = { "" };
  if (vy == NULL)
    return FALSE;
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
  gint64 count = 0, most = s->n_band; /* radius[count - 1] < limit <= radius[most] */
  while (count < most) {
    gint64 middle = (count + most) / 2;
    if (s->radius[middle] < limit)
      count = middle + 1;
    else
      most = middle;
  }
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
