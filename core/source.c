/* Where numbers come from: what every result carries. */
#include <glib/gstdio.h>

#include "core/report.h"

static json_t *
time_text (gint64 seconds)
{
  g_autoptr (GDateTime) time = g_date_time_new_from_unix_utc (seconds);
  g_autofree char *iso = time != NULL ? g_date_time_format_iso8601 (time) : NULL;
  return iso != NULL ? json_string (iso) : json_null ();
}

json_t *
report_source (const SbAcquisition *a)
{
  gint64 size = 0, newest = 0;
  for (guint i = 0; a->header.files != NULL && i < a->header.files->len; i++) {
    GStatBuf status;
    if (g_stat (g_ptr_array_index (a->header.files, i), &status) != 0)
      continue;
    size += status.st_size;
    newest = MAX (newest, (gint64)status.st_mtime);
  }
  g_autofree char *path = a->path != NULL ? g_canonicalize_filename (a->path, NULL) : NULL;
  g_autofree char *valid = path != NULL ? g_utf8_make_valid (path, -1) : NULL;
  return json_pack ("{s:o, s:o, s:o, s:I}", "path", valid != NULL ? json_string (valid) : json_null (), "size",
                    path != NULL ? json_integer (size) : json_null (), "mtime",
                    path != NULL ? time_text (newest) : json_null (), "frames", (json_int_t)acquisition_frame_count (a));
}
