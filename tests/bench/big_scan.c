/* A large acquisition in ARINA form for timing from file to image: counting noise on a disk whose pixels hold the sidebands of
 * a few object frequencies, aberrated by C10 and C12. big_scan PREFIX [scan [detector [radius [mean]]]] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/optics.h"
#include "core/simulate/encode.h"
#include "core/simulate/write.h"

enum { WAVES = 24, FRAMES = 256 /* made together */ };

typedef struct {
  gint64 scan, detector, n;
  gint32 *pixel;
  float *re[WAVES], *im[WAVES];  /* 2 G of each pixel, over the mean */
  double row[WAVES], col[WAVES]; /* cycles a scan point */
  double mean;
  gint64 first;
  guint16 *frame; /* [FRAMES][detector^2] */
  guint8 *chunk;  /* [FRAMES][bound] */
  gsize bound, size[FRAMES];
} Scene;

static guint64
mix (guint64 z)
{
  z = (z ^ (z >> 30)) * G_GUINT64_CONSTANT (0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * G_GUINT64_CONSTANT (0x94D049BB133111EB);
  return z ^ (z >> 31);
}

/* Four numbers added: nearly normal, and cheap. */
static float
noise (guint64 *state)
{
  guint64 z = mix (*state += G_GUINT64_CONSTANT (0x9E3779B97F4A7C15));
  float sum = (float)((z & 0xffff) + (z >> 16 & 0xffff) + (z >> 32 & 0xffff) + (z >> 48)) / 65536.0f - 2.0f;
  return sum * 1.7320508f;
}

static void
frame_make (gpointer data, gpointer user_data)
{
  Scene *s = user_data;
  gint64 i = GPOINTER_TO_INT (data) - 1, at = s->first + i, size = s->detector * s->detector;
  guint16 *frame = s->frame + i * size;
  guint64 state = mix ((guint64)at + 77);
  g_autofree float *value = g_new (float, s->n);
  for (gint64 k = 0; k < s->n; k++)
    value[k] = 1;
  for (int w = 0; w < WAVES; w++) {
    double angle = 2 * G_PI * (s->row[w] * (double)(at / s->scan) + s->col[w] * (double)(at % s->scan));
    float c = (float)cos (angle), d = (float)sin (angle);
    for (gint64 k = 0; k < s->n; k++)
      value[k] += s->re[w][k] * c - s->im[w][k] * d;
  }
  memset (frame, 0, (gsize)size * sizeof *frame);
  for (gint64 k = 0; k < s->n; k++) {
    float mu = (float)s->mean * fmaxf (value[k], 0), x = mu + sqrtf (mu) * noise (&state);
    frame[s->pixel[k]] = (guint16)fmaxf (x + 0.5f, 0);
  }
  s->size[i] = encode_frame (frame, (gsize)size, 2, s->chunk + (gsize)i * s->bound);
}

static double
aperture (double r2, double edge)
{
  return CLAMP ((1 - r2) / (2 * edge) + 0.5, 0, 1);
}

/* G = i Phi gamma of weak waves; chi = C10 and C12a, rad at the edge. */
static void
waves_make (Scene *s, const SbOptics *optics, double radius)
{
  double k_max = optics_k_max (optics), edge = 1 / radius, c10 = 14, c12 = 3;
  guint64 state = 5;
  for (int w = 0; w < WAVES; w++) {
    s->re[w] = g_new (float, s->n);
    s->im[w] = g_new (float, s->n);
    double q = 0.15 + 1.5 * w / WAVES, angle = 2 * G_PI * (double)(mix (++state) % 1000) / 1000;
    /* on the scan's own frequencies */
    s->row[w] = round (q * cos (angle) * k_max * optics->step[0] * (double)s->scan) / (double)s->scan;
    s->col[w] = round (q * sin (angle) * k_max * optics->step[1] * (double)s->scan) / (double)s->scan;
    double vr = s->row[w] / (optics->step[0] * k_max), vc = s->col[w] / (optics->step[1] * k_max);
    for (gint64 k = 0; k < s->n; k++) {
      double y = ((double)(s->pixel[k] / s->detector) - (double)s->detector / 2) / radius;
      double x = ((double)(s->pixel[k] % s->detector) - (double)s->detector / 2) / radius, re = 0, im = 0;
      for (int side = -1; side <= 1; side += 2) {
        double py = y + side * vr, px = x + side * vc;
        double theta = -side * (c10 * (py * py + px * px - y * y - x * x) + c12 * (py * py - px * px - y * y + x * x));
        double a = -side * aperture (py * py + px * px, edge);
        re += a * cos (side * -side * theta);
        im += a * sin (side * -side * theta);
      }
      s->re[w][k] = (float)(-0.06 * im);
      s->im[w][k] = (float)(0.06 * re);
    }
  }
}

int
main (int argc, char **argv)
{
  gint64 scan = argc > 2 ? atoi (argv[2]) : 512, detector = argc > 3 ? atoi (argv[3]) : 192;
  double radius = argc > 4 ? g_ascii_strtod (argv[4], NULL) : 52.93;
  Scene s = { .scan = scan, .detector = detector, .mean = argc > 5 ? g_ascii_strtod (argv[5], NULL) : 4 };
  SbSimulation simulation = {
    .optics = { 300, 30, { 0.373, 0.373 } }, .scan = { scan, scan }, .detector = { detector, detector }, .sampling = 30 / radius
  };
  SbOutputOptions output = { 0 };
  GError *error = NULL;
  if (argc < 2) {
    fprintf (stderr, "big_scan PREFIX [scan [detector [radius [mean]]]]\n");
    return 2;
  }
  output.output = argv[1];
  s.pixel = g_new (gint32, detector * detector);
  for (gint64 i = 0; i < detector * detector; i++)
    if (hypot ((double)(i / detector) - (double)detector / 2, (double)(i % detector) - (double)detector / 2) <= radius + 0.5)
      s.pixel[s.n++] = (gint32)i;
  waves_make (&s, &simulation.optics, radius);
  s.frame = g_new (guint16, FRAMES * detector * detector);
  s.bound = encode_bound ((gsize)(detector * detector) * 2, 2);
  s.chunk = g_malloc (FRAMES * s.bound);
  SbFileSet *files = files_new (&output, &error);
  SbFrameWriter *writer = files != NULL ? writer_new (files, &simulation, 2) : NULL;
  gboolean ok = writer != NULL;
  for (s.first = 0; ok && s.first < scan * scan; s.first += FRAMES) {
    gint64 n = MIN (FRAMES, scan * scan - s.first);
    GThreadPool *pool = g_thread_pool_new (frame_make, &s, (gint)g_get_num_processors (), FALSE, NULL);
    for (gint64 i = 0; i < n; i++)
      g_thread_pool_push (pool, GINT_TO_POINTER ((gint)i + 1), NULL);
    g_thread_pool_free (pool, FALSE, TRUE);
    for (gint64 i = 0; ok && i < n; i++)
      ok = writer_append (writer, s.chunk + (gsize)i * s.bound, s.size[i], &error);
  }
  ok = ok && writer_close (writer, &error) && writer_headers (writer, &error) && files_commit (files, &error);
  if (!ok)
    fprintf (stderr, "%s\n", error != NULL ? error->message : "It failed.");
  return !ok;
}
