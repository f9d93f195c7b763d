#include "core/look.h"

#include <math.h>

#include "core/error.h"

static double
sample (gconstpointer frame, SbDtype dtype, gint64 i)
{
  switch (dtype) {
  case SB_U8: return ((const guint8 *)frame)[i];
  case SB_U16: return ((const guint16 *)frame)[i];
  case SB_U32: return ((const guint32 *)frame)[i];
  case SB_I16: return ((const gint16 *)frame)[i];
  case SB_I32: return ((const gint32 *)frame)[i];
  case SB_F32: return ((const float *)frame)[i];
  case SB_F64: return ((const double *)frame)[i];
  }
  return NAN;
}

/* Adds the frames at evenly spaced positions; what is not finite or masked counts as 0. */
static gboolean
add_frames (const SbAcquisition *acquisition, gint64 count, gpointer frame, double *sum, GError **error)
{
  const SbHeader *header = &acquisition->header;
  gint64 positions = acquisition_positions (acquisition), n = header->detector_rows * header->detector_cols;
  for (gint64 f = 0; f < count; f++) {
    gint64 position = (gint64)((double)f * (double)positions / (double)count);
    gint64 at = acquisition_frame (acquisition, CLAMP (position, 0, positions - 1));
    if (!acquisition->format->read (acquisition->reader, at, 1, frame, error))
      return FALSE;
    for (gint64 i = 0; i < n; i++) {
      double value = sample (frame, header->dtype, i);
      if (isfinite (value) && (header->mask == NULL || header->mask[i] == 0))
        sum[i] += value;
    }
  }
  return TRUE;
}

float *
look_mean (const SbAcquisition *acquisition, gint64 n_frames, GError **error)
{
  gsize n = (gsize)acquisition->header.detector_rows * (gsize)acquisition->header.detector_cols;
  gint64 count = MIN (acquisition_positions (acquisition), n_frames);
  g_autofree float *mean = sb_alloc (n, sizeof (float), "The mean pattern", error);
  g_autofree double *sum = mean != NULL ? sb_alloc (n, sizeof (double), "The mean pattern", error) : NULL;
  g_autofree char *frame = sum != NULL ? sb_alloc (n, dtype_size (acquisition->header.dtype), "A frame", error) : NULL;
  if (frame == NULL)
    return NULL;
  for (gsize i = 0; i < n; i++)
    sum[i] = 0;
  if (!add_frames (acquisition, count, frame, sum, error))
    return NULL;
  for (gsize i = 0; i < n; i++)
    mean[i] = (float)(sum[i] / (double)count);
  return g_steal_pointer (&mean);
}
