#include "core/bitshuffle.h"

#include <string.h>

#define INLINE static inline __attribute__ ((always_inline))
/* Keeps the small arrays of vectors in registers at -O2. */
#define UNROLL _Pragma ("GCC unroll 8")

#define LANES 1
#define NAME(x) x##_1
#include "core/bitshuffle_lanes.h"
#ifdef __x86_64__
#define LANES 2
#define NAME(x) x##_2
#include "core/bitshuffle_lanes.h"
#endif

/* Eight elements a step, for what the vectors leave and for element sizes they do not know. */
INLINE void
unshuffle_rest (const guint8 *in, guint8 *out, gsize n, gsize element, gsize from)
{
  gsize stride = n / 8;
  for (gsize j = from / 8; j < stride; j++)
    for (gsize byte = 0; byte < element; byte++) {
      guint64 x = 0, t;
      for (int b = 0; b < 8; b++)
        x |= (guint64)in[(8 * byte + (gsize)b) * stride + j] << (8 * b);
      t = (x ^ (x >> 7)) & G_GUINT64_CONSTANT (0x00aa00aa00aa00aa);
      x ^= t ^ (t << 7);
      t = (x ^ (x >> 14)) & G_GUINT64_CONSTANT (0x0000cccc0000cccc);
      x ^= t ^ (t << 14);
      t = (x ^ (x >> 28)) & G_GUINT64_CONSTANT (0x00000000f0f0f0f0);
      x ^= t ^ (t << 28);
      for (gsize i = 0; i < 8; i++)
        out[(8 * j + i) * element + byte] = (guint8)(x >> (8 * i));
    }
}

static void
unshuffle_plain (const guint8 *in, guint8 *out, gsize n, gsize element)
{
  unshuffle_rest (in, out, n, element, unshuffle_bulk_1 (in, out, n, element));
}

#ifdef __x86_64__
__attribute__ ((target ("avx2"))) static void
unshuffle_avx2 (const guint8 *in, guint8 *out, gsize n, gsize element)
{
  unshuffle_rest (in, out, n, element, unshuffle_bulk_2 (in, out, n, element));
}
#endif

void
bits_unshuffle (const guint8 *in, guint8 *out, gsize n, gsize element)
{
#ifdef __x86_64__
  static gsize chosen;
  if (g_once_init_enter (&chosen)) {
    gboolean wide = __builtin_cpu_supports ("avx2") && g_strcmp0 (g_getenv ("SIDEBAND_ISA"), "plain") != 0;
    g_once_init_leave (&chosen, wide ? 2 : 1);
  }
  if (chosen == 2) {
    unshuffle_avx2 (in, out, n, element);
    return;
  }
#endif
  unshuffle_plain (in, out, n, element);
}

void
bits_unshuffle_reference (const guint8 *in, guint8 *out, gsize n, gsize element)
{
  memset (out, 0, n * element);
  for (gsize e = 0; e < n; e++)
    for (gsize b = 0; b < 8 * element; b++)
      if (in[b * (n / 8) + e / 8] >> (e % 8) & 1)
        out[e * element + b / 8] |= (guint8)(1u << (b % 8));
}
