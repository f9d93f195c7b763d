/* A look at an acquisition's file: a few frames, spread over the scan. */
#ifndef SB_CORE_LOOK_H
#define SB_CORE_LOOK_H

#include "core/acquisition.h"

enum { LOOK_FRAMES = 64 };
/* Mean [rows * cols] of at most n frames; what is not finite or masked counts as 0. */
float *look_mean (const SbAcquisition *acquisition, gint64 n, GError **error);

#endif
