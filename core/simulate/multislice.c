#include "core/simulate/multislice.h"

#include <complex.h>
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "kernels/cpu/fft.h"

struct SbMultislice {
  const SbSimulation *simulation;
  SbkFftComplex *fft;    /* float */
  float *slices;         /* complex [slice][row][col]; NULL: vacuum */
  float *propagator;     /* complex [row][col], from slice to slice, over the number of points */
  gint32 *place;         /* [n_probe]: of the aperture's frequencies in the grid */
  gint16 *wave;          /* [n_probe][2]: their whole numbers */
  double complex *probe; /* [n_probe]: at the first slice, of intensity 1 */
  gint64 n_probe;
  gint64 reach[2];      /* largest whole numbers of the aperture */
  SbBinning binning[2]; /* along the simulation's axes */
};

typedef struct Scratch {
  float *wave;  /* complex [rows][cols] */
  double *line; /* a detector line along the simulation's columns */
  double complex *turn[2];
} Scratch;

static gint64
pixels_along (const SbSimulation *s, int axis)
{
  return s->detector[s->frame.transpose ? 1 - axis : axis];
}

/* ---- detector ---- */

gboolean
binning_init (SbBinning *b, gint64 n, double pitch, gint64 pixels, double centre, double pixel_pitch, GError **error)
{
  gsize most = (gsize)n * (gsize)(ceil (pitch / pixel_pitch) + 2);
  b->n = n;
  b->first = g_new0 (gint32, n + 1);
  b->pixel = sb_alloc (most, sizeof *b->pixel, "the detector's pixels", error);
  b->share = sb_alloc (most, sizeof *b->share, "the detector's pixels", error);
  if (b->pixel == NULL || b->share == NULL)
    return FALSE;
  gint32 used = 0;
  for (gint64 i = 0; i < n; i++) {
    double k = (double)(i > n / 2 ? i - n : i) * pitch, half = pitch / 2;
    double low = (k - half) / pixel_pitch + centre + 0.5, high = (k + half) / pixel_pitch + centre + 0.5;
    b->first[i] = used;
    for (double p = MAX (floor (low + 1e-9), 0); p < high - 1e-9 && p < (double)pixels; p++) {
      double share = (MIN (high, p + 1) - MAX (low, p)) / (high - low);
      if (share < 1e-9)
        continue;
      b->pixel[used] = (gint32)p;
      b->share[used++] = share > 1 - 1e-9 ? 1 : share; /* commensurate grids: whole, in spite of rounding */
    }
  }
  b->first[n] = used;
  return TRUE;
}

void
binning_clear (SbBinning *b)
{
  g_free (b->first);
  g_free (b->pixel);
  g_free (b->share);
}

/* ---- preparation ---- */

/* From slice to slice exp (-i pi lambda dz k^2), within the band. */
static void
init_propagator (SbMultislice *m)
{
  const SbSimulation *s = m->simulation;
  double dz = s->thickness / (double)s->n_slices, points = (double)s->grid[0] * (double)s->grid[1];
  for (gint64 i = 0; i < s->grid[0]; i++)
    for (gint64 j = 0; j < s->grid[1]; j++) {
      double row = simulation_frequency (s, 0, i), col = simulation_frequency (s, 1, j), k_squared = row * row + col * col;
      double size = k_squared > s->band_limit * s->band_limit ? 0 : 1 / points;
      double turn = G_PI * s->wavelength * dz * k_squared;
      m->propagator[2 * (i * s->grid[1] + j)] = (float)(size * cos (turn));
      m->propagator[2 * (i * s->grid[1] + j) + 1] = (float)(-size * sin (turn));
    }
}

/* chi is the probe's at the mid-plane; the first slice stands (thickness - dz) / 2 before it. */
static gboolean
init_probe (SbMultislice *m, GError **error)
{
  const SbSimulation *s = m->simulation;
  double first = s->n_slices > 0 ? -(s->thickness - s->thickness / (double)s->n_slices) / 2 : 0, power = 0;
  for (int a = 0; a < 2; a++)
    m->reach[a] = MIN ((gint64)ceil ((s->k_max + s->sampling * 1e-3 / s->wavelength) * s->cell[a]), s->grid[a] / 2 - 1);
  gsize most = (gsize)((2 * m->reach[0] + 1) * (2 * m->reach[1] + 1));
  m->place = sb_alloc (most, sizeof *m->place, "the probe", error);
  m->wave = sb_alloc (most, 2 * sizeof *m->wave, "the probe", error);
  m->probe = sb_alloc (most, sizeof *m->probe, "the probe", error);
  if (m->place == NULL || m->wave == NULL || m->probe == NULL)
    return FALSE;
  for (gint64 i = -m->reach[0]; i <= m->reach[0]; i++)
    for (gint64 j = -m->reach[1]; j <= m->reach[1]; j++) {
      double k[2] = { (double)i / s->cell[0], (double)j / s->cell[1] }, k_squared = k[0] * k[0] + k[1] * k[1];
      double a = simulation_aperture (s, k_squared);
      if (a <= 0)
        continue;
      double chi = simulation_chi (s, k) + G_PI * s->wavelength * first * k_squared;
      m->place[m->n_probe] = (gint32)((i + s->grid[0]) % s->grid[0] * s->grid[1] + (j + s->grid[1]) % s->grid[1]);
      m->wave[2 * m->n_probe] = (gint16)i;
      m->wave[2 * m->n_probe + 1] = (gint16)j;
      m->probe[m->n_probe++] = a * cexp (-I * chi);
      power += a * a;
    }
  if (m->n_probe < 3)
    return sb_fail (error, SB_ERROR_ARGUMENT,
                    "The scan of %g x %g Å is too small for this aperture; give more points or a larger "
                    "step.",
                    s->extent[0], s->extent[1]);
  for (gint64 i = 0; i < m->n_probe; i++)
    m->probe[i] /= sqrt (power);
  return TRUE;
}

static gboolean
init_binning (SbMultislice *m, GError **error)
{
  const SbSimulation *s = m->simulation;
  for (int a = 0; a < 2; a++) {
    int along = s->frame.transpose ? 1 - a : a;
    if (!binning_init (&m->binning[a], s->grid[a], 1 / s->cell[a], s->detector[along], s->centre[along],
                       s->sampling * 1e-3 / s->wavelength, error))
      return FALSE;
  }
  return TRUE;
}

SbMultislice *
multislice_new (SbEngine *engine, const SbSimulation *s, const SbSpecimen *specimen, SbProgress *progress, GError **error)
{
  SbMultislice *m = g_new0 (SbMultislice, 1);
  gsize n = (gsize)(s->grid[0] * s->grid[1]);
  m->simulation = s;
  gboolean good = init_binning (m, error) && init_probe (m, error);
  if (good && s->n_slices > 0) {
    m->fft = sbk_fft_complex_new (s->grid[0], s->grid[1], FALSE);
    m->propagator = sb_alloc (n, 2 * sizeof *m->propagator, "the propagator", error);
    good = m->propagator != NULL
           && (m->fft != NULL || sb_fail (error, SB_ERROR_MEMORY, "No memory for the transforms; give a smaller scan."));
  }
  if (good && s->n_slices > 0) {
    init_propagator (m);
    m->slices = slices_make (engine, s, specimen, progress, error);
    good = m->slices != NULL;
  }
  if (!good)
    g_clear_pointer (&m, multislice_free);
  return m;
}

void
multislice_free (SbMultislice *m)
{
  if (m == NULL)
    return;
  for (int a = 0; a < 2; a++)
    binning_clear (&m->binning[a]);
  sbk_fft_complex_free (m->fft);
  g_free (m->slices);
  g_free (m->propagator);
  g_free (m->place);
  g_free (m->wave);
  g_free (m->probe);
  g_free (m);
}

/* ---- frames ---- */

gpointer
multislice_scratch (const SbMultislice *m, GError **error)
{
  const SbSimulation *s = m->simulation;
  gsize wave = 2 * (gsize)(s->grid[0] * s->grid[1]) * sizeof (float), line = (gsize)pixels_along (s, 1) * sizeof (double);
  gsize turns[2] = { (gsize)(2 * m->reach[0] + 1) * sizeof (double complex),
                     (gsize)(2 * m->reach[1] + 1) * sizeof (double complex) };
  gsize head = (sizeof (Scratch) + 63) / 64 * 64;
  char *memory = sb_alloc (head + turns[0] + turns[1] + wave + line, 1, "a thread's wave", error);
  Scratch *scratch = (Scratch *)memory;
  if (memory == NULL)
    return NULL;
  scratch->turn[0] = (double complex *)(memory + head);
  scratch->turn[1] = (double complex *)(memory + head + turns[0]);
  scratch->line = (double *)(memory + head + turns[0] + turns[1]);
  scratch->wave = (float *)(memory + head + turns[0] + turns[1] + line);
  return scratch;
}

/* The probe at a point: its frequencies turned. */
static void
place_probe (const SbMultislice *m, const double r[2], Scratch *scratch)
{
  const SbSimulation *s = m->simulation;
  memset (scratch->wave, 0, 2 * (gsize)(s->grid[0] * s->grid[1]) * sizeof (float));
  for (int a = 0; a < 2; a++)
    for (gint64 i = -m->reach[a]; i <= m->reach[a]; i++)
      scratch->turn[a][i + m->reach[a]] = cexp (-2 * G_PI * I * (double)i * r[a] / s->cell[a]);
  for (gint64 i = 0; i < m->n_probe; i++) {
    double complex row = scratch->turn[0][m->wave[2 * i] + m->reach[0]],
                   col = scratch->turn[1][m->wave[2 * i + 1] + m->reach[1]];
    double complex value = m->probe[i] * row * col;
    scratch->wave[2 * m->place[i]] = (float)creal (value);
    scratch->wave[2 * m->place[i] + 1] = (float)cimag (value);
  }
}

static void
multiply (float *restrict wave, const float *restrict by, gsize n)
{
  for (gsize i = 0; i < n; i++) {
    float re = wave[2 * i] * by[2 * i] - wave[2 * i + 1] * by[2 * i + 1];
    wave[2 * i + 1] = wave[2 * i] * by[2 * i + 1] + wave[2 * i + 1] * by[2 * i];
    wave[2 * i] = re;
  }
}

static void
pass_slices (const SbMultislice *m, float *wave)
{
  const SbSimulation *s = m->simulation;
  gsize n = (gsize)(s->grid[0] * s->grid[1]);
  for (gint64 slice = 0; slice < s->n_slices; slice++) {
    if (slice > 0)
      multiply (wave, m->propagator, n);
    sbk_fft_complex_backward (m->fft, wave);
    multiply (wave, m->slices + 2 * n * (gsize)slice, n);
    sbk_fft_complex_forward (m->fft, wave);
  }
}

/* |wave|^2 of one row of frequencies onto the pixels along the simulation's columns. */
static void
bin_row (const SbBinning *b, const float *wave, double *line)
{
  for (gint64 j = 0; j < b->n; j++) {
    if (b->first[j] == b->first[j + 1])
      continue;
    double power = (double)wave[2 * j] * wave[2 * j] + (double)wave[2 * j + 1] * wave[2 * j + 1];
    for (gint32 at = b->first[j]; at < b->first[j + 1]; at++)
      line[b->pixel[at]] += b->share[at] * power;
  }
}

static void
detect (const SbMultislice *m, Scratch *scratch, double *out)
{
  const SbSimulation *s = m->simulation;
  const SbBinning *rows = &m->binning[0];
  gint64 width = pixels_along (s, 1);
  /* Backward and forward transforms leave the number of points in the wave, once. */
  double points = s->n_slices > 0 ? (double)s->grid[0] * (double)s->grid[1] : 1, scale = 1 / (points * points);
  gint64 row_step = s->frame.transpose ? 1 : s->detector[1], col_step = s->frame.transpose ? s->detector[1] : 1;
  memset (out, 0, (gsize)(s->detector[0] * s->detector[1]) * sizeof *out);
  for (gint64 i = 0; i < s->grid[0]; i++) {
    if (rows->first[i] == rows->first[i + 1])
      continue;
    memset (scratch->line, 0, (gsize)width * sizeof (double));
    bin_row (&m->binning[1], scratch->wave + 2 * i * s->grid[1], scratch->line);
    for (gint32 at = rows->first[i]; at < rows->first[i + 1]; at++)
      for (gint64 j = 0; j < width; j++)
        out[rows->pixel[at] * row_step + j * col_step] += scale * rows->share[at] * scratch->line[j];
  }
}

void
multislice_frame (const SbMultislice *m, gint64 row, gint64 col, gpointer memory, double *out)
{
  const SbSimulation *s = m->simulation;
  Scratch *scratch = memory;
  double scan[2] = { (double)row * s->optics.step[0], (double)col * s->optics.step[1] }, r[2];
  simulation_point (s, scan, r);
  place_probe (m, r, scratch);
  pass_slices (m, scratch->wave);
  detect (m, scratch, out);
}
