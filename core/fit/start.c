/* The user's texts about aberrations, resolved to coordinates: where the fit starts, what is held, within what limits. */
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/fit/fit.h"
#include "core/fit/values.h"

/* Searched by default: tilt on either side (mrad), depth from zero (nm). */
static const double tilt_range = 30, depth_range = 60;

#define ROW(field) .offset = G_STRUCT_OFFSET (SbAberrationOptions, field)
#define PLAIN .value = NAN, .min = -INFINITY, .max = INFINITY, .show_min = -INFINITY, .show_max = INFINITY

static const SbParam rows[] = {
  { .name = "coefficients",
    .title = "Known coefficients",
    .unit = "nm, rad",
    .help = "Known aberrations, as in \"C10=5.5 C12=1.2 phi12=0.3 tilt_row=2\" (nm, angles rad, tilt mrad, "
            "depth nm); a fit holds them.",
    .type = SB_PARAM_TEXT,
    ROW (coefficients),
    PLAIN,
    .flags = SB_PARAM_LIVE },
  { .name = "start",
    .title = "Start values",
    .unit = "nm, rad",
    .help = "Where the fit starts, in the form of coefficients; what stands here is not searched.",
    .type = SB_PARAM_TEXT,
    ROW (start),
    PLAIN,
    .flags = SB_PARAM_ADVANCED },
  { .name = "lock",
    .title = "Hold",
    .unit = "",
    .help = "Names the fit holds at their start or zero, as in \"C30 depth tilt\".",
    .type = SB_PARAM_TEXT,
    ROW (lock),
    PLAIN,
    .flags = SB_PARAM_ADVANCED },
  { .name = "range",
    .title = "Limits",
    .unit = "nm, mrad",
    .help = "Limits of the fit, as in \"C10=-40:40 C12=0:10 depth=0:6\".",
    .type = SB_PARAM_TEXT,
    ROW (range),
    PLAIN,
    .flags = SB_PARAM_ADVANCED },
  { .name = "from",
    .title = "From result",
    .unit = "",
    .help = "A result file: its calibration is taken; its values are the start of a fit, or known to a "
            "reconstruction.",
    .type = SB_PARAM_PATH,
    ROW (from),
    PLAIN },
};
const SbParamGroup aberration_params = { "aberrations", "Aberrations", sizeof (SbAberrationOptions), rows,
                                         G_N_ELEMENTS (rows) };

/* ---- limits ---- */

static void
default_limits (SbStart *start, const SbFitOptions *fit, const SbOptics *optics)
{
  int i = 0;
  for (int t = 0; t < SB_N_TERMS; t++) {
    const SbTerm *term = &optics_terms[t];
    double limit = term->n == 1 ? term->default_range * optics_edge_per_nm (optics, 1) : fit->higher_order_limit;
    for (int part = 0; part < (term->m > 0 ? 2 : 1); part++, i++) {
      start->low[i] = -limit;
      start->high[i] = limit;
    }
  }
  start->low[SB_TILT_ROW] = start->low[SB_TILT_COL] = -tilt_range;
  start->high[SB_TILT_ROW] = start->high[SB_TILT_COL] = tilt_range;
  start->low[SB_DEPTH] = 0;
  start->high[SB_DEPTH] = depth_range;
}

static void
limit_set (SbStart *start, int index, double low, double high, const SbOptics *optics)
{
  int order = coordinate_order (index);
  double scale = order > 0 ? optics_edge_per_nm (optics, order) : 1;
  start->low[index] = low * scale;
  start->high[index] = high * scale;
}

static gboolean
take_range (SbStart *start, const SbNamed *named, const SbOptics *optics, gboolean ranged[SB_N_COORDINATES], GError **error)
{
  double low = named->low, high = named->high;
  int parts = named->kind == SB_NAME_MAGNITUDE || named->kind == SB_NAME_TILT ? 2 : 1;
  if (named->kind == SB_NAME_ANGLE)
    return sb_fail (error, SB_ERROR_ARGUMENT, "range: %s cannot be limited; give limits of %s, or of %sa and %sb.", named->name,
                    optics_terms[named->term].name, optics_terms[named->term].name, optics_terms[named->term].name);
  if (!(low < high))
    return sb_fail (error, SB_ERROR_ARGUMENT,
                    "range: %s=%g:%g is empty; give the smaller limit first, or hold it with "
                    "lock.",
                    named->name, low, high);
  if (named->index == SB_DEPTH && low < 0)
    return sb_fail (error, SB_ERROR_ARGUMENT, "range: depth=%g:%g reaches below 0; give depth=0:%g.", low, high, MAX (high, 1));
  if (named->kind == SB_NAME_MAGNITUDE) {
    if (low > 0)
      return sb_fail (error, SB_ERROR_ARGUMENT,
                      "range: %s has an angle, so that it cannot be kept above %g; give "
                      "%s=0:%g, or limits of %sa and %sb.",
                      named->name, low, named->name, high, named->name, named->name);
    high = MAX (high, -low);
    low = -high;
  }
  for (int i = named->index; i < named->index + parts; i++) {
    if (ranged[i])
      return sb_fail (error, SB_ERROR_ARGUMENT, "range: %s has limits already; give them once.", coordinate_name (i));
    ranged[i] = TRUE;
    limit_set (start, i, low, high, optics);
  }
  return TRUE;
}

static gboolean
take_ranges (SbStart *start, const char *text, const SbOptics *optics, gboolean ranged[SB_N_COORDINATES], GError **error)
{
  g_autoptr (GPtrArray) list = values_parse ("range", text, SB_FORM_RANGES, error);
  if (list == NULL)
    return FALSE;
  for (guint i = 0; i < list->len; i++)
    if (!take_range (start, g_ptr_array_index (list, i), optics, ranged, error))
      return FALSE;
  return TRUE;
}

/* ---- values ---- */

static gboolean
take_locks (SbStart *start, const char *text, GError **error)
{
  g_autoptr (GPtrArray) list = values_parse ("lock", text, SB_FORM_NAMES, error);
  if (list == NULL)
    return FALSE;
  for (guint i = 0; i < list->len; i++) {
    const SbNamed *named = g_ptr_array_index (list, i);
    if (named->kind == SB_NAME_ANGLE)
      return sb_fail (error, SB_ERROR_ARGUMENT, "lock: %s cannot be held alone; hold %s, which holds its angle too.",
                      named->name, optics_terms[named->term].name);
    start->locked[named->index] = TRUE;
    if (named->kind == SB_NAME_MAGNITUDE || named->kind == SB_NAME_TILT)
      start->locked[named->index + 1] = TRUE;
  }
  return TRUE;
}

static gboolean
take_values (SbStart *start, const SbAberrationOptions *options, const SbOptics *optics, GError **error)
{
  SbValues known, first;
  if (!values_resolve ("coefficients", options->coefficients, optics, &known, error)
      || !values_resolve ("start", options->start, optics, &first, error))
    return FALSE;
  for (int i = 0; i < SB_N_COORDINATES; i++) {
    if (known.given[i] && first.given[i])
      return sb_fail (error, SB_ERROR_ARGUMENT, "%s stands in coefficients (held) and in start (fitted); give it in one.",
                      coordinate_name (i));
    if (!known.given[i] && !first.given[i])
      continue;
    start->start.x[i] = known.given[i] ? known.at.x[i] : first.at.x[i];
    start->given[i] = TRUE;
    start->locked[i] = known.given[i];
  }
  return TRUE;
}

/* A start outside the user's own limits is a contradiction; limits of ours give way. */
static gboolean
reconcile (SbStart *start, const gboolean ranged[SB_N_COORDINATES], const SbOptics *optics, GError **error)
{
  for (int i = 0; i < SB_N_COORDINATES; i++) {
    double x = start->start.x[i], slack = 1e-9 * (start->high[i] - start->low[i]);
    int order = coordinate_order (i);
    double scale = order > 0 ? optics_edge_per_nm (optics, order) : 1;
    if (start->locked[i] || (x >= start->low[i] - slack && x <= start->high[i] + slack))
      continue;
    if (ranged[i] && start->given[i])
      return sb_fail (error, SB_ERROR_ARGUMENT, "%s starts at %g, outside its range %g:%g; change one of them.",
                      coordinate_name (i), x / scale, start->low[i] / scale, start->high[i] / scale);
    if (ranged[i]) { /* nothing says where: begin at the limit nearest to zero */
      start->start.x[i] = CLAMP (x, start->low[i], start->high[i]);
      continue;
    }
    start->low[i] = MIN (start->low[i], x);
    start->high[i] = MAX (start->high[i], x);
  }
  return TRUE;
}

/* Numbers beyond any microscope (rad at the edge, mrad, nm) would only overflow further on. */
static gboolean
plausible (const SbStart *start, const SbOptics *optics, GError **error)
{
  for (int i = 0; i < SB_N_COORDINATES; i++) {
    int order = coordinate_order (i);
    double most = order > 0 ? 1e6 : i == SB_DEPTH ? 1e5 : 1e3, scale = order > 0 ? optics_edge_per_nm (optics, order) : 1;
    double x = MAX (fabs (start->start.x[i]), MAX (fabs (start->low[i]), fabs (start->high[i])));
    if (!(x <= most))
      return sb_fail (error, SB_ERROR_ARGUMENT, "%s reaches %g, more than any specimen or lens has; stay within %.3g %s.",
                      coordinate_name (i), x / scale, most / scale, i == SB_TILT_ROW || i == SB_TILT_COL ? "mrad" : "nm");
  }
  return TRUE;
}

gboolean
start_resolve (SbStart *start, const SbAberrationOptions *options, const SbFitOptions *fit, const SbOptics *optics,
               const SbCoordinates *from_values, GError **error)
{
  gboolean ranged[SB_N_COORDINATES] = { FALSE };
  memset (start, 0, sizeof *start);
  default_limits (start, fit, optics);
  if (from_values != NULL) {
    start->start = *from_values;
    for (int i = 0; i < SB_N_COORDINATES; i++)
      start->given[i] = TRUE;
  }
  return take_ranges (start, options->range, optics, ranged, error) && take_values (start, options, optics, error)
         && take_locks (start, options->lock, error) && reconcile (start, ranged, optics, error)
         && plausible (start, optics, error);
}
