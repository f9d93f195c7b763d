#include "core/formats/nion_json.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "core/axes.h"
#include "core/error.h"

/* Deeper JSON than any metadata is damage; recursion has to end. */
enum { MOST_DEEP = 16 };

/* The number at a path of keys; NAN: there is none. */
static double
number_at (const json_t *object, const char *path)
{
  g_auto (GStrv) keys = g_strsplit (path, ".", -1);
  for (guint i = 0; keys[i] != NULL; i++)
    object = json_object_get (object, keys[i]);
  return json_is_number (object) ? json_number_value (object) : NAN;
}

/* The first number of that name anywhere below: programs and instruments nest it differently. */
static double
find_number (const json_t *value, const char *name, int deep)
{
  double found = NAN;
  if (deep > MOST_DEEP)
    return NAN;
  if (json_is_object (value)) {
    const json_t *own = json_object_get (value, name);
    if (json_is_number (own))
      return json_number_value (own);
    const char *key;
    json_t *child;
    json_object_foreach ((json_t *)value, key, child)
      if (isnan (found))
        found = find_number (child, name, deep + 1);
  } else
    for (gsize i = 0; json_is_array (value) && i < json_array_size (value) && isnan (found); i++)
      found = find_number (json_array_get (value, i), name, deep + 1);
  return found;
}

/* The calibrations of the last axes of rank; scan axes of a stack of frames are not told. */
static void
read_axes (const json_t *list, int rank, SbAxis axes[4])
{
  for (int i = 0; i < 4; i++)
    axes[i] = (SbAxis){ NAN, NULL };
  if (json_array_size (list) != (gsize)rank)
    return;
  for (int i = rank == 4 ? 0 : 2; i < 4; i++) {
    const json_t *entry = json_array_get (list, (gsize)(i + rank - 4));
    axes[i].scale = number_at (entry, "scale");
    axes[i].units = g_strdup (json_string_value (json_object_get (entry, "units")));
  }
}

gboolean
nion_properties (const char *path, const char *text, gsize size, int rank, SbHeader *header, GError **error)
{
  SbAxis axes[4];
  json_error_t why;
  json_t *json = text != NULL ? json_loadb (text, size, 0, &why) : NULL;
  if (!json_is_object (json)) {
    g_ptr_array_add (header->warnings,
                     g_strdup_printf ("The metadata of %s cannot be read, so that nothing is known of its units.", path));
    json_decref (json);
    return TRUE;
  }
  double volts = number_at (json, "metadata.instrument.high_tension");
  if (isnan (volts))
    volts = find_number (json, "high_tension", 0);
  if (isnan (volts))
    volts = find_number (json, "high_tension_v", 0);
  if (volts >= 1e3 && volts <= 1e7)
    header->energy = volts / 1e3;
  double aperture = find_number (json, "ConvergenceAngle", 0); /* rad */
  if (aperture > 1e-4 && aperture < 0.5)
    header->semiangle = 1e3 * aperture;
  const json_t *list = json_object_get (json, "dimensional_calibrations");
  if (list == NULL)
    list = json_object_get (json, "spatial_calibrations");
  read_axes (list, rank, axes);
  gboolean good = axes_apply (path, axes, header, error);
  axes_clear (axes);
  json_decref (json);
  return good;
}
