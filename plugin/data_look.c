/* What data say about themselves. */
#include <math.h>

#include "core/error.h"
#include "core/report.h"
#include "plugin/inside.h"

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
  json_object_set_new (json, "step", stepped ? json_pack ("[f, f]", header->step[0], header->step[1]) : json_null ());
  json_object_set_new (json, "sampling", number (header->sampling));
  json_object_set_new (json, "missing", text (header->missing));
  json_object_set_new (json, "files", texts (header->files));
  json_object_set_new (json, "warnings", texts (header->warnings));
  return json_pack ("{s:o, s:o}", "acquisition", json, "source", report_source (data->acquisition));
}
