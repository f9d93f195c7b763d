/* Passes in parts on a device against the whole on the CPU: two spectra of the detector rows above and below a cut. */
#include "tests/parity/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 2 };

static int
part_open (const Scene *s, const SbkBackend *device, SbkContext *context, int64_t from, int64_t to, SbkSpectrum **g)
{
  const SbkPixels *all = &s->pixels;
  int64_t first = all->row_start[from], rows = to - from;
  int64_t *row_start = malloc ((size_t)(rows + 1) * sizeof *row_start);
  SbkBand band = { s->rows, s->cols, s->n_q, s->index };
  SbkError error = { "" };
  for (int64_t r = 0; r <= rows; r++)
    row_start[r] = all->row_start[from + r] - first;
  SbkPixels pixels = { row_start[rows], rows, row_start, all->row_x + from, all->pixel_y + first, all->edge };
  int ok = device->spectrum_from_values (context, g, &pixels, &band, s->g + 2 * first * s->n_q, &error) == SBK_OK
           && device->spectrum_set_q (*g, s->vx, s->vy, &error) == SBK_OK;
  free (row_start);
  if (!ok)
    printf ("# %s\n", error.message);
  return ok;
}

static void
derivatives (const Scene *s, SbkSpectrum *whole, const SbkBackend *device, SbkSpectrum **g, const double *sums, int precise,
             ParityReport report)
{
  SbkError error = { "" };
  double value, want[SBK_N], got[SBK_N] = { 0 }, turned[2] = { 0 }, turn[2];
  size_t blocks = (size_t)sbk_view_blocks (&s->view);
  double *carry = calloc (blocks * SBK_CARRY_GRADIENT, sizeof *carry);
  sbk_cpu.gradient (whole, &s->view, 1, &s->model, &value, want, NULL, &error);
  for (int p = 0; p < PARTS; p++)
    if (device->gradient_part (g[p], &s->view, precise, &s->model, sums, carry, p == PARTS - 1 ? got : NULL, NULL, &error)
        != SBK_OK)
      printf ("# %s\n", error.message);
  report (s, "gradient", "in parts", precise, apart (got, want, SBK_N, fmax (largest (want, SBK_N), 5e-3 * 6.3 * value)));
  memset (carry, 0, blocks * SBK_CARRY_GEOMETRY * sizeof *carry);
  sbk_cpu.geometry (whole, &s->view, 1, &s->model, &value, turn, NULL, &error);
  for (int p = 0; p < PARTS; p++)
    device->geometry_part (g[p], &s->view, precise, &s->model, sums, carry, p == PARTS - 1 ? turned : NULL, NULL, &error);
  report (s, "geometry", "in parts", precise, apart (turned, turn, 2, fmax (largest (turn, 2), fabs (value))));
  free (carry);
}

static void
second_derivatives (const Scene *s, SbkSpectrum *whole, const SbkBackend *device, SbkContext *context, SbkSpectrum **g,
                    const double *sums, int precise, ParityReport report)
{
  enum { N = 7 };
  static const int chosen[N] = { 3, 4, 5, 11, SBK_TILT_X, SBK_TILT_Y, SBK_DEPTH };
  SbkError error = { "" };
  double value, first_want[N], want[N * N], first_got[N] = { 0 }, got[N * N] = { 0 };
  size_t blocks = (size_t)sbk_view_blocks (&s->view);
  double *first = calloc (blocks * (size_t)sbk_carry_first (N), sizeof *first);
  double *second = calloc (blocks * (size_t)sbk_carry_second (N), sizeof *second);
  sbk_cpu.hessian (whole, &s->view, 1, &s->model, N, chosen, &value, first_want, want, NULL, &error);
  for (int p = 0; p < PARTS; p++)
    if (device->hessian_part (g[p], &s->view, precise, &s->model, N, chosen, sums, first, second, NULL, &error) != SBK_OK)
      printf ("# %s\n", error.message);
  device->hessian_end (context, &s->view, N, sums, first, second, first_got, got, &error);
  report (s, "gradient", "of the Hessian in parts", precise,
          apart (first_got, first_want, N, fmax (largest (first_want, N), 5e-3 * 6.3 * value)));
  report (s, "hessian", "in parts", precise, apart (got, want, N * N, largest (want, N * N)));
  free (first);
  free (second);
}

static void
fine_sums (const Scene *s, SbkSpectrum *whole, const SbkBackend *device, SbkSpectrum **g, int precise, ParityReport report)
{
  SbkError error = { "" };
  size_t n = (size_t)s->n_q;
  int64_t *source = malloc (n * sizeof *source);
  uint8_t *conj = calloc (n, 1);
  double *want = malloc (3 * n * sizeof *want), *got = calloc (3 * n, sizeof *got);
  for (size_t i = 0; i < n; i++)
    source[i] = (int64_t)i;
  SbkFine fine = { s->n_q, s->vx, s->vy, source, conj, 0 };
  sbk_cpu.sums (whole, &s->view, 1, &s->model, &fine, SBK_SUM_MATCHED, want, NULL, &error);
  for (int p = 0; p < PARTS; p++)
    device->sums_part (g[p], &s->view, precise, &s->model, &fine, SBK_SUM_MATCHED, got, NULL, &error);
  report (s, "sums", "in parts", precise, apart (got, want, 3 * n, largest (want, (int)(3 * n))));
  free (source);
  free (conj);
  free (want);
  free (got);
}

void
parity_parts (const Scene *s, SbkSpectrum *whole, const SbkBackend *device, SbkContext *context, int precise,
              ParityReport report)
{
  SbkSpectrum *g[PARTS] = { NULL };
  SbkError error = { "" };
  int64_t count = sbk_view_count (&s->view), cut = s->pixels.n_rows / 3;
  if (device->value_sums == NULL || cut == 0)
    return;
  double *sums = calloc ((size_t)count * 3, sizeof *sums), *power = calloc ((size_t)count, sizeof *power);
  double want, got = 0, all = 0, power_want;
  if (part_open (s, device, context, 0, cut, &g[0]) && part_open (s, device, context, cut, s->pixels.n_rows, &g[1])) {
    for (int p = 0; p < PARTS; p++) {
      device->value_sums (g[p], &s->view, precise, 1, &s->model, sums, NULL, &error);
      device->power_sums (g[p], &s->view, power, &error);
    }
    for (int64_t q = 0; q < count; q += SBK_LANES)
      got += sbk_block_value (sums + 3 * q, count - q < SBK_LANES ? count - q : SBK_LANES);
    for (int64_t q = 0; q < count; q++)
      all += power[q];
    sbk_cpu.value (whole, &s->view, 1, 1, &s->model, &want, NULL, &error);
    sbk_cpu.power (whole, &s->view, &power_want, &error);
    report (s, "value", "in parts", precise, fabs (got / want - 1));
    report (s, "power", "in parts", precise, fabs (all / power_want - 1));
    derivatives (s, whole, device, g, sums, precise, report);
    second_derivatives (s, whole, device, context, g, sums, precise, report);
    fine_sums (s, whole, device, g, precise, report);
  }
  for (int p = 0; p < PARTS; p++)
    device->spectrum_free (g[p]);
  free (sums);
  free (power);
}
