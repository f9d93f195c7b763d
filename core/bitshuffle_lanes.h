/* Included once per vector width, with LANES (1: SSE2 or NEON, 2: AVX2) and NAME(x): eight bit planes at a time.
 * A vector holds LANES lanes of 16 bytes of one bit plane that never mix, as AVX2's shuffles want it. */
#if LANES == 2
#define LOW_BYTES                                                                                                              \
  0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39, 16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55
#define HIGH_BYTES                                                                                                             \
  8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47, 24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63
#define LOW_PAIRS 0, 16, 1, 17, 2, 18, 3, 19, 8, 24, 9, 25, 10, 26, 11, 27
#define HIGH_PAIRS 4, 20, 5, 21, 6, 22, 7, 23, 12, 28, 13, 29, 14, 30, 15, 31
#define LOW_QUADS 0, 8, 1, 9, 4, 12, 5, 13
#define HIGH_QUADS 2, 10, 3, 11, 6, 14, 7, 15
#else
#define LOW_BYTES 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH_BYTES 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define LOW_PAIRS 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_PAIRS 4, 12, 5, 13, 6, 14, 7, 15
#define LOW_QUADS 0, 4, 1, 5
#define HIGH_QUADS 2, 6, 3, 7
#endif
#define Words NAME (Words)
#define Bytes NAME (Bytes)
#define Pairs NAME (Pairs)
#define Quads NAME (Quads)
#define JOIN(type, a, b, ...) ((Words)__builtin_shufflevector ((type)(a), (type)(b), __VA_ARGS__))

typedef guint64 Words __attribute__ ((vector_size (16 * LANES)));
typedef guint8 Bytes __attribute__ ((vector_size (16 * LANES)));
typedef guint16 Pairs __attribute__ ((vector_size (16 * LANES)));
typedef guint32 Quads __attribute__ ((vector_size (16 * LANES)));

/* Swaps the bits of a that mask's complement covers with those of b that mask covers. */
INLINE void
NAME (exchange) (Words *a, Words *b, int shift, guint64 mask)
{
  Words t = ((*a >> shift) ^ *b) & mask;
  *b ^= t;
  *a ^= t << shift;
}

/* Eight planes from in, stride bytes apart, in order of their elements: x[k], lane l holds the elements
 * 128 l + 16 k .. + 15. */
INLINE void
NAME (eight_planes) (const guint8 *in, gsize stride, Words x[8])
{
  UNROLL
  for (int b = 0; b < 8; b++)
    memcpy (&x[b], in + b * stride, sizeof x[b]);
  UNROLL
  for (int i = 0; i < 4; i++)
    NAME (exchange) (&x[i], &x[i + 4], 4, G_GUINT64_CONSTANT (0x0f0f0f0f0f0f0f0f));
  UNROLL
  for (int i = 0; i < 8; i += i % 4 == 1 ? 3 : 1)
    NAME (exchange) (&x[i], &x[i + 2], 2, G_GUINT64_CONSTANT (0x3333333333333333));
  UNROLL
  for (int i = 0; i < 8; i += 2)
    NAME (exchange) (&x[i], &x[i + 1], 1, G_GUINT64_CONSTANT (0x5555555555555555));
  /* Now byte j of x[i] is element 8 j + i. */
  Words two[8], four[8];
  UNROLL
  for (int i = 0; i < 4; i++) {
    two[i] = JOIN (Bytes, x[2 * i], x[2 * i + 1], LOW_BYTES);
    two[i + 4] = JOIN (Bytes, x[2 * i], x[2 * i + 1], HIGH_BYTES);
  }
  UNROLL
  for (int h = 0; h < 2; h++)
    UNROLL
  for (int i = 0; i < 2; i++) {
    four[4 * h + i] = JOIN (Pairs, two[4 * h + 2 * i], two[4 * h + 2 * i + 1], LOW_PAIRS);
    four[4 * h + 2 + i] = JOIN (Pairs, two[4 * h + 2 * i], two[4 * h + 2 * i + 1], HIGH_PAIRS);
  }
  UNROLL
  for (int i = 0; i < 4; i++) {
    x[2 * i] = JOIN (Quads, four[2 * i], four[2 * i + 1], LOW_QUADS);
    x[2 * i + 1] = JOIN (Quads, four[2 * i], four[2 * i + 1], HIGH_QUADS);
  }
}

/* The lanes of x to places lane bytes apart. */
INLINE void
NAME (store) (guint8 *out, gsize lane, Words x)
{
  for (gsize l = 0; l < LANES; l++)
    memcpy (out + l * lane, (const guint8 *)&x + 16 * l, 16);
}

/* 128 elements a lane, of 1, 2 or 4 bytes whose planes are stride bytes apart. */
INLINE void
NAME (unshuffle_step) (const guint8 *in, gsize stride, guint8 *out, gsize element)
{
  Words x[4][8];
  UNROLL
  for (gsize byte = 0; byte < element; byte++)
    NAME (eight_planes) (in + 8 * byte * stride, stride, x[byte]);
  UNROLL
  for (int k = 0; k < 8; k++) {
    guint8 *to = out + 16 * element * (gsize)k;
    gsize lane = 128 * element;
    if (element == 1) {
      NAME (store) (to, lane, x[0][k]);
      continue;
    }
    Words low = JOIN (Bytes, x[0][k], x[1][k], LOW_BYTES), high = JOIN (Bytes, x[0][k], x[1][k], HIGH_BYTES);
    if (element == 2) {
      NAME (store) (to, lane, low);
      NAME (store) (to + 16, lane, high);
      continue;
    }
    Words low2 = JOIN (Bytes, x[2][k], x[3][k], LOW_BYTES), high2 = JOIN (Bytes, x[2][k], x[3][k], HIGH_BYTES);
    NAME (store) (to, lane, JOIN (Pairs, low, low2, LOW_PAIRS));
    NAME (store) (to + 16, lane, JOIN (Pairs, low, low2, HIGH_PAIRS));
    NAME (store) (to + 32, lane, JOIN (Pairs, high, high2, LOW_PAIRS));
    NAME (store) (to + 48, lane, JOIN (Pairs, high, high2, HIGH_PAIRS));
  }
}

/* As many elements as fill vectors; returns how many. */
INLINE gsize
NAME (unshuffle_bulk) (const guint8 *in, guint8 *out, gsize n, gsize element)
{
  gsize at = 0;
  /* One loop per size, so that the size is a constant where it matters. */
  if (element == 1)
    for (; at + 128 * LANES <= n; at += 128 * LANES)
      NAME (unshuffle_step) (in + at / 8, n / 8, out + at, 1);
  else if (element == 2)
    for (; at + 128 * LANES <= n; at += 128 * LANES)
      NAME (unshuffle_step) (in + at / 8, n / 8, out + 2 * at, 2);
  else if (element == 4)
    for (; at + 128 * LANES <= n; at += 128 * LANES)
      NAME (unshuffle_step) (in + at / 8, n / 8, out + 4 * at, 4);
  return at;
}

#undef Words
#undef Bytes
#undef Pairs
#undef Quads
#undef JOIN
#undef LOW_BYTES
#undef HIGH_BYTES
#undef LOW_PAIRS
#undef HIGH_PAIRS
#undef LOW_QUADS
#undef HIGH_QUADS
#undef LANES
#undef NAME
