#include "core/canvas.h"

#include <math.h>
#include <string.h>

#include "core/font.h"

gboolean
canvas_init (SbCanvas *canvas, gint64 rows, gint64 cols, SbColour background)
{
  canvas->rows = rows;
  canvas->cols = cols;
  canvas->rgb = g_try_malloc_n ((gsize)rows * (gsize)cols, 3);
  if (canvas->rgb == NULL)
    return FALSE;
  canvas_fill (canvas, 0, 0, (double)cols, (double)rows, background);
  return TRUE;
}

/* share 0..1 of the colour over what is there */
static void
blend (SbCanvas *canvas, gint64 x, gint64 y, SbColour colour, double share)
{
  if (x < 0 || y < 0 || x >= canvas->cols || y >= canvas->rows || !(share > 0))
    return;
  guint8 *pixel = canvas->rgb + 3 * (y * canvas->cols + x);
  share = MIN (share, 1);
  for (int i = 0; i < 3; i++) {
    double wanted = (double)(colour >> (16 - 8 * i) & 0xff);
    pixel[i] = (guint8)lrint (pixel[i] + share * (wanted - pixel[i]));
  }
}

void
canvas_fill (SbCanvas *canvas, double x, double y, double width, double height, SbColour colour)
{
  gint64 x0 = MAX (0, llrint (x)), x1 = MIN (canvas->cols, llrint (x + width));
  gint64 y0 = MAX (0, llrint (y)), y1 = MIN (canvas->rows, llrint (y + height));
  for (gint64 r = y0; r < y1; r++)
    for (gint64 c = x0; c < x1; c++)
      blend (canvas, c, r, colour, 1);
}

/* The pixels between two corners, kept inside the canvas. */
typedef struct Box {
  gint64 x0, y0, x1, y1; /* x1, y1 exclusive */
} Box;

static Box
box_of (const SbCanvas *canvas, double x0, double y0, double x1, double y1)
{
  /* fmax, fmin: a NaN gives an empty box */
  double right = (double)canvas->cols, bottom = (double)canvas->rows;
  return (Box){ (gint64)fmin (fmax (floor (x0), 0), right), (gint64)fmin (fmax (floor (y0), 0), bottom),
                (gint64)fmin (fmax (ceil (x1) + 1, 0), right), (gint64)fmin (fmax (ceil (y1) + 1, 0), bottom) };
}

/* How much of a pixel a pen covers: distance from its middle line, way along it. */
static double
pen_share (const SbPen *pen, double distance, double along)
{
  double share = CLAMP (pen->width / 2 + 0.5 - distance, 0, 1);
  if (pen->dash > 0) {
    double phase = along - 2 * pen->dash * floor (along / (2 * pen->dash)); /* 0 .. 2 dash, drawn below dash */
    share *= CLAMP (0.5 + MIN (phase, pen->dash - phase), 0, 1);
  }
  return share;
}

void
canvas_line (SbCanvas *canvas, double x0, double y0, double x1, double y1, const SbPen *pen)
{
  double length = hypot (x1 - x0, y1 - y0), margin = pen->width / 2 + 1;
  double ux = length > 0 ? (x1 - x0) / length : 1, uy = length > 0 ? (y1 - y0) / length : 0;
  Box box = box_of (canvas, MIN (x0, x1) - margin, MIN (y0, y1) - margin, MAX (x0, x1) + margin, MAX (y0, y1) + margin);
  for (gint64 y = box.y0; y < box.y1; y++)
    for (gint64 x = box.x0; x < box.x1; x++) {
      double along = ((double)x - x0) * ux + ((double)y - y0) * uy, inside = CLAMP (along, 0, length);
      double distance = hypot ((double)x - x0 - inside * ux, (double)y - y0 - inside * uy);
      blend (canvas, x, y, pen->colour, pen_share (pen, distance, along));
    }
}

void
canvas_circle (SbCanvas *canvas, double x, double y, double radius, const SbPen *pen)
{
  double margin = radius + pen->width / 2 + 1;
  /* a whole number of dashes, so that they close */
  SbPen closed = *pen;
  if (pen->dash > 0)
    closed.dash = G_PI * radius / MAX (1, rint (G_PI * radius / pen->dash));
  Box box = box_of (canvas, x - margin, y - margin, x + margin, y + margin);
  for (gint64 r = box.y0; r < box.y1; r++)
    for (gint64 c = box.x0; c < box.x1; c++) {
      double dx = (double)c - x, dy = (double)r - y, distance = fabs (hypot (dx, dy) - radius);
      if (distance < pen->width / 2 + 1)
        blend (canvas, c, r, pen->colour, pen_share (&closed, distance, (atan2 (dy, dx) + G_PI) * radius));
    }
}

void
canvas_disk (SbCanvas *canvas, double x, double y, double radius, SbColour colour)
{
  Box box = box_of (canvas, x - radius - 1, y - radius - 1, x + radius + 1, y + radius + 1);
  for (gint64 r = box.y0; r < box.y1; r++)
    for (gint64 c = box.x0; c < box.x1; c++)
      blend (canvas, c, r, colour, CLAMP (radius + 0.5 - hypot ((double)c - x, (double)r - y), 0, 1));
}

/* A glyph as dots, with a border of one empty dot for the smoothing's neighbours. */
enum { DOTS = 4 * FONT_ROWS + 2 };
typedef struct Dots {
  int rows, cols;
  gboolean set[DOTS][DOTS];
} Dots;

static void
dots_of (gunichar code, Dots *dots)
{
  const guint8 *glyph = font_glyph (code);
  memset (dots, 0, sizeof *dots);
  dots->rows = FONT_ROWS;
  dots->cols = FONT_COLS;
  for (int r = 0; r < FONT_ROWS; r++)
    for (int c = 0; c < FONT_COLS; c++)
      dots->set[r + 1][c + 1] = glyph[r] >> (FONT_COLS - 1 - c) & 1;
}

/* Doubles the size; a corner between two equal neighbours is rounded (the rule known as scale2x). */
static void
dots_double (Dots *dots)
{
  Dots out;
  memset (&out, 0, sizeof out);
  out.rows = 2 * dots->rows;
  out.cols = 2 * dots->cols;
  for (int r = 1; r <= dots->rows; r++)
    for (int c = 1; c <= dots->cols; c++) {
      gboolean here = dots->set[r][c], up = dots->set[r - 1][c], down = dots->set[r + 1][c];
      gboolean left = dots->set[r][c - 1], right = dots->set[r][c + 1];
      gboolean changes = up != down && left != right;
      int y = 2 * r - 1, x = 2 * c - 1;
      out.set[y][x] = changes && left == up ? left : here;
      out.set[y][x + 1] = changes && up == right ? right : here;
      out.set[y + 1][x] = changes && left == down ? left : here;
      out.set[y + 1][x + 1] = changes && down == right ? right : here;
    }
  *dots = out;
}

static void
draw_text (SbCanvas *canvas, double x, double y, gboolean upwards, int scale, SbColour colour, const char *text)
{
  gint64 at_x = llrint (x), at_y = llrint (y), pen = 0;
  Dots dots;
  for (const char *p = text; *p != '\0'; p = g_utf8_next_char (p), pen += FONT_ADVANCE * scale) {
    dots_of (g_utf8_get_char (p), &dots);
    for (int size = 1; size < scale; size *= 2)
      dots_double (&dots);
    for (int r = 1; r <= dots.rows; r++)
      for (int c = 1; c <= dots.cols; c++)
        if (dots.set[r][c] && upwards)
          blend (canvas, at_x + r - 1, at_y - pen - c + 1, colour, 1);
        else if (dots.set[r][c])
          blend (canvas, at_x + pen + c - 1, at_y + r - 1, colour, 1);
  }
}

double
canvas_text_width (int scale, const char *text)
{
  return (double)((FONT_ADVANCE * g_utf8_strlen (text, -1) - 1) * scale);
}

void
canvas_text (SbCanvas *canvas, double x, double y, double align, int scale, SbColour colour, const char *text)
{
  draw_text (canvas, x - align * canvas_text_width (scale, text), y, FALSE, scale, colour, text);
}

void
canvas_text_upwards (SbCanvas *canvas, double x, double y, int scale, SbColour colour, const char *text)
{
  draw_text (canvas, x, y + 0.5 * canvas_text_width (scale, text), TRUE, scale, colour, text);
}
