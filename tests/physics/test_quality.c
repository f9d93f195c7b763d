/* Quality: the cutoff of made-up curves, and the correlation of the halves against that with the truth the acquisitions
 * were made from. */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "core/quality.h"
#include "tests/physics/image_frequencies.h"
#include "tests/unit/pipeline_scene.h"

/* ---- the cutoff ---- */

static SbQuality *
curve (const double *frc, gint64 n, gint64 count, double scan_limit)
{
  SbQuality *quality = g_new0 (SbQuality, 1);
  quality->rings = n;
  quality->frc = g_memdup2 (frc, (gsize)n * sizeof (double));
  quality->frequency = g_new (double, n);
  quality->count = g_new (gint64, n);
  quality->scan_limit = scan_limit;
  for (gint64 r = 0; r < n; r++) {
    quality->frequency[r] = 0.1 * (double)(r + 1);
    quality->count[r] = count;
  }
  quality_cutoff (quality);
  return quality;
}

static void
test_cutoff (void)
{
  static const double falling[] = { 1, 0.9, 0.243, 0.043, 0 }, never[] = { 1, 0.9, 0.8 }, noise[] = { 0.1, -0.1, 0.02 };
  static const double crystal[] = { 1, 0.1, 0.05, 0.9, 0.243, 0.043, 0 };
  SbQuality *quality = curve (falling, 5, 1000, INFINITY);
  near (quality->cutoff, 0.35, 1e-12); /* half way between 0.3 and 0.4 */
  g_assert_false (quality->limited);
  quality_free (quality);
  quality = curve (never, 3, 1000, INFINITY);
  near (quality->cutoff, 0.3, 1e-12);
  g_assert_true (quality->limited);
  quality_free (quality);
  quality = curve (noise, 3, 1000, INFINITY);
  g_assert_true (isnan (quality->cutoff));
  quality_free (quality);
  quality = curve (crystal, 7, 1000, INFINITY); /* nothing between the reflections is no end */
  near (quality->cutoff, 0.55, 1e-12);
  quality_free (quality);
  quality = curve (crystal, 7, 1000, 0.15); /* but among aliases it is */
  near (quality->cutoff, 0.1 + 0.1 * (1 - 0.143) / 0.9, 1e-12);
  quality_free (quality);
  quality = curve ((const double[]){ 1, 0, 0, 0.5, 0 }, 5, 16, INFINITY); /* 0.5 of 16 frequencies may be noise */
  near (quality->cutoff, 0.1 + 0.1 * (1 - 0.143), 1e-12);
  quality_free (quality);
}

/* ---- the truth ---- */

typedef struct Rings {
  double whole, by_ring[64];
} Rings;

/* Correlation of the image with the truth, in the rings of the result and over all of them. */
static void
truth_rings (const Scene *scene, const char *name, const SbResult *result, Rings *rings)
{
  g_autofree char *path = g_strdup_printf ("%s/%s_truth.npy", scene->folder, name), *file = NULL;
  const SbArray *image = result_find (result, "phase"), *q = result_find (result, "frc_frequency");
  gint64 n = scene->acquisition->used_rows, count = q->shape[0];
  int half = (int)(n - 1) / 2, width = 2 * half + 1;
  gsize size = 0;
  double dot[64] = { 0 }, tt[64] = { 0 }, aa[64] = { 0 }, all[3] = { 0 };
  g_assert_cmpint (count, <=, 64);
  g_assert_true (g_file_get_contents (path, &file, &size, NULL));
  g_assert_cmpuint (size, ==, 128 + (gsize)(9 * n * n) * sizeof (float));
  g_autofree double complex *truth = image_frequencies ((const float *)(gpointer)(file + 128), 3 * n, 3 * n, half);
  g_autofree double complex *made = image_frequencies (image->data, image->shape[0], image->shape[1], half);
  for (int k = half * width; k < width * width; k++) { /* one of each pair: rows from 0 on */
    int i = k / width - half, j = k % width - half;
    double at = hypot (i, j) / (0.4 * (double)n);
    gint64 r = 0;
    if (i == 0 && j <= 0)
      continue;
    while (r + 1 < count && at > (double)(q->data[r] + q->data[r + 1]) / 2)
      r++;
    dot[r] += creal (made[k] * conj (truth[k]));
    tt[r] += creal (truth[k] * conj (truth[k]));
    aa[r] += creal (made[k] * conj (made[k]));
  }
  for (gint64 r = 0; r < count; r++) {
    rings->by_ring[r] = dot[r] / sqrt (tt[r] * aa[r]);
    all[0] += dot[r];
    all[1] += tt[r];
    all[2] += aa[r];
  }
  rings->whole = all[0] / sqrt (all[1] * all[2]);
}

static SbResult *
reconstruct_known (Scene *scene, Options *o)
{
  GError *error = NULL;
  g_autofree char *known = optimum_text (scene);
  set_text (&o->aberrations.coefficients, known);
  set_text (&o->calibration.orientation, "identity");
  o->calibration.rotation = 0;
  SbResult *result = pipeline_reconstruct (scene->work, &o->pipeline, NULL, &error);
  g_assert_no_error (error);
  return result;
}

/* sqrt (2 f / (1 + f)) of the halves is what the whole correlates with the noise-free object: up to `limit` (1/angstrom) in
 * every ring, and over all of them. Beyond, a strong specimen is not what the model takes it for, in both halves alike: there
 * the halves may say more than the truth, never less. */
static void
check_truth (const char *name, double limit)
{
  g_autofree char *folder = examples ();
  Scene *scene = scene_open (folder, name, TRUE);
  Options *o = options_new (30);
  o->reconstruction.upsampling = 1;
  SbResult *result = reconstruct_known (scene, o);
  const SbArray *frc = result_find (result, "frc"), *q = result_find (result, "frc_frequency");
  double nyquist = 0.5 / 0.4, worst = 0;
  Rings rings;
  truth_rings (scene, name, result, &rings);
  for (gint64 r = 0; r < frc->shape[0] && (double)q->data[r] < nyquist; r++) {
    double f = (double)frc->data[r], whole = sqrt (MAX (2 * f / (1 + f), 0));
    g_test_message ("%s %.2f 1/angstrom: truth %.3f, sqrt (2f / (1 + f)) %.3f, 2f / (1 + f) %.3f", name, (double)q->data[r],
                    rings.by_ring[r], whole, whole * whole);
    g_assert_cmpfloat (whole, >, rings.by_ring[r] - 0.05);
    if ((double)q->data[r] < limit)
      worst = MAX (worst, fabs (whole - rings.by_ring[r]));
  }
  g_test_message ("%s: worst ring %.3f; whole: truth %.4f, from the halves %.4f", name, worst, rings.whole,
                  number_of (result, "quality.correlation_of_whole"));
  g_assert_cmpfloat (worst, <=, 0.05);
  near (number_of (result, "quality.correlation_of_whole"), rings.whole, 0.05);
  result_free (result);
  options_free (o);
  scene_free (scene);
}

static void
test_film (void)
{
  check_truth ("film", 1.25);
}

static void
test_columns (void)
{
  check_truth ("columns", 0.8);
}

/* There is one, and the blue of the correlation and the red of the transfer are in it. */
static void
check_picture (const SbResult *result)
{
  gint64 rows = 0, cols = 0, blue = 0, red = 0;
  g_autofree guint8 *rgb = picture_quality (result, &rows, &cols);
  g_assert_nonnull (rgb);
  for (gint64 i = 0; i < rows * cols; i++) {
    blue += rgb[3 * i] == 0x00 && rgb[3 * i + 1] == 0x72 && rgb[3 * i + 2] == 0xb2;
    red += rgb[3 * i] == 0xd5 && rgb[3 * i + 1] == 0x5e && rgb[3 * i + 2] == 0x00;
  }
  g_assert_cmpint (blue, >, 300);
  g_assert_cmpint (red, >, 300);
}

/* What the result holds, for every method; halves only where asked for. */
static void
test_result (void)
{
  g_autofree char *folder = examples ();
  Scene *scene = scene_open (folder, "film", TRUE);
  Options *o = options_new (30);
  for (gsize m = 0; method_registry[m] != NULL; m++) {
    set_text (&o->reconstruction.method, method_registry[m]->name);
    o->reconstruction.half_images = m == 0;
    o->reconstruction.upsampling = m == 0 ? 2 : 1;
    SbResult *result = reconstruct_known (scene, o);
    const SbArray *frc = result_find (result, "frc"), *transfer = result_find (result, "transfer");
    const SbArray *q = result_find (result, "frc_frequency"), *half = result_find (result, "half_1");
    g_assert_nonnull (frc);
    g_assert_cmpstr (frc->axis_unit[0], ==, "1/Å");
    g_assert_cmpint (frc->n_dims, ==, 1);
    g_assert_cmpint (frc->shape[0], ==, number_of (result, "quality.rings"));
    for (gint64 r = 0; r < frc->shape[0]; r++) {
      g_assert_true (frc->data[r] >= -1.0001f && frc->data[r] <= 1.0001f);
      g_assert_true (transfer->data[r] > 0 && transfer->data[r] <= 1);
      g_assert_true (r == 0 || q->data[r] > q->data[r - 1]);
    }
    g_assert_true (quality_is_in (result));
    check_picture (result);
    g_assert_true ((half != NULL) == (m == 0));
    if (half != NULL) {
      const SbArray *other = result_find (result, "half_2"), *whole = result_find (result, "phase");
      g_assert_cmpint (half->shape[0], ==, whole->shape[0]);
      near (half->step[0], whole->step[0], 1e-12);
      g_assert_cmpint (memcmp (half->data, other->data, sizeof (float) * (gsize)array_size (half)), !=, 0);
    }
    double resolution = number_of (result, "quality.resolution");
    g_test_message ("%s: resolution %.3f angstrom", method_registry[m]->name, resolution);
    if (strcmp (method_registry[m]->name, "icom") != 0) {
      g_assert_cmpfloat (resolution, >, 0.4);
      g_assert_cmpfloat (resolution, <, 1.0);
    }
    result_free (result);
  }
  set_text (&o->reconstruction.method, "phase");
  o->reconstruction.quality = FALSE;
  SbResult *result = reconstruct_known (scene, o);
  g_assert_null (result_find (result, "frc"));
  g_assert_false (quality_is_in (result));
  g_assert_null (json_object_get (result->info, "quality"));
  result_free (result);
  options_free (o);
  scene_free (scene);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/quality/cutoff", test_cutoff);
  g_test_add_func ("/quality/film", test_film);
  g_test_add_func ("/quality/columns", test_columns);
  g_test_add_func ("/quality/result", test_result);
  return g_test_run ();
}
