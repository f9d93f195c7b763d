#include "tests/unit/simulation.h"

#include <glib/gstdio.h>
#include <math.h>

void
simulated_set (char **field, const char *text)
{
  g_free (*field);
  *field = g_strdup (text);
}

Simulated *
simulated_new (const char *specimen, gint64 scan, double step, gint64 detector)
{
  Simulated *s = g_new0 (Simulated, 1);
  param_group_defaults (&optics_params, &s->optics);
  param_group_defaults (&acquisition_params, &s->acquisition);
  param_group_defaults (&calibration_params, &s->calibration);
  param_group_defaults (&aberration_params, &s->aberrations);
  param_group_defaults (&simulation_params, &s->simulation);
  param_group_defaults (&output_params, &s->output);
  s->optics = (SbOpticsOptions){ 300, 30, { step, step } };
  for (int a = 0; a < 2; a++) {
    s->acquisition.scan_shape[a] = scan;
    s->acquisition.detector_shape[a] = detector;
  }
  simulated_set (&s->simulation.specimen, specimen);
  s->folder = g_dir_make_tmp ("sideband-simulate-XXXXXX", NULL);
  g_assert_nonnull (s->folder);
  s->output.output = g_build_filename (s->folder, "x", NULL);
  s->all = (SbSimulateOptions){ &s->optics, &s->acquisition, &s->calibration, &s->aberrations, &s->simulation, &s->output };
  return s;
}

void
simulated_free (Simulated *s)
{
  const char *name;
  GDir *folder = g_dir_open (s->folder, 0, NULL);
  while ((name = g_dir_read_name (folder)) != NULL) {
    g_autofree char *path = g_build_filename (s->folder, name, NULL);
    g_remove (path);
  }
  g_dir_close (folder);
  g_rmdir (s->folder);
  param_group_clear (&acquisition_params, &s->acquisition);
  param_group_clear (&calibration_params, &s->calibration);
  param_group_clear (&aberration_params, &s->aberrations);
  param_group_clear (&simulation_params, &s->simulation);
  param_group_clear (&output_params, &s->output);
  g_free (s->folder);
  g_free (s);
}

char *
simulated_path (const Simulated *s, const char *suffix)
{
  return g_strdup_printf ("%s/x%s", s->folder, suffix);
}

guint
simulated_count (const Simulated *s)
{
  guint n = 0;
  GDir *folder = g_dir_open (s->folder, 0, NULL);
  while (g_dir_read_name (folder) != NULL)
    n++;
  g_dir_close (folder);
  return n;
}

SbEngine *
simulated_engine (guint threads)
{
  SbEngineOptions options;
  GError *error = NULL;
  param_group_defaults (&engine_params, &options);
  simulated_set (&options.backend, "cpu");
  options.threads = threads;
  SbEngine *engine = engine_new (&options, &error);
  g_assert_no_error (error);
  param_group_clear (&engine_params, &options);
  return engine;
}

void
simulated_run (const Simulated *s, guint threads)
{
  GError *error = NULL;
  SbEngine *engine = simulated_engine (threads);
  SbResult *result = simulate_run (engine, &s->all, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (json_array_size (json_object_get (result->info, "files")), ==, simulated_count (s));
  result_free (result);
  engine_free (engine);
}
