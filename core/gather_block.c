#include <math.h>
#include <string.h>

#include "core/gather.h"

/* The frames of a block that lie side by side in the scan: one piece of each column. */
typedef struct Runs {
  gint64 n;
  gint64 first[GATHER_BLOCK], length[GATHER_BLOCK], position[GATHER_BLOCK];
} Runs;

static void
find_runs (gint64 n, const gint64 *position, Runs *runs)
{
  runs->n = 0;
  for (gint64 f = 0; f < n; f++) {
    gint64 last = runs->n - 1;
    if (last >= 0 && runs->position[last] + runs->length[last] == position[f]) {
      runs->length[last]++;
      continue;
    }
    runs->first[runs->n] = f;
    runs->length[runs->n] = 1;
    runs->position[runs->n++] = position[f];
  }
}

/* Adds up a tile's share of every frame: exact, whatever the order. Sixteen lanes with a fixed count, so that
 * the compiler uses vectors. SUM holds GATHER_BLOCK of the largest T. */
#define DEFINE_ADD(NAME, T, SUM)                                                                                               \
  static void NAME (SbGather *gather, gint64 t, gint64 n_frames, const T *frames, double *frame_sum)                           \
  {                                                                                                                            \
    enum { LANES = 16 };                                                                                                       \
    gint64 first = t * GATHER_TILE, n = MIN (gather->size - first, GATHER_TILE), whole = n / LANES * LANES;                    \
    const T *good = (const T *)gather->good + first;                                                                           \
    SUM sum[GATHER_TILE] = { 0 };                                                                                              \
    T high[GATHER_TILE] = { 0 };                                                                                               \
    for (gint64 f = 0; f < n_frames; f++) {                                                                                    \
      const T *x = frames + f * gather->size + first;                                                                          \
      SUM lane[LANES] = { 0 };                                                                                                 \
      guint64 total = 0;                                                                                                       \
      for (gint64 i = 0; i < whole; i += LANES)                                                                                \
        for (int l = 0; l < LANES; l++) {                                                                                      \
          T value = x[i + l] & good[i + l];                                                                                    \
          sum[i + l] += value;                                                                                                 \
          lane[l] += value;                                                                                                    \
          high[i + l] = MAX (high[i + l], value);                                                                              \
        }                                                                                                                      \
      for (gint64 i = whole; i < n; i++) {                                                                                     \
        T value = x[i] & good[i];                                                                                              \
        sum[i] += value;                                                                                                       \
        total += value;                                                                                                        \
        high[i] = MAX (high[i], value);                                                                                        \
      }                                                                                                                        \
      for (int l = 0; l < LANES; l++)                                                                                          \
        total += lane[l];                                                                                                      \
      frame_sum[f] += (double)total;                                                                                           \
    }                                                                                                                          \
    g_mutex_lock (&gather->tile[t].lock);                                                                                      \
    gather->tile[t].frames += n_frames;                                                                                        \
    for (gint64 i = 0; i < n; i++) {                                                                                           \
      gather->sum[first + i] += sum[i];                                                                                        \
      gather->high[first + i] = MAX (gather->high[first + i], (double)high[i]);                                                \
    }                                                                                                                          \
    g_mutex_unlock (&gather->tile[t].lock);                                                                                    \
  }

DEFINE_ADD (add_u8, guint8, guint32)
DEFINE_ADD (add_u16, guint16, guint32)
DEFINE_ADD (add_u32, guint32, guint64)

/* value = mantissa * 2^(place - 149): added to the two 32-bit words it reaches into, so that a sum of any
 * floats is exact and does not depend on their order. */
static inline void
add_float (gint64 *words, float value)
{
  guint32 bits;
  memcpy (&bits, &value, sizeof bits);
  gint32 exponent = (gint32)(bits >> 23 & 255);
  guint64 mantissa = bits & 0x7fffff;
  gint32 place = exponent == 0 ? 0 : exponent - 1;
  if (exponent != 0)
    mantissa |= 0x800000;
  mantissa <<= place & 31;
  gint64 low = (gint64)(mantissa & 0xffffffff), high = (gint64)(mantissa >> 32);
  words += place >> 5;
  words[0] += bits >> 31 ? -low : low;
  words[1] += bits >> 31 ? -high : high;
}

static void
add_f32 (SbGather *gather, gint64 t, gint64 n_frames, const float *frames, double *frame_sum)
{
  gint64 first = t * GATHER_TILE, last = MIN (gather->size, first + GATHER_TILE);
  const guint8 *good = gather->good;
  g_mutex_lock (&gather->tile[t].lock);
  gather->tile[t].frames += n_frames;
  for (gint64 f = 0; f < n_frames; f++) {
    const float *x = frames + f * gather->size;
    double total = 0;
    for (gint64 i = first; i < last; i++) {
      if (!good[i])
        continue;
      if (!isfinite (x[i])) {
        gather->not_finite[i] = 1;
        continue;
      }
      add_float (gather->words + i * GATHER_WORDS, x[i]);
      gather->high[i] = MAX (gather->high[i], (double)x[i]);
      total += (double)x[i];
    }
    frame_sum[f] += total;
  }
  g_mutex_unlock (&gather->tile[t].lock);
}

/* Turns kept pixels of a tile from frames to columns through a small square that stays in the cache: reading
 * along frames and writing along columns both touch whole cache lines. */
#define DEFINE_TURN(NAME, T)                                                                                                   \
  static void NAME (SbGather *gather, gint64 t, gint64 n_frames, const Runs *runs, const T *frames)                            \
  {                                                                                                                            \
    T square[GATHER_GROUP][GATHER_BLOCK];                                                                                      \
    const GatherTile *tile = &gather->tile[t];                                                                                 \
    for (gint64 k = tile->kept[0]; k < tile->kept[1]; k += GATHER_GROUP) {                                                     \
      gint64 n = MIN (tile->kept[1] - k, GATHER_GROUP);                                                                        \
      const gint32 *pixel = gather->pixel + k;                                                                                 \
      for (gint64 f = 0; f < n_frames; f++)                                                                                    \
        for (gint64 j = 0; j < n; j++)                                                                                         \
          square[j][f] = frames[f * gather->size + pixel[j]];                                                                  \
      for (gint64 j = 0; j < n; j++) {                                                                                         \
        T *column = (T *)gather->counts + (k + j) * gather->held - gather->first;                                              \
        for (gint64 r = 0; r < runs->n; r++)                                                                                   \
          memcpy (column + runs->position[r], square[j] + runs->first[r], (gsize)runs->length[r] * sizeof (T));                \
      }                                                                                                                        \
    }                                                                                                                          \
  }

DEFINE_TURN (turn_8, guint8)
DEFINE_TURN (turn_16, guint16)
DEFINE_TURN (turn_32, guint32)

static void
add (SbGather *gather, gint64 t, gint64 n, gconstpointer frames, double *frame_sum)
{
  switch (gather->stored) {
  case SB_U8: add_u8 (gather, t, n, frames, frame_sum); break;
  case SB_U16: add_u16 (gather, t, n, frames, frame_sum); break;
  case SB_U32: add_u32 (gather, t, n, frames, frame_sum); break;
  default: add_f32 (gather, t, n, frames, frame_sum);
  }
}

static void
turn (SbGather *gather, gint64 t, gint64 n, const Runs *runs, gconstpointer frames)
{
  if (gather->item == 1)
    turn_8 (gather, t, n, runs, frames);
  else if (gather->item == 2)
    turn_16 (gather, t, n, runs, frames);
  else
    turn_32 (gather, t, n, runs, frames); /* uint32 and float32 alike: bits are moved */
}

void
gather_block (SbGather *gather, guint parts, gint64 n, const gint64 *position, gconstpointer frames)
{
  double sum[GATHER_BLOCK] = { 0 };
  Runs runs;
  find_runs (n, position, &runs);
  for (gint64 t = 0; t < gather->n_tiles; t++) { /* both parts while the tile is in the cache */
    if (parts & GATHER_ADD)
      add (gather, t, n, frames, sum);
    if (parts & GATHER_TURN)
      turn (gather, t, n, &runs, frames);
  }
  if (parts & GATHER_TURN && gather->scratch != NULL)
    scratch_touch (gather->scratch, (gsize)(n * gather->n_pixels) * gather->item);
  if (parts & GATHER_ADD)
    for (gint64 f = 0; f < n; f++)
      gather->frame_sum[position[f]] = sum[f];
}
