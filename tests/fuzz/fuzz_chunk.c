/* Any bytes as one stored chunk. The first three say filter, element size and how many bytes it should decode
 * to. The same bytes as shuffled bits: by vectors or by words they are what they are bit by bit. */
#include <glib.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/bitshuffle.h"
#include "core/chunk.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void
check_bits (const guint8 *in, gsize size, gsize element)
{
  gsize n = size / element / 8 * 8;
  g_autofree guint8 *fast = g_malloc (n * element + 1), *plain = g_malloc (n * element + 1);
  bits_unshuffle (in, fast, n, element);
  bits_unshuffle_reference (in, plain, n, element);
  if (memcmp (fast, plain, n * element) != 0)
    abort ();
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  static const gsize elements[] = { 1, 2, 4, 8 };
  if (size < 3)
    return 0;
  SbChunkCodec codec = { (SbChunkFilter)(data[0] % 4), elements[data[0] / 4 % 4], 8 * (gsize)(1 + data[0] / 16), data[1] & 1 };
  gsize out_size = codec.element * (1 + (gsize)data[2] * (data[1] & 2 ? 16 : 1));
  if (codec.filter == SB_CHUNK_BITSHUFFLE_LZ4 && (data[1] & 8) != 0)
    codec.filter = SB_CHUNK_BITSHUFFLE_ZSTD;
  g_autoptr (GError) error = NULL;
  /* Buffers of the exact size, so that one byte beyond is noticed. */
  guint8 *in = g_malloc (MAX (size - 3, 1)), *out = g_malloc (out_size);
  memcpy (in, data + 3, size - 3);
  if (chunk_decode (&codec, data[1] >> 2, in, size - 3, out, out_size, &error) == (error != NULL))
    abort ();
  check_bits (in, size - 3, codec.element);
  g_free (in);
  g_free (out);
  return 0;
}
