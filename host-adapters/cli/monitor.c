#include "host-adapters/cli/cli.h"

#include <string.h>
#include <unistd.h>

/* What is seen while a job runs. The library's remarks may come from any thread: they wait in a queue, so that only
 * this thread writes and no line lands in the middle of the bar. */
struct Monitor {
  const Cli *cli;
  gboolean bar, drawn;
  gint64 start;
  const char *stage;
  int percent;
  GAsyncQueue *remarks;
};

static void
print_json_line (json_t *line)
{
  char *text = json_dumps (line, JSON_COMPACT | JSON_REAL_PRECISION (6));
  fprintf (stderr, "%s\n", text != NULL ? text : "{}");
  free (text);
  json_decref (line);
}

void
monitor_warning (const Cli *cli, const char *message)
{
  if (cli->quiet)
    return;
  if (cli->log_json)
    print_json_line (json_pack ("{ss ss}", "level", "warning", "message", message));
  else
    fprintf (stderr, "warning: %s\n", message);
}

/* Of many acquisitions each one's end is told. */
static void
print_note (const Cli *cli, const char *message)
{
  if (cli->quiet)
    return;
  if (cli->log_json)
    print_json_line (json_pack ("{ss ss}", "level", "info", "message", message));
  else
    fprintf (stderr, "%s\n", message);
}

typedef struct Remark {
  int level;
  char *message;
} Remark;

static void
remark_free (gpointer pointer)
{
  Remark *remark = pointer;
  g_free (remark->message);
  g_free (remark);
}

static void
on_remark (int level, const char *message, void *user_data)
{
  const Monitor *monitor = user_data;
  const char *word = monitor->cli->word;
  gboolean own = g_str_has_prefix (message, word) && message[strlen (word)] == ':'; /* its start and its end */
  if (level < 3 && (level < 1 || own || catalog_files (monitor->cli) == NULL))
    return;
  Remark *remark = g_new0 (Remark, 1);
  remark->level = level;
  remark->message = g_strdup (message);
  g_async_queue_push (monitor->remarks, remark);
}

static void
erase (Monitor *monitor)
{
  if (monitor->drawn)
    fputs ("\r\033[K", stderr);
  monitor->drawn = FALSE;
}

static void
print_remarks (Monitor *monitor)
{
  Remark *remark;
  while ((remark = g_async_queue_try_pop (monitor->remarks)) != NULL) {
    erase (monitor);
    if (remark->level >= 3)
      monitor_warning (monitor->cli, remark->message);
    else
      print_note (monitor->cli, remark->message);
    remark_free (remark);
  }
}

Monitor *
monitor_new (const Cli *cli)
{
  Monitor *monitor = g_new0 (Monitor, 1);
  monitor->cli = cli;
  monitor->bar = !cli->quiet && !cli->log_json && isatty (STDERR_FILENO);
  monitor->start = g_get_monotonic_time ();
  monitor->percent = -1;
  monitor->remarks = g_async_queue_new_full (remark_free);
  sb_log_set (on_remark, monitor);
  return monitor;
}

static void
draw_bar (Monitor *monitor, double seconds)
{
  enum { WIDTH = 30 };
  char bar[WIDTH + 1];
  int filled = monitor->percent * WIDTH / 100;
  memset (bar, '#', (size_t)filled);
  memset (bar + filled, '.', (size_t)(WIDTH - filled));
  bar[WIDTH] = '\0';
  fprintf (stderr, "\r\033[K[%s] %3d %%  %s  %.0f s", bar, monitor->percent, monitor->stage, seconds);
  fflush (stderr);
  monitor->drawn = TRUE;
}

void
monitor_update (Monitor *monitor, double fraction, const char *stage)
{
  int percent = (int)(100 * CLAMP (fraction, 0, 1));
  double seconds = (double)(g_get_monotonic_time () - monitor->start) / 1e6;
  gboolean changed = percent != monitor->percent || g_strcmp0 (stage, monitor->stage) != 0;
  print_remarks (monitor);
  monitor->stage = stage != NULL ? stage : "";
  monitor->percent = percent;
  if (monitor->bar)
    draw_bar (monitor, seconds);
  else if (changed && monitor->cli->log_json && !monitor->cli->quiet)
    print_json_line (json_pack ("{ss si sf}", "stage", monitor->stage, "percent", percent, "seconds", seconds));
}

void
monitor_free (Monitor *monitor)
{
  sb_log_set (NULL, NULL);
  erase (monitor);
  print_remarks (monitor);
  g_async_queue_unref (monitor->remarks);
  g_free (monitor);
}

static void
collect_warnings (const Cli *cli, const json_t *node, int depth, GHashTable *seen)
{
  const char *key;
  json_t *value;
  json_object_foreach ((json_t *)node, key, value) {
    size_t i;
    json_t *warning;
    if (json_is_object (value) && depth > 0)
      collect_warnings (cli, value, depth - 1, seen);
    if (strcmp (key, "warnings") != 0)
      continue;
    json_array_foreach (value, i, warning) {
      if (json_is_string (warning) && g_hash_table_add (seen, (gpointer)json_string_value (warning)))
        monitor_warning (cli, json_string_value (warning));
    }
  }
}

void
monitor_warnings (const Cli *cli, const json_t *info)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  collect_warnings (cli, info, 2, seen);
}
