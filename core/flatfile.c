#include "core/flatfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/chunk.h"
#include "core/error.h"

struct SbFlatFile {
  char *path;
  int fd;
  gint64 size;
  gint64 offset;
  gint64 frame_numbers;
  SbStored stored;
};

gboolean
stored_from_name (const char *name, SbStored *stored)
{
  SbStored found = { .swap = FALSE };
  if (name == NULL)
    return FALSE;
  if (*name == '>' || *name == '<' || *name == '|' || *name == '=')
    found.swap = (*name++ == '>') == (G_BYTE_ORDER == G_LITTLE_ENDIAN) && name[-1] != '|' && name[-1] != '=';
  if (strcmp (name, "i1") == 0 || strcmp (name, "int8") == 0) {
    found.size = 1;
    found.widen = TRUE;
    found.dtype = SB_I16;
  } else if (strcmp (name, "b1") == 0 || strcmp (name, "bool") == 0) {
    found.size = 1;
    found.dtype = SB_U8;
  } else if (dtype_from_name (name, &found.dtype))
    found.size = dtype_size (found.dtype);
  else
    return FALSE;
  found.swap = found.swap && found.size > 1;
  *stored = found;
  return TRUE;
}

SbFlatFile *
flatfile_open (const char *path, GError **error)
{
  struct stat info;
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || fstat (fd, &info) != 0 || !S_ISREG (info.st_mode)) {
    if (fd >= 0)
      close (fd);
    sb_fail (error, SB_ERROR_IO, "%s cannot be read: check its name and permissions.", path);
    return NULL;
  }
  SbFlatFile *file = g_new0 (SbFlatFile, 1);
  file->path = g_strdup (path);
  file->fd = fd;
  file->size = (gint64)info.st_size;
  return file;
}

void
flatfile_close (SbFlatFile *file)
{
  if (file == NULL)
    return;
  close (file->fd);
  g_free (file->path);
  g_free (file);
}

gint64
flatfile_size (const SbFlatFile *file)
{
  return file->size;
}

gssize
flatfile_bytes (SbFlatFile *file, gint64 offset, gsize n, gpointer out, GError **error)
{
  gsize done = 0;
  while (done < n) {
    ssize_t got = pread (file->fd, (guint8 *)out + done, n - done, (off_t)(offset + (gint64)done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0) {
      sb_fail (error, SB_ERROR_IO, "%s cannot be read: check the disk or network drive.", file->path);
      return -1;
    }
    if (got == 0)
      break;
    done += (gsize)got;
  }
  return (gssize)done;
}

gboolean
flatfile_describe (SbFlatFile *file, gint64 offset, const SbStored *stored, gint64 wanted, SbHeader *header, GError **error)
{
  gint64 frame_bytes, total, end;
  file->offset = offset;
  file->stored = *stored;
  header->dtype = stored->dtype;
  if (header->detector_rows <= 0 || header->detector_cols <= 0 || wanted < 0
      || __builtin_mul_overflow (header->detector_rows, header->detector_cols, &file->frame_numbers)
      || __builtin_mul_overflow (file->frame_numbers, (gint64)stored->size, &frame_bytes)
      || __builtin_mul_overflow (frame_bytes, wanted, &total) || __builtin_add_overflow (offset, total, &end))
    return sb_fail (error, SB_ERROR_DATA,
                    "%s claims %" G_GINT64_FORMAT " frames of %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT
                    " pixels, which cannot be.",
                    file->path, wanted, header->detector_rows, header->detector_cols);
  header->frames = MIN (wanted, MAX (file->size - offset, 0) / frame_bytes);
  header->expected_frames = wanted;
  if (header->frames < wanted)
    header->missing = g_strdup_printf ("%s is truncated (have %" G_GINT64_FORMAT " bytes, needs %" G_GINT64_FORMAT
                                       " bytes): copy it again.",
                                       file->path, file->size, end);
  return TRUE;
}

static gboolean
read_numbers (SbFlatFile *file, gint64 first, gsize bytes, gpointer out, GError **error)
{
  gint64 frame_bytes = file->frame_numbers * (gint64)file->stored.size;
  gssize got = flatfile_bytes (file, file->offset + first * frame_bytes, bytes, out, error);
  if (got < 0 || (gsize)got == bytes)
    return got >= 0;
  return sb_fail (error, SB_ERROR_IO, "%s ends in frame %" G_GINT64_FORMAT ": it was shortened while it was read.", file->path,
                  first + (gint64)got / frame_bytes);
}

gboolean
flatfile_read (SbFlatFile *file, gint64 first, gint64 n, gpointer out, GError **error)
{
  gsize numbers = (gsize)(n * file->frame_numbers);
  if (!file->stored.widen) {
    if (!read_numbers (file, first, numbers * file->stored.size, out, error))
      return FALSE;
    if (file->stored.swap)
      chunk_swap (out, numbers, file->stored.size);
    return TRUE;
  }
  /* int8 goes to the upper half of out and is widened from below, never overtaking itself. */
  gint16 *wide = out;
  const gint8 *narrow = (const gint8 *)out + numbers;
  if (!read_numbers (file, first, numbers, (gint8 *)out + numbers, error))
    return FALSE;
  for (gsize i = 0; i < numbers; i++)
    wide[i] = narrow[i];
  return TRUE;
}

gboolean
flatfile_chunks (SbFlatFile *file, gint64 first, gint64 n, SbChunkCodec *codec, SbFrameChunk *out)
{
  guint64 bytes = (guint64)file->frame_numbers * file->stored.size;
  *codec = (SbChunkCodec){ .filter = SB_CHUNK_NONE, .element = file->stored.size, .swap = file->stored.swap };
  for (gint64 i = 0; i < n; i++)
    out[i] = (SbFrameChunk){ file->path, (guint64)file->offset + (guint64)(first + i) * bytes, bytes, 0 };
  return !file->stored.widen;
}
