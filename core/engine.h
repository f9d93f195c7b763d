/* What computes: the kernel table in use, its context and the threads. Belongs to a session. */
#ifndef SB_CORE_ENGINE_H
#define SB_CORE_ENGINE_H

#include <glib.h>

#include "core/param.h"
#include "core/progress.h"
#include "kernels/backend.h"

typedef struct SbEngineOptions {
  char *backend;   /* auto | cpu | cuda */
  char *engine;    /* auto | local | mpi */
  char *precision; /* single | double */
  gint64 threads;  /* 0: as many as the process may use (SIDEBAND_THREADS, affinity) */
  double memory;   /* GB the library may use; NAN: no limit but the machine's */
  char *cuda_module;
} SbEngineOptions;

extern const SbParamGroup engine_params; /* rows backend, precision, threads, memory, cuda_module */

/* Adds up numbers over the processes that share the pixels of one G, the same bits in each; blocks until all have called. */
typedef struct SbReduce {
  int rank, size;
  gboolean (*sum) (gpointer comm, double *values, gsize n, GError **error);
  gpointer comm;
  gboolean on_devices; /* their GPUs add up among themselves where a view says together (core/devices.h) */
} SbReduce;

/* The processes that work together (core/ranks.h). */
typedef struct SbRanks SbRanks;

typedef struct SbEngine {
  const SbkBackend *backend;
  SbkContext *context;
  gboolean precise; /* float64 pairs and float64 G */
  guint threads;
  guint64 memory; /* bytes; 0: no limit */
  GThreadPool *pool;
  GPid owner;                /* a forked child cannot use it */
  const SbReduce *reduce;    /* borrowed; NULL: this process has all pixels */
  SbRanks *ranks;            /* NULL: alone */
  struct SbDevices *devices; /* of all ranks; NULL: alone */
  guint neighbours;          /* processes of this machine that work together, this one too */
} SbEngine;

SbEngine *engine_new (const SbEngineOptions *options, GError **error);
/* One of `parts` that compute side by side as this one computes: with their share of its threads and memory. */
SbEngine *engine_new_share (const SbEngine *engine, guint parts, GError **error);
void engine_free (SbEngine *engine);
/* FALSE with SB_ERROR_FORKED in another process than the one that made it. */
gboolean engine_check (const SbEngine *engine, GError **error);

/* Runs task (i, worker, data) for i in [0, n) on the engine's threads and returns when all are done; worker < threads.
 * Which thread runs which i is not fixed: a task may only write what belongs to its i. May not be nested. */
typedef void (*SbTask) (gint64 i, guint worker, gpointer data);
void engine_parallel (SbEngine *engine, gint64 n, SbTask task, gpointer data);

#endif
