/* Raw ("R64") Merlin frames. The chips deliver 64-bit words whose pixels stand in reverse order; of four
 * chips a row holds [4 | 3 | 2 | 1], and the picture is |1 2| over |3 4| with chips 3 and 4 turned by 180
 * degrees. */
#include <string.h>

#include "core/bytes.h"
#include "core/formats/mib_header.h"

enum { QUAD = 4 };

gint64
mib_raw_shape (const SbMibHeader *mib, gint64 *rows, gint64 *cols)
{
  gboolean quad = mib->chips == QUAD && mib->layout[0] == 2 && mib->layout[1] == 2;
  gint64 pixels = mib->width * mib->height;
  /* Columns of a chip come in whole words. 24 bit: two frames of 12 bit side by side, as far as width goes.
   */
  gint64 group = mib->depth == 1 ? 64 : mib->depth == 6 ? 8 : mib->depth == 12 ? 4 : mib->depth == 24 ? 8 : 0;
  if (group == 0 || mib->width % (quad ? group * QUAD : group) != 0 || (mib->chips != 1 && !quad) || (quad && mib->depth == 24))
    return 0;
  *rows = quad ? 2 * mib->height : mib->height;
  *cols = quad || mib->depth == 24 ? mib->width / 2 : mib->width;
  return mib->depth == 1 ? pixels / 8 : mib->depth == 6 ? pixels : 2 * pixels;
}

/* n pixels of a row, in their own order. */
static void
unpack_row (int depth, const guint8 *stored, gint64 n, guint16 *row)
{
  if (depth == 1)
    for (gint64 i = 0; i < n; i++)
      row[i] = stored[i / 64 * 8 + 7 - i % 64 / 8] >> (i % 8) & 1;
  else if (depth == 6)
    for (gint64 i = 0; i < n; i++)
      row[i] = stored[i / 8 * 8 + 7 - i % 8];
  else
    for (gint64 i = 0; i < n; i++)
      row[i] = bytes_u16 (stored + 2 * (i / 4 * 4 + 3 - i % 4), TRUE);
}

static void
put_row (int depth, const guint16 *row, gint64 n, gboolean turned, gpointer out, gint64 at)
{
  for (gint64 i = 0; i < n; i++) {
    guint16 value = row[turned ? n - 1 - i : i];
    if (depth <= 6)
      ((guint8 *)out)[at + i] = (guint8)value;
    else if (depth == 12)
      ((guint16 *)out)[at + i] = value;
    else /* the upper half first, the lower half in a second call */
      ((guint32 *)out)[at + i] = ((guint32 *)out)[at + i] << 12 | value;
  }
}

void
mib_raw_decode (gconstpointer how, const guint8 *stored, gpointer out)
{
  const SbMibHeader *mib = how;
  gint64 rows = 0, cols = 0, bytes = mib_raw_shape (mib, &rows, &cols);
  gint64 halves = mib->depth == 24 ? 2 : 1, chips = mib->chips == QUAD ? QUAD : 1;
  gint64 chip_cols = mib->width / halves / chips, chip_bytes = bytes / halves / mib->height / chips;
  guint16 row[1 << 12];
  if (halves == 2)
    memset (out, 0, (gsize)(rows * cols) * sizeof (guint32));
  for (gint64 half = 0; half < halves; half++)
    for (gint64 y = 0; y < mib->height; y++)
      for (gint64 chip = 0; chip < chips; chip++) {
        gboolean turned = chips == QUAD && chip < 2; /* chips 4 and 3, the lower half of the picture */
        gint64 to_row = turned ? rows - 1 - y : y;
        gint64 to_col = chips == QUAD && chip % 2 == 0 ? chip_cols : 0;
        /* Long rows in pieces, which are whole words. */
        for (gint64 x = 0; x < chip_cols; x += (gint64)G_N_ELEMENTS (row)) {
          gint64 n = MIN ((gint64)G_N_ELEMENTS (row), chip_cols - x);
          gint64 start = turned ? chip_cols - x - n : x;
          unpack_row (mib->depth, stored + x * chip_bytes / chip_cols, n, row);
          put_row (mib->depth, row, n, turned, out, to_row * cols + to_col + start);
        }
        stored += chip_bytes;
      }
}
