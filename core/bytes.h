/* Numbers in the headers of binary files, of either byte order. */
#ifndef SB_CORE_BYTES_H
#define SB_CORE_BYTES_H

#include <string.h>

#include <glib.h>

static inline guint16
bytes_u16 (const guint8 *at, gboolean big)
{
  return (guint16)(big ? at[0] << 8 | at[1] : at[1] << 8 | at[0]);
}

static inline guint32
bytes_u32 (const guint8 *at, gboolean big)
{
  guint32 low = bytes_u16 (at + (big ? 2 : 0), big), high = bytes_u16 (at + (big ? 0 : 2), big);
  return high << 16 | low;
}

static inline guint64
bytes_u64 (const guint8 *at, gboolean big)
{
  guint64 low = bytes_u32 (at + (big ? 4 : 0), big), high = bytes_u32 (at + (big ? 0 : 4), big);
  return high << 32 | low;
}

static inline float
bytes_f32 (const guint8 *at, gboolean big)
{
  guint32 bits = bytes_u32 (at, big);
  float value;
  memcpy (&value, &bits, sizeof value);
  return value;
}

static inline double
bytes_f64 (const guint8 *at, gboolean big)
{
  guint64 bits = bytes_u64 (at, big);
  double value;
  memcpy (&value, &bits, sizeof value);
  return value;
}

#endif
