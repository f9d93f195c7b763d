/* Every kernel of the table on a module's device against float64 on the CPU: awkward shapes, random inputs, poisoned outputs,
 * bounds of kernels.def, repeats with the same bits. test_parity MODULE [seed [largest radius]] */
#include "tests/parity/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* kernels.def: name, bound of the single-precision path, bound of the double path, what it is relative to */
typedef struct Bound {
  const char *kernel;
  double single, twice;
} Bound;
static const Bound bounds[] = {
#define KERNEL(name, single, twice, what) { #name, single, twice },
#include "kernels/kernels.def"
#undef KERNEL
};

static int tests = 0, failures = 0;

static double
bound_of (const char *kernel, int precise)
{
  for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
    if (strcmp (bounds[i].kernel, kernel) == 0)
      return precise ? bounds[i].twice : bounds[i].single;
  return 0;
}

void
parity_report (const Scene *s, const char *kernel, const char *what, int precise, double error)
{
  double bound = bound_of (kernel, precise);
  int ok = error <= bound; /* NaN fails */
  tests++;
  failures += !ok;
  printf ("%sok %d %s %s %s %s # error %.1e bound %.1e\n", ok ? "" : "not ", tests, kernel, s->name, what,
          precise ? "double" : "single", error, bound);
}

void
parity_bits (const Scene *s, const char *kernel, int same)
{
  tests++;
  failures += !same;
  printf ("%sok %d %s %s repeats with the same bits\n", same ? "" : "not ", tests, kernel, s->name);
}

static int
side_open (Side *side, const SbkBackend *table, const Scene *s, int wide)
{
  SbkOpen how = { parity_threads (), wide, NULL };
  SbkBand band = { s->rows, s->cols, s->n_q, s->index };
  SbkError error = { "" };
  side->table = table;
  int ok = table->open (&side->context, &how, &error) == SBK_OK
           && table->spectrum_from_values (side->context, &side->g, &s->pixels, &band, s->g, &error) == SBK_OK
           && table->spectrum_set_q (side->g, s->vx, s->vy, &error) == SBK_OK;
  if (!ok)
    printf ("# %s: %s\n", table->name, error.message);
  return ok;
}

static void
side_close (Side *side)
{
  side->table->spectrum_free (side->g);
  side->table->close (side->context);
}

static void
compare_values (const Scene *s, Side *cpu, Side *device, int precise, const char *what)
{
  enum { BATCH = 5 };
  SbkModel models[BATCH];
  double want[BATCH], got[BATCH], again[BATCH], gradient_want[SBK_N], gradient_got[SBK_N], value, power[2];
  SbkError error = { "" };
  for (int i = 0; i < BATCH; i++) {
    models[i] = s->model;
    models[i].chi[3] += 0.2 * i;
    models[i].depth *= i % 2 == 0;
  }
  poison (got, BATCH);
  poison (gradient_got, SBK_N);
  cpu->table->power (cpu->g, &s->view, &power[0], &error);
  device->table->power (device->g, &s->view, &power[1], &error);
  parity_report (s, "power", what, precise, fabs (power[1] / power[0] - 1));
  cpu->table->value (cpu->g, &s->view, 1, BATCH, models, want, NULL, &error);
  device->table->value (device->g, &s->view, precise, BATCH, models, got, NULL, &error);
  parity_report (s, "value", what, precise, apart (got, want, BATCH, largest (want, BATCH)));
  device->table->value (device->g, &s->view, precise, BATCH, models, again, NULL, &error);
  int same = memcmp (got, again, sizeof got) == 0;
  for (int i = 0; i < BATCH; i++) {
    device->table->value (device->g, &s->view, precise, 1, &models[i], &value, NULL, &error);
    same = same && memcmp (&value, &got[i], sizeof value) == 0;
  }
  parity_bits (s, "value (batch and alone)", same);
  cpu->table->gradient (cpu->g, &s->view, 1, &s->model, &value, gradient_want, NULL, &error);
  device->table->gradient (device->g, &s->view, precise, &s->model, &value, gradient_got, NULL, &error);
  double scale = fmax (largest (gradient_want, SBK_N), (s->pixels.n_pixels == 1 ? 1 : 2e-7 / 4e-5) * 6.3 * want[0]);
  parity_report (s, "gradient", what, precise, apart (gradient_got, gradient_want, SBK_N, scale));
  same = memcmp (&value, &got[0], sizeof value) == 0;
  double gradient_again[SBK_N];
  device->table->gradient (device->g, &s->view, precise, &s->model, &value, gradient_again, NULL, &error);
  parity_bits (s, "gradient", same && memcmp (gradient_again, gradient_got, sizeof gradient_got) == 0);
}

static void
compare_hessians (const Scene *s, Side *cpu, Side *device, int precise)
{
  static const int low[6] = { 3, 4, 5, SBK_TILT_X, SBK_TILT_Y, SBK_DEPTH };
  int lone = s->pixels.n_pixels == 1;
  int all[SBK_N - 1], some[] = { 12, 3, SBK_DEPTH, 27, 6 };
  const int *chosen[3] = { low, all, some };
  const int counts[3] = { 6, SBK_N - 1, 5 };
  const char *names[3] = { "low", "all", "some" };
  SbkError error = { "" };
  for (int i = 0; i < SBK_N - 1; i++)
    all[i] = i + 1;
  for (int c = 0; c < 3; c++) {
    double want[SBK_N * SBK_N], got[SBK_N * SBK_N], first_want[SBK_N], first[SBK_N], value, again[SBK_N * SBK_N];
    size_t n = (size_t)counts[c];
    poison (got, n * n);
    poison (first, n);
    cpu->table->hessian (cpu->g, &s->view, 1, &s->model, counts[c], chosen[c], &value, first_want, want, NULL, &error);
    SbkStatus status = device->table->hessian (device->g, &s->view, precise, &s->model, counts[c], chosen[c], &value, first,
                                               got, NULL, &error);
    if (status != SBK_OK)
      printf ("# %s\n", error.message);
    /* a lone pixel's S does not depend on anything: the scale is then the value's */
    double scale = fmax (largest (want, (int)(n * n)), lone ? 400 * fabs (value) : 0);
    parity_report (s, "hessian", names[c], precise, apart (got, want, n * n, scale));
    parity_report (s, "gradient", "of the Hessian", precise,
                   apart (first, first_want, n, fmax (largest (first_want, (int)n), (lone ? 1 : 5e-3) * 6.3 * fabs (value))));
    device->table->hessian (device->g, &s->view, precise, &s->model, counts[c], chosen[c], &value, first, again, NULL, &error);
    parity_bits (s, "hessian", memcmp (got, again, n * n * sizeof *got) == 0);
  }
}

static void
compare_sums (const Scene *s, Side *cpu, Side *device, int precise)
{
  static const SbkSumKind kinds[] = { SBK_SUM_MATCHED, SBK_SUM_SSB, SBK_SUM_COMPLEX, SBK_SUM_SHIFTED, SBK_SUM_MOMENT };
  static const char *const names[] = { "matched", "ssb", "complex", "shifted", "moment" };
  int64_t n = 2 * s->n_q + 3;
  double *vx = malloc ((size_t)n * sizeof *vx), *vy = malloc ((size_t)n * sizeof *vy);
  int64_t *source = malloc ((size_t)n * sizeof *source);
  uint8_t *conj = malloc ((size_t)n);
  double *want = malloc ((size_t)n * 8 * sizeof *want), *got = malloc ((size_t)n * 8 * sizeof *got);
  uint64_t state = s->seed + 17;
  SbkError error = { "" };
  for (int64_t i = 0; i < n; i++) {
    source[i] = (i * 7) % s->n_q;
    conj[i] = i % 3 == 1;
    vx[i] = 1.4 * scene_random (&state);
    vy[i] = 1.4 * scene_random (&state);
  }
  SbkFine fine = { n, vx, vy, source, conj, 0 };
  for (int k = 0; k < SBK_SUM_KINDS; k++) {
    size_t count = (size_t)n * (size_t)sbk_sum_width (kinds[k]);
    poison (got, count);
    cpu->table->sums (cpu->g, &s->view, 1, &s->model, &fine, kinds[k], want, NULL, &error);
    device->table->sums (device->g, &s->view, precise, &s->model, &fine, kinds[k], got, NULL, &error);
    parity_report (s, "sums", names[k], precise, apart (got, want, count, largest (want, (int)count)));
  }
  free (vx);
  free (vy);
  free (source);
  free (conj);
  free (want);
  free (got);
}

/* Turning and growing the detector, also after its scale was set. */
static void
compare_geometry (const Scene *s, Side *cpu, Side *device, int precise)
{
  static const double scales[] = { 1, 1.03, 0.96, 1 };
  for (int i = 0; i < 4; i++) {
    SbkError error = { "" };
    double want[3], got[3], again[3];
    if (cpu->table->spectrum_set_scale (cpu->g, scales[i], &error) != SBK_OK
        || device->table->spectrum_set_scale (device->g, scales[i], &error) != SBK_OK)
      printf ("# %s\n", error.message);
    poison (got, 3);
    cpu->table->geometry (cpu->g, &s->view, 1, &s->model, &want[0], want + 1, NULL, &error);
    device->table->geometry (device->g, &s->view, precise, &s->model, &got[0], got + 1, NULL, &error);
    parity_report (s, "value", "of the geometry", precise, apart (got, want, 1, fabs (want[0])));
    parity_report (s, "geometry", i == 0 ? "as made" : "scaled", precise,
                   apart (got + 1, want + 1, 2, fmax (largest (want + 1, 2), fabs (want[0]))));
    device->table->geometry (device->g, &s->view, precise, &s->model, &again[0], again + 1, NULL, &error);
    parity_bits (s, "geometry", memcmp (got, again, sizeof got) == 0);
  }
}

/* Counts of every type to G, with and without taper. */
static void
compare_counts (const Scene *s, const SbkBackend *device)
{
  int64_t n = (int64_t)s->rows * s->cols, total = n * s->pixels.n_pixels;
  uint64_t state = s->seed + 5;
  void *counts = malloc ((size_t)total * 8 + 1);
  double *want = malloc ((size_t)(2 * s->n_q * s->pixels.n_pixels) * sizeof *want + 1),
         *got = malloc ((size_t)(2 * s->n_q * s->pixels.n_pixels) * sizeof *got + 1);
  for (int type = SBK_U8; type <= SBK_F64; type++)
    for (int wide = 0; wide < 2; wide++) {
      for (int64_t i = 0; i < total; i++) {
        double x = floor (100 * (scene_random (&state) + 1));
        if (type == SBK_U8)
          ((uint8_t *)counts)[i] = (uint8_t)x;
        else if (type == SBK_U16)
          ((uint16_t *)counts)[i] = (uint16_t)(300 * x);
        else if (type == SBK_U32)
          ((uint32_t *)counts)[i] = (uint32_t)(1e5 * x);
        else if (type == SBK_F32)
          ((float *)counts)[i] = (float)x - 30;
        else
          ((double *)counts)[i] = x - 30;
      }
      SbkCounts c = { (SbkType)type, counts, s->column, 0.01, type % 2 == 1 && s->rows > 4 && s->cols > 4 ? 2 : 0, NULL, NULL };
      SbkBand band = { s->rows, s->cols, s->n_q, s->index };
      SbkError error = { "" };
      const SbkBackend *tables[2] = { &sbk_cpu, device };
      for (int t = 0; t < 2; t++) {
        SbkOpen how = { parity_threads (), t == 0 ? 1 : wide, NULL };
        SbkContext *context = NULL;
        SbkSpectrum *g = NULL;
        double *to = t == 0 ? want : got;
        poison (to, (size_t)(2 * s->n_q * s->pixels.n_pixels));
        if (tables[t]->open (&context, &how, &error) != SBK_OK
            || tables[t]->spectrum_from_counts (context, &g, &s->pixels, &band, &c, NULL, &error) != SBK_OK
            || tables[t]->spectrum_read (g, 0, s->pixels.n_pixels, to, &error) != SBK_OK)
          printf ("# %s: %s\n", tables[t]->name, error.message);
        tables[t]->spectrum_free (g);
        if (context != NULL)
          tables[t]->close (context);
      }
      size_t count = (size_t)(2 * s->n_q * s->pixels.n_pixels);
      parity_report (s, "spectrum",
                     type == SBK_U8    ? "uint8"
                     : type == SBK_U16 ? "uint16"
                     : type == SBK_U32 ? "uint32"
                                       : "float",
                     wide, apart (got, want, count, largest (want, (int)count)));
    }
  free (counts);
  free (want);
  free (got);
}

static void
compare (Scene *s, const SbkBackend *device)
{
  scene_make (s);
  for (int wide = 0; wide < 2; wide++) {
    Side cpu, gpu;
    /* float64 throughout: G holds float32 values, so both see the same */
    if (!side_open (&cpu, &sbk_cpu, s, 1) || !side_open (&gpu, device, s, wide)) {
      printf ("not ok %d %s could not be set up\n", ++tests, s->name);
      failures++;
      return;
    }
    for (int precise = wide; precise < 2; precise++) {
      s->view = (SbkView){ 0, s->n_q, 1, 0, 0, 1, 0, 1 };
      compare_values (s, &cpu, &gpu, precise, "whole");
      compare_hessians (s, &cpu, &gpu, precise);
      compare_sums (s, &cpu, &gpu, precise);
      parity_aliases (s, &cpu, &gpu, precise);
      compare_geometry (s, &cpu, &gpu, precise);
      parity_parts (s, cpu.g, device, gpu.context, precise, parity_report);
      if (s->pixels.n_pixels > 8) {
        s->view.k_first = 3;
        s->view.k_stride = 8;
        compare_values (s, &cpu, &gpu, precise, "every 8th pixel");
      }
      if (s->pixels.n_pixels > 1000) { /* fewer would leave frequencies that random data do not determine */
        s->view = (SbkView){ 0, s->n_q, 1, 0, 1, 2, 1, 3 };
        compare_values (s, &cpu, &gpu, precise, "every second pixel of every third row");
        if (precise)
          compare_hessians (s, &cpu, &gpu, precise);
      }
      if (s->n_q > 2 * SBK_LANES) {
        s->view = (SbkView){ 0, s->n_q, 2, 1, 0, 1, 0, 1 };
        compare_values (s, &cpu, &gpu, precise, "odd blocks");
        s->view = (SbkView){ SBK_LANES, s->n_q - SBK_LANES - 1, 1, 0, 0, 1, 0, 1 };
        compare_values (s, &cpu, &gpu, precise, "from the second block");
      }
    }
    side_close (&cpu);
    side_close (&gpu);
  }
  compare_counts (s, device);
  scene_free (s);
}

int
main (int argc, char **argv)
{
  const char *reason = "no module given";
  const SbkBackend *device = argc > 1 ? parity_module (argv[1], &reason) : NULL;
  uint64_t seed = argc > 2 ? strtoull (argv[2], NULL, 10) : 1;
  if (device == NULL) {
    printf ("1..0 # SKIP %s\n", reason);
    return 0;
  }
  Scene scenes[] = {
    { .name = "disk 7, 18 x 22", .radius = 7.3, .rows = 18, .cols = 22, .turns = 0.3, .depth = 1.3 },
    { .name = "thin", .radius = 6.4, .rows = 17, .cols = 16, .turns = 0.3, .depth = 0 },
    { .name = "wide, thick", .radius = 9.1, .rows = 20, .cols = 19, .turns = 1.0, .depth = 6 },
    { .name = "holes", .radius = 8.2, .rows = 15, .cols = 31, .holes = 40, .turns = 0.2, .depth = 2 },
    { .name = "one row of the scan", .radius = 5.2, .rows = 1, .cols = 41, .turns = 0.3, .depth = 1 },
    { .name = "one frequency", .radius = 4.1, .rows = 8, .cols = 8, .count = 1, .turns = 0.3, .depth = 1 },
    { .name = "15 frequencies", .radius = 4.1, .rows = 12, .cols = 9, .count = 15, .turns = 0.3, .depth = 0.7 },
    { .name = "17 frequencies", .radius = 4.1, .rows = 12, .cols = 9, .count = 17, .turns = 0.3, .depth = 0.7 },
    { .name = "33 frequencies", .radius = 3.3, .rows = 12, .cols = 9, .count = 33, .turns = 0.3, .depth = 0 },
    { .name = "one pixel", .radius = 0.6, .rows = 9, .cols = 7, .turns = 0.3, .depth = 1 },
    { .name = "large disk", .radius = 31.7, .rows = 14, .cols = 13, .turns = 0.5, .depth = 1.5 },
  };
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
    scenes[i].seed = seed * 1000 + i;
    if (argc > 3 && scenes[i].radius > atof (argv[3]))
      continue;
    compare (&scenes[i], device);
  }
  printf ("1..%d\n# %d of %d failed on %s\n", tests, failures, tests, device->name);
  return failures > 0;
}
