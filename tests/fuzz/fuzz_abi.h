/* What the target of the C interface is made of: the bytes that lead it, a tiny acquisition, parameters, calls. */
#ifndef SB_TESTS_FUZZ_ABI_H
#define SB_TESTS_FUZZ_ABI_H

#include <glib.h>
#include <jansson.h>
#include <stdint.h>

#include "plugin/sideband.h"

/* ---- the bytes ---- */

typedef struct Tape {
  const uint8_t *at, *end;
} Tape;

/* 0 behind the end. */
static inline guint
tape_byte (Tape *tape)
{
  return tape->at < tape->end ? *tape->at++ : 0;
}

/* ---- the acquisition ---- */

enum { TINY_SCAN = 16, TINY_DETECTOR = 12, TINY_FRAMES = TINY_SCAN * TINY_SCAN, TINY_PIXELS = TINY_DETECTOR * TINY_DETECTOR };

/* Counts [TINY_FRAMES][TINY_PIXELS] of a weak object, out of focus by 4 nm; at 300 kV, 20 mrad and a step of 0.4 A. */
const guint8 *tiny_counts (void);

/* The one of a few paths that a byte chooses: the acquisition (.npy), an example of the shipped ones, what executions write
 * (out/...), what is no acquisition, what is not there. Never NULL. */
const char *tiny_path (guint choice);
/* Where executions may write, which is also the working folder; emptied between them. */
const char *tiny_out (void);
void tiny_clear (void);

/* ---- parameters ---- */

typedef enum TinyList { LIST_SESSION, LIST_DATA, LIST_PUSHED, LIST_COMMAND } TinyList;
/* JSON text as bytes choose it: nothing, something known to work, that with rows of the catalog set to values that their
 * type allows or nearly allows, what is no object. Free it; NULL is a choice as well. */
char *tiny_json (Tape *tape, TinyList list, const char *command);
/* A name of the catalog's commands, or of none. */
const char *tiny_command (guint choice);

/* ---- what holds for every call ---- */

/* Says so and aborts. */
void abi_finding (const char *what, int status);
/* The status, which is one of the header's and has its sentence where it is a failure. */
int abi_checked (int status);
/* Of calls that make something. */
void abi_made (int status, const void *out);
/* A borrowed text, which is a JSON object or, where not needed, may be NULL. */
void abi_read_json (const char *text, gboolean needed);

typedef struct AbiShape {
  int n_dims;
  gint64 size[3];
} AbiShape;
/* A view of memory of just its size, or one that is wrong somehow; the memory is freed by the caller. */
void *abi_make_view (Tape *tape, sb_view *view, int dtype, AbiShape shape, const guint8 *counts);

/* ---- calls that any thread may make at any time ---- */

void abi_push (Tape *tape, sb_data *target);
/* At the job where there is one, else at the data. */
void abi_look (Tape *tape, sb_data *target, sb_job *of_job);
void abi_poll (Tape *tape, sb_job *of);

#endif
