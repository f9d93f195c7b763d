#include "core/engine.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/backend.h"
#include "core/devices.h"
#include "core/error.h"
#include "core/ranks.h"

static const char *const precisions[] = { "single", "double", NULL };
static const char *const backends[] = { "auto", "cpu", "cuda", NULL };
static const char *const engines[] = { "auto", "local", "mpi", NULL };

static const SbParam rows[] = {
  { "backend", "Backend", "", "What computes: a GPU where there is one (auto), or the named one.", SB_PARAM_CHOICE,
    G_STRUCT_OFFSET (SbEngineOptions, backend), NAN, "auto", 0, 0, 0, 0, backends, NULL, SB_PARAM_NO_RECORD },
  { "engine", "Processes", "",
    "Whether this process works alone (local) or shares each acquisition with those that mpirun started "
    "beside it (mpi); auto: with them, where there are any.",
    SB_PARAM_CHOICE, G_STRUCT_OFFSET (SbEngineOptions, engine), NAN, "auto", 0, 0, 0, 0, engines, NULL,
    SB_PARAM_NO_RECORD | SB_PARAM_ADVANCED },
  { "precision", "Precision", "", "Arithmetic of a (q, k) pair: single, or double for checking.", SB_PARAM_CHOICE,
    G_STRUCT_OFFSET (SbEngineOptions, precision), NAN, "single", 0, 0, 0, 0, precisions, NULL, SB_PARAM_ADVANCED },
  { "threads", "Threads", "", "Threads of the CPU; 0 takes all that the process may use.", SB_PARAM_INT,
    G_STRUCT_OFFSET (SbEngineOptions, threads), 0, NULL, 0, 1024, 0, 64, NULL, NULL, SB_PARAM_NO_RECORD | SB_PARAM_ADVANCED },
  { "memory", "Memory", "GB", "Memory the library may use; not given: the machine's.", SB_PARAM_DOUBLE,
    G_STRUCT_OFFSET (SbEngineOptions, memory), NAN, NULL, 0.05, 1e5, 1, 64, NULL, NULL,
    SB_PARAM_NO_RECORD | SB_PARAM_ADVANCED },
  { "cuda_module", "CUDA module", "", "File of the CUDA module where it does not lie beside the library.", SB_PARAM_PATH,
    G_STRUCT_OFFSET (SbEngineOptions, cuda_module), NAN, NULL, 0, 0, 0, 0, NULL, NULL, SB_PARAM_NO_RECORD | SB_PARAM_ADVANCED },
};
const SbParamGroup engine_params = { "engine", "Engine", sizeof (SbEngineOptions), rows, G_N_ELEMENTS (rows) };

/* One call of engine_parallel: workers take the next index until none is left. */
typedef struct {
  SbTask task;
  gpointer data;
  gint64 n;
  gint64 next; /* atomic */
  guint running;
  GMutex mutex;
  GCond done;
} Batch;

typedef struct {
  Batch *batch;
  guint worker;
} Share;

static void
batch_work (Batch *batch, guint worker)
{
  for (;;) {
    gint64 i = __atomic_fetch_add (&batch->next, 1, __ATOMIC_RELAXED);
    if (i >= batch->n)
      return;
    batch->task (i, worker, batch->data);
  }
}

static void
pool_work (gpointer item, gpointer unused)
{
  Share *share = item;
  Batch *batch = share->batch;
  batch_work (batch, share->worker);
  g_mutex_lock (&batch->mutex);
  if (--batch->running == 0)
    g_cond_signal (&batch->done);
  g_mutex_unlock (&batch->mutex);
}

void
engine_parallel (SbEngine *engine, gint64 n, SbTask task, gpointer data)
{
  guint helpers = (guint)CLAMP (n - 1, 0, (gint64)engine->threads - 1);
  Batch batch = { .task = task, .data = data, .n = n, .running = helpers };
  Share shares[1024];
  g_mutex_init (&batch.mutex);
  g_cond_init (&batch.done);
  for (guint i = 0; i < helpers; i++) {
    shares[i] = (Share){ &batch, i + 1 };
    g_thread_pool_push (engine->pool, &shares[i], NULL);
  }
  batch_work (&batch, 0);
  g_mutex_lock (&batch.mutex);
  while (batch.running > 0)
    g_cond_wait (&batch.done, &batch.mutex);
  g_mutex_unlock (&batch.mutex);
  g_mutex_clear (&batch.mutex);
  g_cond_clear (&batch.done);
}

static void
kernel_parallel (void *pool, int64_t n, SbkTask task, void *data)
{
  engine_parallel (pool, n, (SbTask)task, data);
}

static guint
default_threads (void)
{
  const char *text = g_getenv ("SIDEBAND_THREADS");
  gint64 given = text != NULL ? g_ascii_strtoll (text, NULL, 10) : 0;
  cpu_set_t set;
  if (given > 0)
    return (guint)MIN (given, 1024);
  if (sched_getaffinity (0, sizeof set, &set) == 0 && CPU_COUNT (&set) > 0)
    return (guint)MIN (CPU_COUNT (&set), 1024);
  return MIN (g_get_num_processors (), 1024);
}

static SbEngine *
engine_open (const SbkBackend *backend, gboolean precise, guint threads, guint64 memory, GError **error)
{
  g_autoptr (GError) local = NULL;
  SbEngine *engine = g_new0 (SbEngine, 1);
  engine->backend = backend;
  engine->precise = precise;
  engine->threads = threads;
  engine->memory = memory;
  engine->owner = getpid ();
  engine->neighbours = 1;
  if (engine->threads > 1)
    engine->pool = g_thread_pool_new (pool_work, NULL, (gint)engine->threads - 1, TRUE, &local);
  if (local != NULL) {
    sb_fail (error, SB_ERROR_MEMORY, "%u threads could not be started (%s); give fewer threads.", engine->threads,
             local->message);
    engine_free (engine);
    return NULL;
  }
  SbkOpen how = { { engine->threads, kernel_parallel, engine }, engine->precise, NULL };
  SbkError kernel_error = { "" };
  SbkStatus status = engine->backend->open (&engine->context, &how, &kernel_error);
  if (status != SBK_OK) {
    sb_fail (error, status == SBK_NO_MEMORY ? SB_ERROR_MEMORY : SB_ERROR_BACKEND, "%s", kernel_error.message);
    engine_free (engine);
    return NULL;
  }
  return engine;
}

/* neighbours: processes of this machine, which share its processors where the launcher did not deal them out. */
static SbEngine *
engine_make (const SbEngineOptions *options, guint neighbours, GError **error)
{
  const SbkBackend *backend = backend_choose (options->backend, options->cuda_module, error);
  if (backend == NULL)
    return NULL;
  guint threads = default_threads ();
  if (threads == g_get_num_processors () || threads == (guint)sysconf (_SC_NPROCESSORS_ONLN))
    threads = MAX (threads / neighbours, 1);
  return engine_open (backend, g_strcmp0 (options->precision, "double") == 0,
                      options->threads > 0 ? (guint)options->threads : threads,
                      isnan (options->memory) ? 0 : (guint64)(options->memory * 1e9), error);
}

SbEngine *
engine_new (const SbEngineOptions *options, GError **error)
{
  if (!ranks_wanted (options->engine))
    return engine_make (options, 1, error);
  g_autoptr (GError) reason = NULL;
  SbRanks *ranks = ranks_open (error);
  if (ranks == NULL)
    return NULL;
  devices_choose (ranks);
  SbEngine *engine = engine_make (options, (guint)ranks->local_size, &reason);
  if (engine == NULL || !devices_join (engine, ranks, &reason)) {
    ranks_fail (ranks, reason);
    engine_free (engine);
    ranks_close (ranks);
    g_propagate_error (error, g_steal_pointer (&reason));
    return NULL;
  }
  engine->ranks = ranks;
  engine->neighbours = (guint)ranks->local_size;
  engine->reduce = ranks->size > 1 ? &ranks->reduce : NULL;
  return engine;
}

SbEngine *
engine_new_share (const SbEngine *engine, guint parts, GError **error)
{
  return engine_open (engine->backend, engine->precise, MAX (engine->threads / parts, 1),
                      engine->memory > 0 ? MAX (engine->memory / parts, 1) : 0, error);
}

void
engine_free (SbEngine *engine)
{
  if (engine == NULL)
    return;
  /* In a forked child the pool's threads do not exist: waiting for them would hang. */
  gboolean ours = engine->owner == getpid ();
  if (ours)
    devices_leave (engine);
  if (engine->context != NULL && ours)
    engine->backend->close (engine->context);
  if (engine->pool != NULL && ours)
    g_thread_pool_free (engine->pool, FALSE, TRUE);
  if (ours)
    ranks_close (engine->ranks);
  g_free (engine);
}

gboolean
engine_check (const SbEngine *engine, GError **error)
{
  if (engine->owner != getpid ())
    return sb_fail (error, SB_ERROR_FORKED,
                    "This process was forked from the one that made the session; make a new session (or use spawn).");
  return TRUE;
}
