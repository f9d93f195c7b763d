/* Registration of two images by their cross-correlation, to a small part of a pixel: the largest value of the
 * correlation on the pixels, then Newton's steps on the trigonometric polynomial that the correlation is. Windows lie
 * over what both images show, so that they do not draw the shift towards zero. */
#include <math.h>
#include <string.h>

#include "core/batch/inside.h"
#include "core/error.h"
#include "kernels/cpu/fft.h"

enum { ROUNDS = 4, STEPS = 12, TAPS = 16, LEAST_SIDE = 8 };
static const double FLANK = 0.15;       /* of a window's side, on each of its ends */
static const double LEAST_SHARED = 0.3; /* of a side: with less in common no window is made */
static const double SLOW = 1.5;         /* cycles over the field below which contrast is no structure */

typedef struct Pair {
  gint64 rows, cols;
  gint64 factor[2];
  SbkFftComplex *fft;
  double *a, *b; /* [rows][cols] complex: transforms, then b holds the cross power */
  double norm;   /* sqrt of the product of both powers */
} Pair;

/* Cosine flanks on both ends of [from, to]. */
static double
window (double x, double from, double to)
{
  double flank = FLANK * (to - from), near = MIN (x - from, to - x);
  if (near <= 0)
    return 0;
  return near >= flank ? 1 : 0.5 - 0.5 * cos (G_PI * near / flank);
}

/* What image shows of [from, to] (per axis), less its mean there, as complex numbers. */
static void
take_windowed (const Pair *pair, const float *image, const double from[2], const double to[2], double *out)
{
  double sum = 0, weight = 0;
  for (int pass = 0; pass < 2; pass++) {
    double mean = weight > 0 ? sum / weight : 0;
    for (gint64 r = 0; r < pair->rows; r++) {
      double across = window ((double)r + 0.5, from[0], to[0]);
      for (gint64 c = 0; c < pair->cols; c++) {
        gint64 i = r * pair->cols + c;
        double w = across * window ((double)c + 0.5, from[1], to[1]), value = isfinite (image[i]) ? (double)image[i] : 0;
        if (pass == 0) {
          sum += w * value;
          weight += w;
        } else {
          out[2 * i] = w * (value - mean);
          out[2 * i + 1] = 0;
        }
      }
    }
  }
}

/* Signed frequency of index i; 0 also for the Nyquist one, which has no partner of its own sign. */
static double
frequency (gint64 i, gint64 n)
{
  if (2 * i == n)
    return 0;
  return (double)(2 * i < n ? i : i - n);
}

/* Frequencies of the scan itself. What an upsampled image shows beyond is folded from them and lies on the scan's own
 * points, so that it draws a shift towards whole steps. */
static gboolean
is_measured (gint64 i, gint64 n, gint64 factor)
{
  gint64 f = 2 * i < n ? i : n - i;
  return 2 * f * factor < n;
}

/* conj (A) B, slow contrast left out. */
static void
cross_power (Pair *pair)
{
  double power_a = 0, power_b = 0;
  for (gint64 r = 0; r < pair->rows; r++) {
    double u = frequency (r, pair->rows);
    for (gint64 c = 0; c < pair->cols; c++) {
      double v = frequency (c, pair->cols), *a = pair->a + 2 * (r * pair->cols + c), *b = pair->b + 2 * (r * pair->cols + c);
      gboolean used = is_measured (r, pair->rows, pair->factor[0]) && is_measured (c, pair->cols, pair->factor[1]);
      double w = !used ? 0 : -expm1 (-(u * u + v * v) / (2 * SLOW * SLOW));
      power_a += w * (a[0] * a[0] + a[1] * a[1]);
      power_b += w * (b[0] * b[0] + b[1] * b[1]);
      double re = w * (a[0] * b[0] + a[1] * b[1]), im = w * (a[0] * b[1] - a[1] * b[0]);
      b[0] = re;
      b[1] = im;
    }
  }
  pair->norm = sqrt (power_a * power_b);
}

/* Both images through windows over what they share at this shift; pair->b is the cross power afterwards. */
static gboolean
prepare (Pair *pair, const float *a, const float *b, const double shift[2])
{
  const gint64 size[2] = { pair->rows, pair->cols };
  double from_a[2], to_a[2], from_b[2], to_b[2];
  for (int axis = 0; axis < 2; axis++) {
    from_a[axis] = MAX (0, -shift[axis]);
    to_a[axis] = MIN ((double)size[axis], (double)size[axis] - shift[axis]);
    if (to_a[axis] - from_a[axis] < LEAST_SHARED * (double)size[axis])
      return FALSE;
    from_b[axis] = from_a[axis] + shift[axis];
    to_b[axis] = to_a[axis] + shift[axis];
  }
  take_windowed (pair, a, from_a, to_a, pair->a);
  take_windowed (pair, b, from_b, to_b, pair->b);
  sbk_fft_complex_forward (pair->fft, pair->a);
  sbk_fft_complex_forward (pair->fft, pair->b);
  cross_power (pair);
  return pair->norm > 0;
}

/* The shift in whole pixels; pair->a is lost. */
static void
whole_pixels (Pair *pair, double shift[2])
{
  gint64 best = 0, n = pair->rows * pair->cols;
  memcpy (pair->a, pair->b, (gsize)n * 2 * sizeof (double));
  sbk_fft_complex_backward (pair->fft, pair->a);
  for (gint64 i = 1; i < n; i++)
    if (pair->a[2 * i] > pair->a[2 * best])
      best = i;
  gint64 r = best / pair->cols, c = best % pair->cols;
  shift[0] = (double)(2 * r < pair->rows ? r : r - pair->rows);
  shift[1] = (double)(2 * c < pair->cols ? c : c - pair->cols);
}

/* value, d/drow, d/dcol, d2/drow2, d2/dcol2, d2/drow dcol of the correlation at a shift. */
static void
correlation_at (const Pair *pair, const double shift[2], double out[6])
{
  double along = 2 * G_PI / (double)pair->rows, across = 2 * G_PI / (double)pair->cols;
  memset (out, 0, 6 * sizeof (double));
  for (gint64 r = 0; r < pair->rows; r++) {
    double u = along * frequency (r, pair->rows), sums[3] = { 0 }, slopes[2] = { 0 };
    double cos_r = cos (u * shift[0]), sin_r = sin (u * shift[0]);
    for (gint64 c = 0; c < pair->cols; c++) {
      const double *p = pair->b + 2 * (r * pair->cols + c);
      double v = across * frequency (c, pair->cols), cos_c = cos (v * shift[1]), sin_c = sin (v * shift[1]);
      double turn_re = cos_r * cos_c - sin_r * sin_c, turn_im = cos_r * sin_c + sin_r * cos_c;
      double re = p[0] * turn_re - p[1] * turn_im, im = p[0] * turn_im + p[1] * turn_re;
      sums[0] += re;
      sums[1] += v * im;
      sums[2] += v * v * re;
      slopes[0] += im;
      slopes[1] += v * re;
    }
    out[0] += sums[0];
    out[1] -= u * slopes[0];
    out[2] -= sums[1];
    out[3] -= u * u * sums[0];
    out[4] -= sums[2];
    out[5] -= u * slopes[1];
  }
}

/* Newton's steps to the maximum near shift; stays where the correlation is not a hill. Returns its height. */
static double
climb (const Pair *pair, double shift[2])
{
  double start[2] = { shift[0], shift[1] }, c[6];
  for (int step = 0; step < STEPS; step++) {
    correlation_at (pair, shift, c);
    double det = c[3] * c[4] - c[5] * c[5];
    if (!(det > 0) || !(c[3] < 0))
      break;
    double d[2] = { -(c[4] * c[1] - c[5] * c[2]) / det, -(c[3] * c[2] - c[5] * c[1]) / det };
    for (int axis = 0; axis < 2; axis++)
      shift[axis] = CLAMP (shift[axis] + CLAMP (d[axis], -0.5, 0.5), start[axis] - 1, start[axis] + 1);
    if (fabs (d[0]) + fabs (d[1]) < 1e-6)
      break;
  }
  correlation_at (pair, shift, c);
  return c[0] / pair->norm;
}

static gboolean
find_shift (Pair *pair, const float *a, const float *b, double shift[2], double *correlation, const SbProgress *progress,
            GError **error)
{
  if (!prepare (pair, a, b, shift)) /* an image without contrast */
    return TRUE;
  whole_pixels (pair, shift);
  for (int round = 0; round < ROUNDS; round++) {
    double before[2] = { shift[0], shift[1] };
    if (progress_cancelled (progress))
      return sb_fail (error, SB_ERROR_CANCELLED, "Cancelled.");
    if (round > 0 && !prepare (pair, a, b, shift))
      break;
    *correlation = climb (pair, shift);
    if (round > 0 && fabs (shift[0] - before[0]) + fabs (shift[1] - before[1]) < 1e-3)
      break;
  }
  return TRUE;
}

gboolean
register_shift (const float *a, const float *b, gint64 rows, gint64 cols, const gint64 factor[2], double shift[2],
                double *correlation, const SbProgress *progress, GError **error)
{
  const char *what = "The registration of two images";
  Pair pair = { .rows = rows, .cols = cols, .factor = { factor[0], factor[1] } };
  gsize n = (gsize)(rows * cols);
  shift[0] = shift[1] = *correlation = 0;
  if (rows < LEAST_SIDE || cols < LEAST_SIDE)
    return TRUE;
  g_autofree double *first = sb_alloc (n, 2 * sizeof (double), what, error);
  g_autofree double *second = first != NULL ? sb_alloc (n, 2 * sizeof (double), what, error) : NULL;
  if (second == NULL)
    return FALSE;
  pair.a = first;
  pair.b = second;
  pair.fft = sbk_fft_complex_new (rows, cols, TRUE);
  if (pair.fft == NULL)
    return sb_fail (error, SB_ERROR_MEMORY, "%s has no memory for its transform; close other programs.", what);
  gboolean good = find_shift (&pair, a, b, shift, correlation, progress, error);
  sbk_fft_complex_free (pair.fft);
  return good;
}

/* ---- moving ---- */

/* Weights of the samples -TAPS + 1 .. TAPS about a place that lies `part` of a pixel behind one: a sinc under a
 * cosine window, which sum to one. */
static void
make_weights (double part, double weight[2 * TAPS])
{
  double sum = 0;
  for (int k = 0; k < 2 * TAPS; k++) {
    double x = part - (double)(k - TAPS + 1), w = 0.5 + 0.5 * cos (G_PI * x / (TAPS + 0.5));
    weight[k] = (fabs (x) < 1e-12 ? 1 : sin (G_PI * x) / (G_PI * x)) * w;
    sum += weight[k];
  }
  for (int k = 0; k < 2 * TAPS; k++)
    weight[k] /= sum;
}

/* Beyond its border an image goes on as its own mirror. */
static gint64
mirrored (gint64 i, gint64 n)
{
  gint64 period = 2 * n, r = ((i % period) + period) % period;
  return r < n ? r : period - 1 - r;
}

/* One axis: n samples `stride` apart. */
static void
move_line (const double *from, double *to, gint64 n, gint64 stride, double shift)
{
  double whole = floor (shift), weight[2 * TAPS];
  make_weights (shift - whole, weight);
  for (gint64 i = 0; i < n; i++) {
    double at = (double)i + shift, sum = 0;
    if (at >= 0 && at <= (double)(n - 1))
      for (int k = 0; k < 2 * TAPS; k++)
        sum += weight[k] * from[mirrored (i + (gint64)whole + k - TAPS + 1, n) * stride];
    to[i * stride] = sum;
  }
}

gboolean
register_move (const float *image, gint64 rows, gint64 cols, const double shift[2], float *out, GError **error)
{
  const char *what = "An aligned image";
  gsize n = (gsize)(rows * cols);
  g_autofree double *one = sb_alloc (n, sizeof (double), what, error);
  g_autofree double *two = one != NULL ? sb_alloc (n, sizeof (double), what, error) : NULL;
  if (two == NULL)
    return FALSE;
  for (gsize i = 0; i < n; i++)
    one[i] = isfinite (image[i]) ? (double)image[i] : 0;
  for (gint64 r = 0; r < rows; r++)
    move_line (one + r * cols, two + r * cols, cols, 1, shift[1]);
  for (gint64 c = 0; c < cols; c++)
    move_line (two + c, one + c, rows, cols, shift[0]);
  for (gsize i = 0; i < n; i++)
    out[i] = (float)one[i];
  return TRUE;
}
