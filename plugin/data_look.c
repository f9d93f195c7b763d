/* What data say about themselves: description, provenance, a first mean pattern. Headers and a few frames, no
 * computing. */
#include <math.h>

#include <glib/gstdio.h>

#include "core/error.h"
#include "plugin/inside.h"

enum { LOOK_FRAMES = 64 };

static double
sample (gconstpointer frame, SbDtype dtype, gint64 i)
{
  switch (dtype) {
  case SB_U8:
    return ((const guint8 *)frame)[i];
  case SB_U16:
    return ((const guint16 *)frame)[i];
  case SB_U32:
    return ((const guint32 *)frame)[i];
  case SB_I16:
    return ((const gint16 *)frame)[i];
  case SB_I32:
    return ((const gint32 *)frame)[i];
  case SB_F32:
    return ((const float *)frame)[i];
  case SB_F64:
    return ((const double *)frame)[i];
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
data_sparse_mean (sb_data *data, GError **error)
{
  const SbAcquisition *acquisition = data->acquisition;
  gsize n = (gsize)acquisition->header.detector_rows * (gsize)acquisition->header.detector_cols;
  gint64 count = MIN (acquisition_positions (acquisition), LOOK_FRAMES);
  g_autofree float *mean = sb_alloc (n, sizeof (float), "The mean pattern", error);
  g_autofree double *sum = mean != NULL ? sb_alloc (n, sizeof (double), "The mean pattern", error) : NULL;
  g_autofree char *frame =
      sum != NULL ? sb_alloc (n, dtype_size (acquisition->header.dtype), "A frame", error) : NULL;
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

static json_t *
number (double value)
{
  return isfinite (value) ? json_real (value) : json_null ();
}

static json_t *
shape (gint64 rows, gint64 cols)
{
  return rows > 0 && cols > 0 ? json_pack ("[I, I]", (json_int_t)rows, (json_int_t)cols) : json_null ();
}

static json_t *
texts (const GPtrArray *list)
{
  json_t *array = json_array ();
  for (guint i = 0; list != NULL && i < list->len; i++) {
    g_autofree char *valid = g_utf8_make_valid (g_ptr_array_index (list, i), -1);
    json_array_append_new (array, json_string (valid));
  }
  return array;
}

static json_t *
text (const char *string)
{
  g_autofree char *valid = string != NULL ? g_utf8_make_valid (string, -1) : NULL;
  return valid != NULL ? json_string (valid) : json_null ();
}

static json_t *
region_of (const SbAcquisition *a)
{
  json_t *region = json_array ();
  for (int i = 0; i < 4; i++)
    json_array_append_new (region, json_integer (a->region[i]));
  return region;
}

json_t *
data_describe (sb_data *data)
{
  const SbAcquisition *a = data->acquisition;
  const SbHeader *header = &a->header;
  gboolean stepped = isfinite (header->step[0]) && isfinite (header->step[1]);
  gint64 frames = data->gather != NULL ? gather_count (data->gather) : header->frames;
  json_t *json = json_object ();
  json_object_set_new (json, "format", text (a->format != NULL ? a->format->name : NULL));
  json_object_set_new (json, "scan_shape", shape (a->scan_rows, a->scan_cols));
  json_object_set_new (json, "scan_region", region_of (a));
  json_object_set_new (json, "detector_shape", shape (header->detector_rows, header->detector_cols));
  json_object_set_new (json, "dtype", json_string (dtype_name (header->dtype)));
  json_object_set_new (json, "frames", json_integer (frames));
  json_object_set_new (json, "flyback", json_integer (a->flyback));
  json_object_set_new (json, "energy", number (header->energy));
  json_object_set_new (json, "semiangle", number (header->semiangle));
  json_object_set_new (json, "step",
                       stepped ? json_pack ("[f, f]", header->step[0], header->step[1]) : json_null ());
  json_object_set_new (json, "sampling", number (header->sampling));
  json_object_set_new (json, "missing", text (header->missing));
  json_object_set_new (json, "files", texts (header->files));
  json_object_set_new (json, "warnings", texts (header->warnings));
  return json_pack ("{s:o, s:o}", "acquisition", json, "source", data_source (data));
}

static json_t *
time_text (gint64 seconds)
{
  g_autoptr (GDateTime) time = g_date_time_new_from_unix_utc (seconds);
  g_autofree char *iso = time != NULL ? g_date_time_format_iso8601 (time) : NULL;
  return text (iso);
}

json_t *
data_source (const sb_data *data)
{
  const SbAcquisition *a = data->acquisition;
  gint64 size = 0, newest = 0;
  for (guint i = 0; a->header.files != NULL && i < a->header.files->len; i++) {
    GStatBuf status;
    if (g_stat (g_ptr_array_index (a->header.files, i), &status) != 0)
      continue;
    size += status.st_size;
    newest = MAX (newest, (gint64)status.st_mtime);
  }
  g_autofree char *path = a->path != NULL ? g_canonicalize_filename (a->path, NULL) : NULL;
  return json_pack ("{s:o, s:o, s:o, s:I}", "path", text (path), "size",
                    path != NULL ? json_integer (size) : json_null (), "mtime",
                    path != NULL ? time_text (newest) : json_null (), "frames",
                    (json_int_t)acquisition_frame_count (a));
}
