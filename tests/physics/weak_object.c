#include "tests/physics/weak_object.h"

#include <complex.h>
#include <math.h>

enum { ATOMS = 24 };
#define ATOM_WIDTH 0.3 /* angstrom, standard deviation */

void
weak_object_init (WeakObject *object)
{
  *object = (WeakObject){ .optics = { 300, 30, { 0.4, 0.4 } },
                          .scan = { 31, 32 },
                          .detector = { 31, 34 },
                          .centre = { 15.2, 16.4 },
                          .radius = 12,
                          .counts = 1e7,
                          .peak = 0.02 };
}

static double
chi (const SbCoordinates *at, double row, double col)
{
  double r = hypot (row, col), phi = atan2 (col, row), sum = 0;
  int i = 0;
  for (int t = 0; t < SB_N_TERMS; t++) {
    double power = pow (r, optics_terms[t].n + 1), m = optics_terms[t].m;
    sum += at->x[i++] * power * cos (m * phi);
    if (optics_terms[t].m > 0)
      sum += at->x[i++] * power * sin (m * phi);
  }
  return sum;
}

/* k in units of k_max. */
static double complex
probe (const WeakObject *o, double row, double col)
{
  double a = CLAMP ((1 - row * row - col * col) * o->radius / 2 + 0.5, 0.0, 1.0);
  return a > 0 ? a * cexp (-I * chi (&o->at, row, col)) : 0;
}

/* gamma (q, k) of a thin object. */
static double complex
transfer (const WeakObject *o, const double k[2], const double q[2])
{
  double complex at_k = probe (o, k[0], k[1]), plus = probe (o, k[0] + q[0], k[1] + q[1]);
  double complex minus = o->wrong ? probe (o, q[0] - k[0], q[1] - k[1]) : probe (o, k[0] - q[0], k[1] - q[1]);
  return conj (at_k) * minus - at_k * conj (plus);
}

static gint64
signed_frequency (gint64 i, gint64 n)
{
  return 2 * i < n ? i : i - n;
}

/* Phi at every frequency of the scan but 0 and Nyquist: round atoms at random places, scaled to the peak. */
static double complex *
make_phi (const WeakObject *o, double *truth)
{
  gint64 rows = o->scan[0], cols = o->scan[1];
  double complex *phi = g_new0 (double complex, rows *cols);
  double place[ATOMS][2], top = 0;
  GRand *random = g_rand_new_with_seed (7);
  for (int a = 0; a < ATOMS; a++)
    for (int axis = 0; axis < 2; axis++)
      place[a][axis] = g_rand_double (random);
  g_rand_free (random);
  for (gint64 i = 0; i < rows * cols; i++) {
    gint64 r = signed_frequency (i / cols, rows), c = signed_frequency (i % cols, cols);
    double q2 = pow ((double)r / ((double)rows * o->optics.step[0]), 2)
                + pow ((double)c / ((double)cols * o->optics.step[1]), 2);
    if (i == 0 || 2 * r == -rows || 2 * c == -cols)
      continue;
    for (int a = 0; a < ATOMS; a++)
      phi[i] += exp (-2 * G_PI * G_PI * ATOM_WIDTH * ATOM_WIDTH * q2)
                * cexp (-2 * G_PI * I * ((double)r * place[a][0] + (double)c * place[a][1]));
  }
  g_autofree double *image = g_new0 (double, rows *cols);
  for (gint64 p = 0; p < rows * cols; p++) {
    for (gint64 i = 0; i < rows * cols; i++) {
      double turns = (double)(p / cols * (i / cols)) / (double)rows + (double)(p % cols * (i % cols)) / (double)cols;
      image[p] += creal (phi[i] * cexp (2 * G_PI * I * turns));
    }
    top = fmax (top, image[p]);
  }
  for (gint64 i = 0; i < rows * cols; i++) {
    phi[i] *= o->peak / top;
    if (truth != NULL)
      truth[i] = image[i] * o->peak / top;
  }
  return phi;
}

/* sum_q g exp (2 pi i q.r), one axis after the other; g is overwritten. */
static void
to_scan (gint64 rows, gint64 cols, double complex *g, const double complex *turn_row, const double complex *turn_col,
         double complex *line)
{
  for (gint64 c = 0; c < cols; c++) {
    for (gint64 r = 0; r < rows; r++) {
      line[r] = 0;
      for (gint64 i = 0; i < rows; i++)
        line[r] += g[i * cols + c] * turn_row[i * r % rows];
    }
    for (gint64 r = 0; r < rows; r++)
      g[r * cols + c] = line[r];
  }
  for (gint64 r = 0; r < rows; r++) {
    for (gint64 c = 0; c < cols; c++) {
      line[c] = 0;
      for (gint64 j = 0; j < cols; j++)
        line[c] += g[r * cols + j] * turn_col[j * c % cols];
    }
    for (gint64 c = 0; c < cols; c++)
      g[r * cols + c] = line[c];
  }
}

static double complex *
turns (gint64 n)
{
  double complex *turn = g_new (double complex, n);
  for (gint64 i = 0; i < n; i++)
    turn[i] = cexp (2 * G_PI * I * (double)i / (double)n);
  return turn;
}

/* G of one pixel: Phi gamma at one of each pair, the conjugate at the other. */
static void
make_g (const WeakObject *o, const double k[2], const double complex *phi, double complex *g)
{
  gint64 rows = o->scan[0], cols = o->scan[1];
  double k_max = optics_k_max (&o->optics);
  for (gint64 i = 0; i < rows * cols; i++) {
    gint64 r = signed_frequency (i / cols, rows), c = signed_frequency (i % cols, cols);
    double q[2] = { (double)r / ((double)rows * o->optics.step[0] * k_max),
                    (double)c / ((double)cols * o->optics.step[1] * k_max) };
    gint64 pair = (rows - i / cols) % rows * cols + (cols - i % cols) % cols;
    if (r < 0 || (r == 0 && c <= 0))
      continue;
    g[i] = hypot (q[0], q[1]) < 2 ? I * phi[i] * transfer (o, k, q) : 0;
    g[pair] = conj (g[i]);
  }
}

float *
weak_object_frames (const WeakObject *o, double *truth)
{
  gint64 rows = o->scan[0], cols = o->scan[1], pixels = o->detector[0] * o->detector[1];
  g_autofree double complex *phi = make_phi (o, truth), *turn_row = turns (rows), *turn_col = turns (cols);
  g_autofree double complex *g = g_new (double complex, rows *cols), *line = g_new (double complex, MAX (rows, cols));
  float *frames = g_new0 (float, rows *cols *pixels);
  for (gint64 p = 0; p < pixels; p++) {
    double k[2] = { ((double)(p / o->detector[1]) - o->centre[0]) / o->radius,
                    ((double)(p % o->detector[1]) - o->centre[1]) / o->radius };
    double a2 = pow (cabs (probe (o, k[0], k[1])), 2);
    if (a2 == 0)
      continue;
    for (gint64 i = 0; i < rows * cols; i++)
      g[i] = 0;
    make_g (o, k, phi, g);
    to_scan (rows, cols, g, turn_row, turn_col, line);
    for (gint64 i = 0; i < rows * cols; i++)
      frames[i * pixels + p] = (float)(o->counts * (a2 + creal (g[i])));
  }
  return frames;
}

SbColumns *
weak_object_columns (const WeakObject *o, SbEngine *engine, const float *frames, SbAcquisition **acquisition, GError **error)
{
  SbAcquisitionOptions options;
  const double nowhere[2] = { NAN, NAN };
  gint64 pixels = o->detector[0] * o->detector[1];
  const gint64 strides[3] = { pixels * 4, o->detector[1] * 4, 4 };
  SbColumns *columns = NULL;
  param_group_defaults (&acquisition_params, &options);
  for (int axis = 0; axis < 2; axis++) {
    options.scan_shape[axis] = o->scan[axis];
    options.detector_shape[axis] = o->detector[axis];
  }
  options.dtype = g_strdup ("float32");
  *acquisition = acquisition_new (&options, error);
  param_group_clear (&acquisition_params, &options);
  if (*acquisition == NULL)
    return NULL;
  SbGather *gather = gather_new (engine, *acquisition, nowhere, NAN, error);
  if (gather != NULL && gather_push (gather, 0, o->scan[0] * o->scan[1], frames, SB_F32, strides, error))
    columns = gather_finish (gather, error);
  gather_free (gather);
  return columns;
}

double
weak_correlation (gsize n, const double *a, const double *b, double *scale)
{
  double ma = 0, mb = 0, aa = 0, bb = 0, ab = 0;
  for (gsize i = 0; i < n; i++) {
    ma += a[i] / (double)n;
    mb += b[i] / (double)n;
  }
  for (gsize i = 0; i < n; i++) {
    aa += (a[i] - ma) * (a[i] - ma);
    bb += (b[i] - mb) * (b[i] - mb);
    ab += (a[i] - ma) * (b[i] - mb);
  }
  if (scale != NULL)
    *scale = ab / bb;
  return ab / sqrt (aa * bb);
}
