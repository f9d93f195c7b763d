#include "core/setup.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/report.h"

void
setup_warn (SbSetup *setup, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_ptr_array_add (setup->warnings, sb_text_va (format, args));
  va_end (args);
}

/* A copy of the given options, or the group's defaults. */
static void
group_take (const SbParamGroup *group, gpointer target, gconstpointer given)
{
  if (given == NULL) {
    param_group_defaults (group, target);
    return;
  }
  memcpy (target, given, group->size);
  for (guint i = 0; i < group->n_rows; i++) {
    SbParamType type = group->rows[i].type;
    char **text = (char **)((char *)target + group->rows[i].offset);
    if (type == SB_PARAM_CHOICE || type == SB_PARAM_TEXT || type == SB_PARAM_PATH)
      *text = g_strdup (*text);
  }
}

void
setup_clear (SbSetup *setup)
{
  param_group_clear (&calibration_params, &setup->calibration);
  param_group_clear (&spectrum_params, &setup->spectrum);
  param_group_clear (&aberration_params, &setup->aberrations);
  param_group_clear (&fit_params, &setup->fit);
  param_group_clear (&reconstruction_params, &setup->reconstruction);
  param_group_clear (&export_params, &setup->exports);
  g_clear_pointer (&setup->warnings, g_ptr_array_unref);
}

/* ---- optics ---- */

/* The user's number wins over the file's, that over an earlier result's; a conflict with the file is said. */
static double
resolve (SbSetup *setup, const char *name, const char *unit, double given, double file, double earlier)
{
  if (isnan (given))
    return !isnan (file) ? file : earlier;
  if (!isnan (file) && fabs (given - file) > 0.01 * fabs (file))
    setup_warn (setup, "%s is given as %g %s, but the acquisition says %g %s.", name, given, unit, file, unit);
  return given;
}

static gboolean
in_range (const char *name, double value, GError **error)
{
  for (guint i = 0; i < optics_params.n_rows; i++) {
    const SbParam *row = &optics_params.rows[i];
    if (strcmp (row->name, name) == 0 && !isnan (value) && !(value >= row->min && value <= row->max))
      return sb_fail (error, SB_ERROR_ARGUMENT, "%s is %g %s; give a value between %g and %g.", name, value, row->unit,
                      row->min, row->max);
  }
  return TRUE;
}

static gboolean
resolve_optics (SbSetup *setup, const SbHeader *header, const SbOpticsOptions *given, const SbOptics *earlier, GError **error)
{
  SbOptics *optics = &setup->optics;
  optics->energy = resolve (setup, "energy", "kV", given->energy, header->energy, earlier->energy);
  optics->semiangle = resolve (setup, "semiangle", "mrad", given->semiangle, header->semiangle, earlier->semiangle);
  for (int axis = 0; axis < 2; axis++)
    optics->step[axis] = resolve (setup, "step", "Å", given->step[axis], header->step[axis], earlier->step[axis]);
  return in_range ("energy", optics->energy, error) && in_range ("semiangle", optics->semiangle, error)
         && in_range ("step", optics->step[0], error) && in_range ("step", optics->step[1], error);
}

static gboolean
optics_complete (const SbOptics *optics, GError **error)
{
  g_autoptr (GPtrArray) missing = g_ptr_array_new ();
  if (isnan (optics->energy))
    g_ptr_array_add (missing, (gpointer) "energy (kV)");
  if (isnan (optics->semiangle))
    g_ptr_array_add (missing, (gpointer) "semiangle (mrad)");
  if (isnan (optics->step[0]) || isnan (optics->step[1]))
    g_ptr_array_add (missing, (gpointer) "step (Å)");
  if (missing->len == 0)
    return TRUE;
  gboolean one = missing->len == 1;
  g_ptr_array_add (missing, NULL);
  g_autofree char *names = g_strjoinv (" and ", (char **)missing->pdata);
  return sb_fail (error, SB_ERROR_ARGUMENT, "Give %s: the acquisition does not say %s.", names, one ? "it" : "them");
}

/* ---- an earlier result ---- */

static gboolean
take_calibration (SbSetup *setup, const json_t *info)
{
  SbCalibrationOptions *to = &setup->calibration;
  double centre[2], sampling, rotation;
  g_autofree char *orientation = NULL;
  report_read_calibration (info, centre, &sampling, &rotation, &orientation);
  for (int axis = 0; axis < 2; axis++)
    if (isnan (to->centre[axis]))
      to->centre[axis] = centre[axis];
  if (isnan (to->sampling))
    to->sampling = sampling;
  if (isnan (to->rotation))
    to->rotation = rotation;
  if (orientation != NULL && (to->orientation == NULL || strcmp (to->orientation, "auto") == 0)) {
    g_free (to->orientation);
    to->orientation = g_steal_pointer (&orientation);
  }
  return !isnan (rotation);
}

static gboolean
take_result (SbSetup *setup, const json_t *info, gboolean need_optics, GError **error)
{
  gboolean calibrated = take_calibration (setup, info);
  setup->has_from = need_optics && report_read_coordinates (info, &setup->optics, &setup->from);
  if (calibrated || setup->has_from)
    return TRUE;
  return sb_fail (error, SB_ERROR_ARGUMENT,
                  "%s holds neither a calibration nor a fit; give as from a result of "
                  "calibrate, fit or run.",
                  setup->aberrations.from);
}

gboolean
setup_init (SbSetup *setup, const SbAcquisition *acquisition, const SbPipelineOptions *options, gboolean need_optics,
            GError **error)
{
  SbOpticsOptions given;
  SbOptics earlier = { NAN, NAN, { NAN, NAN } };

  memset (setup, 0, sizeof *setup);
  setup->warnings = g_ptr_array_new_with_free_func (g_free);
  group_take (&optics_params, &given, options->optics);
  group_take (&calibration_params, &setup->calibration, options->calibration);
  group_take (&spectrum_params, &setup->spectrum, options->spectrum);
  group_take (&aberration_params, &setup->aberrations, options->aberrations);
  group_take (&fit_params, &setup->fit, options->fit);
  group_take (&reconstruction_params, &setup->reconstruction, options->reconstruction);
  group_take (&export_params, &setup->exports, options->exports);

  const char *from = setup->aberrations.from;
  SbResult *result = NULL;
  if (from != NULL && from[0] != '\0') {
    if ((result = result_open (from, error)) == NULL)
      return FALSE;
    report_read_optics (result->info, &earlier);
  }
  gboolean done = resolve_optics (setup, &acquisition->header, &given, &earlier, error)
                  && (!need_optics || optics_complete (&setup->optics, error))
                  && (result == NULL || take_result (setup, result->info, need_optics, error));
  result_free (result);
  return done;
}
