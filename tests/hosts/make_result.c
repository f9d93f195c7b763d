/* Writes results with known contents into a folder, for another program to read: make_result FOLDER */
#include <math.h>
#include <stdio.h>

#include "core/result.h"

enum { ROWS = 30, COLS = 45 };

static SbArray *
add_ramp (SbResult *result, const char *name, const char *title, const char *unit, float slope)
{
  float *data = g_new (float, ROWS *COLS);
  for (int i = 0; i < ROWS * COLS; i++)
    data[i] = slope * (float)(i - 600) / 1000;
  SbArray *array = result_add (result, name, title, unit, data, 2, (const gint64[]){ ROWS, COLS });
  array->step[0] = 0.025;
  array->step[1] = 0.0125;
  for (int i = 0; i < 2; i++) {
    g_free (array->axis_unit[i]);
    array->axis_unit[i] = g_strdup ("nm");
  }
  return array;
}

static SbResult *
make_run (gboolean with_absorption)
{
  SbResult *result = result_new ();
  json_decref (result->info);
  result->info = json_pack (
      "{s:f, s:{s:{s:f,s:f,s:f,s:s}, s:{s:f,s:n,s:s}}, s:{s:f,s:s}, s:{s:[f,f],s:f,s:b,s:s}, s:{s:f}, s:s}", "agreement",
      0.1 + 0.2, "values", "C10", "value", 6.068, "error", 0.011, "spread", 0.06, "unit", "nm", "phi12", "value", -0.75,
      "error", "unit", "rad", "coordinates", "C10", 8.7153, "units", "rad at the edge", "calibration", "centre", 36.0, 36.5,
      "radius", 30.5, "given_centre", 1, "orientation", "identity", "parameters", "semiangle", 30.0, "version", SB_VERSION);
  add_ramp (result, "phase", "phase", "rad", 1);
  if (with_absorption)
    add_ramp (result, "absorption", "absorption", "", -0.5f);
  return result;
}

static SbResult *
make_calibration (void)
{
  SbResult *result = result_new ();
  json_object_set_new (result->info, "version", json_string (SB_VERSION));
  json_object_set_new (result->info, "calibration", json_pack ("{s:f}", "radius", 30.5));
  add_ramp (result, "mean_pattern", "mean pattern", "counts", 1);
  guint8 *rgb = g_new (guint8, 20 * 10 * 3);
  for (int i = 0; i < 20 * 10 * 3; i++)
    rgb[i] = (guint8)(i % 251);
  result_add_picture (result, "picture", "calibration", rgb, 20, 10);
  return result;
}

static int
save (SbResult *result, const char *folder, const char *source)
{
  g_autoptr (GError) error = NULL;
  const SbOutputOptions options = { .output = (char *)folder };
  gboolean saved = result_save_all (result, &options, source, &error);
  if (!saved)
    fprintf (stderr, "%s\n", error->message);
  result_free (result);
  return saved ? 0 : 1;
}

int
main (int argc, char **argv)
{
  if (argc != 2)
    return 2;
  return save (make_run (FALSE), argv[1], "/data/plain_master.h5") + save (make_run (TRUE), argv[1], "/data/both.emd")
         + save (make_calibration (), argv[1], "/data/plain_master.h5");
}
