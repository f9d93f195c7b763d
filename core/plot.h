/* What every plot needs: colours, labels, numbers, round ticks. Inside the pictures only. */
#ifndef SB_CORE_PLOT_H
#define SB_CORE_PLOT_H

#include "core/canvas.h"

enum { PLOT_TEXT = 2 /* scale of the font */ };
enum { BLACK = 0x202020, PALE = 0xe4e4e4, WHITE = 0xffffff };
/* Okabe and Ito's colours, which colour-blind eyes tell apart */
enum { BLUE = 0x0072b2, VERMILION = 0xd55e00, ORANGE = 0xe69f00, SKY = 0x56b4e9 };

void plot_say (SbCanvas *canvas, double x, double y, double align, const char *format, ...) G_GNUC_PRINTF (5, 6);

/* A number with a point, whatever the locale, and a true minus sign. */
typedef struct SbNumber {
  char text[G_ASCII_DTOSTR_BUF_SIZE + 8];
} SbNumber;
SbNumber plot_number (double value, int decimals);

/* A distance of ticks, 1, 2 or 5 x 10^n, that gives about this many of them; decimals to print it. */
double plot_step (double range, int ticks);
int plot_decimals (double step);

/* A line round the rectangle, outside of it. */
void plot_frame (SbCanvas *canvas, double x, double y, double width, double height);

#endif
