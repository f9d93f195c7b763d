/* Groups of aliases on a device against float64 on the CPU. */
#include "tests/parity/measure.h"

#include <stdio.h>
#include <stdlib.h>

/* Groups of one to `most` aliases, some of them where no aperture reaches. */
typedef struct {
  SbkAliases aliases;
  int64_t *start, *source, *place;
  double *vx, *vy, *x;
} Groups;

static void
groups_make (Groups *g, const Scene *s, int64_t most)
{
  uint64_t state = s->seed + 29;
  int64_t n = s->n_q, members = n * most;
  g->start = calloc ((size_t)n + 1, sizeof *g->start);
  g->source = calloc ((size_t)n + 1, sizeof *g->source);
  g->place = calloc ((size_t)n + 1, sizeof *g->place);
  g->vx = calloc ((size_t)members, sizeof *g->vx);
  g->vy = calloc ((size_t)members, sizeof *g->vy);
  g->x = calloc ((size_t)members * 2, sizeof *g->x);
  for (int64_t i = 0; i < n; i++) {
    int64_t count = 1 + i % most;
    g->source[i] = (i * 5) % n;
    g->start[i + 1] = g->start[i] + count;
    g->place[i + 1] = g->place[i] + sbk_alias_width (count);
    for (int64_t m = g->start[i]; m < g->start[i + 1]; m++) {
      g->vx[m] = 1.2 * scene_random (&state);
      g->vy[m] = 1.2 * scene_random (&state);
      g->x[2 * m] = scene_random (&state);
      g->x[2 * m + 1] = scene_random (&state);
    }
  }
  g->aliases = (SbkAliases){ n, most, g->start, g->source, g->vx, g->vy, g->place };
}

static void
groups_clear (Groups *g)
{
  free (g->start);
  free (g->source);
  free (g->place);
  free (g->vx);
  free (g->vy);
  free (g->x);
}

void
parity_aliases (const Scene *s, Side *cpu, Side *device, int precise)
{
  static const int64_t sizes[] = { 1, 6, 7, 37 };
  for (int i = 0; i < 4; i++) {
    Groups g;
    SbkError error = { "" };
    double first[SBK_N], got_first[SBK_N], again_first[SBK_N];
    char what[32];
    groups_make (&g, s, sizes[i]);
    size_t count = (size_t)g.place[s->n_q];
    double *want = malloc (count * sizeof *want), *got = malloc (count * sizeof *got), *again = malloc (count * sizeof *got);
    snprintf (what, sizeof what, "up to %d", (int)sizes[i]);
    poison (got, count);
    poison (got_first, SBK_N);
    cpu->table->aliases (cpu->g, &s->view, 1, &s->model, &g.aliases, want, NULL, &error);
    SbkStatus status = device->table->aliases (device->g, &s->view, precise, &s->model, &g.aliases, got, NULL, &error);
    if (status != SBK_OK)
      printf ("# %s\n", error.message);
    parity_report (s, "aliases", what, precise, apart (got, want, count, largest (want, (int)count)));
    device->table->aliases (device->g, &s->view, precise, &s->model, &g.aliases, again, NULL, &error);
    parity_bits (s, "aliases", memcmp (got, again, count * sizeof *got) == 0);
    cpu->table->alias_gradient (cpu->g, &s->view, 1, &s->model, &g.aliases, g.x, first, NULL, &error);
    status = device->table->alias_gradient (device->g, &s->view, precise, &s->model, &g.aliases, g.x, got_first, NULL, &error);
    if (status != SBK_OK)
      printf ("# %s\n", error.message);
    parity_report (s, "alias_gradient", what, precise, apart (got_first, first, SBK_N, largest (first, SBK_N)));
    device->table->alias_gradient (device->g, &s->view, precise, &s->model, &g.aliases, g.x, again_first, NULL, &error);
    parity_bits (s, "alias_gradient", memcmp (got_first, again_first, sizeof got_first) == 0);
    free (want);
    free (got);
    free (again);
    groups_clear (&g);
  }
}
