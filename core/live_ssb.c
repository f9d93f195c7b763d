/* Single sideband of what is there: a small copy of the columns goes the way of every reconstruction. */
#include <math.h>
#include <string.h>

#include "core/agreement.h"
#include "core/error.h"
#include "core/fit/values.h"
#include "core/live_inside.h"
#include "core/reconstruct.h"

enum { MOST_COUNTS = 1 << 24, MOST_POSITIONS = 1 << 18, LEAST_POINTS = 16 };

/* Columns of some pixels, scan points binned bin x bin; points without a frame hold the mean of their column, so that
 * they make no contrast. */
typedef struct Small {
  SbAcquisition acquisition; /* only its used shape is set */
  SbColumns columns;
  gint64 bin;
} Small;

static void
small_clear (Small *small)
{
  g_free (small->columns.pixel);
  g_free (small->columns.counts);
  g_free (small->columns.frame_sum);
  g_free (small->columns.frame_com);
}

static gint64
choose_bin (const SbAcquisition *acquisition)
{
  gint64 bin = 1;
  while ((acquisition->used_rows / bin) * (acquisition->used_cols / bin) > MOST_POSITIONS)
    bin++;
  return bin;
}

/* One column: the mean of what is there in each bin, and the mean of all in bins without a frame. */
static void
fill_column (const SbGather *gather, const SbGlance *seen, gint64 k, const Small *small, float *out)
{
  const SbAcquisition *a = gather->acquisition;
  double total = 0;
  for (gint64 p = 0; p < gather->positions; p++)
    if (seen->there[p])
      total += glance_count (gather, k, p);
  double mean = total / (double)MAX (seen->n_there, 1);
  for (gint64 r = 0; r < small->acquisition.used_rows; r++)
    for (gint64 c = 0; c < small->acquisition.used_cols; c++) {
      double sum = 0;
      gint64 n = 0;
      for (gint64 i = 0; i < small->bin * small->bin; i++) {
        gint64 p = (r * small->bin + i / small->bin) * a->used_cols + c * small->bin + i % small->bin;
        if (seen->there[p]) {
          sum += glance_count (gather, k, p);
          n++;
        }
      }
      out[r * small->acquisition.used_cols + c] = (float)(n > 0 ? sum / (double)n : mean);
    }
}

typedef struct Fill {
  const SbGather *gather;
  const SbGlance *seen;
  const Small *small;
} Fill;

static void
fill_task (gint64 i, guint worker, gpointer data)
{
  const Fill *fill = data;
  fill_column (fill->gather, fill->seen, fill->seen->k[i], fill->small,
               (float *)fill->small->columns.counts + i * fill->small->columns.positions);
}

static gboolean
small_make (SbLive *live, const SbGlance *seen, Small *small, GError **error)
{
  const SbGather *gather = live->gather;
  const char *what = "The live image";
  SbColumns *columns = &small->columns;
  small->bin = choose_bin (gather->acquisition);
  small->acquisition.used_rows = gather->acquisition->used_rows / small->bin;
  small->acquisition.used_cols = gather->acquisition->used_cols / small->bin;
  columns->acquisition = &small->acquisition;
  columns->pattern = seen->pattern; /* borrowed */
  columns->positions = small->acquisition.used_rows * small->acquisition.used_cols;
  columns->n_pixels = columns->held = seen->n;
  columns->dtype = SB_F32;
  columns->pixel = sb_alloc ((gsize)seen->n, sizeof *columns->pixel, what, error);
  if (columns->pixel != NULL)
    columns->counts = sb_alloc ((gsize)seen->n, (gsize)columns->positions * sizeof (float), what, error);
  if (columns->counts != NULL)
    columns->frame_com = sb_alloc ((gsize)columns->positions, 2 * sizeof (double), what, error);
  if (columns->frame_com == NULL)
    return FALSE;
  memset (columns->frame_com, 0, (gsize)columns->positions * 2 * sizeof (double));
  memset (seen->pattern.bad, 1, (gsize)gather->size); /* all that are not looked at */
  for (gint64 i = 0; i < seen->n; i++) {
    columns->pixel[i] = gather->pixel[seen->k[i]];
    seen->pattern.bad[columns->pixel[i]] = 0;
  }
  Fill fill = { gather, seen, small };
  engine_parallel (live->engine, seen->n, fill_task, &fill);
  return TRUE;
}

static gboolean
need_engine (SbLive *live, GError **error)
{
  SbEngineOptions options;
  if (live->engine != NULL)
    return TRUE;
  param_group_defaults (&engine_params, &options);
  g_free (options.backend);
  options.backend = g_strdup ("cpu");
  g_free (options.engine);
  options.engine = g_strdup ("local");
  options.threads = live->gather->engine->threads;
  live->engine = engine_new (&options, error);
  param_group_clear (&engine_params, &options);
  return live->engine != NULL;
}

static gboolean
check_optics (const SbLive *live, GError **error)
{
  const SbOptics *o = &live->optics;
  if (isfinite (o->energy) && isfinite (o->semiangle) && isfinite (o->step[0]) && isfinite (o->step[1]))
    return TRUE;
  return sb_fail (error, SB_ERROR_ARGUMENT,
                  "A live image by single sideband needs energy (kV), semiangle (mrad) and step (Å); give them where the "
                  "data are made.");
}

/* What is not given is searched for, but not at each look: again when twice as many frames are there. */
static SbSpectrum *
make_spectrum (SbLive *live, const SbGlance *seen, const Small *small, gboolean *searched, GError **error)
{
  SbCalibrationOptions options = live->calibration;
  SbSpectrumOptions band;
  SbSpectrum *spectrum = NULL;
  SbPasses passes = { 0 };
  SbOptics optics = live->optics;
  gboolean given = isfinite (options.rotation) && g_strcmp0 (options.orientation, "auto") != 0;
  *searched = !given && !(live->has_frame && seen->n_there < 2 * live->found_with);
  if (!given && !*searched) {
    options.rotation = live->frame.rotation * 180 / G_PI;
    options.orientation = (char *)(live->frame.transpose ? "transpose" : "identity");
  }
  for (int axis = 0; axis < 2; axis++) {
    optics.step[axis] *= (double)small->bin;
    options.centre[axis] = seen->disk.centre[axis];
  }
  options.sampling = isfinite (options.sampling) ? options.sampling : optics.semiangle / seen->disk.radius;
  param_group_defaults (&spectrum_params, &band);
  band.edge = MIN (band.edge, MIN (small->acquisition.used_rows, small->acquisition.used_cols) / 4);
  SbCalibration *calibration = calibrate_run (live->engine, &small->columns, &optics, &options, &band, &spectrum, &passes, NULL,
                                              error);
  param_group_clear (&spectrum_params, &band);
  calibration_free (calibration);
  return spectrum;
}

/* An image whose atoms came out negative is the twin's, where the rotation was found. */
static SbImage *
make_image (SbLive *live, const SbGlance *seen, SbSpectrum *spectrum, const SbCoordinates *at, gboolean searched,
            GError **error)
{
  SbReconstructionOptions options = { .method = (char *)"ssb", .upsampling = 1, .regularisation = NAN };
  SbImage *image = reconstruct (spectrum, at, &options, NULL, error);
  if (image == NULL || !searched)
    return image;
  live->frame = spectrum->frame;
  if (image_skewness (image->phase, (gsize)(image->rows * image->cols)) < 0 && !isfinite (live->calibration.rotation)) {
    live->frame.rotation = remainder (live->frame.rotation + G_PI, 2 * G_PI);
    image_free (image);
    image = spectrum_set_frame (spectrum, &live->frame, error) ? reconstruct (spectrum, at, &options, NULL, error) : NULL;
  }
  live->has_frame = TRUE;
  live->found_with = seen->n_there;
  return image;
}

/* The small image on all scan points. */
static float *
spread (const SbGather *gather, const Small *small, const SbImage *image, GError **error)
{
  gint64 rows = gather->acquisition->used_rows, cols = gather->acquisition->used_cols;
  float *out = sb_alloc ((gsize)gather->positions, sizeof (float), "The live image", error);
  for (gint64 r = 0; out != NULL && r < rows; r++)
    for (gint64 c = 0; c < cols; c++)
      out[r * cols + c] =
          image->phase[MIN (r / small->bin, image->rows - 1) * image->cols + MIN (c / small->bin, image->cols - 1)];
  return out;
}

static float *
from_glance (SbLive *live, const SbGlance *seen, const SbCoordinates *at, GError **error)
{
  Small small = { 0 };
  gboolean searched = FALSE;
  SbSpectrum *spectrum = small_make (live, seen, &small, error) ? make_spectrum (live, seen, &small, &searched, error) : NULL;
  SbImage *image = spectrum != NULL ? make_image (live, seen, spectrum, at, searched, error) : NULL;
  float *out = image != NULL ? spread (live->gather, &small, image, error) : NULL;
  if (image != NULL)
    image_free (image);
  if (spectrum != NULL)
    spectrum_free (spectrum);
  small_clear (&small);
  return out;
}

float *
live_ssb (SbLive *live, const char *coefficients, GError **error)
{
  const SbAcquisition *acquisition = live->gather->acquisition;
  SbValues values;
  SbGlance seen;
  if (!check_optics (live, error) || !values_resolve ("ssb", coefficients, &live->optics, &values, error))
    return NULL;
  if (acquisition->used_rows < LEAST_POINTS || acquisition->used_cols < LEAST_POINTS) {
    sb_fail (error, SB_ERROR_DATA, "A live image by single sideband needs a scan of at least %d x %d points.", LEAST_POINTS,
             LEAST_POINTS);
    return NULL;
  }
  if (!need_engine (live, error) || !glance (live, MOST_COUNTS, &seen, error))
    return NULL;
  float *image = from_glance (live, &seen, &values.at, error);
  glance_clear (&seen);
  return image;
}
