#include "core/frequencies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

#define SMALLEST_PREFIX 32 /* frequencies that the coarsest search sees, a full disk of |q| */

typedef struct {
  gint64 index;
  gboolean in_band;
  double row, col, r, angle;
  int shell;
} Frequency;

typedef struct {
  Frequency *at;
  gsize n;
} List;

static const double shells[] = { 0.08, 0.16, 0.25, 0.325, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0,
                                 1.1,  1.2,  1.3,  1.4,   1.5, 1.6, 1.7, 1.8, 1.9, 2.0 };

static int
by_radius (const void *a, const void *b)
{
  const Frequency *x = a, *y = b;
  if (x->in_band != y->in_band)
    return x->in_band ? -1 : 1;
  if (x->r != y->r)
    return x->r < y->r ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

/* Band first, shell by shell; within a shell by angle, so that neighbours in memory overlap alike. */
static int
by_shell (const void *a, const void *b)
{
  const Frequency *x = a, *y = b;
  if (x->in_band != y->in_band)
    return x->in_band ? -1 : 1;
  if (x->shell != y->shell)
    return x->shell < y->shell ? -1 : 1;
  if (x->angle != y->angle)
    return x->angle < y->angle ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

static gint64
signed_frequency (gint64 i, gint64 n)
{
  return i < (n + 1) / 2 ? i : i - n;
}

/* One of each +-q pair with 0 < |q| < 2 k_max. Nyquist rows and columns, and what the user's limits leave
 * out, are kept outside the band for upsampled reconstructions. */
static gboolean
frequencies_list (gint64 n_rows, gint64 n_cols, const double step[2], double k_max, const double band[2], List *list,
                  GError **error)
{
  gsize most = (gsize)(n_rows * n_cols) / 2 + 3; /* up to three are their own -q */
  *list = (List){ sb_alloc (most, sizeof (Frequency), "The frequencies", error), 0 };
  if (list->at == NULL)
    return FALSE;
  double low = isnan (band[0]) ? 0 : band[0], high = isnan (band[1]) ? 2 : band[1];
  for (gint64 i = 0; i < n_rows; i++)
    for (gint64 j = 0; j < n_cols; j++) {
      gint64 si = signed_frequency (i, n_rows), sj = signed_frequency (j, n_cols);
      gint64 ni = signed_frequency ((n_rows - i) % n_rows, n_rows), nj = signed_frequency ((n_cols - j) % n_cols, n_cols);
      if ((si == 0 && sj == 0) || si < ni || (si == ni && sj < nj))
        continue;
      Frequency f = { .index = i * n_cols + j };
      f.row = (double)si / ((double)n_rows * step[0] * k_max);
      f.col = (double)sj / ((double)n_cols * step[1] * k_max);
      f.r = hypot (f.row, f.col);
      if (!(f.r < 2))
        continue;
      f.angle = atan2 (f.col, f.row);
      gboolean nyquist = (n_rows % 2 == 0 && si == -n_rows / 2) || (n_cols % 2 == 0 && sj == -n_cols / 2);
      f.in_band = !nyquist && f.r >= low && f.r < high;
      list->at[list->n++] = f;
    }
  Frequency *less = g_try_realloc (list->at, MAX (list->n, 1) * sizeof *less);
  list->at = less != NULL ? less : list->at;
  return TRUE;
}

/* ---- their order ---- */

/* Frequencies that stay together whatever the order among them: a task of the sort. */
typedef struct {
  Frequency *frequency;
  gint64 *start; /* [bins + 1] */
  int (*compare) (const void *a, const void *b);
} Bins;

static void
sort_bin (gint64 bin, guint worker, gpointer data)
{
  const Bins *b = data;
  gint64 n = b->start[bin + 1] - b->start[bin];
  if (n > 1)
    qsort (b->frequency + b->start[bin], (gsize)n, sizeof (Frequency), b->compare);
}

/* Ascending by `compare`, which never puts a frequency of a later bin first. */
static gboolean
sort_bins (SbEngine *engine, const List *list, gint64 bins, int (*bin) (const Frequency *f),
           int (*compare) (const void *a, const void *b), GError **error)
{
  g_autofree gint64 *start = g_new0 (gint64, bins + 2);
  g_autofree Frequency *room = sb_alloc (list->n, sizeof *room, "The frequencies", error);
  Frequency *f = list->at;
  Bins b = { room, start, compare };
  if (room == NULL)
    return FALSE;
  for (gsize i = 0; i < list->n; i++)
    start[bin (&f[i]) + 2]++;
  for (gint64 i = 2; i <= bins; i++)
    start[i] += start[i - 1];
  for (gsize i = 0; i < list->n; i++)
    room[start[bin (&f[i]) + 1]++] = f[i];
  engine_parallel (engine, bins, sort_bin, &b);
  memcpy (f, room, list->n * sizeof *f);
  return TRUE;
}

enum { RADIUS_BINS = 64, SHELL_BINS = G_N_ELEMENTS (shells) + 1 };

static int
radius_bin (const Frequency *f)
{
  return (int)MIN (f->r * f->r * RADIUS_BINS / 4, RADIUS_BINS - 1) + (f->in_band ? 0 : RADIUS_BINS);
}

static int
shell_bin (const Frequency *f)
{
  return f->shell + (f->in_band ? 0 : SHELL_BINS);
}

/* Sorts them; radius[] of the band, ascending. */
static gboolean
frequencies_order (SbEngine *engine, const List *list, double *radius, GError **error)
{
  if (!sort_bins (engine, list, 2 * RADIUS_BINS, radius_bin, by_radius, error))
    return FALSE;
  for (gsize i = 0; i < list->n; i++) {
    Frequency *f = &list->at[i];
    radius[i] = f->r;
    while (f->shell < (int)G_N_ELEMENTS (shells) - 1 && f->r >= shells[f->shell])
      f->shell++;
    f->shell = i < SMALLEST_PREFIX ? 0 : f->shell + 1;
  }
  return sort_bins (engine, list, 2 * SHELL_BINS, shell_bin, by_shell, error);
}

static gboolean
take_frequencies (SbSpectrum *s, const List *list, GError **error)
{
  static const char what[] = "The frequencies";
  s->n_q = (gint64)list->n;
  if ((s->index = sb_alloc (list->n, sizeof *s->index, what, error)) == NULL
      || (s->q = sb_alloc (list->n, 2 * sizeof *s->q, what, error)) == NULL
      || (s->slot = sb_alloc ((gsize)(s->scan_rows * s->scan_cols), sizeof *s->slot, what, error)) == NULL)
    return FALSE;
  for (gint64 i = 0; i < s->scan_rows * s->scan_cols; i++)
    s->slot[i] = -1;
  for (gint64 i = 0; i < s->n_q; i++) {
    const Frequency *f = &list->at[i];
    s->index[i] = f->index;
    s->q[2 * i] = f->row;
    s->q[2 * i + 1] = f->col;
    s->slot[f->index] = i;
    s->n_band += f->in_band;
  }
  return TRUE;
}

gboolean
frequencies_find (SbSpectrum *s, const double band[2], GError **error)
{
  List list;
  gboolean ok = frequencies_list (s->scan_rows, s->scan_cols, s->optics.step, s->k_max, band, &list, error)
                && (s->radius = sb_alloc (list.n, sizeof *s->radius, "The frequencies", error)) != NULL
                && frequencies_order (s->engine, &list, s->radius, error) && take_frequencies (s, &list, error);
  g_free (list.at);
  return ok;
}
