/* G of the CPU backend: made from counts or from given values, laid out for the pair kernels. */
#include "kernels/cpu/cpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kernels/cpu/fft.h"

enum { PIXELS_A_TASK = 8 }; /* neighbours in memory of a block of G */

/* Frequencies beyond the last one lie where no aperture reaches. */
#define FAR_AWAY 100.0

static void *
copy (const void *from, size_t bytes)
{
  void *to = malloc (bytes > 0 ? bytes : 1);
  if (to != NULL && bytes > 0)
    memcpy (to, from, bytes);
  return to;
}

/* G from the system itself, so that what is freed really goes back: an allocator keeps blocks of some MB for later. */
enum { PAGED_BYTES = 1 << 20 };

static void *
g_alloc (size_t bytes)
{
  void *g = NULL;
  if (bytes >= PAGED_BYTES) {
    g = mmap (NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g == MAP_FAILED)
      return NULL;
#ifdef MADV_HUGEPAGE
    madvise (g, bytes, MADV_HUGEPAGE); /* fewer faults where it is made anew each pass */
#endif
    return g;
  }
  return posix_memalign (&g, 64, bytes) == 0 ? g : NULL;
}

static void
g_release (void *g, size_t bytes)
{
  if (bytes >= PAGED_BYTES && g != NULL)
    munmap (g, bytes);
  else
    free (g);
}

static double
aperture (double r2, double edge)
{
  double a = (1 - r2) / (2 * edge) + 0.5;
  return a < 0 ? 0 : a > 1 ? 1 : a;
}

void
cpu_spectrum_free (SbkSpectrum *s)
{
  if (s == NULL)
    return;
  free (s->row_start);
  free (s->row_x);
  free (s->pixel_y);
  free (s->pixel_a);
  free (s->vx);
  free (s->vy);
  g_release (s->g, s->g_bytes);
  free (s);
}

SbkStatus
cpu_spectrum_alloc (SbkContext *context, SbkSpectrum **out, const SbkPixels *pixels, const SbkBand *band, SbkError *error)
{
  SbkSpectrum *s = calloc (1, sizeof *s);
  *out = NULL;
  if (s == NULL)
    return cpu_no_memory (error, "G", sizeof *s);
  s->context = context;
  s->n_pixels = pixels->n_pixels;
  s->n_rows = pixels->n_rows;
  s->n_q = band->n_q;
  s->n_blocks = (band->n_q + SBK_LANES - 1) / SBK_LANES;
  s->edge = pixels->edge;
  s->scale = 1;
  s->wide = context->precise;
  size_t lanes = (size_t)s->n_blocks * SBK_LANES;
  size_t bytes = lanes * (size_t)s->n_pixels * 2 * (s->wide ? sizeof (double) : sizeof (float));
  s->row_start = copy (pixels->row_start, (size_t)(s->n_rows + 1) * sizeof *s->row_start);
  s->row_x = copy (pixels->row_x, (size_t)s->n_rows * sizeof *s->row_x);
  s->pixel_y = copy (pixels->pixel_y, (size_t)s->n_pixels * sizeof *s->pixel_y);
  s->pixel_a = malloc ((size_t)s->n_pixels * sizeof *s->pixel_a + 1);
  s->vx = malloc (lanes * sizeof *s->vx + 1);
  s->vy = malloc (lanes * sizeof *s->vy + 1);
  s->g_bytes = bytes + 64;
  s->g = g_alloc (s->g_bytes);
  if (!s->row_start || !s->row_x || !s->pixel_y || !s->pixel_a || !s->vx || !s->vy || !s->g) {
    cpu_spectrum_free (s);
    return cpu_fail (error, SBK_NO_MEMORY, "G needs %.1f MB of memory, which could not be had; give a smaller scan region.",
                     (double)bytes / 1e6);
  }
  for (int64_t r = 0; r < s->n_rows; r++)
    for (int64_t k = s->row_start[r]; k < s->row_start[r + 1]; k++)
      s->pixel_a[k] = aperture (s->row_x[r] * s->row_x[r] + s->pixel_y[k] * s->pixel_y[k], s->edge);
  for (size_t l = 0; l < lanes; l++)
    s->vx[l] = s->vy[l] = FAR_AWAY;
  /* Lanes beyond the last frequency hold zero. */
  if (s->n_blocks > 0) {
    size_t block = bytes / (size_t)s->n_blocks;
    memset ((char *)s->g + block * (size_t)(s->n_blocks - 1), 0, block);
  }
  *out = s;
  return SBK_OK;
}

static void
store (SbkSpectrum *s, int64_t pixel, int64_t q, double re, double im)
{
  int64_t at = ((q / SBK_LANES) * s->n_pixels + pixel) * 2 * SBK_LANES + q % SBK_LANES;
  if (s->wide) {
    ((double *)s->g)[at] = re;
    ((double *)s->g)[at + SBK_LANES] = im;
  } else {
    ((float *)s->g)[at] = (float)re;
    ((float *)s->g)[at + SBK_LANES] = (float)im;
  }
}

SbkStatus
cpu_spectrum_from_values (SbkContext *context, SbkSpectrum **out, const SbkPixels *pixels, const SbkBand *band, const double *g,
                          SbkError *error)
{
  SbkStatus status = cpu_spectrum_alloc (context, out, pixels, band, error);
  if (status != SBK_OK)
    return status;
  for (int64_t k = 0; k < pixels->n_pixels; k++)
    for (int64_t q = 0; q < band->n_q; q++)
      store (*out, k, q, g[2 * (k * band->n_q + q)], g[2 * (k * band->n_q + q) + 1]);
  return SBK_OK;
}

SbkStatus
cpu_spectrum_set_q (SbkSpectrum *s, const double *vx, const double *vy, SbkError *error)
{
  memcpy (s->vx, vx, (size_t)s->n_q * sizeof *vx);
  memcpy (s->vy, vy, (size_t)s->n_q * sizeof *vy);
  return SBK_OK;
}

SbkStatus
cpu_spectrum_read (SbkSpectrum *s, int64_t first_pixel, int64_t n_pixels, double *g, SbkError *error)
{
  for (int64_t k = 0; k < n_pixels; k++)
    for (int64_t q = 0; q < s->n_q; q++) {
      int64_t at = ((q / SBK_LANES) * s->n_pixels + first_pixel + k) * 2 * SBK_LANES + q % SBK_LANES;
      double *to = g + 2 * (k * s->n_q + q);
      to[0] = s->wide ? ((double *)s->g)[at] : (double)((float *)s->g)[at];
      to[1] = s->wide ? ((double *)s->g)[at + SBK_LANES] : (double)((float *)s->g)[at + SBK_LANES];
    }
  return SBK_OK;
}

/* ---- from counts ---- */

typedef struct {
  SbkSpectrum *spectrum;
  const SbkBand *band;
  const SbkCounts *counts;
  const SbkFft *fft;
  const double *window; /* [rows] then [cols]; NULL: none */
  void **scratch;       /* a worker's: one real image, PIXELS_A_TASK half spectra */
  const int *cancel;
} FromCounts;

static double
count_at (const SbkCounts *c, int64_t at)
{
  switch (c->type) {
  case SBK_U8: return ((const uint8_t *)c->counts)[at];
  case SBK_U16: return ((const uint16_t *)c->counts)[at];
  case SBK_U32: return ((const uint32_t *)c->counts)[at];
  case SBK_F32: return (double)((const float *)c->counts)[at];
  default: return ((const double *)c->counts)[at];
  }
}

/* The pixel's column about its mean (q = 0 is never used; without it float32 keeps all its digits for the rest). */
static void
load_column (const FromCounts *f, int64_t pixel, void *real)
{
  int64_t rows = f->band->scan_rows, cols = f->band->scan_cols, n = rows * cols;
  int64_t from = f->counts->column[pixel] * n;
  double sum = 0;
  for (int64_t i = 0; i < n; i++)
    sum += count_at (f->counts, from + i);
  double mean = sum / (double)n, scale = f->counts->scale / (double)n;
  for (int64_t r = 0, i = 0; r < rows; r++)
    for (int64_t c = 0; c < cols; c++, i++) {
      double x = (count_at (f->counts, from + i) - mean) * scale;
      if (f->window != NULL)
        x *= f->window[r] * f->window[rows + c];
      if (f->spectrum->wide)
        ((double *)real)[i] = x;
      else
        ((float *)real)[i] = (float)x;
    }
}

static void
pixels_task (int64_t task, unsigned worker, void *data)
{
  FromCounts *f = data;
  SbkSpectrum *s = f->spectrum;
  if (cpu_cancelled (f->cancel))
    return;
  int64_t rows = f->band->scan_rows, cols = f->band->scan_cols, width = cols / 2 + 1;
  size_t size = s->wide ? sizeof (double) : sizeof (float);
  char *real = f->scratch[worker], *half = real + (size_t)(rows * cols) * size;
  int64_t first = task * PIXELS_A_TASK, count = s->n_pixels - first;
  count = count < PIXELS_A_TASK ? count : PIXELS_A_TASK;
  for (int64_t p = 0; p < count; p++) {
    load_column (f, first + p, real);
    if (f->counts->taken != NULL)
      f->counts->taken (f->counts->owner);
    sbk_fft_run (f->fft, real, half + (size_t)(p * rows * width * 2) * size);
  }
  for (int64_t q = 0; q < s->n_q; q++) {
    int64_t r = f->band->index[q] / cols, c = f->band->index[q] % cols;
    double sign = 1;
    if (c >= width) {
      r = (rows - r) % rows;
      c = cols - c;
      sign = -1;
    }
    for (int64_t p = 0; p < count; p++) {
      int64_t at = 2 * ((p * rows + r) * width + c);
      if (s->wide)
        store (s, first + p, q, ((double *)half)[at], sign * ((double *)half)[at + 1]);
      else
        store (s, first + p, q, (double)((float *)half)[at], sign * (double)((float *)half)[at + 1]);
    }
  }
}

/* Cosine taper of `taper` points at each end. */
static void
taper_window (double *w, int64_t n, int64_t taper)
{
  for (int64_t i = 0; i < n; i++) {
    int64_t from_end = i < n - 1 - i ? i : n - 1 - i;
    w[i] = from_end < taper ? 0.5 - 0.5 * cos (M_PI * ((double)from_end + 0.5) / (double)taper) : 1;
  }
}

static void
free_scratch (void **scratch, unsigned n)
{
  for (unsigned i = 0; scratch != NULL && i < n; i++)
    free (scratch[i]);
  free (scratch);
}

static void **
new_scratch (unsigned n, size_t bytes)
{
  void **scratch = calloc (n, sizeof *scratch);
  for (unsigned i = 0; scratch != NULL && i < n; i++)
    if ((scratch[i] = malloc (bytes)) == NULL) {
      free_scratch (scratch, n);
      return NULL;
    }
  return scratch;
}

SbkStatus
cpu_spectrum_from_counts (SbkContext *context, SbkSpectrum **out, const SbkPixels *pixels, const SbkBand *band,
                          const SbkCounts *counts, const int *cancel, SbkError *error)
{
  SbkStatus status = cpu_spectrum_alloc (context, out, pixels, band, error);
  if (status != SBK_OK)
    return status;
  size_t size = (*out)->wide ? sizeof (double) : sizeof (float);
  int64_t rows = band->scan_rows, cols = band->scan_cols;
  size_t bytes = size * (size_t)(rows * cols + PIXELS_A_TASK * rows * (cols / 2 + 1) * 2);
  unsigned workers = context->threads.count;
  SbkFft *fft = sbk_fft_new (rows, cols, (*out)->wide);
  void **scratch = new_scratch (workers, bytes);
  double *window = counts->taper > 0 ? malloc ((size_t)(rows + cols) * sizeof *window) : NULL;
  if (fft == NULL || scratch == NULL || (counts->taper > 0 && window == NULL))
    status = cpu_no_memory (error, "The transform of the scan", workers * bytes);
  if (status == SBK_OK) {
    if (window != NULL) {
      taper_window (window, rows, counts->taper);
      taper_window (window + rows, cols, counts->taper);
    }
    FromCounts f = { *out, band, counts, fft, window, scratch, cancel };
    context->threads.run (context->threads.pool, (pixels->n_pixels + PIXELS_A_TASK - 1) / PIXELS_A_TASK, pixels_task, &f);
    if (cpu_cancelled (cancel))
      status = SBK_CANCELLED;
  }
  sbk_fft_free (fft);
  free_scratch (scratch, workers);
  free (window);
  if (status != SBK_OK) {
    cpu_spectrum_free (*out);
    *out = NULL;
  }
  return status;
}
