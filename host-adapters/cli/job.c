#include "host-adapters/cli/cli.h"

#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t interrupts;

/* The first Ctrl-C asks the job to stop, the second ends at once. */
static void
on_signal (int number)
{
  if (interrupts > 0)
    _exit (EXIT_CANCELLED);
  interrupts = 1;
}

static void
catch_signals (void)
{
  struct sigaction action = { 0 };
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset (&action.sa_mask);
  sigaction (SIGINT, &action, NULL);
  sigaction (SIGTERM, &action, NULL);
}

static const char *
status_name (const Cli *cli, int status)
{
  size_t i;
  json_t *entry;
  json_array_foreach (json_object_get (cli->catalog, "statuses"), i, entry) {
    if (json_integer_value (json_object_get (entry, "value")) == status)
      return catalog_text (entry, "name");
  }
  return status == SB_ARGUMENT ? "argument" : "internal";
}

static void
print_json (json_t *object, FILE *file)
{
  char *text = json_dumps (object, 0);
  fprintf (file, "%s\n", text != NULL ? text : "{}");
  free (text);
  json_decref (object);
}

int
report_failure (const Cli *cli, int status, const char *message)
{
  const char *name = status_name (cli, status);
  g_autofree char *valid = g_utf8_make_valid (message, -1);
  if (cli->log_json)
    print_json (json_pack ("{ss ss ss}", "level", "error", "status", name, "message", valid), stderr);
  else
    fprintf (stderr, "sideband: %s\n", message);
  if (cli->json)
    print_json (json_pack ("{s{ss ss}}", "error", "status", name, "message", valid), stdout);
  return status == SB_CANCELLED ? EXIT_CANCELLED : status == SB_ARGUMENT ? EXIT_USAGE : EXIT_FAILED;
}

int
report_result (const Cli *cli, const sb_result *result)
{
  const char *text = sb_result_info (result);
  json_error_t problem;
  json_t *info = json_loads (text != NULL ? text : "", 0, &problem);
  if (info == NULL)
    return report_failure (cli, SB_INTERNAL, "The library gave a result that is no JSON; this is a defect of ours.");
  monitor_warnings (cli, info);
  if (cli->json) {
    fprintf (stdout, "%s\n", text);
  } else if (!cli->quiet) {
    g_autofree char *table = table_text (cli->catalog, info);
    fputs (table, stdout);
  }
  json_decref (info);
  return EXIT_DONE;
}

/* A launcher that lost a process ends the others about a second later: what there is to say is said at once. */
static gboolean
say_early (const Cli *cli, const sb_session *session, sb_job *job)
{
  const char *message = sb_job_error (job);
  if (message[0] == '\0')
    return FALSE;
  voice_follow (sb_session_rank (session));
  report_failure (cli, SB_BACKEND, message);
  fflush (NULL);
  return TRUE;
}

/* *told: the failure was told already. */
static int
wait_for (const Cli *cli, const sb_session *session, sb_job *job, gboolean *told)
{
  Monitor *monitor = monitor_new (cli);
  gboolean cancelled = FALSE;
  int status;
  while ((status = sb_job_wait (job, 50)) == SB_RUNNING) {
    const char *stage = NULL;
    double fraction = sb_job_progress (job, &stage);
    monitor_update (monitor, fraction, stage);
    *told = *told || say_early (cli, session, job);
    if (interrupts > 0 && !cancelled)
      sb_job_cancel (job);
    cancelled = interrupts > 0;
  }
  monitor_free (monitor);
  return status;
}

static int
start_job (const Cli *cli, sb_session *session, sb_data *data, sb_job **job)
{
  char *json = json_dumps (cli->job, 0);
  int status = sb_job_new (job, session, cli->word, data, json);
  free (json);
  return status == SB_OK ? sb_job_start (*job) : status;
}

/* Opens what the command needs; a failure's sentence is the library's. */
static int
open_all (const Cli *cli, sb_session **session, sb_data **data, sb_job **job)
{
  char *json = json_dumps (cli->session, 0);
  int status = sb_session_new (session, json);
  free (json);
  if (status == SB_OK)
    voice_follow (sb_session_rank (*session));
  if (status == SB_OK && cli->files != NULL) {
    json = json_dumps (cli->data, 0);
    status = sb_data_open (data, *session, cli->files[0], json);
    free (json);
  }
  return status == SB_OK ? start_job (cli, *session, *data, job) : status;
}

int
job_run (Cli *cli)
{
  sb_session *session = NULL;
  sb_data *data = NULL;
  sb_job *job = NULL;
  gboolean told = FALSE;
  int code;
  catch_signals ();
  int status = open_all (cli, &session, &data, &job);
  cli->met = session != NULL;
  if (status != SB_OK) {
    code = report_failure (cli, status, sb_error_message ());
  } else if ((status = wait_for (cli, session, job, &told)) == SB_OK) {
    code = report_result (cli, sb_job_result (job));
  } else if (told) {
    code = EXIT_FAILED;
  } else {
    const char *message = sb_job_error (job);
    voice_follow (sb_session_rank (session));
    code = report_failure (cli, status, message[0] != '\0' ? message : "Stopped before the end.");
  }
  sb_job_free (job);
  sb_data_free (data);
  sb_session_free (session);
  return code;
}
