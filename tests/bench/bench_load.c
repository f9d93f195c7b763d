/* File to bright-field counts on the device, at the size of the performance page: makes the stored frames of a 512 x
 * 512 scan of a 192 x 192 uint16 detector itself (bitshuffle-LZ4, about 6:1, 1000 frames a file as ARINA writes them,
 * without HDF5's index), reads them as the library does and prints seconds of each part. bench_load MODULE FOLDER
 * [scan] */
#include <cuda_runtime.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/load_files.h"
#include "tests/parity/parity.h"

enum { MOST_THREADS = 64, BUFFER = 24 << 20, AT_ONCE = (128 << 20) / BYTES, RUN = 1 << 19 };

static double
now (void)
{
  struct timespec t;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the load ---- */

typedef struct Run {
  int64_t place, to;
  size_t size;
} Run;

typedef struct Reading {
  const Files *files;
  const int *fd;
  Run *runs;
  char *buffer;
} Reading;

static void
read_run (int64_t i, unsigned worker, void *data)
{
  const Reading *r = data;
  const Run *run = &r->runs[i];
  const Place *place = &r->files->place[run->place];
  (void)worker;
  for (size_t done = 0; done < run->size;) {
    ssize_t got = pread (r->fd[place->file], r->buffer + run->to + done, run->size - done, (off_t)(place->offset + done));
    if (got <= 0) {
      perror ("pread");
      exit (1);
    }
    done += (size_t)got;
  }
}

static void
check (SbkStatus status, const SbkError *error)
{
  if (status == SBK_OK)
    return;
  fprintf (stderr, "%s\n", error->message);
  exit (1);
}

typedef struct Times {
  double wait, read, push;
} Times;

/* Frames 0, stride, ... once through. read: 0 leaves what the buffers hold. */
static void
pass (const SbkLoader *loader, SbkLoad *load, Reading *r, int64_t stride, int reads, int pushes, Times *times)
{
  int64_t total = (r->files->frames + stride - 1) / stride, damaged;
  static SbkStored stored[AT_ONCE];
  static Run runs[AT_ONCE];
  SbkError error = { "" };
  r->runs = runs;
  for (int64_t first = 0, n; first < total; first += n) {
    double a = now ();
    void *buffer;
    check (loader->buffer (load, &buffer, &damaged, &error), &error);
    r->buffer = buffer;
    double b = now ();
    size_t used = 0;
    int n_runs = 0;
    for (n = 0; n < AT_ONCE && first + n < total; n++) {
      int64_t f = (first + n) * stride;
      const Place *place = &r->files->place[f];
      if (used + place->size > BUFFER)
        break;
      stored[n] = (SbkStored){ used, place->size, 0 };
      if (n_runs > 0 && stride == 1 && place->file == place[-1].file && runs[n_runs - 1].size + place->size <= RUN)
        runs[n_runs - 1].size += place->size;
      else
        runs[n_runs++] = (Run){ f, (int64_t)used, place->size };
      used += place->size;
    }
    if (reads)
      load_pool_run (NULL, n_runs, read_run, r);
    double c = now ();
    if (pushes)
      check (loader->push (load, first, n, stored, &error), &error);
    times->wait += b - a;
    times->read += c - b;
    times->push += now () - c;
  }
}

static double
used_memory (void)
{
  size_t available = 0, total = 0;
  cudaMemGetInfo (&available, &total);
  return (double)(total - available);
}

static double before, peak;

static void
look (void)
{
  double used = used_memory () - before;
  peak = used > peak ? used : peak;
}

typedef struct Scan {
  int64_t side, n_pixels, n_bright;
  int32_t *pixel;
  int64_t *column, *row_start;
  double *row_x, *pixel_y;
  int64_t n_rows, *index, n_q;
} Scan;

/* The pixels that the library keeps (1.15 radii and a margin), and G's pixels and frequencies. */
static void
scan_make (Scan *s, int64_t side)
{
  memset (s, 0, sizeof *s);
  s->side = side;
  s->pixel = malloc (PIXELS * sizeof *s->pixel);
  s->column = malloc (PIXELS * sizeof *s->column);
  s->pixel_y = malloc (PIXELS * sizeof *s->pixel_y);
  s->row_start = calloc (SIDE + 1, sizeof *s->row_start);
  s->row_x = malloc (SIDE * sizeof *s->row_x);
  s->index = malloc ((size_t)(side * side) * sizeof *s->index);
  for (int row = 0; row < SIDE; row++) {
    int64_t had = s->n_bright;
    for (int col = 0; col < SIDE; col++) {
      double r = hypot (row - 95.5, col - 95.5);
      if (r <= 53) {
        s->column[s->n_bright] = s->n_pixels;
        s->pixel_y[s->n_bright++] = (col - 95.5) / 53;
      }
      if (r <= 1.15 * 53 + 5.3)
        s->pixel[s->n_pixels++] = row * SIDE + col;
    }
    if (s->n_bright == had)
      continue;
    s->row_x[s->n_rows] = (row - 95.5) / 53;
    s->row_start[++s->n_rows] = s->n_bright;
  }
  for (int64_t i = 1; i < side * side; i++)
    if (i / side < (side + 1) / 2 && (i / side > 0 || i % side < side / 2) && s->n_q < side * side / 2 - side)
      s->index[s->n_q++] = i;
}

/* One load as the library does it: a first look at every 16th frame, then all; *counts stay until the load is freed. */
static SbkLoad *
load_all (const SbkBackend *device, SbkContext *context, Reading *r, const Scan *s, SbkType type, const void **counts)
{
  const SbkLoader *loader = device->loader;
  SbkFrames frames = { SIDE, SIDE, SBK_U16, SBK_FILTER_BITSHUFFLE_LZ4, 4096, 0, NULL };
  SbkError error = { "" };
  SbkLoad *load;
  int64_t damaged, n = r->files->frames;
  uint64_t *sum = malloc (PIXELS * sizeof *sum);
  uint32_t *high = malloc (PIXELS * sizeof *high);
  uint8_t *fate = malloc ((size_t)s->n_pixels);
  double *frame_sum = malloc ((size_t)n * 3 * sizeof *frame_sum), begin = now (), times[6];
  Times first = { 0 }, all = { 0 };
  check (loader->begin (context, &load, &frames, BUFFER, AT_ONCE, &error), &error);
  times[0] = now ();
  pass (loader, load, r, 16, 1, 1, &first);
  check (loader->sums (load, sum, high, &damaged, &error), &error);
  times[1] = now ();
  check (loader->choose (load, type, s->n_pixels, s->pixel, n, &error), &error);
  times[2] = now ();
  look ();
  pass (loader, load, r, 1, 1, 1, &all);
  check (loader->sums (load, sum, high, &damaged, &error), &error);
  times[3] = now ();
  for (int64_t k = 0; k < s->n_pixels; k++)
    fate[k] = hypot (s->pixel[k] / SIDE - 95.5, s->pixel[k] % SIDE - 95.5) <= 1.15 * 53 + 1 ? SBK_FINAL : SBK_DROPPED;
  SbkTake take = { fate, 0, { 0, 0 } };
  check (loader->take (load, &take, frame_sum, frame_sum + n, counts, &error), &error);
  times[4] = now ();
  look ();
  printf ("  load into u%d columns %.3f s: buffers %.3f, first look %.3f, choose %.3f, frames %.3f (waiting %.3f, "
          "reading %.3f, "
          "pushing %.3f), take %.3f%s\n",
          type == SBK_U8 ? 8 : 16, times[4] - begin, times[0] - begin, times[1] - times[0], times[2] - times[1],
          times[3] - times[2], all.wait, all.read, all.push, times[4] - times[3], damaged >= 0 ? " DAMAGED" : "");
  free (sum);
  free (high);
  free (fate);
  free (frame_sum);
  return load;
}

/* Reading alone, and the device alone on what the buffers hold. */
static void
alone (const SbkBackend *device, SbkContext *context, Reading *r, const Scan *s)
{
  const SbkLoader *loader = device->loader;
  SbkFrames frames = { SIDE, SIDE, SBK_U16, SBK_FILTER_BITSHUFFLE_LZ4, 4096, 0, NULL };
  SbkError error = { "" };
  SbkLoad *load;
  Times times = { 0 };
  int64_t damaged;
  uint64_t *sum = malloc (PIXELS * sizeof *sum);
  uint32_t *high = malloc (PIXELS * sizeof *high);
  double bytes = 0;
  for (int64_t f = 0; f < r->files->frames; f++)
    bytes += r->files->place[f].size;
  check (loader->begin (context, &load, &frames, BUFFER, AT_ONCE, &error), &error);
  check (loader->choose (load, SBK_U8, s->n_pixels, s->pixel, r->files->frames, &error), &error);
  double a = now ();
  pass (loader, load, r, 1, 1, 0, &times);
  double b = now ();
  pass (loader, load, r, 16, 1, 1, &times); /* fills every buffer with frames */
  check (loader->sums (load, sum, high, &damaged, &error), &error);
  printf ("  reading alone %.3f s (%.1f GB/s)\n", b - a, bytes / (b - a) / 1e9);
  loader->free (load);
  free (sum);
  free (high);
}

int
main (int argc, char **argv)
{
  const char *reason = "give the module and a folder";
  const SbkBackend *device = argc > 2 ? parity_module (argv[1], &reason) : NULL;
  if (device == NULL || device->loader == NULL) {
    printf ("skipped: %s\n", device == NULL ? reason : "no loader");
    return 0;
  }
  int64_t side = argc > 3 ? atoll (argv[3]) : 512, n_files = (side * side + A_FILE - 1) / A_FILE;
  unsigned threads = (unsigned)sysconf (_SC_NPROCESSORS_ONLN);
  threads = threads > MOST_THREADS ? MOST_THREADS : threads;
  load_pool_start (threads);
  Files files = { argv[2], side * side, malloc ((size_t)(side * side) * sizeof (Place)) };
  int *fd = malloc ((size_t)n_files * sizeof *fd);
  double bytes = 0;
  char name[512];
  load_files_make (&files);
  for (int64_t f = 0; f < n_files; f++) {
    load_file_name (argv[2], f, name);
    fd[f] = open (name, O_RDONLY);
  }
  for (int64_t f = 0; f < files.frames; f++)
    bytes += files.place[f].size;
  printf ("%lld frames of %d x %d uint16 in %.2f GB (%.2f:1), %u threads\n", (long long)files.frames, SIDE, SIDE, bytes / 1e9,
          BYTES * (double)files.frames / bytes, threads);
  Reading reading = { &files, fd, NULL, NULL };
  Scan scan;
  scan_make (&scan, side);
  SbkOpen how = { { threads, load_pool_run, NULL }, 0, NULL };
  SbkContext *context;
  SbkError error = { "" };
  check (device->open (&context, &how, &error), &error);
  before = used_memory ();
  for (int i = 0; i < 3; i++) {
    const void *counts;
    device->loader->free (load_all (device, context, &reading, &scan, i == 2 ? SBK_U16 : SBK_U8, &counts));
  }
  alone (device, context, &reading, &scan);
  peak = 0;
  const void *counts;
  double begin = now ();
  SbkLoad *load = load_all (device, context, &reading, &scan, SBK_U8, &counts);
  double loaded = now ();
  SbkPixels pixels = { scan.n_bright, scan.n_rows, scan.row_start, scan.row_x, scan.pixel_y, 1.0 / 53 };
  SbkBand band = { side, side, scan.n_q, scan.index };
  SbkCounts from = { .type = SBK_U8, .counts = counts, .column = scan.column, .scale = 1e-3 };
  SbkSpectrum *g;
  check (device->spectrum_from_counts (context, &g, &pixels, &band, &from, NULL, &error), &error);
  look ();
  double bytes_g = (double)scan.n_bright * (double)((scan.n_q + 15) / 16 * 16) * 8;
  printf ("file to counts %.3f s, to G %.3f s more; peak device memory %.2f GB, G is %.2f GB: %.2f G\n", loaded - begin,
          now () - loaded, peak / 1e9, bytes_g / 1e9, peak / bytes_g);
  device->spectrum_free (g);
  device->loader->free (load);
  for (int64_t f = 0; f < n_files; f++) {
    load_file_name (argv[2], f, name);
    unlink (name);
  }
  return 0;
}
