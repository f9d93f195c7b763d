/* What the device that is none and the NCCL that is none agree on: work that is done in order, by a thread of its own. */
#ifndef SB_TESTS_MPI_FAKE_STREAM_H
#define SB_TESTS_MPI_FAKE_STREAM_H

typedef struct FakeStream FakeStream;
struct FakeStream {
  void (*push) (FakeStream *stream, void (*work) (void *data), void *data);
};

#endif
