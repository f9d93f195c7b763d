#include "core/quality.h"

#include <math.h>

#include "core/error.h"

void
quality_free (SbQuality *quality)
{
  if (quality == NULL)
    return;
  g_free (quality->frequency);
  g_free (quality->frc);
  g_free (quality->transfer);
  g_free (quality->count);
  g_free (quality->half[0]);
  g_free (quality->half[1]);
  g_free (quality);
}

/* Frequencies of one half, and <gamma,gamma> of its pixels added to weight where the method's sums hold it. */
static double complex *
half_solve (SbSpectrum *spectrum, const SbFineGrid *grid, const SbCoordinates *at, const SbMethod *method, double eps, int half,
            double *weight, SbProgress *progress, GError **error)
{
  gsize n = (gsize)grid->fine.n;
  g_autofree double *sums = fine_grid_sums (spectrum, grid, at, method->sums, half, 2, progress, error);
  g_autofree double complex *phi = sums != NULL ? sb_alloc (n, sizeof *phi, "The half images", error) : NULL;
  g_autofree double complex *absorption = NULL;
  if (phi == NULL)
    return NULL;
  if (method->has_absorption && (absorption = sb_alloc (n, sizeof *phi, "The half images", error)) == NULL)
    return NULL;
  /* half of the pixels: half of the weight that eps is added to */
  if (!method->solve (grid, sums, spectrum_noise (spectrum), eps / 2, phi, absorption, error))
    return NULL;
  for (gsize f = 0; f < n; f++) {
    if (method->sums == SBK_SUM_MATCHED)
      weight[f] += sums[3 * f + 2];
    else if (method->sums == SBK_SUM_COMPLEX)
      weight[f] += sums[8 * f] + sums[8 * f + 1] - 2 * sums[8 * f + 2];
  }
  return g_steal_pointer (&phi);
}

static gboolean
whole_weight (SbSpectrum *spectrum, const SbFineGrid *grid, const SbCoordinates *at, double *weight, SbProgress *progress,
              GError **error)
{
  g_autofree double *sums = fine_grid_sums (spectrum, grid, at, SBK_SUM_MATCHED, 0, 1, progress, error);
  for (gint64 f = 0; sums != NULL && f < grid->fine.n; f++)
    weight[f] = sums[3 * f + 2];
  return sums != NULL;
}

static double
ring_correlation (const gint64 *order, gint64 n, double complex *const phi[2])
{
  double dot = 0, aa = 0, bb = 0;
  for (gint64 i = 0; i < n; i++) {
    double complex a = phi[0][order[i]], b = phi[1][order[i]];
    dot += creal (a) * creal (b) + cimag (a) * cimag (b);
    aa += creal (a) * creal (a) + cimag (a) * cimag (a);
    bb += creal (b) * creal (b) + cimag (b) * cimag (b);
  }
  return aa > 0 && bb > 0 ? dot / sqrt (aa * bb) : 0; /* a ring that the regularisation left out holds nothing */
}

static gboolean
fill_rings (SbQuality *quality, const SbFineGrid *grid, double k_max, double complex *const phi[2], const double *weight,
            GError **error)
{
  gsize n = (gsize)grid->fine.n;
  g_autofree gint64 *order = sb_alloc (n, sizeof *order, "The rings", error);
  g_autofree gint64 *start = order != NULL ? sb_alloc (n + 1, sizeof *start, "The rings", error) : NULL;
  if (start == NULL)
    return FALSE;
  gint64 rings = fine_grid_rings (grid, order, start, error);
  if (rings < 0)
    return FALSE;
  quality->rings = rings;
  quality->frequency = g_new0 (double, MAX (quality->rings, 1));
  quality->frc = g_new0 (double, MAX (quality->rings, 1));
  quality->transfer = g_new0 (double, MAX (quality->rings, 1));
  quality->count = g_new0 (gint64, MAX (quality->rings, 1));
  quality->total = ring_correlation (order, (gint64)n, phi);
  for (gint64 r = 0; r < quality->rings; r++) {
    gint64 count = start[r + 1] - start[r];
    double q = 0, w = 0;
    for (gint64 i = start[r]; i < start[r + 1]; i++) {
      q += grid->q[order[i]];
      w += weight[order[i]];
    }
    quality->count[r] = count;
    quality->frequency[r] = q / (double)count * k_max;
    quality->transfer[r] = sqrt (MAX (w, 0) / ((double)count * 4 * grid->aperture));
    quality->frc[r] = ring_correlation (order + start[r], count, phi);
  }
  return TRUE;
}

/* Crystals have rings between their reflections that hold nothing: the fall that counts is the first one behind the last ring
 * that is strong (half, and above what noise alone reaches, whose correlation scatters by 1 / sqrt (2 count)); or the first
 * one at all where none is strong. Aliases are not to be trusted that far: among them the first fall counts. */
void
quality_cutoff (SbQuality *quality)
{
  gint64 last = -1, n = quality->rings;
  for (gint64 r = n - 1; r >= 0 && (last < 0 || quality->frc[last] < 0.5); r--)
    if (quality->frequency[r] <= quality->scan_limit
        && quality->frc[r] >= MAX (QUALITY_THRESHOLD, 3 / sqrt (2 * (double)quality->count[r])))
      last = r;
  quality->cutoff = NAN;
  quality->limited = FALSE;
  if (last < 0)
    return;
  gint64 below = last + 1;
  while (below < n && quality->frc[below] >= QUALITY_THRESHOLD)
    below++;
  if (below == n) {
    quality->limited = TRUE;
    quality->cutoff = quality->frequency[n - 1];
    return;
  }
  double f0 = quality->frequency[below - 1], f1 = quality->frequency[below];
  double c0 = quality->frc[below - 1], c1 = quality->frc[below];
  quality->cutoff = f0 + (c0 - QUALITY_THRESHOLD) / (c0 - c1) * (f1 - f0);
}

static gboolean
keep_halves (SbQuality *quality, const SbFineGrid *grid, double complex *const phi[2], GError **error)
{
  quality->rows = grid->rows;
  quality->cols = grid->cols;
  for (int half = 0; half < 2; half++) {
    g_autofree double *image = fine_grid_image (grid, phi[half], error);
    gint64 n = grid->rows * grid->cols;
    if (image == NULL || (quality->half[half] = sb_alloc ((gsize)n, sizeof (float), "The half images", error)) == NULL)
      return FALSE;
    for (gint64 i = 0; i < n; i++)
      quality->half[half][i] = (float)image[i];
  }
  return TRUE;
}

SbQuality *
quality_measure (SbSpectrum *spectrum, const SbCoordinates *at, const SbReconstructionOptions *options, SbProgress *progress,
                 GError **error)
{
  const SbMethod *method = method_find (options->method);
  gint64 factor[2];
  if (!reconstruction_check (options, error))
    return NULL;
  if (method->solve == NULL) /* one that wants more than sums: what can be known is the same */
    method = method_find ("phase");
  upsampling_factors (&spectrum->optics, options->upsampling, factor);
  g_autoptr (SbQuality) quality = g_new0 (SbQuality, 1);
  quality->method = method->name;
  g_autoptr (SbFineGrid) grid = fine_grid_new (spectrum, factor, error);
  gsize n = grid != NULL ? (gsize)grid->fine.n : 0;
  g_autofree double *weight = grid != NULL ? sb_alloc (n, sizeof *weight, "The transfer", error) : NULL;
  if (weight == NULL)
    return NULL;
  for (gsize f = 0; f < n; f++)
    weight[f] = 0;
  double complex *phi[2] = { NULL, NULL };
  gboolean good = TRUE, more = method->sums != SBK_SUM_MATCHED && method->sums != SBK_SUM_COMPLEX;
  double from = progress != NULL ? progress->from : 0, to = progress != NULL ? progress->to : 1;
  double share = (to - from) / (more ? 4 : 2); /* of one half; the pass over all pixels takes two of them */
  for (int half = 0; good && half < 2; half++) {
    progress_stage (progress, "quality", from + half * share, from + (half + 1) * share);
    good = (phi[half] = half_solve (spectrum, grid, at, method, options->regularisation, half, weight, progress, error))
           != NULL;
  }
  progress_stage (progress, "quality", from + 2 * share, to);
  if (good && more)
    good = whole_weight (spectrum, grid, at, weight, progress, error);
  good = good && fill_rings (quality, grid, spectrum->k_max, phi, weight, error)
         && (!options->half_images || keep_halves (quality, grid, phi, error));
  g_free (phi[0]);
  g_free (phi[1]);
  if (!good)
    return NULL;
  quality->scan_limit = 0.5 / MAX (spectrum->optics.step[0], spectrum->optics.step[1]);
  quality_cutoff (quality);
  return g_steal_pointer (&quality);
}
