/* What tests of binary formats share: files written byte by byte from their published layouts, known frames,
 * cuts. */
#ifndef SB_TESTS_UNIT_FORMAT_BYTES_H
#define SB_TESTS_UNIT_FORMAT_BYTES_H

#include "core/chunk.h"
#include "tests/unit/frames.h"

static inline void
put_bytes (GByteArray *to, gconstpointer bytes, gsize n)
{
  g_byte_array_append (to, bytes, (guint)n);
}

static inline void
put_text (GByteArray *to, const char *text)
{
  put_bytes (to, text, strlen (text));
}

static inline void
put_zeros (GByteArray *to, gsize n)
{
  guint from = to->len;
  g_byte_array_set_size (to, from + (guint)n);
  if (n > 0)
    memset (to->data + from, 0, n);
}

/* The lowest size bytes of value. */
static inline void
put_int (GByteArray *to, guint64 value, gsize size, gboolean big)
{
  for (gsize i = 0; i < size; i++) {
    guint8 byte = (guint8)(value >> 8 * (big ? size - 1 - i : i));
    put_bytes (to, &byte, 1);
  }
}

static inline void
put_f32 (GByteArray *to, float value, gboolean big)
{
  guint32 bits;
  memcpy (&bits, &value, sizeof bits);
  put_int (to, bits, 4, big);
}

static inline void
put_f64 (GByteArray *to, double value, gboolean big)
{
  guint64 bits;
  memcpy (&bits, &value, sizeof bits);
  put_int (to, bits, 8, big);
}

/* The known count at a pixel (index within the frame) of a frame, at most most. */
static inline guint32
known (gint64 frame, gint64 pixel, guint32 most)
{
  guint64 x = (guint64)(frame + 1) * 2654435761u + (guint64)pixel * 40503u;
  x ^= x >> 15;
  return (guint32)(x * 2246822519u >> 11) % (most + 1);
}

/* Saves and keeps the bytes. */
static inline char *
save_bytes (const char *folder, const char *name, const GByteArray *bytes)
{
  char *path = g_build_filename (folder, name, NULL);
  write_file (path, bytes->data, bytes->len);
  return path;
}

static inline SbAcquisitionOptions
scan_of (gint64 rows, gint64 cols)
{
  return (SbAcquisitionOptions){ .scan_shape = { rows, cols } };
}

/* Where the format says in which bytes frames lie, those must decode to what it reads. */
static inline void
assert_chunks (const SbAcquisition *a, gint64 first, gint64 n, const guint8 *read)
{
  gsize bytes = pixels_of (a) * dtype_size (a->header.dtype);
  g_autofree SbFrameChunk *chunks = g_new0 (SbFrameChunk, MAX (n, 1));
  g_autofree guint8 *decoded = g_malloc (bytes);
  SbChunkCodec codec;
  if (n < 1 || a->format->chunks == NULL || !a->format->chunks (a->reader, first, n, &codec, chunks))
    return;
  for (gint64 i = 0; i < n; i++) {
    g_autoptr (GError) error = NULL;
    g_autofree guint8 *stored = g_malloc (chunks[i].size);
    FILE *file = fopen (chunks[i].path, "rb");
    g_assert_cmpint (fseek (file, (long)chunks[i].offset, SEEK_SET), ==, 0);
    g_assert_cmpuint (fread (stored, 1, chunks[i].size, file), ==, chunks[i].size);
    fclose (file);
    chunk_decode (&codec, chunks[i].filter_mask, stored, chunks[i].size, decoded, bytes, &error);
    g_assert_no_error (error);
    g_assert_cmpint (memcmp (decoded, read + (gsize)i * bytes, bytes), ==, 0);
  }
}

/* Frames [first, first + n) hold known (frame + shift, pixel, most). */
static inline void
assert_known (const SbAcquisition *a, gint64 first, gint64 n, gint64 shift, guint32 most)
{
  g_autoptr (GError) error = NULL;
  g_autofree gpointer got = read_frames (a, first, n, &error);
  g_assert_no_error (error);
  assert_chunks (a, first, n, got);
  for (gint64 f = 0; f < n; f++)
    for (gsize i = 0; i < pixels_of (a); i++)
      if (number_at (got, a->header.dtype, (gsize)f * pixels_of (a) + i) != (double)known (first + f + shift, (gint64)i, most))
        g_error ("frame %d pixel %d is %g, not %u", (int)(first + f), (int)i,
                 number_at (got, a->header.dtype, (gsize)f * pixels_of (a) + i), known (first + f + shift, (gint64)i, most));
}

/* Every step-th length of a file: opened with what is there, or refused in one sentence; what is delivered is
 * right. */
static inline void
try_cuts (const char *path, const GByteArray *whole, gsize step, gint64 rows, gint64 cols, guint32 most)
{
  SbAcquisitionOptions options = scan_of (rows, cols);
  int opened = 0;
  options.partial = TRUE;
  for (gsize n = 0; n < whole->len; n += step) {
    g_autoptr (GError) error = NULL;
    write_file (path, whole->data, n);
    SbAcquisition *a = acquisition_open (path, &options, &error);
    g_assert_true ((a == NULL) == (error != NULL));
    if (a == NULL) {
      g_assert_true (g_str_has_suffix (error->message, "."));
      continue;
    }
    opened++;
    assert_known (a, 0, a->header.frames, 0, most);
    acquisition_free (a);
  }
  g_assert_cmpint (opened, >, 0);
  write_file (path, whole->data, whole->len);
}

static inline void
assert_warned (const SbAcquisition *a, const char *says)
{
  for (guint i = 0; i < a->header.warnings->len; i++)
    if (strstr (a->header.warnings->pdata[i], says) != NULL)
      return;
  g_error ("there is no warning \"%s\"", says);
}

#endif
