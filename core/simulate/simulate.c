#include "core/simulate/simulate.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/simulate/atoms.h"
#include "core/simulate/encode.h"
#include "core/simulate/multislice.h"
#include "core/simulate/truth.h"
#include "core/simulate/write.h"
#include "core/work.h"

#if G_BYTE_ORDER == G_BIG_ENDIAN
#error "frames are encoded as they lie in memory, which must be little-endian"
#endif

#define EXPECTED_COUNTS 1e6 /* of a bright pixel where dose = 0 asks for no noise */

enum { FRAMES_A_THREAD = 8 };

static const char *const specimens[] = { "film", "columns", "empty", "file", NULL };
static const char *const apertures[] = { "hard", "soft", NULL };

/* clang-format off */
#define FIELD(field) G_STRUCT_OFFSET (SbSimulationOptions, field)
static const SbParam rows[] = {
  { "specimen", "Specimen", "", "An amorphous film, columns along the beam, nothing (empty), or atoms of a file.", SB_PARAM_CHOICE,
    FIELD (specimen), NAN, "film", 0, 0, 0, 0, specimens, NULL, 0 },
  { "atoms", "Atoms", "", "XYZ file with x (row), y (column), z in Å and an orthogonal Lattice, for specimen = file.",
    SB_PARAM_PATH, FIELD (atoms), NAN, NULL, 0, 0, 0, 0, NULL, NULL, 0 },
  { "mixture", "Mixture", "", "Elements of a film or columns and their shares of the atoms.", SB_PARAM_TEXT, FIELD (mixture), NAN,
    "C=0.9 Si=0.1", 0, 0, 0, 0, NULL, NULL, 0 },
  { "density", "Density", "g/cm³", "Density of the specimen; not given: 2 for a film, 1 for columns.", SB_PARAM_DOUBLE,
    FIELD (density), NAN, NULL, 0.001, 30, 0.1, 20, NULL, NULL, 0 },
  { "min_distance", "Least distance", "Å", "Of atoms, or of columns in projection; not given: 1.4 or 1.8.", SB_PARAM_DOUBLE,
    FIELD (min_distance), NAN, NULL, 0, 20, 0, 5, NULL, NULL, SB_PARAM_ADVANCED },
  { "thickness", "Thickness", "nm", "Of the specimen along the beam; not given: 3, or what the file of atoms says.", SB_PARAM_DOUBLE,
    FIELD (thickness), NAN, NULL, 0.01, 1000, 0.5, 50, NULL, NULL, 0 },
  { "slice", "Slice thickness", "nm", "Of the slices of the multislice calculation.", SB_PARAM_DOUBLE, FIELD (slice), 0.2, NULL,
    0.01, 100, 0.05, 1, NULL, NULL, SB_PARAM_ADVANCED },
  { "pixel", "Simulation pixel", "Å", "Of the wave; not given: fine enough for the detector and twice the aperture.",
    SB_PARAM_DOUBLE, FIELD (pixel), NAN, NULL, 0.005, 10, 0.02, 0.5, NULL, NULL, SB_PARAM_ADVANCED },
  { "aperture", "Aperture edge", "", "A sharp edge, or one that falls over a detector pixel as the model of the fit assumes.",
    SB_PARAM_CHOICE, FIELD (aperture), NAN, "hard", 0, 0, 0, 0, apertures, NULL, 0 },
  { "periodic", "Periodic scan", "", "The specimen repeats itself after the scan.", SB_PARAM_BOOL, FIELD (periodic), 1, NULL, 0, 1,
    0, 1, NULL, NULL, 0 },
  { "dose", "Electrons a frame", "", "Mean number of electrons of each frame; 0: expected counts, without noise.", SB_PARAM_DOUBLE,
    FIELD (dose), 30000, NULL, 0, 1e9, 0, 1e6, NULL, NULL, 0 },
  { "random_seed", "Random seed", "", "Of the atoms' places and the noise: the same seed gives the same files.", SB_PARAM_INT,
    FIELD (random_seed), 42, NULL, 0, 9e15, 0, 1000, NULL, NULL, 0 },
};
/* clang-format on */
const SbParamGroup simulation_params = { "simulation", "Simulation", sizeof (SbSimulationOptions), rows, G_N_ELEMENTS (rows) };

/* ---- frames ---- */

/* Frames computed and encoded side by side, written in order. */
typedef struct Batch {
  const SbSimulation *simulation;
  const SbMultislice *multislice;
  double scale; /* counts an electron's share */
  gsize element, pixels, bound;
  guint n_threads, n_frames;
  gpointer *scratch; /* [thread] */
  double *expected;  /* [thread][pixels] */
  guint32 *counts;   /* [thread][pixels] */
  guint8 *chunks;    /* [frame][bound] */
  gsize *size;       /* [frame] */
  gint64 first;
} Batch;

static void
batch_clear (Batch *b)
{
  for (guint i = 0; b->scratch != NULL && i < b->n_threads; i++)
    g_free (b->scratch[i]);
  g_free (b->scratch);
  g_free (b->expected);
  g_free (b->counts);
  g_free (b->chunks);
  g_free (b->size);
}

static gboolean
batch_init (Batch *b, const SbEngine *engine, const SbSimulation *s, const SbMultislice *multislice, GError **error)
{
  memset (b, 0, sizeof *b);
  b->simulation = s;
  b->multislice = multislice;
  /* No pixel of a frame takes more than all its electrons. */
  b->element = s->dose > 0 && 1.2 * s->dose + 100 < G_MAXUINT16 ? 2 : 4;
  b->pixels = (gsize)(s->detector[0] * s->detector[1]);
  b->bound = encode_bound (b->pixels * b->element, b->element);
  b->n_threads = engine->threads;
  b->n_frames = FRAMES_A_THREAD * engine->threads;
  b->scratch = g_new0 (gpointer, b->n_threads);
  b->size = g_new0 (gsize, b->n_frames);
  b->expected = sb_alloc (b->pixels * b->n_threads, sizeof *b->expected, "the frames", error);
  b->counts = sb_alloc (b->pixels * b->n_threads, sizeof *b->counts, "the frames", error);
  b->chunks = sb_alloc (b->bound * b->n_frames, 1, "the frames", error);
  gboolean good = b->expected != NULL && b->counts != NULL && b->chunks != NULL;
  for (guint i = 0; good && i < b->n_threads; i++)
    good = (b->scratch[i] = multislice_scratch (multislice, error)) != NULL;
  return good;
}

/* Counts from expected shares: drawn from the frame's own stream, or rounded. */
static void
count (const Batch *b, gint64 frame, const double *expected, guint32 *counts)
{
  double most = b->element == 2 ? G_MAXUINT16 - 1 : G_MAXUINT32 - 1;
  SbRandom random = random_stream (b->simulation->seed, 1 + (guint64)frame);
  guint16 *narrow = (guint16 *)counts;
  for (gsize i = 0; i < b->pixels; i++) {
    double mean = b->scale * expected[i];
    double n = MIN (b->simulation->dose > 0 ? random_poisson (&random, mean) : round (mean), most);
    if (b->element == 2)
      narrow[i] = (guint16)n;
    else
      counts[i] = (guint32)n;
  }
}

static void
make_frame (gint64 i, guint worker, gpointer data)
{
  Batch *b = data;
  gint64 frame = b->first + i, cols = b->simulation->scan[1];
  double *expected = b->expected + worker * b->pixels;
  guint32 *counts = b->counts + worker * b->pixels;
  multislice_frame (b->multislice, frame / cols, frame % cols, b->scratch[worker], expected);
  count (b, frame, expected, counts);
  b->size[i] = encode_frame (counts, b->pixels, b->element, b->chunks + (gsize)i * b->bound);
}

/* Without noise: a bright pixel of the vacuum holds EXPECTED_COUNTS. */
static gboolean
find_scale (Batch *b, GError **error)
{
  const SbSimulation *s = b->simulation;
  double area = G_PI * s->optics.semiangle * s->optics.semiangle / (s->sampling * s->sampling);
  b->scale = s->dose > 0 ? s->dose : EXPECTED_COUNTS * area;
  return b->scale < 4e9
         || sb_fail (error, SB_ERROR_ARGUMENT, "A disk of %.3g pixels is too large; give a larger sampling.", area);
}

static gboolean
write_frames (SbEngine *engine, Batch *b, SbFrameWriter *writer, SbProgress *progress, GError **error)
{
  gint64 total = b->simulation->scan[0] * b->simulation->scan[1];
  while (b->first < total) {
    gint64 n = MIN ((gint64)b->n_frames, total - b->first);
    engine_parallel (engine, n, make_frame, b);
    for (gint64 i = 0; i < n; i++) {
      if (b->size[i] == 0)
        return sb_fail (error, SB_ERROR_INTERNAL, "A frame could not be compressed.");
      if (!writer_append (writer, b->chunks + (gsize)i * b->bound, b->size[i], error))
        return FALSE;
    }
    b->first += n;
    if (!progress_step (progress, (double)b->first / (double)total, error))
      return FALSE;
  }
  return writer_close (writer, error);
}

/* ---- files ---- */

static gboolean
write_bytes (SbFileSet *files, const char *suffix, gconstpointer bytes, gsize size, GError **error)
{
  g_autoptr (GError) reason = NULL;
  const char *path = files_add (files, suffix, error);
  if (path == NULL)
    return FALSE;
  return save_bytes (path, bytes, size, &reason) || files_fail (files, reason, error);
}

static gboolean
write_truth (SbFileSet *files, const SbSimulation *s, const SbSpecimen *specimen, const json_t *truth, SbProgress *progress,
             GError **error)
{
  gsize size;
  g_autofree float *image = truth_image (s, specimen, progress, error);
  g_autofree guint8 *npy = image != NULL ? truth_npy (s, image, &size, error) : NULL;
  g_autofree char *text = json_text (truth, TRUE);
  if (npy == NULL)
    return FALSE;
  if (text == NULL)
    return sb_fail (error, SB_ERROR_MEMORY, "No memory for the truth; close other programs.");
  return write_bytes (files, "_truth.npy", npy, size, error) && write_bytes (files, ".json", text, strlen (text), error);
}

/* The frames, the truth, then the headers: the master comes last. */
static gboolean
write_all (SbEngine *engine, const SbSimulation *s, const SbSpecimen *specimen, const json_t *truth, SbFileSet *files,
           Batch *batch, SbFrameWriter *writer, SbProgress *progress, GError **error)
{
  progress_stage (progress, "simulate", 0.08, 0.97);
  if (!write_frames (engine, batch, writer, progress, error))
    return FALSE;
  progress_stage (progress, "truth", 0.97, 0.99);
  if (!write_truth (files, s, specimen, truth, progress, error) || !writer_headers (writer, error))
    return FALSE;
  progress_stage (progress, "write", 0.99, 1);
  return progress_step (progress, 0, error);
}

static gboolean
make_files (SbEngine *engine, const SbSimulation *s, const SbSpecimen *specimen, const json_t *truth, SbFileSet *files,
            SbProgress *progress, GError **error)
{
  Batch batch = { 0 };
  SbFrameWriter *writer = NULL;
  progress_stage (progress, "slices", 0.02, 0.08);
  SbMultislice *multislice = multislice_new (engine, s, specimen, progress, error);
  gboolean good = multislice != NULL && batch_init (&batch, engine, s, multislice, error) && find_scale (&batch, error);
  if (good) {
    writer = writer_new (files, s, batch.element);
    good = write_all (engine, s, specimen, truth, files, &batch, writer, progress, error);
  }
  writer_free (writer);
  batch_clear (&batch);
  multislice_free (multislice);
  return good && files_commit (files, error);
}

/* ---- all ---- */

static gboolean
read_atoms (const SbSimulationOptions *o, SbSpecimen **read, GError **error)
{
  gboolean file = g_strcmp0 (o->specimen, "file") == 0, given = o->atoms != NULL && o->atoms[0] != '\0';
  if (file != given)
    return sb_fail (error, SB_ERROR_ARGUMENT,
                    file ? "specimen = file needs atoms: give an XYZ file."
                         : "atoms is given, but specimen is %s; give specimen = file.",
                    o->specimen);
  *read = file ? specimen_read_xyz (o->atoms, error) : NULL;
  return !file || *read != NULL;
}

static SbResult *
describe (const SbSimulation *s, json_t *truth, const SbFileSet *files, double seconds)
{
  SbResult *result = result_new ();
  json_object_set_new (result->info, "version", json_string (SB_VERSION));
  json_object_set_new (result->info, "files", files_list (files));
  json_object_set_new (result->info, "truth", truth);
  json_object_set_new (result->info, "acquisition",
                       json_pack ("{s:[I, I], s:[I, I], s:I}", "scan_shape", (json_int_t)s->scan[0], (json_int_t)s->scan[1],
                                  "detector_shape", (json_int_t)s->detector[0], (json_int_t)s->detector[1], "frames",
                                  (json_int_t)(s->scan[0] * s->scan[1])));
  json_object_set_new (result->info, "seconds", json_pack ("{s:f}", "simulate", seconds));
  return result;
}

SbResult *
simulate_run (SbEngine *engine, const SbSimulateOptions *options, SbProgress *progress, GError **error)
{
  gint64 start = g_get_monotonic_time ();
  g_autoptr (SbSpecimen) read = NULL;
  SbSimulation s;
  if (!engine_check (engine, error) || !read_atoms (options->simulation, &read, error)
      || !simulation_init (&s, options, read, error))
    return NULL;
  progress_stage (progress, "specimen", 0, 0.02);
  g_autoptr (SbSpecimen) specimen = atoms_make (&s, options->simulation, read, progress, error);
  SbFileSet *files = specimen != NULL ? files_new (options->output, error) : NULL;
  if (files == NULL)
    return NULL;
  json_t *truth = truth_numbers (&s, options->simulation, specimen->atoms->len);
  SbResult *result = NULL;
  if (make_files (engine, &s, specimen, truth, files, progress, error))
    result = describe (&s, json_incref (truth), files, (double)(g_get_monotonic_time () - start) / 1e6);
  json_decref (truth);
  files_free (files);
  return result;
}

SbResult *
pipeline_simulate (SbWork *work, const SbSimulateOptions *options, SbProgress *progress, GError **error)
{
  return simulate_run (work->engine, options, progress, error);
}
