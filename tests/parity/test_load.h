/* Inside of test_load: a case, its frames on the host, and what both parts of the test do with them. */
#ifndef SB_TESTS_TEST_LOAD_H
#define SB_TESTS_TEST_LOAD_H

#include "tests/parity/bslz4.h"
#include "tests/parity/parity.h"

typedef struct Case {
  const char *name;
  SbkType type;
  int rows, cols, frames;
  SbkFilter filter;
  size_t block;            /* bytes */
  int swap, masked, plain; /* plain: every third frame stored without its filter */
  SbkType column;
  int batch; /* frames at once */
} Case;

/* Everything of a case on the host: frames, their stored form, the sums that must come out. */
typedef struct Truth {
  size_t pixels, bytes;
  uint8_t *frames, *mask, *stored;
  size_t *at, *size; /* [frames] */
  int *plain;
} Truth;

void truth_make (Truth *truth, const Case *c, uint64_t *state);
void truth_free (Truth *truth);
size_t load_type_bytes (SbkType type);
uint64_t load_random (uint64_t *state);
SbkFrames load_frames (const Case *c, const Truth *truth);
size_t load_buffer_bytes (const Truth *truth, const Case *c);
/* Frames [first, first + n) into the next buffer. */
SbkStatus load_push (const SbkLoader *loader, SbkLoad *load, const Truth *truth, int first, int n, int64_t *damaged,
                     SbkError *error);
/* Sum and largest value of each pixel are those of the frames. */
int load_check_sums (const Case *c, const Truth *truth, const uint64_t *sum, const uint32_t *high);
void load_report (const Case *c, const char *what, int good);
/* Batches in which some chunks are corrupt: what the device says of each batch is what the reference says. */
void load_corruptions (const Case *c, const SbkBackend *device, SbkContext *context, int wanted, uint64_t *state);

#endif
