/* The texts users write coefficients in: what they mean and which are refused, with the sentence that helps. */
#include <locale.h>
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/fit/fit.h"
#include "tests/unit/comma_locale.h"

static const SbOptics optics = { 300, 30, { 0.4, 0.4 } };
static const SbFitOptions fit = { 42, 200, 20, (char *)"auto" };

/* rad at the edge of 1 nm at 300 kV and 30 mrad, ~ alpha^(n+1) / (n+1): the simulation of the example film had C10 = 5.5 nm
 * and states 7.898865939612566 rad. */
static double
edge (int n)
{
  return 7.898865939612566 / 5.5 * pow (0.03, n - 1) * 2 / (n + 1);
}

static gboolean
resolve (SbStart *start, const char *coefficients, const char *first, const char *lock, const char *range, GError **error)
{
  SbAberrationOptions options = { (char *)coefficients, (char *)first, (char *)lock, (char *)range, NULL };
  return start_resolve (start, &options, &fit, &optics, NULL, error);
}

static void
near (double value, double expected)
{
  if (!(fabs (value - expected) <= 1e-9 * MAX (1, fabs (expected))))
    g_error ("%.15g is not %.15g", value, expected); /* ends the test program only */
}

static void
assert_value (const SbStart *start, const char *name, double expected)
{
  int i = coordinate_index (name);
  near (start->start.x[i], expected);
  g_assert_true (start->given[i]);
}

static void
test_values (void)
{
  SbStart start;
  GError *error = NULL;
  g_assert_true (resolve (&start, "C10=5.5 C12=1.2,phi12=0.3; C21a = -30\tC30=2e3 tilt_row=8 tilt_col=-5 depth=4", NULL, NULL,
                          NULL, &error));
  g_assert_no_error (error);
  assert_value (&start, "C10", 5.5 * edge (1));
  assert_value (&start, "C12a", 1.2 * cos (0.6) * edge (1));
  assert_value (&start, "C12b", 1.2 * sin (0.6) * edge (1));
  assert_value (&start, "C21a", -30 * edge (2));
  g_assert_false (start.given[coordinate_index ("C21b")]);
  assert_value (&start, "C30", 2000 * edge (3));
  assert_value (&start, "tilt_row", 8);
  assert_value (&start, "tilt_col", -5);
  assert_value (&start, "depth", 4);
  for (int i = 0; i < SB_N_COORDINATES; i++)
    g_assert_true (start.locked[i] == start.given[i]); /* known values are held */

  g_assert_true (resolve (&start, NULL, "C12=3", NULL, NULL, &error)); /* no angle: phi = 0 */
  assert_value (&start, "C12a", 3 * edge (1));
  assert_value (&start, "C12b", 0);
  g_assert_false (start.locked[1] || start.locked[2]); /* start values are fitted */

  g_assert_true (resolve (&start, "", "  ", NULL, "", &error));
  for (int i = 0; i < SB_N_COORDINATES; i++)
    g_assert_false (start.given[i] || start.locked[i] || start.start.x[i] != 0);
}

static void
test_every_name (void)
{
  for (int i = 0; i < SB_N_COORDINATES; i++) {
    SbStart start;
    GError *error = NULL;
    g_autofree char *text = g_strdup_printf ("%s=1", coordinate_name (i));
    g_assert_true (resolve (&start, text, NULL, NULL, NULL, &error));
    near (start.start.x[i], i < SB_N_CHI ? edge (coordinate_order (i)) : 1);
  }
  for (int t = 0, at = 0; t<SB_N_TERMS; at += optics_terms[t].m> 0 ? 2 : 1, t++) {
    if (optics_terms[t].m == 0)
      continue;
    SbStart start;
    GError *error = NULL;
    g_autofree char *text = g_strdup_printf ("%s=2 %s=0.1", optics_terms[t].name, optics_terms[t].angle);
    g_assert_true (resolve (&start, NULL, text, NULL, NULL, &error));
    near (start.start.x[at], 2 * edge (optics_terms[t].n) * cos (0.1 * optics_terms[t].m));
    near (start.start.x[at + 1], 2 * edge (optics_terms[t].n) * sin (0.1 * optics_terms[t].m));
  }
}

static void
assert_limits (const SbStart *start, const char *name, double low, double high)
{
  int i = coordinate_index (name);
  near (start->low[i], low);
  near (start->high[i], high);
}

static void
test_ranges (void)
{
  SbStart start;
  GError *error = NULL;
  g_assert_true (resolve (&start, NULL, NULL, NULL, NULL, &error));
  assert_limits (&start, "C10", -40 * edge (1), 40 * edge (1));
  assert_limits (&start, "C12b", -10 * edge (1), 10 * edge (1));
  assert_limits (&start, "C21a", -20, 20);
  assert_limits (&start, "C56b", -20, 20);
  assert_limits (&start, "tilt_col", -30, 30);
  assert_limits (&start, "depth", 0, 60);

  g_assert_true (resolve (&start, NULL, NULL, NULL, "C10=-40:15, depth=0:6 tilt=-3:4; C12=0:7 C30=-1000 : 500", &error));
  assert_limits (&start, "C10", -40 * edge (1), 15 * edge (1));
  assert_limits (&start, "C12a", -7 * edge (1), 7 * edge (1));
  assert_limits (&start, "C12b", -7 * edge (1), 7 * edge (1));
  assert_limits (&start, "C30", -1000 * edge (3), 500 * edge (3));
  assert_limits (&start, "tilt_row", -3, 4);
  assert_limits (&start, "tilt_col", -3, 4);
  assert_limits (&start, "depth", 0, 6);

  g_assert_true (resolve (&start, NULL, "C10=70", NULL, NULL, &error)); /* a limit of ours gives way */
  assert_limits (&start, "C10", -40 * edge (1), 70 * edge (1));
  g_assert_true (resolve (&start, NULL, NULL, NULL, "C10=5:9", &error)); /* starts inside what was asked */
  near (start.start.x[0], 5 * edge (1));
  g_assert_false (start.given[0]);
}

static void
test_locks (void)
{
  SbStart start;
  GError *error = NULL;
  const char *held[] = { "C12a", "C12b", "C30", "C21b", "tilt_row", "tilt_col", "depth" };
  gboolean expected[SB_N_COORDINATES] = { FALSE };
  g_assert_true (resolve (&start, NULL, "C30=1e3", "C12 C30;C21b, tilt depth", NULL, &error));
  for (guint i = 0; i < G_N_ELEMENTS (held); i++)
    expected[coordinate_index (held[i])] = TRUE;
  for (int i = 0; i < SB_N_COORDINATES; i++)
    g_assert_true (start.locked[i] == expected[i]);
  assert_value (&start, "C30", 1000 * edge (3));
}

static void
test_from (void)
{
  SbStart start;
  GError *error = NULL;
  SbCoordinates values = { { 0 } };
  SbAberrationOptions options = { NULL, (char *)"C12=1 phi12=0", (char *)"C30", NULL, NULL };
  for (int i = 0; i < SB_N_COORDINATES; i++)
    values.x[i] = i == SB_DEPTH ? 90 : i + 0.5;
  g_assert_true (start_resolve (&start, &options, &fit, &optics, &values, &error));
  near (start.start.x[0], 0.5);
  near (start.start.x[1], edge (1)); /* start wins over the file */
  near (start.start.x[2], 0);
  near (start.start.x[24], 24.5);
  near (start.high[24], 24.5); /* a file's value outside our box widens it */
  near (start.high[SB_DEPTH], 90);
  g_assert_true (start.given[24] && start.locked[7] && !start.locked[24]);
}

typedef struct Wrong {
  const char *coefficients, *start, *lock, *range, *says;
} Wrong;

static const Wrong wrong[] = {
  { .coefficients = "C13=2", .says = "the nearest name is C1" },
  { .coefficients = "c30=2", .says = "the nearest name is C30." },
  { .coefficients = "ph12=2 C12=1", .says = "the nearest name is phi12." },
  { .coefficients = "tilt_rows=2", .says = "the nearest name is tilt_row." },
  { .coefficients = "defocus=2", .says = "there is no \"defocus\"" },
  { .coefficients = "phi12=0.3", .says = "phi12 stands without C12" },
  { .coefficients = "C12=1 C12a=2", .says = "C12 is given twice" },
  { .coefficients = "C12b=1 C12=2 phi12=0", .says = "C12 is given twice" },
  { .coefficients = "C12=1 phi12=45", .says = "angles are in rad" },
  { .coefficients = "C10=1 C10=1", .says = "C10 stands there twice" },
  { .coefficients = "C12=1 C12=1", .says = "C12 stands there twice" },
  { .coefficients = "C10", .says = "C10 has no value" },
  { .coefficients = "C10=", .says = "no plain number" },
  { .coefficients = "C10=nan", .says = "no plain number" },
  { .coefficients = "C10=1e999", .says = "no plain number" },
  { .coefficients = "C10=5nm", .says = "no plain number" },
  { .coefficients = "C10=-40:40", .says = "no plain number" },
  { .coefficients = "=3", .says = "cannot be read" },
  { .coefficients = "C10:3", .says = "cannot be read" },
  { .coefficients = "tilt=3", .says = "tilt_row and tilt_col" },
  { .coefficients = "depth=-2", .says = "negative" },
  { .coefficients = "C10=1e300", .says = "C10 reaches 1e+300" },
  { .coefficients = "tilt_col=1200", .says = "stay within 1e+03 mrad" },
  { .range = "depth=0:1e200", .says = "depth reaches 1e+200" },
  { .coefficients = "C10=1", .start = "C10=2", .says = "C10 stands in coefficients (held) and in start" },
  { .start = "C12=1 phi12=-7", .says = "start: phi12=-7" },
  { .lock = "phi12", .says = "hold C12" },
  { .lock = "C10=2", .says = "stands with a value" },
  { .lock = "C77", .says = "lock: there is no \"C77\"" },
  { .range = "C10=5", .says = "is no range" },
  { .range = "C10=5:", .says = "no plain number" },
  { .range = "C10=5:-5", .says = "is empty" },
  { .range = "C10=5:5", .says = "is empty" },
  { .range = "C10=-inf:5", .says = "no plain number" },
  { .range = "phi12=0:1", .says = "limits of C12" },
  { .range = "C12=2:8", .says = "C12=0:8" },
  { .range = "C12=0:8 C12a=-1:1", .says = "has limits already" },
  { .range = "depth=-1:5", .says = "depth=0:5" },
  { .range = "C10=-4:4", .start = "C10=5", .says = "C10 starts at 5, outside its range -4:4" },
};

static void
test_wrong (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++) {
    SbStart start;
    GError *error = NULL;
    const Wrong *w = &wrong[i];
    g_test_message ("%s|%s|%s|%s", w->coefficients, w->start, w->lock, w->range);
    g_assert_false (resolve (&start, w->coefficients, w->start, w->lock, w->range, &error));
    g_assert_error (error, SB_ERROR, SB_ERROR_ARGUMENT);
    if (strstr (error->message, w->says) == NULL)
      g_error ("\"%s\" does not say \"%s\"", error->message, w->says);
    g_assert_true (g_str_has_suffix (error->message, "."));
    g_clear_error (&error);
  }
}

/* A host that writes numbers with a comma changes nothing. */
static void
test_locale (void)
{
  SbStart start;
  GError *error = NULL;
  if (!set_comma_locale ()) {
    g_test_skip ("no locale with a decimal comma, and localedef cannot make one");
    return;
  }
  g_autofree char *theirs = g_strdup_printf ("%.1f", 2.5), *ours = sb_text ("%.1f", 2.5);
  gboolean read = resolve (&start, "C10=5.5", NULL, NULL, "C12=0:2.5", &error);
  sb_fail (&error, SB_ERROR_ARGUMENT, "%g is too much.", 0.5);
  setlocale (LC_ALL, "C");
  g_assert_true (read);
  g_assert_cmpstr (theirs, ==, "2,5"); /* the locale does what it should */
  g_assert_cmpstr (ours, ==, "2.5");
  g_assert_cmpstr (error->message, ==, "0.5 is too much.");
  g_clear_error (&error);
  assert_value (&start, "C10", 5.5 * edge (1));
  assert_limits (&start, "C12a", -2.5 * edge (1), 2.5 * edge (1));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/start/values", test_values);
  g_test_add_func ("/start/every-name", test_every_name);
  g_test_add_func ("/start/ranges", test_ranges);
  g_test_add_func ("/start/locks", test_locks);
  g_test_add_func ("/start/from", test_from);
  g_test_add_func ("/start/wrong", test_wrong);
  g_test_add_func ("/start/locale", test_locale);
  return g_test_run ();
}
