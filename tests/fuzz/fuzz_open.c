#include "tests/fuzz/fuzz_open.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/chunk.h"
#include "core/error.h"

const char *__lsan_default_suppressions (void);
const char *__asan_default_options (void);

/* HDF5 1.10 itself loses a few bytes when it refuses a damaged file. */
const char *
__lsan_default_suppressions (void)
{
  return "leak:libhdf5";
}

/* HDF5 tries to have what a damaged file asks for, and takes no for an answer. */
const char *
__asan_default_options (void)
{
  return "allocator_may_return_null=1";
}

enum { MOST_BYTES = 1 << 22, MOST_FRAMES = 4 };

const SbFormat *
fuzz_format (void)
{
  for (guint i = 0; format_registry[i] != NULL; i++)
    if (strcmp (format_registry[i]->name, FUZZ_FORMAT) == 0)
      return format_registry[i];
  abort ();
}

/* ---- the folder ---- */

static char *folder;

static void
remove_folder (void)
{
  fuzz_clear ();
  g_rmdir (folder);
  g_free (folder);
}

const char *
fuzz_folder (void)
{
  if (folder == NULL) {
    folder = g_dir_make_tmp ("sideband-fuzz-XXXXXX", NULL);
    if (folder == NULL)
      abort ();
    atexit (remove_folder);
  }
  return folder;
}

gboolean
fuzz_write (const char *name, const uint8_t *data, size_t n, size_t least)
{
  g_autofree char *path = g_build_filename (fuzz_folder (), name, NULL);
  int file = open (path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
  gboolean good = file >= 0 && write (file, data, n) == (ssize_t)n && (n >= least || ftruncate (file, (off_t)least) == 0);
  return file >= 0 && close (file) == 0 && good;
}

void
fuzz_clear (void)
{
  GDir *dir = g_dir_open (fuzz_folder (), 0, NULL);
  const char *name;
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL) {
    g_autofree char *path = g_build_filename (folder, name, NULL);
    g_unlink (path);
  }
  if (dir != NULL)
    g_dir_close (dir);
}

/* ---- the frames ---- */

/* Bytes of a frame, where n of them are of a sane size; 0: they are not. */
static gsize
frame_bytes (const SbHeader *header, gint64 n)
{
  gint64 frame = (gint64)dtype_size (header->dtype), all;
  if (n < 1 || header->detector_rows < 1 || header->detector_cols < 1
      || __builtin_mul_overflow (frame, header->detector_rows, &frame)
      || __builtin_mul_overflow (frame, header->detector_cols, &frame) || __builtin_mul_overflow (frame, n, &all)
      || all > MOST_BYTES)
    return 0;
  return (gsize)frame;
}

/* The stored frame, decoded, is the frame that was read. */
static void
check_chunk (const SbChunkCodec *codec, const SbFrameChunk *chunk, const guint8 *frame, gsize bytes)
{
  if (chunk->size == 0 || chunk->size > chunk_bound (bytes))
    return;
  g_autofree guint8 *stored = g_malloc (chunk->size), *out = g_malloc (bytes);
  int file = open (chunk->path, O_RDONLY | O_CLOEXEC);
  ssize_t got = file < 0 ? -1 : pread (file, stored, chunk->size, (off_t)chunk->offset);
  if (file >= 0)
    close (file);
  if (got != (ssize_t)chunk->size || !chunk_decode (codec, chunk->filter_mask, stored, chunk->size, out, bytes, NULL)
      || memcmp (out, frame, bytes) != 0)
    abort ();
}

static void
read_range (const SbFormat *format, SbReader *reader, gint64 first, gint64 n, gsize bytes)
{
  SbFrameChunk chunks[MOST_FRAMES];
  SbChunkCodec codec;
  g_autoptr (GError) error = NULL;
  g_autofree guint8 *out = g_malloc (bytes * (gsize)n);
  gboolean done = format->read (reader, first, n, out, &error);
  if (done == (error != NULL))
    abort ();
  if (format->chunks != NULL && format->chunks (reader, first, n, &codec, chunks) && done)
    for (gint64 i = 0; i < n; i++)
      check_chunk (&codec, &chunks[i], out + bytes * (gsize)i, bytes);
}

/* The first and the last frames, where they are of a sane size; all that stands in the header is touched. */
static void
read_some (const SbFormat *format, SbReader *reader, const SbHeader *header)
{
  gint64 n = MIN (header->frames, MOST_FRAMES);
  gsize bytes = frame_bytes (header, n);
  if (bytes == 0)
    return;
  read_range (format, reader, 0, n, bytes);
  if (header->frames > n)
    read_range (format, reader, header->frames - n, n, bytes);
  for (gsize i = 0; header->mask != NULL && i < bytes / dtype_size (header->dtype); i++)
    if (header->mask[i] > 1)
      abort ();
}

static void
check_texts (const GPtrArray *texts)
{
  for (guint i = 0; i < texts->len; i++)
    if (texts->pdata[i] == NULL || ((const char *)texts->pdata[i])[0] == '\0')
      abort ();
}

static void
open_reader (const SbFormat *format, const char *path, const SbAcquisitionOptions *options)
{
  SbHeader header = {
    .energy = NAN, .semiangle = NAN, .step = { NAN, NAN }, .sampling = NAN, .reciprocal = NAN, .saturation = NAN
  };
  g_autoptr (GError) error = NULL;
  header.files = g_ptr_array_new_with_free_func (g_free);
  header.warnings = g_ptr_array_new_with_free_func (g_free);
  SbReader *reader = format->open (path, options, &header, &error);
  if ((reader == NULL) != (error != NULL))
    abort ();
  check_texts (header.files);
  check_texts (header.warnings);
  if (reader != NULL) {
    read_some (format, reader, &header);
    format->close (reader);
  }
  g_ptr_array_unref (header.files);
  g_ptr_array_unref (header.warnings);
  g_free (header.mask);
  g_free (header.missing);
}

static void
open_acquisition (const char *path, const SbAcquisitionOptions *options)
{
  g_autoptr (GError) error = NULL;
  SbAcquisition *a = acquisition_open (path, options, &error);
  if ((a == NULL) != (error != NULL))
    abort ();
  if (a == NULL)
    return;
  gint64 n = acquisition_positions (a), frames = acquisition_frame_count (a);
  if (n < 1 || frames < 1)
    abort ();
  const gint64 some[] = { 0, n / 2, n - 1 };
  for (guint i = 0; i < G_N_ELEMENTS (some); i++) {
    gint64 frame = acquisition_frame (a, some[i]);
    if (frame < 0 || frame >= frames || acquisition_position (a, frame) != some[i])
      abort ();
  }
  read_some (a->format, a->reader, &a->header);
  acquisition_free (a);
}

static void
probe (const SbFormat *format, const char *path)
{
  guint8 head[4096];
  int file = open (path, O_RDONLY | O_CLOEXEC);
  ssize_t n = file < 0 ? -1 : pread (file, head, sizeof head, 0);
  if (file >= 0)
    close (file);
  if (n >= 0 && format->probe (path, head, (gsize)n) < 0)
    abort ();
}

void
fuzz_open (const SbFormat *format, const char *path, const SbAcquisitionOptions *options, gboolean as_program)
{
  if (as_program)
    open_acquisition (path, options);
  else
    probe (format, path);
  open_reader (format, path, options);
}
