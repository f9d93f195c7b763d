/* Order of calls, lifetimes, threads, cancel, fork, locale. argv[1]: an acquisition's file; argv[2]:
 * localedef or "". */
#include <locale.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "tests/abi/abi.h"

static const char *acquisition, *localedef;
static const char given[] = "{\"energy\": 300, \"semiangle\": 30, \"step\": 0.4}";
static const char known[] =
    "{\"energy\": 300, \"semiangle\": 30, \"step\": 0.4, \"rotation\": 0, \"orientation\": \"identity\"}";

static void
setup (sb_session **session, sb_data **data)
{
  ABI_STATUS (sb_session_new (session, "{\"threads\": 2}"), SB_OK);
  ABI_STATUS (sb_data_open (data, *session, acquisition, NULL), SB_OK);
}

static void
test_order (void)
{
  sb_session *session = NULL, *other = NULL;
  sb_data *data = NULL, *pushed = NULL;
  sb_job *job = NULL, *foreign = NULL;
  guint8 frame[64] = { 0 };
  float look[64];
  sb_view view = abi_view (frame, SB_DTYPE_U8, 2, 8, 8, 0), image = abi_view (look, SB_DTYPE_F32, 2, 8, 8, 0);
  setup (&session, &data);
  ABI_FAILS (sb_data_push (data, 0, 1, &view), SB_STATE, "sb_data_new");
  ABI_FAILS (sb_data_finish (data), SB_STATE, "no sb_data_finish");
  ABI_STATUS (sb_data_new (&pushed, session, "{\"scan_shape\": [2, 2], \"detector_shape\": [8, 8], \"dtype\": \"uint8\"}"),
              SB_OK);
  ABI_FAILS (sb_data_frames (pushed, 0, 1, &view), SB_STATE, "file only");
  g_assert_cmpint (sb_data_finish (pushed), !=, SB_OK); /* frames are missing */
  ABI_STATUS (sb_job_new (&job, session, "info", pushed, given), SB_OK);
  ABI_FAILS (sb_job_wait (job, 0), SB_STATE, "sb_job_start");
  ABI_FAILS (sb_job_start (job), SB_STATE, "sb_data_finish");
  sb_job_free (job);
  ABI_STATUS (sb_session_new (&other, "{\"threads\": 1}"), SB_OK);
  ABI_FAILS (sb_job_new (&foreign, other, "info", data, given), SB_ARGUMENT, "another session");
  ABI_STATUS (sb_job_new (&job, session, "info", data, given), SB_OK);
  ABI_FAILS (sb_job_preview (job, "phase", &image), SB_STATE, "yet");
  g_assert_null (sb_job_result (job));
  ABI_STATUS (sb_job_start (job), SB_OK);
  ABI_FAILS (sb_job_start (job), SB_STATE, "before");
  ABI_STATUS (sb_job_wait (job, -1), SB_OK);
  ABI_FAILS (sb_job_start (job), SB_STATE, "before");
  g_assert_cmpfloat (sb_job_progress (job, NULL), ==, 1);
  const sb_result *result = sb_job_result (job);
  g_assert_nonnull (result);
  g_assert_nonnull (strstr (sb_result_info (result), "\"acquisition\""));
  g_assert_nonnull (strstr (sb_result_info (result), "\"parameters\""));
  sb_result_free ((sb_result *)result); /* owned by the job: nothing happens */
  g_assert_true (sb_job_result (job) == result);
  g_assert_nonnull (sb_result_info (result));
  sb_view out = { .struct_size = sizeof (sb_view) };
  ABI_FAILS (sb_result_array (&out, result, "moon"), SB_ARGUMENT, "moon");
  sb_job_free (job);
  sb_data_free (pushed);
  sb_data_free (data);
  sb_session_free (other);
  sb_session_free (session);
}

/* Parents first: what is left answers with a status and is freed without harm. */
static void
test_free_order (void)
{
  sb_session *session = NULL;
  sb_data *data = NULL;
  sb_job *running = NULL, *waiting = NULL, *fresh = NULL;
  setup (&session, &data);
  ABI_STATUS (sb_job_new (&running, session, "run", data, given), SB_OK);
  ABI_STATUS (sb_job_new (&waiting, session, "run", data, given), SB_OK);
  ABI_STATUS (sb_job_new (&fresh, session, "run", data, given), SB_OK);
  ABI_STATUS (sb_job_start (running), SB_OK);
  ABI_STATUS (sb_job_start (waiting), SB_OK);
  sb_data_free (data);
  sb_session_free (session);
  ABI_FAILS (sb_job_wait (running, 0), SB_CANCELLED, "ancelled");
  g_assert_cmpint (sb_job_wait (waiting, 0), ==, SB_CANCELLED);
  ABI_FAILS (sb_job_start (fresh), SB_STATE, "freed");
  g_assert_null (sb_job_result (running));
  g_assert_cmpstr (sb_job_error (running), !=, "");
  sb_job_free (waiting);
  sb_job_free (fresh);
  sb_job_free (running);
}

static gpointer
cancel_later (gpointer job)
{
  g_usleep (50000);
  sb_job_cancel (job);
  return NULL;
}

static void
wait_for_stage (sb_job *job, const char *wanted)
{
  const char *stage = "";
  while (wanted != NULL && strcmp (stage, wanted) != 0 && sb_job_wait (job, 1) == SB_RUNNING)
    sb_job_progress (job, &stage);
}

/* stage: where the time starts; NULL: at once. No clock says whether a cancel is answered soon: what the job still does
 * afterwards, by its own count, is at most the step that it is in, a small share of the whole. */
static void
cancel_after (const char *stage, guint microseconds)
{
  sb_session *session = NULL;
  sb_data *data = NULL;
  sb_job *job = NULL;
  const char *at = "";
  setup (&session, &data);
  ABI_STATUS (sb_job_new (&job, session, "run", data, stage != NULL ? known : given), SB_OK);
  ABI_STATUS (sb_job_start (job), SB_OK);
  wait_for_stage (job, stage);
  g_usleep (microseconds);
  sb_job_cancel (job);
  double before = sb_job_progress (job, &at);
  int status = sb_job_wait (job, -1);
  double after = sb_job_progress (job, NULL);
  g_test_message ("%s + %.2f s: cancelled with status %d in \"%s\" from %.4f to %.4f", stage != NULL ? stage : "start",
                  microseconds / 1e6, status, at, before, after);
  g_assert_cmpint (status, ==, SB_CANCELLED);
  g_assert_cmpfloat (after - before, <, 0.05);
  g_assert_null (sb_job_result (job));
  sb_job_free (job);
  sb_data_free (data);
  sb_session_free (session);
}

static void
test_cancel (void)
{
  static const guint after[] = { 0, 20000, 100000, 300000, 600000 };
  for (guint i = 0; i < G_N_ELEMENTS (after); i++)
    cancel_after (NULL, after[i]);
  for (guint i = 0; i < 3; i++)
    cancel_after ("fit", after[2 * i]);
}

static void
test_cancel_elsewhere (void)
{
  sb_session *session = NULL;
  sb_data *data = NULL;
  sb_job *first = NULL, *second = NULL;
  const char *stage = NULL;
  setup (&session, &data);
  ABI_STATUS (sb_job_new (&first, session, "run", data, given), SB_OK);
  ABI_STATUS (sb_job_new (&second, session, "run", data, given), SB_OK);
  ABI_STATUS (sb_job_start (first), SB_OK);
  ABI_STATUS (sb_job_start (second), SB_OK);
  GThread *thread = g_thread_new ("cancel", cancel_later, second);
  ABI_STATUS (sb_job_wait (second, 2000), SB_CANCELLED); /* it never had its turn */
  g_thread_join (thread);
  ABI_STATUS (sb_job_wait (first, 0), SB_RUNNING);
  g_assert_cmpfloat (sb_job_progress (first, &stage), <, 1);
  g_assert_nonnull (stage);
  g_assert_cmpstr (sb_job_error (first), ==, "");
  sb_job_free (first); /* cancels, waits */
  sb_job_free (second);
  sb_data_free (data);
  sb_session_free (session);
}

static gpointer
work_alone (gpointer pointer)
{
  sb_session *session = NULL;
  sb_data *data = NULL;
  sb_job *job = NULL;
  setup (&session, &data);
  ABI_STATUS (sb_job_new (&job, session, "calibrate", data, known), SB_OK);
  ABI_STATUS (sb_job_start (job), SB_OK);
  ABI_STATUS (sb_job_wait (job, -1), SB_OK);
  char *info = g_strdup (sb_result_info (sb_job_result (job)));
  sb_job_free (job);
  sb_data_free (data);
  sb_session_free (session);
  return info;
}

/* The text without what may differ: seconds. */
static char *
calibration_of (const char *info)
{
  const char *start = strstr (info, "\"calibration\":");
  g_assert_nonnull (start);
  const char *end = strchr (start, '}');
  return g_strndup (start, (gsize)(end - start));
}

static void
test_side_by_side (void)
{
  GThread *thread = g_thread_new ("other", work_alone, NULL);
  g_autofree char *here = work_alone (NULL);
  g_autofree char *there = g_thread_join (thread);
  g_autofree char *a = calibration_of (here), *b = calibration_of (there);
  g_assert_cmpstr (a, ==, b);
}

static gpointer
read_message (gpointer unused)
{
  return g_strdup (sb_error_message ());
}

static void
test_message_of_thread (void)
{
  g_assert_cmpint (sb_data_finish (NULL), ==, SB_ARGUMENT);
  GThread *thread = g_thread_new ("reader", read_message, NULL);
  g_autofree char *there = g_thread_join (thread);
  g_assert_cmpstr (there, ==, "");
  g_assert_cmpstr (sb_error_message (), !=, "");
}

/* In the child: 0 when every call says FORKED and frees return. */
static int
child (sb_session *session, sb_data *data, sb_job *job)
{
  sb_data *d = NULL;
  sb_job *j = NULL;
  sb_view view = { 0 };
  alarm (10); /* a hang fails */
  int ok = sb_data_open (&d, session, acquisition, NULL) == SB_FORKED && sb_job_new (&j, session, "info", data, "") == SB_FORKED
           && sb_data_new (&d, session, "{}") == SB_FORKED && sb_data_finish (data) == SB_FORKED
           && sb_data_push (data, 0, 1, &view) == SB_FORKED && sb_data_frames (data, 0, 1, &view) == SB_FORKED
           && sb_data_preview (data, "mean_pattern", &view) == SB_FORKED && sb_data_info (data) == NULL
           && sb_job_start (job) == SB_FORKED && sb_job_wait (job, -1) == SB_FORKED
           && sb_job_preview (job, "phase", &view) == SB_FORKED && sb_job_result (job) == NULL
           && strstr (sb_error_message (), "forked") != NULL;
  sb_job_cancel (job);
  sb_job_free (job);
  sb_data_free (data);
  sb_session_free (session);
  return ok ? 0 : 1;
}

static void
test_fork (void)
{
  sb_session *session = NULL;
  sb_data *data = NULL;
  sb_job *job = NULL;
  int status = -1;
  setup (&session, &data);
  ABI_STATUS (sb_job_new (&job, session, "run", data, given), SB_OK);
  ABI_STATUS (sb_job_start (job), SB_OK);
  g_usleep (30000);
  pid_t pid = fork ();
  if (pid == 0)
    _exit (child (session, data, job));
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_true (WIFEXITED (status));
  g_assert_cmpint (WEXITSTATUS (status), ==, 0);
  ABI_STATUS (sb_job_wait (job, 0), SB_RUNNING); /* the parent goes on */
  sb_job_free (job);
  sb_data_free (data);
  sb_session_free (session);
}

typedef struct Heard {
  GMutex lock;
  int count, worst;
} Heard;

static void
hear (int level, const char *message, void *user_data)
{
  Heard *heard = user_data;
  g_mutex_lock (&heard->lock);
  heard->count += message != NULL && message[0] != '\0';
  heard->worst = MAX (heard->worst, level);
  g_mutex_unlock (&heard->lock);
}

static void
test_log (void)
{
  Heard heard = { .worst = -1 };
  g_mutex_init (&heard.lock);
  sb_log_set (hear, &heard);
  g_free (work_alone (NULL));
  sb_log_set (NULL, NULL);
  int count = heard.count;
  g_assert_cmpint (count, >, 0);
  g_assert_cmpint (heard.worst, <=, 3);
  g_free (work_alone (NULL));
  g_assert_cmpint (heard.count, ==, count);
  g_mutex_clear (&heard.lock);
}

/* A host with a decimal comma: texts of numbers are the same. */
static void
test_locale (void)
{
  g_autofree char *folder = g_dir_make_tmp ("sideband_locale_XXXXXX", NULL);
  g_autofree char *target = g_build_filename (folder, "de_DE.UTF-8", NULL);
  g_autofree char *command = g_strdup_printf ("%s -i de_DE -f UTF-8 %s", localedef, target);
  if (localedef[0] != '\0' && !g_spawn_command_line_sync (command, NULL, NULL, NULL, NULL))
    g_test_message ("localedef failed");
  g_autofree char *plain = work_alone (NULL);
  g_setenv ("LOCPATH", folder, TRUE);
  gboolean set = setlocale (LC_ALL, "de_DE.UTF-8") != NULL && localeconv ()->decimal_point[0] == ',';
  g_autofree char *comma = work_alone (NULL);
  sb_session *session = NULL;
  g_assert_cmpint (sb_session_new (&session, "{\"memory\": 0.001}"), ==, SB_ARGUMENT);
  g_autofree char *sentence = g_strdup (sb_error_message ());
  setlocale (LC_ALL, "C");
  g_autofree char *remove = g_strdup_printf ("rm -rf %s", folder);
  g_spawn_command_line_sync (remove, NULL, NULL, NULL, NULL);
  if (!set) {
    g_test_skip ("the locale de_DE.UTF-8 could not be made");
    return;
  }
  g_autofree char *a = calibration_of (plain), *b = calibration_of (comma);
  g_assert_cmpstr (a, ==, b);
  g_assert_nonnull (strstr (sentence, "0.001 GB"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  acquisition = argc > 1 ? argv[1] : "";
  localedef = argc > 2 ? argv[2] : "";
  g_test_add_func ("/abi/order", test_order);
  g_test_add_func ("/abi/free_order", test_free_order);
  g_test_add_func ("/abi/cancel", test_cancel);
  g_test_add_func ("/abi/cancel_elsewhere", test_cancel_elsewhere);
  g_test_add_func ("/abi/side_by_side", test_side_by_side);
  g_test_add_func ("/abi/message_of_thread", test_message_of_thread);
  g_test_add_func ("/abi/fork", test_fork);
  g_test_add_func ("/abi/log", test_log);
  g_test_add_func ("/abi/locale", test_locale);
  return g_test_run ();
}
