#include "kernels/cuda/together.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Above this many numbers each of three or more processes adds up a share, then hands it to all: two rounds, fewer bytes. */
enum { ONE_ROUND = 1 << 15, TWO = 2 };
/* A pass takes milliseconds: so long an answer is near. */
static const double EAGER_SECONDS = 0.05;
enum { PAUSE_US = 100 };

/* ---- NCCL, as far as it is used (its own header is not everywhere) ---- */

typedef struct {
  char internal[SBK_ID];
} NcclId;
enum { NCCL_SUCCESS = 0, NCCL_IN_PROGRESS = 7, NCCL_FLOAT64 = 8 };

static struct {
  int (*version) (int *version);
  int (*unique_id) (NcclId *id);
  int (*init) (void **comm, int size, NcclId id, int rank);
  int (*abort) (void *comm);
  int (*state) (void *comm, int *result);
  int (*group_start) (void);
  int (*group_end) (void);
  int (*send) (const void *from, size_t n, int type, int to, void *comm, void *stream);
  int (*receive) (void *to, size_t n, int type, int from, void *comm, void *stream);
  const char *(*text) (int result);
} nccl;
static const char *missing; /* why there is no NCCL; NULL: there is */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static SbkStatus
fail (SbkError *error, SbkStatus status, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  vsnprintf (error->message, sizeof error->message, format, args);
  va_end (args);
  return status;
}

static void
open_nccl (void)
{
  static char reason[200];
  const struct {
    const char *name;
    void **place;
  } symbols[] = { { "ncclGetVersion", (void **)&nccl.version },
                  { "ncclGetUniqueId", (void **)&nccl.unique_id },
                  { "ncclCommInitRank", (void **)&nccl.init },
                  { "ncclCommAbort", (void **)&nccl.abort },
                  { "ncclCommGetAsyncError", (void **)&nccl.state },
                  { "ncclGroupStart", (void **)&nccl.group_start },
                  { "ncclGroupEnd", (void **)&nccl.group_end },
                  { "ncclSend", (void **)&nccl.send },
                  { "ncclRecv", (void **)&nccl.receive },
                  { "ncclGetErrorString", (void **)&nccl.text } };
  /* Multicast over NVLink serves collectives that are not used here, and setting it up has put machines out of order. */
  setenv ("NCCL_NVLS_ENABLE", "0", 0);
  void *library = dlopen ("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  missing = library == NULL ? reason : NULL;
  if (library == NULL)
    snprintf (reason, sizeof reason, "%s", dlerror ());
  for (size_t i = 0; library != NULL && i < sizeof symbols / sizeof symbols[0]; i++)
    if ((*symbols[i].place = dlsym (library, symbols[i].name)) == NULL) {
      snprintf (reason, sizeof reason, "libnccl.so.2 has no %s", symbols[i].name);
      missing = reason;
    }
}

SbkStatus
together_check (char name[SBK_DEVICE_TEXT], SbkError *error)
{
  int version = 0;
  pthread_once (&once, open_nccl);
  if (missing != NULL)
    return fail (error, SBK_UNSUPPORTED, "NCCL is not there (%s)", missing);
  nccl.version (&version);
  snprintf (name, SBK_DEVICE_TEXT, "NCCL %d.%d.%d", version / 10000, version / 100 % 100, version % 100);
  return SBK_OK;
}

SbkStatus
together_id (uint8_t id[SBK_ID], SbkError *error)
{
  NcclId made;
  int result = nccl.unique_id (&made);
  if (result != NCCL_SUCCESS)
    return fail (error, SBK_DEVICE, "NCCL does not start (%s)", nccl.text (result));
  memcpy (id, made.internal, SBK_ID);
  return SBK_OK;
}

/* ---- one group of processes ---- */

enum { CONNECTING, READY, ALONE };

struct Together {
  TogetherDevice device;
  void *comm;
  int rank, size;
  int (*stop) (void *data);
  void *data;
  int broken;
  uint64_t sent;
  /* of the thread that connects */
  NcclId id;
  int state; /* atomic: CONNECTING, READY, or ALONE where nobody waits for it any more */
  SbkStatus status;
  SbkError error;
};

static SbkStatus
nccl_fail (SbkError *error, int result)
{
  return fail (error, SBK_DEVICE, "NCCL failed (%s); start the program again, or with SIDEBAND_NCCL=0.", nccl.text (result));
}

static double
seconds (void)
{
  struct timespec now;
  clock_gettime (CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void
pause_since (double began)
{
  if (seconds () - began < EAGER_SECONDS)
    sched_yield ();
  else
    usleep (PAUSE_US);
}

static int
stopped (const Together *t)
{
  return t->stop != NULL && t->stop (t->data);
}

/* Nobody can take back what the device waits for: the group ends. */
static void
give_up (Together *t)
{
  t->broken = 1;
  if (t->comm != NULL)
    nccl.abort (t->comm);
  t->comm = NULL;
}

static SbkStatus
wait_for (Together *t, SbkError *error)
{
  double began = seconds ();
  for (;;) {
    int result = NCCL_SUCCESS, idle = t->device.idle (t->device.owner);
    if (idle > 0)
      return SBK_OK;
    if (idle == 0 && nccl.state (t->comm, &result) == NCCL_SUCCESS && (result == NCCL_SUCCESS || result == NCCL_IN_PROGRESS)) {
      if (!stopped (t)) {
        pause_since (began);
        continue;
      }
      give_up (t);
      return SBK_CANCELLED;
    }
    give_up (t);
    return idle < 0 ? fail (error, SBK_DEVICE, "The GPU's work failed; start the program again.") : nccl_fail (error, result);
  }
}

/* One round between all processes: to + r to_step goes to process r, what comes from it to from + r from_step. */
typedef struct Round {
  const double *to;
  double *from;
  size_t to_step, from_step;
  size_t n, each; /* numbers; of a process's share, 0: all n go to all */
  int shares_go;  /* each process's share goes to it; else its own share to all */
} Round;

static size_t
share_of (const Round *round, int r)
{
  size_t first = (size_t)r * round->each;
  return round->each == 0 ? round->n : first >= round->n ? 0 : round->n - first < round->each ? round->n - first : round->each;
}

static SbkStatus
exchange (Together *t, const Round *round, SbkError *error)
{
  int result = nccl.group_start ();
  for (int d = 1; d < t->size && result == NCCL_SUCCESS; d++) {
    int r = (t->rank + d) % t->size, s = (t->rank + t->size - d) % t->size;
    size_t n_to = share_of (round, round->shares_go ? r : t->rank), n_from = share_of (round, round->shares_go ? t->rank : s);
    if (n_to > 0)
      result = nccl.send (round->to + (size_t)r * round->to_step, n_to, NCCL_FLOAT64, r, t->comm, t->device.stream);
    if (n_from > 0 && result == NCCL_SUCCESS)
      result = nccl.receive (round->from + (size_t)s * round->from_step, n_from, NCCL_FLOAT64, s, t->comm, t->device.stream);
    t->sent += n_to * sizeof (double);
  }
  int ended = nccl.group_end ();
  result = result == NCCL_SUCCESS ? ended : result;
  if (result == NCCL_SUCCESS)
    return SBK_OK;
  give_up (t);
  return nccl_fail (error, result);
}

/* Everybody's numbers to all, who add up. */
static SbkStatus
sum_in_one (Together *t, double *values, size_t n, SbkError *error)
{
  const TogetherDevice *d = &t->device;
  double *parts = d->room (d->owner, (size_t)t->size * n, error);
  Round round = { values, parts, 0, n, n, 0, 0 };
  if (parts == NULL)
    return SBK_NO_MEMORY;
  SbkStatus status = d->copy (d->owner, parts + (size_t)t->rank * n, values, n, error);
  if (status == SBK_OK)
    status = exchange (t, &round, error);
  return status != SBK_OK ? status : d->add (d->owner, parts, n, t->size, values, n, error);
}

static SbkStatus
sum_in_two (Together *t, double *values, size_t n, SbkError *error)
{
  const TogetherDevice *d = &t->device;
  size_t each = (n + (size_t)t->size - 1) / (size_t)t->size, at = (size_t)t->rank * each;
  double *parts = d->room (d->owner, (size_t)t->size * each, error);
  Round out = { values, parts, each, each, n, each, 1 }, back = { values + at, values, 0, each, n, each, 0 };
  size_t own = share_of (&out, t->rank);
  if (parts == NULL)
    return SBK_NO_MEMORY;
  SbkStatus status = own > 0 ? d->copy (d->owner, parts + (size_t)t->rank * each, values + at, own, error) : SBK_OK;
  if (status == SBK_OK)
    status = exchange (t, &out, error);
  if (status == SBK_OK && own > 0)
    status = d->add (d->owner, parts, each, t->size, values + at, own, error);
  return status != SBK_OK ? status : exchange (t, &back, error);
}

SbkStatus
together_sum (Together *t, double *values, size_t n, SbkError *error)
{
  if (t == NULL || t->broken)
    return fail (error, SBK_DEVICE, "The GPUs that worked together lost each other; start the program again.");
  if (n == 0)
    return SBK_OK;
  SbkStatus status = t->size <= TWO || n <= ONE_ROUND ? sum_in_one (t, values, n, error) : sum_in_two (t, values, n, error);
  return status == SBK_OK ? wait_for (t, error) : status;
}

/* ---- joining ---- */

/* NCCL waits for the others in this, so a thread does it, and with a first sum all connections that there will be. */
static void *
connect_all (void *data)
{
  Together *t = data;
  const TogetherDevice *d = &t->device;
  void *comm = NULL;
  int result = NCCL_SUCCESS;
  t->status = d->enter (d->owner) == 0 ? SBK_OK : fail (&t->error, SBK_DEVICE, "The GPU cannot be used by another thread");
  if (t->status == SBK_OK && (result = nccl.init (&comm, t->size, t->id, t->rank)) != NCCL_SUCCESS)
    t->status = fail (&t->error, SBK_DEVICE, "NCCL does not connect the GPUs (%s)", nccl.text (result));
  t->comm = comm;
  if (__atomic_load_n (&t->state, __ATOMIC_ACQUIRE) == ALONE) /* the device may be gone */
    return NULL;
  double *values = t->status == SBK_OK ? d->room (d->owner, (size_t)t->size * 2, &t->error) : NULL;
  if (t->status == SBK_OK && values == NULL)
    t->status = SBK_NO_MEMORY;
  Round round = { values + t->size, values, 0, 1, 1, 0, 0 };
  if (t->status == SBK_OK)
    t->status = exchange (t, &round, &t->error);
  t->sent = 0;
  __atomic_store_n (&t->state, READY, __ATOMIC_RELEASE);
  return NULL;
}

SbkStatus
together_join (Together **out, const TogetherDevice *device, const uint8_t id[SBK_ID], int rank, int size,
               int (*stop) (void *data), void *data, SbkError *error)
{
  pthread_t thread;
  double began = seconds ();
  *out = NULL;
  Together *t = calloc (1, sizeof *t);
  if (t == NULL)
    return fail (error, SBK_NO_MEMORY, "Not enough memory.");
  t->device = *device;
  t->rank = rank;
  t->size = size;
  t->stop = stop;
  t->data = data;
  memcpy (t->id.internal, id, SBK_ID);
  if (pthread_create (&thread, NULL, connect_all, t) != 0) {
    free (t);
    return fail (error, SBK_NO_MEMORY, "A thread could not be started");
  }
  while (__atomic_load_n (&t->state, __ATOMIC_ACQUIRE) != READY) {
    if (stopped (t)) { /* the thread may wait for ever: it keeps what it has */
      __atomic_store_n (&t->state, ALONE, __ATOMIC_RELEASE);
      pthread_detach (thread);
      return SBK_CANCELLED;
    }
    pause_since (began);
  }
  pthread_join (thread, NULL);
  SbkStatus status = t->status;
  if (status == SBK_OK)
    status = wait_for (t, &t->error);
  if (status == SBK_OK) {
    *out = t;
    return SBK_OK;
  }
  *error = t->error;
  together_leave (t);
  return status;
}

uint64_t
together_sent (Together *t)
{
  uint64_t sent = t != NULL ? t->sent : 0;
  if (t != NULL)
    t->sent = 0;
  return sent;
}

void
together_leave (Together *t)
{
  if (t == NULL)
    return;
  give_up (t);
  free (t);
}
