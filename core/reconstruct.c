/* Sums of the kernel -> Phi(q) by a method -> image. See the model's Reconstruction. */
#include "core/reconstruct.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/order.h"
#include "core/passes.h"
#include "kernels/cpu/fft.h"

enum { SB_UPSAMPLING_MAX = 64 };

#define ROW(field) G_STRUCT_OFFSET (SbReconstructionOptions, field)

static const SbParam rows[] = {
  { .name = "method",
    .title = "Method",
    .unit = "",
    .help = "How the phase image is made.",
    .type = SB_PARAM_CHOICE,
    .offset = ROW (method),
    .value = NAN,
    .text = "phase",
    .min = -INFINITY,
    .max = INFINITY,
    .show_min = -INFINITY,
    .show_max = INFINITY,
    .choices_from = method_names,
    .flags = SB_PARAM_LIVE },
  { .name = "upsampling",
    .title = "Upsampling",
    .unit = "",
    .help = "Image pixels per scan point along each axis; 0 takes as many as the aperture resolves.",
    .type = SB_PARAM_INT,
    .offset = ROW (upsampling),
    .value = 0,
    .min = 0,
    .max = SB_UPSAMPLING_MAX,
    .show_min = 0,
    .show_max = 8,
    .flags = SB_PARAM_LIVE },
  { .name = "regularisation",
    .title = "Regularisation",
    .unit = "",
    .help = "Added to the weight of every frequency; where not given it follows from the noise, ring by ring.",
    .type = SB_PARAM_DOUBLE,
    .offset = ROW (regularisation),
    .value = NAN,
    .min = 0,
    .max = INFINITY,
    .show_min = 0,
    .show_max = 100,
    .flags = SB_PARAM_LIVE | SB_PARAM_ADVANCED },
  { .name = "quality",
    .title = "Quality",
    .unit = "",
    .help = "Measure the resolution of the image from two halves of the bright field, and what the microscope transfers.",
    .type = SB_PARAM_BOOL,
    .offset = ROW (quality),
    .value = TRUE,
    .min = -INFINITY,
    .max = INFINITY,
    .show_min = -INFINITY,
    .show_max = INFINITY,
    .flags = SB_PARAM_LIVE | SB_PARAM_ADVANCED },
  { .name = "half_images",
    .title = "Half images",
    .unit = "",
    .help = "Keep the images of the two halves of the bright field in the result.",
    .type = SB_PARAM_BOOL,
    .offset = ROW (half_images),
    .value = TRUE,
    .min = -INFINITY,
    .max = INFINITY,
    .show_min = -INFINITY,
    .show_max = INFINITY,
    .flags = SB_PARAM_LIVE | SB_PARAM_ADVANCED },
};
const SbParamGroup reconstruction_params = { "reconstruction", "Reconstruction", sizeof (SbReconstructionOptions), rows,
                                             G_N_ELEMENTS (rows) };

const char *const *
method_names (void)
{
  static gsize ready = 0;
  static const char *names[64]; /* far more than there are methods; the last stays NULL */
  if (g_once_init_enter (&ready)) {
    for (gsize i = 0; method_registry[i] != NULL && i + 1 < G_N_ELEMENTS (names); i++)
      names[i] = method_registry[i]->name;
    g_once_init_leave (&ready, 1);
  }
  return names;
}

const SbMethod *
method_find (const char *name)
{
  for (gsize i = 0; method_registry[i] != NULL; i++)
    if (g_strcmp0 (method_registry[i]->name, name) == 0)
      return method_registry[i];
  return NULL;
}

void
upsampling_factors (const SbOptics *optics, gint64 asked, gint64 factor[2])
{
  double resolved = 1 / (4 * optics_k_max (optics)); /* lambda / (4 semiangle): the finest period over 2 k_max */
  for (int axis = 0; axis < 2; axis++)
    factor[axis] = asked > 0 ? asked : MAX ((gint64)ceil (optics->step[axis] / resolved - 1e-12), 1);
}

double
spectrum_noise (const SbSpectrum *spectrum)
{
  double counts = spectrum->mean_counts * (double)spectrum->scan_rows * (double)spectrum->scan_cols;
  return counts > 0 ? spectrum->mean_a2 * spectrum->mean_a2 / counts : 0;
}

/* 0 where it has no meaning: a constant image. */
double
image_skewness (const float *x, gsize n)
{
  double second = 0, third = 0;
  if (n == 0)
    return 0;
  double median = (double)order_float (x, n, n / 2);
  if (n % 2 == 0)
    median = 0.5 * ((double)order_float (x, n, n / 2 - 1) + median);
  for (gsize i = 0; i < n; i++) {
    double d = (double)x[i] - median;
    second += d * d;
    third += d * d * d;
  }
  second /= (double)n;
  third /= (double)n;
  double skewness = third / pow (second, 1.5);
  return isfinite (skewness) ? skewness : 0;
}

void
image_free (SbImage *image)
{
  if (image == NULL)
    return;
  g_free (image->phase);
  g_free (image->absorption);
  g_free (image);
}

/* In blocks, so that progress moves; a frequency's sums do not depend on its block. */
double *
fine_grid_sums (SbSpectrum *spectrum, const SbFineGrid *grid, const SbCoordinates *at, SbkSumKind kind, gint64 k_first,
                gint64 k_stride, SbProgress *progress, GError **error)
{
  enum { BLOCKS = 32, LEAST = 1024 };
  const SbEngine *engine = spectrum->engine;
  gint64 n = grid->fine.n;
  double blocks = CLAMP ((double)n * (double)spectrum->n_pixels / engine->backend->pairs_at_once, 1, BLOCKS);
  gint64 block = passes_sums_at_once (spectrum, n, MAX ((gint64)ceil ((double)n / blocks), LEAST));
  SbkView view = { .q_first = 0, .q_count = 0, .q_stride = 1, .q_phase = 0, .k_first = k_first, .k_stride = k_stride };
  SbkModel model;

  g_autofree double *sums = sb_alloc ((gsize)n, sizeof (double) * (gsize)sbk_sum_width (kind), "The sums of the reconstruction",
                                      error);
  if (sums == NULL)
    return NULL;
  optics_model (&spectrum->optics, &spectrum->frame, at, &model);
  for (gint64 first = 0; first < n; first += block) {
    SbkFine part = grid->fine;
    part.n = MIN (block, n - first);
    part.vx += first;
    part.vy += first;
    part.source += first;
    part.conj += first;
    part.stamp = part.n == n ? part.stamp : 0;
    if (!passes_sums (spectrum, &view, engine->precise, &model, &part, kind, sums + first * sbk_sum_width (kind), progress,
                      error)
        || !progress_step (progress, (double)(first + part.n) / (double)n, error))
      return NULL;
  }
  return g_steal_pointer (&sums);
}

/* By the backend, where it can: TRUE or FALSE; -1 where it cannot. */
static int
device_image (const SbFineGrid *grid, const double complex *phi, double *image, float *rounded, GError **error)
{
  SbkPlaces places = { grid->rows, grid->cols, grid->fine.n, grid->position, grid->stamp };
  SbkError kernel = { "" };
  if (grid->engine == NULL || grid->engine->backend->image == NULL)
    return -1;
  return spectrum_fail (
      grid->engine->backend->image (grid->engine->context, &places, (const double *)phi, image, rounded, &kernel), &kernel,
      error);
}

double *
fine_grid_image (const SbFineGrid *grid, const double complex *phi, GError **error)
{
  gint64 n_rows = grid->rows, n_cols = grid->cols, width = n_cols / 2 + 1;
  g_autofree double *image = sb_alloc ((gsize)(n_rows * n_cols), sizeof *image, "The image", error);
  int done = image != NULL ? device_image (grid, phi, image, NULL, error) : FALSE;
  if (done >= 0)
    return done ? g_steal_pointer (&image) : NULL;
  g_autofree double complex *half = sb_alloc ((gsize)(n_rows * width), sizeof *half, "The image's frequencies", error);
  if (half == NULL)
    return NULL;
  memset (half, 0, (gsize)(n_rows * width) * sizeof *half);
  for (gint64 f = 0; f < grid->fine.n; f++) {
    gint64 row = grid->position[f] / n_cols, col = grid->position[f] % n_cols;
    half[row * width + col] = phi[f];
    if (col == 0) /* the one column that holds both of a pair */
      half[(n_rows - row) % n_rows * width] = conj (phi[f]);
  }
  if (sbk_fft_c2r_2d (n_rows, n_cols, (double *)half, image) != 0) {
    sb_fail (error, SB_ERROR_MEMORY, "The transform to the image did not fit into memory; give a smaller upsampling.");
    return NULL;
  }
  return g_steal_pointer (&image);
}

float *
fine_grid_image_single (const SbFineGrid *grid, const double complex *phi, GError **error)
{
  gint64 n = grid->rows * grid->cols;
  g_autofree float *image = sb_alloc ((gsize)n, sizeof *image, "The image", error);
  int done = image != NULL ? device_image (grid, phi, NULL, image, error) : FALSE;
  if (done >= 0)
    return done ? g_steal_pointer (&image) : NULL;
  g_autofree double *wide = fine_grid_image (grid, phi, error);
  for (gint64 i = 0; wide != NULL && i < n; i++)
    image[i] = (float)wide[i];
  return wide != NULL ? g_steal_pointer (&image) : NULL;
}

gboolean
reconstruction_check (const SbReconstructionOptions *options, GError **error)
{
  double eps = options->regularisation;
  if (method_find (options->method) == NULL) {
    g_autofree char *known = g_strjoinv (", ", (char **)method_names ());
    return sb_fail (error, SB_ERROR_ARGUMENT, "There is no method \"%s\"; give one of %s.",
                    options->method != NULL ? options->method : "", known);
  }
  if (!isnan (eps) && !(eps >= 0 && isfinite (eps)))
    return sb_fail (error, SB_ERROR_ARGUMENT, "regularisation is %g; give a number that is not negative.", eps);
  if (options->upsampling < 0 || options->upsampling > SB_UPSAMPLING_MAX)
    return sb_fail (error, SB_ERROR_ARGUMENT, "upsampling is %" G_GINT64_FORMAT "; give 0 (automatic) to %d.",
                    options->upsampling, SB_UPSAMPLING_MAX);
  return TRUE;
}

/* Phi of every fine frequency, and the absorption's where the method has it. */
static gboolean
grid_solve (SbSpectrum *spectrum, const SbFineGrid *grid, const SbCoordinates *at, const SbReconstructionOptions *options,
            SbProgress *progress, double complex **phi, double complex **absorption, GError **error)
{
  const SbMethod *method = method_find (options->method);
  gsize n = (gsize)grid->fine.n;
  if ((*phi = sb_alloc (n, sizeof **phi, "The image's frequencies", error)) == NULL)
    return FALSE;
  if (method->has_absorption && (*absorption = sb_alloc (n, sizeof **phi, "The image's frequencies", error)) == NULL)
    return FALSE;
  if (method->solve_grid != NULL)
    return method->solve_grid (spectrum, grid, at, options->regularisation, progress, *phi, *absorption, error);
  g_autofree double *sums = fine_grid_sums (spectrum, grid, at, method->sums, 0, 1, progress, error);
  if (sums == NULL)
    return FALSE;
  return method->solve (grid, sums, spectrum_noise (spectrum), options->regularisation, *phi, *absorption, error);
}

/* The grid and Phi on it. */
static gboolean
solve (SbSpectrum *spectrum, const SbCoordinates *at, const SbReconstructionOptions *options, SbProgress *progress,
       SbFineGrid **grid, double complex **phi, double complex **amplitude, GError **error)
{
  gint64 factor[2];
  if (!reconstruction_check (options, error))
    return FALSE;
  upsampling_factors (&spectrum->optics, options->upsampling, factor);
  return (*grid = fine_grid_new (spectrum, factor, error)) != NULL
         && grid_solve (spectrum, *grid, at, options, progress, phi, amplitude, error);
}

gboolean
reconstruct_double (SbSpectrum *spectrum, const SbCoordinates *at, const SbReconstructionOptions *options, SbProgress *progress,
                    SbFineGrid **grid, double **phase, double **absorption, GError **error)
{
  g_autofree double complex *phi = NULL, *amplitude = NULL;
  g_autoptr (SbFineGrid) fine = NULL;
  *phase = *absorption = NULL;
  *grid = NULL;
  if (!solve (spectrum, at, options, progress, &fine, &phi, &amplitude, error))
    return FALSE;
  g_autofree double *image = fine_grid_image (fine, phi, error);
  if (image == NULL || (amplitude != NULL && (*absorption = fine_grid_image (fine, amplitude, error)) == NULL))
    return FALSE;
  *phase = g_steal_pointer (&image);
  *grid = g_steal_pointer (&fine);
  return TRUE;
}

SbImage *
reconstruct (SbSpectrum *spectrum, const SbCoordinates *at, const SbReconstructionOptions *options, SbProgress *progress,
             GError **error)
{
  g_autofree double complex *phi = NULL, *amplitude = NULL;
  g_autoptr (SbFineGrid) grid = NULL;
  if (!solve (spectrum, at, options, progress, &grid, &phi, &amplitude, error))
    return NULL;
  g_autoptr (SbImage) image = g_new0 (SbImage, 1);
  image->rows = grid->rows;
  image->cols = grid->cols;
  image->absent = grid->absent;
  for (int axis = 0; axis < 2; axis++) {
    image->factor[axis] = grid->factor[axis];
    image->step[axis] = spectrum->optics.step[axis] / (double)grid->factor[axis];
  }
  if ((image->phase = fine_grid_image_single (grid, phi, error)) == NULL
      || (amplitude != NULL && (image->absorption = fine_grid_image_single (grid, amplitude, error)) == NULL))
    return NULL;
  return g_steal_pointer (&image);
}
