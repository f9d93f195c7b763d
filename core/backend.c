/* Which kernel table computes: the CPU's, or that of a module opened at run time. */
#include "core/backend.h"

#include <dlfcn.h>

#include "core/error.h"
#include "core/module.h"

typedef const SbkBackend *(*ModuleBackend) (void);

/* The module's table; NULL with a sentence. Modules stay open: kernels and contexts outlive sessions. */
static const SbkBackend *
open_module (const char *given, GError **error)
{
  const char *file = "libsideband_cuda.so";
  g_autofree char *beside = given == NULL ? module_beside (file, "kernels/cuda") : NULL;
  const char *path = given != NULL ? given : beside != NULL ? beside : file;
  void *module = dlopen (path, RTLD_NOW | RTLD_LOCAL);
  if (module == NULL) {
    sb_fail (error, SB_ERROR_BACKEND, "The CUDA module could not be opened (%s); give cuda_module or backend = cpu.",
             dlerror ());
    return NULL;
  }
  ModuleBackend get = (ModuleBackend)dlsym (module, "sbk_module_backend");
  const SbkBackend *backend = get != NULL ? get () : NULL;
  if (backend == NULL || backend->abi != SBK_ABI) {
    sb_fail (error, SB_ERROR_BACKEND,
             "The CUDA module %s belongs to another version of the library; install both from one "
             "release or give backend = cpu.",
             path);
    return NULL;
  }
  if (backend->score () <= 0) {
    sb_fail (error, SB_ERROR_BACKEND, "There is no usable NVIDIA GPU (or its driver does not run); give backend = cpu.");
    return NULL;
  }
  return backend;
}

const SbkBackend *
backend_choose (const char *name, const char *cuda_module, GError **error)
{
  if (g_strcmp0 (name, "cpu") == 0)
    return &sbk_cpu;
  if (g_strcmp0 (name, "cuda") == 0)
    return open_module (cuda_module, error);
  const SbkBackend *module = open_module (cuda_module, NULL);
  return module != NULL && module->score () > sbk_cpu.score () ? module : &sbk_cpu;
}
