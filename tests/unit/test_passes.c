/* Passes in parts: G that is made chunk by chunk, and G whose pixels two processes share, give what one resident G gives. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/parts.h"
#include "core/reconstruct.h"
#include "tests/unit/passes_scene.h"

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
  PassesScene scene;
  g_setenv ("SIDEBAND_ISA", isa, TRUE);
  passes_scene_open (&scene, precision, threads);
  SbkBackend counting = *scene.engine->backend;
  made_by = counting.spectrum_from_counts;
  counting.spectrum_from_counts = count_chunks;
  scene.engine->backend = &counting;
  SbSpectrum *whole = passes_spectrum (&scene, 0);
  g_assert_false (whole->plan.in_parts);
  g_autoptr (GArray) want = passes_everything (whole);
  guint64 least = passes_least (&scene, whole);
  /* counts in memory; in a file with the least, so that every pass makes every chunk; some more, so that pieces are kept */
  for (int round = 0; round < 3; round++) {
    guint64 more = round == 2 ? whole->plan.g / 2 : 0;
    if (round > 0)
      g_assert_true (columns_to_file (&scene.columns, 100000, NULL));
    SbSpectrum *parts = passes_spectrum (&scene, least + more);
    g_assert_true (parts->plan.in_parts);
    g_assert_true (parts->plan.in_file == (round > 0));
    chunks = 0;
    SbkView all = { 0, parts->n_band, 1, 0, 0, 1 };
    double power;
    g_assert_true (passes_power (parts, &all, &power, NULL, NULL));
    g_assert_cmpint (chunks, >, round == 1 ? 8 : 1);
    g_assert_cmpfloat (power, ==, whole->power);
    g_autoptr (GArray) got = passes_everything (parts);
    passes_same_bits (want, got, isa);
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
          passes_put (i == 0 ? a : b, both[i], &all, FALSE);
          passes_put_sums (i == 0 ? a : b, both[i], 0, 1);
        }
        passes_same_bits (a, b, "moved");
      }
    if (round == 1) {
      spectrum_set_scale (whole, 1, NULL);
      spectrum_free (whole);
      whole = passes_spectrum (&scene, 0);
    }
    spectrum_free (parts);
  }
  spectrum_free (whole);
  passes_scene_close (&scene);
  g_unsetenv ("SIDEBAND_ISA");
}

/* Rows apart and together: what every third row gives adds up to what all give. */
static void
test_rows (void)
{
  PassesScene scene;
  passes_scene_open (&scene, "double", 1);
  SbSpectrum *s = passes_spectrum (&scene, 0);
  SbkView all = { 0, s->n_band, 1, 0, 0, 1 };
  SbCoordinates at = { { 1, 0.5, -0.4 } };
  SbkModel model;
  SbkError error = { "" };
  const SbkBackend *backend = s->engine->backend;
  gsize n = 3 * (gsize)sbk_view_count (&all);
  g_autofree double *whole = g_new0 (double, n), *rows = g_new0 (double, n), *one = g_new0 (double, n);
  double power = 0;
  optics_model (&s->optics, &s->frame, &at, &model);
  g_assert_cmpint (backend->value_sums (s->g, &all, TRUE, 1, &model, whole, NULL, &error), ==, SBK_OK);
  for (int first = 0; first < 3; first++) {
    SbkView third = { 0, s->n_band, 1, 0, 0, 1, first, 3 };
    double part = 0;
    g_assert_cmpint (backend->value_sums (s->g, &third, TRUE, 1, &model, rows, NULL, &error), ==, SBK_OK);
    g_assert_true (passes_power (s, &third, &part, NULL, NULL));
    g_assert_cmpfloat (part, <, 0.5 * s->power);
    power += part;
    if (first == 0)
      memcpy (one, rows, n * sizeof *one);
  }
  double worst = 0, differs = 0, scale = 0;
  for (gsize i = 0; i < n; i++) {
    worst = fmax (worst, fabs (rows[i] - whole[i]));
    differs = fmax (differs, fabs (one[i] - whole[i]));
    scale = fmax (scale, fabs (whole[i]));
  }
  g_assert_cmpfloat (worst, <, 1e-13 * scale);
  g_assert_cmpfloat (differs, >, 0.1 * scale);
  g_assert_cmpfloat (fabs (power / s->power - 1), <, 1e-13);
  spectrum_free (s);
  passes_scene_close (&scene);
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
take_half (Member *member, const PassesScene *scene, SbSpectrum *whole, int rank)
{
  double unit = 1.0 / RADIUS;
  g_autofree gint64 *row_start = g_new0 (gint64, DETECTOR + 1);
  g_autofree double *row_x = g_new (double, DETECTOR), *pixel_y = g_new (double, DETECTOR *DETECTOR);
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
  member->spectrum.fine = NULL; /* made by each half on its own */
  member->spectrum.engine = passes_engine ("double", 1);
  member->spectrum.engine->reduce = &member->reduce;
  member->spectrum.n_pixels = pixels.n_pixels;
  const SbkBackend *backend = whole->engine->backend;
  g_assert_cmpint (backend->spectrum_read (whole->g, first, pixels.n_pixels, g, &failure), ==, SBK_OK);
  g_assert_cmpint (
      backend->spectrum_from_values (member->spectrum.engine->context, &member->spectrum.g, &pixels, &band, g, &failure), ==,
      SBK_OK);
  g_assert_true (spectrum_set_frame (&member->spectrum, &whole->frame, NULL));
}

static gpointer
member_work (gpointer data)
{
  Member *member = data;
  SbkView all = { 0, member->spectrum.n_band, 1, 0, 0, 1 };
  passes_put (member->out, &member->spectrum, &all, TRUE);
  passes_put_sums (member->out, &member->spectrum, 0, 1);
  return NULL;
}

static void
test_shared (void)
{
  PassesScene scene;
  Meeting meeting = { .there = 0 };
  Member members[2];
  passes_scene_open (&scene, "double", 2);
  SbSpectrum *whole = passes_spectrum (&scene, 0);
  g_autoptr (GArray) want = g_array_new (FALSE, FALSE, sizeof (double));
  SbkView all = { 0, whole->n_band, 1, 0, 0, 1 };
  passes_put (want, whole, &all, TRUE);
  passes_put_sums (want, whole, 0, 1);
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
  passes_same_bits (members[0].out, members[1].out, "the two halves");
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
    fine_grid_free (members[r].spectrum.fine);
    engine_free (members[r].spectrum.engine);
    g_array_unref (members[r].out);
  }
  g_mutex_clear (&meeting.lock);
  g_cond_clear (&meeting.cond);
  spectrum_free (whole);
  passes_scene_close (&scene);
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
  g_test_add_func ("/passes/rows", test_rows);
  g_test_add_func ("/passes/shared", test_shared);
  return g_test_run ();
}
