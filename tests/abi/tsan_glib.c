/* For builds with ThreadSanitizer: GLib, which is not built with it, locks with futexes of its own, so that everything behind
 * a GMutex would seem a race. Linked into a test program, these stand before GLib's functions and tell what each one orders.
 * (GRWLock, threads and their joins go through pthreads, which ThreadSanitizer knows.) Nothing of ours is suppressed. Run with
 * G_SLICE=always-malloc: blocks of GLib's slices go from thread to thread under its locks as well. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <glib.h>

void __tsan_acquire (void *at);
void __tsan_release (void *at);
void AnnotateIgnoreWritesBegin (const char *file, int line);
void AnnotateIgnoreWritesEnd (const char *file, int line);

/* GLib's own function of that name. */
#define REAL(name)                                                                                                             \
  static __typeof__ (&name) found;                                                                                             \
  __typeof__ (&name) real = __atomic_load_n (&found, __ATOMIC_RELAXED);                                                        \
  if (real == NULL)                                                                                                            \
  __atomic_store_n (&found, real = (__typeof__ (&name))dlsym (RTLD_NEXT, #name), __ATOMIC_RELAXED)

void
g_mutex_lock (GMutex *mutex)
{
  REAL (g_mutex_lock);
  real (mutex);
  __tsan_acquire (mutex);
}

gboolean
g_mutex_trylock (GMutex *mutex)
{
  REAL (g_mutex_trylock);
  gboolean got = real (mutex);
  if (got)
    __tsan_acquire (mutex);
  return got;
}

void
g_mutex_unlock (GMutex *mutex)
{
  REAL (g_mutex_unlock);
  __tsan_release (mutex);
  real (mutex);
}

void
g_cond_wait (GCond *cond, GMutex *mutex)
{
  REAL (g_cond_wait);
  __tsan_release (mutex);
  real (cond, mutex);
  __tsan_acquire (mutex);
}

gboolean
g_cond_wait_until (GCond *cond, GMutex *mutex, gint64 end)
{
  REAL (g_cond_wait_until);
  __tsan_release (mutex);
  gboolean woken = real (cond, mutex, end);
  __tsan_acquire (mutex);
  return woken;
}

/* What is made once: the losers of the race see what the winner made. */
gboolean (g_once_init_enter) (volatile void *location)
{
  REAL (g_once_init_enter);
  gboolean first = real (location);
  __tsan_acquire ((void *)location);
  return first;
}

void (g_once_init_leave) (volatile void *location, gsize result)
{
  REAL (g_once_init_leave);
  __tsan_release ((void *)location);
  real (location, result);
}

typedef struct Once {
  GOnce *once;
  GThreadFunc func;
  gpointer arg;
} Once;

static gpointer
once_call (gpointer pointer)
{
  Once *call = pointer;
  gpointer value = call->func (call->arg);
  __tsan_release (call->once);
  return value;
}

gpointer
g_once_impl (GOnce *once, GThreadFunc func, gpointer arg)
{
  REAL (g_once_impl);
  Once call = { once, func, arg };
  gpointer value = real (once, once_call, &call);
  __tsan_acquire (once);
  return value;
}

/* What was pushed is seen by the thread that works on it. */
typedef struct Pool {
  GFunc func;
  gpointer user_data;
} Pool;

static void
pool_work (gpointer data, gpointer pointer)
{
  Pool *pool = pointer;
  __tsan_acquire (data);
  pool->func (data, pool->user_data);
}

GThreadPool *
g_thread_pool_new (GFunc func, gpointer user_data, gint most, gboolean exclusive, GError **error)
{
  REAL (g_thread_pool_new);
  Pool *pool = g_new (Pool, 1); /* as long as the program: pools are few */
  *pool = (Pool){ func, user_data };
  AnnotateIgnoreWritesBegin (__FILE__, __LINE__); /* GLib's own block, which the last of its threads frees */
  GThreadPool *made = real (pool_work, pool, most, exclusive, error);
  AnnotateIgnoreWritesEnd (__FILE__, __LINE__);
  return made;
}

gboolean
g_thread_pool_push (GThreadPool *pool, gpointer data, GError **error)
{
  REAL (g_thread_pool_push);
  __tsan_release (data);
  AnnotateIgnoreWritesBegin (__FILE__, __LINE__); /* its queue's own node, which a worker frees */
  gboolean pushed = real (pool, data, error);
  AnnotateIgnoreWritesEnd (__FILE__, __LINE__);
  return pushed;
}

void
g_thread_pool_free (GThreadPool *pool, gboolean immediate, gboolean wait)
{
  REAL (g_thread_pool_free);
  AnnotateIgnoreWritesBegin (__FILE__, __LINE__); /* as above: what wakes the workers up */
  real (pool, immediate, wait);
  AnnotateIgnoreWritesEnd (__FILE__, __LINE__);
}
