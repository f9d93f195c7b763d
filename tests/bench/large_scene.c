#include "tests/bench/large_scene.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"
#include "core/pipeline.h"
#include "tests/physics/weak_object.h"

enum { TILE = 64 };
#define TRUE_C10 (-8.0) /* nm */

/* ---- the file ---- */

static guint64
next_random (guint64 *state)
{
  *state += 0x9E3779B97F4A7C15u;
  guint64 z = *state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/* Poisson by multiplication of uniform numbers; the means are small. */
static guint8
draw (double limit, guint64 *state)
{
  double product = 1;
  int n = -1;
  do {
    product *= (double)(next_random (state) >> 11) * 0x1p-53;
    n++;
  } while (product > limit && n < 255);
  return (guint8)n;
}

static gboolean
write_header (FILE *file, const LargeScene *scene)
{
  char header[128];
  int n = snprintf (header, sizeof header,
                    "\x93NUMPY\x01%c%c%c{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d, %d, %d), }", 0, 118, 0,
                    (int)scene->scan, (int)scene->scan, (int)scene->detector, (int)scene->detector);
  memset (header + n, ' ', sizeof header - (gsize)n);
  header[127] = '\n';
  return fwrite (header, sizeof header, 1, file) == 1;
}

double
large_scene_write (const LargeScene *scene, const char *path, GError **error)
{
  WeakObject object;
  gint64 pixels = scene->detector * scene->detector;
  weak_object_init (&object);
  object.optics = (SbOptics){ 300, LARGE_SEMIANGLE, { LARGE_STEP, LARGE_STEP } };
  for (int axis = 0; axis < 2; axis++) {
    object.scan[axis] = TILE;
    object.detector[axis] = scene->detector;
    object.centre[axis] = (double)scene->detector / 2 - 0.3;
  }
  object.radius = scene->radius;
  object.counts = scene->counts;
  object.peak = 0.3;
  object.at.x[0] = 2 * G_PI / optics_wavelength (300) * pow (LARGE_SEMIANGLE * 1e-3, 2) / 2 * TRUE_C10 * 10;
  float *tile = weak_object_frames (&object, NULL);
  for (gint64 i = 0; i < TILE * TILE * pixels; i++)
    tile[i] = (float)exp (-fmax ((double)tile[i], 0));
  guint8 *line = g_new (guint8, scene->scan * pixels);
  FILE *file = fopen (path, "wb");
  gboolean ok = file != NULL && write_header (file, scene);
  guint64 state = 11;
  for (gint64 r = 0; ok && r < scene->scan; r++) {
    for (gint64 c = 0; c < scene->scan; c++) {
      const float *limit = tile + (r % TILE * TILE + c % TILE) * pixels;
      for (gint64 p = 0; p < pixels; p++)
        line[c * pixels + p] = limit[p] >= 1 ? 0 : draw ((double)limit[p], &state);
    }
    ok = fwrite (line, (gsize)(scene->scan * pixels), 1, file) == 1;
  }
  if (file != NULL && fclose (file) != 0)
    ok = FALSE;
  g_free (tile);
  g_free (line);
  if (!ok)
    sb_fail (error, SB_ERROR_IO, "%s could not be written; set TMPDIR to a folder with more room.", path);
  return TRUE_C10;
}

/* ---- the run ---- */

/* The largest resident memory of this process so far, GB. */
static double
peak_memory (void)
{
  char line[256];
  double kilobytes = NAN;
  FILE *file = fopen ("/proc/self/status", "r");
  while (file != NULL && fgets (line, sizeof line, file) != NULL)
    if (strncmp (line, "VmHWM:", 6) == 0)
      kilobytes = g_ascii_strtod (line + 6, NULL);
  if (file != NULL)
    fclose (file);
  return kilobytes * 1024 / 1e9;
}

static void
to_stderr (const char *domain, GLogLevelFlags level, const char *message, gpointer unused)
{
  fprintf (stderr, "# %.2f GB: %s\n", peak_memory (), message);
}

/* The largest resident memory of each stage, sampled. */
typedef struct Watch {
  SbProgress progress;
  gint stop; /* atomic */
  json_t *stages;
} Watch;

static gpointer
watch (gpointer data)
{
  Watch *w = data;
  const char *last = NULL;
  while (!g_atomic_int_get (&w->stop)) {
    const char *stage = g_atomic_pointer_get (&w->progress.stage);
    long pages = 0;
    FILE *file = fopen ("/proc/self/statm", "r");
    if (file != NULL && fscanf (file, "%*d %ld", &pages) == 1 && stage != NULL) {
      double now = (double)pages * (double)sysconf (_SC_PAGESIZE) / 1e9;
      if (last != NULL && stage != last)
        fprintf (stderr, "# %s: %.3f GB at most\n", last, json_number_value (json_object_get (w->stages, last)));
      last = stage;
      if (now > json_number_value (json_object_get (w->stages, stage)))
        json_object_set_new (w->stages, stage, json_real (now));
    }
    if (file != NULL)
      fclose (file);
    g_usleep (5000);
  }
  return NULL;
}

typedef struct Options {
  SbOpticsOptions optics;
  SbCalibrationOptions calibration;
  SbAberrationOptions aberrations;
  SbFitOptions fit;
  SbReconstructionOptions reconstruction;
  SbEngineOptions engine;
  SbAcquisitionOptions acquisition;
} Options;

static void
options_init (Options *o, double memory, const char *precision)
{
  param_group_defaults (&optics_params, &o->optics);
  param_group_defaults (&calibration_params, &o->calibration);
  param_group_defaults (&aberration_params, &o->aberrations);
  param_group_defaults (&fit_params, &o->fit);
  param_group_defaults (&reconstruction_params, &o->reconstruction);
  param_group_defaults (&engine_params, &o->engine);
  param_group_defaults (&acquisition_params, &o->acquisition);
  o->optics = (SbOpticsOptions){ 300, LARGE_SEMIANGLE, { LARGE_STEP, LARGE_STEP } };
  o->calibration.rotation = 0;
  o->calibration.orientation = g_strdup ("identity");
  o->engine.backend = g_strdup ("cpu");
  o->engine.precision = g_strdup (precision);
  o->engine.threads = 2;
  o->engine.memory = memory;
}

static void
print_result (const SbResult *result, double seconds, json_t *stages)
{
  const SbArray *phase = result_find (result, "phase");
  g_autofree char *hash = g_compute_checksum_for_data (G_CHECKSUM_SHA256, (const guchar *)phase->data,
                                                       (gsize)array_size (phase) * sizeof (float));
  json_t *c10 = json_object_get (json_object_get (json_object_get (result->info, "values"), "C10"), "value");
  json_t *line = json_pack ("{s:f, s:f, s:s, s:O, s:O, s:O, s:O?, s:O}", "peak", peak_memory (), "seconds", seconds, "phase",
                            hash, "agreement", json_object_get (result->info, "agreement"), "C10", c10, "stages",
                            json_object_get (result->info, "seconds"), "plan", json_object_get (result->info, "plan"), "peaks",
                            stages);
  g_autofree char *text = json_dumps (line, JSON_COMPACT | JSON_REAL_PRECISION (17));
  printf ("%s\n", text);
  json_decref (line);
}

int
large_scene_child (int argc, char **argv)
{
  Options o;
  GError *error = NULL;
  SbResult *result = NULL;
  gint64 start = g_get_monotonic_time ();
  if (argc < 4)
    return 2;
  g_log_set_handler (G_LOG_DOMAIN, G_LOG_LEVEL_MASK, to_stderr, NULL);
  options_init (&o, g_ascii_strtod (argv[3], NULL), "single");
  if (argc > 4) {
    o.aberrations.lock = g_strdup ("C21 C23 C30 C32 C34 C41 C43 C45 C50 C52 C54 C56");
    o.fit.uncertainty = g_strdup ("error");
  }
  SbEngine *engine = engine_new (&o.engine, &error);
  SbAcquisition *acquisition = engine != NULL ? acquisition_open (argv[2], &o.acquisition, &error) : NULL;
  SbWork *work = acquisition != NULL ? work_new (engine, acquisition) : NULL;
  const SbPipelineOptions options = { .optics = &o.optics,
                                      .calibration = &o.calibration,
                                      .aberrations = &o.aberrations,
                                      .fit = &o.fit,
                                      .reconstruction = &o.reconstruction };
  Watch w = { .stages = json_object () };
  GThread *watcher = g_thread_new ("watch", watch, &w);
  if (work != NULL)
    result = pipeline_run (work, &options, &w.progress, &error);
  g_atomic_int_set (&w.stop, 1);
  g_thread_join (watcher);
  if (result != NULL)
    print_result (result, (double)(g_get_monotonic_time () - start) * 1e-6, w.stages);
  else
    fprintf (stderr, "%s\n", error->message);
  return result != NULL ? 0 : 1;
}

json_t *
large_scene_run (const char *program, const LargeScene *scene, const char *path, double memory, char **message)
{
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  g_ascii_dtostr (number, sizeof number, memory);
  const char *line[] = { program, "--child", path, number, scene->low ? "low" : NULL, NULL };
  g_autofree char *out = NULL;
  int status = 0;
  *message = NULL;
  if (!g_spawn_sync (NULL, (char **)line, NULL, G_SPAWN_DEFAULT, NULL, NULL, &out, message, &status, NULL) || status != 0)
    return NULL;
  return json_loads (out, 0, NULL);
}
