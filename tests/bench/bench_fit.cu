/* A default fit of the reference acquisition on the device: G is made there (i Phi gamma + noise, seeded), then core's own
 * fit_run, branch included. Prints seconds, R, passes and how far the values are from the truth. Links core and the CUDA
 * module's header. bench_fit MODULE [scan] */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda_runtime.h>

#include "kernels/cuda/cuda.h"

#undef complex
#define complex /* C only: those functions are not called here */
extern "C" {
#include "core/engine.h"
#include "core/fit/fit.h"
#include "core/reconstruct.h"
#include "core/spectrum.h"
}

#include "tests/bench/tally.h"

#define STEP 0.373
#define RADIUS 52.93

static const double shells[] = { 0.08, 0.16, 0.25, 0.325, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0,
                                 1.1,  1.2,  1.3,  1.4,   1.5, 1.6, 1.7, 1.8, 1.9, 2.0 };

typedef struct {
  gint64 index;
  double row, col, r, angle;
  int shell;
} Frequency;

static int
by_shell (const void *a, const void *b)
{
  const Frequency *x = (const Frequency *)a, *y = (const Frequency *)b;
  if (x->shell != y->shell)
    return x->shell < y->shell ? -1 : 1;
  return x->angle < y->angle ? -1 : x->angle > y->angle;
}

__device__ float
gauss (unsigned long long i)
{
  unsigned long long z = i * 0x9E3779B97F4A7C15ull + 77;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  z ^= z >> 31;
  float u = ((unsigned)(z >> 32) + 0.5f) * 2.3283064e-10f, v = ((unsigned)z + 0.5f) * 2.3283064e-10f;
  return sqrtf (-2 * logf (u)) * cospif (2 * v);
}

__device__ double
chi_of (const double *chi, double x, double y)
{
  double sum = 0;
  for (int i = 0; i <= SBK_DEGREE; i++)
    for (int j = 0; i + j <= SBK_DEGREE; j++)
      if (i + j > 0)
        sum += chi[(i + j) * (i + j + 1) / 2 + j] * pow (x, i) * pow (y, j);
  return sum;
}

__device__ double
aperture_of (double r2, double edge)
{
  return fmin (fmax ((1 - r2) / (2 * edge) + 0.5, 0.0), 1.0);
}

/* G = i Phi gamma + noise, straight from the definition, one thread a pair. */
__global__ void
make_g (CudaG v, SbkModel m, const double *x, float2 *g, double noise, double *power)
{
  int q = blockIdx.x * 128 + threadIdx.x, k = blockIdx.y;
  double value = 0;
  if (q < v.q_count) {
    double vx = v.vx[q], vy = v.vy[q], kx = x[k], ky = v.pixel[k].x, a0 = v.pixel[k].y, c0 = chi_of (m.chi, kx, ky);
    double size = hypot (vx, vy), re = 0, im = 0;
    float fr = gauss (4ull * q) * exp (-size), fi = gauss (4ull * q + 1) * exp (-size);
    for (int side = 0; side < 2; side++) {
      double s = side == 0 ? -1 : 1, px = kx + s * vx, py = ky + s * vy, sr, si;
      double a = a0 * aperture_of (px * px + py * py, v.edge);
      double arg = m.depth * (kx * vx + ky * vy + s * (vx * vx + vy * vy) / 2 - vx * m.tilt[0] - vy * m.tilt[1]);
      double sinc = fabs (arg) < 1e-8 ? 1 : sinpi (arg) / (M_PI * arg);
      double theta = side == 0 ? c0 - chi_of (m.chi, px, py) : chi_of (m.chi, px, py) - c0;
      sincospi (2 * theta, &si, &sr);
      re -= s * a * sinc * sr;
      im -= s * a * sinc * si;
    }
    unsigned long long id = 2ull * ((unsigned long long)k * v.pitch + q) + (1ull << 40);
    float2 z = { (float)(-(fr * im + fi * re) + noise * gauss (id)), (float)(fr * re - fi * im + noise * gauss (id + 1)) };
    g[(long long)k * v.pitch + q] = z;
    value = (double)z.x * z.x + (double)z.y * z.y;
  }
  for (int lane = 16; lane > 0; lane /= 2)
    value += __shfl_down_sync (0xffffffffu, value, lane);
  if (threadIdx.x % 32 == 0)
    atomicAdd (power, value); /* of the bench only: the library asks its own power */
}

static SbSpectrum *
scene_new (SbEngine *engine, gint64 scan)
{
  SbSpectrum *s = g_new0 (SbSpectrum, 1);
  s->engine = engine;
  s->optics = (SbOptics){ 300, 30, { STEP, STEP } };
  s->k_max = optics_k_max (&s->optics);
  s->scan_rows = s->scan_cols = scan;
  s->edge_width = 1 / RADIUS;
  s->mean_counts = 20;
  s->mean_a2 = 0.99;
  GArray *list = g_array_new (FALSE, FALSE, sizeof (Frequency));
  for (gint64 i = 0; i < scan; i++)
    for (gint64 j = 0; j < scan; j++) {
      gint64 si = i < scan / 2 ? i : i - scan, sj = j < scan / 2 ? j : j - scan;
      Frequency f = { i * scan + j, si / (scan * STEP * s->k_max), sj / (scan * STEP * s->k_max), 0, 0, 0 };
      f.r = hypot (f.row, f.col);
      f.angle = atan2 (f.col, f.row);
      if (si < 0 || (si == 0 && sj <= 0) || f.r >= 2 || si == -scan / 2 || sj == -scan / 2)
        continue;
      while (f.r >= shells[f.shell])
        f.shell++;
      g_array_append_val (list, f);
    }
  qsort (list->data, list->len, sizeof (Frequency), by_shell);
  s->n_q = s->n_band = list->len;
  s->index = g_new (gint64, s->n_q);
  s->q = g_new (double, 2 * s->n_q);
  s->slot = g_new (gint64, scan * scan);
  memset (s->slot, 0xff, (gsize)(scan * scan) * sizeof *s->slot);
  for (gint64 i = 0; i < s->n_q; i++) {
    const Frequency *f = &g_array_index (list, Frequency, i);
    s->index[i] = f->index;
    s->q[2 * i] = f->row;
    s->q[2 * i + 1] = f->col;
    s->slot[f->index] = i;
  }
  g_array_unref (list);
  return s;
}

int
main (int argc, char **argv)
{
  gint64 scan = argc > 2 ? atoi (argv[2]) : 512;
  SbEngineOptions options;
  GError *error = NULL;
  param_group_defaults (&engine_params, &options);
  g_free (options.backend);
  options.backend = g_strdup ("cuda");
  options.cuda_module = g_strdup (argc > 1 ? argv[1] : "./libsideband_cuda.so");
  SbEngine *engine = engine_new (&options, &error);
  if (engine == NULL) {
    printf ("%s\n", error->message);
    return 0;
  }
  SbSpectrum *s = scene_new (engine, scan);
  gint64 *row_start = g_new0 (gint64, 256), *column = g_new (gint64, 16384);
  double *row_x = g_new (double, 256), *pixel_y = g_new (double, 16384), *pixel_x = g_new (double, 16384);
  gint64 rows = 0, n = 0;
  for (int r = -96; r < 96; r++) {
    gint64 before = n;
    for (int c = -96; c < 96; c++)
      if (r * r + c * c <= RADIUS * RADIUS) {
        column[n] = n;
        pixel_x[n] = r / RADIUS;
        pixel_y[n++] = c / RADIUS;
      }
    if (n > before) {
      row_x[rows] = r / RADIUS;
      row_start[++rows] = n;
    }
  }
  s->n_pixels = n;
  void *counts = NULL;
  cudaMalloc (&counts, (size_t)(n * scan * scan) * 2);
  cudaMemset (counts, 1, (size_t)(n * scan * scan) * 2);
  SbkPixels pixels = { n, rows, row_start, row_x, pixel_y, s->edge_width };
  SbkBand band = { scan, scan, s->n_q, s->index };
  SbkCounts from = { SBK_U16, counts, column, 1, 0 };
  SbkError kernel = { "" };
  if (engine->backend->spectrum_from_counts (engine->context, &s->g, &pixels, &band, &from, NULL, &kernel) != SBK_OK) {
    printf ("%s\n", kernel.message);
    return 1;
  }
  cudaFree (counts);
  SbFrame frame = { 0.3, FALSE };
  spectrum_set_frame (s, &frame, &error);
  SbCoordinates truth = { { 0 } };
  const double chi[] = { 14, 3, -2, 0.6, -0.9, 0.7, 0.4, 1.5 };
  memcpy (truth.x, chi, sizeof chi);
  truth.x[SB_TILT_ROW] = 4;
  truth.x[SB_TILT_COL] = -3;
  truth.x[SB_DEPTH] = 3;
  SbkModel model;
  optics_model (&s->optics, &frame, &truth, &model);
  double *x = NULL, *total = NULL;
  cudaMalloc (&x, (size_t)n * 8);
  cudaMalloc (&total, 8);
  cudaMemcpy (x, pixel_x, (size_t)n * 8, cudaMemcpyHostToDevice);
  cudaMemset (total, 0, 8);
  CudaG v = s->g->view;
  v.q_count = (int)s->n_q;
  make_g<<<dim3 ((unsigned)((s->n_q + 127) / 128), (unsigned)n), 128>>> (v, model, x, (float2 *)v.g, 2.0, total);
  cudaDeviceSynchronize ();
  printf ("made: %s\n", cudaGetErrorString (cudaGetLastError ()));
  SbkView all = { 0, s->n_band, 1, 0, 0, 1 };
  engine->backend->power (s->g, &all, &s->power, &kernel);
  /* noise per pair as counting would give it, so that errors come out right: (mean A^2)^2 / (mu N) = 2 x 2.0^2 */
  s->mean_counts = s->mean_a2 * s->mean_a2 / (8.0 * scan * scan);

  SbFitOptions fit_options;
  SbAberrationOptions none = { NULL, NULL, NULL, NULL, NULL };
  SbStart start;
  param_group_defaults (&fit_params, &fit_options);
  start_resolve (&start, &none, &fit_options, &s->optics, NULL, &error);
  double unit = 8.0 * n * s->n_q / 4.48e12;
  all_pairs = (double)n * s->n_q;
  tally_begin (engine);
  for (int run = 0; run < 3; run++) {
    n_tally = 0;
    double before = seconds ();
    SbFit *fit = fit_run (s, &start, &fit_options, NULL, &error);
    double took = seconds () - before;
    if (fit == NULL) {
      printf ("%s\n", error->message);
      return 1;
    }
    double worst = 0;
    for (int i = 0; i < SB_N_COORDINATES; i++)
      if (fit->error[i] > 0)
        worst = fmax (worst, fabs (fit->at.x[i] - truth.x[i]) / fit->error[i]);
    printf ("fit %d: %.3f s = %.0f R, S = %.6f, C10 %.4f (truth 14), worst %.2f of its error, passes value %.2f gradient %.2f "
            "hessian %.2f, skewness %.2f\n",
            run, took, took / unit, fit->agreement, fit->at.x[0], worst, fit->passes.value, fit->passes.gradient,
            fit->passes.hessian, fit->skewness);
    tally_print (took, unit);
    fit_free (fit);
    spectrum_set_frame (s, &frame, &error);
  }
  char *original = fit_options.uncertainty;
  fit_options.uncertainty = g_strdup ("error");
  for (int run = 0; run < 2; run++) {
    n_tally = 0;
    double before = seconds ();
    SbFit *fit = fit_run (s, &start, &fit_options, NULL, &error);
    double took = seconds () - before;
    printf ("fit with the counting error only: %.3f s\n", took);
    tally_print (took, unit);
    fit_free (fit);
    spectrum_set_frame (s, &frame, &error);
  }
  fit_options.uncertainty = original;
  static const struct {
    const char *method;
    int upsampling;
  } images[] = { { "phase", 1 }, { "phase", 3 }, { "dealiased", 3 } };
  for (int m = 0; m < 3; m++) {
    g_autofree char *method = g_strdup (images[m].method);
    int u = images[m].upsampling;
    SbReconstructionOptions how = { method, u, NAN, FALSE, FALSE };
    for (int run = 0; run < 2; run++) {
      n_tally = 0;
      double before = seconds ();
      SbImage *image = reconstruct (s, &truth, &how, NULL, &error);
      printf ("reconstruct %s %dx: %.1f ms = %.1f R %s\n", method, u, 1e3 * (seconds () - before), (seconds () - before) / unit,
              image == NULL ? error->message : "");
      tally_print (seconds () - before, unit);
      image_free (image);
    }
  }
  return 0;
}
