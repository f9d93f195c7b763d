#include "core/chunk.h"

#include <lz4.h>
#include <string.h>
#include <zstd.h>

#include "core/bitshuffle.h"
#include "core/error.h"

/* 8 KB is bitshuffle's own block; larger ones go to the heap. */
enum { STACK_BLOCK = 8192, HEADER = 12, BITSHUFFLE_TARGET = 8192, BITSHUFFLE_LEAST = 128 };

static guint32
big32 (const guint8 *p)
{
  return (guint32)p[0] << 24 | (guint32)p[1] << 16 | (guint32)p[2] << 8 | p[3];
}

static guint64
big64 (const guint8 *p)
{
  return (guint64)big32 (p) << 32 | big32 (p + 4);
}

static gsize
default_block (gsize element)
{
  return MAX (BITSHUFFLE_TARGET / element / 8 * 8, BITSHUFFLE_LEAST);
}

static gboolean
bitshuffle_codec (gsize n_values, const unsigned *values, SbChunkCodec *codec, GError **error)
{
  unsigned compression = n_values > 4 ? values[4] : 0;
  if (n_values > 2 && values[2] != codec->element)
    return sb_fail (error, SB_ERROR_DATA,
                    "bitshuffle was set up for %u-byte numbers, the data have %" G_GSIZE_FORMAT "-byte ones", values[2],
                    codec->element);
  if (compression != 0 && compression != 2 && compression != 3)
    return sb_fail (error, SB_ERROR_DATA, "bitshuffle with compression %u (filter 32008) is unknown", compression);
  codec->block = n_values > 3 && values[3] != 0 ? values[3] : default_block (codec->element);
  if (codec->block % 8 != 0 || codec->block > G_MAXUINT32 / 8)
    return sb_fail (error, SB_ERROR_DATA, "bitshuffle's block of %" G_GSIZE_FORMAT " numbers is not valid", codec->block);
  codec->filter = compression == 3   ? SB_CHUNK_BITSHUFFLE_ZSTD
                  : compression == 2 ? SB_CHUNK_BITSHUFFLE_LZ4
                                     : SB_CHUNK_BITSHUFFLE;
  return TRUE;
}

gboolean
chunk_codec (guint filter, gsize n_values, const unsigned *values, gsize element, gboolean swap, SbChunkCodec *codec,
             GError **error)
{
  *codec = (SbChunkCodec){ .filter = SB_CHUNK_LZ4, .element = element, .swap = swap };
  if (element != 1 && element != 2 && element != 4 && element != 8)
    return sb_fail (error, SB_ERROR_DATA, "numbers of %" G_GSIZE_FORMAT " bytes are not supported", element);
  if (filter == SB_FILTER_BITSHUFFLE)
    return bitshuffle_codec (n_values, values, codec, error);
  if (filter != SB_FILTER_LZ4)
    return sb_fail (error, SB_ERROR_DATA, "filter %u is unknown", filter);
  return TRUE;
}

gsize
chunk_bound (gsize size)
{
  /* The smallest blocks, 8 bytes, become 25 with a frame of Zstandard and their length word where they do not
   * shrink. */
  return 4 * size + 4096;
}

void
chunk_swap (gpointer data, gsize n, gsize element)
{
  guint8 *bytes = data;
  for (gsize i = 0; i < n; i++, bytes += element)
    switch (element) {
    case 2: {
      guint16 x;
      memcpy (&x, bytes, sizeof x);
      x = GUINT16_SWAP_LE_BE (x);
      memcpy (bytes, &x, sizeof x);
      break;
    }
    case 4: {
      guint32 x;
      memcpy (&x, bytes, sizeof x);
      x = GUINT32_SWAP_LE_BE (x);
      memcpy (bytes, &x, sizeof x);
      break;
    }
    case 8: {
      guint64 x;
      memcpy (&x, bytes, sizeof x);
      x = GUINT64_SWAP_LE_BE (x);
      memcpy (bytes, &x, sizeof x);
      break;
    }
    default: return;
    }
}

/* Where a decoder stands in a stored chunk. */
typedef struct Cursor {
  const guint8 *in;
  gsize size, at;
} Cursor;

/* The bytes of the next block with its length word before it; NULL with an error where they do not fit. */
static const guint8 *
next_block (Cursor *cursor, gsize block, guint32 *stored, GError **error)
{
  if (cursor->size - cursor->at < 4) {
    sb_fail (error, SB_ERROR_DATA, "its block %" G_GSIZE_FORMAT " is missing", block);
    return NULL;
  }
  *stored = big32 (cursor->in + cursor->at);
  cursor->at += 4;
  if (*stored == 0 || *stored > cursor->size - cursor->at) {
    sb_fail (error, SB_ERROR_DATA, "its block %" G_GSIZE_FORMAT " claims %u bytes where %" G_GSIZE_FORMAT " are left", block,
             *stored, cursor->size - cursor->at);
    return NULL;
  }
  cursor->at += *stored;
  return cursor->in + cursor->at - *stored;
}

/* zstd: what Zstandard works with; NULL: the block is LZ4's. */
static gboolean
inflate (ZSTD_DCtx *zstd, const guint8 *in, guint32 stored, guint8 *out, gsize size, gsize block, GError **error)
{
  gssize got = -1;
  if (zstd != NULL) {
    gsize n = ZSTD_decompressDCtx (zstd, out, size, in, stored);
    got = ZSTD_isError (n) ? -1 : (gssize)n;
  } else if (stored <= G_MAXINT && size <= G_MAXINT)
    got = LZ4_decompress_safe ((const char *)in, (char *)out, (int)stored, (int)size);
  if (got < 0 || (gsize)got != size)
    return sb_fail (error, SB_ERROR_DATA, "its block %" G_GSIZE_FORMAT " does not decompress to %" G_GSIZE_FORMAT " bytes",
                    block, size);
  return TRUE;
}

/* The 12 bytes that the compressing filters begin with; *block in bytes. */
static gboolean
read_header (Cursor *cursor, gsize out_size, gsize *block, GError **error)
{
  if (cursor->size < HEADER)
    return sb_fail (error, SB_ERROR_DATA, "it has %" G_GSIZE_FORMAT " bytes, fewer than its header", cursor->size);
  guint64 total = big64 (cursor->in);
  *block = big32 (cursor->in + 8);
  cursor->at = HEADER;
  if (total != out_size)
    return sb_fail (error, SB_ERROR_DATA, "it claims %" G_GUINT64_FORMAT " bytes where a chunk has %" G_GSIZE_FORMAT, total,
                    out_size);
  if (*block == 0 || *block > G_MAXINT)
    return sb_fail (error, SB_ERROR_DATA, "it claims blocks of %" G_GSIZE_FORMAT " bytes", *block);
  return TRUE;
}

static gboolean
check_end (const Cursor *cursor, GError **error)
{
  if (cursor->at == cursor->size)
    return TRUE;
  return sb_fail (error, SB_ERROR_DATA, "%" G_GSIZE_FORMAT " bytes follow its last block", cursor->size - cursor->at);
}

static gboolean
decode_lz4 (Cursor *cursor, guint8 *out, gsize out_size, GError **error)
{
  gsize block = 0;
  if (!read_header (cursor, out_size, &block, error))
    return FALSE;
  for (gsize at = 0, i = 0; at < out_size; at += block, i++) {
    gsize size = MIN (block, out_size - at);
    guint32 stored;
    const guint8 *in = next_block (cursor, i, &stored, error);
    if (in == NULL)
      return FALSE;
    if (stored == size) /* did not shrink: stored as it is */
      memcpy (out + at, in, size);
    else if (!inflate (NULL, in, stored, out + at, size, i, error))
      return FALSE;
  }
  return check_end (cursor, error);
}

/* The bit-shuffled blocks of a chunk; each is inflated to planes first, unless they are stored uncompressed.
 */
static gboolean
decode_planes (Cursor *cursor, gsize element, gsize block, gboolean compressed, ZSTD_DCtx *zstd, guint8 *planes, guint8 *out,
               gsize out_size, GError **error)
{
  gsize whole = out_size / (8 * element) * (8 * element);
  for (gsize at = 0, i = 0; at < whole; at += block, i++) {
    gsize size = MIN (block, whole - at);
    const guint8 *from = cursor->in + cursor->at;
    if (compressed) {
      guint32 stored;
      from = next_block (cursor, i, &stored, error);
      if (from == NULL || !inflate (zstd, from, stored, planes, size, i, error))
        return FALSE;
      from = planes;
    } else
      cursor->at += size;
    bits_unshuffle (from, out + at, size / element, element);
  }
  /* Up to seven numbers at the end are neither shuffled nor compressed. */
  gsize tail = out_size - whole;
  if (cursor->size - cursor->at < tail)
    return sb_fail (error, SB_ERROR_DATA, "its last %" G_GSIZE_FORMAT " bytes are missing", tail);
  memcpy (out + whole, cursor->in + cursor->at, tail);
  cursor->at += tail;
  return check_end (cursor, error);
}

static gboolean
decode_compressed (Cursor *cursor, gsize element, ZSTD_DCtx *zstd, guint8 *out, gsize out_size, GError **error)
{
  guint8 stack[STACK_BLOCK] __attribute__ ((aligned (32)));
  gsize block = 0;
  if (!read_header (cursor, out_size, &block, error))
    return FALSE;
  if (block % (8 * element) != 0)
    return sb_fail (error, SB_ERROR_DATA, "it claims blocks of %" G_GSIZE_FORMAT " bytes", block);
  gsize largest = MIN (block, out_size);
  g_autofree guint8 *heap = NULL;
  if (largest > sizeof stack && (heap = sb_alloc (largest, 1, "the blocks of a chunk", error)) == NULL)
    return FALSE;
  return decode_planes (cursor, element, block, TRUE, zstd, heap != NULL ? heap : stack, out, out_size, error);
}

static gboolean
decode_zstd (Cursor *cursor, gsize element, guint8 *out, gsize out_size, GError **error)
{
  ZSTD_DCtx *zstd = ZSTD_createDCtx ();
  if (zstd == NULL)
    return sb_fail (error, SB_ERROR_MEMORY, "there is no memory to decompress it");
  gboolean done = decode_compressed (cursor, element, zstd, out, out_size, error);
  ZSTD_freeDCtx (zstd);
  return done;
}

gboolean
chunk_decode (const SbChunkCodec *codec, guint32 filter_mask, const guint8 *in, gsize in_size, guint8 *out, gsize out_size,
              GError **error)
{
  Cursor cursor = { .in = in, .size = in_size };
  SbChunkFilter filter = (filter_mask & 1) != 0 ? SB_CHUNK_NONE : codec->filter;
  gboolean done = FALSE;
  if (out_size % codec->element != 0)
    return sb_fail (error, SB_ERROR_INTERNAL, "it is not a whole number of elements");
  switch (filter) {
  case SB_CHUNK_LZ4: done = decode_lz4 (&cursor, out, out_size, error); break;
  case SB_CHUNK_BITSHUFFLE_LZ4: done = decode_compressed (&cursor, codec->element, NULL, out, out_size, error); break;
  case SB_CHUNK_BITSHUFFLE_ZSTD: done = decode_zstd (&cursor, codec->element, out, out_size, error); break;
  case SB_CHUNK_NONE:
  case SB_CHUNK_BITSHUFFLE:
    if (in_size != out_size)
      return sb_fail (error, SB_ERROR_DATA, "it has %" G_GSIZE_FORMAT " bytes where a chunk has %" G_GSIZE_FORMAT, in_size,
                      out_size);
    if (filter == SB_CHUNK_NONE)
      memcpy (out, in, out_size);
    done = filter == SB_CHUNK_NONE
           || decode_planes (&cursor, codec->element, codec->block * codec->element, FALSE, NULL, NULL, out, out_size, error);
    break;
  }
  if (done && codec->swap)
    chunk_swap (out, out_size / codec->element, codec->element);
  return done;
}
