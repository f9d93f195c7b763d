/* The picture of an image's quality: Fourier ring correlation of its halves, and the transfer, against frequency. */
#include <math.h>

#include "core/plot.h"
#include "core/quality.h"
#include "core/result.h"

enum { WIDTH = 900, HEIGHT = 640, LEFT = 100, TOP = 116, ACROSS = 760, DOWN = 440 };
enum { SHADE = 0xf4f1e8 };
#define LOWEST (-0.2)

typedef struct Axes {
  double x_high, low; /* 1/angstrom; the lowest correlation that is drawn */
} Axes;

static double
at_x (const Axes *axes, double frequency)
{
  return LEFT + frequency / axes->x_high * ACROSS;
}

static double
at_y (const Axes *axes, double value)
{
  return TOP + (1 - CLAMP (value, axes->low, 1)) / (1 - axes->low) * DOWN;
}

static void
draw_axes (SbCanvas *canvas, const Axes *axes)
{
  const SbPen pen = { BLACK, 1, 0 }, grid = { PALE, 1, 0 };
  double step = plot_step (axes->x_high, 8);
  for (double f = 0; f <= axes->x_high * (1 + 1e-9); f += step) {
    double x = rint (at_x (axes, f));
    canvas_line (canvas, x, TOP, x, TOP + DOWN, &grid);
    canvas_line (canvas, x, TOP + DOWN, x, TOP + DOWN + 6, &pen);
    plot_say (canvas, x, TOP + DOWN + 11, 0.5, "%s", plot_number (f, plot_decimals (step)).text);
  }
  for (int i = axes->low < 0 ? -1 : 0; i <= 5; i++) {
    double y = rint (at_y (axes, 0.2 * i));
    canvas_line (canvas, LEFT, y, LEFT + ACROSS, y, &grid);
    canvas_line (canvas, LEFT - 7, y, LEFT - 1, y, &pen);
    plot_say (canvas, LEFT - 12, y - 7, 1, "%s", plot_number (0.2 * i, 1).text);
  }
  plot_say (canvas, LEFT + ACROSS / 2.0, TOP + DOWN + 38, 0.5, "spatial frequency (1/Å)");
}

static void
draw_curve (SbCanvas *canvas, const Axes *axes, const SbQuality *quality, const double *values, const SbPen *pen)
{
  for (gint64 r = 1; r < quality->rings; r++)
    canvas_line (canvas, at_x (axes, quality->frequency[r - 1]), at_y (axes, values[r - 1]), at_x (axes, quality->frequency[r]),
                 at_y (axes, values[r]), pen);
}

/* Shaded: aliases of what was measured. */
static void
draw_beyond (SbCanvas *canvas, const Axes *axes, const SbQuality *quality)
{
  double x = at_x (axes, quality->scan_limit), right = LEFT + ACROSS;
  const char *text = "beyond the scan";
  if (x >= right)
    return;
  canvas_fill (canvas, x, TOP, right - x, DOWN, SHADE);
  if (right - x > canvas_text_width (PLOT_TEXT, text) + 16)
    plot_say (canvas, x + 8, TOP + 9, 0, "%s", text);
}

/* A dashed upright at the resolution, with what is said about it. */
static void
draw_cutoff (SbCanvas *canvas, const Axes *axes, const SbQuality *quality)
{
  const SbPen pen = { BLACK, 1.5, 6 };
  double x = at_x (axes, quality->cutoff);
  canvas_line (canvas, x, TOP, x, TOP + DOWN - 1, &pen);
  g_autofree char *text = g_strdup_printf ("%s Å", plot_number (1 / quality->cutoff, 2).text);
  double width = canvas_text_width (PLOT_TEXT, text), left = x + 8;
  if (left + width + 4 > LEFT + ACROSS)
    left = x - 8 - width;
  canvas_fill (canvas, left - 3, TOP + 31, width + 6, 22, WHITE);
  canvas_text (canvas, left, TOP + 35, 0, PLOT_TEXT, BLACK, text);
}

static void
draw_legend (SbCanvas *canvas, const SbQuality *quality, double k_max)
{
  const SbPen frc = { BLUE, 3, 0 }, transfer = { VERMILION, 2, 0 }, threshold = { BLACK, 1, 4 };
  plot_say (canvas, LEFT, 14, 0, "Fourier ring correlation of the two halves of the bright field");
  if (isnan (quality->cutoff))
    plot_say (canvas, LEFT, 42, 0, "no frequency stands above the noise");
  else
    plot_say (canvas, LEFT, 42, 0, "resolution %s%s Å%s, %s of the aperture's radius",
              quality->cutoff > quality->scan_limit ? "at best " : "", plot_number (1 / quality->cutoff, 2).text,
              quality->limited ? "" : " at 0.143", plot_number (quality->cutoff / k_max, 2).text);
  canvas_line (canvas, LEFT, 85, LEFT + 34, 85, &frc);
  plot_say (canvas, LEFT + 44, 78, 0, "correlation");
  canvas_line (canvas, LEFT + 220, 85, LEFT + 254, 85, &transfer);
  plot_say (canvas, LEFT + 264, 78, 0, "transfer");
  canvas_line (canvas, LEFT + 410, 85, LEFT + 444, 85, &threshold);
  plot_say (canvas, LEFT + 454, 78, 0, "0.143");
}

static guint8 *
draw (const SbQuality *quality, double k_max, gint64 *rows, gint64 *cols)
{
  const SbPen frc = { BLUE, 3, 0 }, transfer = { VERMILION, 2, 0 }, threshold = { BLACK, 1, 4 };
  SbCanvas canvas;
  Axes axes = { 0, 0 };
  if (quality->rings < 1 || !canvas_init (&canvas, HEIGHT, WIDTH, WHITE))
    return NULL;
  axes.x_high = quality->frequency[quality->rings - 1] * 1.02;
  for (gint64 r = 0; r < quality->rings; r++)
    if (quality->frc[r] < 0)
      axes.low = LOWEST;
  draw_legend (&canvas, quality, k_max);
  draw_beyond (&canvas, &axes, quality);
  draw_axes (&canvas, &axes);
  canvas_line (&canvas, LEFT, at_y (&axes, QUALITY_THRESHOLD), LEFT + ACROSS, at_y (&axes, QUALITY_THRESHOLD), &threshold);
  draw_curve (&canvas, &axes, quality, quality->transfer, &transfer);
  draw_curve (&canvas, &axes, quality, quality->frc, &frc);
  if (!isnan (quality->cutoff))
    draw_cutoff (&canvas, &axes, quality);
  plot_frame (&canvas, LEFT, TOP, ACROSS, DOWN);
  *rows = canvas.rows;
  *cols = canvas.cols;
  return canvas.rgb;
}

/* ---- from a result, fresh or read from a file ---- */

static double *
curve_of (const SbResult *result, const char *name, gint64 n)
{
  const SbArray *array = result_find (result, name);
  if (array == NULL || array->bytes || array->n_dims != 1 || array->shape[0] != n)
    return NULL;
  double *values = g_new (double, n);
  for (gint64 i = 0; i < n; i++)
    values[i] = (double)array->data[i];
  return values;
}

static double
number_of (const json_t *quality, const char *name)
{
  const json_t *value = json_object_get (quality, name);
  return json_is_number (value) ? json_number_value (value) : NAN;
}

/* The curves in `quality` to be freed by quality_free; NULL: the result has none that could be drawn. */
static SbQuality *
read_quality (const SbResult *result)
{
  const SbArray *frc = result_find (result, "frc");
  const json_t *info = json_object_get (result->info, "quality");
  g_autoptr (SbQuality) quality = g_new0 (SbQuality, 1);
  quality->rings = frc != NULL && frc->n_dims == 1 ? frc->shape[0] : 0;
  quality->frc = curve_of (result, "frc", quality->rings);
  quality->frequency = curve_of (result, "frc_frequency", quality->rings);
  quality->transfer = curve_of (result, "transfer", quality->rings);
  quality->cutoff = number_of (info, "frequency");
  quality->scan_limit = number_of (info, "scan_limit");
  quality->limited = json_is_true (json_object_get (info, "limited_by_sampling"));
  if (quality->rings < 1 || quality->frc == NULL || quality->frequency == NULL || quality->transfer == NULL)
    return NULL;
  for (gint64 r = 0; r < quality->rings; r++)
    if (!isfinite (quality->frc[r]) || !isfinite (quality->transfer[r]) || !isfinite (quality->frequency[r]))
      return NULL;
  gboolean drawable = quality->frequency[quality->rings - 1] > 0 && number_of (info, "k_max") > 0 && quality->scan_limit > 0
                      && (isnan (quality->cutoff) || quality->cutoff > 0);
  return drawable ? g_steal_pointer (&quality) : NULL;
}

gboolean
quality_is_in (const SbResult *result)
{
  g_autoptr (SbQuality) quality = read_quality (result);
  return quality != NULL;
}

guint8 *
picture_quality (const SbResult *result, gint64 *rows, gint64 *cols)
{
  g_autoptr (SbQuality) quality = read_quality (result);
  if (quality == NULL)
    return NULL;
  return draw (quality, number_of (json_object_get (result->info, "quality"), "k_max"), rows, cols);
}
