#include "core/simulate/structure.h"

#include <math.h>
#include <string.h>

enum { CANCEL_EVERY = 64 };

/* Structure factor of one element: rows 0 .. most[0], columns -most[1] .. most[1]; the rest is their
 * conjugate. */
typedef struct Factors {
  const SbStructureGrid *grid;
  gint64 most[2], width;
  double *re, *im, *col_re, *col_im;
} Factors;

void
structure_sort (GArray *atoms)
{
  g_autoptr (GArray) sorted = g_array_sized_new (FALSE, FALSE, sizeof (SbAtom), atoms->len);
  gboolean used[SB_N_ELEMENTS + 1] = { FALSE };
  for (guint i = 0; i < atoms->len; i++)
    used[g_array_index (atoms, SbAtom, i).element->number] = TRUE;
  for (int number = 1; number <= SB_N_ELEMENTS; number++)
    for (guint i = 0; used[number] && i < atoms->len; i++)
      if (g_array_index (atoms, SbAtom, i).element->number == number)
        g_array_append_vals (sorted, &g_array_index (atoms, SbAtom, i), 1);
  if (sorted->len > 0)
    memcpy (atoms->data, sorted->data, sorted->len * sizeof (SbAtom));
}

static void
add_atom (const Factors *f, const SbAtom *atom)
{
  for (gint64 j = 0; j < f->width; j++) {
    double turn = 2 * G_PI * (double)(j - f->most[1]) * atom->r[1] / f->grid->cell[1];
    f->col_re[j] = cos (turn);
    f->col_im[j] = -sin (turn);
  }
  for (gint64 i = 0; i <= f->most[0]; i++) {
    double turn = 2 * G_PI * (double)i * atom->r[0] / f->grid->cell[0], re = cos (turn), im = -sin (turn);
    double *restrict to_re = f->re + i * f->width, *restrict to_im = f->im + i * f->width;
    for (gint64 j = 0; j < f->width; j++) {
      to_re[j] += re * f->col_re[j] - im * f->col_im[j];
      to_im[j] += re * f->col_im[j] + im * f->col_re[j];
    }
  }
}

/* Adds the element's phase to the grid's frequencies: scattering factor times structure factor over the
 * cell's area. */
static void
add_element (const Factors *f, const SbElement *element, double *spectrum)
{
  const SbStructureGrid *g = f->grid;
  double scale = g->interaction / (g->cell[0] * g->cell[1]) * (double)(g->repeats[0] * g->repeats[1]);
  for (gint64 i = 0; i <= f->most[0]; i++)
    for (gint64 j = -f->most[1]; j <= f->most[1]; j++) {
      double row = (double)i / g->cell[0], col = (double)j / g->cell[1], k_squared = row * row + col * col;
      if (k_squared > g->limit * g->limit || i % g->repeats[0] != 0 || j % g->repeats[1] != 0)
        continue;
      double factor = scale * potential_factor (element, k_squared);
      gint64 from = i * f->width + j + f->most[1];
      double *to = spectrum + 2 * (i * g->grid[1] + (j + g->grid[1]) % g->grid[1]);
      to[0] += factor * f->re[from];
      to[1] += factor * f->im[from];
      if (i > 0) { /* the phase is real */
        to = spectrum + 2 * ((g->grid[0] - i) * g->grid[1] + (g->grid[1] - j) % g->grid[1]);
        to[0] += factor * f->re[from];
        to[1] -= factor * f->im[from];
      }
    }
}

gboolean
structure_spectrum (const SbStructureGrid *grid, const SbAtom *atoms, guint n, const SbProgress *progress, double *spectrum)
{
  Factors f = { .grid = grid };
  for (int a = 0; a < 2; a++)
    f.most[a] = (gint64)MIN (grid->limit * grid->cell[a] + 1e-9, (double)((grid->grid[a] - 1) / 2));
  f.width = 2 * f.most[1] + 1;
  gsize size = (gsize)((f.most[0] + 1) * f.width), width = (gsize)f.width;
  g_autofree double *memory = g_try_new (double, 2 * (size + width));
  if (memory == NULL)
    return FALSE;
  f.re = memory;
  f.im = memory + size;
  f.col_re = memory + 2 * size;
  f.col_im = memory + 2 * size + width;
  memset (spectrum, 0, 2 * (gsize)(grid->grid[0] * grid->grid[1]) * sizeof *spectrum);
  for (guint i = 0; i < n;) {
    const SbElement *element = atoms[i].element;
    memset (memory, 0, 2 * size * sizeof *memory);
    for (; i < n && atoms[i].element == element; i++) {
      if (i % CANCEL_EVERY == 0 && progress_cancelled (progress))
        return TRUE;
      add_atom (&f, &atoms[i]);
    }
    add_element (&f, element, spectrum);
  }
  return TRUE;
}
