#include "core/simulate/atoms.h"

#include <math.h>
#include <string.h>

#include "core/error.h"

#define FILM_DENSITY 2.0  /* g/cm3, evaporated carbon */
#define FILM_DISTANCE 1.4 /* angstrom, a bond of carbon */
#define COLUMN_DENSITY 1.0
#define COLUMN_DISTANCE 1.8
#define MOST_ATOMS 5000000

static SbSpecimen *
generate (const SbSimulation *s, const SbSimulationOptions *o, SbProgress *progress, GError **error)
{
  gboolean film = g_strcmp0 (o->specimen, "film") == 0;
  SbRandom random = random_stream (s->seed, 0);
  SbRecipe recipe = { .mixture = o->mixture, .cell = { s->period[0], s->period[1], s->thickness } };
  recipe.density = !isnan (o->density) ? o->density : film ? FILM_DENSITY : COLUMN_DENSITY;
  recipe.min_distance = !isnan (o->min_distance) ? o->min_distance : film ? FILM_DISTANCE : COLUMN_DISTANCE;
  return film ? specimen_film (&recipe, &random, progress, error) : specimen_columns (&recipe, &random, progress, error);
}

/* The corners of the simulation's period in the scan's frame. */
static void
corners (const SbSimulation *s, double low[2], double high[2])
{
  low[0] = low[1] = INFINITY;
  high[0] = high[1] = -INFINITY;
  for (int i = 0; i < 4; i++) {
    double corner[2] = { i & 1 ? s->period[0] : 0, i & 2 ? s->period[1] : 0 }, scan[2];
    simulation_point_back (s, corner, scan);
    for (int a = 0; a < 2; a++) {
      low[a] = MIN (low[a], scan[a]);
      high[a] = MAX (high[a], scan[a]);
    }
  }
}

/* A copy of an atom of the file, shifted by whole cells; in the simulation's frame, where it is needed. */
static void
take (const SbSimulation *s, const SbAtom *atom, double row, double col, SbSpecimen *out)
{
  SbAtom copy = *atom;
  double scan[2] = { atom->r[0] + row, atom->r[1] + col };
  simulation_point (s, scan, copy.r);
  gboolean inside = copy.r[0] >= 0 && copy.r[0] < s->period[0] && copy.r[1] >= 0 && copy.r[1] < s->period[1];
  if (inside || s->periodic)
    g_array_append_val (out->atoms, copy);
}

/* A cell is repeated over a scan that is not periodic; atoms without one stand in the middle of the scan,
 * once. */
static SbSpecimen *
repeat (const SbSimulation *s, const SbSpecimen *read, GError **error)
{
  g_autoptr (SbSpecimen) out = specimen_new ();
  double low[2], high[2], first[2] = { 0, 0 }, last[2] = { 0, 0 }, shift[2] = { 0, 0 };
  gboolean cell = read->cell[0] > 0;
  corners (s, low, high);
  for (int a = 0; a < 2; a++) {
    if (!cell)
      shift[a] = s->extent[a] / 2;
    else if (!s->periodic) {
      first[a] = floor (low[a] / read->cell[a]) - 1;
      last[a] = ceil (high[a] / read->cell[a]) + 1;
    }
  }
  if ((last[0] - first[0] + 1) * (last[1] - first[1] + 1) * read->atoms->len > MOST_ATOMS) {
    sb_fail (error, SB_ERROR_ARGUMENT, "More than %d atoms are too many; give a smaller scan.", MOST_ATOMS);
    return NULL;
  }
  for (guint n = 0; n < read->atoms->len; n++)
    for (double i = first[0]; i <= last[0]; i++)
      for (double j = first[1]; j <= last[1]; j++)
        take (s, &g_array_index (read->atoms, SbAtom, n), i * read->cell[0] + shift[0], j * read->cell[1] + shift[1], out);
  return g_steal_pointer (&out);
}

SbSpecimen *
atoms_make (const SbSimulation *s, const SbSimulationOptions *o, const SbSpecimen *read, SbProgress *progress, GError **error)
{
  if (g_strcmp0 (o->specimen, "empty") == 0)
    return specimen_new ();
  return read != NULL ? repeat (s, read, error) : generate (s, o, progress, error);
}
