/* Bitshuffle and LZ4 as HDF5's filters 32008 and 32004 store a chunk, written plainly from their descriptions: what the
 * device's decoder is held against, and what makes its input. */
#ifndef SB_TESTS_BSLZ4_H
#define SB_TESTS_BSLZ4_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/backend.h"

size_t bslz4_bound (size_t bytes, size_t block);
/* bytes of numbers of `element` bytes to a stored chunk; block in bytes; swap: stored big-endian. Returns its size. */
size_t bslz4_encode (SbkFilter filter, const uint8_t *in, size_t bytes, size_t element, size_t block, int swap, uint8_t *out);
/* 0: not a chunk of that many bytes. block: of SBK_FILTER_BITSHUFFLE, in bytes. */
int bslz4_decode (SbkFilter filter, const uint8_t *in, size_t size, size_t element, size_t block, int swap, uint8_t *out,
                  size_t bytes);

#endif
