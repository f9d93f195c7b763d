#include "core/module.h"

#include <dlfcn.h>

char *
module_beside (const char *file, const char *build_folder)
{
  Dl_info info;
  if (dladdr ((void *)module_beside, &info) == 0 || info.dli_fname == NULL)
    return NULL;
  g_autofree char *folder = g_path_get_dirname (info.dli_fname);
  char *path = g_build_filename (folder, file, NULL);
  if (g_file_test (path, G_FILE_TEST_EXISTS))
    return path;
  g_free (path);
  /* in a build folder: plugin/libsideband.so, kernels/cuda/libsideband_cuda.so */
  path = g_build_filename (folder, "..", build_folder, file, NULL);
  if (g_file_test (path, G_FILE_TEST_EXISTS))
    return path;
  g_free (path);
  return NULL;
}
