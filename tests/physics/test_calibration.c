/* Calibrated by ourselves: disk, rotation, orientation and branch of the simulated acquisitions, and the same of the same
 * frames seen by a transposed, turned or cropped detector, or by a smaller scan. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "core/calibrate.h"
#include "core/fit/fit.h"

typedef enum Variant { AS_IT_IS, TRANSPOSED, TURNED_90, TURNED_180, CROPPED, SMALL_SCAN, N_VARIANTS } Variant;
static const char *const variant_names[N_VARIANTS] = { "as it is",          "transposed", "turned by 90 deg",
                                                       "turned by 180 deg", "cropped",    "small scan" };
enum { CROP_ROWS = 3, CROP_COLS = 1, SCAN_ROWS = 37, FIRST_ROW = 6 };

/* The acquisition with all its frames in memory. */
typedef struct Source {
  const char *name;
  json_t *truth;
  SbEngine *engine;
  SbAcquisition *acquisition;
  guint16 *frames;
  double centre[2], rotation, sampling; /* true ones */
} Source;

static double
number (const json_t *object, const char *key)
{
  return json_number_value (json_object_get (object, key));
}

static gboolean
source_open (Source *source, const char *name)
{
  const char *folder = g_getenv (strcmp (name, "rotated") == 0 ? "SB_SHARED" : "SB_EXAMPLES");
  g_autofree char *json = g_strconcat (folder != NULL ? folder : "examples", "/acquisitions/", name, ".json", NULL);
  g_autofree char *master = g_strconcat (folder != NULL ? folder : "examples", "/acquisitions/", name, "_master.h5", NULL);
  GError *error = NULL;
  SbEngineOptions engine;
  SbAcquisitionOptions options;
  if (!g_file_test (master, G_FILE_TEST_EXISTS)) {
    g_test_skip ("the acquisition is not here (it lies in the shared folder)");
    return FALSE;
  }
  *source = (Source){ .name = name, .truth = json_load_file (json, 0, NULL) };
  g_assert_nonnull (source->truth);
  param_group_defaults (&engine_params, &engine);
  param_group_defaults (&acquisition_params, &options);
  source->engine = engine_new (&engine, &error);
  g_assert_no_error (error);
  source->acquisition = acquisition_open (master, &options, &error);
  g_assert_no_error (error);
  const SbHeader *header = &source->acquisition->header;
  g_assert_cmpint (header->dtype, ==, SB_U16);
  source->frames = g_malloc ((gsize)(header->frames * header->detector_rows * header->detector_cols) * 2);
  g_assert_true (source->acquisition->format->read (source->acquisition->reader, 0, header->frames, source->frames, &error));
  for (gsize axis = 0; axis < 2; axis++)
    source->centre[axis] = json_number_value (json_array_get (json_object_get (source->truth, "disk_centre"), axis));
  source->rotation = number (source->truth, "rotation_deg");
  source->sampling = number (source->truth, "detector_sampling_mrad");
  param_group_clear (&engine_params, &engine);
  param_group_clear (&acquisition_params, &options);
  return TRUE;
}

static void
source_close (Source *source)
{
  g_free (source->frames);
  acquisition_free (source->acquisition);
  engine_free (source->engine);
  json_decref (source->truth);
}

/* How another detector sees a frame, and what the calibration must say then. */
typedef struct Seen {
  gint64 shape[2], origin, stride[2]; /* in pixels of the frame as recorded */
  double centre[2], rotation;
  gboolean transpose;
} Seen;

static Seen
see (const Source *source, Variant variant)
{
  gint64 rows = source->acquisition->header.detector_rows, cols = source->acquisition->header.detector_cols;
  double row = source->centre[0], col = source->centre[1];
  switch (variant) {
  case TRANSPOSED: /* exchanging rows and columns comes before the rotation */
    return (Seen){ { cols, rows }, 0, { 1, cols }, { col, row }, source->rotation, TRUE };
  case TURNED_90: /* new (row, col) = (last col - col, row): the vectors are turned by + 90 deg */
    return (Seen){ { cols, rows }, cols - 1, { -1, cols }, { (double)(cols - 1) - col, row }, source->rotation - 90, FALSE };
  case TURNED_180:
    return (Seen){ { rows, cols },         rows * cols - 1,
                   { -cols, -1 },          { (double)(rows - 1) - row, (double)(cols - 1) - col },
                   source->rotation - 180, FALSE };
  case CROPPED:
    return (Seen){ { rows - CROP_ROWS, cols - CROP_COLS },
                   CROP_ROWS * cols + CROP_COLS,
                   { cols, 1 },
                   { row - CROP_ROWS, col - CROP_COLS },
                   source->rotation,
                   FALSE };
  default: return (Seen){ { rows, cols }, 0, { cols, 1 }, { row, col }, source->rotation, FALSE };
  }
}

static SbAcquisition *
seen_acquisition (const Source *source, const Seen *seen, Variant variant)
{
  GError *error = NULL;
  SbAcquisitionOptions options;
  param_group_defaults (&acquisition_params, &options);
  options.scan_shape[0] = source->acquisition->scan_rows;
  options.scan_shape[1] = source->acquisition->scan_cols;
  options.detector_shape[0] = seen->shape[0];
  options.detector_shape[1] = seen->shape[1];
  options.dtype = g_strdup ("uint16");
  if (variant == SMALL_SCAN) {
    options.scan_region[0] = FIRST_ROW;
    options.scan_region[2] = SCAN_ROWS;
    options.scan_region[3] = source->acquisition->scan_cols;
  }
  SbAcquisition *acquisition = acquisition_new (&options, &error);
  g_assert_no_error (error);
  param_group_clear (&acquisition_params, &options);
  const guint8 *mask = source->acquisition->header.mask;
  if (mask != NULL) {
    acquisition->header.mask = g_new (guint8, seen->shape[0] * seen->shape[1]);
    for (gint64 i = 0; i < seen->shape[0] * seen->shape[1]; i++)
      acquisition->header.mask[i] =
          mask[seen->origin + i / seen->shape[1] * seen->stride[0] + i % seen->shape[1] * seen->stride[1]];
  }
  return acquisition;
}

static SbColumns *
seen_columns (const Source *source, const Seen *seen, SbAcquisition *acquisition)
{
  const SbHeader *header = &source->acquisition->header;
  const double nowhere[2] = { NAN, NAN };
  const gint64 strides[3] = { header->detector_rows * header->detector_cols * 2, seen->stride[0] * 2, seen->stride[1] * 2 };
  GError *error = NULL;
  SbGather *gather = gather_new (source->engine, acquisition, nowhere, NAN, &error);
  g_assert_no_error (error);
  g_assert_true (gather_push (gather, 0, header->frames, source->frames + seen->origin, SB_U16, strides, &error));
  SbColumns *columns = gather_finish (gather, &error);
  g_assert_no_error (error);
  gather_free (gather);
  return columns;
}

/* What was found out about one variant. */
typedef struct Found {
  SbCalibration calibration; /* its numbers only */
  double rotation;           /* deg, of the branch that the fit chose */
  gint64 n_pixels;
  SbFit *fit;
} Found;

static Found
find (const Source *source, const SbColumns *columns)
{
  const double step = number (source->truth, "scan_step_angstrom");
  const SbOptics optics = { 300, 30, { step, step } };
  GError *error = NULL;
  SbCalibrationOptions calibration;
  SbSpectrumOptions spectrum_options;
  SbAberrationOptions none = { NULL, NULL, NULL, NULL, NULL };
  SbFitOptions options;
  SbStart start;
  SbSpectrum *spectrum;
  Found found;
  param_group_defaults (&calibration_params, &calibration);
  param_group_defaults (&spectrum_params, &spectrum_options);
  param_group_defaults (&fit_params, &options);
  SbCalibration *c = calibrate_run (source->engine, columns, &optics, &calibration, &spectrum_options, &spectrum, NULL, NULL,
                                    &error);
  g_assert_no_error (error);
  g_assert_true (start_resolve (&start, &none, &options, &optics, NULL, &error));
  found.fit = fit_run (spectrum, &start, &options, NULL, &error);
  g_assert_no_error (error);
  found.calibration = *c;
  found.rotation = spectrum->frame.rotation * 180 / G_PI;
  found.n_pixels = spectrum->n_pixels;
  g_assert_cmpint (spectrum->frame.transpose, ==, c->frame.transpose);
  spectrum_free (spectrum);
  calibration_free (c);
  param_group_clear (&calibration_params, &calibration);
  param_group_clear (&spectrum_params, &spectrum_options);
  param_group_clear (&fit_params, &options);
  return found;
}

static void
check_calibration (const Source *source, Variant variant, const Seen *seen, const Found *found)
{
  const SbCalibration *c = &found->calibration;
  double turned = remainder (found->rotation - seen->rotation, 360);
  g_test_message ("%s, %s: centre off by %.3f %.3f, radius by %.3f px, rotation by %.2f deg, %s, branch %d, skewness %.2f, "
                  "S %.6f",
                  source->name, variant_names[variant], c->centre[0] - seen->centre[0], c->centre[1] - seen->centre[1],
                  c->radius - 30 / source->sampling, turned, c->frame.transpose ? "transpose" : "identity", found->fit->branch,
                  found->fit->skewness, found->fit->agreement);
  for (int axis = 0; axis < 2; axis++)
    g_assert_cmpfloat (fabs (c->centre[axis] - seen->centre[axis]), <=, 0.05);
  g_assert_cmpfloat (fabs (c->radius - 30 / source->sampling), <=, 0.15);
  g_assert_cmpint (c->frame.transpose, ==, seen->transpose);
  g_assert_cmpfloat (fabs (turned), <=, 0.5);
  g_assert_true (found->fit->branch == SB_BRANCH_KEPT || found->fit->branch == SB_BRANCH_TWIN);
}

/* Aberrations belong to the scan's axes: whatever the detector, they are the same (a cut scan only has more noise). */
static void
check_state (const Source *source, Variant variant, const Found *found, const Found *plain)
{
  double worst = 0, shift = 0;
  for (int i = 0; i < SB_N_COORDINATES; i++) {
    worst = fmax (worst, fabs (found->fit->at.x[i] - plain->fit->at.x[i]) / plain->fit->error[i]);
    if (i < 3)
      shift = fmax (shift, fabs (found->fit->at.x[i] - plain->fit->at.x[i]));
  }
  g_test_message ("%s, %s: C10 and C12 within %.4f rad of those of the plain detector, all within %.2f of their errors",
                  source->name, variant_names[variant], shift, worst);
  g_assert_cmpfloat (shift, <=, variant == SMALL_SCAN ? 0.5 : 0.03);
  if (variant != SMALL_SCAN) {
    g_assert_cmpfloat (worst, <=, 1); /* the angle is found to 0.2 deg, not to the bit */
    g_assert_cmpfloat (fabs (found->fit->agreement / plain->fit->agreement - 1), <=, 1e-3);
  }
}

static void
test_variants (gconstpointer data)
{
  Source source;
  Found plain = { .fit = NULL };
  if (!source_open (&source, data))
    return;
  for (Variant v = AS_IT_IS; v < N_VARIANTS; v++) {
    Seen seen = see (&source, v);
    SbAcquisition *acquisition = seen_acquisition (&source, &seen, v);
    SbColumns *columns = seen_columns (&source, &seen, acquisition);
    Found found = find (&source, columns);
    check_calibration (&source, v, &seen, &found);
    if (v == AS_IT_IS)
      plain = found;
    else {
      check_state (&source, v, &found, &plain);
      fit_free (found.fit);
    }
    columns_free (columns);
    acquisition_free (acquisition);
  }
  fit_free (plain.fit);
  source_close (&source);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/calibration/film", "film", test_variants);
  g_test_add_data_func ("/calibration/columns", "columns", test_variants);
  g_test_add_data_func ("/calibration/rotated", "rotated", test_variants);
  return g_test_run ();
}
