/* Frames by way of a device: the same columns, patterns and sentences as by way of the host, for every sample file and
 * frames that come through a reader; the narrow columns, the wide ones that they give way to, cancel, no room. The
 * device is a double. */
#include <glib/gstdio.h>

#include "core/calibrate.h"
#include "core/detector.h"
#include "core/device_load.h"
#include "tests/unit/columns_common.h"
#include "tests/unit/device_double.h"

enum { N = 32, SIZE = N * N, SCAN = 20, FRAMES = SCAN * SCAN };

static SbColumns *
load (const SbkBackend *backend, SbAcquisition *acquisition, SbProgress *progress, GError **error)
{
  SbEngine *engine = make_engine (3);
  engine->backend = backend;
  SbColumns *columns = columns_load (engine, acquisition, NOWHERE, NAN, progress, error);
  engine->backend = &sbk_cpu;
  engine_free (engine);
  return columns;
}

/* All but the type of the counts, which may be narrower. */
static void
assert_alike (const SbColumns *host, const SbColumns *device)
{
  gsize n = (gsize)host->n_pixels, positions = (gsize)host->positions, size = (gsize)(host->pattern.rows * host->pattern.cols);
  g_assert_nonnull (device->device);
  g_assert_cmpint (device->dtype, <=, host->dtype);
  g_assert_cmpint (device->n_pixels, ==, host->n_pixels);
  g_assert_cmpint (device->positions, ==, host->positions);
  g_assert_cmpmem (device->pixel, n * sizeof (gint32), host->pixel, n * sizeof (gint32));
  for (gint64 k = 0; k < host->n_pixels; k++)
    for (gint64 p = 0; p < host->positions; p++)
      g_assert_cmpfloat (count_at (device, k, p), ==, count_at (host, k, p));
  g_assert_cmpmem (device->pattern.mean, size * sizeof (double), host->pattern.mean, size * sizeof (double));
  g_assert_cmpmem (device->pattern.bad, size, host->pattern.bad, size);
  g_assert_cmpmem (device->frame_sum, positions * sizeof (double), host->frame_sum, positions * sizeof (double));
  g_assert_cmpmem (device->frame_com, 2 * positions * sizeof (double), host->frame_com, 2 * positions * sizeof (double));
  g_assert_cmpint (device->pattern.saturated, ==, host->pattern.saturated);
  g_assert_cmpint (device->pattern.masked, ==, host->pattern.masked);
  g_assert_cmpint (device->pattern.hot, ==, host->pattern.hot);
  g_assert_cmpint (device->pattern.frames, ==, host->pattern.frames);
}

/* ---- the sample files ---- */

static void
check_case (const char *path)
{
  GError *host_error = NULL, *device_error = NULL;
  SbAcquisitionOptions options = { .partial = TRUE };
  SbAcquisition *acquisition = acquisition_open (path, &options, NULL);
  if (acquisition == NULL)
    return;
  SbColumns *host = load (&sbk_cpu, acquisition, NULL, &host_error);
  device_double_frames = 0;
  SbColumns *device = load (device_double (), acquisition, NULL, &device_error);
  g_assert_cmpint (host != NULL, ==, device != NULL);
  if (host != NULL)
    assert_alike (host, device);
  else
    g_assert_cmpstr (device_error->message, ==, host_error->message);
  g_assert_cmpint (device_double_frames, >, 0);
  columns_free (host);
  columns_free (device);
  g_assert_cmpint (device_double_loads, ==, 0);
  g_clear_error (&host_error);
  g_clear_error (&device_error);
  acquisition_free (acquisition);
}

static void
test_cases (void)
{
  g_autofree char *folder = g_build_filename (g_getenv ("SB_TEST_DATA"), "cases", NULL);
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  int seen = 0;
  g_assert_nonnull (dir);
  for (const char *name; (name = g_dir_read_name (dir)) != NULL;) {
    if (!g_str_has_suffix (name, "_master.h5"))
      continue;
    g_autofree char *path = g_build_filename (folder, name, NULL);
    check_case (path);
    seen++;
  }
  g_assert_cmpint (seen, >, 10);
}

/* ---- frames through a reader ---- */

struct SbReader {
  guint16 *x;
  const char *path; /* of a file that holds them as well, see place_of */
  gint64 cancels;
  SbProgress *progress;
};

static gboolean
fake_read (SbReader *reader, gint64 first, gint64 n, gpointer out, GError **error)
{
  if (reader->cancels >= first && reader->cancels < first + n)
    progress_cancel (reader->progress);
  memcpy (out, reader->x + first * SIZE, (gsize)(n * SIZE) * sizeof *reader->x);
  return TRUE;
}

/* In pairs, the pairs from the end to the beginning, a gap behind each. */
static guint64
place_of (gint64 frame)
{
  return (guint64)(FRAMES / 2 - 1 - frame / 2) * (2 * SIZE * sizeof (guint16) + 24)
         + (guint64)(frame % 2) * SIZE * sizeof (guint16);
}

static gboolean
fake_chunks (SbReader *reader, gint64 first, gint64 n, SbChunkCodec *codec, SbFrameChunk *out)
{
  *codec = (SbChunkCodec){ .filter = SB_CHUNK_NONE, .element = sizeof (guint16) };
  for (gint64 i = 0; i < n; i++)
    out[i] = (SbFrameChunk){ reader->path, place_of (first + i), SIZE * sizeof (guint16), 0 };
  return TRUE;
}

static const SbFormat placed_format = { .name = "placed", .read = fake_read, .chunks = fake_chunks };
static const SbFormat fake_format = { .name = "fake", .read = fake_read };

/* A disk; unlooked: counts of this size in one pixel of a frame that the first look does not see. */
static SbReader
fake_reader (guint16 unlooked)
{
  SbReader reader = { .x = g_new (guint16, FRAMES * SIZE), .cancels = -1 };
  for (int f = 0; f < FRAMES; f++)
    for (int i = 0; i < SIZE; i++)
      reader.x[f * SIZE + i] = hypot (i / N - 15.2, i % N - 17.1) <= 8 ? 30 + (i * 7 + f * 13) % 11 : (i * f) % 97 == 1;
  reader.x[33 * SIZE + 15 * N + 17] = unlooked;
  return reader;
}

static SbColumns *
load_fake (SbReader *reader, const SbkBackend *backend, SbProgress *progress, GError **error)
{
  SbAcquisition *acquisition = make_acquisition (SCAN, SCAN, N, N, "uint16");
  acquisition->format = reader->path != NULL ? &placed_format : &fake_format;
  acquisition->reader = reader;
  SbColumns *columns = load (backend, acquisition, progress, error);
  acquisition->format = NULL;
  acquisition->reader = NULL;
  acquisition_free (acquisition);
  return columns;
}

static void
check_type (guint16 unlooked, SbDtype type, gint64 passes)
{
  GError *error = NULL;
  SbReader reader = fake_reader (unlooked);
  SbColumns *host = load_fake (&reader, &sbk_cpu, NULL, &error);
  g_assert_no_error (error);
  device_double_frames = 0;
  SbColumns *device = load_fake (&reader, device_double (), NULL, &error);
  g_assert_no_error (error);
  assert_alike (host, device);
  g_assert_cmpint (device->dtype, ==, type);
  g_assert_cmpint (device_double_frames / FRAMES, ==, passes);
  columns_free (host);
  columns_free (device);
  g_free (reader.x);
}

static void
test_types (void)
{
  check_type (40, SB_U8, 1);
  check_type (255, SB_U8, 1);
  check_type (256, SB_U16, 2);
  check_type (65535, SB_U16, 2);
}

/* A detector's sums from what the device holds are those from the host. */
static void
test_detector (void)
{
  GError *error = NULL;
  SbReader reader = fake_reader (40);
  SbColumns *host = load_fake (&reader, &sbk_cpu, NULL, &error), *device = load_fake (&reader, device_double (), NULL, &error);
  SbAcquisition *acquisition = make_acquisition (SCAN, SCAN, N, N, "uint16");
  SbEngine *engine = make_engine (2);
  SbDetectorGeometry geometry = { { 15.2, 17.1 }, 0, 6, 3, 0.4 };
  host->acquisition = device->acquisition = acquisition;
  g_autoptr (SbDetector) detector = detector_new (&host->pattern, &geometry, &error);
  g_assert_no_error (error);
  g_autofree float *a = detector_counts (engine, host, detector, NULL, &error);
  g_autofree float *b = detector_counts (engine, device, detector, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpmem (a, 3 * FRAMES * sizeof *a, b, 3 * FRAMES * sizeof *b);
  columns_free (host);
  columns_free (device);
  acquisition_free (acquisition);
  engine_free (engine);
  g_free (reader.x);
}

/* Frames that do not lie in their order, and a file that ends before it should. */
static void
test_places (void)
{
  GError *error = NULL;
  SbReader reader = fake_reader (40);
  g_autofree char *folder = g_dir_make_tmp ("sideband-places-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "frames.bin", NULL);
  gsize size = (gsize)place_of (0) + 2 * SIZE * sizeof (guint16), frame = SIZE * sizeof (guint16);
  g_autofree char *bytes = g_malloc (size);
  memset (bytes, 0x7f, size);
  for (gint64 f = 0; f < FRAMES; f++)
    memcpy (bytes + place_of (f), reader.x + f * SIZE, frame);
  g_assert_true (g_file_set_contents (path, bytes, (gssize)size, NULL));
  SbColumns *host = load_fake (&reader, &sbk_cpu, NULL, &error);
  reader.path = path;
  SbColumns *device = load_fake (&reader, device_double (), NULL, &error);
  g_assert_no_error (error);
  assert_alike (host, device);
  columns_free (host);
  columns_free (device);
  g_assert_true (g_file_set_contents (path, bytes, (gssize)(place_of (95) + 10), NULL));
  g_assert_null (load_fake (&reader, device_double (), NULL, &error));
  g_assert_error (error, SB_ERROR, SB_ERROR_IO);
  g_assert_nonnull (strstr (error->message, "frame 0 ")); /* the first of the scan is the last of the file */
  g_clear_error (&error);
  g_unlink (path);
  g_rmdir (folder);
  g_free (reader.x);
}

static void
test_cancel (void)
{
  for (int when = 0; when < FRAMES; when += 57) {
    GError *error = NULL;
    SbProgress progress = { 0 };
    SbReader reader = fake_reader (40);
    reader.cancels = when;
    reader.progress = &progress;
    progress_stage (&progress, "load", 0, 1);
    SbColumns *columns = load_fake (&reader, device_double (), &progress, &error);
    g_assert_null (columns);
    g_assert_error (error, SB_ERROR, SB_ERROR_CANCELLED);
    g_assert_cmpint (device_double_loads, ==, 0);
    g_clear_error (&error);
    g_free (reader.x);
  }
}

/* Without room there the columns come by way of the host. */
static void
test_no_room (void)
{
  GError *error = NULL;
  SbReader reader = fake_reader (40);
  device_double_full = TRUE;
  SbColumns *columns = load_fake (&reader, device_double (), NULL, &error);
  device_double_full = FALSE;
  g_assert_no_error (error);
  g_assert_null (columns->device);
  g_assert_cmpint (device_double_loads, ==, 0);
  SbColumns *host = load_fake (&reader, &sbk_cpu, NULL, &error);
  assert_same (columns, host);
  columns_free (columns);
  columns_free (host);
  g_free (reader.x);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/device_load/cases", test_cases);
  g_test_add_func ("/device_load/types", test_types);
  g_test_add_func ("/device_load/detector", test_detector);
  g_test_add_func ("/device_load/places", test_places);
  g_test_add_func ("/device_load/cancel", test_cancel);
  g_test_add_func ("/device_load/no-room", test_no_room);
  return g_test_run ();
}
