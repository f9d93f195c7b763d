/* Passes in parts: G that is made chunk by chunk, and G whose pixels two processes share, give what one resident G gives. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/agreement.h"
#include "core/alias.h"
#include "core/parts.h"
#include "core/passes.h"
#include "core/reconstruct.h"
#include "core/scratch.h"

enum { DETECTOR = 28, ROWS = 30, COLS = 28, RADIUS = 11 };

/* A scene made by hand: random counts, so that no sum is small by chance. */
typedef struct Scene {
  SbEngine *engine;
  SbAcquisition acquisition;
  SbColumns columns;
  SbOptics optics;
  SbCalibration calibration;
} Scene;

static SbEngine *
engine_of (const char *precision, gint64 threads)
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

static void
scene_open (Scene *s, const char *precision, gint64 threads)
{
  gint64 pixels = DETECTOR * DETECTOR, positions = ROWS * COLS;
  GRand *random = g_rand_new_with_seed (5);
  memset (s, 0, sizeof *s);
  s->engine = engine_of (precision, threads);
  s->acquisition.used_rows = ROWS;
  s->acquisition.used_cols = COLS;
  s->columns = (SbColumns){ .acquisition = &s->acquisition, .n_pixels = pixels, .held = pixels, .dtype = SB_U16,
                            .positions = positions };
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
  s->calibration = (SbCalibration){ .centre = { 13.4, 13.8 }, .radius = RADIUS, .sampling = 30.0 / RADIUS,
                                    .frame = { 0.4, FALSE } };
}

static void
scene_close (Scene *s)
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

static SbSpectrum *
spectrum_of (Scene *s, guint64 memory)
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
static guint64
least_of (Scene *s, const SbSpectrum *resident)
{
  SbPlan plan;
  SbPlanned what = { .positions = ROWS * COLS, .n_pixels = resident->n_pixels, .n_q = resident->n_q, .widest = 2 * RADIUS + 1,
                     .upsampling = 1, .column = ROWS * COLS * 2, .columns = (guint64)DETECTOR * DETECTOR * ROWS * COLS * 2 };
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

static void
put_passes (GArray *out, SbSpectrum *s, const SbkView *view, int precise)
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

static void
put_sums (GArray *out, SbSpectrum *s, gint64 k_first, gint64 k_stride)
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

static GArray *
everything (SbSpectrum *s)
{
  GArray *out = g_array_new (FALSE, FALSE, sizeof (double));
  const SbkView views[] = {
    { 0, s->n_band, 1, 0, 0, 1 },
    { 0, s->n_band, 1, 0, 3, 8 },
    { 0, s->n_band - 5, 2, 1, 0, 1 },
    { SBK_LANES, s->n_band - SBK_LANES, 3, 2, 1, 2 },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (views); i++)
    put_passes (out, s, &views[i], i == 1);
  put_sums (out, s, 0, 1);
  put_sums (out, s, 1, 2);
  return out;
}

static void
same_bits (const GArray *a, const GArray *b, const char *what)
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

/* ---- in chunks ---- */

static gint chunks; /* how often G was made */
static SbkStatus (*made_by) (SbkContext *, SbkSpectrum **, const SbkPixels *, const SbkBand *, const SbkCounts *, const int *,
                             SbkError *);

static SbkStatus
count_chunks (SbkContext *context, SbkSpectrum **out, const SbkPixels *pixels, const SbkBand *band, const SbkCounts *counts,
              const int *cancel, SbkError *error)
{
  chunks++;
  return made_by (context, out, pixels, band, counts, cancel, error);
}

static void
in_parts (const char *isa, const char *precision, gint64 threads)
{
  Scene scene;
  g_setenv ("SIDEBAND_ISA", isa, TRUE);
  scene_open (&scene, precision, threads);
  SbkBackend counting = *scene.engine->backend;
  made_by = counting.spectrum_from_counts;
  counting.spectrum_from_counts = count_chunks;
  scene.engine->backend = &counting;
  SbSpectrum *whole = spectrum_of (&scene, 0);
  g_assert_false (whole->plan.in_parts);
  g_autoptr (GArray) want = everything (whole);
  guint64 least = least_of (&scene, whole);
  /* counts in memory; in a file with the least, so that every pass makes every chunk; some more, so that pieces are kept */
  for (int round = 0; round < 3; round++) {
    guint64 more = round == 2 ? whole->plan.g / 2 : 0;
    if (round > 0)
      g_assert_true (columns_to_file (&scene.columns, 100000, NULL));
    SbSpectrum *parts = spectrum_of (&scene, least + more);
    g_assert_true (parts->plan.in_parts);
    g_assert_true (parts->plan.in_file == (round > 0));
    chunks = 0;
    SbkView all = { 0, parts->n_band, 1, 0, 0, 1 };
    double power;
    g_assert_true (passes_power (parts, &all, &power, NULL, NULL));
    g_assert_cmpint (chunks, >, round == 1 ? 8 : 1);
    g_assert_cmpfloat (power, ==, whole->power);
    g_autoptr (GArray) got = everything (parts);
    same_bits (want, got, isa);
    /* another view of the same counts: rotated, and with the pixels moved twice */
    if (round == 1)
      for (int scaled = 0; scaled < 3; scaled++) {
        const SbFrame turned = { 1.1 - scaled, TRUE };
        SbSpectrum *both[2] = { whole, parts };
        g_autoptr (GArray) a = g_array_new (FALSE, FALSE, sizeof (double)), b = g_array_new (FALSE, FALSE, sizeof (double));
        for (int i = 0; i < 2; i++) {
          g_assert_true (spectrum_set_frame (both[i], &turned, NULL));
          if (scaled > 0)
            g_assert_true (spectrum_set_scale (both[i], 1 + 0.013 * scaled, NULL));
          put_passes (i == 0 ? a : b, both[i], &all, FALSE);
          put_sums (i == 0 ? a : b, both[i], 0, 1);
        }
        same_bits (a, b, "moved");
      }
    if (round == 1) {
      spectrum_set_scale (whole, 1, NULL);
      spectrum_free (whole);
      whole = spectrum_of (&scene, 0);
    }
    spectrum_free (parts);
  }
  spectrum_free (whole);
  scene_close (&scene);
  g_unsetenv ("SIDEBAND_ISA");
}

static void
test_parts (gconstpointer data)
{
  const char *const *how = data;
  in_parts (how[0], how[1], 2);
}

/* ---- shared ---- */

/* Two threads that meet to add up their numbers, in rank order. */
typedef struct Meeting {
  GMutex lock;
  GCond cond;
  int there, round;
  double *mine[2];
} Meeting;

typedef struct Member {
  Meeting *meeting;
  SbReduce reduce;
  SbSpectrum spectrum; /* of this half's pixels */
  GArray *out;
} Member;

static gboolean
meet (gpointer comm, double *values, gsize n, GError **error)
{
  Member *member = comm;
  Meeting *m = member->meeting;
  g_mutex_lock (&m->lock);
  int round = m->round;
  m->mine[member->reduce.rank] = values;
  if (++m->there == 2) {
    for (gsize i = 0; i < n; i++)
      m->mine[0][i] = m->mine[1][i] = m->mine[0][i] + m->mine[1][i];
    m->there = 0;
    m->round++;
    g_cond_broadcast (&m->cond);
  }
  while (m->round == round)
    g_cond_wait (&m->cond, &m->lock);
  g_mutex_unlock (&m->lock);
  return TRUE;
}

/* Rows of the bright field above or below the middle, with the G that they have in `whole`. */
static void
take_half (Member *member, const Scene *scene, SbSpectrum *whole, int rank)
{
  double unit = 1.0 / RADIUS;
  g_autofree gint64 *row_start = g_new0 (gint64, DETECTOR + 1);
  g_autofree double *row_x = g_new (double, DETECTOR), *pixel_y = g_new (double, DETECTOR * DETECTOR);
  SbkPixels pixels = { 0, 0, row_start, row_x, pixel_y, whole->edge_width };
  gint64 seen = 0, first = -1;
  for (gint64 r = 0; r < DETECTOR; r++) {
    gint64 before = pixels.n_pixels;
    for (gint64 c = 0; c < DETECTOR; c++) {
      double x = (double)r - scene->calibration.centre[0], y = (double)c - scene->calibration.centre[1];
      if (hypot (x, y) > RADIUS * (1 + 1e-9) || scene->columns.pattern.bad[r * DETECTOR + c])
        continue;
      gint64 k = seen++;
      if ((r < DETECTOR / 2 - 3) != (rank == 0))
        continue;
      first = first < 0 ? k : first;
      pixel_y[pixels.n_pixels++] = y * unit;
    }
    if (pixels.n_pixels > before) {
      row_x[pixels.n_rows] = ((double)r - scene->calibration.centre[0]) * unit;
      row_start[++pixels.n_rows] = pixels.n_pixels;
    }
  }
  g_assert_cmpint (seen, ==, whole->n_pixels);
  SbkBand band = { ROWS, COLS, whole->n_q, whole->index };
  SbkError failure = { "" };
  g_autofree double *g = g_new (double, 2 * pixels.n_pixels * whole->n_q);
  member->spectrum = *whole;
  member->spectrum.engine = engine_of ("double", 1);
  member->spectrum.engine->reduce = &member->reduce;
  member->spectrum.n_pixels = pixels.n_pixels;
  const SbkBackend *backend = whole->engine->backend;
  g_assert_cmpint (backend->spectrum_read (whole->g, first, pixels.n_pixels, g, &failure), ==, SBK_OK);
  g_assert_cmpint (backend->spectrum_from_values (member->spectrum.engine->context, &member->spectrum.g, &pixels, &band, g,
                                                  &failure), ==, SBK_OK);
  g_assert_true (spectrum_set_frame (&member->spectrum, &whole->frame, NULL));
}

static gpointer
member_work (gpointer data)
{
  Member *member = data;
  SbkView all = { 0, member->spectrum.n_band, 1, 0, 0, 1 };
  put_passes (member->out, &member->spectrum, &all, TRUE);
  put_sums (member->out, &member->spectrum, 0, 1);
  return NULL;
}

static void
test_shared (void)
{
  Scene scene;
  Meeting meeting = { .there = 0 };
  Member members[2];
  scene_open (&scene, "double", 2);
  SbSpectrum *whole = spectrum_of (&scene, 0);
  g_autoptr (GArray) want = g_array_new (FALSE, FALSE, sizeof (double));
  SbkView all = { 0, whole->n_band, 1, 0, 0, 1 };
  put_passes (want, whole, &all, TRUE);
  put_sums (want, whole, 0, 1);
  g_mutex_init (&meeting.lock);
  g_cond_init (&meeting.cond);
  for (int r = 0; r < 2; r++) {
    members[r] = (Member){ .meeting = &meeting, .reduce = { r, 2, meet, &members[r] } };
    members[r].out = g_array_new (FALSE, FALSE, sizeof (double));
    take_half (&members[r], &scene, whole, r);
  }
  GThread *other = g_thread_new ("half", member_work, &members[1]);
  member_work (&members[0]);
  g_thread_join (other);
  same_bits (members[0].out, members[1].out, "the two halves");
  const double *a = (const double *)want->data, *b = (const double *)members[0].out->data;
  g_assert_cmpuint (want->len, ==, members[0].out->len);
  double scale = 0, worst = 0;
  for (guint i = 0; i < want->len; i++)
    scale = fmax (scale, fabs (a[i]));
  for (guint i = 0; i < want->len; i++) /* each against its own size, or that of what it is a difference of */
    worst = fmax (worst, fabs (a[i] - b[i]) / fmax (fabs (a[i]), 1e-3 * scale));
  g_test_message ("largest difference %.2g", worst);
  g_assert_cmpfloat (worst, <, 1e-12);
  g_assert_cmpfloat (worst, >, 0); /* the sums were really split */
  for (int r = 0; r < 2; r++) {
    members[r].spectrum.engine->backend->spectrum_free (members[r].spectrum.g);
    engine_free (members[r].spectrum.engine);
    g_array_unref (members[r].out);
  }
  g_mutex_clear (&meeting.lock);
  g_cond_clear (&meeting.cond);
  spectrum_free (whole);
  scene_close (&scene);
}

int
main (int argc, char **argv)
{
  static const char *const how[][2] = { { "plain", "single" }, { "plain", "double" },  { "avx2", "single" },
                                        { "avx2", "double" },  { "avx512", "single" }, { "avx512", "double" } };
  g_test_init (&argc, &argv, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (how); i++) {
    g_autofree char *name = g_strdup_printf ("/passes/parts/%s-%s", how[i][0], how[i][1]);
    g_test_add_data_func (name, how[i], test_parts);
  }
  g_test_add_func ("/passes/shared", test_shared);
  return g_test_run ();
}
