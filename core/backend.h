/* Which kernel table computes. */
#ifndef SB_CORE_BACKEND_H
#define SB_CORE_BACKEND_H

#include <glib.h>

#include "kernels/backend.h"

/* name: auto | cpu | cuda; cuda_module: file or NULL. NULL with SB_ERROR_BACKEND where the named one is not usable. */
const SbkBackend *backend_choose (const char *name, const char *cuda_module, GError **error);

#endif
