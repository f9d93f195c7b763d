/* The default regularisation: rings, and how near the methods come to the best that knowing the true powers would give. */
#include <math.h>
#include <string.h>

#include "core/reconstruct.h"

extern const SbMethod method_phase, method_complex, method_ssb;

enum { N = 4000, PIXELS = 40 };

static double
normal (GRand *rand)
{
  return sqrt (-2 * log (1 - g_rand_double (rand))) * cos (2 * G_PI * g_rand_double (rand));
}

static double complex
normal_complex (GRand *rand)
{
  double re = normal (rand), im = normal (rand);
  return (re + I * im) * G_SQRT2 / 2;
}

static double
square (double complex z)
{
  return creal (z) * creal (z) + cimag (z) * cimag (z);
}

/* N frequencies in a disk, evenly over its area; rings of 1/20 of its radius. */
static SbFineGrid *
grid_new (GRand *rand)
{
  SbFineGrid *grid = g_new0 (SbFineGrid, 1);
  grid->fine.n = N;
  grid->ring = 0.1;
  grid->q = g_new (double, N);
  for (int i = 0; i < N; i++)
    grid->q[i] = 2 * sqrt (g_rand_double (rand));
  return grid;
}

static void
test_rings (void)
{
  GRand *rand = g_rand_new_with_seed (1);
  g_autoptr (SbFineGrid) grid = grid_new (rand);
  g_autofree gint64 *order = g_new (gint64, N), *start = g_new (gint64, N + 1);
  gint64 rings = fine_grid_rings (grid, order, start, NULL);
  g_assert_cmpint (rings, >=, 15);
  g_assert_cmpint (rings, <=, 20);
  g_assert_cmpint (start[0], ==, 0);
  g_assert_cmpint (start[rings], ==, N);
  for (int i = 1; i < N; i++)
    g_assert_cmpfloat (grid->q[order[i]], >=, grid->q[order[i - 1]]);
  for (gint64 r = 0; r < rings; r++)
    g_assert_cmpint (start[r + 1] - start[r], >=, SB_RING_LEAST);
  grid->ring = 0; /* then the least number decides */
  rings = fine_grid_rings (grid, order, start, NULL);
  g_assert_cmpint (rings, ==, N / SB_RING_LEAST);
  grid->fine.n = 5; /* fewer than a ring wants: one ring of all */
  g_assert_cmpint (fine_grid_rings (grid, order, start, NULL), ==, 1);
  g_assert_cmpint (start[1], ==, 5);
  grid->fine.n = 0;
  g_assert_cmpint (fine_grid_rings (grid, order, start, NULL), ==, 0);
  g_rand_free (rand);
}

/* An object of phase and absorption seen through random sidebands, whose strength falls towards the rim. */
typedef struct Model {
  double complex f[N], e[N];
  double matched[3 * N], both[8 * N];
  double ff[N], ee[N];
} Model;

static Model *
model_new (const SbFineGrid *grid, double power_f, double power_e, double noise, GRand *rand)
{
  Model *m = g_new0 (Model, 1);
  for (int i = 0; i < N; i++) {
    double strength = 1.1 - grid->q[i] / 2;
    double *s = m->both + 8 * i, *t = m->matched + 3 * i;
    double complex ab = 0, ha = 0, hb = 0;
    m->f[i] = sqrt (power_f) * normal_complex (rand);
    m->e[i] = sqrt (power_e) * normal_complex (rand);
    for (int k = 0; k < PIXELS; k++) {
      double complex a = strength * normal_complex (rand), b = strength * (0.6 * a + normal_complex (rand));
      double complex g = I * m->f[i] * (a - b) + m->e[i] * (a + b) + sqrt (noise) * normal_complex (rand);
      s[0] += square (a);
      s[1] += square (b);
      ab += conj (a) * b;
      ha += conj (a) * g;
      hb += conj (b) * g;
      t[2] += square (a - b);
      m->ff[i] += square (a - b);
      m->ee[i] += square (a + b);
    }
    s[2] = creal (ab), s[3] = cimag (ab), s[4] = creal (ha), s[5] = cimag (ha), s[6] = creal (hb), s[7] = cimag (hb);
    t[0] = creal (ha - hb), t[1] = cimag (ha - hb);
  }
  return m;
}

static double
mean_error (const double complex *x, const double complex *truth)
{
  double sum = 0;
  for (int i = 0; i < N; i++)
    sum += square (x[i] - truth[i]);
  return sum / N;
}

/* Against the same formula with eps = noise / true power, the best linear estimate there is. */
static void
test_phase (void)
{
  GRand *rand = g_rand_new_with_seed (2);
  g_autoptr (SbFineGrid) grid = grid_new (rand);
  g_autofree double complex *phi = g_new (double complex, N), *best = g_new (double complex, N);
  const double powers[] = { 1.0, 0.03 }, noise = 1;
  for (int p = 0; p < 2; p++) {
    g_autofree Model *m = model_new (grid, powers[p], 0, noise, rand);
    g_assert_true (method_phase.solve (grid, m->matched, noise, NAN, phi, NULL, NULL));
    g_assert_true (method_phase.solve (grid, m->matched, noise, noise / powers[p], best, NULL, NULL));
    g_test_message ("error %.4g, with the true power %.4g", mean_error (phi, m->f), mean_error (best, m->f));
    g_assert_cmpfloat (mean_error (phi, m->f), <=, 1.05 * mean_error (best, m->f));
    g_assert_cmpfloat (mean_error (best, m->f), <, 0.8 * powers[p]); /* and that it is not by giving up */
  }
  /* Noise alone: hardly anything is left of it. Without regularisation there is. */
  g_autofree Model *none = model_new (grid, 0, 0, noise, rand);
  double zero = 0, bare = 0;
  g_assert_true (method_phase.solve (grid, none->matched, noise, NAN, phi, NULL, NULL));
  g_assert_true (method_phase.solve (grid, none->matched, noise, 0, best, NULL, NULL));
  for (int i = 0; i < N; i++) {
    zero += square (phi[i]) / N;
    bare += square (best[i]) / N;
  }
  g_assert_cmpfloat (zero, <, 0.02 * bare);
  g_rand_free (rand);
}

/* Phase strong, absorption weak, one eps for both cannot serve them: the default must come near the best of each. */
static void
test_complex (void)
{
  GRand *rand = g_rand_new_with_seed (3);
  g_autoptr (SbFineGrid) grid = grid_new (rand);
  g_autofree double complex *f = g_new (double complex, N), *e = g_new (double complex, N);
  const double noise = 1, power_f = 1, power_e = 0.01;
  g_autofree Model *m = model_new (grid, power_f, power_e, noise, rand);
  double best_f = INFINITY, best_e = INFINITY;
  for (double eps = 0.01; eps < 1e3; eps *= 1.3) {
    g_assert_true (method_complex.solve (grid, m->both, noise, eps, f, e, NULL));
    best_f = MIN (best_f, mean_error (f, m->f));
    best_e = MIN (best_e, mean_error (e, m->e));
  }
  g_assert_true (method_complex.solve (grid, m->both, noise, NAN, f, e, NULL));
  g_test_message ("phase %.4g (best %.4g), absorption %.4g (best %.4g)", mean_error (f, m->f), best_f, mean_error (e, m->e),
                  best_e);
  g_assert_cmpfloat (mean_error (f, m->f), <=, 1.03 * best_f);
  g_assert_cmpfloat (mean_error (e, m->e), <=, 1.03 * best_e);
  g_assert_cmpfloat (mean_error (e, m->e), <, 0.9 * power_e);

  /* A phase object has no absorption, and then its phase is that of `phase`. */
  g_autofree Model *pure = model_new (grid, power_f, 0, noise, rand);
  double left = 0;
  g_assert_true (method_complex.solve (grid, pure->both, noise, NAN, f, e, NULL));
  for (int i = 0; i < N; i++)
    left += square (e[i]) / N;
  g_assert_cmpfloat (left, <, 1e-3 * power_f);
  g_assert_true (method_phase.solve (grid, pure->matched, noise, NAN, e, NULL, NULL));
  g_assert_cmpfloat (mean_error (f, pure->f), <=, 1.05 * mean_error (e, pure->f));
  g_rand_free (rand);
}

/* Where a and b are parallel the data cannot tell phase from absorption: nothing, not infinity. */
static void
test_singular (void)
{
  SbFineGrid grid = { .fine = { .n = 1 }, .q = (double[]){ 1 }, .ring = 0.1 };
  const double zero[8] = { 0 }, parallel[8] = { 1, 0, 0, 0, 1, 0, 0, 0 };
  double complex f, e;
  for (int i = 0; i < 4; i++) {
    g_assert_true (method_complex.solve (&grid, i % 2 == 0 ? zero : parallel, 1, i < 2 ? 0 : NAN, &f, &e, NULL));
    g_assert_true (isfinite (creal (f)) && isfinite (cimag (f)) && isfinite (creal (e)) && isfinite (cimag (e)));
    g_assert_true (method_phase.solve (&grid, zero, 1, i < 2 ? 0 : NAN, &f, NULL, NULL));
    g_assert_true (f == 0);
    g_assert_true (method_ssb.solve (&grid, zero, 1, NAN, &f, NULL, NULL));
    g_assert_true (f == 0);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/methods/rings", test_rings);
  g_test_add_func ("/methods/phase", test_phase);
  g_test_add_func ("/methods/complex", test_complex);
  g_test_add_func ("/methods/singular", test_singular);
  return g_test_run ();
}
