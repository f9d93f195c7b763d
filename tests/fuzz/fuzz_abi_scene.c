/* A tiny acquisition, made at the first call, and the folder that executions work in. */
#include <ftw.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/fuzz_abi.h"

#define CENTRE 5.5 /* detector pixels */
#define RADIUS 4.2 /* detector pixels */
#define WAVELENGTH 0.0196875
#define SEMIANGLE 0.02 /* rad */
#define STEP 0.4       /* angstrom */
#define DEFOCUS 40.0   /* angstrom */
#define MEAN 90.0
#define AMPLITUDE 0.06

/* ---- counts ---- */

static const int waves[][2] = {
  { 1, 2 }, { 3, -1 }, { 0, 4 }, { 5, 3 }, { 2, 0 }, { 4, -4 }, { 6, 1 }
}; /* cycles over the scan */

static double
chi (double x, double y)
{
  double k = SEMIANGLE / WAVELENGTH / RADIUS; /* of a pixel, 1/A */
  return G_PI * WAVELENGTH * DEFOCUS * k * k * (x * x + y * y);
}

static gboolean
inside (double x, double y)
{
  return x * x + y * y <= RADIUS * RADIUS;
}

/* The contrast of one pixel at one scan point: the two sidebands of each wave, where they lie within the aperture. */
static double
contrast (double x, double y, int row, int col)
{
  double sum = 0, pixels = WAVELENGTH / SEMIANGLE * RADIUS / (TINY_SCAN * STEP); /* of one cycle over the scan */
  for (guint w = 0; w < G_N_ELEMENTS (waves); w++) {
    double qx = waves[w][0] * pixels, qy = waves[w][1] * pixels;
    double turn = 2 * G_PI * (waves[w][0] * row + waves[w][1] * col) / TINY_SCAN + (double)w;
    double plus = inside (x + qx, y + qy) ? sin (turn + chi (x + qx, y + qy) - chi (x, y)) : 0;
    double minus = inside (x - qx, y - qy) ? sin (turn - chi (x - qx, y - qy) + chi (x, y)) : 0;
    sum += AMPLITUDE * (minus - plus);
  }
  return sum;
}

const guint8 *
tiny_counts (void)
{
  static guint8 *counts;
  if (counts != NULL)
    return counts;
  guint32 noise = 1;
  counts = g_new (guint8, TINY_FRAMES * TINY_PIXELS);
  for (int i = 0; i < TINY_FRAMES * TINY_PIXELS; i++) {
    int frame = i / TINY_PIXELS, pixel = i % TINY_PIXELS;
    double x = pixel / TINY_DETECTOR - CENTRE, y = pixel % TINY_DETECTOR - CENTRE;
    noise = noise * 1664525u + 1013904223u;
    counts[i] = (guint8)(noise >> 30); /* 0 .. 3 */
    if (inside (x, y))
      counts[i] += (guint8)(MEAN * (1 + contrast (x, y, frame / TINY_SCAN, frame % TINY_SCAN)));
  }
  return counts;
}

/* ---- the folder ---- */

static char *folder, *out;

static int
remove_entry (const char *path, const struct stat *about, int kind, struct FTW *where)
{
  return strcmp (path, out) == 0 ? 0 : remove (path);
}

void
tiny_clear (void)
{
  nftw (out, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void
remove_folder (void)
{
  tiny_clear ();
  if (g_chdir ("/") != 0)
    return;
  g_rmdir (out);
  nftw (folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* NumPy's header, filled up to a multiple of 64 bytes. */
static gboolean
write_npy (const char *path)
{
  char header[128];
  FILE *file = fopen (path, "wb");
  gboolean good = file != NULL;
  memset (header, ' ', sizeof header);
  memcpy (header, "\x93NUMPY\x01\x00\x76\x00", 10);
  int n = g_snprintf (header + 10, sizeof header - 10, "{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d, %d, %d), }",
                      TINY_SCAN, TINY_SCAN, TINY_DETECTOR, TINY_DETECTOR);
  header[10 + n] = ' ';
  header[sizeof header - 1] = '\n';
  good = good && fwrite (header, sizeof header, 1, file) == 1
         && fwrite (tiny_counts (), TINY_PIXELS, TINY_FRAMES, file) == TINY_FRAMES;
  return file != NULL && fclose (file) == 0 && good;
}

/* By names in our folder, so that nothing can be written beside the originals. */
static gboolean
link_examples (void)
{
  static const char *const names[] = { "columns_master.h5", "columns_data_000001.h5", "columns_data_000002.h5",
                                       "columns_data_000003.h5" };
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autofree char *from = g_build_filename (FUZZ_EXAMPLES, names[i], NULL), *to = g_build_filename (folder, names[i], NULL);
    if (symlink (from, to) != 0)
      return FALSE;
  }
  return TRUE;
}

static void
make_folder (void)
{
  folder = g_dir_make_tmp ("sideband-fuzz-XXXXXX", NULL);
  if (folder == NULL)
    abort ();
  out = g_build_filename (folder, "out", NULL);
  g_autofree char *npy = g_build_filename (folder, "tiny.npy", NULL), *note = g_build_filename (folder, "note.txt", NULL);
  if (g_mkdir (out, 0700) != 0 || !write_npy (npy) || !g_file_set_contents (note, "no data", -1, NULL) || !link_examples ()
      || g_chdir (out) != 0) /* what is named without a folder lands there as well */
    abort ();
  atexit (remove_folder);
}

const char *
tiny_out (void)
{
  if (folder == NULL)
    make_folder ();
  return out;
}

const char *
tiny_path (guint choice)
{
  static const char *const names[] = {
    "tiny.npy",           "tiny.npy",          "out",       "out/r.h5",  "out/r.json",        "note.txt", "nothing/x.h5",
    "out/tiny_result.h5", "out/tiny_fit.json", "out/r.tif", "out/r.png", "columns_master.h5", ""
  };
  static char *paths[G_N_ELEMENTS (names)];
  choice %= G_N_ELEMENTS (names);
  if (paths[choice] == NULL && names[choice][0] == '\0')
    paths[choice] = g_strdup ("");
  if (paths[choice] == NULL && tiny_out () != NULL)
    paths[choice] = g_build_filename (folder, names[choice], NULL);
  return paths[choice];
}
