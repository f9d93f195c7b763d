#include "tests/bench/load_files.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/parity/bslz4.h"

enum { DISTINCT = 512 };

/* ---- threads that wait for work, as the library's do ---- */

static struct Pool {
  pthread_mutex_t lock;
  pthread_cond_t begin, end;
  unsigned threads, running;
  unsigned long call;
  SbkTask task;
  void *data;
  int64_t n, next;
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER, .begin = PTHREAD_COND_INITIALIZER, .end = PTHREAD_COND_INITIALIZER };

static void
work (unsigned worker)
{
  for (;;) {
    int64_t i = __atomic_fetch_add (&pool.next, 1, __ATOMIC_RELAXED);
    if (i >= pool.n)
      return;
    pool.task (i, worker, pool.data);
  }
}

static void *
wait_for_work (void *number)
{
  unsigned long seen = 0;
  for (;;) {
    pthread_mutex_lock (&pool.lock);
    while (pool.call == seen)
      pthread_cond_wait (&pool.begin, &pool.lock);
    seen = pool.call;
    pthread_mutex_unlock (&pool.lock);
    work ((unsigned)(size_t)number);
    pthread_mutex_lock (&pool.lock);
    if (--pool.running == 0)
      pthread_cond_signal (&pool.end);
    pthread_mutex_unlock (&pool.lock);
  }
  return NULL;
}

void
load_pool_run (void *unused, int64_t n, SbkTask task, void *data)
{
  (void)unused;
  pthread_mutex_lock (&pool.lock);
  pool.task = task;
  pool.data = data;
  pool.n = n;
  pool.next = 0;
  pool.running = pool.threads - 1;
  pool.call++;
  pthread_cond_broadcast (&pool.begin);
  pthread_mutex_unlock (&pool.lock);
  work (0);
  pthread_mutex_lock (&pool.lock);
  while (pool.running > 0)
    pthread_cond_wait (&pool.end, &pool.lock);
  pthread_mutex_unlock (&pool.lock);
}

/* ---- the files ---- */

static uint8_t *distinct[DISTINCT];
static size_t distinct_size[DISTINCT];

static double
uniform (uint64_t *state)
{
  *state = *state * 6364136223846793005ull + 1442695040888963407ull;
  return ((double)(*state >> 33) + 0.5) / 2147483648.0;
}

static unsigned
poisson (double mean, uint64_t *state)
{
  double limit = exp (-mean), p = 1;
  unsigned n = 0;
  for (;;) {
    p *= uniform (state);
    if (p <= limit)
      return n;
    n++;
  }
}

/* A disk of 53 pixels radius with 20 electrons a pixel, one in twenty pixels outside. */
static void
make_distinct (int64_t i, unsigned worker, void *data)
{
  uint64_t state = (uint64_t)i * 2654435761u + 12345;
  uint16_t *frame = malloc (BYTES);
  (void)worker;
  (void)data;
  for (int p = 0; p < PIXELS; p++) {
    double r = hypot (p / SIDE - 95.5, p % SIDE - 95.5);
    frame[p] = (uint16_t)poisson (r < 53 ? 20 : 0.05, &state);
  }
  distinct[i] = malloc (bslz4_bound (BYTES, 8192));
  distinct_size[i] = bslz4_encode (SBK_FILTER_BITSHUFFLE_LZ4, (uint8_t *)frame, BYTES, 2, 8192, 0, distinct[i]);
  free (frame);
}

void
load_file_name (const char *folder, int64_t file, char name[512])
{
  snprintf (name, 512, "%s/bench_%06lld.bin", folder, (long long)file);
}

static void
write_file (int64_t file, unsigned worker, void *data)
{
  const Files *files = data;
  char name[512];
  load_file_name (files->folder, file, name);
  FILE *to = fopen (name, "wb");
  uint64_t at = 0;
  (void)worker;
  for (int64_t f = file * A_FILE; to != NULL && f < (file + 1) * A_FILE && f < files->frames; f++) {
    int which = (int)((uint64_t)f * 2654435761u >> 7 & (DISTINCT - 1));
    files->place[f] = (Place){ (int)file, (uint32_t)distinct_size[which], at };
    at += fwrite (distinct[which], 1, distinct_size[which], to);
  }
  if (to == NULL || fclose (to) != 0) {
    perror (name);
    exit (1);
  }
}

void
load_pool_start (unsigned threads)
{
  pool.threads = threads;
  for (size_t t = 1; t < threads; t++) {
    pthread_t thread;
    pthread_create (&thread, NULL, wait_for_work, (void *)t);
  }
}

void
load_files_make (const Files *files)
{
  load_pool_run (NULL, DISTINCT, make_distinct, NULL);
  load_pool_run (NULL, (files->frames + A_FILE - 1) / A_FILE, write_file, (void *)files);
}
