/* The simulator from outside: what it writes, read back by our own reader; what it refuses; what it leaves
 * behind. */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "tests/unit/simulation.h"

/* All frames of an acquisition that was written, as float64. */
static double *
read_frames (const Simulated *s, SbAcquisition **acquisition)
{
  GError *error = NULL;
  SbAcquisitionOptions options;
  g_autofree char *path = simulated_path (s, "_master.h5");
  param_group_defaults (&acquisition_params, &options);
  SbAcquisition *a = acquisition_open (path, &options, &error);
  g_assert_no_error (error);
  param_group_clear (&acquisition_params, &options);
  g_assert_null (a->header.missing);
  g_assert_cmpuint (a->header.warnings->len, ==, 0);
  gsize n = (gsize)(a->header.frames * a->header.detector_rows * a->header.detector_cols);
  g_autofree guint8 *raw = g_malloc (n * dtype_size (a->header.dtype));
  double *frames = g_new (double, n);
  g_assert_true (a->format->read (a->reader, 0, a->header.frames, raw, &error));
  g_assert_no_error (error);
  for (gsize i = 0; i < n; i++)
    frames[i] = a->header.dtype == SB_U16 ? ((const guint16 *)(gpointer)raw)[i] : ((const guint32 *)(gpointer)raw)[i];
  *acquisition = a;
  return frames;
}

/* A^2 at a frequency so many times sampling (mrad) from the axis, the edge width mrad wide. */
static double
aperture_squared (double row, double col, double sampling, double width, gboolean soft)
{
  double alpha2 = (row * row + col * col) * sampling * sampling, a = (30 * 30 - alpha2) / (2 * 30 * width) + 0.5;
  if (!soft)
    a = alpha2 <= 30 * 30 * (1 + 1e-9);
  a = CLAMP (a, 0, 1);
  return a * a;
}

/* Vacuum: every frame is A^2, whatever the aberrations; soft exactly, hard summed over each pixel's four
 * frequencies. */
static void
check_vacuum (const char *specimen, gboolean soft, int fine, double tolerance)
{
  Simulated *s = simulated_new (specimen, 4, 2.5, 48);
  SbAcquisition *a;
  double sampling = 1e3 * optics_wavelength (300) / 10; /* of a cell of 10 angstrom */
  simulated_set (&s->simulation.aperture, soft ? "soft" : "hard");
  simulated_set (&s->aberrations.coefficients, "C10=12 C12=3 phi12=0.3 C30=5000");
  s->simulation.density = 0.001; /* no atom in 2 nm */
  s->simulation.thickness = 2;
  s->simulation.dose = 0;
  s->calibration.sampling = fine * sampling;
  s->calibration.centre[0] = fine == 1 ? 23 : 23.5; /* four frequencies in a pixel: half a pixel off is whole again */
  s->calibration.centre[1] = 24;
  simulated_run (s, 2);
  g_autofree double *frames = read_frames (s, &a);
  g_assert_cmpint (a->header.dtype, ==, SB_U32);
  double expected[48 * 48], sum = 0, total = 0, pitch = s->calibration.sampling;
  for (int i = 0; i < 48 * 48; i++) {
    double row = i / 48 - s->calibration.centre[0], col = i % 48 - s->calibration.centre[1];
    /* frequencies stand at whole numbers; those on the border of two pixels are shared between them */
    expected[i] = 0;
    for (int p = -1; p <= 1 && fine == 2; p++)
      for (int q = -1; q <= 1; q++) {
        double r = 2 * row + p, c = 2 * col + q;
        double share_r = MAX (0, MIN (r + 0.5, 2 * row + 1) - MAX (r - 0.5, 2 * row - 1));
        double share_c = MAX (0, MIN (c + 0.5, 2 * col + 1) - MAX (c - 0.5, 2 * col - 1));
        expected[i] += share_r * share_c * aperture_squared (r, c, sampling, pitch, soft);
      }
    if (fine == 1)
      expected[i] = aperture_squared (row, col, sampling, pitch, soft);
    sum += expected[i];
    total += frames[i];
  }
  g_assert_cmpfloat (total, >, 1e6);
  for (gint64 frame = 0; frame < a->header.frames; frame++)
    for (int i = 0; i < 48 * 48; i++) {
      double want = expected[i] / sum * total, got = frames[frame * 48 * 48 + i];
      if (fabs (got - want) > 1 + tolerance * want)
        g_error ("frame %d, pixel %d, %d: %g, not %g", (int)frame, i / 48, i % 48, got, want);
    }
  acquisition_free (a);
  simulated_free (s);
}

static void
test_vacuum_soft (void)
{
  check_vacuum ("empty", TRUE, 1, 1e-6);
}

static void
test_vacuum_hard (void)
{
  check_vacuum ("empty", FALSE, 1, 1e-6);
}

static void
test_vacuum_binned (void)
{
  check_vacuum ("empty", FALSE, 2, 1e-6);
}

/* The waves pass ten slices without atoms: nothing is lost. */
static void
test_vacuum_slices (void)
{
  check_vacuum ("film", TRUE, 1, 2e-5);
}

/* ---- headers and counts ---- */

static void
test_headers (void)
{
  Simulated *s = simulated_new ("film", 0, 0.8, 0);
  SbAcquisition *a;
  s->acquisition.scan_shape[0] = 11;
  s->acquisition.scan_shape[1] = 12;
  s->acquisition.detector_shape[0] = 30;
  s->acquisition.detector_shape[1] = 34;
  s->simulation.thickness = 0.5;
  s->simulation.dose = 5000;
  simulated_run (s, 2);
  g_autofree double *frames = read_frames (s, &a);
  double sum = 0, n = (double)a->header.frames;
  g_assert_cmpint (a->header.frames, ==, 132);
  g_assert_cmpint (a->scan_rows, ==, 11);
  g_assert_cmpint (a->scan_cols, ==, 12);
  g_assert_cmpint (a->header.detector_rows, ==, 30);
  g_assert_cmpint (a->header.detector_cols, ==, 34);
  g_assert_cmpint (a->header.dtype, ==, SB_U16);
  g_assert_cmpfloat_with_epsilon (a->header.energy, 300, 1e-9);
  g_assert_cmpfloat_with_epsilon (a->header.step[0], 0.8, 1e-9);
  for (int i = 0; i < 132 * 30 * 34; i++)
    sum += frames[i];
  g_assert_cmpfloat (fabs (sum / n / 5000 - 1), <, 0.01); /* all but what is scattered beyond the detector */

  g_autofree char *path = simulated_path (s, ".json"), *image = simulated_path (s, "_truth.npy"), *bytes = NULL;
  gsize size;
  json_t *json = json_load_file (path, 0, NULL);
  g_assert_cmpfloat_with_epsilon (json_number_value (json_object_get (json, "scan_step_angstrom")), 0.8, 1e-12);
  g_assert_cmpfloat_with_epsilon (json_number_value (json_object_get (json_object_get (json, "truth"), "depth")), 5, 1e-12);
  g_assert_cmpuint (json_object_size (json_object_get (json, "truth")), ==, SB_N_COORDINATES);
  json_decref (json);
  g_assert_true (g_file_get_contents (image, &bytes, &size, NULL));
  g_assert_cmpuint (size, ==, 128 + 33 * 36 * sizeof (float));
  g_assert_nonnull (strstr (bytes + 10, "'shape': (33, 36)"));
  double mean = 0, most = 0;
  for (int i = 0; i < 33 * 36; i++) {
    float x;
    memcpy (&x, bytes + 128 + i * sizeof x, sizeof x);
    mean += x / (33.0 * 36);
    most = MAX (most, x);
  }
  g_assert_cmpfloat (fabs (mean), <, 1e-6);
  g_assert_cmpfloat (most, >, 0.1); /* atoms are positive */
  acquisition_free (a);
  simulated_free (s);
}

/* ---- the same seed, the same bytes ---- */

static char *
checksum (const Simulated *s)
{
  static const char *const suffixes[] = { "_data_000001.h5", ".h5", "_master.h5", ".json", "_truth.npy" };
  g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);
  for (guint i = 0; i < G_N_ELEMENTS (suffixes); i++) {
    g_autofree char *path = simulated_path (s, suffixes[i]), *bytes = NULL;
    gsize size;
    g_assert_true (g_file_get_contents (path, &bytes, &size, NULL));
    g_checksum_update (sum, (const guchar *)bytes, (gssize)size);
  }
  return g_strdup (g_checksum_get_string (sum));
}

static void
test_same_bytes (void)
{
  Simulated *s = simulated_new ("film", 6, 1.2, 24);
  s->simulation.thickness = 1;
  simulated_run (s, 1);
  g_autofree char *one = checksum (s);
  simulated_run (s, 2); /* over its own files */
  g_autofree char *two = checksum (s);
  g_assert_cmpstr (one, ==, two);
  s->simulation.random_seed = 7;
  simulated_run (s, 2);
  g_autofree char *other = checksum (s);
  g_assert_cmpstr (one, !=, other);
  simulated_free (s);
}

/* ---- cancel, progress, files that are there ---- */

typedef struct Watch {
  SbProgress progress;
  gint stop_at, done; /* permyriad */
} Watch;

static gpointer
watch (gpointer pointer)
{
  Watch *w = pointer;
  gint last = 0;
  while (!g_atomic_int_get (&w->done)) {
    gint now = g_atomic_int_get (&w->progress.permyriad);
    g_assert_cmpint (now, >=, last);
    last = now;
    if (now >= w->stop_at)
      progress_cancel (&w->progress);
    g_usleep (200);
  }
  return GINT_TO_POINTER (last);
}

static void
check_cancelled (gint stop_at)
{
  Simulated *s = simulated_new ("film", 30, 0.4, 48);
  SbEngine *engine = simulated_engine (2);
  GError *error = NULL;
  Watch w = { .stop_at = stop_at };
  GThread *thread = g_thread_new ("watch", watch, &w);
  g_assert_null (simulate_run (engine, &s->all, &w.progress, &error));
  g_atomic_int_set (&w.done, 1);
  g_assert_cmpint (GPOINTER_TO_INT (g_thread_join (thread)), <, 9700);
  g_assert_error (error, SB_ERROR, SB_ERROR_CANCELLED);
  g_assert_cmpuint (simulated_count (s), ==, 0);
  g_clear_error (&error);
  engine_free (engine);
  simulated_free (s);
}

static void
test_cancel (void)
{
  check_cancelled (0);
  check_cancelled (1200); /* amid the frames */
}

static void
refused (const Simulated *s, SbErrorCode code, const char *says)
{
  GError *error = NULL;
  SbEngine *engine = simulated_engine (1);
  guint before = simulated_count (s);
  g_assert_null (simulate_run (engine, &s->all, NULL, &error));
  g_assert_error (error, SB_ERROR, (gint)code);
  if (strstr (error->message, says) == NULL || !g_str_has_suffix (error->message, "."))
    g_error ("\"%s\" does not say \"%s\"", error->message, says);
  g_assert_cmpuint (simulated_count (s), ==, before);
  g_clear_error (&error);
  engine_free (engine);
}

static void
test_foreign_files (void)
{
  Simulated *s = simulated_new ("empty", 4, 2.5, 32);
  g_autofree char *path = simulated_path (s, "_master.h5"), *bytes = NULL;
  g_assert_true (g_file_set_contents (path, "mine", -1, NULL));
  refused (s, SB_ERROR_IO, "exists and is not of a simulation");
  g_assert_true (g_file_get_contents (path, &bytes, NULL, NULL));
  g_assert_cmpstr (bytes, ==, "mine");
  s->output.force = TRUE;
  simulated_run (s, 1);
  simulated_set (&s->output.output, "/no/such/folder/x");
  refused (s, SB_ERROR_IO, "there is no folder");
  simulated_free (s);
}

static void
test_refusals (void)
{
  Simulated *s = simulated_new ("film", 5, 1, 24);
  s->optics.energy = NAN;
  refused (s, SB_ERROR_ARGUMENT, "Give energy (kV)");
  s->optics.energy = 300;
  simulated_set (&s->simulation.mixture, "C=0.9 Xx=1");
  refused (s, SB_ERROR_ARGUMENT, "\"Xx\" is no element");
  simulated_set (&s->simulation.mixture, "C=0");
  refused (s, SB_ERROR_ARGUMENT, "cannot be used");
  simulated_set (&s->simulation.mixture, "C");
  s->simulation.min_distance = 10;
  refused (s, SB_ERROR_ARGUMENT, "find room 10 Å apart");
  s->simulation.min_distance = NAN;
  simulated_set (&s->simulation.atoms, "some.xyz");
  refused (s, SB_ERROR_ARGUMENT, "give specimen = file");
  simulated_set (&s->simulation.atoms, NULL);
  simulated_set (&s->simulation.specimen, "file");
  refused (s, SB_ERROR_ARGUMENT, "needs atoms");
  simulated_set (&s->simulation.specimen, "film");
  simulated_set (&s->aberrations.range, "C10=-1:1");
  refused (s, SB_ERROR_ARGUMENT, "range has no meaning");
  simulated_set (&s->aberrations.range, NULL);
  simulated_set (&s->aberrations.coefficients, "depth=3");
  refused (s, SB_ERROR_ARGUMENT, "give thickness");
  simulated_set (&s->aberrations.coefficients, NULL);
  s->calibration.rotation = 17;
  refused (s, SB_ERROR_ARGUMENT, "periodic = false");
  s->calibration.rotation = NAN;
  s->simulation.pixel = 5;
  refused (s, SB_ERROR_ARGUMENT, "pixel = 5 Å is too coarse");
  s->simulation.pixel = NAN;
  s->acquisition.detector_shape[0] = 1 << 16;
  s->acquisition.detector_shape[1] = 1 << 16;
  refused (s, SB_ERROR_ARGUMENT, "detector_shape 65536,65536 is too large");
  s->acquisition.scan_shape[0] = s->acquisition.scan_shape[1] = 1000000000;
  refused (s, SB_ERROR_ARGUMENT, "scan_shape 1000000000,1000000000 is too large");
  for (int a = 0; a < 2; a++) {
    s->acquisition.detector_shape[a] = 24;
    s->acquisition.scan_shape[a] = 5;
    s->optics.step[a] = 1e4;
  }
  refused (s, SB_ERROR_ARGUMENT, "is too large; give a smaller scan");
  simulated_free (s);
}

/* ---- atoms from a file ---- */

static void
test_xyz (void)
{
  static const struct {
    const char *text, *says;
  } bad[] = {
    { "", "does not begin with a number" },
    { "x\n\nC 0 0 0\n", "does not begin with a number" },
    { "2\n\nC 0 0 0", "ends before" },
    { "1\n\nQq 0 0 0\n", "line 3 is no atom" },
    { "1\n\nC 0 nan 0\n", "line 3 is no atom" },
    { "1\nLattice=\"8 0 0 1 8 0 0 0 5\"\nC 0 0 0\n", "not orthogonal" },
    { "1\nLattice=\"8 0 0 0 8 0 0\"\nC 0 0 0\n", "nine numbers" },
    { "1\nLattice=\"9 0 0 0 8 0 0 0 5\"\nC 0 0 0\n", "9 x 8" },
  };
  Simulated *s = simulated_new ("file", 8, 1, 24);
  g_autofree char *path = simulated_path (s, ".xyz"), *truth = simulated_path (s, "_truth.npy"), *bytes = NULL;
  simulated_set (&s->simulation.atoms, path);
  refused (s, SB_ERROR_IO, "no file of atoms");
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++) {
    g_assert_true (g_file_set_contents (path, bad[i].text, -1, NULL));
    refused (s, strstr (bad[i].says, "9 x 8") != NULL ? SB_ERROR_ARGUMENT : SB_ERROR_DATA, bad[i].says);
  }
  /* A gold atom at row 2, column 5 is the brightest point of the true phase there. */
  g_assert_true (g_file_set_contents (path, "1\nLattice=\"8 0 0 0 8 0 0 0 4\"\nAu 2 5 1\n", -1, NULL));
  s->optics.step[0] = s->optics.step[1] = NAN; /* from the cell */
  SbEngine *engine = simulated_engine (2);
  GError *error = NULL;
  SbResult *result = simulate_run (engine, &s->all, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (g_file_get_contents (truth, &bytes, NULL, NULL));
  int best = 0;
  float most = -1;
  for (int i = 0; i < 24 * 24; i++) {
    float x;
    memcpy (&x, bytes + 128 + i * sizeof x, sizeof x);
    if (x > most) {
      most = x;
      best = i;
    }
  }
  g_assert_cmpint (best / 24, ==, 6);
  g_assert_cmpint (best % 24, ==, 15);
  result_free (result);
  engine_free (engine);
  simulated_free (s);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/simulate/vacuum_soft", test_vacuum_soft);
  g_test_add_func ("/simulate/vacuum_hard", test_vacuum_hard);
  g_test_add_func ("/simulate/vacuum_binned", test_vacuum_binned);
  g_test_add_func ("/simulate/vacuum_slices", test_vacuum_slices);
  g_test_add_func ("/simulate/headers", test_headers);
  g_test_add_func ("/simulate/same_bytes", test_same_bytes);
  g_test_add_func ("/simulate/cancel", test_cancel);
  g_test_add_func ("/simulate/foreign_files", test_foreign_files);
  g_test_add_func ("/simulate/refusals", test_refusals);
  g_test_add_func ("/simulate/xyz", test_xyz);
  return g_test_run ();
}
