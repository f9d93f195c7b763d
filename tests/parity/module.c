/* The module under test, and the threads of a program without the library. */
#include "tests/parity/parity.h"

#include <dlfcn.h>
#include <stddef.h>

const SbkBackend *
parity_module (const char *path, const char **reason)
{
  void *module = dlopen (path, RTLD_NOW | RTLD_LOCAL);
  *reason = module == NULL ? dlerror () : "no sbk_module_backend in it";
  const SbkBackend *(*get) (void) = module == NULL ? NULL : (const SbkBackend *(*)(void))dlsym (module, "sbk_module_backend");
  if (get == NULL)
    return NULL;
  const SbkBackend *backend = get ();
  *reason = backend->abi != SBK_ABI ? "another ABI" : "no usable GPU here";
  return backend->abi == SBK_ABI && backend->score () > 0 ? backend : NULL;
}

static void
run_serial (void *pool, int64_t n, SbkTask task, void *data)
{
  (void)pool;
  for (int64_t i = 0; i < n; i++)
    task (i, 0, data);
}

SbkThreads
parity_threads (void)
{
  SbkThreads threads = { 1, run_serial, NULL };
  return threads;
}
