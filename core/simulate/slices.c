/* Transmission functions exp (i phase) of the slices. */
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/simulate/multislice.h"
#include "core/simulate/structure.h"
#include "kernels/cpu/fft.h"

typedef struct Slicing {
  const SbSimulation *simulation;
  SbStructureGrid grid;
  GArray **atoms;     /* SbAtom [slice], ordered by element, where the tilt puts them */
  SbkFftComplex *fft; /* double */
  float *out;
  gint64 done; /* slices, atomic */
  gint failed; /* atomic */
  SbProgress *progress;
} Slicing;

static gsize
grid_size (const SbSimulation *s)
{
  return (gsize)(s->grid[0] * s->grid[1]);
}

/* Phase -> exp (i phase), without the frequencies that would wrap round. */
static void
transmit (const Slicing *slicing, double *grid, float *out)
{
  const SbSimulation *s = slicing->simulation;
  gsize n = grid_size (s);
  double limit = s->band_limit * s->band_limit;
  sbk_fft_complex_backward (slicing->fft, grid);
  for (gsize i = 0; i < n; i++) {
    double phase = grid[2 * i];
    grid[2 * i] = cos (phase);
    grid[2 * i + 1] = sin (phase);
  }
  sbk_fft_complex_forward (slicing->fft, grid);
  for (gint64 i = 0; i < s->grid[0]; i++)
    for (gint64 j = 0; j < s->grid[1]; j++) {
      double row = simulation_frequency (s, 0, i), col = simulation_frequency (s, 1, j);
      double keep = row * row + col * col > limit ? 0 : 1 / (double)n;
      grid[2 * (i * s->grid[1] + j)] *= keep;
      grid[2 * (i * s->grid[1] + j) + 1] *= keep;
    }
  sbk_fft_complex_backward (slicing->fft, grid);
  for (gsize i = 0; i < 2 * n; i++)
    out[i] = (float)grid[i];
}

static void
make_slice (gint64 index, guint worker, gpointer data)
{
  Slicing *slicing = data;
  const SbSimulation *s = slicing->simulation;
  const GArray *atoms = slicing->atoms[index];
  if (g_atomic_int_get (&slicing->failed) || progress_cancelled (slicing->progress))
    return;
  g_autofree double *grid = g_try_new (double, 2 * grid_size (s));
  if (grid == NULL
      || !structure_spectrum (&slicing->grid, (const SbAtom *)(gpointer)atoms->data, atoms->len, slicing->progress, grid)) {
    g_atomic_int_set (&slicing->failed, 1);
    return;
  }
  transmit (slicing, grid, slicing->out + (gsize)index * 2 * grid_size (s));
  gint64 done = __atomic_add_fetch (&slicing->done, 1, __ATOMIC_RELAXED);
  if (worker == 0)
    progress_step (slicing->progress, (double)done / (double)s->n_slices, NULL);
}

/* Which atoms are in which slice; an object tilted by tau is displaced by z tau. */
static void
share_out (Slicing *slicing, const SbSpecimen *specimen)
{
  const SbSimulation *s = slicing->simulation;
  double tilt[2], scan[2] = { s->at.x[SB_TILT_ROW] * 1e-3, s->at.x[SB_TILT_COL] * 1e-3 };
  simulation_turn (s, scan, tilt);
  for (gint64 i = 0; i < s->n_slices; i++)
    slicing->atoms[i] = g_array_new (FALSE, FALSE, sizeof (SbAtom));
  for (guint i = 0; i < specimen->atoms->len; i++) {
    SbAtom atom = g_array_index (specimen->atoms, SbAtom, i);
    double at = floor ((atom.r[2] / s->thickness + 0.5) * (double)s->n_slices);
    for (int a = 0; a < 2; a++)
      atom.r[a] += atom.r[2] * tilt[a];
    g_array_append_val (slicing->atoms[(gint64)CLAMP (at, 0, (double)s->n_slices - 1)], atom);
  }
  for (gint64 i = 0; i < s->n_slices; i++)
    structure_sort (slicing->atoms[i]);
}

static void
set_grid (const SbSimulation *s, SbStructureGrid *grid)
{
  grid->limit = INFINITY; /* all that the grid holds: what the band leaves out of the phase is missing in exp
                             (i phase) */
  grid->interaction = potential_interaction (s->optics.energy);
  for (int a = 0; a < 2; a++) {
    grid->cell[a] = s->cell[a];
    grid->grid[a] = s->grid[a];
    grid->repeats[a] = (gint64)round (s->cell[a] / s->period[a]);
  }
}

float *
slices_make (SbEngine *engine, const SbSimulation *s, const SbSpecimen *specimen, SbProgress *progress, GError **error)
{
  Slicing slicing = { .simulation = s, .progress = progress };
  float *out = sb_alloc ((gsize)s->n_slices * grid_size (s), 2 * sizeof *out, "the slices", error);
  if (out == NULL)
    return NULL;
  set_grid (s, &slicing.grid);
  slicing.out = out;
  slicing.fft = sbk_fft_complex_new (s->grid[0], s->grid[1], TRUE);
  slicing.failed = slicing.fft == NULL;
  slicing.atoms = g_new (GArray *, s->n_slices);
  share_out (&slicing, specimen);
  if (!slicing.failed)
    engine_parallel (engine, s->n_slices, make_slice, &slicing);
  for (gint64 i = 0; i < s->n_slices; i++)
    g_array_unref (slicing.atoms[i]);
  g_free (slicing.atoms);
  sbk_fft_complex_free (slicing.fft);
  gboolean good = progress_step (progress, 1, error);
  if (good && slicing.failed)
    good = sb_fail (error, SB_ERROR_MEMORY, "No memory for the slices; give a smaller scan.");
  if (!good)
    g_clear_pointer (&out, g_free);
  return out;
}
