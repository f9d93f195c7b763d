#include "tests/unit/pipeline_scene.h"

#include <math.h>
#include <string.h>

Scene *
scene_open (const char *folder, const char *name, gboolean simulated)
{
  Scene *scene = g_new0 (Scene, 1);
  GError *error = NULL;
  SbEngineOptions engine;
  SbAcquisitionOptions options;
  g_autofree char *master = g_strdup_printf ("%s/%s_master.h5", folder, name);
  g_autofree char *json = g_strdup_printf ("%s/%s.json", folder, name);
  param_group_defaults (&engine_params, &engine);
  param_group_defaults (&acquisition_params, &options);
  g_free (engine.backend);
  engine.backend = g_strdup ("cpu");
  scene->folder = g_strdup (folder);
  scene->engine = engine_new (&engine, &error);
  g_assert_no_error (error);
  scene->acquisition = acquisition_open (master, &options, &error);
  g_assert_no_error (error);
  scene->work = work_new (scene->engine, scene->acquisition);
  if (simulated)
    g_assert_nonnull (scene->simulation = json_load_file (json, 0, NULL));
  param_group_clear (&engine_params, &engine);
  param_group_clear (&acquisition_params, &options);
  return scene;
}

void
scene_free (Scene *scene)
{
  work_free (scene->work);
  acquisition_free (scene->acquisition);
  engine_free (scene->engine);
  json_decref (scene->simulation);
  g_free (scene->folder);
  g_free (scene);
}

char *
examples (void)
{
  const char *folder = g_getenv ("SB_EXAMPLES");
  return g_build_filename (folder != NULL ? folder : "examples", "acquisitions", NULL);
}

/* ---- options ---- */

Options *
options_new (double semiangle)
{
  Options *o = g_new0 (Options, 1);
  param_group_defaults (&optics_params, &o->optics);
  param_group_defaults (&calibration_params, &o->calibration);
  param_group_defaults (&aberration_params, &o->aberrations);
  param_group_defaults (&fit_params, &o->fit);
  param_group_defaults (&reconstruction_params, &o->reconstruction);
  o->optics.semiangle = semiangle;
  o->pipeline = (SbPipelineOptions){ .optics = &o->optics,
                                     .calibration = &o->calibration,
                                     .aberrations = &o->aberrations,
                                     .fit = &o->fit,
                                     .reconstruction = &o->reconstruction };
  return o;
}

void
options_free (Options *o)
{
  param_group_clear (&calibration_params, &o->calibration);
  param_group_clear (&aberration_params, &o->aberrations);
  param_group_clear (&fit_params, &o->fit);
  param_group_clear (&reconstruction_params, &o->reconstruction);
  g_free (o);
}

void
set_text (char **field, const char *text)
{
  g_free (*field);
  *field = g_strdup (text);
}

/* The maximum of S of a simulated acquisition, as a user would type it. */
char *
optimum_text (const Scene *scene)
{
  const json_t *optimum = json_object_get (scene->simulation, "optimum");
  const SbOptics optics = { 300, 30, { 0.4, 0.4 } };
  GString *text = g_string_new (NULL);
  for (int i = 0; i < SB_N_COORDINATES; i++) {
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    double x = json_number_value (json_object_get (optimum, coordinate_name (i)));
    if (i < SB_N_CHI)
      x /= optics_edge_per_nm (&optics, coordinate_order (i));
    else
      x *= i == SB_DEPTH ? 0.1 : 1e3; /* angstrom to nm, rad to mrad */
    g_string_append_printf (text, "%s=%s ", coordinate_name (i), g_ascii_dtostr (number, sizeof number, x));
  }
  return g_string_free (text, FALSE);
}

/* ---- reading results ---- */

const json_t *
look (const SbResult *result, const char *path)
{
  g_auto (GStrv) keys = g_strsplit (path, ".", -1);
  const json_t *at = result->info;
  for (guint i = 0; keys[i] != NULL; i++)
    at = json_object_get (at, keys[i]);
  if (at == NULL)
    g_error ("the result has no %s", path);
  return at;
}

double
number_of (const SbResult *result, const char *path)
{
  const json_t *value = look (result, path);
  if (!json_is_number (value))
    g_error ("%s is no number", path);
  return json_number_value (value);
}

double
item (const SbResult *result, const char *path, size_t i)
{
  return json_number_value (json_array_get (look (result, path), i));
}

gboolean
warned (const SbResult *result, const char *text)
{
  const json_t *warnings = look (result, "warnings");
  for (size_t i = 0; i < json_array_size (warnings); i++)
    if (strstr (json_string_value (json_array_get (warnings, i)), text) != NULL)
      return TRUE;
  return FALSE;
}

void
near (double value, double expected, double tolerance)
{
  if (!(fabs (value - expected) <= tolerance))
    g_error ("%.9g is not %.9g within %g", value, expected, tolerance);
}

void
check_values (const Scene *scene, const SbResult *result)
{
  static const char *const names[] = { "C10", "C12a", "C12b", "C21a", "C30" };
  const json_t *optimum = json_object_get (scene->simulation, "optimum");
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autofree char *path = g_strdup_printf ("coordinates.%s", names[i]);
    near (number_of (result, path), json_number_value (json_object_get (optimum, names[i])), i < 3 ? 0.05 : 0.25);
  }
  near (number_of (result, "values.tilt_row.value"), 1e3 * json_number_value (json_object_get (optimum, "tilt_row")), 0.2);
  near (number_of (result, "values.depth.value"), 0.1 * json_number_value (json_object_get (optimum, "depth")), 0.2);
}
