/* NCCL itself on one GPU, where it connects a single process: opened, joined, summed with and left. nccl_alone MODULE (with
 * libnccl.so.2 where the loader finds it); built by device.sh. TAP. */
#include "tests/parity/parity.h"

#include <stdio.h>
#include <string.h>

static int tests, failures;

static int
check (int good, const char *what, const char *why)
{
  tests++;
  failures += !good;
  printf ("%sok %d - %s%s%s\n", good ? "" : "not ", tests, what, why[0] != '\0' ? " # " : "", why);
  return good;
}

static int
go_on (void *data)
{
  ++*(int *)data;
  return 0;
}

/* Alone the sums are the process's own, so that all bits are those of a pass without the others. */
static void
compare (const SbkBackend *table, SbkSpectrum *g, const Scene *s)
{
  double value[2], gradient[2][SBK_N];
  SbkError error = { "" };
  SbkView view = s->view;
  for (int together = 0; together < 2; together++) {
    view.together = together;
    SbkStatus status = table->gradient (g, &view, 0, &s->model, &value[together], gradient[together], NULL, &error);
    if (!check (status == SBK_OK, together ? "gradient together" : "gradient alone", error.message))
      return;
  }
  check (memcmp (&value[0], &value[1], sizeof value[0]) == 0, "value has the same bits", "");
  check (memcmp (gradient[0], gradient[1], sizeof gradient[0]) == 0, "gradient has the same bits", "");
}

static void
run (const SbkBackend *table, SbkContext *context, Scene *s)
{
  const SbkTogether *together = table->together;
  SbkBand band = { s->rows, s->cols, s->n_q, s->index };
  SbkSpectrum *g = NULL;
  SbkError error = { "" };
  char name[SBK_DEVICE_TEXT] = "";
  uint8_t id[SBK_ID] = { 0 }, none[SBK_ID] = { 0 };
  int asked = 0;
  if (!check (together->check (context, name, &error) == SBK_OK, "NCCL is there",
              error.message[0] != '\0' ? error.message : name)
      || !check (together->id (context, id, &error) == SBK_OK && memcmp (id, none, SBK_ID) != 0, "it gives an id",
                 error.message)
      || !check (together->join (context, id, 0, 1, go_on, &asked, &error) == SBK_OK, "it connects", error.message))
    return;
  if (check (table->spectrum_from_values (context, &g, &s->pixels, &band, s->g, &error) == SBK_OK
                 && table->spectrum_set_q (g, s->vx, s->vy, &error) == SBK_OK,
             "a spectrum", error.message))
    compare (table, g, s);
  check (together->sent (context) == 0, "nothing was sent to nobody", "");
  table->spectrum_free (g);
  together->leave (context);
}

int
main (int argc, char **argv)
{
  const char *reason = "";
  const SbkBackend *table = argc > 1 ? parity_module (argv[1], &reason) : NULL;
  SbkContext *context = NULL;
  SbkOpen how = { parity_threads (), 0, NULL };
  SbkError error = { "" };
  Scene scene = { .name = "disk", .radius = 9, .rows = 48, .cols = 40, .turns = 1, .seed = 7 };
  if (table == NULL) {
    printf ("1..0 # SKIP %s\n", reason);
    return 0;
  }
  scene_make (&scene);
  if (check (table->open (&context, &how, &error) == SBK_OK, "a context", error.message))
    run (table, context, &scene);
  table->close (context);
  scene_free (&scene);
  printf ("1..%d\n", tests);
  return failures > 0;
}
