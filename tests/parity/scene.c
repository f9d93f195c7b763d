#include "tests/parity/parity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST 0.02 /* <gamma, gamma> */

double
scene_random (uint64_t *state)
{
  *state += 0x9E3779B97F4A7C15u;
  uint64_t z = *state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  z ^= z >> 31;
  return (double)(z >> 11) * 0x1p-52 - 1;
}

static void
make_pixels (Scene *s, uint64_t *state)
{
  int reach = (int)ceil (s->radius) + 1, span = 2 * reach + 1;
  int64_t n = 0, rows = 0;
  double offset[2] = { 0.3 * scene_random (state), 0.3 * scene_random (state) };
  s->row_start = calloc ((size_t)span + 1, sizeof *s->row_start);
  s->row_x = calloc ((size_t)span, sizeof *s->row_x);
  s->pixel_y = calloc ((size_t)span * (size_t)span, sizeof *s->pixel_y);
  for (int r = -reach; r <= reach; r++) {
    int64_t before = n;
    for (int c = -reach; c <= reach; c++) {
      double x = (r + offset[0]) / s->radius, y = (c + offset[1]) / s->radius;
      int hole = s->holes > 0 && scene_random (state) < -1 + 2.0 * s->holes / (span * span);
      if (x * x + y * y > 1 || hole)
        continue;
      s->pixel_y[n++] = y;
    }
    if (n == before)
      continue;
    s->row_x[rows] = (r + offset[0]) / s->radius;
    s->row_start[++rows] = n;
  }
  s->pixels = (SbkPixels){ n, rows, s->row_start, s->row_x, s->pixel_y, 1 / s->radius };
}

/* Half of the scan's frequencies, by |q|, as the library stores them. */
static void
make_frequencies (Scene *s)
{
  int all = s->rows * s->cols;
  double *r = malloc ((size_t)all * sizeof *r);
  s->index = malloc ((size_t)all * sizeof *s->index);
  s->vx = malloc ((size_t)all * sizeof *s->vx);
  s->vy = malloc ((size_t)all * sizeof *s->vy);
  s->n_q = 0;
  for (int i = 0; i < s->rows; i++)
    for (int j = 0; j < s->cols; j++) {
      int si = i < (s->rows + 1) / 2 ? i : i - s->rows, sj = j < (s->cols + 1) / 2 ? j : j - s->cols;
      double x = 4.1 * si / s->rows, y = 4.1 * sj / s->cols, size = hypot (x, y);
      if (!(si > 0 || (si == 0 && sj > 0)) || size >= 2)
        continue;
      int64_t at = s->n_q++;
      for (; at > 0 && r[at - 1] > size; at--) {
        r[at] = r[at - 1];
        s->index[at] = s->index[at - 1];
        s->vx[at] = s->vx[at - 1];
        s->vy[at] = s->vy[at - 1];
      }
      r[at] = size;
      s->index[at] = (int64_t)i * s->cols + j;
      /* turned, so that nothing lies along the detector's axes */
      s->vx[at] = 0.8 * x - 0.6 * y;
      s->vy[at] = 0.6 * x + 0.8 * y;
    }
  free (r);
}

/* Frequencies that the pixels of a view hardly reach leave: nothing but rounding decides what random data say there. */
static void
keep_determined (Scene *s, SbkSpectrum *g, const SbkView *view, uint8_t *keep)
{
  double *sums = calloc ((size_t)s->n_q * 3, sizeof *sums);
  SbkError error = { "" };
  sbk_cpu.value_sums (g, view, 1, 1, &s->model, sums, NULL, &error);
  for (int64_t q = 0; q < s->n_q; q++)
    keep[q] = keep[q] && (sums[3 * q + 2] == 0 || sums[3 * q + 2] >= LEAST);
  free (sums);
}

static void
choose_frequencies (Scene *s)
{
  SbkOpen how = { parity_threads (), 1, NULL };
  SbkBand band = { s->rows, s->cols, s->n_q, s->index };
  SbkContext *context = NULL;
  SbkSpectrum *g = NULL;
  SbkError error = { "" };
  double *none = calloc ((size_t)(2 * s->n_q * s->pixels.n_pixels) + 1, sizeof *none);
  uint8_t *keep = malloc ((size_t)s->n_q + 1);
  int64_t n = 0;
  memset (keep, 1, (size_t)s->n_q);
  if (sbk_cpu.open (&context, &how, &error) == SBK_OK
      && sbk_cpu.spectrum_from_values (context, &g, &s->pixels, &band, none, &error) == SBK_OK
      && sbk_cpu.spectrum_set_q (g, s->vx, s->vy, &error) == SBK_OK) {
    keep_determined (s, g, &(SbkView){ 0, s->n_q, 1, 0, 0, 1, 0, 1 }, keep);
    keep_determined (s, g, &(SbkView){ 0, s->n_q, 1, 0, 3, 8, 0, 1 }, keep);
  }
  sbk_cpu.spectrum_free (g);
  sbk_cpu.close (context);
  for (int64_t q = 0; q < s->n_q; q++) {
    if (!keep[q])
      continue;
    s->index[n] = s->index[q];
    s->vx[n] = s->vx[q];
    s->vy[n++] = s->vy[q];
  }
  s->n_q = s->count > 0 && s->count < n ? s->count : n;
  free (none);
  free (keep);
}

void
scene_make (Scene *s)
{
  uint64_t state = s->seed;
  make_pixels (s, &state);
  make_frequencies (s);
  memset (&s->model, 0, sizeof s->model);
  for (int m = 3; m < SBK_N_MONOMIALS; m++)
    s->model.chi[m] = s->turns * scene_random (&state);
  s->model.depth = s->depth;
  s->model.tilt[0] = 0.4 * scene_random (&state);
  s->model.tilt[1] = 0.4 * scene_random (&state);
  choose_frequencies (s);
  size_t n = (size_t)(s->n_q * s->pixels.n_pixels);
  s->g = malloc (2 * n * sizeof *s->g + 1);
  for (size_t i = 0; i < 2 * n; i++)
    s->g[i] = (float)(scene_random (&state) + 0.3); /* float32 values: all backends store the same */
  s->column = malloc ((size_t)s->pixels.n_pixels * sizeof *s->column + 1);
  for (int64_t k = 0; k < s->pixels.n_pixels; k++)
    s->column[k] = s->pixels.n_pixels - 1 - k;
  s->view = (SbkView){ 0, s->n_q, 1, 0, 0, 1 };
}

void
scene_free (Scene *s)
{
  free (s->row_start);
  free (s->row_x);
  free (s->pixel_y);
  free (s->index);
  free (s->vx);
  free (s->vy);
  free (s->g);
  free (s->column);
}
