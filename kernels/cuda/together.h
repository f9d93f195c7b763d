/* Sums over the devices of several processes through NCCL, which is opened on demand and only sends and receives: numbers are
 * added here, in the order of the processes, so that neither its version nor the connections decide their bits. Plain C that
 * sees no CUDA: what a device does is in TogetherDevice. */
#ifndef SBK_TOGETHER_H
#define SBK_TOGETHER_H

#include "kernels/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Together Together;

/* All but enter and idle put work into the stream and return. */
typedef struct TogetherDevice {
  void *owner;
  void *stream;
  /* The calling thread works on the device from now on; not 0: it cannot. */
  int (*enter) (void *owner);
  /* n doubles on the device, until the next call with more. */
  double *(*room) (void *owner, size_t n, SbkError *error);
  /* out[n] = parts[0][n] + parts[1][n] + ..., in this order; `each` doubles from one to the next. */
  SbkStatus (*add) (void *owner, const double *parts, size_t each, int n_parts, double *out, size_t n, SbkError *error);
  SbkStatus (*copy) (void *owner, double *to, const double *from, size_t n, SbkError *error);
  /* Whether the stream's work has ended: 1, 0, or -1 where it failed. */
  int (*idle) (void *owner);
} TogetherDevice;

SbkStatus together_check (char name[SBK_DEVICE_TEXT], SbkError *error);
SbkStatus together_id (uint8_t id[SBK_ID], SbkError *error);
SbkStatus together_join (Together **out, const TogetherDevice *device, const uint8_t id[SBK_ID], int rank, int size,
                         int (*stop) (void *data), void *data, SbkError *error);
/* values[n] on the device become their sums over all; waits until they are there. */
SbkStatus together_sum (Together *together, double *values, size_t n, SbkError *error);
uint64_t together_sent (Together *together);
/* Waits for nobody; the others have to be through with their sums. */
void together_leave (Together *together);

#ifdef __cplusplus
}
#endif
#endif
