#include "tests/physics/forward.h"

#include <complex.h>
#include <fftw3.h>
#include <math.h>
#include <string.h>

#include "core/calibrate.h"

#define CONTRAST 0.1 /* rms of the intensity over the scan, mean A^2: 1 */

/* P(k) = A exp (-i chi) from the monomials of chi (turns), k in units of k_max, detector frame. */
static double complex
probe (const SbkModel *model, double x, double y, double edge)
{
  double a = CLAMP ((1 - x * x - y * y) / (2 * edge) + 0.5, 0.0, 1.0), chi = 0, px = 1;
  if (a == 0)
    return 0;
  for (int i = 0; i <= SBK_DEGREE; i++, px *= x) {
    double py = 1;
    for (int j = 0; i + j <= SBK_DEGREE; j++, py *= y)
      chi += model->chi[sbk_monomial (i, j)] * px * py * (i + j > 0);
  }
  return a * cexp (-2 * G_PI * I * (chi - floor (chi)));
}

static double
sinc (double x)
{
  return fabs (x) < 1e-8 ? 1 : sin (G_PI * x) / (G_PI * x);
}

static double complex
transfer (const SbkModel *m, const double k[2], const double v[2], double edge, double complex at_k)
{
  double kv = k[0] * v[0] + k[1] * v[1], half = (v[0] * v[0] + v[1] * v[1]) / 2, shift = v[0] * m->tilt[0] + v[1] * m->tilt[1];
  double complex minus = probe (m, k[0] - v[0], k[1] - v[1], edge), plus = probe (m, k[0] + v[0], k[1] + v[1], edge);
  return conj (at_k) * minus * sinc (m->depth * (kv - half - shift))
         - at_k * conj (plus) * sinc (m->depth * (kv + half - shift));
}

static double
normal (GRand *random)
{
  double u = 1 - g_rand_double (random);
  return sqrt (-2 * log (u)) * cos (2 * G_PI * g_rand_double (random));
}

static double
poisson (GRand *random, double mean)
{
  if (!(mean > 0))
    return 0;
  if (mean > 200)
    return fmax (0, rint (mean + sqrt (mean) * normal (random)));
  double p = exp (-mean), sum = p, u = g_rand_double (random);
  int n = 0;
  while (u > sum && n < 1000) {
    p *= mean / ++n;
    sum += p;
  }
  return n;
}

static gint64
signed_frequency (gint64 i, gint64 n)
{
  return i < (n + 1) / 2 ? i : i - n;
}

typedef struct {
  gint64 slot, mirror; /* in the half plane of a real transform; -1: none */
  double v[2];         /* detector frame */
  double complex phi;
} Wave;

/* Phi at one of each +-q pair with |q| < 2 k_max, Nyquist left out: white noise that falls off like atoms. */
static GArray *
make_object (const Forward *f, double k_max, GRand *random)
{
  GArray *waves = g_array_new (FALSE, FALSE, sizeof (Wave));
  SbFrame frame = { f->rotation, FALSE };
  gint64 n = f->scan, half = n / 2 + 1;
  for (gint64 i = 0; i < n; i++)
    for (gint64 j = 0; j < half; j++) {
      gint64 si = signed_frequency (i, n);
      double q[2] = { (double)si / ((double)n * f->step * k_max), (double)j / ((double)n * f->step * k_max) };
      double r = hypot (q[0], q[1]);
      if (2 * j == n || 2 * i == n || (j == 0 && si <= 0) || r >= 2)
        continue;
      Wave w = { i * half + j, j == 0 ? (n - i) * half : -1, { 0, 0 }, 0 };
      frame_to_detector (&frame, q, w.v);
      w.phi = (normal (random) + I * normal (random)) * exp (-r * r / 1.5);
      g_array_append_val (waves, w);
    }
  return waves;
}

/* Bright-field pixels of a disk in the middle of a square detector, as the library chooses them. */
static void
list_pixels (ForwardImage *image)
{
  double centre = (double)(image->detector - 1) / 2;
  image->pixel = g_new (gint32, image->detector * image->detector);
  for (gint64 p = 0; p < image->detector * image->detector; p++) {
    double d = hypot ((double)(p / image->detector) - centre, (double)(p % image->detector) - centre);
    if (d <= image->of.radius * (1 + 1e-9))
      image->pixel[image->n_pixels++] = (gint32)p;
  }
}

/* Intensity of one pixel over the scan into `out`; its band's power is added to *power. */
static void
make_pixel (const ForwardImage *image, const SbkModel *model, const GArray *waves, gint32 pixel, fftw_complex *half,
            fftw_plan plan, const double *real, float *out, double *a2, double *power)
{
  gint64 n = image->of.scan, size = n * n;
  double edge = 1 / image->of.radius, centre = (double)(image->detector - 1) / 2;
  double k[2] = { ((double)(pixel / image->detector) - centre) * edge, ((double)(pixel % image->detector) - centre) * edge };
  double complex at_k = probe (model, k[0], k[1], edge);
  memset (half, 0, (gsize)(n * (n / 2 + 1)) * sizeof *half);
  for (guint i = 0; i < waves->len; i++) {
    const Wave *w = &g_array_index (waves, Wave, i);
    double complex g = I * w->phi * transfer (model, k, w->v, edge, at_k);
    half[w->slot] = g;
    if (w->mirror >= 0)
      half[w->mirror] = conj (g);
    *power += creal (g) * creal (g) + cimag (g) * cimag (g);
  }
  fftw_execute (plan);
  *a2 = cabs (at_k) * cabs (at_k);
  for (gint64 i = 0; i < size; i++)
    out[i] = (float)real[i];
}

/* Scales object and counts: CONTRAST, and noise that leaves S x pixels at the strength asked for. */
static void
scale_counts (ForwardImage *image, const double *a2, double power, guint n_waves)
{
  gint64 size = image->of.scan * image->of.scan, n = image->n_pixels;
  double mean_a2 = 0, pixels = (double)n;
  for (gint64 k = 0; k < n; k++)
    mean_a2 += a2[k] / pixels;
  double amplitude = CONTRAST * mean_a2 / sqrt (2 * power / pixels);
  double signal = amplitude * amplitude * power / (pixels * n_waves);
  double s = image->of.strength / pixels, noise = signal * (1 - s) / (s - 1 / pixels);
  double counts = mean_a2 / (noise * (double)size); /* sigma^2 = (mean A^2)^2 / (mu N), mu = counts mean A^2 */
  image->signal = signal;
  for (gint64 k = 0; k < n; k++)
    for (gint64 i = 0; i < size; i++) {
      float *x = &image->mean[k * size + i];
      *x = (float)fmax (0, counts * (a2[k] + amplitude * *x));
    }
}

ForwardImage *
forward_image (const Forward *forward)
{
  ForwardImage *image = g_new0 (ForwardImage, 1);
  SbOptics optics = { forward->energy, forward->semiangle, { forward->step, forward->step } };
  SbFrame frame = { forward->rotation, FALSE };
  SbkModel model;
  gint64 n = forward->scan, size = n * n;
  double power = 0;
  image->of = *forward;
  image->detector = 2 * (gint64)ceil (forward->radius + 2);
  list_pixels (image);
  image->mean = g_new (float, image->n_pixels *size);
  g_autofree double *a2 = g_new (double, image->n_pixels);
  optics_model (&optics, &frame, &forward->truth, &model);
  GRand *random = g_rand_new_with_seed (forward->seed);
  GArray *waves = make_object (forward, optics_k_max (&optics), random);
  fftw_complex *half = fftw_alloc_complex ((gsize)(n * (n / 2 + 1)));
  double *real = fftw_alloc_real ((gsize)size);
  fftw_plan plan = fftw_plan_dft_c2r_2d ((int)n, (int)n, half, real, FFTW_ESTIMATE);
  for (gint64 k = 0; k < image->n_pixels; k++)
    make_pixel (image, &model, waves, image->pixel[k], half, plan, real, image->mean + k * size, &a2[k], &power);
  scale_counts (image, a2, power, waves->len);
  fftw_destroy_plan (plan);
  fftw_free (half);
  fftw_free (real);
  g_array_unref (waves);
  g_rand_free (random);
  return image;
}

void
forward_free (ForwardImage *image)
{
  g_free (image->mean);
  g_free (image->pixel);
  g_free (image);
}

SbEngine *
forward_engine (void)
{
  SbEngineOptions options;
  GError *error = NULL;
  param_group_defaults (&engine_params, &options);
  SbEngine *engine = engine_new (&options, &error);
  g_assert_no_error (error);
  param_group_clear (&engine_params, &options);
  return engine;
}

SbSpectrum *
forward_draw (const ForwardImage *image, SbEngine *engine, guint32 seed)
{
  const Forward *f = &image->of;
  gint64 size = f->scan * f->scan, all = image->detector * image->detector;
  SbAcquisition acquisition = { .used_rows = f->scan, .used_cols = f->scan };
  g_autofree float *counts = g_new (float, image->n_pixels *size);
  g_autofree double *mean = g_new0 (double, all);
  g_autofree guint8 *bad = g_new0 (guint8, all);
  GRand *random = g_rand_new_with_seed (seed);
  for (gint64 k = 0; k < image->n_pixels; k++) {
    double sum = 0;
    for (gint64 i = k * size; i < (k + 1) * size; i++)
      sum += counts[i] = (float)poisson (random, (double)image->mean[i]);
    mean[image->pixel[k]] = sum / (double)size;
  }
  g_rand_free (random);
  SbColumns columns = { .acquisition = &acquisition,
                        .n_pixels = image->n_pixels,
                        .pixel = image->pixel,
                        .dtype = SB_F32,
                        .counts = counts,
                        .positions = size,
                        .pattern = { .rows = image->detector, .cols = image->detector, .mean = mean, .bad = bad } };
  double middle = (double)(image->detector - 1) / 2;
  SbCalibration calibration = {
    .centre = { middle, middle }, .radius = f->radius, .sampling = f->semiangle / f->radius, .frame = { f->rotation, FALSE }
  };
  SbOptics optics = { f->energy, f->semiangle, { f->step, f->step } };
  SbSpectrumOptions options;
  GError *error = NULL;
  param_group_defaults (&spectrum_params, &options);
  SbSpectrum *spectrum = spectrum_new (engine, &columns, &optics, &calibration, &options, NULL, &error);
  g_assert_no_error (error);
  param_group_clear (&spectrum_params, &options);
  return spectrum;
}

void
forward_random (Forward *f, double energy, double semiangle, double step, guint32 seed)
{
  GRand *random = g_rand_new_with_seed (seed);
  SbOptics optics = { energy, semiangle, { step, step } };
  *f = (Forward){ .energy = energy, .semiangle = semiangle, .step = step, .seed = seed + 7919, .radius = 14 };
  f->rotation = g_rand_double_range (random, -G_PI, G_PI);
  double c10 = g_rand_double_range (random, -40, 40), angle = g_rand_double_range (random, -G_PI / 2, G_PI / 2);
  f->truth.x[0] = c10 * optics_edge_per_nm (&optics, 1);
  optics_from_polar (&optics, 1, g_rand_double_range (random, 0, 10), angle, &f->truth);
  for (int i = 3; i < SB_N_CHI; i++)
    f->truth.x[i] = 0.5 * normal (random);
  double tilt = 10 * sqrt (g_rand_double (random)), azimuth = g_rand_double_range (random, -G_PI, G_PI);
  f->truth.x[SB_TILT_ROW] = tilt * cos (azimuth);
  f->truth.x[SB_TILT_COL] = tilt * sin (azimuth);
  f->truth.x[SB_DEPTH] = g_rand_double_range (random, 0, 6);
  f->strength = fmin (20 * pow (50, g_rand_double (random)), 550);
  double blur = 2 * semiangle * 1e-3 * fabs (c10) * 10;
  f->scan = MAX (64, 16 * (gint64)ceil (2 * blur / step / 16));
  g_rand_free (random);
}
