/* Drawing on an RGB picture: anti-aliased lines and circles, and text. Coordinates are pixels, x to the
 * right, y down, pixel centres at whole numbers. What falls outside is left away. */
#ifndef SB_CORE_CANVAS_H
#define SB_CORE_CANVAS_H

#include <glib.h>

typedef struct SbCanvas {
  gint64 rows, cols;
  guint8 *rgb; /* [rows * cols * 3] */
} SbCanvas;

/* 0xRRGGBB */
typedef guint32 SbColour;

/* How a line looks; dash 0: solid, else the length of a dash and of a gap. */
typedef struct SbPen {
  SbColour colour;
  double width, dash;
} SbPen;

/* FALSE: no memory. */
gboolean canvas_init (SbCanvas *canvas, gint64 rows, gint64 cols, SbColour background);
void canvas_fill (SbCanvas *canvas, double x, double y, double width, double height, SbColour colour);
void canvas_line (SbCanvas *canvas, double x0, double y0, double x1, double y1, const SbPen *pen);
void canvas_circle (SbCanvas *canvas, double x, double y, double radius, const SbPen *pen);
void canvas_disk (SbCanvas *canvas, double x, double y, double radius, SbColour colour);

/* scale: pixels a dot of the font (1, 2 or 4; 2 and 4 are smoothed). y is the top of capitals, which are 7 *
 * scale high. align: 0 from x to the right, 0.5 centred at x, 1 ending at x. */
void canvas_text (SbCanvas *canvas, double x, double y, double align, int scale, SbColour colour, const char *text);
/* From the bottom up, its middle at y; x is the top of capitals. */
void canvas_text_upwards (SbCanvas *canvas, double x, double y, int scale, SbColour colour, const char *text);
double canvas_text_width (int scale, const char *text);

#endif
