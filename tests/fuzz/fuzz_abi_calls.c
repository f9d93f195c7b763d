/* The calls that any thread may make at any time, and what holds for every call. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/sideband.h"
#include "tests/fuzz/fuzz_abi.h"

/* ---- what holds for every call ---- */

void
abi_finding (const char *what, int status)
{
  fprintf (stderr, "fuzz_abi: %s (status %d: %s)\n", what, status, sb_error_message ());
  abort ();
}

int
abi_checked (int status)
{
  const char *sentence = sb_error_message ();
  if (status < SB_OK || status > SB_RUNNING || status == SB_INTERNAL || status == SB_FORKED)
    abi_finding ("a status that cannot be", status);
  if (status != SB_OK && status != SB_RUNNING
      && (sentence[0] == '\0' || !g_str_has_suffix (sentence, ".") || !g_utf8_validate (sentence, -1, NULL)))
    abi_finding ("a failure without a sentence", status);
  return status;
}

/* Of calls that make something. */
void
abi_made (int status, const void *out)
{
  if ((abi_checked (status) == SB_OK) != (out != NULL))
    abi_finding ("out and status differ", status);
}

void
abi_read_json (const char *text, gboolean needed)
{
  json_t *root = text != NULL ? json_loads (text, 0, NULL) : NULL;
  if ((text != NULL || needed) && !json_is_object (root))
    abi_finding ("a text that is no JSON object", 0);
  json_decref (root);
}

/* ---- views ---- */

/* A view of memory of just its size, or one that is wrong somehow; the memory is freed by the caller. */
void *
abi_make_view (Tape *tape, sb_view *view, int dtype, AbiShape shape, const guint8 *counts)
{
  static const gsize bytes[] = { 1, 2, 4, 2, 4, 4, 8 };
  gsize n = 1;
  for (int i = 0; i < shape.n_dims; i++)
    n *= (gsize)MAX (shape.size[i], 1);
  guint8 *memory = g_malloc0 (n * bytes[dtype]);
  for (gsize i = 0; counts != NULL && i < n; i++) {
    if (dtype == SB_DTYPE_F32)
      ((float *)memory)[i] = counts[i];
    else if (dtype != SB_DTYPE_F64)
      memory[i * bytes[dtype]] = counts[i];
  }
  *view = (sb_view){ .struct_size = sizeof *view, .dtype = dtype, .n_dims = shape.n_dims, .data = memory };
  for (int i = 0; i < shape.n_dims; i++)
    view->shape[i] = shape.size[i];
  switch (tape_byte (tape)) {
  case 250: view->struct_size = 3; break;
  case 251: view->n_dims = -1; break;
  case 252: view->dtype = 77; break;
  case 253: view->data = NULL; break;
  case 254: view->shape[0] = G_MAXINT64; break;
  case 255: view->shape[shape.n_dims - 1]--; break;
  }
  return memory;
}

/* ---- calls that any thread may make at any time ---- */

void
abi_push (Tape *tape, sb_data *target)
{
  static const gint64 wrong[] = { -1, TINY_FRAMES, G_MAXINT64, G_MININT64 };
  guint where = tape_byte (tape), count = tape_byte (tape), type = tape_byte (tape);
  gint64 n = count < 200 ? 1 + count % 32 : count < 250 ? TINY_FRAMES : 0;
  gint64 first = n == TINY_FRAMES ? 0 : (gint64)where, room = CLAMP (TINY_FRAMES - first, 1, MAX (n, 1));
  sb_view view;
  g_autofree void *memory = abi_make_view (tape, &view, type < 200 ? SB_DTYPE_U8 : (int)(type % 7),
                                           (AbiShape){ 3, { room, TINY_DETECTOR, TINY_DETECTOR } },
                                           tiny_counts () + first * TINY_PIXELS);
  if (n == 0)
    first = wrong[where % G_N_ELEMENTS (wrong)];
  abi_checked (sb_data_push (target, first, n == 0 ? where : room, tape_byte (tape) == 255 ? NULL : &view));
}

void
abi_look (Tape *tape, sb_data *target, sb_job *of_job)
{
  static const char *const names[] = { "mean_pattern", "bright_field",      "ssb", "ssb C10=4",
                                       "phase",        "mean_pattern moon", "",    "ssb C10=x" };
  guint choice = tape_byte (tape) % (G_N_ELEMENTS (names) + 1);
  const char *what = choice < G_N_ELEMENTS (names) ? names[choice] : NULL;
  gint64 side_length = choice == 0 ? TINY_DETECTOR : TINY_SCAN;
  sb_view view;
  g_autofree void *memory = abi_make_view (tape, &view, SB_DTYPE_F32, (AbiShape){ 2, { side_length, side_length, 1 } }, NULL);
  abi_checked (of_job != NULL ? sb_job_preview (of_job, what, &view) : sb_data_preview (target, what, &view));
}

void
abi_poll (Tape *tape, sb_job *of)
{
  const char *stage = NULL;
  double share = sb_job_progress (of, tape_byte (tape) == 255 ? NULL : &stage);
  if (!(share >= 0 && share <= 1) || (stage != NULL && strlen (stage) > 30))
    abi_finding ("a progress that cannot be", 0);
}
