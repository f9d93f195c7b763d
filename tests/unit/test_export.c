/* What other programs get: parameter files read back the way those programs read them, and the probe by its definition. */
#include <complex.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "core/exports.h"
#include "core/report.h"
#include "tests/unit/pipeline_scene.h"

static const SbOptics optics = { 200, 24, { 0.3, 0.35 } };

/* Every coefficient, the angles in all quadrants. */
static SbCoordinates
aberrated (void)
{
  SbCoordinates at = { { 0 } };
  for (int i = 0; i < SB_N_CHI; i++)
    at.x[i] = (i % 3 == 0 ? -1 : 1) * (0.3 + 0.37 * (i * 7 % 11)) / coordinate_order (i);
  return at;
}

/* A result as a command makes it. */
static SbResult *
result_of (const SbCoordinates *at)
{
  SbResult *result = result_new ();
  json_t *acquisition = json_object ();
  json_object_set_new (acquisition, "energy", json_real (optics.energy));
  json_object_set_new (acquisition, "semiangle", json_real (optics.semiangle));
  json_object_set_new (acquisition, "step", report_pair (optics.step[0], optics.step[1]));
  json_object_set_new (result->info, "acquisition", acquisition);
  json_object_set_new (result->info, "values", report_values (&optics, at, NULL));
  return result;
}

static char *
saved (const SbResult *result, const char *kind)
{
  GError *error = NULL;
  g_autofree char *folder = g_dir_make_tmp ("sideband-export-XXXXXX", &error), *text = NULL;
  g_assert_no_error (error);
  g_autofree char *path = g_build_filename (folder, "file", NULL);
  g_assert_true (result_save (result, path, kind, FALSE, &error));
  g_assert_no_error (error);
  g_assert_true (result_save (result, path, kind, FALSE, &error)); /* ours: replaced */
  g_assert_no_error (error);
  g_assert_true (g_file_get_contents (path, &text, NULL, &error));
  g_unlink (path);
  g_rmdir (folder);
  return g_steal_pointer (&text);
}

/* chi of Krivanek's polar coefficients in angstrom; azimuth counted from the row axis, or in degrees from the columns. */
static double
chi_polar (json_t *list, double k_row, double k_col, gboolean degrees_from_columns)
{
  double wavelength = optics_wavelength (optics.energy), alpha = hypot (k_row, k_col) * optics.semiangle * 1e-3, chi = 0;
  double phi = degrees_from_columns ? atan2 (k_row, k_col) : atan2 (k_col, k_row);
  const char *name;
  json_t *value;
  json_object_foreach (list, name, value) {
    if (name[0] != 'C')
      continue;
    int n = name[1] - '0', m = name[2] - '0';
    g_autofree char *angle_name = g_strdup_printf ("phi%d%d", n, m);
    double angle = m > 0 ? json_number_value (json_object_get (list, angle_name)) : 0;
    if (degrees_from_columns)
      angle *= G_PI / 180;
    chi += 2 * G_PI / wavelength * pow (alpha, n + 1) / (n + 1) * json_number_value (value) * cos (m * (phi - angle));
  }
  return chi;
}

static void
check_chi (json_t *list, const SbCoordinates *at, gboolean degrees_from_columns)
{
  double worst = 0, largest = 0;
  g_assert_cmpuint (json_object_size (list), ==, SB_N_CHI);
  for (int row = -8; row <= 8; row++)
    for (int col = -8; col <= 8; col++) {
      double expected = optics_chi (at, row / 8.0, col / 8.0);
      largest = MAX (largest, fabs (expected));
      worst = MAX (worst, fabs (chi_polar (list, row / 8.0, col / 8.0, degrees_from_columns) - expected));
    }
  g_test_message ("chi is off by %.2e rad of %.3g", worst, largest);
  g_assert_cmpfloat (largest, >, 5);
  g_assert_cmpfloat (worst, <=, 1e-12 * largest);
}

static void
test_keywords (void)
{
  static const char *const kinds[][2] = { { "abtem", "aberrations" }, { "py4dstem", "polar_parameters" } };
  SbCoordinates at = aberrated ();
  SbResult *result = result_of (&at);
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++) {
    g_autofree char *text = saved (result, kinds[i][0]);
    json_t *whole = json_loads (text, 0, NULL), *probe = json_object_get (whole, "probe");
    g_assert_nonnull (probe);
    near (json_number_value (json_object_get (probe, "energy")), 200e3, 0);
    near (json_number_value (json_object_get (probe, "semiangle_cutoff")), 24, 0);
    check_chi (json_object_get (probe, kinds[i][1]), &at, FALSE);
    json_decref (whole);
  }
  result_free (result);
}

/* "  name: number" lines of the section, as YAML. */
static void
test_ptyrad (void)
{
  SbCoordinates at = aberrated ();
  SbResult *result = result_of (&at);
  g_autofree char *text = saved (result, "ptyrad");
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  json_t *list = json_object (), *others = json_object ();
  gboolean begun = FALSE;
  for (guint i = 0; lines[i] != NULL; i++) {
    g_auto (GStrv) parts = g_strsplit (g_strstrip (lines[i]), ": ", 2);
    if (parts[0] != NULL && parts[1] != NULL && parts[0][0] != '#')
      json_object_set_new (begun ? list : others, parts[0], json_real (g_ascii_strtod (parts[1], NULL)));
    begun = begun || strcmp (lines[i], "probe_aberrations:") == 0;
  }
  near (json_number_value (json_object_get (others, "probe_kv")), 200, 0);
  near (json_number_value (json_object_get (others, "probe_conv_angle")), 24, 0);
  near (json_number_value (json_object_get (others, "pos_scan_step_size")), 0.35, 0);
  check_chi (list, &at, TRUE);
  json_decref (list);
  json_decref (others);
  result_free (result);
}

/* Defocus by its name: 10 nm underfocus is C10 = -100 angstrom in all of them. */
static void
test_sign (void)
{
  SbCoordinates at = { { 0 } };
  optics_from_polar (&optics, 0, -10, 0, &at);
  SbResult *result = result_of (&at);
  g_autofree char *text = saved (result, "abtem");
  json_t *whole = json_loads (text, 0, NULL);
  json_t *list = json_object_get (json_object_get (whole, "probe"), "aberrations");
  near (json_number_value (json_object_get (list, "C10")), -100, 1e-12);
  g_assert_cmpuint (json_object_size (list), ==, 1);
  json_decref (whole);
  json_object_del (result->info, "values");
  GError *error = NULL;
  g_assert_false (result_save (result, "nothing.json", "abtem", FALSE, &error));
  g_assert_nonnull (strstr (error->message, "no aberrations"));
  g_clear_error (&error);
  g_assert_false (g_file_test ("nothing.json", G_FILE_TEST_EXISTS));
  result_free (result);
}

/* ---- the probe ---- */

static void
test_probe (void)
{
  const double edge = 0.05;
  SbCoordinates at = { { 0 } };
  GError *error = NULL;
  at.x[coordinate_index ("C10")] = 4;
  at.x[coordinate_index ("C21a")] = 2; /* not symmetric: a wrong sign of r or k would show */
  at.x[coordinate_index ("C23b")] = 1.5;
  g_autoptr (SbProbe) probe = probe_new (&optics, &at, edge, &error);
  g_assert_no_error (error);
  gint64 n = probe->n;
  double sum = 0, norm = 0, unit = 4.0 / (double)n;
  g_assert_false (probe->cramped);
  near (probe->step, 1 / (4 * optics_k_max (&optics)), 1e-15);
  near (probe->angle_step, unit * 24, 1e-12);
  for (gint64 i = 0; i < n * n; i++) {
    double row = (double)(i / n - n / 2) * unit, col = (double)(i % n - n / 2) * unit;
    double a = CLAMP ((1 - row * row - col * col) / (2 * edge) + 0.5, 0.0, 1.0);
    near ((double)probe->amplitude[i], a, 1e-6);
    near ((double)probe->phase[i], a > 0 ? -optics_chi (&at, row, col) : 0, 1e-5);
    sum += (double)probe->intensity[i];
    norm += a * a;
  }
  near (sum, 1, 1e-5);
  /* psi (r) = sum P exp (2 pi i k.r), at a few places */
  static const int places[][2] = { { 0, 0 }, { 5, -3 }, { -7, 2 }, { -11, -14 } };
  for (guint p = 0; p < G_N_ELEMENTS (places); p++) {
    double complex psi = 0;
    for (gint64 i = 0; i < n * n; i++) {
      gint64 row = i / n - n / 2, col = i % n - n / 2;
      double turn = (double)(row * places[p][0] + col * places[p][1]) / (double)n;
      psi += (double)probe->amplitude[i] * cexp (I * ((double)probe->phase[i] + 2 * G_PI * turn));
    }
    gint64 at_pixel = (places[p][0] + n / 2) * n + places[p][1] + n / 2;
    double expected = pow (cabs (psi), 2) / (norm * (double)(n * n));
    near ((double)probe->intensity[at_pixel], expected, 1e-6 * expected + 1e-10);
    if (expected > 1e-6)
      g_assert_cmpfloat (cabs (cexp (I * (double)probe->wave_phase[at_pixel]) - psi / cabs (psi)), <, 1e-4);
  }
}

/* A field that grows with the defocus, and says where it stops growing. */
static void
test_field (void)
{
  SbCoordinates at = { { 0 } };
  g_autoptr (SbProbe) sharp = probe_new (&optics, &at, 0.05, NULL);
  at.x[0] = 300;
  g_autoptr (SbProbe) wide = probe_new (&optics, &at, 0.05, NULL);
  g_assert_cmpint (wide->n, >, sharp->n);
  double inside = 0, radius = 1.1 * 2 * 300 / (2 * G_PI) * 4; /* of geometric optics, pixels */
  for (gint64 i = 0; i < wide->n * wide->n; i++)
    if (hypot ((double)(i / wide->n - wide->n / 2), (double)(i % wide->n - wide->n / 2)) < radius)
      inside += (double)wide->intensity[i];
  g_assert_cmpfloat (inside, >, 0.98);
  g_assert_cmpfloat (radius, <, (double)wide->n / 2);
  at.x[0] = 3000;
  g_autoptr (SbProbe) cramped = probe_new (&optics, &at, 0.05, NULL);
  g_assert_true (cramped->cramped);
}

static void
test_chi (void)
{
  SbCoordinates at = aberrated ();
  g_autofree float *chi = chi_surface (&at, NULL);
  const int half = SB_CHI_SIDE / 2;
  near ((double)chi[half * SB_CHI_SIDE + half], 0, 0);
  near ((double)chi[(half + half) * SB_CHI_SIDE + half], optics_chi (&at, 1, 0), 1e-4);
  near ((double)chi[half * SB_CHI_SIDE + half - half / 2], optics_chi (&at, 0, -0.5), 1e-4);
  near ((double)chi[0], 0, 0);
}

/* Only on request: a run's arrays and files. */
static void
test_command (void)
{
  static const char *const names[] = { "probe", "probe_phase", "probe_reciprocal", "probe_reciprocal_phase", "chi" };
  g_autofree char *examples_folder = examples ();
  Scene *scene = scene_open (examples_folder, "film", TRUE);
  Options *o = options_new (30);
  SbExportOptions exports;
  GError *error = NULL;
  g_autofree char *known = optimum_text (scene);
  param_group_defaults (&export_params, &exports);
  o->pipeline.exports = &exports;
  set_text (&o->aberrations.coefficients, known);
  o->calibration.rotation = 0;
  set_text (&o->calibration.orientation, "identity");
  o->reconstruction.upsampling = 1;
  for (int asked = 0; asked < 2; asked++) {
    g_autofree char *folder = g_dir_make_tmp ("sideband-export-XXXXXX", NULL);
    SbOutputOptions output = { folder, FALSE };
    exports.probe = exports.chi = asked;
    set_text (&exports.parameters_for, asked ? "all" : "none");
    SbResult *result = pipeline_reconstruct (scene->work, &o->pipeline, NULL, &error);
    g_assert_no_error (error);
    for (guint i = 0; i < G_N_ELEMENTS (names); i++)
      g_assert_true ((result_find (result, names[i]) != NULL) == asked);
    g_assert_true (result_save_all (result, &output, "film_master.h5", &error));
    g_assert_no_error (error);
    int others = 0;
    const json_t *files = look (result, "files");
    for (size_t i = 0; i < json_array_size (files); i++) {
      const char *path = json_string_value (json_array_get (files, i));
      others += g_str_has_suffix (path, "_abtem.json") || g_str_has_suffix (path, "_py4dstem.json")
                || g_str_has_suffix (path, "_ptyrad.yaml");
      g_assert_cmpint (g_unlink (path), ==, 0);
    }
    g_assert_cmpint (others, ==, asked ? 3 : 0);
    if (asked) {
      near (result_find (result, "chi")->step[0], 2 * 30.0 / (SB_CHI_SIDE - 1), 1e-12);
      g_assert_cmpstr (result_find (result, "probe")->axis_unit[1], ==, "nm");
    }
    g_rmdir (folder);
    result_free (result);
  }
  param_group_clear (&export_params, &exports);
  options_free (o);
  scene_free (scene);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/export/keywords", test_keywords);
  g_test_add_func ("/export/ptyrad", test_ptyrad);
  g_test_add_func ("/export/sign", test_sign);
  g_test_add_func ("/export/probe", test_probe);
  g_test_add_func ("/export/field", test_field);
  g_test_add_func ("/export/chi", test_chi);
  g_test_add_func ("/export/command", test_command);
  return g_test_run ();
}
