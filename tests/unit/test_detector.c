/* Virtual detectors against plain sums over the frames, from files and from pushed frames. */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "tests/unit/columns_common.h"
#include "tests/unit/pipeline_scene.h"

typedef struct Frames {
  gint64 n, rows, cols;
  guint16 *counts; /* [n][rows][cols] */
} Frames;

static Frames *
frames_read (const SbAcquisition *acquisition)
{
  const SbHeader *header = &acquisition->header;
  Frames *frames = g_new0 (Frames, 1);
  GError *error = NULL;
  g_assert_cmpint (header->dtype, ==, SB_U16);
  frames->n = acquisition_positions (acquisition);
  frames->rows = header->detector_rows;
  frames->cols = header->detector_cols;
  frames->counts = g_new (guint16, frames->n * frames->rows * frames->cols);
  for (gint64 p = 0; p < frames->n; p++)
    g_assert_true (acquisition->format->read (acquisition->reader, acquisition_frame (acquisition, p), 1,
                                              frames->counts + p * frames->rows * frames->cols, &error));
  return frames;
}

static void
frames_free (Frames *frames)
{
  g_free (frames->counts);
  g_free (frames);
}

static SbResult *
detect (Scene *scene, Options *o, SbDetectorOptions *detector)
{
  GError *error = NULL;
  o->pipeline.detector = detector;
  SbResult *result = pipeline_detector (scene->work, &o->pipeline, NULL, &error);
  g_assert_no_error (error);
  return result;
}

static void
refused (Scene *scene, Options *o, SbDetectorOptions *detector, SbErrorCode code, const char *text)
{
  GError *error = NULL;
  o->pipeline.detector = detector;
  SbResult *result = pipeline_detector (scene->work, &o->pipeline, NULL, &error);
  g_assert_null (result);
  g_assert_error (error, SB_ERROR, (int)code);
  if (strstr (error->message, text) == NULL)
    g_error ("\"%s\" does not say \"%s\"", error->message, text);
  g_clear_error (&error);
}

/* inner < r <= outer (pixels) in segment `which` of n from `angle` (deg), at the centre the result gives. */
static void
check_ring (const Frames *frames, const SbResult *result, double inner, double outer, int which, int n, double angle)
{
  const SbArray *array = result_find (result, "detector");
  double row0 = item (result, "detector.centre", 0), col0 = item (result, "detector.centre", 1);
  g_assert_cmpint (array->n_dims, ==, n > 1 ? 3 : 2);
  for (gint64 p = 0; p < frames->n; p += 7) {
    guint64 sum = 0;
    for (gint64 r = 0; r < frames->rows; r++)
      for (gint64 c = 0; c < frames->cols; c++) {
        double d = hypot ((double)r - row0, (double)c - col0);
        double turn = atan2 ((double)c - col0, (double)r - row0) * 180 / G_PI - angle;
        int segment = (int)floor (fmod (turn + 720, 360) / (360.0 / n));
        if (d <= outer && (inner <= 0 || d > inner) && segment == which)
          sum += frames->counts[(p * frames->rows + r) * frames->cols + c];
      }
    g_assert_cmpfloat (array->data[which * frames->n + p], ==, (float)sum);
  }
}

static void
test_shapes (void)
{
  g_autofree char *folder = examples ();
  Scene *scene = scene_open (folder, "film", FALSE);
  Options *o = options_new (30);
  SbDetectorOptions detector;
  Frames *frames = frames_read (scene->acquisition);
  param_group_defaults (&detector_params, &detector);

  SbResult *bright = detect (scene, o, &detector);
  double radius = 30 / number_of (bright, "detector.sampling");
  g_assert_cmpfloat (radius, >, 20);
  check_ring (frames, bright, 0, radius, 0, 1, 0);
  g_assert_cmpstr (result_find (bright, "detector")->unit, ==, "counts");
  near (result_find (bright, "detector")->step[0], 0.04, 1e-12);
  g_assert_cmpint (scene->work != NULL, ==, TRUE);

  set_text (&detector.shape, "annular"); /* leaves the columns: the file streams by */
  SbResult *dark = detect (scene, o, &detector);
  check_ring (frames, dark, radius, INFINITY, 0, 1, 0);
  detector.inner = 10;
  detector.outer = 20;
  SbResult *ring = detect (scene, o, &detector);
  check_ring (frames, ring, radius / 3, radius * 2 / 3, 0, 1, 0);
  refused (scene, o, &(SbDetectorOptions){ "annular", 20, 10, 4, 0, NULL }, SB_ERROR_ARGUMENT, "outer");
  refused (scene, o, &(SbDetectorOptions){ "annular", 500, 501, 4, 0, NULL }, SB_ERROR_ARGUMENT, "no good pixel");

  SbDetectorOptions quarters = { "segments", NAN, NAN, 3, 17, NULL };
  SbResult *segments = detect (scene, o, &quarters);
  for (int i = 0; i < 3; i++)
    check_ring (frames, segments, 0, radius, i, 3, 17);
  for (gint64 p = 0; p < frames->n; p++) { /* together the bright field, and with the dark field everything */
    const float *s = result_find (segments, "detector")->data;
    float all = 0;
    for (gint64 k = 0; k < frames->rows * frames->cols; k++)
      all += frames->counts[p * frames->rows * frames->cols + k];
    g_assert_cmpfloat (s[p] + s[frames->n + p] + s[2 * frames->n + p], ==, result_find (bright, "detector")->data[p]);
    g_assert_cmpfloat (result_find (bright, "detector")->data[p] + result_find (dark, "detector")->data[p], ==, all);
  }
  result_free (segments);
  result_free (ring);
  result_free (dark);
  result_free (bright);
  frames_free (frames);
  param_group_clear (&detector_params, &detector);
  options_free (o);
  scene_free (scene);
}

static char *
write_mask (const char *folder, const char *name, const char *header, const guint8 *data, gsize n)
{
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  guint16 length = (guint16)strlen (header);
  const guint8 head[10] = { 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (guint8)(length & 0xff), (guint8)(length >> 8) };
  g_byte_array_append (bytes, head, sizeof head);
  g_byte_array_append (bytes, (const guint8 *)header, length);
  g_byte_array_append (bytes, data, (guint)n);
  char *path = g_build_filename (folder, name, NULL);
  g_assert_true (g_file_set_contents (path, (const char *)bytes->data, bytes->len, NULL));
  return path;
}

static void
test_mask (void)
{
  static const char good[] = "{'descr': '|b1', 'fortran_order': False, 'shape': (72, 72), }\n";
  static const char turned[] = "{'descr': '|b1', 'fortran_order': True, 'shape': (72, 72), }\n";
  static const char wide[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (72, 72), }\n";
  g_autofree char *folder = examples (), *temporary = g_dir_make_tmp ("sideband-mask-XXXXXX", NULL);
  Scene *scene = scene_open (folder, "film", FALSE);
  Options *o = options_new (30);
  Frames *frames = frames_read (scene->acquisition);
  guint8 mask[72 * 72] = { 0 };
  g_assert_cmpint (frames->rows, ==, 72);
  for (int i = 0; i < 72 * 72; i += 5)
    mask[i] = 1;
  g_autofree char *path = write_mask (temporary, "good.npy", good, mask, sizeof mask);
  g_autofree char *cut = write_mask (temporary, "cut.npy", good, mask, sizeof mask - 1);
  g_autofree char *fortran = write_mask (temporary, "fortran.npy", turned, mask, sizeof mask);
  g_autofree char *floats = write_mask (temporary, "floats.npy", wide, mask, sizeof mask);
  SbDetectorOptions detector = { "mask", NAN, NAN, 4, 0, path };
  SbResult *result = detect (scene, o, &detector);
  for (gint64 p = 0; p < frames->n; p += 11) {
    guint64 sum = 0;
    for (int i = 0; i < 72 * 72; i += 5)
      sum += frames->counts[p * 72 * 72 + i];
    g_assert_cmpfloat (result_find (result, "detector")->data[p], ==, (float)sum);
  }
  result_free (result);
  const char *const bad[] = { cut, fortran, floats };
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    refused (scene, o, &(SbDetectorOptions){ "mask", NAN, NAN, 4, 0, (char *)bad[i] }, SB_ERROR_ARGUMENT, "no mask");
  refused (scene, o, &(SbDetectorOptions){ "mask", NAN, NAN, 4, 0, NULL }, SB_ERROR_ARGUMENT, "Give mask");
  refused (scene, o, &(SbDetectorOptions){ "mask", NAN, NAN, 4, 0, temporary }, SB_ERROR_IO, "not a file");
  g_unlink (path);
  g_unlink (cut);
  g_unlink (fortran);
  g_unlink (floats);
  g_rmdir (temporary);
  frames_free (frames);
  options_free (o);
  scene_free (scene);
}

/* Pushed frames are gone: within the bright field the columns tell, beyond it a sentence does. */
static void
test_pushed (void)
{
  g_autofree char *folder = examples ();
  Scene *scene = scene_open (folder, "film", FALSE);
  Options *o = options_new (30);
  Frames *frames = frames_read (scene->acquisition);
  SbAcquisitionOptions given;
  GError *error = NULL;
  gint64 size = frames->rows * frames->cols;
  const gint64 strides[3] = { 2 * size, 2 * frames->cols, 2 };
  const double centre[2] = { NAN, NAN };
  param_group_defaults (&acquisition_params, &given);
  given.scan_shape[0] = scene->acquisition->scan_rows;
  given.scan_shape[1] = scene->acquisition->scan_cols;
  given.detector_shape[0] = frames->rows;
  given.detector_shape[1] = frames->cols;
  set_text (&given.dtype, "uint16");
  SbAcquisition *pushed = acquisition_new (&given, &error);
  g_assert_no_error (error);
  SbGather *gather = gather_new (scene->engine, pushed, centre, NAN, &error);
  g_assert_no_error (error);
  g_assert_true (gather_push (gather, 0, frames->n, frames->counts, SB_U16, strides, &error));
  SbColumns *columns = gather_finish (gather, &error);
  g_assert_no_error (error);
  gather_free (gather);
  Scene other = *scene;
  other.acquisition = pushed;
  other.work = work_new (scene->engine, pushed);
  work_take_columns (other.work, columns);

  SbDetectorOptions inside = { "bright_field", NAN, NAN, 4, 0, NULL }, outside = { "annular", NAN, NAN, 4, 0, NULL };
  SbResult *from_file = detect (scene, o, &inside), *from_pushes = detect (&other, o, &inside);
  g_assert_cmpmem (result_find (from_file, "detector")->data, (gsize)frames->n * sizeof (float),
                   result_find (from_pushes, "detector")->data, (gsize)frames->n * sizeof (float));
  refused (&other, o, &outside, SB_ERROR_STATE, "pushed frames are gone");
  result_free (from_file);
  result_free (from_pushes);
  work_free (other.work);
  acquisition_free (pushed);
  param_group_clear (&acquisition_params, &given);
  frames_free (frames);
  options_free (o);
  scene_free (scene);
}

/* Every type of counts, from the file and from the columns: a disk of radius 6 in 20 x 20 pixels. */
static void
check_type (const char *folder, const char *name, SbDtype dtype, double offset)
{
  enum { SCAN = 6, SIDE = 20 };
  const gsize item = dtype_size (dtype);
  GError *error = NULL;
  SbAcquisitionOptions options;
  g_autofree guint8 *data = g_malloc0 (SCAN * SCAN * SIDE * SIDE * item);
  g_autofree double *expected = g_new0 (double, 2 * SCAN * SCAN);
  for (int i = 0; i < SCAN * SCAN * SIDE * SIDE; i++) {
    int p = i / (SIDE * SIDE), row = i / SIDE % SIDE - 9, col = i % SIDE - 10;
    gboolean inside = row * row + col * col <= 36;
    double value = offset + (inside ? 100 + (p * 31 + i * 7) % 13 : (i * 5 + p) % 3);
    store ((char *)data + (gsize)i * item, dtype, value);
    expected[(inside ? 0 : SCAN * SCAN) + p] += value;
  }
  g_autofree char *header = g_strdup_printf ("{'descr': '%s', 'fortran_order': False, 'shape': (%d, %d, %d, %d), }\n", name,
                                             SCAN, SCAN, SIDE, SIDE);
  g_autofree char *path = write_mask (folder, "counts.npy", header, data, SCAN * SCAN * SIDE * SIDE * item);
  Scene scene = { 0 };
  SbEngineOptions engine;
  param_group_defaults (&engine_params, &engine);
  param_group_defaults (&acquisition_params, &options);
  engine.threads = 3;
  scene.engine = engine_new (&engine, &error);
  g_assert_no_error (error);
  scene.acquisition = acquisition_open (path, &options, &error);
  g_assert_no_error (error);
  g_assert_cmpint (scene.acquisition->header.dtype, ==, dtype);
  scene.work = work_new (scene.engine, scene.acquisition);
  Options *o = options_new (12);
  o->calibration.centre[0] = 9;
  o->calibration.centre[1] = 10;
  o->calibration.sampling = 2;
  for (int outside = 0; outside < 2; outside++) {
    SbDetectorOptions detector = { outside ? "annular" : "bright_field", NAN, NAN, 4, 0, NULL };
    SbResult *result = detect (&scene, o, &detector);
    for (int p = 0; p < SCAN * SCAN; p++)
      g_assert_cmpfloat (result_find (result, "detector")->data[p], ==, (float)expected[outside * SCAN * SCAN + p]);
    result_free (result);
  }
  options_free (o);
  work_free (scene.work);
  acquisition_free (scene.acquisition);
  engine_free (scene.engine);
  param_group_clear (&engine_params, &engine);
  param_group_clear (&acquisition_params, &options);
  g_unlink (path);
}

static void
test_types (void)
{
  static const struct {
    const char *name;
    SbDtype dtype;
    double offset;
  } types[] = { { "|u1", SB_U8, 0 },  { "<u2", SB_U16, 60000 }, { "<u4", SB_U32, 3e9 },  { "<i2", SB_I16, 0 },
                { "<i4", SB_I32, 0 }, { "<f4", SB_F32, 0.25 },  { "<f8", SB_F64, 0.125 } };
  g_autofree char *folder = g_dir_make_tmp ("sideband-types-XXXXXX", NULL);
  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    check_type (folder, types[i].name, types[i].dtype, types[i].offset);
  g_rmdir (folder);
}

/* Angles need a scale; a cancelled job stops; files are its own. */
static void
test_edges (void)
{
  g_autofree char *folder = examples (), *temporary = g_dir_make_tmp ("sideband-detector-XXXXXX", NULL);
  Scene *scene = scene_open (folder, "film", FALSE);
  Options *o = options_new (30);
  SbDetectorOptions outside = { "annular", NAN, NAN, 4, 0, NULL }, segments = { "segments", NAN, NAN, 4, 0, NULL };
  SbOutputOptions output = { temporary, FALSE };
  SbProgress progress = { 0 };
  GError *error = NULL;
  SbResult *result = detect (scene, o, &segments);
  g_assert_true (result_save_all (result, &output, "film_master.h5", &error));
  g_assert_no_error (error);
  const json_t *files = look (result, "files");
  g_assert_cmpuint (json_array_size (files), ==, 3); /* hdf5, tiff, png */
  for (size_t i = 0; i < json_array_size (files); i++) {
    const char *path = json_string_value (json_array_get (files, i));
    g_assert_nonnull (strstr (path, "film_detector."));
    if (g_str_has_suffix (path, ".h5")) {
      SbResult *again = result_open (path, &error);
      g_assert_no_error (error);
      g_assert_cmpint (result_find (again, "detector")->shape[0], ==, 4);
      result_free (again);
    }
    g_unlink (path);
  }
  g_rmdir (temporary);
  result_free (result);
  progress_cancel (&progress);
  o->pipeline.detector = &outside;
  g_assert_null (pipeline_detector (scene->work, &o->pipeline, &progress, &error));
  g_assert_error (error, SB_ERROR, SB_ERROR_CANCELLED);
  g_clear_error (&error);
  scene_free (scene);
  options_free (o);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/detector/shapes", test_shapes);
  g_test_add_func ("/detector/mask", test_mask);
  g_test_add_func ("/detector/pushed", test_pushed);
  g_test_add_func ("/detector/types", test_types);
  g_test_add_func ("/detector/edges", test_edges);
  return g_test_run ();
}
