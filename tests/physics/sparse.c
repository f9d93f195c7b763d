#include "tests/physics/sparse.h"
#include "tests/physics/image_frequencies.h"

#include <complex.h>
#include <math.h>
#include <string.h>

static const SbOptics optics = { 300, 30, { 0.4, 0.4 } };

Film *
film_open_in (const char *folder, const char *name, const char *precision)
{
  Film *film = g_new0 (Film, 1);
  g_autoptr (GError) error = NULL;
  SbEngineOptions engine;
  SbAcquisitionOptions options;
  const double nowhere[2] = { NAN, NAN };
  film->folder = g_strdup (folder);
  film->name = g_strdup (name);
  g_autofree char *json = g_strdup_printf ("%s/%s.json", film->folder, name);
  g_autofree char *master = g_strdup_printf ("%s/%s_master.h5", film->folder, name);
  if (!g_file_test (master, G_FILE_TEST_EXISTS)) {
    g_test_skip ("the acquisition is not here (it lies in the shared folder)");
    g_free (film->folder);
    g_free (film->name);
    g_free (film);
    return NULL;
  }
  g_assert_nonnull (film->about = json_load_file (json, 0, NULL));
  param_group_defaults (&engine_params, &engine);
  param_group_defaults (&acquisition_params, &options);
  g_free (engine.precision);
  engine.precision = g_strdup (precision);
  film->engine = engine_new (&engine, &error);
  g_assert_no_error (error);
  film->acquisition = acquisition_open (master, &options, &error);
  g_assert_no_error (error);
  film->columns = columns_load (film->engine, film->acquisition, nowhere, NAN, NULL, &error);
  g_assert_no_error (error);
  param_group_clear (&engine_params, &engine);
  param_group_clear (&acquisition_params, &options);
  return film;
}

Film *
film_open_other (const char *root, const char *name, const char *precision)
{
  g_autofree char *folder = g_build_filename (root, "acquisitions", NULL);
  return film_open_in (folder, name, precision);
}

Film *
film_open (const char *precision)
{
  const char *root = g_getenv ("SB_EXAMPLES");
  Film *film = film_open_other (root != NULL ? root : "examples", "film", precision);
  g_assert_nonnull (film);
  return film;
}

void
film_close (Film *film)
{
  g_free (film->name);
  columns_free (film->columns);
  acquisition_free (film->acquisition);
  engine_free (film->engine);
  json_decref (film->about);
  g_free (film->folder);
  g_free (film);
}

SbSpectrum *
film_spectrum (const Film *film, gint64 keep, double turn, double scale)
{
  g_autoptr (GError) error = NULL;
  gint64 rows = film->acquisition->used_rows, cols = film->acquisition->used_cols, n = 0;
  gsize size = dtype_size (film->columns->dtype);
  SbAcquisition acquisition = *film->acquisition;
  SbColumns columns = *film->columns;
  SbSpectrumOptions options;
  SbOptics coarse = optics;
  double rotation = json_number_value (json_object_get (film->about, "rotation_deg")) * G_PI / 180;
  SbCalibration calibration = { .frame = { rotation + turn, FALSE } };
  acquisition.used_rows = (rows + keep - 1) / keep;
  acquisition.used_cols = (cols + keep - 1) / keep;
  coarse.step[0] = coarse.step[1] = 0.4 * (double)keep;
  columns.acquisition = &acquisition;
  columns.positions = acquisition.used_rows * acquisition.used_cols;
  g_autofree char *counts = g_malloc_n ((gsize)(columns.positions * columns.n_pixels), size);
  columns.counts = counts;
  for (gint64 p = 0; p < columns.n_pixels; p++)
    for (gint64 r = 0; r < rows; r += keep)
      for (gint64 c = 0; c < cols; c += keep, n++)
        memcpy (counts + (gsize)n * size, (char *)film->columns->counts + (gsize)((p * rows + r) * cols + c) * size, size);
  const json_t *centre = json_object_get (film->about, "disk_centre");
  for (gsize i = 0; i < 2; i++)
    calibration.centre[i] = json_number_value (json_array_get (centre, i));
  calibration.sampling = scale * json_number_value (json_object_get (film->about, "detector_sampling_mrad"));
  param_group_defaults (&spectrum_params, &options);
  SbSpectrum *spectrum = spectrum_new (film->engine, &columns, &coarse, &calibration, &options, NULL, &error);
  g_assert_no_error (error);
  return spectrum;
}

SbCoordinates
film_coordinates (const Film *film, const char *key)
{
  const json_t *object = json_object_get (film->about, key);
  SbCoordinates at;
  for (int i = 0; i < SB_N_COORDINATES; i++)
    at.x[i] = json_number_value (json_object_get (object, coordinate_name (i)));
  at.x[SB_TILT_ROW] *= 1e3;
  at.x[SB_TILT_COL] *= 1e3;
  at.x[SB_DEPTH] /= 10;
  return at;
}

double
film_c10 (const SbCoordinates *at)
{
  double c10, unused;
  optics_polar (&optics, at, 0, &c10, &unused);
  return c10;
}

double
film_correlation (const Film *film, const float *image, gint64 rows, gint64 cols, double limit)
{
  g_autofree char *path = g_strdup_printf ("%s/%s_truth.npy", film->folder, film->name);
  g_autofree char *file = NULL;
  gsize size = 0;
  gint64 side = 3 * film->acquisition->used_rows;
  double reach = limit * optics_k_max (&optics) * optics.step[0] * (double)film->acquisition->used_rows;
  int half = (int)reach, n = 2 * half + 1;
  double dot = 0, tt = 0, mm = 0;
  g_assert_true (g_file_get_contents (path, &file, &size, NULL));
  g_assert_cmpuint (size, ==, 128 + (gsize)(side * side) * sizeof (float)); /* float32, version 1 header */
  g_autofree float *potential = g_memdup2 (file + 128, size - 128);
  g_autofree double complex *truth = image_frequencies (potential, side, side, half);
  g_autofree double complex *made = image_frequencies (image, rows, cols, half);
  for (int k = 0; k < n * n; k++) {
    int i = k / n - half, j = k % n - half;
    if ((i == 0 && j == 0) || hypot (i, j) > reach)
      continue;
    dot += creal (conj (truth[k]) * made[k]);
    tt += creal (conj (truth[k]) * truth[k]);
    mm += creal (conj (made[k]) * made[k]);
  }
  return dot / sqrt (tt * mm);
}
