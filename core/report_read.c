/* Reads back what a result says: a fit or a reconstruction may start `from` it. The file may be anybody's, so nothing in it
 * is taken for granted. */
#include <math.h>
#include <string.h>

#include "core/report.h"

static double
number (const json_t *object, const char *key)
{
  const json_t *value = json_object_get (object, key);
  return json_is_number (value) && isfinite (json_number_value (value)) ? json_number_value (value) : NAN;
}

static void
pair (const json_t *object, const char *key, double out[2])
{
  const json_t *value = json_object_get (object, key);
  for (size_t i = 0; i < 2; i++) {
    const json_t *part = json_array_get (value, i);
    out[i] = json_is_number (part) && isfinite (json_number_value (part)) ? json_number_value (part) : NAN;
  }
}

void
report_read_optics (const json_t *info, SbOptics *optics)
{
  const json_t *acquisition = json_object_get (info, "acquisition");
  optics->energy = number (acquisition, "energy");
  optics->semiangle = number (acquisition, "semiangle");
  pair (acquisition, "step", optics->step);
}

void
report_read_calibration (const json_t *info, double centre[2], double *sampling, double *rotation, char **orientation)
{
  const json_t *calibration = json_object_get (info, "calibration");
  const char *name = json_string_value (json_object_get (calibration, "orientation"));
  pair (calibration, "centre", centre);
  *sampling = number (calibration, "sampling");
  *rotation = number (calibration, "rotation");
  *orientation = g_strdup (g_strcmp0 (name, "identity") == 0 || g_strcmp0 (name, "transpose") == 0 ? name : NULL);
}

gboolean
report_read_coordinates (const json_t *info, const SbOptics *optics, SbCoordinates *at)
{
  const json_t *coordinates = json_object_get (info, "coordinates");
  SbOptics then;
  gboolean found = FALSE;
  memset (at, 0, sizeof *at);
  report_read_optics (info, &then);
  gboolean known = then.energy > 0 && then.semiangle > 0;
  for (int i = 0; i < SB_N_COORDINATES; i++) {
    double x = number (coordinates, coordinate_name (i));
    int order = coordinate_order (i);
    if (isnan (x))
      continue;
    found = TRUE;
    /* The same nm are other rad at another edge. */
    if (order > 0 && known && (then.energy != optics->energy || then.semiangle != optics->semiangle))
      x *= optics_edge_per_nm (optics, order) / optics_edge_per_nm (&then, order);
    at->x[i] = i == SB_DEPTH ? MAX (x, 0) : x;
  }
  return found;
}
