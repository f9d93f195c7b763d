#include "core/picture.h"

#include <math.h>
#include <string.h>

#include "core/canvas.h"
#include "core/order.h"

enum { MIN_SIDE = 400, MAX_SIDE = 4096 };

void
picture_range (const float *image, gsize n, double *low, double *high)
{
  g_autofree float *x = g_try_new (float, n);
  gsize m = 0;
  *low = 0;
  *high = 1;
  for (gsize i = 0; x != NULL && i < n; i++)
    if (isfinite (image[i]))
      x[m++] = image[i];
  if (m == 0)
    return;
  *low = (double)order_float (x, m, (gsize)rint (0.001 * (double)(m - 1)));
  *high = (double)order_float (x, m, (gsize)rint (0.999 * (double)(m - 1)));
}

static guint8
grey_of (double value, double low, double high)
{
  if (!isfinite (value))
    return 0;
  if (!(high > low))
    return 128;
  return (guint8)lrint (255 * CLAMP ((value - low) / (high - low), 0, 1));
}

guint8 *
picture_grey (const float *image, gint64 rows, gint64 cols)
{
  double low, high;
  gsize n = (gsize)rows * (gsize)cols;
  guint8 *rgb = g_try_malloc_n (n, 3);
  if (rgb == NULL)
    return NULL;
  picture_range (image, n, &low, &high);
  for (gsize i = 0; i < n; i++)
    memset (rgb + 3 * i, grey_of (image[i], low, high), 3);
  return rgb;
}

/* Size of the magnified image: square pixels, whole magnification of the finer axis. pixel: its side, nm or
 * NAN. */
typedef struct Zoom {
  gint64 rows, cols;
  double pixel;
} Zoom;

static Zoom
zoom_for (gint64 rows, gint64 cols, double step_row, double step_col)
{
  gboolean known = isfinite (step_row) && isfinite (step_col) && step_row > 0 && step_col > 0;
  double fine = known ? MIN (step_row, step_col) : NAN;
  /* a ratio beyond 16 is drawn at 16, lest a typing error makes a gigantic picture */
  double tall = (double)rows * (known ? MIN (step_row / fine, 16) : 1);
  double wide = (double)cols * (known ? MIN (step_col / fine, 16) : 1);
  double factor = ceil (MIN_SIDE / MIN (tall, wide));
  factor = MAX (1, MIN (factor, floor (MAX_SIDE / MAX (tall, wide))));
  return (Zoom){ MAX (1, llrint (tall * factor)), MAX (1, llrint (wide * factor)), fine / factor };
}

/* Where an output sample lies: between first and first + 1. */
static void
place (gint64 i, gint64 n_out, gint64 n, gint64 *first, double *weight)
{
  double at = CLAMP (((double)i + 0.5) * (double)n / (double)n_out - 0.5, 0, (double)(n - 1));
  *first = MIN ((gint64)at, MAX (0, n - 2));
  *weight = at - (double)*first;
}

static void
draw_image (SbCanvas *canvas, gint64 x, const float *image, gint64 rows, gint64 cols, const Zoom *zoom, const double range[2])
{
  for (gint64 r = 0; r < zoom->rows; r++) {
    gint64 r0, c0;
    double wr, wc;
    place (r, zoom->rows, rows, &r0, &wr);
    const float *top = image + r0 * cols, *bottom = image + MIN (r0 + 1, rows - 1) * cols;
    guint8 *pixel = canvas->rgb + 3 * (r * canvas->cols + x);
    for (gint64 c = 0; c < zoom->cols; c++, pixel += 3) {
      place (c, zoom->cols, cols, &c0, &wc);
      gint64 c1 = MIN (c0 + 1, cols - 1);
      double value = wr == 0 && wc == 0 ? (double)top[c0]
                                        : (1 - wr) * ((1 - wc) * (double)top[c0] + wc * (double)top[c1])
                                              + wr * ((1 - wc) * (double)bottom[c0] + wc * (double)bottom[c1]);
      memset (pixel, grey_of (value, range[0], range[1]), 3);
    }
  }
}

/* The largest 1, 2, 5 x 10^n that is not above limit. */
static double
round_length (double limit)
{
  double ten = pow (10, floor (log10 (limit) + 1e-9));
  for (int i = 0; i < 2; i++) {
    double length = (i == 0 ? 5 : 2) * ten;
    if (length <= limit * (1 + 1e-9))
      return length;
  }
  return ten;
}

static char *
length_text (double nm)
{
  static const struct {
    double from, unit;
    const char *name;
  } units[] = { { 1e6, 1e6, "mm" }, { 1e3, 1e3, "µm" }, { 1, 1, "nm" }, { 0.1, 0.1, "Å" }, { 0, 1e-3, "pm" } };
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  guint i = 0;
  while (nm < units[i].from * (1 - 1e-9))
    i++;
  return g_strdup_printf ("%s %s", g_ascii_formatd (number, sizeof number, "%.6g", nm / units[i].unit), units[i].name);
}

static void
draw_scale_bar (SbCanvas *canvas, double y, int scale, double pixel)
{
  double length = round_length (0.3 * (double)canvas->cols * pixel);
  g_autofree char *text = length_text (length);
  canvas_text (canvas, 8 * scale, y + 5 * scale, 0, scale, 0xffffff, text);
  canvas_fill (canvas, 8 * scale, y + 16 * scale, length / pixel, 3 * scale, 0xffffff);
}

static char *
signed_number (double value)
{
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  g_ascii_formatd (number, sizeof number, "%.3g", fabs (value));
  return g_strconcat (value < 0 ? "−" : "", number, NULL);
}

static void
draw_ramp (SbCanvas *canvas, double y, int scale, const double range[2], const char *unit)
{
  g_autofree char *low = signed_number (range[0]), *high = signed_number (range[1]);
  g_autofree char *text = g_strdup_printf ("%s to %s%s%s", low, high, unit[0] != '\0' ? " " : "", unit);
  double width = canvas_text_width (scale, text), right = (double)canvas->cols - 8 * scale;
  canvas_text (canvas, right, y + 5 * scale, 1, scale, 0xffffff, text);
  for (int i = 0; i < 3 * scale; i++)
    for (double x = 0; x < width; x++) {
      guint32 grey = grey_of (x, 0, width - 1);
      canvas_fill (canvas, right - width + x, y + 16 * scale + i, 1, 1, grey << 16 | grey << 8 | grey);
    }
  const SbPen pen = { 0x808080, 1, 0 };
  canvas_line (canvas, right - width - 1, y + 19 * scale, right, y + 19 * scale, &pen);
  canvas_line (canvas, right - width - 1, y + 16 * scale - 1, right, y + 16 * scale - 1, &pen);
}

guint8 *
picture_image (const float *image, gint64 rows, gint64 cols, double step_row, double step_col, const char *unit,
               gint64 *out_rows, gint64 *out_cols)
{
  Zoom zoom = zoom_for (rows, cols, step_row, step_col);
  double range[2];
  SbCanvas canvas;
  gint64 width = MAX (zoom.cols, MIN_SIDE);
  int scale = width < 1200 ? 2 : 4;
  if (!canvas_init (&canvas, zoom.rows + 25 * scale, width, 0x000000))
    return NULL;
  picture_range (image, (gsize)rows * (gsize)cols, &range[0], &range[1]);
  draw_image (&canvas, (width - zoom.cols) / 2, image, rows, cols, &zoom, range);
  canvas_fill (&canvas, 0, (double)zoom.rows, (double)width, scale / 2.0, 0x606060);
  if (isfinite (zoom.pixel))
    draw_scale_bar (&canvas, (double)zoom.rows, scale, zoom.pixel);
  draw_ramp (&canvas, (double)zoom.rows, scale, range, unit != NULL ? unit : "");
  *out_rows = canvas.rows;
  *out_cols = canvas.cols;
  return canvas.rgb;
}
