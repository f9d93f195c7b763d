/* The GPUs of the processes that work together (core/ranks.h): which is whose, how many share one, and whether their sums go
 * from GPU to GPU. Where a rank has a GPU of its own, and NCCL is there, passes add up on the devices (SbkTogether); else sums
 * go through the host's memory and MPI. */
#ifndef SB_CORE_DEVICES_H
#define SB_CORE_DEVICES_H

#include <jansson.h>

#include "core/ranks.h"

typedef struct SbDevices SbDevices;

/* Shows this rank one GPU of its machine, by its number there, before anything opens one. */
void devices_choose (const SbRanks *ranks);
/* Every rank's device, once its context is open; connects them. All ranks call it. FALSE: one of them is lost. */
gboolean devices_join (SbEngine *engine, SbRanks *ranks, GError **error);
void devices_leave (SbEngine *engine);
/* Once an engine, to the log: who shares a GPU, and what carries the sums. */
void devices_say (const SbEngine *engine);

/* Bytes of the device that are free for this process: a share of what all that use it see. Where they share a spectrum, all
 * call it. */
gboolean devices_memory (const SbEngine *engine, guint64 *bytes, GError **error);
/* Bytes that went from device to device since the last time. */
guint64 devices_sent (const SbEngine *engine);
/* Adds each rank's device, and the way that sums go, to what a result says of the ranks. */
void devices_report (const SbEngine *engine, json_t *report);

#endif
