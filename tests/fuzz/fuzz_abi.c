/* The calls of sideband.h in any order, on objects that may be NULL, freed or of a freed session where the header allows it,
 * and from a second thread where it says so. Bytes choose the calls; nothing may crash, race, leak, hang or fail without its
 * sentence. What an execution starts it cancels after a while: work that does not stop is a abi_finding (libFuzzer's -timeout). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/sideband.h"
#include "tests/fuzz/fuzz_abi.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

enum { SLOTS = 3, MOST_CALLS = 64, PATIENCE = 40 /* waits of 5 ms */, SIDE_CALLS = 6 };

typedef struct Job {
  sb_job *handle;
  gboolean started;
  int ended; /* the status it ended with; SB_RUNNING: not yet known */
} Job;

static sb_session *session[SLOTS];
static sb_data *data[SLOTS];
static Job job[SLOTS];
static sb_result *opened[SLOTS];
static GThread *side;

/* ---- a second thread ---- */

typedef struct Side {
  sb_data *data;
  sb_job *job;
  uint8_t bytes[SIDE_CALLS * 6];
} Side;

static void
side_call (Tape *tape, const Side *with)
{
  switch (tape_byte (tape) % 6) {
  case 0:
  case 1: abi_push (tape, with->data); break;
  case 2: abi_look (tape, with->data, NULL); break;
  case 3: abi_poll (tape, with->job); break;
  case 4: abi_checked (sb_job_wait (with->job, (int)tape_byte (tape) % 8)); break;
  case 5:
    if (tape_byte (tape) % 4 == 0)
      sb_job_cancel (with->job);
    break;
  }
}

static gpointer
side_thread (gpointer pointer)
{
  g_autofree Side *with = pointer;
  Tape tape = { with->bytes, with->bytes + sizeof with->bytes };
  for (int i = 0; i < SIDE_CALLS && tape.at < tape.end; i++)
    side_call (&tape, with);
  return NULL;
}

static void
end_side (void)
{
  if (side != NULL)
    g_thread_join (side);
  side = NULL;
}

static void
start_side (Tape *tape)
{
  end_side ();
  Side *with = g_new0 (Side, 1);
  with->data = data[tape_byte (tape) % SLOTS];
  with->job = job[tape_byte (tape) % SLOTS].handle;
  for (gsize i = 0; i < sizeof with->bytes && tape->at < tape->end; i++)
    with->bytes[i] = (uint8_t)tape_byte (tape);
  side = g_thread_new ("side", side_thread, with);
}

/* ---- results ---- */

/* Reads every number of every array. */
static void
read_arrays (const sb_result *result)
{
  json_t *info = json_loads (sb_result_info (result), 0, NULL);
  gsize i;
  const json_t *entry;
  json_array_foreach (json_object_get (info, "arrays"), i, entry) {
    sb_view view = { .struct_size = sizeof view };
    const char *name = json_string_value (json_object_get (entry, "name"));
    abi_checked (sb_result_array (&view, result, name));
    gint64 bytes = view.n_dims > 0 ? view.strides[0] * view.shape[0] : 0, sum = 0;
    for (gint64 b = 0; b < bytes; b++)
      sum += ((const guint8 *)view.data)[b];
    if (name == NULL || sum < 0)
      abi_finding ("an array without a name", 0);
  }
  json_decref (info);
}

static void
use_result (Tape *tape, const sb_result *result)
{
  static const char *const kinds[] = { "hdf5", "tiff", "png", "json", "gif", "", NULL };
  sb_view view = { .struct_size = sizeof view };
  const char *text = sb_result_info (result);
  abi_read_json (text, result != NULL);
  if (result != NULL)
    read_arrays (result);
  abi_checked (sb_result_array (tape_byte (tape) == 255 ? NULL : &view, result, tape_byte (tape) % 4 ? "phase" : NULL));
  const char *path = tiny_path (tape_byte (tape));
  abi_checked (sb_result_save (result, path, kinds[tape_byte (tape) % G_N_ELEMENTS (kinds)]));
}

static void
open_result (Tape *tape, sb_result **out)
{
  sb_result_free (*out);
  int status = sb_result_open (out, tiny_path (tape_byte (tape)));
  abi_made (status, *out);
}

/* ---- jobs ---- */

static void
note_end (Job *of, int status)
{
  if (status == SB_RUNNING || !of->started)
    return;
  const sb_result *result = sb_job_result (of->handle);
  if (of->ended != SB_RUNNING && of->ended != status)
    abi_finding ("a job that ended twice", status);
  of->ended = status;
  if ((status == SB_OK) != (result != NULL) || (status != SB_OK) != (sb_job_error (of->handle)[0] != '\0'))
    abi_finding ("a job whose result and status differ", status);
  if (status == SB_OK && sb_job_progress (of->handle, NULL) != 1)
    abi_finding ("a job that is done in part", status);
}

static void
wait_job (Job *of)
{
  int status = SB_RUNNING;
  for (int i = 0; i < PATIENCE && status == SB_RUNNING; i++)
    status = abi_checked (sb_job_wait (of->handle, 5));
  if (status == SB_RUNNING) {
    sb_job_cancel (of->handle);
    status = abi_checked (sb_job_wait (of->handle, -1));
  }
  note_end (of, status);
}

static void
start_job (Job *of)
{
  int status = abi_checked (sb_job_start (of->handle));
  if (status == SB_OK && of->started)
    abi_finding ("a job that started twice", status);
  of->started |= status == SB_OK;
}

static void
free_job (Job *of)
{
  end_side ();
  sb_job_free (of->handle);
  *of = (Job){ NULL, FALSE, SB_RUNNING };
}

static void
new_job (Tape *tape, Job *of)
{
  free_job (of);
  const char *command = tiny_command (tape_byte (tape));
  sb_session *with = session[tape_byte (tape) % SLOTS];
  sb_data *on = tape_byte (tape) >= 250 ? NULL : data[tape_byte (tape) % SLOTS];
  g_autofree char *json = tiny_json (tape, LIST_COMMAND, command);
  int status = sb_job_new (&of->handle, with, command, on, json);
  abi_made (status, of->handle);
}

/* ---- sessions and data ---- */

static void
free_data (sb_data **of)
{
  end_side ();
  sb_data_free (*of);
  *of = NULL;
}

static void
new_session (Tape *tape, sb_session **out)
{
  g_autofree char *json = tiny_json (tape, LIST_SESSION, NULL);
  sb_session_free (*out);
  int status = sb_session_new (out, json);
  abi_made (status, *out);
}

static void
open_data (Tape *tape, sb_data **out)
{
  free_data (out);
  sb_session *with = session[tape_byte (tape) % SLOTS];
  const char *path = tiny_path (tape_byte (tape));
  g_autofree char *json = tiny_json (tape, LIST_DATA, NULL);
  int status = sb_data_open (out, with, path, json);
  abi_made (status, *out);
}

static void
new_data (Tape *tape, sb_data **out)
{
  free_data (out);
  sb_session *with = session[tape_byte (tape) % SLOTS];
  g_autofree char *json = tiny_json (tape, LIST_PUSHED, NULL);
  int status = sb_data_new (out, with, json);
  abi_made (status, *out);
}

/* All frames, one by one, in an order that jumps. */
static void
push_all (Tape *tape, sb_data *target)
{
  guint stride = tape_byte (tape) | 1;
  for (guint i = 0; i < TINY_FRAMES; i++) {
    gint64 frame = (i * stride) % TINY_FRAMES;
    sb_view view = { .struct_size = sizeof view,
                     .dtype = SB_DTYPE_U8,
                     .n_dims = 2,
                     .shape = { TINY_DETECTOR, TINY_DETECTOR },
                     .data = (void *)(tiny_counts () + frame * TINY_PIXELS) };
    if (abi_checked (sb_data_push (target, frame, 1, &view)) == SB_STATE)
      return;
  }
}

static void
read_frames (Tape *tape, sb_data *of)
{
  gint64 n = 1 + tape_byte (tape) % 8, first = (gint64)tape_byte (tape) * (tape_byte (tape) == 255 ? G_MAXINT64 / 255 : 1);
  guint type = tape_byte (tape);
  sb_view view;
  g_autofree void *memory = abi_make_view (tape, &view, type < 200 ? SB_DTYPE_U8 : (int)(type % 7),
                                           (AbiShape){ 3, { n, TINY_DETECTOR, TINY_DETECTOR } }, NULL);
  abi_checked (sb_data_frames (of, first, n, &view));
}

/* ---- all of them ---- */

static void
hear (int level, const char *message, void *user_data)
{
  if (level < 0 || level > 3 || message[0] == '\0')
    abi_finding ("a remark that says nothing", level);
}

static void
call (Tape *tape)
{
  guint kind = tape_byte (tape) % 24, slot = tape_byte (tape) % SLOTS;
  switch (kind) {
  case 0: new_session (tape, &session[slot]); break;
  case 1:
    sb_session_free (session[slot]);
    session[slot] = NULL;
    break;
  case 2: open_data (tape, &data[slot]); break;
  case 3: new_data (tape, &data[slot]); break;
  case 4: abi_push (tape, data[slot]); break;
  case 5: push_all (tape, data[slot]); break;
  case 6: abi_checked (sb_data_finish (data[slot])); break;
  case 7: abi_read_json (sb_data_info (data[slot]), FALSE); break;
  case 8: read_frames (tape, data[slot]); break;
  case 9: abi_look (tape, data[slot], NULL); break;
  case 10: free_data (&data[slot]); break;
  case 11: new_job (tape, &job[slot]); break;
  case 12: start_job (&job[slot]); break;
  case 13: note_end (&job[slot], abi_checked (sb_job_wait (job[slot].handle, (int)tape_byte (tape) % 16))); break;
  case 14: wait_job (&job[slot]); break;
  case 15: abi_poll (tape, job[slot].handle); break;
  case 16: sb_job_cancel (job[slot].handle); break;
  case 17: abi_look (tape, NULL, job[slot].handle); break;
  case 18:
    use_result (tape, sb_job_result (job[slot].handle));
    sb_result_free ((sb_result *)sb_job_result (job[slot].handle)); /* the job's: nothing happens */
    break;
  case 19: free_job (&job[slot]); break;
  case 20: open_result (tape, &opened[slot]); break;
  case 21: use_result (tape, opened[slot]); break;
  case 22: start_side (tape); break;
  case 23:
    sb_log_set (slot == 0 ? NULL : hear, NULL);
    if (sb_session_rank (session[slot]) != 0)
      abi_finding ("a rank that cannot be", 0);
    break;
  }
}

static void
free_all (Tape *tape)
{
  guint order = tape_byte (tape);
  end_side ();
  for (guint turn = 0; turn < 3; turn++)
    for (guint i = 0; i < SLOTS; i++)
      switch ((order + turn) % 3) {
      case 0:
        sb_session_free (session[i]);
        session[i] = NULL;
        break;
      case 1: free_data (&data[i]); break;
      default: free_job (&job[i]);
      }
  for (guint i = 0; i < SLOTS; i++) {
    sb_result_free (opened[i]);
    opened[i] = NULL;
  }
}

static void
ignore (const char *domain, GLogLevelFlags level, const char *message, gpointer unused)
{
}

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t size)
{
  Tape tape = { bytes, bytes + size };
  tiny_out ();
  g_log_set_default_handler (ignore, NULL);
  sb_log_set (hear, NULL);
  for (guint i = 0; i < SLOTS; i++)
    job[i].ended = SB_RUNNING;
  guint order = tape_byte (&tape);
  for (int i = 0; i < MOST_CALLS && tape.at < tape.end; i++)
    call (&tape);
  Tape last = { (const uint8_t[]){ (uint8_t)order }, NULL };
  last.end = last.at + 1;
  free_all (&last);
  sb_log_set (NULL, NULL);
  tiny_clear ();
  return 0;
}
