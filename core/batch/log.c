/* What happened, when: a line of JSON each, added to over all runs of a series. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/batch/inside.h"
#include "core/error.h"

/* A kill may have cut the last line: the next one starts on its own. */
static gboolean
ends_in_line (int file)
{
  struct stat status;
  char last = '\n';
  return fstat (file, &status) != 0 || status.st_size == 0 || pread (file, &last, 1, status.st_size - 1) != 1 || last == '\n';
}

gboolean
log_open (SbBatch *batch, GError **error)
{
  g_autofree char *path = g_strconcat (batch->prefix, "_log.jsonl", NULL);
  batch->log_file = open (path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (batch->log_file < 0) {
    g_autoptr (GError) reason = NULL;
    save_failed (&reason, errno);
    return result_fail (error, path, "cannot be written", reason);
  }
  if (!ends_in_line (batch->log_file))
    save_append (batch->log_file, "\n", 1, NULL);
  return TRUE;
}

void
log_line (SbBatch *batch, const char *event, json_t *fields)
{
  g_autoptr (GDateTime) now = g_date_time_new_now_utc ();
  g_autofree char *time = g_date_time_format (now, "%Y-%m-%dT%H:%M:%SZ");
  json_t *line = json_pack ("{s:s, s:s}", "time", time, "event", event);
  json_object_update (line, fields);
  json_decref (fields);
  g_autofree char *text = json_text (line, FALSE);
  json_decref (line);
  g_autofree char *whole = text != NULL ? g_strconcat (text, "\n", NULL) : NULL;
  if (whole != NULL && batch->log_file >= 0)
    save_append (batch->log_file, whole, strlen (whole), NULL);
}
