/* A device that is none: the CPU's kernels as the CUDA module exports its own, so that ranks with a GPU each, or with one for
 * all, are tested where there is no GPU. Which it is says CUDA_VISIBLE_DEVICES; its free memory FAKE_DEVICE_MEMORY (bytes).
 * What contexts add up together goes through kernels/cuda/together.c and whatever libnccl.so.2 there is. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cuda/together.h"
#include "tests/mpi/fake_stream.h"

typedef struct Work {
  void (*work) (void *data);
  void *data;
  struct Work *next;
} Work;

/* One for the process, as its device is. */
static struct {
  FakeStream shown;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  Work *first, **last;
  int begun;
  double *room;
  size_t room_size;
  int rank;
  Together *together;
} device = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

/* ---- the stream ---- */

static void *
stream_thread (void *unused)
{
  (void)unused;
  pthread_mutex_lock (&device.lock);
  for (;;) {
    while (device.first == NULL)
      pthread_cond_wait (&device.changed, &device.lock);
    Work *now = device.first;
    pthread_mutex_unlock (&device.lock);
    now->work (now->data);
    pthread_mutex_lock (&device.lock);
    device.first = now->next;
    if (device.first == NULL)
      device.last = &device.first;
    free (now);
  }
  return NULL;
}

static void
push (FakeStream *stream, void (*work) (void *data), void *data)
{
  pthread_t thread;
  Work *added = malloc (sizeof *added);
  (void)stream;
  *added = (Work){ work, data, NULL };
  pthread_mutex_lock (&device.lock);
  if (!device.begun && pthread_create (&thread, NULL, stream_thread, NULL) == 0)
    pthread_detach (thread);
  if (!device.begun)
    device.last = &device.first;
  device.begun = 1;
  *device.last = added;
  device.last = &added->next;
  pthread_cond_signal (&device.changed);
  pthread_mutex_unlock (&device.lock);
}

static int
idle (void *owner)
{
  (void)owner;
  pthread_mutex_lock (&device.lock);
  int none = device.first == NULL;
  pthread_mutex_unlock (&device.lock);
  return none;
}

/* ---- what a device does for sums ---- */

typedef struct Adding {
  const double *parts;
  size_t each, n;
  int n_parts;
  double *out;
} Adding;

static void
add_work (void *data)
{
  Adding *a = data;
  for (size_t i = 0; i < a->n; i++) {
    double sum = a->parts[i];
    for (int p = 1; p < a->n_parts; p++)
      sum += a->parts[(size_t)p * a->each + i];
    a->out[i] = sum;
  }
  free (a);
}

static SbkStatus
add (void *owner, const double *parts, size_t each, int n_parts, double *out, size_t n, SbkError *error)
{
  Adding *a = malloc (sizeof *a);
  (void)owner;
  (void)error;
  *a = (Adding){ parts, each, n, n_parts, out };
  push (NULL, add_work, a);
  return SBK_OK;
}

static SbkStatus
copy (void *owner, double *to, const double *from, size_t n, SbkError *error)
{
  return add (owner, from, 0, 1, to, n, error);
}

static double *
room (void *owner, size_t n, SbkError *error)
{
  (void)owner;
  (void)error;
  if (n > device.room_size) {
    free (device.room);
    device.room = malloc (n * sizeof *device.room);
    device.room_size = n;
  }
  return device.room;
}

static int
enter (void *owner)
{
  (void)owner;
  return 0;
}

static SbkStatus
check (SbkContext *context, char name[SBK_DEVICE_TEXT], SbkError *error)
{
  (void)context;
  return together_check (name, error);
}

static SbkStatus
make_id (SbkContext *context, uint8_t id[SBK_ID], SbkError *error)
{
  (void)context;
  return together_id (id, error);
}

static SbkStatus
join (SbkContext *context, const uint8_t id[SBK_ID], int rank, int size, int (*stop) (void *data), void *data, SbkError *error)
{
  TogetherDevice how = { context, &device.shown, enter, room, add, copy, idle };
  device.shown.push = push;
  device.rank = rank;
  return together_join (&device.together, &how, id, rank, size, stop, data, error);
}

static void
leave (SbkContext *context)
{
  (void)context;
  together_leave (device.together);
  device.together = NULL;
}

static uint64_t
sent (SbkContext *context)
{
  (void)context;
  return together_sent (device.together);
}

/* ---- passes ---- */

/* Whatever comes of it, nothing of the stream touches values afterwards: they are the caller's to free. */
static SbkStatus
sum_if (SbkStatus status, double *values, size_t n, SbkError *error)
{
  status = status == SBK_OK ? together_sum (device.together, values, n, error) : status;
  while (!idle (NULL))
    usleep (100);
  return status;
}

/* [count][3], complete; to be freed. */
static double *
complete_sums (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, double *value, const int *cancel,
               SbkStatus *status, SbkError *error)
{
  int64_t n = sbk_view_count (view);
  double *sums = calloc ((size_t)n * 3 + 1, sizeof *sums);
  *status = sum_if (sbk_cpu.value_sums (s, view, precise, 1, model, sums, cancel, error), sums, (size_t)n * 3, error);
  *value = 0;
  for (int64_t q = 0; q < n; q += SBK_LANES)
    *value += sbk_block_value (sums + 3 * q, n - q < SBK_LANES ? n - q : SBK_LANES);
  return sums;
}

static SbkStatus
value (SbkSpectrum *s, const SbkView *view, int precise, int64_t n_models, const SbkModel *models, double *values,
       const int *cancel, SbkError *error)
{
  SbkStatus status = SBK_OK;
  if (!view->together)
    return sbk_cpu.value (s, view, precise, n_models, models, values, cancel, error);
  for (int64_t m = 0; m < n_models && status == SBK_OK; m++)
    free (complete_sums (s, view, precise, models + m, values + m, cancel, &status, error));
  return status;
}

static SbkStatus
gradient (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, double *of, double out[SBK_N],
          const int *cancel, SbkError *error)
{
  SbkStatus status;
  if (!view->together)
    return sbk_cpu.gradient (s, view, precise, model, of, out, cancel, error);
  double *sums = complete_sums (s, view, precise, model, of, cancel, &status, error);
  memset (out, 0, SBK_N * sizeof *out);
  if (status == SBK_OK)
    status = sum_if (sbk_cpu.gradient_part (s, view, precise, model, sums, NULL, out, cancel, error), out, SBK_N, error);
  free (sums);
  return status;
}

static SbkStatus
geometry (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, double *of, double out[2], const int *cancel,
          SbkError *error)
{
  SbkStatus status;
  if (!view->together)
    return sbk_cpu.geometry (s, view, precise, model, of, out, cancel, error);
  double *sums = complete_sums (s, view, precise, model, of, cancel, &status, error);
  out[0] = out[1] = 0;
  if (status == SBK_OK)
    status = sum_if (sbk_cpu.geometry_part (s, view, precise, model, sums, NULL, out, cancel, error), out, 2, error);
  free (sums);
  return status;
}

static SbkStatus
hessian (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, int n, const int *chosen, double *of,
         double *first_out, double *out, const int *cancel, SbkError *error)
{
  SbkStatus status;
  if (!view->together)
    return sbk_cpu.hessian (s, view, precise, model, n, chosen, of, first_out, out, cancel, error);
  double *sums = complete_sums (s, view, precise, model, of, cancel, &status, error);
  size_t blocks = (size_t)sbk_view_blocks (view), firsts = blocks * (size_t)sbk_carry_first (n);
  double *first = calloc (firsts + blocks * (size_t)sbk_carry_second (n) + 1, sizeof *first), *second = first + firsts;
  memset (first_out, 0, (size_t)n * sizeof *first_out);
  memset (out, 0, (size_t)(n * n) * sizeof *out);
  if (status == SBK_OK)
    status = sbk_cpu.hessian_part (s, view, precise, model, n, chosen, sums, first, second, cancel, error);
  status = sum_if (status, first, firsts, error);
  if (device.rank != 0)
    memset (first, 0, firsts * sizeof *first);
  if (status == SBK_OK)
    status = sbk_cpu.hessian_end (s->context, view, n, sums, first, second, first_out, out, error);
  status = sum_if (status, first_out, (size_t)n, error);
  status = sum_if (status, out, (size_t)(n * n), error);
  free (first);
  free (sums);
  return status;
}

static SbkStatus
power (SbkSpectrum *s, const SbkView *view, double *out, SbkError *error)
{
  SbkStatus status = sbk_cpu.power (s, view, out, error);
  return view->together ? sum_if (status, out, 1, error) : status;
}

static SbkStatus
sums (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, const SbkFine *fine, SbkSumKind kind,
      double *out, const int *cancel, SbkError *error)
{
  SbkStatus status = sbk_cpu.sums (s, view, precise, model, fine, kind, out, cancel, error);
  return view->together ? sum_if (status, out, (size_t)(fine->n * sbk_sum_width (kind)), error) : status;
}

static SbkStatus
aliases (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, const SbkAliases *groups, double *out,
         const int *cancel, SbkError *error)
{
  SbkStatus status = sbk_cpu.aliases (s, view, precise, model, groups, out, cancel, error);
  return view->together ? sum_if (status, out, (size_t)groups->place[groups->n_groups], error) : status;
}

static SbkStatus
alias_gradient (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, const SbkAliases *groups,
                const double *x, double out[SBK_N], const int *cancel, SbkError *error)
{
  SbkStatus status = sbk_cpu.alias_gradient (s, view, precise, model, groups, x, out, cancel, error);
  return view->together ? sum_if (status, out, SBK_N, error) : status;
}

/* ---- the device ---- */

static SbkStatus
describe (SbkContext *context, SbkDevice *of, SbkError *error)
{
  const char *which = getenv ("CUDA_VISIBLE_DEVICES");
  (void)context;
  (void)error;
  snprintf (of->id, sizeof of->id, "none-%.40s", which != NULL ? which : "0");
  snprintf (of->name, sizeof of->name, "no GPU %.40s", which != NULL ? which : "0");
  return SBK_OK;
}

static uint64_t
memory (SbkContext *context)
{
  const char *text = getenv ("FAKE_DEVICE_MEMORY");
  (void)context;
  return text != NULL ? strtoull (text, NULL, 10) : (uint64_t)8 << 30;
}

static int
score (void)
{
  return 10;
}

__attribute__ ((visibility ("default"))) const SbkBackend *sbk_module_backend (void);

const SbkBackend *
sbk_module_backend (void)
{
  static const SbkTogether together = { check, make_id, join, leave, sent };
  static SbkBackend backend;
  backend = sbk_cpu;
  backend.name = "cuda";
  backend.score = score;
  backend.device = describe;
  backend.memory = memory;
  backend.together = &together;
  backend.value = value;
  backend.gradient = gradient;
  backend.geometry = geometry;
  backend.hessian = hessian;
  backend.power = power;
  backend.sums = sums;
  backend.aliases = aliases;
  backend.alias_gradient = alias_gradient;
  return &backend;
}
