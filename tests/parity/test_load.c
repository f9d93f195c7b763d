/* The device's load against plain C: every filter, type and awkward size, frames stored plain among others, byte order,
 * masks, narrow columns; sums, columns, frames' sums and centres equal to the last bit. Then random corruptions of
 * chunks: the damaged frame that is named, or the very counts that the reference makes of it. test_load MODULE [seed
 * [corruptions]] */
#include "tests/parity/test_load.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tests = 0, failures = 0;

void
load_report (const Case *c, const char *what, int good)
{
  tests++;
  failures += !good;
  printf ("%sok %d load %s: %s\n", good ? "" : "not ", tests, c->name, what);
}

uint64_t
load_random (uint64_t *state)
{
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

size_t
load_type_bytes (SbkType type)
{
  return type == SBK_U8 ? 1 : type == SBK_U16 ? 2 : 4;
}

static uint32_t
get (const uint8_t *data, SbkType type, size_t i)
{
  uint16_t x16;
  uint32_t x32;
  if (type == SBK_U8)
    return data[i];
  memcpy (&x16, data + (type == SBK_U16 ? 2 * i : 0), sizeof x16);
  memcpy (&x32, data + (type == SBK_U32 ? 4 * i : 0), type == SBK_U32 ? sizeof x32 : 1);
  return type == SBK_U16 ? x16 : x32;
}

static void
put (uint8_t *data, SbkType type, size_t i, uint32_t x)
{
  uint8_t x8 = (uint8_t)x;
  uint16_t x16 = (uint16_t)x;
  memcpy (data + i * load_type_bytes (type),
          type == SBK_U8    ? (void *)&x8
          : type == SBK_U16 ? (void *)&x16
                            : (void *)&x,
          load_type_bytes (type));
}

/* Empty, sparse, full, repeating with every period, and constant frames. limit: what the column type holds. */
static void
make_frame (const Case *c, int kind, uint64_t *state, uint8_t *out)
{
  size_t n = (size_t)c->rows * (size_t)c->cols;
  uint32_t limit = c->column == SBK_U8 ? 0xff : c->column == SBK_U16 ? 0xffff : 0xffffffff;
  for (size_t i = 0; i < n; i++) {
    uint64_t r = load_random (state);
    uint32_t x = kind % 6 == 0   ? 0
                 : kind % 6 == 1 ? (r % 40 == 0 ? (uint32_t)(r >> 20) % 7 : 0)
                 : kind % 6 == 2 ? (uint32_t)(r >> 16)
                 : kind % 6 == 3 ? (uint32_t)(i % (size_t)(1 + kind) * 37)
                 : kind % 6 == 4 ? (uint32_t)(r >> 30) % 20
                                 : limit;
    put (out, c->type, i, x & limit);
  }
}

void
truth_make (Truth *t, const Case *c, uint64_t *state)
{
  size_t n = (size_t)c->frames;
  t->pixels = (size_t)c->rows * (size_t)c->cols;
  t->bytes = t->pixels * load_type_bytes (c->type);
  t->frames = malloc (n * t->bytes + 1);
  t->mask = calloc (t->pixels + 1, 1);
  t->stored = malloc (n * (bslz4_bound (t->bytes, c->block) + 64));
  t->at = malloc (n * sizeof *t->at);
  t->size = malloc (n * sizeof *t->size);
  t->plain = calloc (n, sizeof *t->plain);
  for (size_t i = 0; c->masked && i < t->pixels; i += 5)
    t->mask[i] = 1;
  size_t used = 0;
  for (size_t f = 0; f < n; f++) {
    make_frame (c, (int)f, state, t->frames + f * t->bytes);
    t->plain[f] = c->plain && f % 3 == 1;
    t->at[f] = used;
    t->size[f] = bslz4_encode (t->plain[f] ? SBK_FILTER_NONE : c->filter, t->frames + f * t->bytes, t->bytes,
                               load_type_bytes (c->type), c->block, c->swap, t->stored + used);
    used += t->size[f] + f % 2; /* odd places, too */
  }
}

void
truth_free (Truth *t)
{
  free (t->frames);
  free (t->mask);
  free (t->stored);
  free (t->at);
  free (t->size);
  free (t->plain);
}

/* Frames [first, first + n) into the next buffer; returns the status. */
SbkStatus
load_push (const SbkLoader *loader, SbkLoad *load, const Truth *t, int first, int n, int64_t *damaged, SbkError *error)
{
  void *buffer = NULL;
  SbkStored *stored = malloc ((size_t)n * sizeof *stored);
  size_t used = 0;
  SbkStatus status = loader->buffer (load, &buffer, damaged, error);
  for (int f = first; status == SBK_OK && f < first + n; f++) {
    memcpy ((char *)buffer + used, t->stored + t->at[f], t->size[f]);
    stored[f - first] = (SbkStored){ used, (uint32_t)t->size[f], (uint32_t)t->plain[f] };
    used += t->size[f] + (size_t)(f % 3);
  }
  if (status == SBK_OK)
    status = loader->push (load, first, n, stored, error);
  free (stored);
  return status;
}

size_t
load_buffer_bytes (const Truth *t, const Case *c)
{
  size_t most = 0;
  for (int f = 0; f < c->frames; f++)
    most = t->size[f] > most ? t->size[f] : most;
  return (most + 8) * (size_t)c->batch;
}

SbkFrames
load_frames (const Case *c, const Truth *t)
{
  return (SbkFrames){
    c->rows, c->cols, c->type, c->filter, (int64_t)(c->block / load_type_bytes (c->type)), c->swap, c->masked ? t->mask : NULL
  };
}

int
load_check_sums (const Case *c, const Truth *t, const uint64_t *sum, const uint32_t *high)
{
  for (size_t i = 0; i < t->pixels; i++) {
    uint64_t want = 0;
    uint32_t most = 0;
    for (int f = 0; f < c->frames && !t->mask[i]; f++) {
      uint32_t x = get (t->frames + (size_t)f * t->bytes, c->type, i);
      want += x;
      most = x > most ? x : most;
    }
    if (sum[i] != want || high[i] != most)
      return 0;
  }
  return 1;
}

static int
same_bits (double a, double b)
{
  return memcmp (&a, &b, sizeof a) == 0;
}

/* The frame's sum and centre as the model says them, rows first. */
static int
check_frame (const Case *c, const Truth *t, int f, const int32_t *pixel, const uint8_t *fate, int n, const SbkTake *take,
             double got_sum, const double *got_com)
{
  const uint8_t *frame = t->frames + (size_t)f * t->bytes;
  double total = 0, sum = 0, row = 0, col = 0;
  for (size_t i = 0; i < t->pixels; i++)
    total += t->mask[i] ? 0 : (double)get (frame, c->type, i);
  total -= take->less;
  for (int k = 0; k < n; k++) {
    double x = (double)get (frame, c->type, (size_t)pixel[k]);
    if (fate[k] == SBK_REFUSED)
      total -= x;
    if (fate[k] != SBK_FINAL)
      continue;
    sum += x;
    row += pixel[k] / c->cols * x;
    col += pixel[k] % c->cols * x;
  }
  double want[2] = { sum > 0 ? row / sum : take->com[0], sum > 0 ? col / sum : take->com[1] };
  return same_bits (got_sum, total) && same_bits (got_com[0], want[0]) && same_bits (got_com[1], want[1]);
}

static int
check_columns (const Case *c, const Truth *t, const int32_t *pixel, const uint8_t *fate, int n, const uint8_t *got)
{
  size_t column = 0, each = (size_t)c->frames * load_type_bytes (c->column);
  for (int k = 0; k < n; k++) {
    if (fate[k] != SBK_FINAL)
      continue;
    for (int f = 0; f < c->frames; f++)
      if (get (got + column * each, c->column, (size_t)f) != get (t->frames + (size_t)f * t->bytes, c->type, (size_t)pixel[k]))
        return 0;
    column++;
  }
  return 1;
}

static void
run_case (const Case *c, const SbkBackend *device, SbkContext *context, uint64_t *state)
{
  const SbkLoader *loader = device->loader;
  Truth t;
  SbkError error = { "" };
  SbkLoad *load = NULL;
  int64_t damaged = -1;
  truth_make (&t, c, state);
  size_t n = t.pixels;
  uint64_t *sum = malloc (n * sizeof *sum);
  uint32_t *high = malloc (n * sizeof *high);
  int32_t *pixel = malloc (n * sizeof *pixel);
  uint8_t *fate = malloc (n);
  double *frame_sum = malloc ((size_t)c->frames * 3 * sizeof *frame_sum), *frame_com = frame_sum + c->frames;
  uint8_t *columns = malloc (n * (size_t)c->frames * 4 + 1);
  int kept = 0, n_final = 0;
  for (size_t i = 0; i < n; i++)
    if (!t.mask[i] && (i % 7 != 3 || n < 10)) {
      pixel[kept] = (int32_t)i;
      fate[kept] = i % 11 == 4 ? SBK_DROPPED : i % 13 == 5 ? SBK_REFUSED : SBK_FINAL;
      n_final += fate[kept++] == SBK_FINAL;
    }
  SbkFrames frames = load_frames (c, &t);
  SbkStatus status = loader->begin (context, &load, &frames, load_buffer_bytes (&t, c), c->batch, &error);
  for (int round = 0; round < 2; round++) { /* first without columns, as the first look goes */
    if (status == SBK_OK && round == 1)
      status = loader->choose (load, c->column, kept, pixel, c->frames, &error);
    for (int f = 0; status == SBK_OK && f < c->frames; f += c->batch)
      status = load_push (loader, load, &t, f, c->frames - f < c->batch ? c->frames - f : c->batch, &damaged, &error);
    memset (sum, 0xff, n * sizeof *sum);
    memset (high, 0xff, n * sizeof *high);
    if (status == SBK_OK)
      status = loader->sums (load, sum, high, &damaged, &error);
    load_report (c, round == 0 ? "sums" : "sums with columns",
                 status == SBK_OK && damaged == -1 && load_check_sums (c, &t, sum, high));
  }
  SbkTake take = { fate, 7, { 0.25, 0.5 } };
  const void *counts = NULL;
  if (status == SBK_OK)
    status = loader->take (load, &take, frame_sum, frame_com, &counts, &error);
  if (status == SBK_OK)
    status = loader->read (load, 0, n_final, columns, &error);
  if (status != SBK_OK)
    printf ("# %s\n", error.message);
  load_report (c, "columns", status == SBK_OK && counts != NULL && check_columns (c, &t, pixel, fate, kept, columns));
  int good = status == SBK_OK;
  for (int f = 0; good && f < c->frames; f++)
    good = check_frame (c, &t, f, pixel, fate, kept, &take, frame_sum[f], frame_com + 2 * f);
  load_report (c, "frames' sums and centres", good);
  loader->free (load);
  truth_free (&t);
  free (sum);
  free (high);
  free (pixel);
  free (fate);
  free (frame_sum);
  free (columns);
}

int
main (int argc, char **argv)
{
  static const Case cases[] = {
    { "u16 192 x 192", SBK_U16, 192, 192, 37, SBK_FILTER_BITSHUFFLE_LZ4, 8192, 0, 1, 0, SBK_U16, 8 },
    { "u16 in u8 columns", SBK_U16, 192, 192, 131, SBK_FILTER_BITSHUFFLE_LZ4, 8192, 0, 0, 0, SBK_U8, 130 },
    { "u8 192 x 192", SBK_U8, 192, 192, 20, SBK_FILTER_BITSHUFFLE_LZ4, 8192, 0, 0, 1, SBK_U8, 7 },
    { "u32 96 x 96", SBK_U32, 96, 96, 19, SBK_FILTER_BITSHUFFLE_LZ4, 8192, 0, 1, 1, SBK_U32, 19 },
    { "u32 in u16 columns", SBK_U32, 33, 31, 70, SBK_FILTER_BITSHUFFLE_LZ4, 8192, 0, 0, 0, SBK_U16, 70 },
    { "u16 big-endian", SBK_U16, 64, 48, 12, SBK_FILTER_BITSHUFFLE_LZ4, 8192, 1, 0, 1, SBK_U16, 5 },
    { "u32 big-endian", SBK_U32, 21, 17, 12, SBK_FILTER_BITSHUFFLE_LZ4, 8192, 1, 0, 0, SBK_U32, 5 },
    { "u16 10 x 10", SBK_U16, 10, 10, 30, SBK_FILTER_BITSHUFFLE_LZ4, 8192, 0, 0, 0, SBK_U16, 30 },
    { "u16 2 x 2", SBK_U16, 2, 2, 9, SBK_FILTER_BITSHUFFLE_LZ4, 8192, 0, 0, 0, SBK_U16, 4 },
    { "u8 1 x 3", SBK_U8, 1, 3, 9, SBK_FILTER_BITSHUFFLE_LZ4, 8192, 0, 0, 0, SBK_U8, 4 },
    { "u8 11 x 13", SBK_U8, 11, 13, 66, SBK_FILTER_BITSHUFFLE_LZ4, 8192, 0, 1, 0, SBK_U8, 65 },
    { "u32 5 x 5", SBK_U32, 5, 5, 65, SBK_FILTER_BITSHUFFLE_LZ4, 8192, 0, 0, 1, SBK_U32, 64 },
    { "u16 103 x 97, six left over", SBK_U16, 103, 97, 11, SBK_FILTER_BITSHUFFLE_LZ4, 8192, 0, 1, 0, SBK_U16, 11 },
    { "small blocks", SBK_U16, 40, 41, 9, SBK_FILTER_BITSHUFFLE_LZ4, 16, 0, 0, 0, SBK_U16, 9 },
    { "blocks of 272 bytes", SBK_U16, 40, 41, 9, SBK_FILTER_BITSHUFFLE_LZ4, 272, 1, 0, 0, SBK_U16, 9 },
    { "large blocks", SBK_U16, 120, 121, 9, SBK_FILTER_BITSHUFFLE_LZ4, 16384, 1, 0, 0, SBK_U16, 4 },
    { "a block a frame", SBK_U32, 64, 64, 9, SBK_FILTER_BITSHUFFLE_LZ4, 1 << 20, 0, 0, 0, SBK_U32, 4 },
    { "planes not compressed", SBK_U16, 50, 51, 9, SBK_FILTER_BITSHUFFLE, 8192, 0, 0, 1, SBK_U16, 4 },
    { "u8 planes not compressed", SBK_U8, 50, 51, 9, SBK_FILTER_BITSHUFFLE, 8192, 0, 0, 0, SBK_U8, 4 },
    { "lz4", SBK_U16, 100, 99, 15, SBK_FILTER_LZ4, 1 << 30, 0, 0, 1, SBK_U16, 4 },
    { "lz4 in small blocks", SBK_U32, 50, 49, 15, SBK_FILTER_LZ4, 1001, 1, 0, 0, SBK_U32, 4 },
    { "lz4 big-endian", SBK_U16, 30, 49, 15, SBK_FILTER_LZ4, 4096, 1, 0, 0, SBK_U16, 4 },
    { "as they are", SBK_U16, 61, 47, 17, SBK_FILTER_NONE, 8192, 0, 1, 0, SBK_U16, 6 },
    { "as they are, big-endian", SBK_U32, 61, 47, 17, SBK_FILTER_NONE, 8192, 1, 0, 0, SBK_U32, 6 },
    { "as they are, u8", SBK_U8, 61, 47, 17, SBK_FILTER_NONE, 8192, 0, 0, 0, SBK_U8, 6 },
  };
  static const Case corrupted[] = {
    { "u16 64 x 64", SBK_U16, 64, 64, 24, SBK_FILTER_BITSHUFFLE_LZ4, 2048, 0, 0, 0, SBK_U16, 12 },
    { "u8 41 x 37", SBK_U8, 41, 37, 24, SBK_FILTER_BITSHUFFLE_LZ4, 8192, 0, 0, 0, SBK_U8, 12 },
    { "u32 in large blocks", SBK_U32, 60, 60, 24, SBK_FILTER_BITSHUFFLE_LZ4, 16384, 0, 0, 0, SBK_U32, 12 },
    { "lz4 in blocks", SBK_U16, 50, 50, 24, SBK_FILTER_LZ4, 1500, 0, 0, 0, SBK_U16, 12 },
  };
  const char *reason = "no module given";
  const SbkBackend *device = argc > 1 ? parity_module (argv[1], &reason) : NULL;
  uint64_t state = argc > 2 ? strtoull (argv[2], NULL, 10) * 2 + 1 : 1;
  int corruptions = argc > 3 ? atoi (argv[3]) : 2000;
  SbkOpen how = { parity_threads (), 0, NULL };
  SbkContext *context = NULL;
  SbkError error = { "" };
  if (device != NULL && device->loader == NULL) {
    device = NULL;
    reason = "this backend has no loader";
  }
  if (device == NULL) {
    printf ("1..0 # SKIP %s\n", reason);
    return 0;
  }
  if (device->open (&context, &how, &error) != SBK_OK) {
    printf ("1..1\nnot ok 1 %s\n", error.message);
    return 1;
  }
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    run_case (&cases[i], device, context, &state);
  for (size_t i = 0; i < 4; i++)
    load_corruptions (&corrupted[i], device, context, corruptions / 4, &state);
  device->close (context);
  printf ("1..%d\n# %d of %d failed on %s\n", tests, failures, tests, device->name);
  return failures > 0;
}
