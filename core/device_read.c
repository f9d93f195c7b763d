#include "core/device_read.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"
#include "core/spectrum.h"

/* A buffer; frames that the decoded ones of a batch may take; stored bytes read at once; frames read at once. */
enum { BUFFER_BYTES = 24 << 20, DECODED_BYTES = 128 << 20, RUN_BYTES = 1 << 19, RUN_FRAMES = 8, MOST_BATCH = 8192 };

gboolean
device_fail (SbkStatus status, const SbkError *kernel, GError **error)
{
  return spectrum_fail (status, kernel, error);
}

/* ---- where the frames lie ---- */

static gboolean
find_chunks (SbDevicePass *pass)
{
  const SbAcquisition *a = pass->acquisition;
  for (gint64 row = 0; row < a->used_rows; row++) {
    SbChunkCodec codec;
    if (!a->format->chunks (a->reader, acquisition_frame (a, row * a->used_cols), a->used_cols, &codec,
                            pass->chunks + row * a->used_cols)
        || codec.element != dtype_size (a->header.dtype) || codec.filter == SB_CHUNK_BITSHUFFLE_ZSTD)
      return FALSE;
    pass->codec = codec;
  }
  return TRUE;
}

gboolean
device_pass_plan (SbDevicePass *pass, GError **error)
{
  const SbAcquisition *a = pass->acquisition;
  pass->positions = acquisition_positions (a);
  pass->frame_bytes = (gsize)(a->header.detector_rows * a->header.detector_cols) * dtype_size (a->header.dtype);
  pass->codec = (SbChunkCodec){ .filter = SB_CHUNK_NONE, .element = dtype_size (a->header.dtype) };
  gsize largest = pass->frame_bytes;
  if (a->format->chunks != NULL) {
    pass->chunks = sb_alloc ((gsize)pass->positions, sizeof *pass->chunks, "The places of the frames", error);
    if (pass->chunks == NULL)
      return FALSE;
    if (!find_chunks (pass)) {
      g_clear_pointer (&pass->chunks, g_free);
      pass->codec.filter = SB_CHUNK_NONE;
      pass->codec.swap = FALSE;
    }
  }
  for (gint64 i = 0; pass->chunks != NULL && i < pass->positions; i++)
    if (pass->chunks[i].size <= chunk_bound (pass->frame_bytes))
      largest = MAX (largest, pass->chunks[i].size);
  pass->buffer_bytes = MAX (largest, BUFFER_BYTES);
  pass->buffer_frames = CLAMP (DECODED_BYTES / (gint64)pass->frame_bytes, 1, MOST_BATCH);
  return TRUE;
}

void
device_pass_clear (SbDevicePass *pass)
{
  g_clear_pointer (&pass->chunks, g_free);
}

/* ---- reading a batch ---- */

/* Frames that lie side by side: read at once. */
typedef struct Run {
  gint64 i, n; /* of the batch */
  gsize to, size;
} Run;

typedef struct Batch {
  SbDevicePass *pass;
  gint64 stride, first, n; /* frames first .. of the pass */
  char *buffer;
  SbkStored *stored; /* [n] */
  GArray *runs;      /* Run */
  int *fd;           /* [worker] of the file that it read last */
  const char **path;
  GMutex lock;   /* of all below */
  gint64 failed; /* lowest frame; G_MAXINT64: none */
  GError *error;
} Batch;

static gint64
frame_of (const SbDevicePass *pass, gint64 stride, gint64 index)
{
  return acquisition_frame (pass->acquisition, index * stride);
}

/* What the reader says about a frame that the device, or its place in the file, says is none. */
static gboolean
explain (const SbDevicePass *pass, gint64 frame, GError **error)
{
  const SbAcquisition *a = pass->acquisition;
  g_autofree char *out = sb_alloc (pass->frame_bytes, 1, "A frame", error);
  if (out == NULL || !a->format->read (a->reader, frame, 1, out, error))
    return FALSE;
  return sb_fail (error, SB_ERROR_IO,
                  "%s: frame %" G_GINT64_FORMAT " could not be decoded: it changed while it was read, or the "
                  "device failed; load it again, or give backend = cpu.",
                  a->path, frame);
}

static gboolean
open_file (Batch *batch, guint worker, const char *path)
{
  if (batch->path[worker] == path)
    return TRUE;
  if (batch->fd[worker] >= 0)
    close (batch->fd[worker]);
  batch->path[worker] = NULL;
  batch->fd[worker] = open (path, O_RDONLY | O_CLOEXEC);
  if (batch->fd[worker] >= 0)
    batch->path[worker] = path;
  return batch->fd[worker] >= 0;
}

static gboolean
read_bytes (int fd, guint64 offset, gsize n, char *out)
{
  while (n > 0) {
    ssize_t got = pread (fd, out, n, (off_t)offset);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return FALSE;
    out += got;
    offset += (guint64)got;
    n -= (gsize)got;
  }
  return TRUE;
}

static gboolean
read_run (Batch *batch, const Run *run, guint worker, GError **error)
{
  const SbDevicePass *pass = batch->pass;
  const SbAcquisition *a = pass->acquisition;
  gint64 index = batch->first + run->i;
  if (pass->chunks == NULL)
    return a->format->read (a->reader, frame_of (pass, batch->stride, index), run->n, batch->buffer + run->to, error);
  const SbFrameChunk *chunk = &pass->chunks[index * batch->stride];
  if (open_file (batch, worker, chunk->path)
      && read_bytes (batch->fd[worker], chunk->offset, run->size, batch->buffer + run->to))
    return TRUE;
  for (gint64 i = 0; i + 1 < run->n; i++) /* the first one that cannot be read */
    if (!read_bytes (batch->fd[worker], chunk[i].offset, chunk[i].size, batch->buffer + run->to))
      return explain (pass, frame_of (pass, batch->stride, index + i), error);
  return explain (pass, frame_of (pass, batch->stride, index + run->n - 1), error);
}

static void
run_task (gint64 task, guint worker, gpointer data)
{
  Batch *batch = data;
  const Run *run = &g_array_index (batch->runs, Run, task);
  GError *error = NULL;
  g_mutex_lock (&batch->lock);
  gboolean stop = batch->failed < run->i;
  g_mutex_unlock (&batch->lock);
  if (stop || progress_cancelled (batch->pass->progress) || read_run (batch, run, worker, &error))
    return;
  g_mutex_lock (&batch->lock);
  if (run->i < batch->failed) {
    g_clear_error (&batch->error);
    batch->error = g_steal_pointer (&error);
    batch->failed = run->i;
  }
  g_mutex_unlock (&batch->lock);
  g_clear_error (&error);
}

/* ---- what goes into a batch ---- */

/* Whether frame i goes on where a run ends. */
static gboolean
goes_on (const Batch *batch, const Run *run, gint64 i)
{
  const SbDevicePass *pass = batch->pass;
  gint64 at = (batch->first + i) * batch->stride, before = (batch->first + i - 1) * batch->stride;
  if (pass->chunks == NULL)
    return run->n < RUN_FRAMES
           && acquisition_frame (pass->acquisition, at) == acquisition_frame (pass->acquisition, before) + 1;
  const SbFrameChunk *chunk = &pass->chunks[at], *last = &pass->chunks[before];
  return batch->stride == 1 && run->size + chunk->size <= RUN_BYTES && chunk->path == last->path
         && chunk->offset == last->offset + last->size;
}

/* As many of the `left` frames as fit, packed; FALSE where the next one has no place in its file. */
static gboolean
fill_batch (Batch *batch, gint64 left, GError **error)
{
  const SbDevicePass *pass = batch->pass;
  gsize used = 0;
  g_array_set_size (batch->runs, 0);
  for (batch->n = 0; batch->n < MIN (left, pass->buffer_frames); batch->n++) {
    gint64 index = batch->first + batch->n;
    const SbFrameChunk *chunk = pass->chunks != NULL ? &pass->chunks[index * batch->stride] : NULL;
    gsize size = chunk != NULL ? chunk->size : pass->frame_bytes;
    if (size == 0 || size > pass->buffer_bytes)
      return batch->n > 0 || explain (pass, frame_of (pass, batch->stride, index), error);
    if (used + size > pass->buffer_bytes)
      return TRUE;
    Run *run = batch->runs->len > 0 ? &g_array_index (batch->runs, Run, batch->runs->len - 1) : NULL;
    batch->stored[batch->n] = (SbkStored){ used, (guint32)size, chunk != NULL && (chunk->filter_mask & 1) != 0 };
    if (run != NULL && goes_on (batch, run, batch->n)) {
      run->n++;
      run->size += size;
    } else {
      Run begun = { batch->n, 1, used, size };
      g_array_append_val (batch->runs, begun);
    }
    used += size;
  }
  return TRUE;
}

static gboolean
push_batch (Batch *batch, gint64 left, GError **error)
{
  SbDevicePass *pass = batch->pass;
  gpointer buffer = NULL;
  gint64 damaged = -1;
  SbkError kernel = { "" };
  SbkStatus status = pass->loader->buffer (pass->load, &buffer, &damaged, &kernel);
  if (status == SBK_OK && damaged >= 0)
    return explain (pass, frame_of (pass, batch->stride, damaged), error);
  batch->buffer = buffer;
  if (status != SBK_OK)
    return device_fail (status, &kernel, error);
  if (!fill_batch (batch, left, error))
    return FALSE;
  batch->failed = G_MAXINT64;
  engine_parallel (pass->engine, batch->runs->len, run_task, batch);
  if (batch->error != NULL) {
    g_propagate_error (error, g_steal_pointer (&batch->error));
    return FALSE;
  }
  if (progress_cancelled (pass->progress)) /* not everything was read */
    return progress_step (pass->progress, 0, error);
  status = pass->loader->push (pass->load, batch->first, batch->n, batch->stored, &kernel);
  return device_fail (status, &kernel, error);
}

/* A frame that cannot be read comes after one that the device found damaged meanwhile. */
static void
earlier_damage (const Batch *batch, GError **error)
{
  const SbDevicePass *pass = batch->pass;
  gint64 n = pass->acquisition->header.detector_rows * pass->acquisition->header.detector_cols, damaged = -1;
  g_autofree guint64 *sum = g_try_new (guint64, n);
  g_autofree guint32 *high = g_try_new (guint32, n);
  SbkError kernel = { "" };
  g_autoptr (GError) why = NULL;
  if (sum == NULL || high == NULL || pass->loader->sums (pass->load, sum, high, &damaged, &kernel) != SBK_OK || damaged < 0)
    return;
  explain (pass, frame_of (pass, batch->stride, damaged), &why);
  if (error != NULL) {
    g_clear_error (error);
    *error = g_steal_pointer (&why);
  }
}

gboolean
device_pass_run (SbDevicePass *pass, gint64 stride, double from, double to, GError **error)
{
  gint64 total = (pass->positions + stride - 1) / stride;
  guint workers = MAX (pass->engine->threads, 1);
  g_autofree int *fd = g_new (int, workers);
  g_autofree const char **path = g_new0 (const char *, workers);
  g_autofree SbkStored *stored = g_new (SbkStored, pass->buffer_frames);
  g_autoptr (GArray) runs = g_array_new (FALSE, FALSE, sizeof (Run));
  g_autoptr (GError) why = NULL;
  Batch batch = { .pass = pass, .stride = stride, .stored = stored, .runs = runs, .fd = fd, .path = path };
  gboolean good = TRUE;
  g_mutex_init (&batch.lock);
  for (guint w = 0; w < workers; w++)
    fd[w] = -1;
  for (; good && batch.first < total; batch.first += batch.n)
    good = push_batch (&batch, total - batch.first, &why)
           && progress_step (pass->progress, from + (to - from) * (double)(batch.first + batch.n) / (double)total, &why);
  if (!good && (why->code == SB_ERROR_IO || why->code == SB_ERROR_DATA))
    earlier_damage (&batch, &why);
  for (guint w = 0; w < workers; w++)
    if (fd[w] >= 0)
      close (fd[w]);
  g_mutex_clear (&batch.lock);
  if (!good)
    g_propagate_error (error, g_steal_pointer (&why));
  return good;
}

gboolean
device_pass_sums (SbDevicePass *pass, gint64 stride, guint64 *sum, guint32 *high, GError **error)
{
  gint64 damaged = -1;
  SbkError kernel = { "" };
  SbkStatus status = pass->loader->sums (pass->load, sum, high, &damaged, &kernel);
  if (status != SBK_OK)
    return device_fail (status, &kernel, error);
  return damaged < 0 || explain (pass, frame_of (pass, stride, damaged), error);
}
