/* What libsideband_mpi.so gives the library: how the processes that a launcher started together find each other, and one
 * exchange between all of them. Everything else (sums, broadcasts, the watch over the others) is made of it in core/. */
#ifndef SIDEBAND_MPI_MODULE_H
#define SIDEBAND_MPI_MODULE_H

#include <stddef.h>

enum { SB_MPI_ABI = 1, SB_MPI_MESSAGE = 512 };

typedef struct SbMpiWorld {
  int rank, size;
  int local_rank, local_size; /* among those of this machine */
} SbMpiWorld;

/* Of an exchange that is under way. */
typedef struct SbMpiExchange SbMpiExchange;

typedef struct SbMpi {
  int abi; /* SB_MPI_ABI */
  /* Once a process. 0, or -1 with a sentence. */
  int (*begin) (SbMpiWorld *world, char message[SB_MPI_MESSAGE]);
  /* Bytes [send_at[r], send_at[r] + send_n[r]) go to rank r, what comes from it to recv_at[r]; the same tag (0 .. 32767) in
   * all. Buffers and lists stay the caller's and must live until test says that it is done. NULL with a sentence. */
  SbMpiExchange *(*start) (int tag, const void *send, const size_t *send_n, const size_t *send_at, void *recv,
                           const size_t *recv_n, const size_t *recv_at, char message[SB_MPI_MESSAGE]);
  /* 1: done (the exchange is freed), 0: not yet, -1: failed, with a sentence. */
  int (*test) (SbMpiExchange *exchange, char message[SB_MPI_MESSAGE]);
  /* Waits for the others. */
  void (*end) (void);
} SbMpi;

#endif
