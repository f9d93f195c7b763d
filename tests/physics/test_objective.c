/* The agreement S, its gradient and Hessian against exact float64 values of another program (tests/data/golden), for every
 * instruction set of the machine, in float64 and in float32. */
#include <math.h>
#include <string.h>

#include "core/optics.h"
#include "tests/physics/golden.h"

static const char *const files[] = { "noise", "signal", "thin", "wide", "flat" };
static const char *const isas[] = { "plain", "avx2", "avx512" };

static void
run_serial (void *pool, int64_t n, SbkTask task, void *data)
{
  for (int64_t i = 0; i < n; i++)
    task (i, 0, data);
}

typedef struct {
  Golden *golden;
  GoldenPixels *pixels;
  SbkContext *context;
  SbkSpectrum *g;
  SbOptics optics;
  SbFrame frame;
  SbCoordinates at;
  SbkModel model;
  SbkView view;
  double power, s, gradient[SB_N_COORDINATES], hessian[36];
} Case;

static void
case_open (Case *c, const char *name, gboolean precise)
{
  g_autofree char *file = g_strconcat ("objective-", name, NULL);
  gint64 dims[4];
  c->golden = golden_open (file);
  c->frame = (SbFrame){ 0.35, FALSE };
  c->optics = (SbOptics){ 300, 30, { 0.37, 0.41 } };
  c->pixels = golden_pixels (c->golden, c->frame.rotation);
  golden_coordinates (c->golden, &c->at);
  g_autofree double *q = golden_array (c->golden, "q", dims);
  g_autofree double *g = golden_array (c->golden, "G", NULL);
  g_autofree double *s = golden_array (c->golden, "S", NULL);
  g_autofree double *gradient = golden_array (c->golden, "gradient", NULL);
  g_autofree double *hessian = golden_array (c->golden, "hessian_low", NULL);
  gint64 nq = dims[0], nk = c->pixels->pixels.n_pixels;
  g_autofree double *by_pixel = g_new (double, 2 * nq * nk);
  g_autofree double *vx = g_new (double, nq), *vy = g_new (double, nq);
  g_autofree gint64 *index = g_new0 (gint64, nq);
  for (gint64 k = 0; k < nk; k++)
    for (gint64 j = 0; j < nq; j++)
      memcpy (by_pixel + 2 * (k * nq + j), g + 2 * (j * nk + c->pixels->order[k]), 2 * sizeof (double));
  for (gint64 j = 0; j < nq; j++) {
    double scan[2] = { q[2 * j] / c->golden->k_max, q[2 * j + 1] / c->golden->k_max }, v[2];
    frame_to_detector (&c->frame, scan, v);
    vx[j] = v[0];
    vy[j] = v[1];
  }
  SbkOpen how = { { 1, run_serial, NULL }, precise, NULL };
  SbkBand band = { 18, 22, nq, index };
  SbkError error;
  g_assert_cmpint (sbk_cpu.open (&c->context, &how, &error), ==, SBK_OK);
  g_assert_cmpint (sbk_cpu.spectrum_from_values (c->context, &c->g, &c->pixels->pixels, &band, by_pixel, &error), ==, SBK_OK);
  g_assert_cmpint (sbk_cpu.spectrum_set_q (c->g, vx, vy, &error), ==, SBK_OK);
  c->view = (SbkView){ 0, nq, 1, 0, 0, 1 };
  g_assert_cmpint (sbk_cpu.power (c->g, &c->view, &c->power, &error), ==, SBK_OK);
  optics_model (&c->optics, &c->frame, &c->at, &c->model);
  c->s = s[0];
  memcpy (c->gradient, gradient, sizeof c->gradient);
  memcpy (c->hessian, hessian, sizeof c->hessian);
}

static void
case_close (Case *c)
{
  sbk_cpu.spectrum_free (c->g);
  sbk_cpu.close (c->context);
  golden_pixels_free (c->pixels);
  golden_close (c->golden);
}

static double
largest (const double *x, int n)
{
  double m = 0;
  for (int i = 0; i < n; i++)
    m = fmax (m, fabs (x[i]));
  return m;
}

static void
evaluate (Case *c, int precise, double *s, double gradient[SB_N_COORDINATES])
{
  double kernel[SBK_N], value;
  SbkError error;
  g_assert_cmpint (sbk_cpu.gradient (c->g, &c->view, precise, &c->model, s, kernel, NULL, &error), ==, SBK_OK);
  g_assert_cmpint (sbk_cpu.value (c->g, &c->view, precise, 1, &c->model, &value, NULL, &error), ==, SBK_OK);
  g_assert_true (memcmp (s, &value, sizeof value) == 0);
  optics_gradient (&c->optics, &c->frame, kernel, gradient);
  *s /= c->power;
  for (int i = 0; i < SB_N_COORDINATES; i++)
    gradient[i] /= c->power;
}

/* The low-order Hessian by the monomials of degree 2, tilt and depth. */
static void
evaluate_hessian (Case *c, int precise, double hessian[36], double gradient_low[6])
{
  const int chosen[6] = { sbk_monomial (2, 0), sbk_monomial (1, 1), sbk_monomial (0, 2), SBK_TILT_X, SBK_TILT_Y, SBK_DEPTH };
  const int low[6] = { 0, 1, 2, SB_TILT_ROW, SB_TILT_COL, SB_DEPTH };
  double kernel[36], first[6], value, jacobian[SBK_N * SB_N_COORDINATES];
  SbkError error;
  g_assert_cmpint (sbk_cpu.hessian (c->g, &c->view, precise, &c->model, 6, chosen, &value, first, kernel, NULL, &error), ==,
                   SBK_OK);
  optics_jacobian (&c->optics, &c->frame, jacobian);
  for (int a = 0; a < 6; a++) {
    gradient_low[a] = 0;
    for (int i = 0; i < 6; i++)
      gradient_low[a] += jacobian[chosen[i] * SB_N_COORDINATES + low[a]] * first[i] / c->power;
    for (int b = 0; b < 6; b++) {
      hessian[6 * a + b] = 0;
      for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
          hessian[6 * a + b] += jacobian[chosen[i] * SB_N_COORDINATES + low[a]] * kernel[6 * i + j]
                                * jacobian[chosen[j] * SB_N_COORDINATES + low[b]] / c->power;
    }
  }
}

/* Bounds of the model: value relative, gradient by its largest chi component, Hessian by its largest entry. */
static void
check (const char *isa, const char *name, gboolean precise)
{
  Case c;
  double s, gradient[SB_N_COORDINATES], hessian[36], low[6];
  gboolean wide = strcmp (name, "wide") == 0;
  double value_bound = precise ? 1e-12 : 3e-6, gradient_bound = precise ? 3e-12 : 4e-5;
  double hessian_bound = precise ? 1e-12 : wide ? 1e-4 : 5e-6;
  g_setenv ("SIDEBAND_ISA", isa, TRUE);
  case_open (&c, name, precise);
  evaluate (&c, precise, &s, gradient);
  evaluate_hessian (&c, precise, hessian, low);
  double scale = largest (c.gradient, SB_N_CHI), bound = gradient_bound * scale, worst = 0, worst_hessian = 0;
  if (!precise)
    bound = fmax (bound, 2e-7 * c.s);
  for (int i = 0; i < SB_N_COORDINATES; i++)
    worst = fmax (worst, fabs (gradient[i] - c.gradient[i]));
  for (int i = 0; i < 36; i++)
    worst_hessian = fmax (worst_hessian, fabs (hessian[i] - c.hessian[i]));
  g_test_message ("%s %s: value %.1e (bound %.0e), gradient %.1e (bound %.1e), Hessian %.1e (bound %.0e)", isa, name,
                  fabs (s / c.s - 1), value_bound, worst / scale, bound / scale, worst_hessian / largest (c.hessian, 36),
                  hessian_bound);
  g_assert_cmpfloat (fabs (s / c.s - 1), <=, value_bound);
  g_assert_cmpfloat (worst, <=, bound);
  g_assert_cmpfloat (worst_hessian, <=, hessian_bound * largest (c.hessian, 36));
  /* The Hessian's own gradient is the gradient. */
  g_assert_cmpfloat (fabs (low[0] - gradient[0]), <=, 2 * bound);
  g_assert_cmpfloat (fabs (low[5] - gradient[SB_DEPTH]), <=, 2 * bound);
  case_close (&c);
}

static void
test_golden (gconstpointer data)
{
  const char *const *what = data;
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    check (what[0], files[i], what[1][0] == 'd');
}

/* The exact Hessian of all 28 coordinates against differences of the exact gradient. */
static void
test_full_hessian (void)
{
  Case c;
  int chosen[SBK_N];
  double value, first[SBK_N], hessian[SBK_N * SBK_N], plus[SBK_N], minus[SBK_N], unused;
  SbkError error;
  g_unsetenv ("SIDEBAND_ISA");
  case_open (&c, "signal", TRUE);
  for (int i = 0; i < SBK_N - 1; i++)
    chosen[i] = SBK_N - 1 - i; /* any order: here the reverse, without the constant */
  g_assert_cmpint (sbk_cpu.hessian (c.g, &c.view, 1, &c.model, SBK_N - 1, chosen, &value, first, hessian, NULL, &error), ==,
                   SBK_OK);
  double scale = largest (hessian, (SBK_N - 1) * (SBK_N - 1));
  for (int i = 0; i < SBK_N - 1; i++) {
    SbkModel m = c.model;
    double *x = chosen[i] < SBK_N_MONOMIALS ? &m.chi[chosen[i]]
                : chosen[i] == SBK_DEPTH    ? &m.depth
                                            : &m.tilt[chosen[i] - SBK_TILT_X];
    double at = *x, step = 1e-5;
    *x = at + step;
    g_assert_cmpint (sbk_cpu.gradient (c.g, &c.view, 1, &m, &unused, plus, NULL, &error), ==, SBK_OK);
    *x = at - step;
    g_assert_cmpint (sbk_cpu.gradient (c.g, &c.view, 1, &m, &unused, minus, NULL, &error), ==, SBK_OK);
    for (int j = 0; j < SBK_N - 1; j++) {
      double difference = (plus[chosen[j]] - minus[chosen[j]]) / (2 * step);
      g_assert_cmpfloat (fabs (difference - hessian[i * (SBK_N - 1) + j]), <=, 1e-7 * scale);
    }
  }
  case_close (&c);
}

/* A candidate in a batch has the bits it has alone, and a view of half the blocks adds up to the whole. */
static void
test_batch_and_views (void)
{
  Case c;
  SbkModel models[5];
  double batch[5], alone, even, odd, all;
  SbkError error;
  case_open (&c, "noise", FALSE);
  for (int i = 0; i < 5; i++) {
    models[i] = c.model;
    models[i].chi[3] += 0.1 * i;
    models[i].depth *= i % 2;
  }
  g_assert_cmpint (sbk_cpu.value (c.g, &c.view, 0, 5, models, batch, NULL, &error), ==, SBK_OK);
  for (int i = 0; i < 5; i++) {
    g_assert_cmpint (sbk_cpu.value (c.g, &c.view, 0, 1, &models[i], &alone, NULL, &error), ==, SBK_OK);
    g_assert_true (memcmp (&alone, &batch[i], sizeof alone) == 0);
  }
  all = batch[0];
  SbkView view = c.view;
  view.q_stride = 2;
  sbk_cpu.value (c.g, &view, 0, 1, models, &even, NULL, &error);
  view.q_phase = 1;
  sbk_cpu.value (c.g, &view, 0, 1, models, &odd, NULL, &error);
  g_assert_cmpfloat (even, >, 0);
  g_assert_cmpfloat (fabs (even + odd - all), <, 1e-13 * all);
  case_close (&c);
}

int
main (int argc, char **argv)
{
  static const char *what[6][2];
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < 3; i++)
    for (guint j = 0; j < 2; j++) {
      const char **w = what[2 * i + j];
      g_autofree char *path = g_strdup_printf ("/objective/golden/%s/%s", isas[i], j == 0 ? "double" : "single");
      w[0] = isas[i];
      w[1] = j == 0 ? "double" : "single";
      g_test_add_data_func (path, w, test_golden);
    }
  g_test_add_func ("/objective/full-hessian", test_full_hessian);
  g_test_add_func ("/objective/batch-and-views", test_batch_and_views);
  return g_test_run ();
}
