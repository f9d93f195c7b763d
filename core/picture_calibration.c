/* The picture that proves a calibration: mean pattern with its circles, and S against rotation. */
#include <math.h>
#include <string.h>

#include "core/picture.h"
#include "core/plot.h"

enum { WIDTH = 1180, HEIGHT = 650, TOP = 116, SIDE = 460, LEFT_X = 90, RIGHT_X = 690 };
enum { BAD_PIXEL = 0xcc3311 };

/* ---- left: the mean pattern ---- */

/* Mean over the detector pixels that a drawn pixel covers (one where it is magnified); -1: a bad one among
 * them. */
static double
covered (const SbPattern *pattern, double row, double col, double size)
{
  gint64 r0 = (gint64)row, c0 = (gint64)col;
  gint64 r1 = MIN (pattern->rows, MAX (r0 + 1, (gint64)(row + size))),
         c1 = MIN (pattern->cols, MAX (c0 + 1, (gint64)(col + size)));
  double sum = 0;
  for (gint64 r = r0; r < r1; r++)
    for (gint64 c = c0; c < c1; c++) {
      if (pattern->bad != NULL && pattern->bad[r * pattern->cols + c])
        return -1;
      sum += pattern->mean[r * pattern->cols + c];
    }
  return sum / (double)MAX (1, (r1 - r0) * (c1 - c0));
}

static double
white_level (const SbPattern *pattern)
{
  double low, high;
  gsize n = (gsize)pattern->rows * (gsize)pattern->cols;
  g_autofree float *copy = g_try_new (float, n);
  if (copy == NULL)
    return 1;
  for (gsize i = 0; i < n; i++)
    copy[i] = pattern->bad != NULL && pattern->bad[i] ? NAN : (float)pattern->mean[i];
  picture_range (copy, n, &low, &high);
  return high > 0 ? high : 1;
}

static void
draw_pattern (SbCanvas *panel, const SbPattern *pattern, double zoom)
{
  double white = white_level (pattern);
  for (gint64 y = 0; y < panel->rows; y++)
    for (gint64 x = 0; x < panel->cols; x++) {
      double row = MIN (((double)y + 0.5 * (zoom > 1)) / zoom, (double)pattern->rows - 1e-6);
      double col = MIN (((double)x + 0.5 * (zoom > 1)) / zoom, (double)pattern->cols - 1e-6);
      double value = covered (pattern, row, col, 1 / zoom);
      guint32 grey = (guint32)lrint (255 * fmin (fmax (value / white, 0), 1));
      canvas_fill (panel, (double)x, (double)y, 1, 1, value < 0 ? (SbColour)BAD_PIXEL : grey << 16 | grey << 8 | grey);
    }
}

/* Fitted circle and centre; dashed where the semi-angle should end, if that is elsewhere. TRUE: it was drawn.
 */
static gboolean
draw_circles (SbCanvas *panel, const SbCalibration *calibration, double semiangle, double zoom)
{
  const SbPen fitted = { ORANGE, 2.5, 0 }, nominal = { SKY, 2.5, 9 };
  double x = (calibration->centre[1] + 0.5) * zoom - 0.5, y = (calibration->centre[0] + 0.5) * zoom - 0.5;
  double wanted = semiangle / calibration->sampling;
  gboolean differs = isfinite (wanted) && wanted > 0 && fabs (wanted - calibration->radius) * zoom > 1;
  canvas_circle (panel, x, y, calibration->radius * zoom, &fitted);
  if (differs)
    canvas_circle (panel, x, y, wanted * zoom, &nominal);
  canvas_line (panel, x - 9, y, x + 9, y, &fitted);
  canvas_line (panel, x, y - 9, x, y + 9, &fitted);
  return differs;
}

static void
blit (SbCanvas *canvas, gint64 x, gint64 y, const SbCanvas *panel)
{
  for (gint64 r = 0; r < panel->rows; r++)
    memcpy (canvas->rgb + 3 * ((y + r) * canvas->cols + x), panel->rgb + 3 * r * panel->cols, (gsize)panel->cols * 3);
}

static void
pattern_axes (SbCanvas *canvas, const SbPattern *pattern, double x0, double y0, double zoom)
{
  const SbPen pen = { BLACK, 1, 0 };
  double step = MAX (1, plot_step ((double)MAX (pattern->rows, pattern->cols), 6));
  double bottom = y0 + (double)pattern->rows * zoom;
  for (double c = 0; c < (double)pattern->cols; c += step) {
    double x = x0 + (c + 0.5) * zoom - 0.5;
    canvas_line (canvas, x, bottom, x, bottom + 6, &pen);
    plot_say (canvas, x, bottom + 11, 0.5, "%s", plot_number (c, 0).text);
  }
  for (double r = 0; r < (double)pattern->rows; r += step) {
    double y = y0 + (r + 0.5) * zoom - 0.5;
    canvas_line (canvas, x0 - 7, y, x0 - 1, y, &pen);
    plot_say (canvas, x0 - 12, y - 7, 1, "%s", plot_number (r, 0).text);
  }
  plot_say (canvas, x0 + (double)pattern->cols * zoom / 2, bottom + 38, 0.5, "column (pixels)");
  canvas_text_upwards (canvas, x0 - 78, y0 + (double)pattern->rows * zoom / 2, PLOT_TEXT, BLACK, "row (pixels)");
}

static void
pattern_legend (SbCanvas *canvas, const SbCalibration *calibration, double semiangle, gboolean nominal)
{
  const SbPen fitted = { ORANGE, 3, 0 }, dashed = { SKY, 3, 9 };
  plot_say (canvas, LEFT_X, 14, 0, "Mean pattern");
  plot_say (canvas, LEFT_X, 38, 0, "centre %s, %s px (row, column)%s", plot_number (calibration->centre[0], 2).text,
            plot_number (calibration->centre[1], 2).text, calibration->given_centre ? ", given" : "");
  plot_say (canvas, LEFT_X, 62, 0, "radius %s px, %s mrad/px%s", plot_number (calibration->radius, 2).text,
            plot_number (calibration->sampling, 4).text, calibration->given_sampling ? ", given" : "");
  canvas_line (canvas, LEFT_X + 1, 93, LEFT_X + 34, 93, &fitted);
  plot_say (canvas, LEFT_X + 44, 86, 0, "fitted disk");
  if (nominal) {
    canvas_line (canvas, LEFT_X + 196, 93, LEFT_X + 234, 93, &dashed);
    plot_say (canvas, LEFT_X + 244, 86, 0, "semi-angle %s mrad", plot_number (semiangle, 1).text);
  }
}

static gboolean
draw_left (SbCanvas *canvas, const SbPattern *pattern, const SbCalibration *calibration, double semiangle)
{
  double zoom = SIDE / (double)MAX (pattern->rows, pattern->cols);
  SbCanvas panel;
  gint64 rows = MAX (1, llrint ((double)pattern->rows * zoom)), cols = MAX (1, llrint ((double)pattern->cols * zoom));
  if (!canvas_init (&panel, rows, cols, BLACK))
    return FALSE;
  draw_pattern (&panel, pattern, zoom);
  gboolean nominal = draw_circles (&panel, calibration, semiangle, zoom);
  blit (canvas, LEFT_X, TOP, &panel);
  plot_frame (canvas, LEFT_X, TOP, (double)cols, (double)rows);
  g_free (panel.rgb);
  pattern_axes (canvas, pattern, LEFT_X, TOP, zoom);
  pattern_legend (canvas, calibration, semiangle, nominal);
  return TRUE;
}

/* ---- right: S against rotation ---- */

typedef struct Plot {
  double x_low, y_low, y_high; /* 180 deg wide */
} Plot;

static double
plot_x (const Plot *plot, double angle)
{
  return RIGHT_X + (angle - plot->x_low) / 180 * SIDE;
}

static double
plot_y (const Plot *plot, double s)
{
  return TOP + (plot->y_high - s) / (plot->y_high - plot->y_low) * SIDE;
}

/* Rotations 180 deg apart are twins with the same S. */
static double
folded (const Plot *plot, double angle)
{
  double turns = (angle - plot->x_low) / 180;
  return plot->x_low + 180 * (turns - floor (turns));
}

static gboolean
plot_ranges (const SbCalibration *calibration, Plot *plot)
{
  double low = INFINITY, high = -INFINITY;
  plot->x_low = INFINITY;
  for (int i = 0; i < SB_ROTATION_STEPS; i++)
    for (int o = 0; o < 2; o++) {
      double s = calibration->scan_agreement[o][i];
      if (!isfinite (s) || !isfinite (calibration->scan_angle[i]))
        continue;
      low = MIN (low, s);
      high = MAX (high, s);
      plot->x_low = MIN (plot->x_low, calibration->scan_angle[i]);
    }
  if (!isfinite (low))
    return FALSE;
  double margin = high > low ? 0.08 * (high - low) : MAX (0.01, 0.1 * fabs (high));
  plot->y_low = low - margin;
  plot->y_high = high + 2 * margin;
  return TRUE;
}

static void
plot_axes (SbCanvas *canvas, const Plot *plot)
{
  const SbPen pen = { BLACK, 1, 0 }, grid = { PALE, 1, 0 };
  for (double a = 30 * ceil (plot->x_low / 30 - 1e-9); a <= plot->x_low + 180 + 1e-9; a += 30) {
    double x = rint (plot_x (plot, a));
    canvas_line (canvas, x, TOP, x, TOP + SIDE, &grid);
    canvas_line (canvas, x, TOP + SIDE, x, TOP + SIDE + 6, &pen);
    plot_say (canvas, x, TOP + SIDE + 11, 0.5, "%s", plot_number (a, 0).text);
  }
  double step = plot_step (plot->y_high - plot->y_low, 6);
  for (double s = step * ceil (plot->y_low / step); s <= plot->y_high; s += step) {
    double y = rint (plot_y (plot, s));
    canvas_line (canvas, RIGHT_X, y, RIGHT_X + SIDE, y, &grid);
    canvas_line (canvas, RIGHT_X - 7, y, RIGHT_X - 1, y, &pen);
    plot_say (canvas, RIGHT_X - 12, y - 7, 1, "%s", plot_number (s, plot_decimals (step)).text);
  }
  plot_say (canvas, RIGHT_X + SIDE / 2.0, TOP + SIDE + 38, 0.5, "rotation modulo 180 (°)");
}

static void
plot_marker (SbCanvas *canvas, int orientation, double x, double y)
{
  if (orientation == 0)
    canvas_disk (canvas, x, y, 5, BLUE);
  else
    canvas_fill (canvas, x - 4, y - 4, 9, 9, VERMILION);
}

static void
plot_curve (SbCanvas *canvas, const SbCalibration *calibration, const Plot *plot, int orientation)
{
  gboolean chosen = (calibration->frame.transpose ? 1 : 0) == orientation;
  const SbPen pen = { orientation == 0 ? BLUE : VERMILION, chosen ? 3 : 1.5, 0 };
  const double *s = calibration->scan_agreement[orientation];
  int last = -1, first = -1;
  for (int i = 0; i < SB_ROTATION_STEPS; i++) {
    if (!isfinite (s[i]))
      continue;
    if (last >= 0)
      canvas_line (canvas, plot_x (plot, calibration->scan_angle[last]), plot_y (plot, s[last]),
                   plot_x (plot, calibration->scan_angle[i]), plot_y (plot, s[i]), &pen);
    plot_marker (canvas, orientation, plot_x (plot, calibration->scan_angle[i]), plot_y (plot, s[i]));
    last = i;
    first = first < 0 ? i : first;
  }
  if (first >= 0 && first != last
      && calibration->scan_angle[first] <= plot->x_low) /* once round: the first again, 180 deg on */
    canvas_line (canvas, plot_x (plot, calibration->scan_angle[last]), plot_y (plot, s[last]),
                 plot_x (plot, calibration->scan_angle[first] + 180), plot_y (plot, s[first]), &pen);
}

static void
plot_chosen (SbCanvas *canvas, const Plot *plot, double angle)
{
  const SbPen pen = { BLACK, 1.5, 6 };
  double x = plot_x (plot, folded (plot, angle));
  canvas_line (canvas, x, TOP, x, TOP + SIDE - 1, &pen);
  g_autofree char *text = g_strdup_printf ("%s°", plot_number (angle, 1).text);
  double width = canvas_text_width (PLOT_TEXT, text), left = x + 8;
  if (left + width + 4 > RIGHT_X + SIDE)
    left = x - 8 - width;
  canvas_fill (canvas, left - 3, TOP + 5, width + 6, 22, WHITE);
  canvas_text (canvas, left, TOP + 9, 0, PLOT_TEXT, BLACK, text);
}

static void
plot_legend (SbCanvas *canvas, const SbCalibration *calibration)
{
  static const char *const names[2] = { "identity", "transpose" };
  double angle = calibration->frame.rotation * 180 / G_PI;
  plot_say (canvas, RIGHT_X, 14, 0, "Agreement S against rotation");
  plot_say (canvas, RIGHT_X, 38, 0, "rotation %s°%s, %s%s", plot_number (angle, 2).text,
            calibration->given_rotation ? " given" : "", names[calibration->frame.transpose ? 1 : 0],
            calibration->given_orientation ? " given" : "");
  if (isfinite (calibration->curl_rotation))
    plot_say (canvas, RIGHT_X, 62, 0, "by the curl of the centre of mass %s°",
              plot_number (calibration->curl_rotation, 1).text);
  for (int o = 0; o < 2; o++) {
    const SbPen pen = { o == 0 ? BLUE : VERMILION, 2, 0 };
    double x = RIGHT_X + 180 * o;
    canvas_line (canvas, x, 93, x + 34, 93, &pen);
    plot_marker (canvas, o, x + 17, 93);
    plot_say (canvas, x + 44, 86, 0, "%s", names[o]);
  }
}

static void
draw_right (SbCanvas *canvas, const SbCalibration *calibration)
{
  Plot plot;
  plot_legend (canvas, calibration);
  if (plot_ranges (calibration, &plot)) {
    plot_axes (canvas, &plot);
    for (int o = 0; o < 2; o++) /* the chosen one on top */
      plot_curve (canvas, calibration, &plot, (calibration->frame.transpose ? 1 : 0) ^ (o == 0));
    if (isfinite (calibration->frame.rotation))
      plot_chosen (canvas, &plot, calibration->frame.rotation * 180 / G_PI);
  } else {
    plot_say (canvas, RIGHT_X + SIDE / 2.0, TOP + SIDE / 2.0 - 24, 0.5, "rotation was given,");
    plot_say (canvas, RIGHT_X + SIDE / 2.0, TOP + SIDE / 2.0 + 6, 0.5, "no search was made");
  }
  plot_frame (canvas, RIGHT_X, TOP, SIDE, SIDE);
}

guint8 *
picture_calibration (const SbPattern *pattern, const SbCalibration *calibration, double semiangle, gint64 *out_rows,
                     gint64 *out_cols)
{
  SbCanvas canvas;
  if (!canvas_init (&canvas, HEIGHT, WIDTH, WHITE))
    return NULL;
  if (!draw_left (&canvas, pattern, calibration, semiangle)) {
    g_free (canvas.rgb);
    return NULL;
  }
  draw_right (&canvas, calibration);
  *out_rows = canvas.rows;
  *out_cols = canvas.cols;
  return canvas.rgb;
}
