#include "core/simulate/encode.h"

#include <lz4.h>
#include <string.h>

enum { BLOCK_BYTES = 8192, HEADER = 12, LENGTH = 4 };

static void
put_big (guint8 *to, guint64 value, int bytes)
{
  for (int i = 0; i < bytes; i++)
    to[i] = (guint8)(value >> (8 * (bytes - 1 - i)));
}

gsize
encode_bound (gsize size, gsize element)
{
  gsize blocks = size / BLOCK_BYTES + 1;
  return HEADER + blocks * (LENGTH + (gsize)LZ4_compressBound (BLOCK_BYTES)) + 8 * element;
}

/* The bit planes of n elements (a multiple of 8): bit i of byte j of plane 8 byte + bit is element 8 j + i.
 */
static void
shuffle (const guint8 *in, guint8 *out, gsize n, gsize element)
{
  gsize stride = n / 8;
  for (gsize j = 0; j < stride; j++)
    for (gsize byte = 0; byte < element; byte++) {
      guint64 x = 0, t;
      for (gsize i = 0; i < 8; i++)
        x |= (guint64)in[(8 * j + i) * element + byte] << (8 * i);
      t = (x ^ (x >> 7)) & G_GUINT64_CONSTANT (0x00aa00aa00aa00aa);
      x ^= t ^ (t << 7);
      t = (x ^ (x >> 14)) & G_GUINT64_CONSTANT (0x0000cccc0000cccc);
      x ^= t ^ (t << 14);
      t = (x ^ (x >> 28)) & G_GUINT64_CONSTANT (0x00000000f0f0f0f0);
      x ^= t ^ (t << 28);
      for (gsize b = 0; b < 8; b++)
        out[(8 * byte + b) * stride + j] = (guint8)(x >> (8 * b));
    }
}

gsize
encode_frame (gconstpointer data, gsize n, gsize element, guint8 *out)
{
  const guint8 *in = data;
  guint8 planes[BLOCK_BYTES];
  gsize block = BLOCK_BYTES / element, whole = n / 8 * 8, at = HEADER;
  put_big (out, n * element, 8);
  put_big (out + 8, block * element, 4);
  for (gsize first = 0; first < whole; first += block) {
    gsize count = MIN (block, whole - first);
    shuffle (in + first * element, planes, count, element);
    int stored = LZ4_compress_default ((const char *)planes, (char *)out + at + LENGTH, (int)(count * element),
                                       LZ4_compressBound (BLOCK_BYTES));
    if (stored <= 0)
      return 0;
    put_big (out + at, (guint64)stored, LENGTH);
    at += LENGTH + (gsize)stored;
  }
  /* Up to seven numbers at the end are neither shuffled nor compressed. */
  memcpy (out + at, in + whole * element, (n - whole) * element);
  return at + (n - whole) * element;
}
