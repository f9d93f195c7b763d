/* Exports as part of a command: what was asked for goes into the result. */
#include <math.h>

#include "core/error.h"
#include "core/exports.h"
#include "core/stages.h"

static void
add_square (SbCommand *command, const char *name, const char *title, const char *unit, float *data, gint64 n, double step,
            const char *axis_unit)
{
  gint64 shape[2] = { n, n };
  SbArray *array = result_add (command->result, name, title, unit, data, 2, shape);
  for (int axis = 0; axis < 2; axis++) {
    array->step[axis] = step;
    g_free (array->axis_unit[axis]);
    array->axis_unit[axis] = g_strdup (axis_unit);
  }
}

static gboolean
export_probe (SbCommand *command, const SbCoordinates *at, GError **error)
{
  g_autoptr (SbProbe) probe = probe_new (&command->setup.optics, at, command->work->spectrum->edge_width, error);
  if (probe == NULL)
    return FALSE;
  gint64 n = probe->n;
  double nm = probe->step / 10;
  if (probe->cramped)
    setup_warn (&command->setup,
                "The probe is wider than the %.3g nm of its picture; what leaves it at one side enters at "
                "the other.",
                (double)n * nm);
  add_square (command, "probe", "probe intensity", "", g_steal_pointer (&probe->intensity), n, nm, "nm");
  add_square (command, "probe_phase", "probe phase", "rad", g_steal_pointer (&probe->wave_phase), n, nm, "nm");
  add_square (command, "probe_reciprocal", "aperture amplitude", "", g_steal_pointer (&probe->amplitude), n, probe->angle_step,
              "mrad");
  add_square (command, "probe_reciprocal_phase", "aperture phase", "rad", g_steal_pointer (&probe->phase), n, probe->angle_step,
              "mrad");
  return TRUE;
}

gboolean
stage_export (SbCommand *command, const SbCoordinates *at, GError **error)
{
  const SbExportOptions *options = &command->setup.exports;
  if (options->probe && !export_probe (command, at, error))
    return FALSE;
  if (options->chi) {
    float *chi = chi_surface (at, error);
    if (chi == NULL)
      return FALSE;
    add_square (command, "chi", "aberration surface", "rad", chi, SB_CHI_SIDE,
                2 * command->setup.optics.semiangle / (SB_CHI_SIDE - 1), "mrad");
  }
  if (g_strcmp0 (options->parameters_for, "none") != 0 && options->parameters_for != NULL)
    command_set (command, "parameters_for", json_string (options->parameters_for));
  return TRUE;
}
