#include "core/live.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/live_inside.h"

enum { MOST_BRIGHT_FIELD = 1 << 26, SPAN = 256 };

SbLive *
live_new (SbGather *gather, const SbOptics *optics, const SbCalibrationOptions *calibration)
{
  SbLive *live = g_new0 (SbLive, 1);
  live->gather = gather;
  live->optics = *optics;
  live->calibration = *calibration;
  live->calibration.orientation = g_strdup (calibration->orientation);
  return live;
}

void
live_free (SbLive *live)
{
  if (live == NULL)
    return;
  engine_free (live->engine);
  g_free (live->calibration.orientation);
  g_free (live);
}

/* ---- what is there ---- */

void
glance_clear (SbGlance *out)
{
  pattern_clear (&out->pattern);
  g_clear_pointer (&out->there, g_free);
  g_clear_pointer (&out->k, g_free);
}

/* Frames whose columns are complete: what was written before the lock was given back. */
static gboolean
take_there (SbGather *gather, SbGlance *out, GError **error)
{
  out->there = sb_alloc ((gsize)gather->positions, 1, "The list of frames", error);
  if (out->there == NULL)
    return FALSE;
  g_mutex_lock (&gather->lock);
  gboolean streaming = gather->state == GATHER_STREAMING;
  gint64 pushed = gather->pushed;
  memcpy (out->there, gather->there, (gsize)gather->positions);
  g_mutex_unlock (&gather->lock);
  for (gint64 p = 0; p < gather->positions; p++)
    out->n_there += out->there[p];
  return streaming
         || sb_fail (error, SB_ERROR_STATE,
                     "There is no image yet: %" G_GINT64_FORMAT " frames are there, the first %d are needed; ask again later.",
                     pushed, GATHER_LOOK);
}

/* Where the bright field is, as the gather itself will see it at the end. */
static gboolean
find_disk (const SbLive *live, SbGlance *out, GError **error)
{
  const SbCalibrationOptions *calibration = &live->calibration;
  double radius = live->optics.semiangle / calibration->sampling;
  gboolean centred = isfinite (calibration->centre[0]) && isfinite (calibration->centre[1]);
  SbDisk found = { { NAN, NAN }, NAN };
  if (!(centred && isfinite (radius))
      && !disk_find (out->pattern.mean, out->pattern.bad, out->pattern.rows, out->pattern.cols, &found, error))
    return FALSE;
  for (int axis = 0; axis < 2; axis++)
    out->disk.centre[axis] = centred ? calibration->centre[axis] : found.centre[axis];
  out->disk.radius = isfinite (radius) ? radius : found.radius;
  return TRUE;
}

static gboolean
in_disk (const SbGather *gather, const SbGlance *out, gint64 k)
{
  gint64 pixel = gather->pixel[k];
  double row = (double)(pixel / gather->cols) - out->disk.centre[0], col = (double)(pixel % gather->cols) - out->disk.centre[1];
  return !out->pattern.bad[pixel] && hypot (row, col) <= out->disk.radius;
}

/* Every stride-th pixel of every stride-th row. */
static gboolean
choose_pixels (const SbGather *gather, gint64 most, SbGlance *out, GError **error)
{
  gint64 all = 0, most_pixels = MAX (most / gather->positions, 16);
  for (gint64 k = 0; k < gather->n_pixels; k++)
    all += in_disk (gather, out, k);
  gint64 stride = MAX ((gint64)ceil (sqrt ((double)all / (double)most_pixels) - 1e-9), 1);
  out->k = sb_alloc ((gsize)MAX (all, 1), sizeof *out->k, "The list of pixels", error);
  if (out->k == NULL)
    return FALSE;
  gint64 row = (gint64)lrint (out->disk.centre[0]) % stride, col = (gint64)lrint (out->disk.centre[1]) % stride;
  for (gint64 k = 0; k < gather->n_pixels; k++) {
    gint64 pixel = gather->pixel[k];
    if (in_disk (gather, out, k) && pixel / gather->cols % stride == row && pixel % gather->cols % stride == col)
      out->k[out->n++] = k;
  }
  return out->n > 0
         || sb_fail (error, SB_ERROR_DATA,
                     "No usable detector pixel lies within the bright-field disk; give another centre "
                     "and sampling.");
}

gboolean
glance (SbLive *live, gint64 most, SbGlance *out, GError **error)
{
  memset (out, 0, sizeof *out);
  if (take_there (live->gather, out, error) && gather_pattern (live->gather, HOT_FACTOR, &out->pattern, NULL, error)
      && find_disk (live, out, error) && choose_pixels (live->gather, most, out, error))
    return TRUE;
  glance_clear (out);
  return FALSE;
}

double
glance_count (const SbGather *gather, gint64 k, gint64 position)
{
  gint64 at = k * gather->positions + position;
  switch (gather->stored) {
  case SB_U8: return ((const guint8 *)gather->counts)[at];
  case SB_U16: return ((const guint16 *)gather->counts)[at];
  case SB_U32: return ((const guint32 *)gather->counts)[at];
  default: return (double)((const float *)gather->counts)[at];
  }
}

/* ---- bright field ---- */

static float *
bright_field (SbLive *live, GError **error)
{
  const SbGather *gather = live->gather;
  SbGlance seen;
  if (!glance (live, MOST_BRIGHT_FIELD, &seen, error))
    return NULL;
  float *image = sb_alloc ((gsize)gather->positions, sizeof (float), "The live image", error);
  for (gint64 from = 0; image != NULL && from < gather->positions; from += SPAN) {
    double sum[SPAN] = { 0 };
    gint64 n = MIN (gather->positions - from, SPAN);
    for (gint64 i = 0; i < seen.n; i++)
      for (gint64 p = 0; p < n; p++)
        if (seen.there[from + p])
          sum[p] += glance_count (gather, seen.k[i], from + p);
    for (gint64 p = 0; p < n; p++)
      image[from + p] = isfinite (sum[p]) ? (float)(sum[p] / (double)seen.n) : 0;
  }
  glance_clear (&seen);
  return image;
}

float *
live_image (SbLive *live, const char *what, GError **error)
{
  if (g_strcmp0 (what, "bright_field") == 0)
    return bright_field (live, error);
  if (what != NULL && g_str_has_prefix (what, "ssb") && (what[3] == '\0' || what[3] == ' '))
    return live_ssb (live, what + 3, error);
  sb_fail (error, SB_ERROR_ARGUMENT,
           "\"%.60s\" is no preview of data; ask for \"mean_pattern\", \"bright_field\" or \"ssb\" (\"ssb C10=5\").",
           what != NULL ? what : "(NULL)");
  return NULL;
}
