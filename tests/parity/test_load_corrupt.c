/* Random corruptions of chunks; part of test_load. */
#include "tests/parity/test_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
corrupt (uint8_t *data, size_t *size, uint64_t *state)
{
  uint64_t r = load_random (state);
  size_t at = (size_t)(load_random (state) % *size);
  switch (r % 6) {
  case 0: data[at] ^= (uint8_t)(1 << (r >> 8) % 8); break;
  case 1: data[at] = (uint8_t)(r >> 8); break;
  case 2:
    for (size_t i = at; i < *size && i < at + 8; i++)
      data[i] = (uint8_t)load_random (state);
    break;
  case 3: *size = at + 1; break;
  case 4: data[at % (*size < 16 ? *size : 16)] ^= (uint8_t)(1 + (r >> 8) % 255); break;
  default: memset (data + at, 0xff, *size - at < 300 ? *size - at : 300);
  }
}

void
load_corruptions (const Case *c, const SbkBackend *device, SbkContext *context, int wanted, uint64_t *state)
{
  const SbkLoader *loader = device->loader;
  SbkError error = { "" };
  Truth healthy;
  truth_make (&healthy, c, state);
  size_t n = healthy.pixels;
  uint64_t *sum = malloc (n * sizeof *sum);
  uint32_t *high = malloc (n * sizeof *high);
  uint8_t *kept_frames = malloc ((size_t)c->frames * healthy.bytes), *kept_stored = healthy.stored;
  size_t used = healthy.at[c->frames - 1] + healthy.size[c->frames - 1];
  uint8_t *stored = malloc (used + 1);
  size_t *size = malloc ((size_t)c->frames * sizeof *size);
  int done = 0, named = 0, wrong = 0, good = 1;
  memcpy (kept_frames, healthy.frames, (size_t)c->frames * healthy.bytes);
  memcpy (size, healthy.size, (size_t)c->frames * sizeof *size);
  SbkLoad *load = NULL;
  while (done < wanted && good) {
    Truth t = healthy;
    int64_t damaged = -1, first = -1;
    memcpy (stored, kept_stored, used);
    t.stored = stored;
    for (int f = 0; f < c->frames; f++) {
      t.size[f] = size[f];
      memcpy (t.frames + (size_t)f * t.bytes, kept_frames + (size_t)f * t.bytes, t.bytes);
      if (load_random (state) % 8 != 0)
        continue;
      done++;
      corrupt (stored + t.at[f], &t.size[f], state);
      if (!bslz4_decode (c->filter, stored + t.at[f], t.size[f], load_type_bytes (c->type), c->block, c->swap,
                         t.frames + (size_t)f * t.bytes, t.bytes)
          && first < 0)
        first = f;
    }
    SbkFrames frames = load_frames (c, &t);
    if (load == NULL && loader->begin (context, &load, &frames, load_buffer_bytes (&healthy, c), c->batch, &error) != SBK_OK)
      good = 0;
    SbkStatus status = SBK_OK;
    for (int f = 0; good && status == SBK_OK && f < c->frames; f += c->batch)
      status = load_push (loader, load, &t, f, c->frames - f < c->batch ? c->frames - f : c->batch, &damaged, &error);
    if (good && status == SBK_OK)
      status = loader->sums (load, sum, high, &damaged, &error);
    good = good && status == SBK_OK && damaged == first && (first >= 0 || load_check_sums (c, &t, sum, high));
    named += first >= 0;
    wrong += first < 0;
    if (!good)
      printf ("# damaged %lld, reference %lld: %s\n", (long long)damaged, (long long)first, error.message);
    if (first >= 0 || !good) { /* a load ends with its first damaged frame */
      loader->free (load);
      load = NULL;
    }
  }
  loader->free (load);
  printf ("# %d corruptions: %d batches named a frame, %d decoded to what the reference has\n", done, named, wrong);
  load_report (c, "corrupt chunks", good && (wanted < 500 || (named > 0 && wrong > 0)));
  truth_free (&healthy);
  free (sum);
  free (high);
  free (kept_frames);
  free (stored);
  free (size);
}
