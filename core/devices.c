#include "core/devices.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"

/* NCCL connects within seconds, or not at all. */
enum { CONNECTING = 60 };
enum { NEVER, WHERE_ALONE, ALWAYS };

/* What a rank tells of its device; id empty: it has none. */
typedef struct Card {
  char id[SBK_DEVICE_TEXT], name[SBK_DEVICE_TEXT];
  gint64 wish;
} Card;

struct SbDevices {
  const SbRanks *ranks;
  int size;
  Card *card;          /* [size] */
  int sharers;         /* ranks on this one's device */
  gboolean each_alone; /* every rank of all */
  gboolean joined;
  gint64 deadline;            /* of connecting, monotonic time; 0: none */
  char link[SBK_DEVICE_TEXT]; /* what connects them */
  char *why;                  /* they are not connected; NULL: no reason */
  gboolean said;
};

/* ---- whose is which ---- */

/* GPUs of this machine that the process may open; in a container not all that the driver knows. */
static int
count_gpus (void)
{
  int n = 0;
  GDir *folder = g_dir_open ("/dev", 0, NULL);
  for (const char *name; folder != NULL && (name = g_dir_read_name (folder)) != NULL;) {
    int number, end = 0;
    if (sscanf (name, "nvidia%d%n", &number, &end) != 1 || name[end] != '\0')
      continue;
    g_autofree char *path = g_build_filename ("/dev", name, NULL);
    n += access (path, R_OK | W_OK) == 0;
  }
  if (folder != NULL)
    g_dir_close (folder);
  return n;
}

void
devices_choose (const SbRanks *ranks)
{
  const char *visible = "CUDA_VISIBLE_DEVICES", *given = g_getenv (visible);
  g_auto (GStrv) list = given != NULL ? g_strsplit (given, ",", -1) : NULL;
  int n = list != NULL ? (int)g_strv_length (list) : count_gpus ();
  if (n < 2)
    return;
  g_autofree char *mine = list != NULL ? g_strdup (list[ranks->local_rank % n]) : g_strdup_printf ("%d", ranks->local_rank % n);
  g_setenv (visible, mine, TRUE);
}

/* ---- connecting ---- */

/* Polled while a device waits for another one. */
static int
stop (void *data)
{
  SbDevices *devices = data;
  SbRanks *ranks = (SbRanks *)devices->ranks;
  if (progress_cancelled (ranks->progress) || watch_fault (ranks->watch, NULL)) {
    ranks->broken = TRUE; /* the others may wait for this one, as in MPI */
    return 1;
  }
  return devices->deadline > 0 && g_get_monotonic_time () > devices->deadline;
}

static gint64
wish (void)
{
  const char *text = g_getenv ("SIDEBAND_NCCL");
  return g_strcmp0 (text, "0") == 0 ? NEVER : g_strcmp0 (text, "1") == 0 ? ALWAYS : WHERE_ALONE;
}

/* Whether to try: all ranks decide alike. */
static gboolean
wanted (const SbDevices *devices)
{
  gboolean always = FALSE;
  for (int r = 0; r < devices->size; r++) {
    if (devices->card[r].id[0] == '\0' || devices->card[r].wish == NEVER)
      return FALSE;
    always = always || devices->card[r].wish == ALWAYS;
  }
  return always || devices->each_alone;
}

/* TRUE where all ranks are at it; why (of the lowest that is not) goes to all. */
static gboolean
all_well (SbRanks *ranks, SbkStatus status, SbkError *why, gboolean *well, GError **error)
{
  gsize size = (gsize)ranks->size;
  g_autofree SbkError *all = g_new0 (SbkError, size);
  g_autofree gsize *place = g_new (gsize, size + 1);
  for (gsize r = 0; r <= size; r++)
    place[r] = r * sizeof *all;
  if (status != SBK_OK)
    all[ranks->rank] = *why;
  if (status != SBK_OK && why->message[0] == '\0')
    g_strlcpy (all[ranks->rank].message, "it did not answer", sizeof why->message);
  if (!ranks_gather (ranks, RANKS_OTHER, all, place, error))
    return FALSE;
  *well = TRUE;
  for (gsize r = size; r-- > 0;)
    if (all[r].message[0] != '\0') {
      *well = FALSE;
      *why = all[r];
    }
  return TRUE;
}

/* FALSE: a rank is lost. Where the devices cannot be connected, why says it and MPI goes on. */
static gboolean
connect_devices (SbEngine *engine, SbRanks *ranks, SbkError *why, GError **error)
{
  SbDevices *devices = engine->devices;
  const SbkTogether *together = engine->backend->together;
  guint8 id[SBK_ID] = { 0 };
  gboolean well = FALSE;
  SbkStatus status = together != NULL ? together->check (engine->context, devices->link, why) : SBK_UNSUPPORTED;
  if (status == SBK_OK && ranks->rank == 0)
    status = together->id (engine->context, id, why);
  if (!all_well (ranks, status, why, &well, error) || (well && !ranks_broadcast (ranks, id, sizeof id, error)))
    return FALSE;
  if (!well)
    return TRUE;
  devices->deadline = g_get_monotonic_time () + CONNECTING * G_TIME_SPAN_SECOND;
  status = together->join (engine->context, id, ranks->rank, ranks->size, stop, devices, why);
  devices->deadline = 0;
  if (!all_well (ranks, status, why, &well, error))
    return FALSE;
  if (!well && status == SBK_OK)
    together->leave (engine->context);
  devices->joined = well;
  ranks->reduce.on_devices = well;
  return TRUE;
}

/* ---- */

void
devices_say (const SbEngine *engine)
{
  SbDevices *devices = engine->devices;
  if (devices == NULL || devices->said)
    return;
  const Card *mine = &devices->card[devices->ranks->rank];
  devices->said = TRUE;
  if (devices->joined)
    g_info ("%d ranks have a GPU each (this one: %s); their sums go from GPU to GPU through %s.", devices->size, mine->name,
            devices->link);
  else if (devices->why != NULL)
    g_message ("The sums of the GPUs go through MPI and the machines' memory: %s.", devices->why);
  else if (mine->id[0] != '\0' && devices->sharers > 1)
    g_info ("%d ranks share the GPU %s, each with that part of its memory; their sums go through MPI.", devices->sharers,
            mine->name);
}

gboolean
devices_join (SbEngine *engine, SbRanks *ranks, GError **error)
{
  gsize size = (gsize)ranks->size;
  SbkError why = { "" };
  SbkDevice device = { "", "" };
  g_autofree gsize *place = g_new (gsize, size + 1);
  if (ranks->size == 1)
    return TRUE;
  SbDevices *devices = engine->devices = g_new0 (SbDevices, 1);
  devices->ranks = ranks;
  devices->size = ranks->size;
  devices->card = g_new0 (Card, size);
  Card *mine = &devices->card[ranks->rank];
  mine->wish = wish ();
  if (engine->backend->device != NULL && engine->backend->device (engine->context, &device, &why) == SBK_OK) {
    memcpy (mine->id, device.id, sizeof mine->id);
    memcpy (mine->name, device.name, sizeof mine->name);
  }
  for (gsize r = 0; r <= size; r++)
    place[r] = r * sizeof (Card);
  if (!ranks_gather (ranks, RANKS_OTHER, devices->card, place, error))
    return FALSE;
  devices->each_alone = TRUE;
  for (gsize r = 0; r < size; r++) {
    devices->sharers += strcmp (devices->card[r].id, mine->id) == 0;
    for (gsize s = 0; s < r; s++)
      devices->each_alone = devices->each_alone && strcmp (devices->card[r].id, devices->card[s].id) != 0;
  }
  why.message[0] = '\0';
  if (wanted (devices) && !connect_devices (engine, ranks, &why, error))
    return FALSE;
  devices->why = why.message[0] != '\0' ? g_strdup (why.message) : NULL;
  return TRUE;
}

void
devices_leave (SbEngine *engine)
{
  SbDevices *devices = engine->devices;
  if (devices == NULL)
    return;
  if (devices->joined)
    engine->backend->together->leave (engine->context);
  g_free (devices->card);
  g_free (devices->why);
  g_clear_pointer (&engine->devices, g_free);
}

/* ---- what they have ---- */

gboolean
devices_memory (const SbEngine *engine, guint64 *bytes, GError **error)
{
  const SbDevices *devices = engine->devices;
  *bytes = engine->backend->memory (engine->context);
  if (devices == NULL || devices->each_alone)
    return TRUE;
  gsize size = (gsize)devices->size;
  if (engine->reduce != NULL) {
    /* All look before any takes: the least that was seen, as some may not have freed all yet. */
    g_autofree guint64 *seen = g_new0 (guint64, size);
    g_autofree gsize *place = g_new (gsize, size + 1);
    for (gsize r = 0; r <= size; r++)
      place[r] = r * sizeof *seen;
    seen[devices->ranks->rank] = *bytes;
    if (!ranks_gather ((SbRanks *)devices->ranks, RANKS_OTHER, seen, place, error))
      return FALSE;
    for (gsize r = 0; r < size; r++)
      if (strcmp (devices->card[r].id, devices->card[devices->ranks->rank].id) == 0)
        *bytes = MIN (*bytes, seen[r]);
  }
  *bytes /= (guint64)devices->sharers;
  return TRUE;
}

guint64
devices_sent (const SbEngine *engine)
{
  return engine->devices != NULL && engine->devices->joined ? engine->backend->together->sent (engine->context) : 0;
}

void
devices_report (const SbEngine *engine, json_t *report)
{
  const SbDevices *devices = engine->devices;
  if (devices == NULL || devices->card[devices->ranks->rank].id[0] == '\0')
    return;
  json_t *list = json_array (), *ids = json_array ();
  for (int r = 0; r < devices->size; r++) {
    json_array_append_new (list, json_string (devices->card[r].name));
    json_array_append_new (ids, json_string (devices->card[r].id));
  }
  json_object_set_new (report, "device", list);
  json_object_set_new (report, "device_id", ids);
  json_object_set_new (report, "sums_through", json_string (devices->joined ? devices->link : "MPI"));
  if (devices->why != NULL)
    json_object_set_new (report, "sums_remark", json_string (devices->why));
}
