/* Every reconstruction of the golden files: counts to images, exact float64 images of another program. */
#include <math.h>
#include <string.h>

#include "core/reconstruct.h"
#include "tests/physics/golden.h"

static const double rotation = -0.6; /* of k in these files */

typedef struct Case {
  Golden *golden;
  GoldenPixels *pixels;
  SbEngine *engine;
  SbSpectrum spectrum;
  SbCoordinates at;
} Case;

/* One of each pair of the scan's frequencies: half the columns, and in columns that are their own partner half the rows. */
static void
make_band (SbSpectrum *s)
{
  gint64 rows = s->scan_rows, cols = s->scan_cols;
  s->index = g_new (gint64, rows * cols);
  s->slot = g_new (gint64, rows * cols);
  s->q = g_new0 (double, 2 * rows * cols);
  for (gint64 i = 0; i < rows * cols; i++)
    s->slot[i] = -1;
  for (gint64 row = 0; row < rows; row++) {
    for (gint64 col = 0; col < cols; col++) {
      gint64 negative = (rows - row) % rows * cols + (cols - col) % cols;
      if (s->slot[negative] >= 0 || (row == 0 && col == 0))
        continue;
      s->slot[row * cols + col] = s->n_q;
      s->index[s->n_q++] = row * cols + col;
    }
  }
  s->n_band = s->n_q;
}

/* counts[position][pixel] of the file to columns [pixel][position]. */
static void
make_g (Case *c)
{
  SbSpectrum *s = &c->spectrum;
  gint64 dims[4], positions = s->scan_rows * s->scan_cols, n = c->pixels->pixels.n_pixels;
  g_autofree double *counts = golden_array (c->golden, "counts", dims);
  g_autofree double *columns = g_new (double, positions *n);
  g_autofree gint64 *column = g_new (gint64, n);
  double sum = 0;
  SbkError error = { "" };
  for (gint64 i = 0; i < n; i++) {
    column[i] = i;
    for (gint64 p = 0; p < positions; p++) {
      columns[i * positions + p] = counts[p * n + c->pixels->order[i]];
      sum += counts[p * n + i];
    }
  }
  s->mean_counts = sum / (double)(positions * n);
  s->mean_a2 = c->pixels->mean_a2;
  SbkBand band = { s->scan_rows, s->scan_cols, s->n_q, s->index };
  SbkCounts in = { SBK_F64, columns, column, s->mean_a2 / s->mean_counts, 0 };
  SbkStatus status = c->engine->backend->spectrum_from_counts (c->engine->context, &s->g, &c->pixels->pixels, &band, &in, NULL,
                                                               &error);
  if (status != SBK_OK)
    g_error ("%s", error.message);
}

static Case *
case_new (const char *name, const char *precision)
{
  Case *c = g_new0 (Case, 1);
  SbEngineOptions options;
  GError *error = NULL;
  gint64 dims[4];
  param_group_defaults (&engine_params, &options);
  g_free (options.backend);
  options.backend = g_strdup ("cpu");
  g_free (options.precision);
  options.precision = g_strdup (precision);
  c->engine = engine_new (&options, &error);
  g_assert_no_error (error);
  param_group_clear (&engine_params, &options);

  c->golden = golden_open (name);
  c->pixels = golden_pixels (c->golden, rotation);
  golden_coordinates (c->golden, &c->at);
  g_autofree double *counts = golden_array (c->golden, "counts", dims);
  SbSpectrum *s = &c->spectrum;
  s->engine = c->engine;
  s->optics = (SbOptics){ 300, 30, { golden_attribute (c->golden, "step", 0), golden_attribute (c->golden, "step", 1) } };
  s->frame = (SbFrame){ rotation, FALSE };
  s->k_max = optics_k_max (&s->optics);
  g_assert_cmpfloat_with_epsilon (s->k_max, c->golden->k_max, 1e-12);
  s->scan_rows = dims[0];
  s->scan_cols = dims[1];
  s->n_pixels = dims[2];
  s->edge_width = c->pixels->pixels.edge;
  make_band (s);
  make_g (c);
  return c;
}

static void
case_free (Case *c)
{
  c->engine->backend->spectrum_free (c->spectrum.g);
  engine_free (c->engine);
  fine_grid_free (c->spectrum.fine);
  g_free (c->spectrum.index);
  g_free (c->spectrum.slot);
  g_free (c->spectrum.q);
  golden_pixels_free (c->pixels);
  golden_close (c->golden);
  g_free (c);
}

/* Largest difference over the largest value; stride 2 where the file holds phase and absorption side by side. */
static double
difference (const double *image, const double *expected, gint64 n, int stride)
{
  double largest = 0, worst = 0;
  for (gint64 i = 0; i < n; i++) {
    largest = MAX (largest, fabs (expected[i * stride]));
    worst = MAX (worst, fabs (image[i] - expected[i * stride]));
  }
  return worst / largest;
}

static void
check_method (Case *c, const char *method, gint64 factor, double limit)
{
  GError *error = NULL;
  gint64 dims[4];
  SbReconstructionOptions options = { (char *)method, factor, golden_attribute (c->golden, "eps", 0) };
  g_autofree char *name = g_strdup_printf ("%s-%" G_GINT64_FORMAT, method, factor);
  g_autofree double *expected = golden_array (c->golden, name, dims);
  g_autoptr (SbFineGrid) grid = NULL;
  g_autofree double *phase = NULL, *absorption = NULL;
  g_assert_true (reconstruct_double (&c->spectrum, &c->at, &options, NULL, &grid, &phase, &absorption, &error));
  g_assert_no_error (error);
  g_assert_cmpint (grid->rows, ==, dims[0]);
  g_assert_cmpint (grid->cols, ==, dims[1]);
  gboolean both = strcmp (method, "complex") == 0;
  double phase_off = difference (phase, expected, dims[0] * dims[1], both ? 2 : 1);
  double absorption_off = both ? difference (absorption, expected + 1, dims[0] * dims[1], 2) : 0;
  g_test_message ("%s: phase %.2e, absorption %.2e of the largest value", name, phase_off, absorption_off);
  g_assert_cmpfloat (phase_off, <=, limit);
  g_assert_cmpfloat (absorption_off, <=, limit);
  g_assert_true ((absorption != NULL) == both);
}

static void
check_file (const char *file, const char *precision, double limit)
{
  static const char *const methods[] = { "ssb", "phase", "complex", "dealiased" };
  Case *c = case_new (file, precision);
  gint64 upsampling = (gint64)golden_attribute (c->golden, "upsampling", 0);
  for (guint m = 0; m < G_N_ELEMENTS (methods); m++) {
    check_method (c, methods[m], 1, limit);
    if (upsampling > 1)
      check_method (c, methods[m], upsampling, limit);
  }
  case_free (c);
}

static void
test_double (gconstpointer file)
{
  check_file (file, "double", 1e-10);
}

static void
test_single (gconstpointer file)
{
  check_file (file, "single", 1e-5);
}

/* What the hosts get is that image in float32, with its own pixel size. */
static void
test_rounded (void)
{
  Case *c = case_new ("images-sparse", "double");
  GError *error = NULL;
  SbReconstructionOptions options = { (char *)"phase", 3, 2.0 };
  g_autoptr (SbImage) image = reconstruct (&c->spectrum, &c->at, &options, NULL, &error);
  g_autofree double *expected = golden_array (c->golden, "phase-3", NULL);
  g_assert_no_error (error);
  for (gint64 i = 0; i < image->rows * image->cols; i++)
    g_assert_cmpfloat_with_epsilon (image->phase[i], expected[i], 1e-7);
  g_assert_cmpfloat_with_epsilon (image->step[0], 0.42 / 3, 1e-12);
  g_assert_cmpfloat_with_epsilon (image->step[1], 0.40 / 3, 1e-12);
  g_assert_null (image->absorption);
  g_assert_cmpint (image->absent, ==, 0);
  case_free (c);
}

/* A spectrum keeps the fine grid: turned, at another factor and back it gives what a spectrum without one gives. */
static void
test_kept_grid (void)
{
  static const double turns[] = { 0, 0.7, 0.7, 0, 0 };
  static const gint64 factors[] = { 1, 1, 2, 2, 1 };
  Case *kept = case_new ("images-thin", "double");
  for (gsize i = 0; i < G_N_ELEMENTS (turns); i++) {
    Case *fresh = case_new ("images-thin", "double");
    SbReconstructionOptions options = { (char *)"phase", factors[i], NAN };
    SbFrame frame = fresh->spectrum.frame;
    GError *error = NULL;
    frame.rotation += turns[i];
    g_assert_true (spectrum_set_frame (&kept->spectrum, &frame, &error)
                   && spectrum_set_frame (&fresh->spectrum, &frame, &error));
    g_autoptr (SbImage) a = reconstruct (&kept->spectrum, &kept->at, &options, NULL, &error);
    g_autoptr (SbImage) b = reconstruct (&fresh->spectrum, &fresh->at, &options, NULL, &error);
    g_assert_no_error (error);
    g_assert_cmpint (a->rows, ==, b->rows);
    g_assert_cmpmem (a->phase, sizeof (float) * (gsize)(a->rows * a->cols), b->phase,
                     sizeof (float) * (gsize)(b->rows * b->cols));
    case_free (fresh);
  }
  case_free (kept);
}

/* Frequencies a spectrum does not hold are left out and counted, not read from elsewhere. */
static void
test_absent (void)
{
  Case *c = case_new ("images-thin", "double");
  GError *error = NULL;
  SbReconstructionOptions options = { (char *)"phase", 1, 2.0 };
  gint64 gone = c->spectrum.slot[3 * 16 + 2], mirror = c->spectrum.slot[13 * 16 + 14];
  g_autoptr (SbImage) whole = reconstruct (&c->spectrum, &c->at, &options, NULL, &error);
  g_assert_true (gone >= 0 || mirror >= 0);
  fine_grid_free (c->spectrum.fine); /* made before */
  c->spectrum.fine = NULL;
  c->spectrum.slot[3 * 16 + 2] = c->spectrum.slot[13 * 16 + 14] = -1;
  g_autoptr (SbImage) image = reconstruct (&c->spectrum, &c->at, &options, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (whole->absent, ==, 0);
  g_assert_cmpint (image->absent, ==, 1);
  double re = 0, im = 0, worst = 0; /* the difference is one cosine, of that frequency */
  for (gint64 i = 0; i < 256; i++) {
    double angle = 2 * G_PI * (3.0 * (double)(i / 16) + 2.0 * (double)(i % 16)) / 16;
    double d = (double)whole->phase[i] - (double)image->phase[i];
    re += d * cos (angle) / 128;
    im += d * sin (angle) / 128;
  }
  for (gint64 i = 0; i < 256; i++) {
    double angle = 2 * G_PI * (3.0 * (double)(i / 16) + 2.0 * (double)(i % 16)) / 16;
    double d = (double)whole->phase[i] - (double)image->phase[i];
    worst = MAX (worst, fabs (d - re * cos (angle) - im * sin (angle)));
  }
  g_assert_cmpfloat (hypot (re, im), >, 1e-4);
  g_assert_cmpfloat (worst, <, 1e-6);
  case_free (c);
}

/* The model's own examples: 0.373 A gives 3, 0.525 A gives 4 at 300 kV and 30 mrad. */
static void
test_upsampling (void)
{
  gint64 factor[2];
  SbOptics optics = { 300, 30, { 0.373, 0.525 } };
  upsampling_factors (&optics, 0, factor);
  g_assert_cmpint (factor[0], ==, 3);
  g_assert_cmpint (factor[1], ==, 4);
  optics.step[0] = optics.step[1] = optics_wavelength (300) / (4 * 0.030); /* just fine enough */
  upsampling_factors (&optics, 0, factor);
  g_assert_cmpint (factor[0], ==, 1);
  optics.step[0] *= 2;
  optics.step[1] = 1e-3;
  upsampling_factors (&optics, 0, factor);
  g_assert_cmpint (factor[0], ==, 2);
  g_assert_cmpint (factor[1], ==, 1);
  upsampling_factors (&optics, 5, factor);
  g_assert_cmpint (factor[0], ==, 5);
  g_assert_cmpint (factor[1], ==, 5);
}

static void
test_skewness (void)
{
  const float x[] = { 0, 0, 1, 0, 0, 5 }, flat[] = { 2, 2, 2 };
  /* median 0: (1 + 125) / 6 over ((1 + 25) / 6)^1.5 */
  g_assert_cmpfloat_with_epsilon (image_skewness (x, 6), 21 / pow (26.0 / 6, 1.5), 1e-12);
  g_assert_cmpfloat (image_skewness (flat, 3), ==, 0);
  g_assert_cmpfloat (image_skewness (flat, 0), ==, 0);
}

int
main (int argc, char **argv)
{
  static const char *const files[] = { "images-dense", "images-sparse", "images-thin" };
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (files); i++) {
    g_autofree char *exact = g_strdup_printf ("/images/double/%s", files[i]);
    g_autofree char *fast = g_strdup_printf ("/images/single/%s", files[i]);
    g_test_add_data_func (exact, files[i], test_double);
    g_test_add_data_func (fast, files[i], test_single);
  }
  g_test_add_func ("/images/kept-grid", test_kept_grid);
  g_test_add_func ("/images/rounded", test_rounded);
  g_test_add_func ("/images/absent", test_absent);
  g_test_add_func ("/images/upsampling", test_upsampling);
  g_test_add_func ("/images/skewness", test_skewness);
  return g_test_run ();
}
