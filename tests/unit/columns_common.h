/* What the tests of columns share: acquisitions pushed from doubles, and every number checked against plain
 * sums. */
#ifndef SB_TESTS_COLUMNS_COMMON_H
#define SB_TESTS_COLUMNS_COMMON_H

#include <math.h>
#include <string.h>

#include "core/columns.h"
#include "core/error.h"

static inline SbEngine *
make_engine (int threads)
{
  SbEngineOptions options;
  g_autoptr (GError) error = NULL;
  param_group_defaults (&engine_params, &options);
  options.threads = threads;
  SbEngine *engine = engine_new (&options, &error);
  g_assert_no_error (error);
  param_group_clear (&engine_params, &options);
  return engine;
}

static inline SbAcquisition *
make_acquisition (int scan_rows, int scan_cols, int rows, int cols, const char *dtype)
{
  g_autoptr (GError) error = NULL;
  SbAcquisitionOptions options = { { scan_rows, scan_cols }, { 0 }, { rows, cols }, (char *)dtype, 0, FALSE };
  SbAcquisition *acquisition = acquisition_new (&options, &error);
  g_assert_no_error (error);
  return acquisition;
}

static const double NOWHERE[2] = { NAN, NAN };

/* One value as the type, at p. */
static inline void
store (char *p, SbDtype dtype, double value)
{
  union {
    guint8 u8;
    guint16 u16;
    guint32 u32;
    gint16 i16;
    gint32 i32;
    float f32;
    double f64;
  } u;
  switch (dtype) {
  case SB_U8: u.u8 = (guint8)value; break;
  case SB_U16: u.u16 = (guint16)value; break;
  case SB_U32: u.u32 = (guint32)value; break;
  case SB_I16: u.i16 = (gint16)value; break;
  case SB_I32: u.i32 = (gint32)value; break;
  case SB_F32: u.f32 = (float)value; break;
  default: u.f64 = value;
  }
  memcpy (p, &u, dtype_size (dtype));
}

/* n frames packed; transposed: stored columns first, with a gap, to be seen through strides. */
static inline char *
pack (const double *x, gint64 n, gint64 rows, gint64 cols, SbDtype dtype, gboolean transposed, gint64 strides[3])
{
  gint64 item = (gint64)dtype_size (dtype);
  strides[1] = transposed ? item : item * cols;
  strides[2] = transposed ? item * rows + 3 : item;
  strides[0] = transposed ? (item * rows + 3) * cols + 5 : item * rows * cols;
  char *out = g_malloc0 ((gsize)(n * strides[0]));
  for (gint64 f = 0; f < n; f++)
    for (gint64 i = 0; i < rows * cols; i++)
      store (out + f * strides[0] + i / cols * strides[1] + i % cols * strides[2], dtype, x[f * rows * cols + i]);
  return out;
}

static inline gboolean
push (SbGather *gather, const double *x, gint64 first, gint64 n, gint64 rows, gint64 cols, SbDtype dtype, GError **error)
{
  gint64 strides[3];
  g_autofree char *frames = pack (x + first * rows * cols, n, rows, cols, dtype, FALSE, strides);
  return gather_push (gather, first, n, frames, dtype, strides, error);
}

/* All frames in one push. */
static inline SbColumns *
gather_all (SbEngine *engine, SbAcquisition *acquisition, const double *x, SbDtype dtype, GError **error)
{
  gint64 rows = acquisition->header.detector_rows, cols = acquisition->header.detector_cols;
  SbColumns *columns = NULL;
  SbGather *gather = gather_new (engine, acquisition, NOWHERE, NAN, error);
  if (gather != NULL && push (gather, x, 0, acquisition_frame_count (acquisition), rows, cols, dtype, error))
    columns = gather_finish (gather, error);
  gather_free (gather);
  return columns;
}

static inline double
count_at (const SbColumns *columns, gint64 k, gint64 p)
{
  gint64 at = k * columns->positions + p;
  switch (columns->dtype) {
  case SB_U8: return ((const guint8 *)columns->counts)[at];
  case SB_U16: return ((const guint16 *)columns->counts)[at];
  case SB_U32: return ((const guint32 *)columns->counts)[at];
  default: return (double)((const float *)columns->counts)[at];
  }
}

static inline void
assert_same (const SbColumns *a, const SbColumns *b)
{
  g_assert_cmpint (a->n_pixels, ==, b->n_pixels);
  g_assert_cmpint (a->dtype, ==, b->dtype);
  g_assert_cmpint (a->positions, ==, b->positions);
  gsize positions = (gsize)a->positions, size = (gsize)(a->pattern.rows * a->pattern.cols);
  gsize n = (gsize)a->n_pixels, bytes = n * positions * dtype_size (a->dtype);
  g_assert_cmpmem (a->pixel, n * sizeof (gint32), b->pixel, n * sizeof (gint32));
  g_assert_cmpmem (a->counts, bytes, b->counts, bytes);
  g_assert_cmpmem (a->pattern.mean, size * sizeof (double), b->pattern.mean, size * sizeof (double));
  g_assert_cmpmem (a->pattern.bad, size, b->pattern.bad, size);
  g_assert_cmpmem (a->frame_sum, positions * sizeof (double), b->frame_sum, positions * sizeof (double));
  g_assert_cmpmem (a->frame_com, positions * 2 * sizeof (double), b->frame_com, positions * 2 * sizeof (double));
  g_assert_cmpint (a->pattern.saturated, ==, b->pattern.saturated);
  g_assert_cmpint (a->pattern.frames, ==, b->pattern.frames);
}

/* Every number against plain sums over the frames x[positions][size]. */
static inline void
assert_truth (const SbColumns *columns, const double *x)
{
  gint64 size = columns->pattern.rows * columns->pattern.cols, cols = columns->pattern.cols;
  g_assert_cmpint (columns->pattern.frames, ==, columns->positions);
  for (gint64 i = 0; i < size; i++) {
    double sum = 0;
    for (gint64 p = 0; p < columns->positions; p++)
      sum += x[p * size + i];
    g_assert_cmpfloat (columns->pattern.mean[i], ==, columns->pattern.bad[i] ? 0 : sum / (double)columns->positions);
  }
  for (gint64 p = 0; p < columns->positions; p++) {
    double sum = 0, inside = 0, row = 0, col = 0;
    for (gint64 i = 0; i < size; i++)
      sum += columns->pattern.bad[i] ? 0 : x[p * size + i];
    g_assert_cmpfloat (columns->frame_sum[p], ==, sum);
    for (gint64 k = 0; k < columns->n_pixels; k++) {
      gint64 i = columns->pixel[k];
      double value = x[p * size + i];
      g_assert_true (k == 0 || i > columns->pixel[k - 1]);
      g_assert_false (columns->pattern.bad[i]);
      g_assert_cmpfloat (count_at (columns, k, p), ==, value);
      inside += value;
      row += value * (double)(i / cols);
      col += value * (double)(i % cols);
    }
    if (inside > 0) {
      g_assert_cmpfloat_with_epsilon (columns->frame_com[2 * p], row / inside, 1e-12);
      g_assert_cmpfloat_with_epsilon (columns->frame_com[2 * p + 1], col / inside, 1e-12);
    }
  }
}

/* Pixels within the radius must be there, and none beyond 1.3 times that. */
static inline void
assert_covers (const SbColumns *columns, const double centre[2], double radius)
{
  g_autofree guint8 *kept = g_malloc0 ((gsize)(columns->pattern.rows * columns->pattern.cols));
  for (gint64 k = 0; k < columns->n_pixels; k++)
    kept[columns->pixel[k]] = 1;
  for (gint64 i = 0; i < columns->pattern.rows * columns->pattern.cols; i++) {
    double d = hypot ((double)(i / columns->pattern.cols) - centre[0], (double)(i % columns->pattern.cols) - centre[1]);
    if (d <= radius)
      g_assert_true (kept[i] || columns->pattern.bad[i]);
    else if (d > 1.15 * radius + 2)
      g_assert_false (kept[i]);
  }
}

#endif
