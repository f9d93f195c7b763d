#include "tests/abi/failing_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

static gint64 fails, count; /* atomic */
static gsize failed, largest_fatal;

void
failing_memory_arm (gint64 n)
{
  __atomic_store_n (&failed, 0, __ATOMIC_RELAXED);
  __atomic_store_n (&largest_fatal, 0, __ATOMIC_RELAXED);
  __atomic_store_n (&count, 0, __ATOMIC_RELAXED);
  __atomic_store_n (&fails, n, __ATOMIC_SEQ_CST);
}

gint64
failing_memory_count (void)
{
  return __atomic_load_n (&count, __ATOMIC_SEQ_CST);
}

gsize
failing_memory_failed (void)
{
  return __atomic_load_n (&failed, __ATOMIC_SEQ_CST);
}

gsize
failing_memory_largest_fatal (void)
{
  return __atomic_load_n (&largest_fatal, __ATOMIC_SEQ_CST);
}

static gboolean
strikes (gsize bytes)
{
  if (__atomic_add_fetch (&count, 1, __ATOMIC_SEQ_CST) != __atomic_load_n (&fails, __ATOMIC_SEQ_CST))
    return FALSE;
  __atomic_store_n (&failed, MAX (bytes, 1), __ATOMIC_SEQ_CST);
  errno = ENOMEM;
  return TRUE;
}

static void
note_fatal (gsize bytes)
{
  gsize seen = __atomic_load_n (&largest_fatal, __ATOMIC_RELAXED);
  while (bytes > seen && !__atomic_compare_exchange_n (&largest_fatal, &seen, bytes, FALSE, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    ;
}

/* ---- what may fail ---- */

#define MAY_FAIL(name, parameters, arguments, bytes)                                                                           \
  gpointer __real_##name parameters;                                                                                           \
  gpointer __wrap_##name parameters;                                                                                           \
  gpointer __wrap_##name parameters                                                                                            \
  {                                                                                                                            \
    return strikes (bytes) ? NULL : __real_##name arguments;                                                                   \
  }

MAY_FAIL (malloc, (size_t n), (n), n)
MAY_FAIL (calloc, (size_t n, size_t size), (n, size), n *size)
MAY_FAIL (realloc, (void *p, size_t n), (p, n), n)
MAY_FAIL (g_try_malloc, (gsize n), (n), n)
MAY_FAIL (g_try_malloc0, (gsize n), (n), n)
MAY_FAIL (g_try_malloc_n, (gsize n, gsize size), (n, size), n *size)
MAY_FAIL (g_try_malloc0_n, (gsize n, gsize size), (n, size), n *size)
MAY_FAIL (g_try_realloc, (gpointer p, gsize n), (p, n), n)

void *__real_mmap (void *at, size_t bytes, int access, int flags, int file, off_t offset);
void *__wrap_mmap (void *at, size_t bytes, int access, int flags, int file, off_t offset);
void *
__wrap_mmap (void *at, size_t bytes, int access, int flags, int file, off_t offset)
{
  return strikes (bytes) ? MAP_FAILED : __real_mmap (at, bytes, access, flags, file, offset);
}

/* ---- what ends the program ---- */

#define FATAL(name, parameters, arguments, bytes)                                                                              \
  gpointer __real_##name parameters;                                                                                           \
  gpointer __wrap_##name parameters;                                                                                           \
  gpointer __wrap_##name parameters                                                                                            \
  {                                                                                                                            \
    note_fatal (bytes);                                                                                                        \
    return __real_##name arguments;                                                                                            \
  }

FATAL (g_malloc, (gsize n), (n), n)
FATAL (g_malloc0, (gsize n), (n), n)
FATAL (g_malloc_n, (gsize n, gsize size), (n, size), n *size)
FATAL (g_malloc0_n, (gsize n, gsize size), (n, size), n *size)
FATAL (g_realloc, (gpointer p, gsize n), (p, n), n)
FATAL (g_realloc_n, (gpointer p, gsize n, gsize size), (p, n, size), n *size)
FATAL (g_memdup2, (gconstpointer p, gsize n), (p, n), n)
