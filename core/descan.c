#include "core/descan.h"

#include <math.h>
#include <string.h>

#include "core/error.h"

/* Pixels: what is not worth moving frames for; what is left over when they were moved; most turns. */
static const double MATTERS = 0.5, LEFT = 0.1, SURE = 6, CLIP = 3;
enum { MOST_TURNS = 5, LEAST_FRAMES = 9 };

typedef struct Sums {
  double n, r, c, rr, rc, cc, y[2], yr[2], yc[2];
} Sums;

static void
centred (const SbColumns *columns, gint64 p, double *row, double *col)
{
  const SbAcquisition *a = columns->acquisition;
  *row = (double)(p / a->used_cols) - 0.5 * (double)(a->used_rows - 1);
  *col = (double)(p % a->used_cols) - 0.5 * (double)(a->used_cols - 1);
}

static double
off_plane (const SbColumns *columns, const SbPlane *plane, gint64 p)
{
  double row, col, off[2];
  centred (columns, p, &row, &col);
  for (int i = 0; i < 2; i++)
    off[i] = columns->frame_com[2 * p + i] - plane->at[i] - plane->by_row[i] * row - plane->by_col[i] * col;
  return hypot (off[0], off[1]);
}

/* Least squares over frames with counts that lie within `reach` of a plane (NULL: all). */
static gboolean
fit (const SbColumns *columns, const SbPlane *near, double reach, SbPlane *plane)
{
  Sums s = { 0 };
  for (gint64 p = 0; p < columns->positions; p++) {
    double row, col;
    if (!(columns->frame_sum[p] > 0) || (near != NULL && off_plane (columns, near, p) > reach))
      continue;
    centred (columns, p, &row, &col);
    s.n++;
    s.r += row;
    s.c += col;
    s.rr += row * row;
    s.rc += row * col;
    s.cc += col * col;
    for (int i = 0; i < 2; i++) {
      double y = columns->frame_com[2 * p + i];
      s.y[i] += y;
      s.yr[i] += y * row;
      s.yc[i] += y * col;
    }
  }
  if (s.n < LEAST_FRAMES)
    return FALSE;
  double rr = s.rr - s.r * s.r / s.n, rc = s.rc - s.r * s.c / s.n, cc = s.cc - s.c * s.c / s.n, det = rr * cc - rc * rc;
  if (!(det > 1e-9 * rr * cc))
    return FALSE;
  for (int i = 0; i < 2; i++) {
    double yr = s.yr[i] - s.y[i] * s.r / s.n, yc = s.yc[i] - s.y[i] * s.c / s.n;
    plane->by_row[i] = (yr * cc - yc * rc) / det;
    plane->by_col[i] = (yc * rr - yr * rc) / det;
    plane->at[i] = (s.y[i] - plane->by_row[i] * s.r - plane->by_col[i] * s.c) / s.n;
  }
  return TRUE;
}

/* Root mean square distance of the frames from the plane. */
static double
scatter (const SbColumns *columns, const SbPlane *plane)
{
  double sum = 0, n = 0;
  for (gint64 p = 0; p < columns->positions; p++)
    if (columns->frame_sum[p] > 0) {
      double off = off_plane (columns, plane, p);
      sum += off * off;
      n++;
    }
  return n > 0 ? sqrt (sum / n) : NAN;
}

gboolean
descan_fit (const SbColumns *columns, SbPlane *plane, double travel[2])
{
  const SbAcquisition *a = columns->acquisition;
  SbPlane first;
  if (!fit (columns, NULL, 0, &first))
    return FALSE;
  double reach = CLIP * scatter (columns, &first);
  if (!(reach > 0) || !fit (columns, &first, reach, plane))
    *plane = first;
  for (int i = 0; i < 2; i++)
    travel[i] = fabs (plane->by_row[i]) * (double)(a->used_rows - 1) + fabs (plane->by_col[i]) * (double)(a->used_cols - 1);
  return TRUE;
}

gboolean
descan_matters (const SbColumns *columns, const SbPlane *plane, const double travel[2])
{
  double most = MAX (travel[0], travel[1]);
  /* the standard error of a slope, times the length it goes over */
  double unsure = scatter (columns, plane) * sqrt (12 / (double)columns->positions);
  return most > MATTERS && most > SURE * unsure;
}

/* ---- removal ---- */

/* Pixels that are bad, or beyond the detector, in any frame once it is moved. raw: the bad ones before. */
static guint8 *
moved_mask (const SbAcquisition *a, const SbPlane *plane, const guint8 *raw, GError **error)
{
  gint64 rows = a->header.detector_rows, cols = a->header.detector_cols, last[2] = { G_MAXINT64, 0 };
  guint8 *mask = sb_alloc ((gsize)(rows * cols), 1, "the pixel mask", error);
  if (mask == NULL)
    return NULL;
  memset (mask, 0, (gsize)(rows * cols));
  g_autoptr (GHashTable) done = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  for (gint64 p = 0; p < acquisition_positions (a); p++) {
    gint64 shift[2];
    plane_shift (plane, a, p, shift);
    if (shift[0] == last[0] && shift[1] == last[1])
      continue;
    memcpy (last, shift, sizeof last);
    gint64 *key = g_new (gint64, 1);
    *key = shift[0] * 1048576 + shift[1];
    if (!g_hash_table_add (done, key))
      continue;
    for (gint64 i = 0; i < rows; i++)
      for (gint64 j = 0; j < cols; j++) {
        gint64 r = i + shift[0], c = j + shift[1];
        if (r < 0 || r >= rows || c < 0 || c >= cols || raw[r * cols + c])
          mask[i * cols + j] = 1;
      }
  }
  return mask;
}

static guint8 *
pixels_copy (const SbPattern *pattern, GError **error)
{
  gsize n = (gsize)(pattern->rows * pattern->cols);
  guint8 *copy = sb_alloc (n, 1, "the pixel mask", error);
  if (copy != NULL)
    memcpy (copy, pattern->bad, n);
  return copy;
}

/* One more turn: what the columns still show goes into the plane; *more: they are to be loaded again. raw is taken
 * from frames that nothing moved. */
static gboolean
turn (SbAcquisition *a, const SbColumns *columns, guint8 **raw, SbPlane *total, gboolean *more, GError **error)
{
  SbPlane plane;
  double travel[2];
  gboolean begun = mend_plane (a) != NULL;
  *more = descan_fit (columns, &plane, travel)
          && (begun ? MAX (travel[0], travel[1]) > LEFT : descan_matters (columns, &plane, travel));
  if (!*more)
    return TRUE;
  for (int i = 0; i < 2; i++) {
    total->by_row[i] += plane.by_row[i];
    total->by_col[i] += plane.by_col[i];
  }
  if (*raw == NULL)
    *raw = pixels_copy (&columns->pattern, error);
  guint8 *mask = *raw != NULL ? moved_mask (a, total, *raw, error) : NULL;
  if (mask == NULL)
    return FALSE;
  g_free (a->header.mask);
  a->header.mask = mask;
  mend_set_plane (a, total);
  return TRUE;
}

SbColumns *
descan_load (SbEngine *engine, SbAcquisition *acquisition, const double centre[2], double radius, SbProgress *progress,
             GError **error)
{
  SbColumns *columns = columns_load (engine, acquisition, centre, radius, progress, error);
  gboolean more = columns != NULL && mend_removes_descan (acquisition) && mend_plane (acquisition) == NULL;
  SbPlane total = { { 0 } };
  g_autofree guint8 *raw = NULL;
  for (int i = 0; more && columns != NULL && i < MOST_TURNS; i++) {
    gboolean good = turn (acquisition, columns, &raw, &total, &more, error);
    if (good && !more)
      break;
    columns_free (columns);
    columns = good ? columns_load (engine, acquisition, centre, radius, progress, error) : NULL;
  }
  return columns;
}
