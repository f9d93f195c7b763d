/* Memory that cannot be had: whichever allocation fails, a job ends with its result or with the sentence that says what was
 * needed and what to do; nothing crashes, and of its files all are there or none. argv[1]: an acquisition's file;
 * argv[2]: 5 for every fifth allocation only, where a sanitizer makes them all take minutes. */
#include <glib/gstdio.h>

#include "tests/abi/abi.h"
#include "tests/abi/failing_memory.h"
#include "tests/fuzz/fuzz_abi.h"

#define OPTICS "\"energy\": 300, \"semiangle\": 20, \"step\": 0.4"
#define CALIBRATION "\"rotation\": 0, \"orientation\": \"identity\", \"centre\": [5.5, 5.5], \"sampling\": 4.76"

/* Less than 8 bytes a scan point or a pixel of the larger acquisition. */
enum { MOST_FATAL = 16 << 10, MOST_PHASE = 4 * TINY_FRAMES };

static const char *larger;
static gint64 stride = 1;

/* ---- one run ---- */

typedef struct Run {
  const char *session, *command, *json;
} Run;

typedef struct Ended {
  int status;
  char sentence[512];
  guint files;
  gsize n_phase;
  float phase[MOST_PHASE];
} Ended;

static guint
count_files (void)
{
  guint n = 0;
  GDir *folder = g_dir_open (tiny_out (), 0, NULL);
  while (g_dir_read_name (folder) != NULL)
    n++;
  g_dir_close (folder);
  return n;
}

static int
compute (const Run *run, sb_session *session, sb_data *data, Ended *ended)
{
  sb_job *job = NULL;
  int status = sb_job_new (&job, session, run->command, data, run->json);
  if (status == SB_OK)
    status = sb_job_start (job);
  if (status == SB_OK)
    status = sb_job_wait (job, -1);
  sb_view view = { .struct_size = sizeof view };
  if (status == SB_OK && sb_result_array (&view, sb_job_result (job), "phase") == SB_OK) {
    ended->n_phase = (gsize)(view.shape[0] * view.shape[1]);
    memcpy (ended->phase, view.data, MIN (ended->n_phase, MOST_PHASE) * sizeof (float));
  }
  g_strlcpy (ended->sentence, sb_error_message (), sizeof ended->sentence);
  sb_job_free (job);
  return status;
}

/* With the n-th allocation failing. */
static void
do_run (const Run *run, const char *path, gint64 n, Ended *ended)
{
  sb_session *session = NULL;
  sb_data *data = NULL;
  tiny_clear ();
  *ended = (Ended){ .status = SB_OK };
  failing_memory_arm (n);
  if ((ended->status = sb_session_new (&session, run->session)) == SB_OK
      && (ended->status = sb_data_open (&data, session, path, NULL)) == SB_OK)
    ended->status = compute (run, session, data, ended);
  else
    g_strlcpy (ended->sentence, sb_error_message (), sizeof ended->sentence);
  sb_data_free (data);
  sb_session_free (session);
  ended->files = count_files ();
}

/* ---- whichever fails ---- */

static gboolean
is_sentence (const char *text)
{
  return strchr (text, ';') != NULL && g_str_has_suffix (text, ".") && g_utf8_validate (text, -1, NULL);
}

static void
check_end (const Ended *ended, const Ended *whole, gint64 n)
{
  gboolean good = ended->status == SB_OK ? ended->files == whole->files && ended->n_phase == whole->n_phase
                                               && memcmp (ended->phase, whole->phase, sizeof whole->phase) == 0
                                         : ended->status == SB_MEMORY && ended->files == 0 && is_sentence (ended->sentence);
  if (good)
    return;
  g_test_message ("allocation %" G_GINT64_FORMAT " (%zu bytes): status %d, %u of %u files, %s", n, failing_memory_failed (),
                  ended->status, ended->files, whole->files, ended->sentence);
  g_test_fail ();
}

static void
test_each (gconstpointer pointer)
{
  const Run *run = pointer;
  Ended whole, ended;
  gint64 failures = 0;
  do_run (run, tiny_path (0), 0, &whole);
  g_assert_cmpint (whole.status, ==, SB_OK);
  g_assert_cmpuint (whole.files, >, 0);
  gint64 all = failing_memory_count ();
  for (gint64 n = 1; n <= all; n += stride) {
    do_run (run, tiny_path (0), n, &ended);
    g_assert_cmpuint (failing_memory_failed (), >, 0);
    check_end (&ended, &whole, n);
    failures += ended.status != SB_OK;
  }
  g_test_message ("%" G_GINT64_FORMAT " allocations, %" G_GINT64_FORMAT " of which end the job", all, failures);
  g_assert_cmpint (failures, >, 30 / stride);
}

/* ---- what would end the program ---- */

static void
test_fatal (void)
{
  static const Run run = { "{\"threads\": 2}", "run", "{\"semiangle\": 30, \"output\": \"./\"}" };
  Ended ended;
  if (stride > 1) {
    g_test_skip ("what is allocated is the same without a sanitizer");
    return;
  }
  do_run (&run, larger, 0, &ended);
  g_assert_cmpint (ended.status, ==, SB_OK);
  g_test_message ("at most %zu bytes at once without asking", failing_memory_largest_fatal ());
  g_assert_cmpuint (failing_memory_largest_fatal (), <=, MOST_FATAL);
}

static void
ignore (int level, const char *message, void *user_data)
{
}

int
main (int argc, char **argv)
{
  static const Run each[] = {
    { "{\"threads\": 1}", "run", "{" OPTICS ", " CALIBRATION ", \"output\": \"./\"}" },
    { "{\"threads\": 1}", "reconstruct",
      "{" OPTICS ", " CALIBRATION ", \"method\": \"ssb\", \"coefficients\": \"C10=4\", \"output\": \"./\"}" },
  };
  g_test_init (&argc, &argv, NULL);
  if (argc < 2)
    return 1;
  larger = argv[1];
  if (argc > 2)
    stride = MAX (g_ascii_strtoll (argv[2], NULL, 10), 1);
  sb_log_set (ignore, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (each); i++) {
    g_autofree char *name = g_strdup_printf ("/memory/%s", each[i].command);
    g_test_add_data_func (name, &each[i], test_each);
  }
  g_test_add_func ("/memory/fatal", test_fatal);
  tiny_out ();
  return g_test_run ();
}
