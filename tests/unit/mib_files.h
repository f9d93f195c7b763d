/* Merlin files written from the published layout: headers, processed and raw pixels, .hdr notes. */
#ifndef SB_TESTS_UNIT_MIB_FILES_H
#define SB_TESTS_UNIT_MIB_FILES_H

#include "tests/unit/format_bytes.h"

enum { SINGLE = 384, QUAD = 768 };

/* What a file is to be. */
typedef struct Mib {
  int width, height, chips, bits, depth; /* bits 64: raw */
  const char *layout;
  int number, frames;
} Mib;

static inline guint32
most_of (const Mib *mib)
{
  return mib->depth >= 24 ? (1 << 24) - 1 : (1u << mib->depth) - 1;
}

static inline void
put_header (GByteArray *to, const Mib *mib, int frame)
{
  guint from = to->len, bytes = mib->chips > 1 ? QUAD : SINGLE;
  g_autofree char *text = g_strdup_printf (
      "MQ1,%06d,%05u,%02d,%04d,%04d,%c%02d,%6s,%02X,2021-05-07 18:51:10.905800,0.100000,0,0,0,4.000000E+1,"
      "5.110000E+2,0.0E+0,0.0E+0,0.0E+0,0.0E+0,0.0E+0,0.0E+0,3RX,068,511,000,MQ1A,2021-05-07T16:51:10."
      "905800928Z,"
      "100000000ns,%d,",
      mib->number + frame, bytes, mib->chips, mib->width, mib->height, mib->bits == 64 ? 'R' : 'U', mib->bits, mib->layout,
      (1u << mib->chips) - 1, mib->depth);
  put_text (to, text);
  put_zeros (to, bytes - (to->len - from));
}

/* n pixels, the last ones first, as the chips deliver them. */
static inline void
put_raw_row (GByteArray *to, int depth, const guint32 *row, int n)
{
  for (int word = 0; depth == 1 && word < n / 64; word++)
    for (int byte = 7; byte >= 0; byte--) {
      guint8 bits = 0;
      for (int b = 0; b < 8; b++)
        bits |= (guint8)(row[64 * word + 8 * byte + b] << b);
      put_bytes (to, &bits, 1);
    }
  int group = depth == 6 ? 8 : 4;
  for (int i = 0; depth > 1 && i < n; i++)
    put_int (to, row[i / group * group + group - 1 - i % group], depth == 6 ? 1 : 2, TRUE);
}

/* The chips of a row from the last to the first; the lower two are turned by 180 degrees. */
static inline void
put_raw_frame (GByteArray *to, const Mib *mib, gint64 frame)
{
  int quad = mib->chips == 4, deep = mib->depth == 24;
  int rows = quad ? 2 * mib->height : mib->height, cols = quad || deep ? mib->width / 2 : mib->width,
      n = quad ? cols / 2 : cols;
  g_autofree guint32 *row = g_new (guint32, n);
  for (int half = 0; half < 1 + deep; half++)
    for (int y = 0; y < mib->height; y++)
      for (int chip = quad ? 4 : 1; chip >= 1; chip--) {
        gboolean lower = chip >= 3;
        for (int x = 0; x < n; x++) {
          int to_y = lower ? rows - 1 - y : y, to_x = (lower ? n - 1 - x : x) + (quad && chip % 2 == 0 ? n : 0);
          guint32 value = known (frame, (gint64)to_y * cols + to_x, most_of (mib));
          row[x] = !deep ? value : half == 0 ? value >> 12 : value & 4095;
        }
        put_raw_row (to, deep ? 12 : mib->depth, row, n);
      }
}

static inline GByteArray *
make_mib (const Mib *mib)
{
  GByteArray *to = g_byte_array_new ();
  for (int f = 0; f < mib->frames; f++) {
    put_header (to, mib, f);
    gint64 frame = mib->number - 1 + f;
    if (mib->bits == 64)
      put_raw_frame (to, mib, frame);
    else
      for (gint64 i = 0; i < (gint64)mib->width * mib->height; i++)
        put_int (to, known (frame, i, most_of (mib)), (gsize)mib->bits / 8, TRUE);
  }
  return to;
}

static inline char *
save_mib (const char *folder, const char *name, const Mib *mib)
{
  g_autoptr (GByteArray) bytes = make_mib (mib);
  return save_bytes (folder, name, bytes);
}

static inline void
save_hdr (const char *folder, const char *name, int frames, int per_trigger, const char *more)
{
  g_autofree char *text = g_strdup_printf ("HDR,\t\nChip ID:\tW559_G11, - , - , - \nCounter Depth (number):\t6\n"
                                           "Frames in Acquisition (Number):\t%d\nFrames per Trigger (Number):\t%d\n"
                                           "Software Version:\t1.5.0.197\n%sEnd\t",
                                           frames, per_trigger, more);
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  put_text (bytes, text);
  put_zeros (bytes, 2048 - bytes->len);
  g_free (save_bytes (folder, name, bytes));
}

#endif
