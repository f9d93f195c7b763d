/* Generated specimens: random sequential placement with a least distance, periodic in row and col. */
#include "core/simulate/specimen.h"

#include <math.h>
#include <string.h>

#include "core/error.h"

#define AVOGADRO 0.602214076 /* u to g, cm3 to angstrom3 */
#define COLUMN_PITCH 2.5     /* angstrom between the atoms of a column */
#define MOST_ATOMS 5e6

enum { MOST_PARTS = 8, TRIES = 2000, CANCEL_EVERY = 1024 };

SbSpecimen *
specimen_new (void)
{
  SbSpecimen *specimen = g_new0 (SbSpecimen, 1);
  specimen->atoms = g_array_new (FALSE, FALSE, sizeof (SbAtom));
  return specimen;
}

void
specimen_free (SbSpecimen *specimen)
{
  if (specimen == NULL)
    return;
  g_array_unref (specimen->atoms);
  g_free (specimen);
}

/* ---- mixture ---- */

typedef struct Mixture {
  const SbElement *element[MOST_PARTS];
  double share[MOST_PARTS]; /* of the atoms; sums to 1 */
  int n;
  double weight; /* mean, u */
} Mixture;

static gboolean
mixture_parse (const char *text, Mixture *mixture, GError **error)
{
  double sum = 0;
  memset (mixture, 0, sizeof *mixture);
  g_auto (GStrv) parts = g_strsplit_set (text != NULL ? text : "", " ,;", -1);
  for (guint i = 0; parts[i] != NULL; i++) {
    if (parts[i][0] == '\0')
      continue;
    g_auto (GStrv) pair = g_strsplit (parts[i], "=", 2);
    char *end = NULL;
    double share = pair[1] != NULL ? g_ascii_strtod (pair[1], &end) : 1;
    const SbElement *element = potential_find (pair[0]);
    if (element == NULL)
      return sb_fail (error, SB_ERROR_ARGUMENT, "mixture: \"%s\" is no element from H to Lr; write it like C=0.9 Si=0.1.",
                      pair[0]);
    if (!(share > 0 && share <= 1e6) || (end != NULL && *end != '\0') || mixture->n == MOST_PARTS)
      return sb_fail (error, SB_ERROR_ARGUMENT,
                      "mixture: \"%s\" cannot be used; give up to %d elements with shares above 0, "
                      "like C=0.9 Si=0.1.",
                      parts[i], MOST_PARTS);
    mixture->element[mixture->n] = element;
    mixture->share[mixture->n++] = share;
    sum += share;
  }
  if (mixture->n == 0)
    return sb_fail (error, SB_ERROR_ARGUMENT, "mixture is empty; name at least one element, like C=0.9 Si=0.1.");
  for (int i = 0; i < mixture->n; i++) {
    mixture->share[i] /= sum;
    mixture->weight += mixture->share[i] * mixture->element[i]->weight;
  }
  return TRUE;
}

static const SbElement *
mixture_draw (const Mixture *mixture, SbRandom *random)
{
  double u = random_uniform (random);
  int i = 0;
  while (i + 1 < mixture->n && u > mixture->share[i])
    u -= mixture->share[i++];
  return mixture->element[i];
}

/* ---- neighbours ---- */

/* Boxes at least the least distance wide, so that only the 27 round a point need be looked at. */
typedef struct Boxes {
  double cell[3], distance;
  gint64 n[3];
  gboolean flat; /* distances in projection */
  gint32 *first; /* [box]: newest atom, -1: none */
  GArray *next;  /* gint32 [atom] */
} Boxes;

static gboolean
boxes_init (Boxes *boxes, const double cell[3], double distance, gboolean flat, GError **error)
{
  memcpy (boxes->cell, cell, sizeof boxes->cell);
  boxes->distance = distance;
  boxes->flat = flat;
  for (int a = 0; a < 3; a++)
    boxes->n[a] = flat && a == 2 ? 1 : (gint64)CLAMP (floor (cell[a] / MAX (distance, 0.5)), 1, 256);
  gsize n = (gsize)(boxes->n[0] * boxes->n[1] * boxes->n[2]);
  boxes->next = g_array_new (FALSE, FALSE, sizeof (gint32));
  boxes->first = sb_alloc (n, sizeof *boxes->first, "the boxes of the atoms", error);
  for (gsize i = 0; boxes->first != NULL && i < n; i++)
    boxes->first[i] = -1;
  return boxes->first != NULL;
}

static void
boxes_clear (Boxes *boxes)
{
  g_free (boxes->first);
  g_array_unref (boxes->next);
}

static void
box_of (const Boxes *boxes, const double r[3], gint64 at[3])
{
  for (int a = 0; a < 3; a++) {
    double x = a == 2 ? r[2] + boxes->cell[2] / 2 : r[a];
    at[a] = CLAMP ((gint64)floor (x / boxes->cell[a] * (double)boxes->n[a]), 0, boxes->n[a] - 1);
  }
}

static double
distance_squared (const Boxes *boxes, const double p[3], const double q[3])
{
  double row = remainder (p[0] - q[0], boxes->cell[0]), col = remainder (p[1] - q[1], boxes->cell[1]);
  double z = boxes->flat ? 0 : p[2] - q[2];
  return row * row + col * col + z * z;
}

static gboolean
box_is_clear (const Boxes *boxes, const GArray *atoms, gint64 box, const double r[3])
{
  double least = boxes->distance * boxes->distance;
  for (gint32 i = boxes->first[box]; i >= 0; i = g_array_index (boxes->next, gint32, i))
    if (distance_squared (boxes, g_array_index (atoms, SbAtom, i).r, r) < least)
      return FALSE;
  return TRUE;
}

static gboolean
place_is_clear (const Boxes *boxes, const GArray *atoms, const double r[3])
{
  gint64 at[3];
  box_of (boxes, r, at);
  for (gint64 z = MAX (at[2] - 1, 0); z <= MIN (at[2] + 1, boxes->n[2] - 1); z++)
    for (gint64 i = -1; i <= 1; i++)
      for (gint64 j = -1; j <= 1; j++) {
        gint64 row = (at[0] + i + boxes->n[0]) % boxes->n[0], col = (at[1] + j + boxes->n[1]) % boxes->n[1];
        if (!box_is_clear (boxes, atoms, (z * boxes->n[0] + row) * boxes->n[1] + col, r))
          return FALSE;
      }
  return TRUE;
}

static void
boxes_add (Boxes *boxes, GArray *atoms, const SbAtom *atom)
{
  gint64 at[3];
  box_of (boxes, atom->r, at);
  gint64 box = (at[2] * boxes->n[0] + at[0]) * boxes->n[1] + at[1];
  g_array_append_val (boxes->next, boxes->first[box]);
  boxes->first[box] = (gint32)atoms->len;
  g_array_append_vals (atoms, atom, 1);
}

/* ---- placing ---- */

/* n points at random, none nearer to another than the least distance. */
static gboolean
place (const SbRecipe *recipe, const Mixture *mixture, gboolean flat, gint64 n, SbRandom *random, GArray *atoms,
       SbProgress *progress, GError **error)
{
  Boxes boxes = { 0 };
  gboolean good = boxes_init (&boxes, recipe->cell, recipe->min_distance, flat, error);
  for (gint64 i = 0; good && i < n; i++) {
    SbAtom atom = { .element = mixture_draw (mixture, random) };
    int tries = 0;
    do {
      for (int a = 0; a < 3; a++)
        atom.r[a] = recipe->cell[a] * (random_uniform (random) - (a == 2 ? 0.5 : 0));
    } while (!place_is_clear (&boxes, atoms, atom.r) && ++tries < TRIES);
    if (tries == TRIES)
      good = sb_fail (error, SB_ERROR_ARGUMENT,
                      "Only %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " %s find room %g Å apart; "
                      "give a smaller density or min_distance.",
                      i, n, flat ? "columns" : "atoms", recipe->min_distance);
    else
      boxes_add (&boxes, atoms, &atom);
    if (good && i % CANCEL_EVERY == 0)
      good = progress_step (progress, (double)i / (double)n, error);
  }
  boxes_clear (&boxes);
  return good;
}

static gboolean
count_atoms (const SbRecipe *recipe, const Mixture *mixture, double *n, GError **error)
{
  *n = recipe->density * AVOGADRO / mixture->weight * recipe->cell[0] * recipe->cell[1] * recipe->cell[2];
  if (*n <= MOST_ATOMS)
    return TRUE;
  return sb_fail (error, SB_ERROR_ARGUMENT, "A specimen of %.3g atoms is too large; give a smaller scan, thickness or density.",
                  *n);
}

static SbSpecimen *
new_in (const SbRecipe *recipe)
{
  SbSpecimen *specimen = specimen_new ();
  memcpy (specimen->cell, recipe->cell, sizeof specimen->cell);
  return specimen;
}

SbSpecimen *
specimen_film (const SbRecipe *recipe, SbRandom *random, SbProgress *progress, GError **error)
{
  g_autoptr (SbSpecimen) film = new_in (recipe);
  Mixture mixture;
  double n;
  if (!mixture_parse (recipe->mixture, &mixture, error) || !count_atoms (recipe, &mixture, &n, error)
      || !place (recipe, &mixture, FALSE, (gint64)round (n), random, film->atoms, progress, error))
    return NULL;
  return g_steal_pointer (&film);
}

SbSpecimen *
specimen_columns (const SbRecipe *recipe, SbRandom *random, SbProgress *progress, GError **error)
{
  g_autoptr (SbSpecimen) columns = new_in (recipe);
  g_autoptr (GArray) places = g_array_new (FALSE, FALSE, sizeof (SbAtom));
  Mixture mixture;
  double n;
  if (!mixture_parse (recipe->mixture, &mixture, error) || !count_atoms (recipe, &mixture, &n, error))
    return NULL;
  gint64 a_column = MAX ((gint64)round (recipe->cell[2] / COLUMN_PITCH), 1);
  if (!place (recipe, &mixture, TRUE, (gint64)round (n / (double)a_column), random, places, progress, error))
    return NULL;
  for (guint i = 0; i < places->len; i++)
    for (gint64 j = 0; j < a_column; j++) {
      SbAtom atom = g_array_index (places, SbAtom, i);
      atom.r[2] = recipe->cell[2] * (((double)j + 0.5) / (double)a_column - 0.5);
      g_array_append_val (columns->atoms, atom);
    }
  return g_steal_pointer (&columns);
}
