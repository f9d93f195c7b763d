#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/gather.h"

gboolean
dtype_fits (SbDtype from, SbDtype into)
{
  static const guint8 fits[SB_F64 + 1] = {
    /* bit set of the types that hold all values of one */
    [SB_U8] = 1 << SB_U8 | 1 << SB_U16 | 1 << SB_U32 | 1 << SB_I16 | 1 << SB_I32 | 1 << SB_F32 | 1 << SB_F64,
    [SB_U16] = 1 << SB_U16 | 1 << SB_U32 | 1 << SB_I32 | 1 << SB_F32 | 1 << SB_F64,
    [SB_U32] = 1 << SB_U32 | 1 << SB_F64,
    [SB_I16] = 1 << SB_I16 | 1 << SB_I32 | 1 << SB_F32 | 1 << SB_F64,
    [SB_I32] = 1 << SB_I32 | 1 << SB_F64,
    [SB_F32] = 1 << SB_F32 | 1 << SB_F64,
    [SB_F64] = 1 << SB_F64,
  };
  return fits[from] >> into & 1;
}

/* Host arrays may be strided so that no value is aligned. */
#define DEFINE_COPY(NAME, FROM, TO)                                                                                            \
  static void NAME (gint64 rows, gint64 cols, const char *from, gint64 row_stride, gint64 col_stride, gpointer out)            \
  {                                                                                                                            \
    TO *to = out;                                                                                                              \
    for (gint64 r = 0; r < rows; r++)                                                                                          \
      for (gint64 c = 0; c < cols; c++) {                                                                                      \
        FROM value;                                                                                                            \
        memcpy (&value, from + r * row_stride + c * col_stride, sizeof value);                                                 \
        *to++ = (TO)value;                                                                                                     \
      }                                                                                                                        \
  }

DEFINE_COPY (u8_to_u8, guint8, guint8)
DEFINE_COPY (u8_to_u16, guint8, guint16)
DEFINE_COPY (u8_to_u32, guint8, guint32)
DEFINE_COPY (u8_to_f32, guint8, float)
DEFINE_COPY (u16_to_u16, guint16, guint16)
DEFINE_COPY (u16_to_u32, guint16, guint32)
DEFINE_COPY (u16_to_f32, guint16, float)
DEFINE_COPY (u32_to_u32, guint32, guint32)
DEFINE_COPY (u32_to_f32, guint32, float)
DEFINE_COPY (i16_to_f32, gint16, float)
DEFINE_COPY (i32_to_f32, gint32, float)
DEFINE_COPY (f32_to_f32, float, float)
/* Beyond the range of float32 it becomes infinite: a bad pixel. */
DEFINE_COPY (f64_to_f32, double, float)

typedef void (*Copy) (gint64 rows, gint64 cols, const char *from, gint64 row_stride, gint64 col_stride, gpointer to);
static const Copy copies[SB_F64 + 1][SB_F64 + 1] = {
  /* [pushed][stored] */
  [SB_U8] = { [SB_U8] = u8_to_u8, [SB_U16] = u8_to_u16, [SB_U32] = u8_to_u32, [SB_F32] = u8_to_f32 },
  [SB_U16] = { [SB_U16] = u16_to_u16, [SB_U32] = u16_to_u32, [SB_F32] = u16_to_f32 },
  [SB_U32] = { [SB_U32] = u32_to_u32, [SB_F32] = u32_to_f32 },
  [SB_I16] = { [SB_F32] = i16_to_f32 },
  [SB_I32] = { [SB_F32] = i32_to_f32 },
  [SB_F32] = { [SB_F32] = f32_to_f32 },
  [SB_F64] = { [SB_F32] = f64_to_f32 },
};

/* float32 holds every integer up to 2^24; beyond, counts would change silently. */
static gboolean
check_range (const SbGather *gather, gint64 frame, const float *x, GError **error)
{
  const guint8 *good = gather->good;
  for (gint64 i = 0; i < gather->size; i++)
    if (good[i] && fabsf (x[i]) >= 16777216.0f)
      return sb_fail (error, SB_ERROR_DATA,
                      "Frame %" G_GINT64_FORMAT " holds about %.0f at detector pixel (%" G_GINT64_FORMAT ", %" G_GINT64_FORMAT
                      "), more than can be kept exactly of signed integers "
                      "(16777215); mask that pixel or save the data as uint32 or float32.",
                      frame, (double)x[i], i / gather->cols, i % gather->cols);
  return TRUE;
}

gboolean
gather_convert (const SbGather *gather, gint64 frame, gconstpointer from, SbDtype dtype, gint64 row_stride, gint64 col_stride,
                gpointer to, GError **error)
{
  gsize item = dtype_size (dtype);
  if (dtype == gather->stored && col_stride == (gint64)item && row_stride == (gint64)item * gather->cols)
    memcpy (to, from, (gsize)gather->size * item);
  else
    copies[dtype][gather->stored](gather->rows, gather->cols, from, row_stride, col_stride, to);
  if (gather->stored == SB_F32 && (dtype == SB_I32 || dtype == SB_U32))
    return check_range (gather, frame, to, error);
  return TRUE;
}
