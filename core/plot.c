#include "core/plot.h"

#include <math.h>
#include <string.h>

#include "core/error.h"

void
plot_say (SbCanvas *canvas, double x, double y, double align, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *text = sb_text_va (format, args);
  va_end (args);
  canvas_text (canvas, x, y, align, PLOT_TEXT, BLACK, text);
}

SbNumber
plot_number (double value, int decimals)
{
  SbNumber out;
  char format[16], digits[G_ASCII_DTOSTR_BUF_SIZE];
  g_snprintf (format, sizeof format, "%%.%df", CLAMP (decimals, 0, 12));
  g_ascii_formatd (digits, sizeof digits, format, fabs (value));
  gboolean negative = value < 0 && strspn (digits, "0.") < strlen (digits);
  g_snprintf (out.text, sizeof out.text, "%s%s", negative ? "−" : "", digits);
  return out;
}

double
plot_step (double range, int ticks)
{
  double raw = range / ticks, ten = pow (10, floor (log10 (raw)));
  double m = raw / ten;
  return ten * (m <= 1 ? 1 : m <= 2 ? 2 : m <= 5 ? 5 : 10);
}

int
plot_decimals (double step)
{
  return (int)MAX (0, -floor (log10 (step) + 1e-9));
}

void
plot_frame (SbCanvas *canvas, double x, double y, double width, double height)
{
  const SbPen pen = { BLACK, 1, 0 };
  canvas_line (canvas, x - 1, y - 1, x + width, y - 1, &pen);
  canvas_line (canvas, x - 1, y + height, x + width, y + height, &pen);
  canvas_line (canvas, x - 1, y - 1, x - 1, y + height, &pen);
  canvas_line (canvas, x + width, y - 1, x + width, y + height, &pen);
}
