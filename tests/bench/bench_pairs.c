/* Speed of the CPU's pair kernels: (q, k) pairs per second of one core, for every instruction set of the machine, beside the
 * rate at which that core reads memory. Prints JSON; medians. bench_pairs [repeats] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/backend.h"
#include "tests/parity/parity.h"

static double
seconds (void)
{
  struct timespec t;
  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int
ascending (const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

typedef struct Bench {
  Scene scene;
  SbkSpectrum *g;
  int kind; /* 0 thin value, 1 value, 2 gradient, 3 low-order Hessian, 4 value float64, 5 value of a batch of 8 */
} Bench;

static void
run_once (const Bench *b)
{
  static const int low[6] = { 3, 4, 5, SBK_TILT_X, SBK_TILT_Y, SBK_DEPTH };
  double value[8], gradient[SBK_N], hessian[36];
  SbkModel models[8];
  SbkError error;
  for (int i = 0; i < 8; i++)
    models[i] = b->scene.model;
  if (b->kind == 0)
    models[0].depth = 0;
  if (b->kind == 2)
    sbk_cpu.gradient (b->g, &b->scene.view, 0, models, value, gradient, NULL, &error);
  else if (b->kind == 3)
    sbk_cpu.hessian (b->g, &b->scene.view, 0, models, 6, low, value, gradient, hessian, NULL, &error);
  else
    sbk_cpu.value (b->g, &b->scene.view, b->kind == 4, b->kind == 5 ? 8 : 1, models, value, NULL, &error);
}

static double
median_rate (const Bench *b, int repeats)
{
  double times[99], pairs = (double)b->scene.n_q * (double)b->scene.pixels.n_pixels * (b->kind == 5 ? 8 : 1);
  run_once (b);
  for (int i = 0; i < repeats; i++) {
    double before = seconds ();
    run_once (b);
    times[i] = seconds () - before;
  }
  qsort (times, (size_t)repeats, sizeof *times, ascending);
  return pairs / times[repeats / 2];
}

/* GB/s of one core reading 256 MB. */
static double
read_rate (void)
{
  size_t n = (size_t)32 << 20;
  uint64_t *x = malloc (n * sizeof *x), sum = 0;
  memset (x, 1, n * sizeof *x);
  double before = seconds ();
  for (int pass = 0; pass < 4; pass++)
    for (size_t i = 0; i < n; i++)
      sum += x[i];
  double rate = 4.0 * (double)n * 8 / (seconds () - before) / 1e9;
  free (x);
  return sum == 1 ? 0 : rate;
}

int
main (int argc, char **argv)
{
  static const char *const isas[] = { "plain", "avx2", "avx512" };
  static const char *const names[] = { "value, thin",        "value",
                                       "value and gradient", "value, gradient, low-order Hessian",
                                       "value, float64",     "value, 8 candidates a batch" };
  int repeats = argc > 1 ? atoi (argv[1]) : 9;
  repeats = repeats < 1 ? 1 : repeats > 99 ? 99 : repeats;
  Bench b = { .scene = { .name = "bench", .radius = 52.9, .rows = 40, .cols = 40, .turns = 0.3, .depth = 1.37, .seed = 1 } };
  scene_make (&b.scene);
  printf ("{\"pixels\": %lld, \"frequencies\": %lld, \"memory read GB/s\": %.1f", (long long)b.scene.pixels.n_pixels,
          (long long)b.scene.n_q, read_rate ());
  for (int i = 0; i < 3; i++) {
    SbkOpen how = { parity_threads (), 0, NULL };
    SbkContext *context;
    SbkBand band = { b.scene.rows, b.scene.cols, b.scene.n_q, b.scene.index };
    SbkError error;
    setenv ("SIDEBAND_ISA", isas[i], 1);
    if (sbk_cpu.open (&context, &how, &error) != SBK_OK
        || sbk_cpu.spectrum_from_values (context, &b.g, &b.scene.pixels, &band, b.scene.g, &error) != SBK_OK)
      return 1;
    sbk_cpu.spectrum_set_q (b.g, b.scene.vx, b.scene.vy, &error);
    printf (",\n \"%s\": {", isas[i]);
    for (b.kind = 0; b.kind < 6; b.kind++) {
      printf ("%s\"%s\": %.3g", b.kind > 0 ? ", " : "", names[b.kind], median_rate (&b, repeats));
      fflush (stdout);
    }
    printf ("}");
    sbk_cpu.spectrum_free (b.g);
    sbk_cpu.close (context);
  }
  printf (",\n \"unit\": \"pairs per second of one core\"}\n");
  scene_free (&b.scene);
  return 0;
}
