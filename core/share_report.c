/* What every rank held and sent: where it grows, and that it falls with their number. */
#include <string.h>

#include "core/devices.h"
#include "core/plan.h"
#include "core/ranks.h"
#include "core/share.h"

enum { PIXELS, COLUMNS, G, PEAK, FRAMES, SUMS, OTHER, N_NUMBERS };
static const char *const names[N_NUMBERS] = {
  "pixels", "columns", "g", "peak_memory", "sent_frames", "sent_sums", "sent_other"
};

/* Bytes; 0: not known. */
static double
peak_memory (void)
{
  g_autofree char *text = NULL;
  const char *at = NULL;
  if (g_file_get_contents ("/proc/self/status", &text, NULL, NULL))
    at = strstr (text, "VmHWM:");
  return at != NULL ? (double)g_ascii_strtoull (at + strlen ("VmHWM:"), NULL, 10) * 1024 : 0;
}

json_t *
share_report (SbEngine *engine, const SbColumns *columns, const SbSpectrum *spectrum)
{
  SbRanks *ranks = engine->ranks;
  gsize size = (gsize)ranks->size;
  g_autofree double *all = g_new0 (double, size *N_NUMBERS);
  g_autofree gsize *place = g_new (gsize, size + 1);
  double *mine = all + (gsize)ranks->rank * N_NUMBERS;
  for (gsize r = 0; r <= size; r++)
    place[r] = r * N_NUMBERS * sizeof (double);
  if (columns != NULL)
    mine[COLUMNS] = (double)columns->held * (double)columns->positions * (double)dtype_size (columns->dtype);
  if (spectrum != NULL) {
    mine[PIXELS] = (double)spectrum->own_pixels;
    mine[G] = (double)spectrum->own_pixels * (double)plan_pixel (engine, spectrum->n_q);
  }
  mine[PEAK] = peak_memory ();
  mine[FRAMES] = (double)ranks->sent[RANKS_FRAMES];
  mine[SUMS] = (double)(ranks->sent[RANKS_SUMS] + devices_sent (engine));
  mine[OTHER] = (double)ranks->sent[RANKS_OTHER];
  if (!ranks_gather (ranks, RANKS_OTHER, all, place, NULL))
    return NULL;
  json_t *report = json_object ();
  for (int i = 0; i < N_NUMBERS; i++) {
    json_t *list = json_array ();
    for (gsize r = 0; r < size; r++)
      json_array_append_new (list, json_integer ((json_int_t)all[r * N_NUMBERS + (gsize)i]));
    json_object_set_new (report, names[i], list);
  }
  devices_report (engine, report);
  return report;
}
