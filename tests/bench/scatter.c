/* Are the errors true? Poisson draws of one acquisition made by the model: scatter of the fitted coordinates over the error
 * predicted. scatter [draws]: 50 by default. Prints one line a coordinate and a JSON object; fails outside 0.6 to 1.5, or
 * 0.8 to 1.25 on average. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/fit/fit.h"
#include "tests/physics/forward.h"

enum { N = SB_N_COORDINATES };

typedef struct {
  double sum[N], square[N], error[N], spread[N];
} Tally;

static void
one (const ForwardImage *image, SbEngine *engine, guint32 seed, gboolean full, Tally *tally)
{
  GError *error = NULL;
  SbAberrationOptions none = { NULL, NULL, NULL, NULL, NULL };
  SbFitOptions options;
  SbStart start;
  SbSpectrum *spectrum = forward_draw (image, engine, seed);
  param_group_defaults (&fit_params, &options);
  g_free (options.branch);
  options.branch = g_strdup ("keep");
  if (!full) {
    g_free (options.uncertainty);
    options.uncertainty = g_strdup ("error");
  }
  g_assert_true (start_resolve (&start, &none, &options, &spectrum->optics, NULL, &error));
  SbFit *fit = fit_run (spectrum, &start, &options, NULL, &error);
  g_assert_no_error (error);
  for (int i = 0; i < N; i++) {
    double d = fit->at.x[i] - image->of.truth.x[i];
    tally->sum[i] += d;
    tally->square[i] += d * d;
    tally->error[i] += fit->error[i] * fit->error[i];
    tally->spread[i] += full ? fit->spread[i] * fit->spread[i] : 0;
  }
  param_group_clear (&fit_params, &options);
  fit_free (fit);
  spectrum_free (spectrum);
}

int
main (int argc, char **argv)
{
  int draws = argc > 1 ? atoi (argv[1]) : 50, outside = 0;
  double average = 0, spreads = 0;
  Forward forward = { .energy = 300,
                      .semiangle = 30,
                      .step = 0.4,
                      .scan = 64,
                      .radius = 14,
                      .rotation = 0.3,
                      .strength = 200,
                      .seed = 5,
                      .truth = { { 7.2, 2.1, -1.7, 0.4, -0.3, 0.2, 0.5, -0.4, [SB_TILT_ROW] = 4, -3, 4 } } };
  Tally tally = { { 0 } };
  SbEngine *engine = forward_engine ();
  ForwardImage *image = forward_image (&forward);
  if (draws < 3)
    draws = 3;
  for (int i = 0; i < draws; i++)
    one (image, engine, (guint32)(100 + i), TRUE, &tally);
  for (int i = 0; i < N; i++) {
    double mean = tally.sum[i] / draws, scatter = sqrt ((tally.square[i] - draws * mean * mean) / (draws - 1));
    double predicted = sqrt (tally.error[i] / draws), ratio = scatter / predicted;
    double spread = sqrt (tally.spread[i] / draws) / scatter;
    printf ("%-8s scatter %.4g predicted %.4g ratio %.3f, mean off the truth by %.2f of its error, spread over scatter %.2f\n",
            coordinate_name (i), scatter, predicted, ratio, mean / (scatter / sqrt (draws)), spread);
    average += ratio / N;
    spreads += spread / N;
    outside += ratio < 0.6 || ratio > 1.5;
  }
  printf ("{ \"draws\": %d, \"average\": %.3f, \"outside\": %d, \"spread_over_scatter\": %.3f }\n", draws, average, outside,
          spreads);
  forward_free (image);
  engine_free (engine);
  return average < 0.8 || average > 1.25 || outside > 0;
}
