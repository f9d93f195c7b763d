/* libsideband_mpi.so: the only code that sees MPI. It is opened when a session asks for it, so that the library runs where
 * there is no MPI at all. */
#include "mpi/module.h"

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Counts of MPI are of type int; larger pieces go in several messages. */
enum { PIECE = 1 << 30 };

struct SbMpiExchange {
  int n;
  MPI_Request request[];
};

static MPI_Comm comm = MPI_COMM_NULL;
static int world_rank, world_size;
static int begun_here; /* and not by the host */

static int
failed (int code, char message[SB_MPI_MESSAGE])
{
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string (code, text, &length);
  for (int i = 0; i < length; i++)
    if (text[i] == '\n')
      text[i] = ' ';
  snprintf (message, SB_MPI_MESSAGE, "%.400s", text);
  return -1;
}

static int
begin_library (char message[SB_MPI_MESSAGE])
{
  int begun = 0, ended = 0, level = MPI_THREAD_SINGLE;
  MPI_Initialized (&begun);
  MPI_Finalized (&ended);
  if (ended) {
    snprintf (message, SB_MPI_MESSAGE, "MPI has ended in this process and cannot be begun again; keep one session");
    return -1;
  }
  if (begun)
    MPI_Query_thread (&level);
  else if (MPI_Init_thread (NULL, NULL, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS) {
    snprintf (message, SB_MPI_MESSAGE, "MPI_Init_thread failed");
    return -1;
  }
  begun_here = !begun;
  if (level >= MPI_THREAD_SERIALIZED)
    return 0;
  snprintf (message, SB_MPI_MESSAGE, "this MPI may only be used by the thread that began it, or was begun so");
  return -1;
}

static int
begin (SbMpiWorld *world, char message[SB_MPI_MESSAGE])
{
  MPI_Comm local;
  if (begin_library (message) != 0)
    return -1;
  int code = MPI_Comm_dup (MPI_COMM_WORLD, &comm);
  if (code != MPI_SUCCESS)
    return failed (code, message);
  MPI_Comm_set_errhandler (comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank (comm, &world->rank);
  MPI_Comm_size (comm, &world->size);
  code = MPI_Comm_split_type (comm, MPI_COMM_TYPE_SHARED, world->rank, MPI_INFO_NULL, &local);
  if (code != MPI_SUCCESS)
    return failed (code, message);
  MPI_Comm_rank (local, &world->local_rank);
  MPI_Comm_size (local, &world->local_size);
  MPI_Comm_free (&local);
  world_rank = world->rank;
  world_size = world->size;
  return 0;
}

static size_t
pieces (const size_t *bytes)
{
  size_t n = 0;
  for (int r = 0; r < world_size; r++)
    if (r != world_rank)
      n += (bytes[r] + PIECE - 1) / PIECE;
  return n;
}

/* Receives first, and from each rank on its own distance, so that not all of them turn to rank 0 at once. */
static int
post (SbMpiExchange *exchange, int tag, const char *send, const size_t *send_n, const size_t *send_at, char *recv,
      const size_t *recv_n, const size_t *recv_at)
{
  int code = MPI_SUCCESS;
  for (int d = 1; d < world_size; d++) {
    int r = (world_rank + world_size - d) % world_size;
    for (size_t at = 0; code == MPI_SUCCESS && at < recv_n[r]; at += PIECE) {
      int n = (int)(recv_n[r] - at < PIECE ? recv_n[r] - at : PIECE);
      code = MPI_Irecv (recv + recv_at[r] + at, n, MPI_BYTE, r, tag, comm, &exchange->request[exchange->n]);
      exchange->n += code == MPI_SUCCESS;
    }
  }
  for (int d = 1; d < world_size; d++) {
    int r = (world_rank + d) % world_size;
    for (size_t at = 0; code == MPI_SUCCESS && at < send_n[r]; at += PIECE) {
      int n = (int)(send_n[r] - at < PIECE ? send_n[r] - at : PIECE);
      code = MPI_Isend (send + send_at[r] + at, n, MPI_BYTE, r, tag, comm, &exchange->request[exchange->n]);
      exchange->n += code == MPI_SUCCESS;
    }
  }
  return code;
}

static SbMpiExchange *
start (int tag, const void *send, const size_t *send_n, const size_t *send_at, void *recv, const size_t *recv_n,
       const size_t *recv_at, char message[SB_MPI_MESSAGE])
{
  size_t n = pieces (send_n) + pieces (recv_n);
  SbMpiExchange *exchange = malloc (sizeof *exchange + n * sizeof exchange->request[0]);
  if (exchange == NULL) {
    snprintf (message, SB_MPI_MESSAGE, "there is no memory for its messages");
    return NULL;
  }
  exchange->n = 0;
  if (send_n[world_rank] > 0)
    memcpy ((char *)recv + recv_at[world_rank], (const char *)send + send_at[world_rank], send_n[world_rank]);
  int code = post (exchange, tag, send, send_n, send_at, recv, recv_n, recv_at);
  if (code == MPI_SUCCESS)
    return exchange;
  failed (code, message); /* what was posted stays posted: nobody knows whether its buffers are in use */
  return NULL;
}

static int
test (SbMpiExchange *exchange, char message[SB_MPI_MESSAGE])
{
  int done = 0, code = MPI_Testall (exchange->n, exchange->request, &done, MPI_STATUSES_IGNORE);
  if (code != MPI_SUCCESS)
    return failed (code, message);
  if (done)
    free (exchange);
  return done;
}

static void
end (void)
{
  if (begun_here)
    MPI_Finalize ();
  else
    MPI_Comm_free (&comm);
}

__attribute__ ((visibility ("default"))) const SbMpi *sb_mpi_module (void);

const SbMpi *
sb_mpi_module (void)
{
  static const SbMpi module = { SB_MPI_ABI, begin, start, test, end };
  return &module;
}
