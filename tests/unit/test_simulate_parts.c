/* The simulator's parts: potentials, random numbers, generated specimens, encoding, binning. */
#include <math.h>
#include <string.h>

#include "core/chunk.h"
#include "core/error.h"
#include "core/simulate/encode.h"
#include "core/simulate/multislice.h"

/* Scattering factors (angstrom) as another program (abTEM 1.0.11) has them at k = 0, 0.5, 1.5, 3 / angstrom.
 */
static void
test_factors (void)
{
  static const struct {
    const char *name;
    double f[4];
  } golden[] = {
    { "H", { 0.52969718, 0.24929571, 0.041724890, 0.010616238 } },
    { "C", { 2.51135802, 1.17004479, 0.196930021, 0.056851550 } },
    { "Si", { 5.81428385, 1.96583004, 0.421913228, 0.132005757 } },
    { "Au", { 10.5533524, 6.03458336, 1.81612072, 0.638792133 } },
    { "U", { 19.0990753, 7.38384675, 2.05263049, 0.719694895 } },
  };
  static const double k[4] = { 0, 0.5, 1.5, 3 };
  for (guint i = 0; i < G_N_ELEMENTS (golden); i++)
    for (int j = 0; j < 4; j++)
      g_assert_cmpfloat (fabs (potential_factor (potential_find (golden[i].name), k[j] * k[j]) / golden[i].f[j] - 1), <, 2e-6);
  /* Mott and Bethe: for large k, f -> 2 Z / (a0 (4 pi^2) k^2) with a0 in angstrom; and f falls all the way.
   */
  for (int n = 1; n <= SB_N_ELEMENTS; n++) {
    const SbElement *e = &potential_elements[n - 1];
    g_assert_cmpint (e->number, ==, n);
    g_assert_true (potential_find (e->symbol) == e);
    for (double at = 0; at < 4; at += 0.1)
      g_assert_cmpfloat (potential_factor (e, at * at), >, potential_factor (e, (at + 0.1) * (at + 0.1)));
    double mott = 2 * n / (0.529177 * 4 * G_PI * G_PI * 36);
    g_assert_cmpfloat (fabs (potential_factor (e, 36) / mott - 1), <, 0.35);
    g_assert_cmpfloat (e->weight / n, >, 1);
    g_assert_cmpfloat (e->weight / n, <, 2.7);
  }
  g_assert_null (potential_find ("Xx"));
  g_assert_null (potential_find ("0"));
  g_assert_null (potential_find ("104"));
  g_assert_cmpstr (potential_find ("79")->symbol, ==, "Au");
  /* sigma (rad / (V angstrom), abTEM) times 2 pi a0 e = 47.8777 V angstrom^2 */
  g_assert_cmpfloat (fabs (potential_interaction (300) / (0.0006526161464700888 * 47.8777) - 1), <, 1e-4);
}

static void
test_random (void)
{
  static const double means[] = { 0.02, 0.7, 4, 11, 80, 5000 };
  for (guint m = 0; m < G_N_ELEMENTS (means); m++) {
    enum { N = 200000 };
    double sum = 0, squares = 0, cubes = 0;
    SbRandom random = random_stream (5, m);
    for (int i = 0; i < N; i++) {
      double n = random_poisson (&random, means[m]), d = n - means[m];
      g_assert_true (n >= 0 && n == floor (n));
      sum += d / N;
      squares += d * d / N;
      cubes += d * d * d / N;
    }
    /* mean, variance and third moment are all the mean; six standard errors */
    double mu = means[m];
    g_assert_cmpfloat (fabs (sum), <, 6 * sqrt (mu / N));
    g_assert_cmpfloat (fabs (squares - mu), <, 6 * sqrt ((mu + 2 * mu * mu) / N));
    g_assert_cmpfloat (fabs (cubes - mu), <, 6 * sqrt ((mu + 25 * mu * mu + 15 * mu * mu * mu) / N));
  }
  SbRandom a = random_stream (5, 0), b = random_stream (5, 1), c = random_stream (6, 0), again = random_stream (5, 0);
  double first = random_uniform (&a);
  g_assert_true (first == random_uniform (&again) && first != random_uniform (&b) && first != random_uniform (&c));
  g_assert_cmpfloat (random_poisson (&a, 0), ==, 0);
}

static double
apart (const SbAtom *p, const SbAtom *q, const double cell[3], gboolean flat)
{
  double row = remainder (p->r[0] - q->r[0], cell[0]), col = remainder (p->r[1] - q->r[1], cell[1]);
  return sqrt (row * row + col * col + (flat ? 0 : (p->r[2] - q->r[2]) * (p->r[2] - q->r[2])));
}

static void
test_specimens (void)
{
  SbRecipe recipe = { "C=0.9 Si=0.1", 2.0, 1.4, { 15, 17, 20 } };
  GError *error = NULL;
  SbRandom random = random_stream (1, 0);
  SbSpecimen *film = specimen_film (&recipe, &random, NULL, &error);
  g_assert_no_error (error);
  /* 2 g/cm3 of a mean weight of 13.6185 u */
  double expected = 2 * 15 * 17 * 20 * 0.602214076 / (0.9 * 12.011 + 0.1 * 28.085);
  guint silicon = 0;
  g_assert_cmpfloat (fabs (film->atoms->len - expected), <=, 1);
  for (guint i = 0; i < film->atoms->len; i++) {
    const SbAtom *p = &g_array_index (film->atoms, SbAtom, i);
    silicon += p->element->number == 14;
    g_assert_true (p->r[0] >= 0 && p->r[0] < 15 && p->r[1] >= 0 && p->r[1] < 17 && fabs (p->r[2]) <= 10);
    for (guint j = 0; j < i; j++)
      g_assert_cmpfloat (apart (p, &g_array_index (film->atoms, SbAtom, j), recipe.cell, FALSE), >=, 1.4);
  }
  g_assert_cmpfloat (fabs (silicon - 0.1 * expected), <, 5 * sqrt (0.09 * expected));
  specimen_free (film);

  recipe.min_distance = 1.8;
  recipe.density = 1;
  SbSpecimen *columns = specimen_columns (&recipe, &random, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpfloat (fabs (columns->atoms->len - expected / 2), <=, 4.5); /* whole columns of 8 */
  g_assert_cmpuint (columns->atoms->len % 8, ==, 0);
  for (guint i = 0; i < columns->atoms->len; i++)
    for (guint j = 0; j < i - i % 8; j++)
      g_assert_cmpfloat (
          apart (&g_array_index (columns->atoms, SbAtom, i), &g_array_index (columns->atoms, SbAtom, j), recipe.cell, TRUE), >=,
          1.8);
  specimen_free (columns);
}

static void
test_encode (void)
{
  static const gsize sizes[] = { 1, 7, 8, 9, 4096, 4100, 72 * 72, 191 * 193 };
  for (guint s = 0; s < G_N_ELEMENTS (sizes); s++)
    for (gsize element = 2; element <= 4; element += 2) {
      const unsigned values[5] = { 0, 4, (unsigned)element, 0, 2 };
      gsize size = sizes[s] * element;
      g_autofree guint8 *in = g_malloc (size), *out = g_malloc (size), *stored = g_malloc (encode_bound (size, element));
      SbRandom random = random_stream (9, s);
      for (gsize i = 0; i < size; i++)
        in[i] = i % element == 0 ? (guint8)(256 * random_uniform (&random)) : (guint8)(2 * random_uniform (&random));
      gsize n = encode_frame (in, sizes[s], element, stored);
      SbChunkCodec codec;
      GError *error = NULL;
      g_assert_cmpuint (n, >, 0);
      g_assert_cmpuint (n, <=, encode_bound (size, element));
      g_assert_true (chunk_codec (SB_FILTER_BITSHUFFLE, 5, values, element, FALSE, &codec, &error));
      g_assert_true (chunk_decode (&codec, 0, stored, n, out, size, &error));
      g_assert_no_error (error);
      g_assert_cmpmem (in, size, out, size);
    }
}

/* Nothing is lost inside the detector, and what is even stays even. */
static void
test_binning (void)
{
  static const double pitches[] = { 1, 0.5, 0.37, 0.25, 1.0 / 3 };
  for (guint p = 0; p < G_N_ELEMENTS (pitches); p++) {
    SbBinning b = { 0 };
    double pixel[20] = { 0 };
    gint64 n = 200;
    g_assert_true (binning_init (&b, n, pitches[p], 20, 9.3, 1, NULL));
    for (gint64 i = 0; i < n; i++)
      for (gint32 at = b.first[i]; at < b.first[i + 1]; at++)
        pixel[b.pixel[at]] += b.share[at];
    for (int i = 0; i < 20; i++)
      g_assert_cmpfloat (fabs (pixel[i] * pitches[p] - 1), <, 1e-9);
    binning_clear (&b);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/simulate/parts/factors", test_factors);
  g_test_add_func ("/simulate/parts/random", test_random);
  g_test_add_func ("/simulate/parts/specimens", test_specimens);
  g_test_add_func ("/simulate/parts/encode", test_encode);
  g_test_add_func ("/simulate/parts/binning", test_binning);
  return g_test_run ();
}
