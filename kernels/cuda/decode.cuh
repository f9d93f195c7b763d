/* A warp decodes a block: LZ4 sequence by sequence, copies shared by its lanes; then bit planes to numbers. Every
 * length is checked against the block's input and output before a byte is touched. */
#ifndef SBK_CUDA_DECODE_CUH
#define SBK_CUDA_DECODE_CUH

enum { LZ4_LAST_LITERALS = 5, LZ4_MATCH_LIMIT = 12, LZ4_LEAST_MATCH = 4, WARP = 32 };
#define WHOLE_WARP 0xffffffffu

/* The bytes that continue a length of 15: 32 at once. *length stays below 2^31 + 2^14. */
__device__ __forceinline__ bool
lz4_extend (const unsigned char *__restrict__ in, unsigned in_size, unsigned *at, unsigned most, unsigned *length,
            unsigned lane)
{
  for (;;) {
    unsigned left = in_size - *at;
    unsigned byte = lane < left ? __ldg (in + *at + lane) : 0;
    unsigned stop = __ballot_sync (WHOLE_WARP, lane >= left || byte != 255);
    if (stop != 0) {
      unsigned n = (unsigned)__ffs ((int)stop) - 1;
      *length += 255 * n + __shfl_sync (WHOLE_WARP, byte, (int)n);
      *at += n + 1;
      return n < left;
    }
    *length += 255 * WARP;
    *at += WARP;
    if (*length > most)
      return false;
  }
}

/* A match of offset 1, 2 or 4: 16 bytes a lane of what repeats. */
__device__ __forceinline__ void
lz4_fill (unsigned char *out, unsigned at, unsigned offset, unsigned match, unsigned lane)
{
  const unsigned char *from = out + at - offset;
  unsigned repeat = offset - 1, head = (unsigned)(-(long long)(size_t)(out + at)) & 15u;
  unsigned count = (match - head) / 16, rest = match - head - 16 * count;
  unsigned word = 0;
#pragma unroll
  for (unsigned j = 0; j < 4; j++)
    word |= (unsigned)from[(head + j) & repeat] << 8 * j;
  unsigned char first = from[lane & repeat], last = from[(head + lane) & repeat];
  if (lane < head)
    out[at + lane] = first;
  for (unsigned i = lane; i < count; i += WARP)
    *(uint4 *)(out + at + head + 16 * i) = make_uint4 (word, word, word, word);
  if (lane < rest)
    out[at + head + 16 * count + lane] = last;
}

/* out[at + i] = out[at - offset + i], bytes written before repeat. Earlier writes of the warp are visible. */
__device__ __forceinline__ void
lz4_match (unsigned char *out, unsigned at, unsigned offset, unsigned match, unsigned lane)
{
  if ((offset == 1 || offset == 2 || offset == 4) && match >= 48) {
    lz4_fill (out, at, offset, match, lane);
    return;
  }
  if (offset < WARP && offset < match) {
    unsigned period = WARP - WARP % offset;
    unsigned char byte = out[at - offset + lane % offset];
    if (lane < period)
      for (unsigned i = lane; i < match; i += period)
        out[at + i] = byte;
    return;
  }
  /* what is there doubles with every round */
  for (unsigned done = 0, distance = offset; done < match; distance *= 2) {
    unsigned n = min (distance, match - done);
    unsigned char *to = out + at + done;
    const unsigned char *from = to - distance;
    unsigned i = lane;
    for (; i + 3 * WARP < n; i += 4 * WARP) {
      unsigned char a = from[i], b = from[i + WARP], c = from[i + 2 * WARP], d = from[i + 3 * WARP];
      to[i] = a;
      to[i + WARP] = b;
      to[i + 2 * WARP] = c;
      to[i + 3 * WARP] = d;
    }
    for (; i < n; i += WARP)
      to[i] = from[i];
    done += n;
    if (done < match)
      __syncwarp ();
  }
}

/* FALSE: not a block that inflates to exactly out_size bytes (less than 2^31). */
__device__ __forceinline__ bool
lz4_decode (const unsigned char *__restrict__ in, unsigned in_size, unsigned char *out, unsigned out_size, unsigned lane)
{
  unsigned ip = 0, op = 0;
  for (;;) {
    if (ip >= in_size)
      return false;
    unsigned token = __ldg (in + ip++), length = token >> 4;
    if (length == 15 && !lz4_extend (in, in_size, &ip, out_size, &length, lane))
      return false;
    if (length > in_size - ip || length > out_size - op)
      return false;
    for (unsigned i = lane; i < length; i += WARP)
      out[op + i] = __ldg (in + ip + i);
    ip += length;
    op += length;
    if (ip == in_size) {
      __syncwarp ();
      return op == out_size;
    }
    /* only the last sequence may come so near to the end */
    if (out_size - op < LZ4_MATCH_LIMIT || in_size - ip < 3 + LZ4_LAST_LITERALS)
      return false;
    unsigned offset = __ldg (in + ip) | (unsigned)__ldg (in + ip + 1) << 8, match = token & 15;
    ip += 2;
    if (match == 15 && !lz4_extend (in, in_size, &ip, out_size, &match, lane))
      return false;
    match += LZ4_LEAST_MATCH;
    if (offset == 0 || offset > op || match > out_size - op - LZ4_LAST_LITERALS)
      return false;
    __syncwarp ();
    lz4_match (out, op, offset, match, lane);
    op += match;
  }
}

/* Bit i of byte j to bit j of byte i. */
__device__ __forceinline__ uint2
turn_bits (unsigned low, unsigned high)
{
  unsigned t;
  t = (low ^ (low >> 7)) & 0x00AA00AAu;
  low ^= t ^ (t << 7);
  t = (high ^ (high >> 7)) & 0x00AA00AAu;
  high ^= t ^ (t << 7);
  t = (low ^ (low >> 14)) & 0x0000CCCCu;
  low ^= t ^ (t << 14);
  t = (high ^ (high >> 14)) & 0x0000CCCCu;
  high ^= t ^ (t << 14);
  t = ((low >> 4) ^ high) & 0x0F0F0F0Fu;
  return make_uint2 (low ^ (t << 4), high ^ t);
}

/* Eight numbers from their planes' bytes: byte[p][0..1] holds planes 8 p + 0..7. */
template <int E>
__device__ __forceinline__ void
store_eight (const uint2 *byte, unsigned char *out)
{
  if (E == 1)
    *(uint2 *)out = byte[0];
  else if (E == 2)
    *(uint4 *)out = make_uint4 (__byte_perm (byte[0].x, byte[1].x, 0x5140), __byte_perm (byte[0].x, byte[1].x, 0x7362),
                                __byte_perm (byte[0].y, byte[1].y, 0x5140), __byte_perm (byte[0].y, byte[1].y, 0x7362));
  else
#pragma unroll
    for (int h = 0; h < 2; h++) {
      unsigned b0 = h ? byte[0].y : byte[0].x, b1 = h ? byte[1 % E].y : byte[1 % E].x;
      unsigned b2 = h ? byte[2 % E].y : byte[2 % E].x, b3 = h ? byte[3 % E].y : byte[3 % E].x;
      unsigned a = __byte_perm (b0, b1, 0x5140), b = __byte_perm (b0, b1, 0x7362);
      unsigned c = __byte_perm (b2, b3, 0x5140), d = __byte_perm (b2, b3, 0x7362);
      ((uint4 *)out)[h] = make_uint4 (__byte_perm (a, c, 0x5410), __byte_perm (a, c, 0x7632), __byte_perm (b, d, 0x5410),
                                      __byte_perm (b, d, 0x7632));
    }
}

/* size bytes of planes, a multiple of 8 E, to numbers; swap: their bytes reversed. out is aligned to 8 E (16 at most).
 */
template <int E>
__device__ __forceinline__ void
planes_turn (const unsigned char *planes, unsigned size, unsigned char *out, int swap, unsigned lane)
{
  unsigned plane = size / (8 * E);
  uint2 byte[E];
  if (plane % 4 != 0 || (size_t)planes % 4 != 0) {
    for (unsigned i = lane; i < plane; i += WARP) {
#pragma unroll
      for (int p = 0; p < E; p++) {
        unsigned half[2] = { 0, 0 };
#pragma unroll
        for (int b = 0; b < 8; b++)
          half[b / 4] |= (unsigned)planes[(unsigned)(8 * (swap ? E - 1 - p : p) + b) * plane + i] << 8 * (b % 4);
        byte[p] = turn_bits (half[0], half[1]);
      }
      store_eight<E> (byte, out + (size_t)i * 8 * E);
    }
    return;
  }
  /* four columns of bytes a lane */
  for (unsigned i = lane; i < plane / 4; i += WARP) {
    unsigned word[E][8];
#pragma unroll
    for (int p = 0; p < E; p++)
#pragma unroll
      for (int b = 0; b < 8; b++)
        word[p][b] = *(const unsigned *)(planes + (unsigned)(8 * (swap ? E - 1 - p : p) + b) * plane + 4 * i);
#pragma unroll
    for (int c = 0; c < 4; c++) {
      unsigned pick = (unsigned)c | (unsigned)(4 + c) << 4; /* byte c of two words */
#pragma unroll
      for (int p = 0; p < E; p++) {
        unsigned a = __byte_perm (word[p][0], word[p][1], pick), b = __byte_perm (word[p][2], word[p][3], pick);
        unsigned d = __byte_perm (word[p][4], word[p][5], pick), e = __byte_perm (word[p][6], word[p][7], pick);
        byte[p] = turn_bits (__byte_perm (a, b, 0x5410), __byte_perm (d, e, 0x5410));
      }
      store_eight<E> (byte, out + (size_t)(4 * i + (unsigned)c) * 8 * E);
    }
  }
}

#endif
