#include "core/fit/values.h"

#include <math.h>
#include <string.h>

#include "core/error.h"

void
named_free (SbNamed *named)
{
  if (named == NULL)
    return;
  g_free (named->name);
  g_free (named);
}

/* ---- names ---- */

static int
first_coordinate (int term)
{
  int index = 0;
  for (int t = 0; t < term; t++)
    index += optics_terms[t].m > 0 ? 2 : 1;
  return index;
}

static gboolean
name_find (const char *name, SbNamed *named)
{
  named->term = -1;
  named->index = coordinate_index (name);
  named->kind = SB_NAME_COORDINATE;
  if (strcmp (name, "tilt") == 0) {
    named->kind = SB_NAME_TILT;
    named->index = SB_TILT_ROW;
    return TRUE;
  }
  for (int t = 0; t < SB_N_TERMS; t++) {
    const SbTerm *term = &optics_terms[t];
    gboolean angle = term->angle != NULL && strcmp (name, term->angle) == 0;
    if (!angle && strcmp (name, term->name) != 0)
      continue;
    named->index = first_coordinate (t);
    named->term = t;
    if (term->m > 0)
      named->kind = angle ? SB_NAME_ANGLE : SB_NAME_MAGNITUDE;
    return TRUE;
  }
  return named->index >= 0;
}

/* Edits (insert, delete, replace) from a to b; letters that differ in case only count half. Names are short. */
static double
distance (const char *a, const char *b)
{
  double row[32];
  size_t n = MIN (strlen (b), G_N_ELEMENTS (row) - 1), m = MIN (strlen (a), G_N_ELEMENTS (row) - 1);
  for (size_t j = 0; j <= n; j++)
    row[j] = (double)j;
  for (size_t i = 1; i <= m; i++) {
    double diagonal = row[0];
    row[0] = (double)i;
    for (size_t j = 1; j <= n; j++) {
      double same = a[i - 1] == b[j - 1] ? 0 : g_ascii_tolower (a[i - 1]) == g_ascii_tolower (b[j - 1]) ? 0.5 : 1;
      double best = MIN (diagonal + same, 1 + MIN (row[j], row[j - 1]));
      diagonal = row[j];
      row[j] = best;
    }
  }
  return row[n];
}

static const char *
name_nearest (const char *name)
{
  const char *nearest = "tilt";
  double least = distance (name, nearest);
  for (int i = 0; i < SB_N_COORDINATES + 2 * SB_N_TERMS; i++) {
    const char *candidate = i < SB_N_COORDINATES ? coordinate_name (i)
                            : i % 2 == 0         ? optics_terms[(i - SB_N_COORDINATES) / 2].name
                                                 : optics_terms[(i - SB_N_COORDINATES) / 2].angle;
    double d = candidate != NULL ? distance (name, candidate) : INFINITY;
    if (d < least) {
      least = d;
      nearest = candidate;
    }
  }
  return nearest;
}

/* ---- text ---- */

static gboolean
separates (char c)
{
  return c == ',' || c == ';' || g_ascii_isspace (c);
}

static const char *
skip_spaces (const char *p)
{
  while (g_ascii_isspace (*p))
    p++;
  return p;
}

static const char *
form_example (SbNamedForm form)
{
  return form == SB_FORM_VALUES   ? "\"C10=5.5 C12=1.2 phi12=0.3\""
         : form == SB_FORM_RANGES ? "\"C10=-40:40 depth=0:6\""
                                  : "\"C30 depth tilt\"";
}

/* "5.5" or "-40:40" after the equals sign; leaves *at behind it. */
static gboolean
parse_numbers (const char *option, SbNamedForm form, const char **at, SbNamed *named, GError **error)
{
  char *end = NULL;
  const char *p = skip_spaces (*at);
  gboolean range = FALSE;
  named->low = named->high = g_ascii_strtod (p, &end);
  gboolean good = end != p && isfinite (named->low);
  if (good && form == SB_FORM_RANGES) {
    p = skip_spaces (end);
    range = *p == ':';
    if (range) {
      p = skip_spaces (p + 1);
      named->high = g_ascii_strtod (p, &end);
      good = end != p && isfinite (named->high);
    }
  }
  if (!good || (*end != '\0' && !separates (*end)))
    return sb_fail (error, SB_ERROR_ARGUMENT, "%s: \"%s=%s\" is no plain number (nm, rad or mrad); write %s like %s.", option,
                    named->name, skip_spaces (*at), option, form_example (form));
  if (form == SB_FORM_RANGES && !range)
    return sb_fail (error, SB_ERROR_ARGUMENT, "%s: %s=%g is no range; write two limits, as in %s.", option, named->name,
                    named->low, form_example (form));
  *at = end;
  return TRUE;
}

static SbNamed *
parse_entry (const char *option, SbNamedForm form, const char **at, GError **error)
{
  const char *start = *at, *p = start;
  SbNamed *named = g_new0 (SbNamed, 1);
  while (g_ascii_isalnum (*p) || *p == '_')
    p++;
  named->name = g_strndup (start, (gsize)(p - start));
  gboolean equals = *skip_spaces (p) == '=';
  if (p == start || (*p != '\0' && !separates (*p) && !equals))
    sb_fail (error, SB_ERROR_ARGUMENT, "%s cannot be read at \"%s\"; write %s like %s.", option, start, option,
             form_example (form));
  else if (!name_find (named->name, named))
    sb_fail (error, SB_ERROR_ARGUMENT, "%s: there is no \"%s\"; the nearest name is %s.", option, named->name,
             name_nearest (named->name));
  else if (equals != (form != SB_FORM_NAMES))
    sb_fail (error, SB_ERROR_ARGUMENT, "%s: %s %s; write %s like %s.", option, named->name,
             equals ? "stands with a value" : "has no value", option, form_example (form));
  else {
    *at = equals ? skip_spaces (p) + 1 : p;
    if (!equals || parse_numbers (option, form, at, named, error))
      return named;
  }
  named_free (named);
  return NULL;
}

GPtrArray *
values_parse (const char *option, const char *text, SbNamedForm form, GError **error)
{
  g_autoptr (GPtrArray) list = g_ptr_array_new_with_free_func ((GDestroyNotify)named_free);
  const char *p = text != NULL ? text : "";
  for (;;) {
    while (separates (*p))
      p++;
    if (*p == '\0')
      return g_steal_pointer (&list);
    SbNamed *named = parse_entry (option, form, &p, error);
    if (named == NULL)
      return NULL;
    g_ptr_array_add (list, named);
  }
}

/* ---- values ---- */

typedef struct Polar {
  double magnitude, angle; /* nm, rad; NAN: not given */
} Polar;

static gboolean
take (const char *option, const SbNamed *named, const SbOptics *optics, SbValues *values, Polar *polar, GError **error)
{
  double *part = named->kind == SB_NAME_MAGNITUDE ? &polar[named->term].magnitude
                 : named->kind == SB_NAME_ANGLE   ? &polar[named->term].angle
                                                  : NULL;
  if (named->kind == SB_NAME_TILT)
    return sb_fail (error, SB_ERROR_ARGUMENT, "%s: tilt has two directions; give tilt_row and tilt_col (mrad).", option);
  if (part != NULL ? !isnan (*part) : values->given[named->index])
    return sb_fail (error, SB_ERROR_ARGUMENT, "%s: %s stands there twice; give it once.", option, named->name);
  if (named->kind == SB_NAME_ANGLE && fabs (named->low) > 2 * G_PI)
    return sb_fail (error, SB_ERROR_ARGUMENT, "%s: %s=%g is more than a full turn; angles are in rad.", option, named->name,
                    named->low);
  if (named->index == SB_DEPTH && named->low < 0)
    return sb_fail (error, SB_ERROR_ARGUMENT, "%s: depth=%g is negative; give a depth in nm from 0 on.", option, named->low);
  if (part != NULL) {
    *part = named->low;
    return TRUE;
  }
  int order = coordinate_order (named->index);
  values->at.x[named->index] = named->low * (order > 0 ? optics_edge_per_nm (optics, order) : 1);
  values->given[named->index] = TRUE;
  return TRUE;
}

static gboolean
take_polar (const char *option, int term, const Polar *polar, const SbOptics *optics, SbValues *values, GError **error)
{
  const SbTerm *row = &optics_terms[term];
  int a = first_coordinate (term);
  if (isnan (polar->magnitude) && isnan (polar->angle))
    return TRUE;
  if (isnan (polar->magnitude))
    return sb_fail (error, SB_ERROR_ARGUMENT, "%s: %s stands without %s; give both, or %sa and %sb.", option, row->angle,
                    row->name, row->name, row->name);
  if (values->given[a] || values->given[a + 1])
    return sb_fail (error, SB_ERROR_ARGUMENT, "%s: %s is given twice, by its magnitude and by %sa or %sb; give one form.",
                    option, row->name, row->name, row->name);
  optics_from_polar (optics, term, polar->magnitude, isnan (polar->angle) ? 0 : polar->angle, &values->at);
  values->given[a] = values->given[a + 1] = TRUE;
  return TRUE;
}

gboolean
values_resolve (const char *option, const char *text, const SbOptics *optics, SbValues *values, GError **error)
{
  Polar polar[SB_N_TERMS];
  memset (values, 0, sizeof *values);
  for (int t = 0; t < SB_N_TERMS; t++)
    polar[t] = (Polar){ NAN, NAN };
  g_autoptr (GPtrArray) list = values_parse (option, text, SB_FORM_VALUES, error);
  if (list == NULL)
    return FALSE;
  for (guint i = 0; i < list->len; i++)
    if (!take (option, g_ptr_array_index (list, i), optics, values, polar, error))
      return FALSE;
  for (int t = 0; t < SB_N_TERMS; t++)
    if (!take_polar (option, t, &polar[t], optics, values, error))
      return FALSE;
  return TRUE;
}
