/* What computes: the kernel table in use, its context and the threads. Belongs to a session. */
#ifndef SB_CORE_ENGINE_H
#define SB_CORE_ENGINE_H

#include <glib.h>

#include "core/param.h"
#include "core/progress.h"
#include "kernels/backend.h"

typedef struct SbEngineOptions {
  char *backend;    /* auto | cpu | cuda */
  char *precision;  /* single | double */
  gint64 threads;   /* 0: as many as the process may use (SIDEBAND_THREADS, affinity) */
  double memory;    /* GB the library may use; NAN: no limit but the machine's */
  char *cuda_module;
} SbEngineOptions;

extern const SbParamGroup engine_params; /* rows backend, precision, threads, memory, cuda_module */

typedef struct SbEngine {
  const SbkBackend *backend;
  SbkContext *context;
  gboolean precise;  /* float64 pairs and float64 G */
  guint threads;
  guint64 memory;    /* bytes; 0: no limit */
  GThreadPool *pool;
  GPid owner;        /* a forked child cannot use it */
} SbEngine;

SbEngine *engine_new (const SbEngineOptions *options, GError **error);
void engine_free (SbEngine *engine);
/* FALSE with SB_ERROR_FORKED in another process than the one that made it. */
gboolean engine_check (const SbEngine *engine, GError **error);

/* Runs task (i, worker, data) for i in [0, n) on the engine's threads and returns when all are done; worker < threads.
 * Which thread runs which i is not fixed: a task may only write what belongs to its i. May not be nested. */
typedef void (*SbTask) (gint64 i, guint worker, gpointer data);
void engine_parallel (SbEngine *engine, gint64 n, SbTask task, gpointer data);

#endif
