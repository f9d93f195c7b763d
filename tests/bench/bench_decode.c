/* Decoded GB/s of one core on an acquisition's frames, beside the memcpy rate of the same run.
 * bench_decode [MASTER [SECONDS]]: without a file, bitshuffle-LZ4 frames of 192 x 192 uint16 are made here.
 * Prints JSON. */
#include <glib.h>
#include <lz4.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/acquisition.h"
#include "core/chunk.h"

enum { SIDE = 192, PIXELS = SIDE * SIDE, MADE = 64, BLOCK = 8192 };

typedef struct Made {
  guint8 *stored[MADE];
  gsize size[MADE], total;
} Made;

static int
poisson (GRand *random, double mean)
{
  int n = -1;
  for (double product = 1, limit = exp (-mean); product > limit; n++)
    product *= g_rand_double (random);
  return n;
}

static void
append32 (guint8 *to, gsize *at, guint32 x)
{
  for (int shift = 24; shift >= 0; shift -= 8)
    to[(*at)++] = (guint8)(x >> shift);
}

/* A bright disk of 5000 electrons a frame, as ARINA stores it. */
static void
make (Made *made)
{
  GRand *random = g_rand_new_with_seed (1);
  guint16 *counts = g_new (guint16, PIXELS);
  guint8 planes[BLOCK];
  made->total = 0;
  for (int f = 0; f < MADE; f++) {
    guint8 *to = made->stored[f] = g_malloc (2 * 2 * PIXELS + 4096);
    gsize at = 0;
    for (int i = 0; i < PIXELS; i++)
      counts[i] = (guint16)(hypot (i / SIDE - 95.5, i % SIDE - 95.5) < 60 ? poisson (random, 0.44) : 0);
    append32 (to, &at, 0);
    append32 (to, &at, 2 * PIXELS);
    append32 (to, &at, BLOCK);
    for (int from = 0; from < PIXELS; from += BLOCK / 2) {
      memset (planes, 0, sizeof planes);
      for (int e = 0; e < BLOCK / 2; e++)
        for (int b = 0; b < 16; b++)
          planes[b * (BLOCK / 16) + e / 8] |= (guint8)((counts[from + e] >> b & 1) << (e % 8));
      int n = LZ4_compress_default ((const char *)planes, (char *)to + at + 4, BLOCK, 2 * BLOCK);
      append32 (to, &at, (guint32)n);
      at += (gsize)n;
    }
    made->size[f] = at;
    made->total += at;
  }
  g_free (counts);
  g_rand_free (random);
}

/* Processor time of this thread in microseconds: others may share the core. */
static gint64
cpu_time (void)
{
  struct timespec now;
  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
  return (gint64)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static double
memcpy_rate (double seconds)
{
  gsize size = (gsize)64 << 20, copied = 0;
  guint8 *a = g_malloc (size), *b = g_malloc (size);
  memset (a, 1, size); /* not the pages' first touch */
  memset (b, 2, size);
  gint64 start = cpu_time (), now = start;
  for (; (double)(now - start) < 1e6 * seconds; now = cpu_time (), copied += size)
    memcpy (copied / size % 2 ? a : b, copied / size % 2 ? b : a, size);
  g_free (a);
  g_free (b);
  return (double)copied / (double)(now - start) / 1e3;
}

static void
report (const char *what, gsize bytes, gsize stored, gint64 us, gint64 frames)
{
  char rate[32], copy[32], ratio[32], fps[32];
  printf ("{\"bench\": \"decode\", \"source\": \"%s\", \"gb_per_s_core\": %s, \"frames_per_s\": %s, "
          "\"compression\": %s, "
          "\"memcpy_gb_per_s\": %s}\n",
          what, g_ascii_formatd (rate, sizeof rate, "%.3f", (double)bytes / (double)us / 1e3),
          g_ascii_formatd (fps, sizeof fps, "%.0f", (double)frames / (double)us * 1e6),
          stored > 0 ? g_ascii_formatd (ratio, sizeof ratio, "%.2f", (double)bytes / (double)stored) : "null",
          g_ascii_formatd (copy, sizeof copy, "%.3f", memcpy_rate (0.3)));
}

static int
bench_made (double seconds)
{
  Made made;
  guint16 *out = g_new (guint16, PIXELS);
  SbChunkCodec codec = { SB_CHUNK_BITSHUFFLE_LZ4, 2, BLOCK / 2, FALSE };
  gint64 n = 0;
  make (&made);
  gint64 start = cpu_time (), now = start;
  for (; (double)(now - start) < 1e6 * seconds; now = cpu_time ())
    for (int f = 0; f < MADE; f++, n++)
      if (!chunk_decode (&codec, 0, made.stored[f], made.size[f], (guint8 *)out, 2 * PIXELS, NULL))
        return 1;
  report ("made 192x192 uint16", (gsize)n * 2 * PIXELS, (gsize)n * made.total / MADE, now - start, n);
  for (int f = 0; f < MADE; f++)
    g_free (made.stored[f]);
  g_free (out);
  return 0;
}

static int
bench_file (const char *path, double seconds)
{
  g_autoptr (GError) error = NULL;
  SbAcquisition *a = acquisition_open (path, NULL, &error);
  if (a == NULL) {
    fprintf (stderr, "%s\n", error->message);
    return 1;
  }
  gsize bytes = (gsize)(a->header.detector_rows * a->header.detector_cols) * dtype_size (a->header.dtype);
  enum { BATCH = 64 };
  guint8 *out = g_malloc (bytes * BATCH);
  gint64 n = 0, start = cpu_time (), now = start, at = 0;
  for (; (double)(now - start) < 1e6 * seconds; now = cpu_time ()) {
    gint64 count = MIN (BATCH, a->header.frames - at);
    if (!a->format->read (a->reader, at, count, out, &error)) {
      fprintf (stderr, "%s\n", error->message);
      return 1;
    }
    n += count;
    at = (at + count) % a->header.frames;
  }
  report ("file", (gsize)n * bytes, 0, now - start, n);
  g_free (out);
  acquisition_free (a);
  return 0;
}

int
main (int argc, char **argv)
{
  double seconds = argc > 2 ? g_ascii_strtod (argv[2], NULL) : 2;
  return argc > 1 ? bench_file (argv[1], seconds) : bench_made (seconds);
}
