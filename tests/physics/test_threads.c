/* The same bits whatever the number of threads, and whatever the order in which a host pushes the frames. */
#include <math.h>
#include <string.h>

#include "core/pipeline.h"

typedef struct Options {
  SbOpticsOptions optics;
  SbCalibrationOptions calibration;
  SbAberrationOptions aberrations;
  SbFitOptions fit;
  SbReconstructionOptions reconstruction;
} Options;

static SbEngine *
engine_with (gint64 threads)
{
  SbEngineOptions options;
  GError *error = NULL;
  param_group_defaults (&engine_params, &options);
  g_free (options.backend);
  options.backend = g_strdup ("cpu");
  options.threads = threads;
  SbEngine *engine = engine_new (&options, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (engine->threads, ==, threads);
  param_group_clear (&engine_params, &options);
  return engine;
}

static SbAcquisition *
open_columns (void)
{
  const char *folder = g_getenv ("SB_EXAMPLES");
  g_autofree char *path = g_build_filename (folder != NULL ? folder : "examples", "acquisitions", "columns_master.h5", NULL);
  GError *error = NULL;
  SbAcquisitionOptions options;
  param_group_defaults (&acquisition_params, &options);
  SbAcquisition *acquisition = acquisition_open (path, &options, &error);
  g_assert_no_error (error);
  param_group_clear (&acquisition_params, &options);
  return acquisition;
}

/* Calibrated by ourselves, fitted, reconstructed, measured. */
static SbResult *
run (SbWork *work)
{
  GError *error = NULL;
  Options o;
  param_group_defaults (&optics_params, &o.optics);
  param_group_defaults (&calibration_params, &o.calibration);
  param_group_defaults (&aberration_params, &o.aberrations);
  param_group_defaults (&fit_params, &o.fit);
  param_group_defaults (&reconstruction_params, &o.reconstruction);
  o.optics = (SbOpticsOptions){ 300, 30, { 0.4, 0.4 } };
  const SbPipelineOptions options = { .optics = &o.optics,
                                      .calibration = &o.calibration,
                                      .aberrations = &o.aberrations,
                                      .fit = &o.fit,
                                      .reconstruction = &o.reconstruction };
  SbResult *result = pipeline_run (work, &options, NULL, &error);
  g_assert_no_error (error);
  param_group_clear (&calibration_params, &o.calibration);
  param_group_clear (&aberration_params, &o.aberrations);
  param_group_clear (&fit_params, &o.fit);
  param_group_clear (&reconstruction_params, &o.reconstruction);
  return result;
}

/* Every number and every sample; only the clock may differ. */
static void
assert_same (const char *who, const SbResult *a, const SbResult *b)
{
  static const char *const keys[] = { "agreement", "agreement_zero", "gain",        "values",      "coordinates",
                                      "branch",    "passes",         "calibration", "noise_ratio", "higher_order_limit",
                                      "image",     "quality" };
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++) {
    const json_t *x = json_object_get (a->info, keys[i]), *y = json_object_get (b->info, keys[i]);
    g_autofree char *first = json_dumps (x, JSON_SORT_KEYS | JSON_ENCODE_ANY | JSON_REAL_PRECISION (17));
    g_autofree char *second = json_dumps (y, JSON_SORT_KEYS | JSON_ENCODE_ANY | JSON_REAL_PRECISION (17));
    g_assert_nonnull (first);
    if (g_strcmp0 (first, second) != 0)
      g_error ("%s: %s is %s, not %s", who, keys[i], second, first);
  }
  g_assert_cmpuint (a->arrays->len, ==, b->arrays->len);
  g_assert_nonnull (result_find (a, "phase"));
  g_assert_nonnull (result_find (a, "mean_pattern"));
  for (guint i = 0; i < a->arrays->len; i++) {
    const SbArray *x = g_ptr_array_index (a->arrays, i), *y = g_ptr_array_index (b->arrays, i);
    gsize bytes = (gsize)array_size (x) * (x->bytes ? 1 : sizeof (float));
    g_assert_cmpstr (x->name, ==, y->name);
    g_assert_cmpint (array_size (x), ==, array_size (y));
    gconstpointer first = x->bytes ? (gconstpointer)x->pixels : x->data;
    gconstpointer second = y->bytes ? (gconstpointer)y->pixels : y->data;
    if (memcmp (first, second, bytes) != 0)
      g_error ("%s: other bits in %s", who, x->name);
  }
}

static SbResult *
run_file (gint64 threads)
{
  SbEngine *engine = engine_with (threads);
  SbAcquisition *acquisition = open_columns ();
  SbWork *work = work_new (engine, acquisition);
  SbResult *result = run (work);
  work_free (work);
  acquisition_free (acquisition);
  engine_free (engine);
  return result;
}

static void
shuffle (gint64 n, gint64 *order)
{
  GRand *random = g_rand_new_with_seed (99);
  for (gint64 i = 0; i < n; i++) {
    gint64 j = g_rand_int_range (random, 0, (gint32)i + 1);
    order[i] = order[j];
    order[j] = i;
  }
  g_rand_free (random);
}

/* The file's frames handed over one by one, in any order. */
static SbColumns *
push_shuffled (SbEngine *engine, const SbAcquisition *from, SbAcquisition *to)
{
  const double nowhere[2] = { NAN, NAN };
  gint64 n = from->header.frames, rows = from->header.detector_rows, cols = from->header.detector_cols;
  gint64 item = (gint64)dtype_size (from->header.dtype);
  const gint64 strides[3] = { rows * cols * item, cols * item, item };
  GError *error = NULL;
  g_autofree gint64 *order = g_new (gint64, n);
  g_autofree char *frame = g_malloc ((gsize)strides[0]);
  SbGather *gather = gather_new (engine, to, nowhere, NAN, &error);
  g_assert_no_error (error);
  shuffle (n, order);
  for (gint64 i = 0; i < n; i++)
    g_assert_true (from->format->read (from->reader, order[i], 1, frame, &error)
                   && gather_push (gather, order[i], 1, frame, from->header.dtype, strides, &error));
  SbColumns *columns = gather_finish (gather, &error);
  g_assert_no_error (error);
  gather_free (gather);
  return columns;
}

static SbResult *
run_pushed (gint64 threads)
{
  SbEngine *engine = engine_with (threads);
  SbAcquisition *from = open_columns ();
  GError *error = NULL;
  SbAcquisitionOptions options;
  param_group_defaults (&acquisition_params, &options);
  options.scan_shape[0] = from->scan_rows;
  options.scan_shape[1] = from->scan_cols;
  options.detector_shape[0] = from->header.detector_rows;
  options.detector_shape[1] = from->header.detector_cols;
  options.dtype = g_strdup (dtype_name (from->header.dtype));
  SbAcquisition *acquisition = acquisition_new (&options, &error);
  g_assert_no_error (error);
  gsize size = (gsize)(from->header.detector_rows * from->header.detector_cols);
  if (from->header.mask != NULL)
    acquisition->header.mask = g_memdup2 (from->header.mask, size);
  SbWork *work = work_new (engine, acquisition);
  work_take_columns (work, push_shuffled (engine, from, acquisition));
  SbResult *result = run (work);
  work_free (work);
  acquisition_free (acquisition);
  acquisition_free (from);
  engine_free (engine);
  param_group_clear (&acquisition_params, &options);
  return result;
}

static void
test_same_bits (void)
{
  SbResult *one = run_file (1), *two = run_file (2), *seven = run_file (7), *pushed = run_pushed (3);
  assert_same ("2 threads", one, two);
  assert_same ("7 threads", one, seven);
  assert_same ("pushed in random order", one, pushed);
  result_free (one);
  result_free (two);
  result_free (seven);
  result_free (pushed);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/threads/same_bits", test_same_bits);
  return g_test_run ();
}
