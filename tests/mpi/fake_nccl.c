/* An NCCL that is none, as libnccl.so.2: the calls that kernels/cuda/together.c makes, between processes of one machine over
 * sockets. Refuses two processes on one device as NCCL does, unless FAKE_NCCL_SHARED is set. Works for the device that is none
 * (fake_stream.h); compiled with -DFAKE_CUDA, for a real GPU, so that several processes can be tested on one. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifdef FAKE_CUDA
#include <cuda_runtime.h>
#else
#include "tests/mpi/fake_stream.h"
#endif

#define EXPORT __attribute__ ((visibility ("default")))
enum { ID = 128, MOST = 64, SUCCESS = 0, SYSTEM_ERROR = 2, INVALID_USAGE = 5, CONNECT_MS = 30000, NAME = 64 };

typedef struct {
  char internal[ID];
} Id;

typedef struct Comm {
  int rank, size;
  int fd[MOST];
  int aborted;   /* atomic */
  int pending;   /* atomic: groups whose work has not ended */
  char *staging; /* page-locked, for a real device */
  size_t staging_size;
} Comm;

typedef struct Piece {
  char *at;
  size_t bytes, done;
  int peer, sends;
  void *on_device;
} Piece;

typedef struct Group {
  Comm *comm;
  int n;
  Piece piece[2 * MOST];
} Group;

static __thread Group open_group;
static __thread void *group_stream;

EXPORT int ncclGetVersion (int *version);
EXPORT int ncclGetUniqueId (Id *id);
EXPORT int ncclCommInitRank (void **out, int size, Id id, int rank);
EXPORT int ncclCommAbort (void *comm);
EXPORT int ncclCommGetAsyncError (void *comm, int *result);
EXPORT int ncclGroupStart (void);
EXPORT int ncclGroupEnd (void);
EXPORT int ncclSend (const void *from, size_t n, int type, int to, void *comm, void *stream);
EXPORT int ncclRecv (void *to, size_t n, int type, int from, void *comm, void *stream);
EXPORT const char *ncclGetErrorString (int result);

int
ncclGetVersion (int *version)
{
  *version = 29900;
  return SUCCESS;
}

const char *
ncclGetErrorString (int result)
{
  return result == INVALID_USAGE ? "duplicate GPU detected" : "unhandled system error";
}

int
ncclGetUniqueId (Id *id)
{
  struct timespec now;
  clock_gettime (CLOCK_REALTIME, &now);
  memset (id, 0, sizeof *id);
  snprintf (id->internal, sizeof id->internal, "%d-%ld-%ld", (int)getpid (), (long)now.tv_sec, now.tv_nsec);
  return SUCCESS;
}

/* ---- connecting ---- */

static socklen_t
address_of (const Id *id, int rank, struct sockaddr_un *address)
{
  memset (address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  int n = snprintf (address->sun_path + 1, sizeof address->sun_path - 1, "fake-nccl-%.60s-%d", id->internal, rank);
  return (socklen_t)(offsetof (struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static int
all_bytes (int fd, void *data, size_t n, int sends)
{
  for (size_t at = 0; at < n;) {
    ssize_t more = sends ? send (fd, (char *)data + at, n - at, MSG_NOSIGNAL) : recv (fd, (char *)data + at, n - at, 0);
    if (more <= 0)
      return 0;
    at += (size_t)more;
  }
  return 1;
}

typedef struct Hello {
  int rank;
  char device[NAME];
} Hello;

/* Lower ranks listen before higher ones find them. */
static int
connect_peers (Comm *comm, const Id *id, int *twice)
{
  struct sockaddr_un address;
  const char *device = getenv ("CUDA_VISIBLE_DEVICES");
  Hello own = { comm->rank, "" };
  snprintf (own.device, sizeof own.device, "%s", device != NULL ? device : "0");
  int listener = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  socklen_t length = address_of (id, comm->rank, &address);
  int good = listener >= 0 && bind (listener, (struct sockaddr *)&address, length) == 0 && listen (listener, MOST) == 0;
  for (int r = 0; good && r < comm->size - 1; r++) {
    Hello other = { r, "" };
    int fd = -1, waits = CONNECT_MS;
    if (r < comm->rank) {
      length = address_of (id, r, &address);
      fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      while (connect (fd, (struct sockaddr *)&address, length) != 0 && waits-- > 0)
        usleep (1000);
    } else {
      struct pollfd one = { listener, POLLIN, 0 };
      fd = poll (&one, 1, CONNECT_MS) == 1 ? accept (listener, NULL, NULL) : -1;
    }
    good = fd >= 0 && all_bytes (fd, &own, sizeof own, 1) && all_bytes (fd, &other, sizeof other, 0) && other.rank < comm->size;
    if (good) {
      comm->fd[other.rank] = fd;
      fcntl (fd, F_SETFL, O_NONBLOCK);
      *twice = *twice || strncmp (own.device, other.device, NAME) == 0;
    }
  }
  if (listener >= 0)
    close (listener);
  return good;
}

int
ncclCommInitRank (void **out, int size, Id id, int rank)
{
  int twice = 0;
  Comm *comm = calloc (1, sizeof *comm);
  *out = NULL;
  comm->rank = rank;
  comm->size = size;
  for (int r = 0; r < MOST; r++)
    comm->fd[r] = -1;
  if (size > MOST || !connect_peers (comm, &id, &twice))
    return SYSTEM_ERROR;
  if (twice && getenv ("FAKE_NCCL_SHARED") == NULL)
    return INVALID_USAGE;
  *out = comm;
  return SUCCESS;
}

/* Returns once no work of it touches memory any more, as NCCL does. */
int
ncclCommAbort (void *data)
{
  Comm *comm = data;
  __atomic_store_n (&comm->aborted, 1, __ATOMIC_RELEASE);
  while (__atomic_load_n (&comm->pending, __ATOMIC_ACQUIRE) > 0)
    usleep (100);
  for (int r = 0; r < comm->size; r++)
    if (comm->fd[r] >= 0)
      close (comm->fd[r]);
#ifdef FAKE_CUDA
  cudaFreeHost (comm->staging);
#endif
  free (comm);
  return SUCCESS;
}

int
ncclCommGetAsyncError (void *comm, int *result)
{
  (void)comm;
  *result = SUCCESS;
  return SUCCESS;
}

/* ---- groups ---- */

/* One step of a piece; a peer that is gone is waited for, as the hardware would. */
static void
go_on (const Comm *comm, Piece *piece)
{
  int fd = comm->fd[piece->peer];
  ssize_t n = piece->sends ? send (fd, piece->at + piece->done, piece->bytes - piece->done, MSG_NOSIGNAL)
                           : recv (fd, piece->at + piece->done, piece->bytes - piece->done, 0);
  if (n > 0)
    piece->done += (size_t)n;
  else if (n == 0 || (errno != EAGAIN && errno != EINTR))
    usleep (1000);
}

static void
group_work (void *data)
{
  Group *group = data;
  Comm *comm = group->comm;
  for (int left = 1; left > 0 && !__atomic_load_n (&comm->aborted, __ATOMIC_ACQUIRE);) {
    struct pollfd polled[2 * MOST];
    left = 0;
    for (int i = 0; i < group->n; i++) {
      Piece *piece = &group->piece[i];
      if (piece->done < piece->bytes)
        go_on (comm, piece);
      if (piece->done < piece->bytes)
        polled[left++] = (struct pollfd){ comm->fd[piece->peer], piece->sends ? POLLOUT : POLLIN, 0 };
    }
    if (left > 0)
      poll (polled, (nfds_t)left, 10);
  }
  free (group);
  __atomic_fetch_sub (&comm->pending, 1, __ATOMIC_RELEASE);
}

int
ncclGroupStart (void)
{
  memset (&open_group, 0, sizeof open_group);
  return SUCCESS;
}

static int
add_piece (void *at, size_t n, int peer, int sends, Comm *comm, void *stream)
{
  open_group.comm = comm;
  open_group.piece[open_group.n++] = (Piece){ at, n * sizeof (double), 0, peer, sends, at };
  group_stream = stream;
  return SUCCESS;
}

int
ncclSend (const void *from, size_t n, int type, int to, void *comm, void *stream)
{
  (void)type;
  return add_piece ((void *)from, n, to, 1, comm, stream);
}

int
ncclRecv (void *to, size_t n, int type, int from, void *comm, void *stream)
{
  (void)type;
  return add_piece (to, n, from, 0, comm, stream);
}

#ifdef FAKE_CUDA
/* Through page-locked memory; the stream is empty again when the next group begins. */
static int
push_group (Group *group)
{
  Comm *comm = group->comm;
  cudaStream_t stream = group_stream;
  size_t bytes = 0;
  int good = cudaStreamSynchronize (stream) == cudaSuccess;
  for (int i = 0; i < group->n; i++)
    bytes += group->piece[i].bytes;
  if (bytes > comm->staging_size) {
    cudaFreeHost (comm->staging);
    good = good && cudaMallocHost ((void **)&comm->staging, bytes) == cudaSuccess;
    comm->staging_size = bytes;
  }
  bytes = 0;
  Group *sent = malloc (sizeof *sent);
  for (int i = 0; i < group->n; i++) {
    Piece *piece = &group->piece[i];
    piece->at = comm->staging + bytes;
    bytes += piece->bytes;
    if (piece->sends && good)
      good = cudaMemcpyAsync (piece->at, piece->on_device, piece->bytes, cudaMemcpyDeviceToHost, stream) == cudaSuccess;
  }
  *sent = *group;
  if (good && cudaLaunchHostFunc (stream, group_work, sent) != cudaSuccess)
    good = 0;
  for (int i = 0; i < group->n && good; i++)
    if (!group->piece[i].sends)
      good = cudaMemcpyAsync (group->piece[i].on_device, group->piece[i].at, group->piece[i].bytes, cudaMemcpyHostToDevice,
                              stream)
             == cudaSuccess;
  free (group);
  return good ? SUCCESS : SYSTEM_ERROR;
}
#else
static int
push_group (Group *group)
{
  FakeStream *stream = group_stream;
  stream->push (stream, group_work, group);
  return SUCCESS;
}
#endif

int
ncclGroupEnd (void)
{
  if (open_group.n == 0)
    return SUCCESS;
  Group *group = malloc (sizeof *group);
  *group = open_group;
  __atomic_fetch_add (&group->comm->pending, 1, __ATOMIC_RELAXED);
  return push_group (group);
}
