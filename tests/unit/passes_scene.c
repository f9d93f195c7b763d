#include "tests/unit/passes_scene.h"

#include <math.h>
#include <string.h>

#include "core/alias.h"
#include "core/reconstruct.h"
#include "core/scratch.h"

SbEngine *
passes_engine (const char *precision, gint64 threads)
{
  SbEngineOptions options;
  GError *error = NULL;
  param_group_defaults (&engine_params, &options);
  g_free (options.backend);
  g_free (options.precision);
  options.backend = g_strdup ("cpu");
  options.precision = g_strdup (precision);
  options.threads = threads;
  SbEngine *engine = engine_new (&options, &error);
  g_assert_no_error (error);
  param_group_clear (&engine_params, &options);
  return engine;
}

void
passes_scene_open (PassesScene *s, const char *precision, gint64 threads)
{
  gint64 pixels = DETECTOR * DETECTOR, positions = ROWS * COLS;
  GRand *random = g_rand_new_with_seed (5);
  memset (s, 0, sizeof *s);
  s->engine = passes_engine (precision, threads);
  s->acquisition.used_rows = ROWS;
  s->acquisition.used_cols = COLS;
  s->columns = (SbColumns){
    .acquisition = &s->acquisition, .n_pixels = pixels, .held = pixels, .dtype = SB_U16, .positions = positions
  };
  s->columns.pattern = (SbPattern){ .rows = DETECTOR, .cols = DETECTOR, .frames = positions };
  s->columns.pattern.mean = g_new (double, pixels);
  s->columns.pattern.bad = g_new0 (guint8, pixels);
  s->columns.pattern.bad[17 * DETECTOR + 9] = 1;
  s->columns.pixel = g_new (gint32, pixels);
  guint16 *counts = g_new (guint16, pixels * positions);
  s->columns.counts = counts;
  for (gint64 p = 0; p < pixels; p++) {
    s->columns.pixel[p] = (gint32)p;
    s->columns.pattern.mean[p] = 100;
    for (gint64 i = 0; i < positions; i++)
      counts[p * positions + i] = (guint16)g_rand_int_range (random, 0, 200);
  }
  g_rand_free (random);
  s->optics = (SbOptics){ 300, 30, { 0.16, 0.15 } };
  s->calibration = (SbCalibration){
    .centre = { 13.4, 13.8 }, .radius = RADIUS, .sampling = 30.0 / RADIUS, .frame = { 0.4, FALSE }
  };
}

void
passes_scene_close (PassesScene *s)
{
  g_free (s->columns.pattern.mean);
  g_free (s->columns.pattern.bad);
  g_free (s->columns.pixel);
  if (s->columns.scratch != NULL)
    scratch_free (s->columns.scratch);
  else
    g_free (s->columns.counts);
  engine_free (s->engine);
}

SbSpectrum *
passes_spectrum (PassesScene *s, guint64 memory)
{
  SbSpectrumOptions options;
  GError *error = NULL;
  param_group_defaults (&spectrum_params, &options);
  s->engine->memory = memory;
  SbSpectrum *spectrum = spectrum_new (s->engine, &s->columns, &s->optics, &s->calibration, &options, NULL, &error);
  g_assert_no_error (error);
  param_group_clear (&spectrum_params, &options);
  return spectrum;
}

/* The least memory that makes this spectrum. */
guint64
passes_least (PassesScene *s, const SbSpectrum *resident)
{
  SbPlan plan;
  SbPlanned what = { .positions = ROWS * COLS,
                     .n_pixels = resident->n_pixels,
                     .n_q = resident->n_q,
                     .widest = 2 * RADIUS + 1,
                     .upsampling = 1,
                     .column = ROWS * COLS * 2,
                     .columns = (guint64)DETECTOR * DETECTOR * ROWS * COLS * 2 };
  s->engine->memory = 1;
  g_assert_false (plan_spectrum (s->engine, &what, &plan, NULL));
  return plan.least;
}

static SbkModel
model_of (const SbSpectrum *s, int which)
{
  SbCoordinates at = { { 0 } };
  SbkModel model;
  for (int i = 0; i < SB_N_CHI; i++)
    at.x[i] = 1.5 * sin (3.0 * i + which);
  at.x[SB_DEPTH] = which % 2 == 0 ? 3 : 0;
  at.x[SB_TILT_ROW] = 4;
  at.x[SB_TILT_COL] = -3;
  optics_model (&s->optics, &s->frame, &at, &model);
  return model;
}

/* ---- everything that a pass can leave, as one array ---- */

enum { MODELS = 3, LOW = 6, ALL = SBK_N - 1 };

static void
put (GArray *out, const double *values, gsize n)
{
  g_array_append_vals (out, values, (guint)n);
}

static void
put_hessian (GArray *out, SbSpectrum *s, const SbkView *view, int precise, const SbkModel *model, int n, const int *chosen)
{
  double value, gradient[SBK_N], hessian[SBK_N * SBK_N];
  g_assert_true (passes_hessian (s, view, precise, model, n, chosen, &value, gradient, hessian, NULL, NULL));
  put (out, &value, 1);
  put (out, gradient, (gsize)n);
  put (out, hessian, (gsize)(n * n));
}

void
passes_put (GArray *out, SbSpectrum *s, const SbkView *view, int precise)
{
  static const int low[LOW] = { 3, 4, 5, SBK_TILT_X, SBK_TILT_Y, SBK_DEPTH };
  int all[ALL];
  SbkModel models[MODELS];
  double values[MODELS], gradient[SBK_N], pair[2];
  for (int i = 0; i < ALL; i++)
    all[i] = i + 1;
  for (int i = 0; i < MODELS; i++)
    models[i] = model_of (s, i);
  g_assert_true (passes_power (s, view, values, NULL, NULL));
  put (out, values, 1);
  g_assert_true (passes_value (s, view, precise, MODELS, models, values, NULL, NULL));
  put (out, values, MODELS);
  for (int i = 0; i < 2; i++) {
    g_assert_true (passes_gradient (s, view, precise, &models[i], values, gradient, NULL, NULL));
    put (out, values, 1);
    put (out, gradient, SBK_N);
    g_assert_true (passes_geometry (s, view, precise, &models[i], values, pair, NULL, NULL));
    put (out, values, 1);
    put (out, pair, 2);
  }
  put_hessian (out, s, view, precise, &models[0], LOW, low);
  put_hessian (out, s, view, precise, &models[1], 3, low);
  if (view->k_stride == 1 && view->q_stride == 1)
    put_hessian (out, s, view, precise, &models[0], ALL, all);
}

void
passes_put_sums (GArray *out, SbSpectrum *s, gint64 k_first, gint64 k_stride)
{
  const gint64 factor[2] = { 2, 2 };
  SbCoordinates at = { { 0.7, -0.4, 0.3 } };
  SbkView view = { .q_stride = 1, .k_first = k_first, .k_stride = k_stride };
  SbkModel model = model_of (s, 0);
  g_autoptr (SbFineGrid) grid = fine_grid_new (s, factor, NULL);
  for (int kind = 0; kind < SBK_SUM_KINDS; kind++) {
    g_autofree double *sums = fine_grid_sums (s, grid, &at, (SbkSumKind)kind, k_first, k_stride, NULL, NULL);
    g_assert_nonnull (sums);
    put (out, sums, (gsize)(grid->fine.n * sbk_sum_width ((SbkSumKind)kind)));
  }
  g_autoptr (SbAliasGroups) groups = alias_groups_new (s, grid, NULL, NULL);
  SbkAliases slab = alias_slab (groups, 0);
  g_autofree double *sums = g_new (double, alias_slab_room (groups));
  g_assert_true (passes_aliases (s, &view, s->engine->precise, &model, &slab, sums, NULL, NULL));
  put (out, sums, (gsize)slab.place[slab.n_groups]);
}

GArray *
passes_everything (SbSpectrum *s)
{
  GArray *out = g_array_new (FALSE, FALSE, sizeof (double));
  const SbkView views[] = {
    { 0, s->n_band, 1, 0, 0, 1 },       { 0, s->n_band, 1, 0, 3, 8 },
    { 0, s->n_band - 5, 2, 1, 0, 1 },   { SBK_LANES, s->n_band - SBK_LANES, 3, 2, 1, 2 },
    { 0, s->n_band, 1, 0, 0, 1, 1, 3 }, { 0, s->n_band, 1, 0, 1, 2, 0, 2 },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (views); i++)
    passes_put (out, s, &views[i], i == 1);
  passes_put_sums (out, s, 0, 1);
  passes_put_sums (out, s, 1, 2);
  return out;
}

void
passes_same_bits (const GArray *a, const GArray *b, const char *what)
{
  const double *x = (const double *)a->data, *y = (const double *)b->data;
  g_assert_cmpuint (a->len, ==, b->len);
  for (guint i = 0; i < a->len; i++)
    if (memcmp (&x[i], &y[i], sizeof *x) != 0) {
      g_test_message ("%s: number %u is %.17g, not %.17g", what, i, y[i], x[i]);
      g_test_fail ();
      return;
    }
}
