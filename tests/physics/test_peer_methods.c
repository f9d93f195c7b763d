/* The methods that other programs have: the kernel's sums against plain float64 sums of the formulas, the sign and size of
 * each image against the forward model, and images of an acquisition against the truth it was made from. */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "tests/unit/pipeline_scene.h"

enum { SIDE = 23, FREQUENCIES = 37 };
static const double unit = 0.094; /* of a detector pixel, k_max = 1 */

typedef struct Small {
  SbEngine *engine;
  SbkSpectrum *g;
  SbkPixels pixels;
  gint64 row_start[SIDE + 1], n;
  double row_x[SIDE], pixel_y[SIDE * SIDE], pixel_x[SIDE * SIDE];
  double v[2][FREQUENCIES];
  gint64 source[FREQUENCIES];
  guint8 conj[FREQUENCIES];
  double *values; /* [pixel][q][2] */
  SbFrame frame;
  SbCoordinates at;
} Small;

static double
aperture (const Small *s, double x, double y)
{
  return CLAMP ((1 - x * x - y * y) / (2 * s->pixels.edge) + 0.5, 0.0, 1.0);
}

/* The detector vector in the scan frame. */
static void
to_scan (const Small *s, double x, double y, double scan[2])
{
  const double rows[2] = { 1, 0 }, cols[2] = { 0, 1 };
  double from_row[2], from_col[2];
  frame_to_detector (&s->frame, rows, from_row);
  frame_to_detector (&s->frame, cols, from_col);
  scan[0] = from_row[0] * x + from_row[1] * y;
  scan[1] = from_col[0] * x + from_col[1] * y;
}

static double
chi_at (const Small *s, double x, double y)
{
  double k[2];
  to_scan (s, x, y, k);
  return optics_chi (&s->at, k[0], k[1]);
}

/* w and gamma of a pair, from the formulas. */
static void
pair (const Small *s, SbkSumKind kind, double x, double y, double vx, double vy, double complex *w, double complex *gamma)
{
  const double h = 1e-5;
  double here = chi_at (s, x, y), a = aperture (s, x, y);
  double minus = a * aperture (s, x - vx, y - vy), plus = a * aperture (s, x + vx, y + vy);
  double dx = (chi_at (s, x + h, y) - chi_at (s, x - h, y)) / (2 * h);
  double dy = (chi_at (s, x, y + h) - chi_at (s, x, y - h)) / (2 * h);
  *gamma = minus * cexp (I * (here - chi_at (s, x - vx, y - vy))) - plus * cexp (I * (chi_at (s, x + vx, y + vy) - here));
  *w = kind == SBK_SUM_SHIFTED ? cexp (I * (vx * dx + vy * dy)) : x * vx + y * vy;
  if (!(minus > 0 || plus > 0))
    *w = 0;
}

/* object: G = i gamma with Phi = 1; otherwise random numbers. */
static Small *
small_new (const char *precision, gboolean transpose, gboolean object, double reach, const SbCoordinates *at)
{
  Small *s = g_new0 (Small, 1);
  SbEngineOptions options;
  GError *error = NULL;
  GRand *rand = g_rand_new_with_seed (7);
  param_group_defaults (&engine_params, &options);
  set_text (&options.backend, "cpu");
  set_text (&options.precision, precision);
  s->engine = engine_new (&options, &error);
  g_assert_no_error (error);
  param_group_clear (&engine_params, &options);
  s->frame = (SbFrame){ 0.7, transpose };
  s->at = *at;
  for (int r = 0; r < SIDE; r++) {
    s->row_x[r] = (r - SIDE / 2 + 0.2) * unit;
    for (int c = 0; c < SIDE; c++) {
      double y = (c - SIDE / 2 - 0.3) * unit;
      if (s->row_x[r] * s->row_x[r] + y * y > 1)
        continue;
      s->pixel_x[s->n] = s->row_x[r];
      s->pixel_y[s->n++] = y;
    }
    s->row_start[r + 1] = s->n;
  }
  s->pixels = (SbkPixels){ s->n, SIDE, s->row_start, s->row_x, s->pixel_y, unit };
  s->values = g_new (double, 2 * s->n * FREQUENCIES);
  for (int f = 0; f < FREQUENCIES; f++) {
    double q = reach * (f + 0.5) / FREQUENCIES, phi = 2.4 * f;
    s->v[0][f] = q * cos (phi);
    s->v[1][f] = q * sin (phi);
    s->source[f] = f;
    s->conj[f] = !object && f % 3 == 1;
  }
  for (gint64 k = 0; k < s->n; k++)
    for (int f = 0; f < FREQUENCIES; f++) {
      double *g = s->values + 2 * (k * FREQUENCIES + f);
      double complex w, gamma;
      pair (s, SBK_SUM_SHIFTED, s->pixel_x[k], s->pixel_y[k], s->v[0][f], s->v[1][f], &w, &gamma);
      gamma *= I;
      g[0] = object ? creal (gamma) : g_rand_double_range (rand, -1, 1);
      g[1] = object ? cimag (gamma) : g_rand_double_range (rand, -1, 1);
    }
  g_rand_free (rand);
  gint64 index[FREQUENCIES];
  for (int f = 0; f < FREQUENCIES; f++)
    index[f] = f + 1;
  SbkBand band = { 16, 16, FREQUENCIES, index };
  SbkError failure = { "" };
  if (s->engine->backend->spectrum_from_values (s->engine->context, &s->g, &s->pixels, &band, s->values, &failure) != SBK_OK)
    g_error ("%s", failure.message);
  return s;
}

static void
small_free (Small *s)
{
  s->engine->backend->spectrum_free (s->g);
  engine_free (s->engine);
  g_free (s->values);
  g_free (s);
}

static void
small_sums (const Small *s, SbkSumKind kind, gint64 k_first, gint64 k_stride, double *out)
{
  const SbOptics optics = { 300, 30, { 0.4, 0.4 } };
  SbkView view = { .q_stride = 1, .k_first = k_first, .k_stride = k_stride };
  SbkFine fine = { FREQUENCIES, s->v[0], s->v[1], s->source, s->conj };
  SbkModel model;
  SbkError failure = { "" };
  optics_model (&optics, &s->frame, &s->at, &model);
  if (s->engine->backend->sums (s->g, &view, s->engine->precise, &model, &fine, kind, out, NULL, &failure) != SBK_OK)
    g_error ("%s", failure.message);
}

static SbCoordinates
aberrated (void)
{
  SbCoordinates at = { { 0 } };
  at.x[coordinate_index ("C10")] = 6;
  at.x[coordinate_index ("C12a")] = -2;
  at.x[coordinate_index ("C12b")] = 1;
  at.x[coordinate_index ("C21a")] = 1.5;
  at.x[coordinate_index ("C23b")] = -1;
  at.x[coordinate_index ("C30")] = 2;
  at.x[coordinate_index ("C56a")] = 0.5;
  return at;
}

/* Largest difference over the largest value of both sums of each kind. */
static void
check_sums (const char *precision, gboolean transpose, double limit)
{
  static const SbkSumKind kinds[] = { SBK_SUM_SHIFTED, SBK_SUM_MOMENT };
  SbCoordinates at = aberrated ();
  Small *s = small_new (precision, transpose, FALSE, 2.1, &at);
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    for (gint64 stride = 1; stride <= 2; stride++) {
      double out[4 * FREQUENCIES], worst = 0, largest = 0;
      g_assert_cmpint (sbk_sum_width (kinds[i]), ==, 4);
      small_sums (s, kinds[i], stride - 1, stride, out);
      for (int f = 0; f < FREQUENCIES; f++) {
        double complex by_g = 0, by_gamma = 0, w, gamma;
        for (gint64 k = stride - 1; k < s->n; k += stride) {
          const double *g = s->values + 2 * (k * FREQUENCIES + f);
          pair (s, kinds[i], s->pixel_x[k], s->pixel_y[k], s->v[0][f], s->v[1][f], &w, &gamma);
          by_g += conj (w) * (g[0] + (s->conj[f] ? -I : I) * g[1]);
          by_gamma += conj (w) * gamma;
        }
        largest = MAX (largest, MAX (cabs (by_g), cabs (by_gamma)));
        worst = MAX (worst, cabs (by_g - (out[4 * f] + I * out[4 * f + 1])));
        worst = MAX (worst, cabs (by_gamma - (out[4 * f + 2] + I * out[4 * f + 3])));
      }
      g_test_message ("kind %d, stride %d: off by %.2e of %.3g", (int)kinds[i], (int)stride, worst / largest, largest);
      g_assert_cmpfloat (largest, >, 1);
      g_assert_cmpfloat (worst, <=, limit * largest);
    }
  small_free (s);
}

static void
test_sums_double (void)
{
  check_sums ("double", FALSE, 1e-8); /* the gradient of chi here is by differences */
  check_sums ("double", TRUE, 1e-8);
}

static void
test_sums_single (void)
{
  check_sums ("single", FALSE, 1e-5);
  check_sums ("single", TRUE, 1e-5);
}

/* For small q gamma = -2i sin (w) exp (i q.grad chi): the shifts line up every pixel's sideband, and what is left is real. With
 * the shifts the other way round, or the other rotation, the pixels cancel. */
static void
test_parallax_sign (void)
{
  SbCoordinates at = aberrated ();
  Small *s = small_new ("double", TRUE, TRUE, 0.12, &at);
  double out[4 * FREQUENCIES];
  small_sums (s, SBK_SUM_SHIFTED, 0, 1, out);
  for (int f = FREQUENCIES / 2; f < FREQUENCIES; f++) {
    double total = 0, inside = 0;
    double complex blind = 0;
    for (gint64 k = 0; k < s->n; k++) {
      const double *g = s->values + 2 * (k * FREQUENCIES + f);
      double r = hypot (s->pixel_x[k], s->pixel_y[k]);
      total += r < 0.75 ? hypot (g[0], g[1]) : 0;
      inside += r < 0.75;
      blind += g[0] + I * g[1];
    }
    g_assert_cmpfloat (inside, >, 100);
    g_assert_cmpfloat_with_epsilon (out[4 * f], -out[4 * f + 3], 1e-9 * fabs (out[4 * f])); /* <w,G> = i <w,gamma> */
    g_assert_cmpfloat (fabs (out[4 * f + 1]), <, 0.12 * fabs (out[4 * f]));
    g_assert_cmpfloat (fabs (out[4 * f]), >, 0.9 * total);
    g_assert_cmpfloat (cabs (blind), <, fabs (out[4 * f]));
  }
  small_free (s);
}

/* Without aberrations the integrated centre of mass is Phi seen through the overlap of two apertures. */
static void
test_icom_scale (void)
{
  SbCoordinates none = { { 0 } };
  Small *s = small_new ("double", FALSE, TRUE, 1.6, &none);
  double out[4 * FREQUENCIES], weight = 0;
  small_sums (s, SBK_SUM_MOMENT, 0, 1, out);
  for (gint64 k = 0; k < s->n; k++)
    weight += pow (aperture (s, s->pixel_x[k], s->pixel_y[k]), 2);
  for (int f = 0; f < FREQUENCIES; f++) {
    double q = hypot (s->v[0][f], s->v[1][f]), half = q / 2;
    double overlap = 2 / G_PI * (acos (half) - half * sqrt (1 - half * half)); /* of two circles, area 1 */
    double complex phi = -I * (out[4 * f] + I * out[4 * f + 1]) / (q * q * weight);
    /* the pixels are coarse: the sum over them is the overlap within a few percent of 1 */
    g_assert_cmpfloat_with_epsilon (creal (phi), overlap, q < 0.2 ? 0.25 : 0.1);
    g_assert_cmpfloat (fabs (cimag (phi)), <, 1e-12);
  }
  small_free (s);
}

/* ---- against the truth ---- */

/* Correlation and scale to the truth over low <= |q| < high (1/angstrom) of a native image. */
static double
truth_correlation (const Scene *scene, const SbArray *image, double low, double high, double *scale)
{
  g_autofree char *path = g_strdup_printf ("%s/film_truth.npy", scene->folder), *file = NULL;
  gsize size = 0;
  gint64 n = image->shape[0], m = 3 * n;
  double dot = 0, tt = 0, mm = 0;
  g_assert_true (g_file_get_contents (path, &file, &size, NULL));
  g_assert_cmpuint (size, ==, 128 + (gsize)(m * m) * sizeof (float));
  const float *truth = (const float *)(gpointer)(file + 128);
  int half = (int)ceil (high * 0.4 * (double)n);
  for (int i = 0; i <= half; i++)
    for (int j = i == 0 ? 1 : -half; j <= half; j++) {
      double q = hypot (i, j) / (0.4 * (double)n);
      double complex t = 0, a = 0;
      if (q < low || q >= high)
        continue;
      for (gint64 p = 0; p < m * m; p++)
        t += (double)truth[p] * cexp (-2 * G_PI * I * (double)((i * (p / m) + j * (p % m)) % m) / (double)m);
      for (gint64 p = 0; p < n * n; p++)
        a += (double)image->data[p] * cexp (-2 * G_PI * I * (double)((i * (p / n) + j * (p % n)) % n) / (double)n);
      t /= (double)(m * m);
      a /= (double)(n * n);
      dot += creal (a * conj (t));
      tt += creal (t * conj (t));
      mm += creal (a * conj (a));
    }
  *scale = dot / tt;
  return dot / sqrt (tt * mm);
}

static void
test_truth (void)
{
  static const struct {
    const char *method, *unit;
    double low, high, correlation, least_scale, most_scale;
  } cases[] = {
    { "obf", "relative", 0.2, 0.8, 0.93, 0.3, 1.01 },
    { "parallax", "relative", 0.3, 0.8, 0.9, 0.3, 1.6 },
    { "icom", "rad", 0, 0.2, 0.85, 0.4, 1.1 },
  };
  g_autofree char *folder = examples ();
  Scene *scene = scene_open (folder, "film", TRUE);
  Options *o = options_new (30);
  GError *error = NULL;
  g_autofree char *known = optimum_text (scene);
  set_text (&o->aberrations.coefficients, known);
  set_text (&o->calibration.orientation, "identity");
  o->calibration.rotation = 0;
  o->reconstruction.upsampling = 1;
  o->reconstruction.quality = FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    double scale;
    set_text (&o->reconstruction.method, cases[i].method);
    SbResult *result = pipeline_reconstruct (scene->work, &o->pipeline, NULL, &error);
    g_assert_no_error (error);
    const SbArray *image = result_find (result, "phase");
    double correlation = truth_correlation (scene, image, cases[i].low, cases[i].high, &scale);
    g_test_message ("%s: correlation %.3f, scale %.3f from %g to %g 1/angstrom", cases[i].method, correlation, scale,
                    cases[i].low, cases[i].high);
    g_assert_cmpstr (image->unit, ==, cases[i].unit);
    g_assert_cmpfloat (correlation, >=, cases[i].correlation);
    g_assert_cmpfloat (scale, >=, cases[i].least_scale);
    g_assert_cmpfloat (scale, <=, cases[i].most_scale);
    result_free (result);
  }
  options_free (o);
  scene_free (scene);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/peer-methods/sums-double", test_sums_double);
  g_test_add_func ("/peer-methods/sums-single", test_sums_single);
  g_test_add_func ("/peer-methods/parallax-sign", test_parallax_sign);
  g_test_add_func ("/peer-methods/icom-scale", test_icom_scale);
  g_test_add_func ("/peer-methods/truth", test_truth);
  return g_test_run ();
}
