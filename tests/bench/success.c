/* How often the fit finds the maximum: truths of the robustness matrix, against the fit started from the truth.
 * success [energy semiangle step first count]: by default 200 cases at 300 kV, 30 mrad, 0.4 angstrom; "matrix" 20 each
 * elsewhere. Prints each failure, and one JSON object a line. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fit/fit.h"
#include "tests/physics/forward.h"

static SbFit *
fit_from (SbSpectrum *spectrum, const SbCoordinates *known)
{
  GError *error = NULL;
  SbAberrationOptions none = { NULL, NULL, NULL, NULL, NULL };
  SbFitOptions options;
  SbStart start;
  param_group_defaults (&fit_params, &options);
  g_free (options.uncertainty);
  options.uncertainty = g_strdup ("error");
  g_assert_true (start_resolve (&start, &none, &options, &spectrum->optics, known, &error));
  SbFit *fit = fit_run (spectrum, &start, &options, NULL, &error);
  g_assert_no_error (error);
  param_group_clear (&fit_params, &options);
  return fit;
}

static gboolean
one (SbEngine *engine, double energy, double semiangle, double step, guint32 seed, gboolean loud, SbPasses *most,
     double *seconds)
{
  Forward forward;
  forward_random (&forward, energy, semiangle, step, seed);
  ForwardImage *image = forward_image (&forward);
  SbSpectrum *spectrum = forward_draw (image, engine, seed);
  SbFrame frame = spectrum->frame;
  gint64 before = g_get_monotonic_time ();
  SbFit *fit = fit_from (spectrum, NULL);
  *seconds += (double)(g_get_monotonic_time () - before) * 1e-6;
  GError *error = NULL;
  spectrum_set_frame (spectrum, &frame, &error);
  SbFit *known = fit_from (spectrum, &forward.truth);
  double deficit = 1 - fit->agreement / known->agreement;
  gboolean good = deficit <= 1e-6;
  SbPasses *p = &fit->passes;
  most->value = fmax (most->value, p->value);
  most->gradient = fmax (most->gradient, p->gradient);
  most->hessian = fmax (most->hessian, p->hessian);
  if (!good || loud)
    printf ("%s %g kV %g mrad %g A seed %u: deficit %.2e, S %.4f (x pixels %.0f), scan %d, C10 %.2f rad, fitted %.2f rad, tilt "
            "%.1f "
            "%.1f (%.1f %.1f), depth %.2f (%.2f) passes %.1f %.1f %.1f\n",
            good ? "good" : "MISSED", energy, semiangle, step, seed, deficit, known->agreement,
            known->agreement * (double)spectrum->n_pixels, (int)forward.scan, forward.truth.x[0], fit->at.x[0],
            fit->at.x[SB_TILT_ROW], fit->at.x[SB_TILT_COL], forward.truth.x[SB_TILT_ROW], forward.truth.x[SB_TILT_COL],
            fit->at.x[SB_DEPTH], forward.truth.x[SB_DEPTH], p->value, p->gradient, p->hessian);
  fflush (stdout);
  fit_free (fit);
  fit_free (known);
  spectrum_free (spectrum);
  forward_free (image);
  return good;
}

static void
run (SbEngine *engine, double energy, double semiangle, double step, guint32 first, guint32 count, gboolean loud)
{
  guint32 found = 0;
  double seconds = 0;
  SbPasses most = { 0 };
  for (guint32 i = first; i < first + count; i++)
    found += one (engine, energy, semiangle, step, i, loud, &most, &seconds);
  printf ("{ \"energy\": %g, \"semiangle\": %g, \"step\": %g, \"cases\": %u, \"found\": %u, \"most_value_passes\": %.1f, "
          "\"most_gradient_passes\": %.1f, \"most_hessian_passes\": %.1f, \"seconds_a_fit\": %.2f }\n",
          energy, semiangle, step, count, found, most.value, most.gradient, most.hessian, seconds / count);
  fflush (stdout);
}

int
main (int argc, char **argv)
{
  static const double energies[] = { 60, 200, 300 }, semiangles[] = { 10, 20, 30 }, steps[] = { 0.2, 0.4, 0.8 };
  SbEngine *engine = forward_engine ();
  if (argc > 5)
    run (engine, g_ascii_strtod (argv[1], NULL), g_ascii_strtod (argv[2], NULL), g_ascii_strtod (argv[3], NULL),
         (guint32)atoi (argv[4]), (guint32)atoi (argv[5]), argc > 6);
  else if (argc > 1 && strcmp (argv[1], "matrix") == 0) {
    guint32 count = argc > 2 ? (guint32)atoi (argv[2]) : 20;
    for (guint e = 0; e < 3; e++)
      for (guint a = 0; a < 3; a++)
        for (guint s = 0; s < 3; s++)
          if (!(e == 2 && a == 2 && s == 1))
            run (engine, energies[e], semiangles[a], steps[s], 1000, count, FALSE);
  } else
    run (engine, 300, 30, 0.4, 1, 200, FALSE);
  engine_free (engine);
  return 0;
}
