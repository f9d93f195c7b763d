#include "core/simulate/truth.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/simulate/structure.h"
#include "kernels/cpu/fft.h"

#define LOW_PASS 1.9 /* k_max */
#define MARGIN 2.0   /* angstrom round a scan that is not periodic */

enum { UPSAMPLING = 3, NPY_HEADER = 128 };

/* The scan's own grid, three times finer, with a margin where it is not periodic. */
static void
make_grid (const SbSimulation *s, SbStructureGrid *g, gint64 margin[2])
{
  g->limit = LOW_PASS * s->k_max;
  g->interaction = potential_interaction (s->optics.energy);
  for (int a = 0; a < 2; a++) {
    double fine = s->optics.step[a] / UPSAMPLING;
    margin[a] = s->periodic ? 0 : (gint64)ceil (MARGIN / fine);
    g->grid[a] = UPSAMPLING * s->scan[a] + 2 * margin[a];
    g->cell[a] = (double)g->grid[a] * fine;
    g->repeats[a] = 1;
  }
}

/* The atoms in the frame of that grid; those beyond it are left out where nothing is periodic. */
static GArray *
place_atoms (const SbSimulation *s, const SbStructureGrid *g, const gint64 margin[2], const SbSpecimen *specimen)
{
  GArray *atoms = g_array_sized_new (FALSE, FALSE, sizeof (SbAtom), specimen->atoms->len);
  for (guint i = 0; i < specimen->atoms->len; i++) {
    SbAtom atom = g_array_index (specimen->atoms, SbAtom, i);
    gboolean inside = TRUE;
    double r[2];
    simulation_point_back (s, atom.r, r);
    for (int a = 0; a < 2; a++) {
      atom.r[a] = r[a] + (double)margin[a] * s->optics.step[a] / UPSAMPLING;
      inside = inside && atom.r[a] >= 0 && atom.r[a] < g->cell[a];
    }
    if (inside || s->periodic)
      g_array_append_val (atoms, atom);
  }
  structure_sort (atoms);
  return atoms;
}

/* The middle of the grid, its mean taken off. */
static float *
crop (const SbSimulation *s, const SbStructureGrid *g, const gint64 margin[2], const double *grid, GError **error)
{
  gint64 rows = UPSAMPLING * s->scan[0], cols = UPSAMPLING * s->scan[1];
  double mean = 0;
  float *image = sb_alloc ((gsize)(rows * cols), sizeof *image, "the true phase", error);
  for (gint64 i = 0; image != NULL && i < rows; i++)
    for (gint64 j = 0; j < cols; j++)
      mean += grid[2 * ((i + margin[0]) * g->grid[1] + j + margin[1])] / (double)(rows * cols);
  for (gint64 i = 0; image != NULL && i < rows; i++)
    for (gint64 j = 0; j < cols; j++)
      image[i * cols + j] = (float)(grid[2 * ((i + margin[0]) * g->grid[1] + j + margin[1])] - mean);
  return image;
}

float *
truth_image (const SbSimulation *s, const SbSpecimen *specimen, SbProgress *progress, GError **error)
{
  SbStructureGrid g;
  gint64 margin[2];
  make_grid (s, &g, margin);
  g_autofree double *grid = sb_alloc ((gsize)(g.grid[0] * g.grid[1]), 2 * sizeof *grid, "the true phase", error);
  SbkFftComplex *fft = sbk_fft_complex_new (g.grid[0], g.grid[1], TRUE);
  g_autoptr (GArray) atoms = place_atoms (s, &g, margin, specimen);
  gboolean good = grid != NULL && fft != NULL
                  && structure_spectrum (&g, (const SbAtom *)(gpointer)atoms->data, atoms->len, progress, grid);
  if (good)
    sbk_fft_complex_backward (fft, grid);
  sbk_fft_complex_free (fft);
  if (!good) {
    sb_fail (error, SB_ERROR_MEMORY, "No memory for the true phase; give a smaller scan.");
    return NULL;
  }
  return progress_step (progress, 1, error) ? crop (s, &g, margin, grid, error) : NULL;
}

guint8 *
truth_npy (const SbSimulation *s, const float *image, gsize *size, GError **error)
{
  gint64 rows = UPSAMPLING * s->scan[0], cols = UPSAMPLING * s->scan[1];
  gsize n = (gsize)(rows * cols);
  *size = NPY_HEADER + n * sizeof (float);
  guint8 *bytes = sb_alloc (*size, 1, "the true phase", error);
  if (bytes == NULL)
    return NULL;
  memset (bytes, ' ', NPY_HEADER);
  memcpy (bytes, "\x93NUMPY\x01\x00", 8);
  bytes[8] = NPY_HEADER - 10;
  bytes[9] = 0;
  g_autofree char *text = g_strdup_printf (
      "{'descr': '<f4', 'fortran_order': False, 'shape': (%" G_GINT64_FORMAT ", %" G_GINT64_FORMAT "), }", rows, cols);
  memcpy (bytes + 10, text, strlen (text));
  bytes[NPY_HEADER - 1] = '\n';
  for (gsize i = 0; i < n; i++) {
    guint32 word;
    memcpy (&word, &image[i], sizeof word);
    word = GUINT32_TO_LE (word);
    memcpy (bytes + NPY_HEADER + i * sizeof word, &word, sizeof word);
  }
  return bytes;
}

/* ---- numbers ---- */

static json_t *
coordinates (const SbSimulation *s)
{
  json_t *object = json_object ();
  for (int i = 0; i < SB_N_COORDINATES; i++) {
    double x = s->at.x[i] + 0.0;
    x = i == SB_DEPTH ? s->thickness : i >= SB_TILT_ROW ? x * 1e-3 : x;
    json_object_set_new (object, coordinate_name (i), json_real (x));
  }
  return object;
}

/* The same for people: nm and rad, mrad, nm. */
static json_t *
values (const SbSimulation *s)
{
  json_t *object = json_object ();
  for (int t = 0; t < SB_N_TERMS; t++) {
    double c_nm, phi;
    optics_polar (&s->optics, &s->at, t, &c_nm, &phi);
    json_object_set_new (object, optics_terms[t].name, json_real (c_nm + 0.0));
    if (optics_terms[t].m > 0)
      json_object_set_new (object, optics_terms[t].angle, json_real (c_nm > 0 ? phi : 0));
  }
  for (int i = SB_TILT_ROW; i <= SB_DEPTH; i++)
    json_object_set_new (object, coordinate_name (i), json_real (i == SB_DEPTH ? s->thickness / 10 : s->at.x[i] + 0.0));
  return object;
}

static json_t *
how (const SbSimulation *s, const SbSimulationOptions *o, guint n_atoms)
{
  return json_pack ("{s:s, s:i, s:f, s:f, s:s, s:b, s:I, s:I, s:[f, f], s:[I, I], s:f}", "specimen", o->specimen, "atoms",
                    (int)n_atoms, "thickness_angstrom", s->thickness, "band_limit_per_angstrom", s->band_limit, "aperture",
                    s->soft ? "soft" : "hard", "periodic", s->periodic, "slices", (json_int_t)s->n_slices, "random_seed",
                    (json_int_t)s->seed, "cell_angstrom", s->cell[0], s->cell[1], "grid", (json_int_t)s->grid[0],
                    (json_int_t)s->grid[1], "k_max_per_angstrom", s->k_max);
}

json_t *
truth_numbers (const SbSimulation *s, const SbSimulationOptions *o, guint n_atoms)
{
  gboolean square = s->optics.step[0] == s->optics.step[1];
  g_autofree char *what = g_strdup_printf ("sideband %s multislice simulation: %s", SB_VERSION, o->specimen);
  json_t *json = json_pack ("{s:s, s:f, s:f}", "what", what, "energy_kV", s->optics.energy, "semiangle_mrad",
                            s->optics.semiangle);
  json_object_set_new (json, "scan_step_angstrom",
                       square ? json_real (s->optics.step[0]) : json_pack ("[f, f]", s->optics.step[0], s->optics.step[1]));
  json_object_set_new (json, "scan_shape", json_pack ("[I, I]", (json_int_t)s->scan[0], (json_int_t)s->scan[1]));
  json_object_set_new (json, "detector_shape", json_pack ("[I, I]", (json_int_t)s->detector[0], (json_int_t)s->detector[1]));
  json_object_set_new (json, "detector_sampling_mrad", json_real (s->sampling));
  json_object_set_new (json, "disk_centre", json_pack ("[f, f]", s->centre[0], s->centre[1]));
  json_object_set_new (json, "rotation_deg", json_real (s->frame.rotation * 180 / G_PI));
  json_object_set_new (json, "orientation", json_string (s->frame.transpose ? "transpose" : "identity"));
  json_object_set_new (json, "electrons_per_frame", json_real (s->dose));
  json_object_set_new (json, "units",
                       json_string ("chi coordinates: rad at the aperture edge; tilt rad; depth angstrom; "
                                    "scan frame, mid-plane of the object"));
  json_object_set_new (json, "truth", coordinates (s));
  json_object_set_new (json, "values", values (s));
  json_object_set_new (json, "simulation", how (s, o, n_atoms));
  return json;
}
