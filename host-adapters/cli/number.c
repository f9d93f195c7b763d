#include "host-adapters/cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

char *
number_with_uncertainty (double value, double uncertainty)
{
  char rounded[32], a[400], b[400], format[16];
  if (!isfinite (uncertainty) || uncertainty <= 0)
    return g_strdup (g_ascii_formatd (a, sizeof a, "%.5g", value));
  /* The exponent after rounding: 0.0996 has two digits as 0.10, not 0.100. */
  g_ascii_formatd (rounded, sizeof rounded, "%.1e", uncertainty);
  int decimals = 1 - atoi (strchr (rounded, 'e') + 1);
  if (decimals < 0) {
    double unit = pow (10, -decimals);
    value = round (value / unit) * unit;
    uncertainty = round (uncertainty / unit) * unit;
  }
  g_snprintf (format, sizeof format, "%%.%df", CLAMP (decimals, 0, 300));
  g_ascii_formatd (a, sizeof a, format, value);
  g_ascii_formatd (b, sizeof b, format, uncertainty);
  return g_strdup_printf ("%s \302\261 %s", a[0] == '-' && g_ascii_strtod (a, NULL) == 0 ? a + 1 : a, b);
}
