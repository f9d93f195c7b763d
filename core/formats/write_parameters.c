/* The aberrations as parameter files of other programs. All of them take Krivanek's coefficients in polar form, angstrom,
 * C10 = -defocus, probe = A exp (-i chi). abTEM and py4DSTEM count azimuths in rad from the first (row) axis, as we do;
 * PtyRAD in degrees from the second (column) axis, so that its angle is 90 deg less ours. Azimuths are those of the scan's
 * frame; the files say how the detector lies to it, for programs that turn the scan instead of the patterns. */
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/optics.h"
#include "core/result.h"

static const char marker[] = "sideband " SB_VERSION;

static double
value_of (const json_t *values, const char *name)
{
  const json_t *value = name != NULL ? json_object_get (json_object_get (values, name), "value") : NULL;
  return json_is_number (value) ? json_number_value (value) : NAN;
}

/* Coefficients that are not zero, and C10; NULL: the result has none. from_columns: angles as PtyRAD takes them. */
static json_t *
coefficients (const SbResult *result, gboolean from_columns)
{
  const json_t *values = json_object_get (result->info, "values");
  if (isnan (value_of (values, "C10")))
    return NULL;
  json_t *object = json_object ();
  for (int t = 0; t < SB_N_TERMS; t++) {
    double c = value_of (values, optics_terms[t].name) * 10, phi = value_of (values, optics_terms[t].angle);
    if (!isfinite (c) || (c == 0 && t > 0))
      continue;
    json_object_set_new (object, optics_terms[t].name, json_real (c));
    if (optics_terms[t].m == 0 || !isfinite (phi))
      continue;
    json_object_set_new (object, optics_terms[t].angle, json_real (from_columns ? 90 - phi * 180 / G_PI : phi));
  }
  return object;
}

static double
optics_of (const SbResult *result, const char *name)
{
  const json_t *value = json_object_get (json_object_get (result->info, "acquisition"), name);
  return json_is_number (value) ? json_number_value (value) : NAN;
}

/* How the detector lies to the scan, as a sentence; g_free. */
static char *
frame_of (const SbResult *result)
{
  const json_t *calibration = json_object_get (result->info, "calibration");
  const json_t *rotation = json_object_get (calibration, "rotation");
  const char *orientation = json_string_value (json_object_get (calibration, "orientation"));
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  if (!json_is_number (rotation) || orientation == NULL)
    return g_strdup ("azimuths in the scan's frame");
  g_ascii_formatd (number, sizeof number, "%.6g", json_number_value (rotation));
  return g_strdup_printf ("azimuths in the scan's frame; detector %s, its vectors turned by %s deg from row towards column",
                          orientation, number);
}

static gboolean
known (const SbResult *result, GError **error)
{
  if (isfinite (value_of (json_object_get (result->info, "values"), "C10")) && isfinite (optics_of (result, "energy"))
      && isfinite (optics_of (result, "semiangle")))
    return TRUE;
  return sb_fail (error, SB_ERROR_ARGUMENT, "the result holds no aberrations; save that of fit, run or reconstruct");
}

static gboolean
save_text (const char *path, const char *text, GError **error)
{
  return save_bytes (path, text, strlen (text), error);
}

/* The keywords of a program's probe under "probe": eV, mrad, angstrom, rad. */
static gboolean
write_keywords (const SbResult *result, const char *path, const char *keyword, const char *use, GError **error)
{
  if (!known (result, error))
    return FALSE;
  json_t *probe = json_object (), *whole = json_object ();
  json_object_set_new (probe, "energy", json_real (optics_of (result, "energy") * 1e3));
  json_object_set_new (probe, "semiangle_cutoff", json_real (optics_of (result, "semiangle")));
  json_object_set_new (probe, keyword, coefficients (result, FALSE));
  json_object_set_new (whole, "written_by", json_string (marker));
  json_object_set_new (whole, "units", json_string ("eV, mrad, angstrom, rad; C10 = -defocus"));
  g_autofree char *frame = frame_of (result);
  json_object_set_new (whole, "frame", json_string (frame));
  json_object_set_new (whole, "use", json_string (use));
  json_object_set_new (whole, "probe", probe);
  g_autofree char *text = json_text (whole, TRUE);
  json_decref (whole);
  if (text == NULL)
    return sb_fail (error, SB_ERROR_MEMORY, "no memory for its text; close other programs");
  g_autofree char *line = g_strconcat (text, "\n", NULL);
  return save_text (path, line, error);
}

static gboolean
write_abtem (const SbResult *result, const char *path, GError **error)
{
  return write_keywords (result, path, "aberrations", "abtem.Probe (**json.load (file)[\"probe\"], gpts=..., extent=...)",
                         error);
}

static gboolean
write_py4dstem (const SbResult *result, const char *path, GError **error)
{
  return write_keywords (result, path, "polar_parameters",
                         "py4DSTEM.process.phase.SingleslicePtychography (datacube=..., **json.load (file)[\"probe\"])", error);
}

static void
yaml_number (GString *text, const char *indent, const char *name, double value)
{
  json_t *number = json_real (value);
  g_autofree char *digits = json_text (number, FALSE);
  json_decref (number);
  g_string_append_printf (text, "%s%s: %s\n", indent, name, digits != NULL ? digits : "null");
}

static gboolean
write_ptyrad (const SbResult *result, const char *path, GError **error)
{
  const json_t *step = json_object_get (json_object_get (result->info, "acquisition"), "step");
  const char *name;
  json_t *value;
  if (!known (result, error))
    return FALSE;
  g_autofree char *frame = frame_of (result);
  g_autoptr (GString) text = g_string_new (NULL);
  g_string_append_printf (text,
                          "# %s\n# Parameters of PtyRAD that a fit knows, to be put into a complete file:\n"
                          "# kV, mrad, angstrom, degrees from the fast scan axis (columns); C10 = -defocus;\n# %s\n"
                          "init_params:\n",
                          marker, frame);
  yaml_number (text, "  ", "probe_kv", optics_of (result, "energy"));
  yaml_number (text, "  ", "probe_conv_angle", optics_of (result, "semiangle"));
  if (json_is_number (json_array_get (step, 1)))
    yaml_number (text, "  ", "pos_scan_step_size", json_number_value (json_array_get (step, 1)));
  g_string_append (text, "  probe_aberrations:\n");
  json_t *list = coefficients (result, TRUE);
  json_object_foreach (list, name, value)
    yaml_number (text, "    ", name, json_number_value (value));
  json_decref (list);
  return save_text (path, text->str, error);
}

/* Our name within the first bytes, where all three have it. */
static gboolean
ours (const char *path)
{
  char head[65] = { 0 };
  FILE *file = fopen (path, "rbe");
  if (file == NULL)
    return FALSE;
  gsize n = fread (head, 1, sizeof head - 1, file);
  fclose (file);
  return n > 0 && (g_str_has_prefix (head, "# sideband ") || strstr (head, "\"written_by\": \"sideband ") != NULL);
}

static gboolean
asked (const SbResult *result, const char *name)
{
  const char *wanted = json_string_value (json_object_get (result->info, "parameters_for"));
  return g_strcmp0 (wanted, name) == 0 || g_strcmp0 (wanted, "all") == 0;
}

static gboolean
applies_abtem (const SbResult *result)
{
  return asked (result, "abtem");
}

static gboolean
applies_py4dstem (const SbResult *result)
{
  return asked (result, "py4dstem");
}

static gboolean
applies_ptyrad (const SbResult *result)
{
  return asked (result, "ptyrad");
}

const SbWriter writer_abtem = {
  .name = "abtem",
  .suffix = "_abtem.json",
  .applies = applies_abtem,
  .write = write_abtem,
  .ours = ours,
};

const SbWriter writer_py4dstem = {
  .name = "py4dstem",
  .suffix = "_py4dstem.json",
  .applies = applies_py4dstem,
  .write = write_py4dstem,
  .ours = ours,
};

const SbWriter writer_ptyrad = {
  .name = "ptyrad",
  .suffix = "_ptyrad.yaml",
  .applies = applies_ptyrad,
  .write = write_ptyrad,
  .ours = ours,
};
