#include "tests/parity/bslz4.h"

#include <stdlib.h>
#include <string.h>

/* ---- LZ4 ---- */

enum { HASH = 1 << 12, LAST_LITERALS = 5, MATCH_LIMIT = 12, LEAST_MATCH = 4, HEADER = 12 };

static uint32_t
word_at (const uint8_t *p)
{
  uint32_t x;
  memcpy (&x, p, sizeof x);
  return x;
}

static uint8_t *
put_length (uint8_t *to, size_t length)
{
  for (; length >= 255; length -= 255)
    *to++ = 255;
  *to++ = (uint8_t)length;
  return to;
}

static uint8_t *
put_sequence (uint8_t *to, const uint8_t *literals, size_t n, size_t offset, size_t match)
{
  uint8_t *token = to++;
  *token = (uint8_t)((n < 15 ? n : 15) << 4);
  if (n >= 15)
    to = put_length (to, n - 15);
  memcpy (to, literals, n);
  to += n;
  if (match == 0)
    return to;
  *to++ = (uint8_t)offset;
  *to++ = (uint8_t)(offset >> 8);
  *token |= (uint8_t)(match - LEAST_MATCH < 15 ? match - LEAST_MATCH : 15);
  if (match - LEAST_MATCH >= 15)
    to = put_length (to, match - LEAST_MATCH - 15);
  return to;
}

static size_t
lz4_encode (const uint8_t *in, size_t n, uint8_t *out)
{
  size_t table[HASH] = { 0 }; /* place + 1 */
  uint8_t *to = out;
  size_t anchor = 0, at = 0;
  while (n > MATCH_LIMIT && at + MATCH_LIMIT <= n) {
    size_t slot = (word_at (in + at) * 2654435761u) >> 20, from = table[slot];
    table[slot] = at + 1;
    if (from == 0 || at + 1 - from > 65535 || word_at (in + from - 1) != word_at (in + at)) {
      at++;
      continue;
    }
    size_t match = LEAST_MATCH, most = n - LAST_LITERALS - at;
    while (match < most && in[from - 1 + match] == in[at + match])
      match++;
    to = put_sequence (to, in + anchor, at - anchor, at + 1 - from, match);
    at += match;
    anchor = at;
  }
  return (size_t)(put_sequence (to, in + anchor, n - anchor, 0, 0) - out);
}

static int
get_length (const uint8_t *in, size_t size, size_t *at, size_t *length)
{
  uint8_t byte;
  if (*length < 15)
    return 1;
  do {
    if (*at >= size)
      return 0;
    byte = in[(*at)++];
    *length += byte;
  } while (byte == 255);
  return 1;
}

static int
lz4_decode (const uint8_t *in, size_t size, uint8_t *out, size_t n)
{
  size_t at = 0, to = 0;
  for (;;) {
    if (at >= size)
      return 0;
    uint8_t token = in[at++];
    size_t literals = token >> 4, match = token & 15;
    if (!get_length (in, size, &at, &literals) || literals > size - at || literals > n - to)
      return 0;
    memcpy (out + to, in + at, literals);
    at += literals;
    to += literals;
    if (at == size)
      return to == n;
    if (n - to < MATCH_LIMIT || size - at < 3 + LAST_LITERALS)
      return 0;
    size_t offset = in[at] | (size_t)in[at + 1] << 8;
    at += 2;
    if (!get_length (in, size, &at, &match))
      return 0;
    match += LEAST_MATCH;
    if (offset == 0 || offset > to || match > n - to - LAST_LITERALS)
      return 0;
    for (size_t i = 0; i < match; i++, to++)
      out[to] = out[to - offset];
  }
}

/* ---- bit planes, one bit after the other ---- */

static void
to_planes (const uint8_t *in, size_t bytes, size_t element, uint8_t *planes)
{
  size_t n = bytes / element;
  memset (planes, 0, bytes);
  for (size_t e = 0; e < n; e++)
    for (size_t b = 0; b < 8 * element; b++)
      if (in[e * element + b / 8] >> b % 8 & 1)
        planes[b * (n / 8) + e / 8] |= (uint8_t)(1 << e % 8);
}

static void
from_planes (const uint8_t *planes, size_t bytes, size_t element, uint8_t *out)
{
  size_t n = bytes / element;
  memset (out, 0, bytes);
  for (size_t e = 0; e < n; e++)
    for (size_t b = 0; b < 8 * element; b++)
      if (planes[b * (n / 8) + e / 8] >> e % 8 & 1)
        out[e * element + b / 8] |= (uint8_t)(1 << b % 8);
}

static void
reverse (uint8_t *data, size_t bytes, size_t element)
{
  for (size_t i = 0; i < bytes; i += element)
    for (size_t j = 0; j < element / 2; j++) {
      uint8_t x = data[i + j];
      data[i + j] = data[i + element - 1 - j];
      data[i + element - 1 - j] = x;
    }
}

/* ---- chunks ---- */

static void
put_big (uint8_t *to, uint64_t value, int n)
{
  for (int i = n - 1; i >= 0; i--, value >>= 8)
    to[i] = (uint8_t)value;
}

static uint64_t
get_big (const uint8_t *from, int n)
{
  uint64_t value = 0;
  for (int i = 0; i < n; i++)
    value = value << 8 | from[i];
  return value;
}

size_t
bslz4_bound (size_t bytes, size_t block)
{
  size_t blocks = bytes / (block > 0 ? block : 1) + 2;
  return HEADER + bytes + bytes / 100 + blocks * 24;
}

static int
has_planes (SbkFilter filter)
{
  return filter == SBK_FILTER_BITSHUFFLE || filter == SBK_FILTER_BITSHUFFLE_LZ4;
}

static int
has_lengths (SbkFilter filter)
{
  return filter == SBK_FILTER_LZ4 || filter == SBK_FILTER_BITSHUFFLE_LZ4;
}

size_t
bslz4_encode (SbkFilter filter, const uint8_t *in, size_t bytes, size_t element, size_t block, int swap, uint8_t *out)
{
  uint8_t *data = malloc (2 * bytes + 1), *planes = data + bytes, *to = out;
  size_t whole = has_planes (filter) ? bytes / (8 * element) * (8 * element) : bytes;
  memcpy (data, in, bytes);
  if (swap)
    reverse (data, bytes, element);
  if (has_lengths (filter)) {
    put_big (to, bytes, 8);
    put_big (to + 8, block, 4);
    to += HEADER;
  }
  for (size_t at = 0; at < whole; at += block) {
    size_t n = whole - at < block ? whole - at : block;
    const uint8_t *from = data + at;
    if (has_planes (filter)) {
      to_planes (data + at, n, element, planes);
      from = planes;
    }
    size_t stored = n;
    if (has_lengths (filter)) {
      stored = lz4_encode (from, n, to + 4);
      if (filter == SBK_FILTER_LZ4 && stored >= n) {
        stored = n;
        memcpy (to + 4, from, n);
      }
      put_big (to, stored, 4);
      to += 4;
    } else
      memcpy (to, from, n);
    to += stored;
  }
  memcpy (to, data + whole, bytes - whole);
  to += bytes - whole;
  free (data);
  return (size_t)(to - out);
}

static int
decode_blocks (SbkFilter filter, const uint8_t *in, size_t size, size_t at, size_t element, size_t block, uint8_t *planes,
               uint8_t *out, size_t bytes)
{
  size_t whole = has_planes (filter) ? bytes / (8 * element) * (8 * element) : bytes;
  for (size_t to = 0; to < whole; to += block) {
    size_t n = whole - to < block ? whole - to : block, stored = n;
    if (has_lengths (filter)) {
      if (size - at < 4)
        return 0;
      stored = (size_t)get_big (in + at, 4);
      at += 4;
    }
    if (stored == 0 || stored > size - at)
      return 0;
    uint8_t *room = has_planes (filter) ? planes : out + to;
    if (filter == SBK_FILTER_BITSHUFFLE_LZ4 || (filter == SBK_FILTER_LZ4 && stored != n)) {
      if (!lz4_decode (in + at, stored, room, n))
        return 0;
    } else
      memcpy (room, in + at, n);
    if (has_planes (filter))
      from_planes (planes, n, element, out + to);
    at += stored;
  }
  if (size - at != bytes - whole)
    return 0;
  memcpy (out + whole, in + at, bytes - whole);
  return 1;
}

int
bslz4_decode (SbkFilter filter, const uint8_t *in, size_t size, size_t element, size_t block, int swap, uint8_t *out,
              size_t bytes)
{
  size_t at = 0;
  if (has_lengths (filter)) {
    if (size < HEADER || get_big (in, 8) != bytes)
      return 0;
    block = (size_t)get_big (in + 8, 4);
    at = HEADER;
    if (block == 0 || block > 0x7fffffff || (has_planes (filter) && block % (8 * element) != 0))
      return 0;
  } else if (size != bytes)
    return 0;
  if (filter == SBK_FILTER_NONE)
    block = bytes;
  uint8_t *planes = malloc (bytes + 1);
  int good = decode_blocks (filter, in, size, at, element, block, planes, out, bytes);
  free (planes);
  if (good && swap)
    reverse (out, bytes, element);
  return good;
}
