/* Frames out of an HDF5 dataset: stored chunks are fetched inside the lock and decoded outside of it. */
#include <string.h>

#include "core/error.h"
#include "core/h5frames.h"

/* Buffers of one call. */
typedef struct Buffers {
  guint8 *stored;
  gsize room;
  guint8 *chunk; /* a decoded chunk where it cannot go straight to its place */
} Buffers;

static gboolean
missing_frame (const SbH5Frames *frames, gint64 frame, gint64 first_name, GError **error)
{
  return sb_fail (error, SB_ERROR_DATA,
                  "%s: frame %" G_GINT64_FORMAT " was never written: give a scan_region without it.",
                  frames->path, first_name + frame);
}

static gboolean
make_room (Buffers *buffers, gsize size, GError **error)
{
  if (size <= buffers->room)
    return TRUE;
  g_free (buffers->stored);
  buffers->room = 0;
  buffers->stored = sb_alloc (size, 1, "the frames of a file", error);
  buffers->room = buffers->stored != NULL ? size : 0;
  return buffers->stored != NULL;
}

/* The stored bytes of the chunk at an offset; frame: for messages. */
static gboolean
fetch (SbH5Frames *frames, const hsize_t offset[3], gint64 first_name, Buffers *buffers, gsize *size,
       guint32 *mask, GError **error)
{
  hsize_t bytes = 0;
  gsize whole = (gsize)(frames->chunk[0] * frames->chunk[1] * frames->chunk[2]) * frames->codec.element;
  const hsize_t *at = frames->rank == 2 ? offset + 1 : offset;
  gint64 frame = (gint64)offset[0];
  gboolean good = FALSE;
  if (!h5io_begin (error))
    return FALSE;
  if (!h5frames_ensure_open (frames, error))
    ;
  else if (H5Dget_chunk_storage_size (frames->id, at, &bytes) < 0 || bytes == 0)
    missing_frame (frames, frame, first_name, error);
  else if (bytes > chunk_bound (whole))
    sb_fail (error, SB_ERROR_DATA,
             "%s: frame %" G_GINT64_FORMAT " is damaged (it claims %" G_GUINT64_FORMAT
             " bytes): copy the file again.",
             frames->path, first_name + frame, (guint64)bytes);
  else if (!make_room (buffers, bytes, error))
    ;
  else if (H5Dread_chunk (frames->id, H5P_DEFAULT, at, mask, buffers->stored) < 0)
    sb_fail (error, SB_ERROR_IO, "%s: frame %" G_GINT64_FORMAT " cannot be read: copy the file again.",
             frames->path, first_name + frame);
  else
    good = TRUE;
  h5io_end ();
  *size = bytes;
  return good;
}

/* Copies what out needs of a decoded chunk. */
static void
place (const SbH5Frames *frames, const guint8 *chunk, const hsize_t offset[3], gint64 first, gint64 n,
       guint8 *out)
{
  gsize element = frames->codec.element;
  gint64 from = MAX (first, (gint64)offset[0]), to = MIN (first + n, (gint64)offset[0] + frames->chunk[0]);
  gint64 rows = MIN (frames->chunk[1], frames->rows - (gint64)offset[1]);
  gint64 cols = MIN (frames->chunk[2], frames->cols - (gint64)offset[2]);
  for (gint64 f = from; f < to; f++)
    for (gint64 r = 0; r < rows; r++)
      memcpy (out
                  + element
                        * (gsize)(((f - first) * frames->rows + (gint64)offset[1] + r) * frames->cols
                                  + (gint64)offset[2]),
              chunk + element * (gsize)(((f - (gint64)offset[0]) * frames->chunk[1] + r) * frames->chunk[2]),
              element * (gsize)cols);
}

/* All of one chunk that [first, first + n) touches. */
static gboolean
read_chunk (SbH5Frames *frames, const hsize_t offset[3], gint64 first, gint64 n, gint64 first_name,
            Buffers *buffers, guint8 *out, GError **error)
{
  gsize stored,
      whole = (gsize)(frames->chunk[0] * frames->chunk[1] * frames->chunk[2]) * frames->codec.element;
  guint32 mask = 0;
  g_autoptr (GError) why = NULL;
  if (!fetch (frames, offset, first_name, buffers, &stored, &mask, error))
    return FALSE;
  gboolean direct = buffers->chunk == NULL;
  guint8 *to = direct ? out + whole * (gsize)((gint64)offset[0] - first) : buffers->chunk;
  if (!chunk_decode (&frames->codec, mask, buffers->stored, stored, to, whole, &why))
    return sb_fail (error, why->code == SB_ERROR_MEMORY ? SB_ERROR_MEMORY : SB_ERROR_DATA,
                    "%s: frame %" G_GINT64_FORMAT " is damaged (%s): copy the file again.", frames->path,
                    first_name + (gint64)offset[0], why->message);
  if (!direct)
    place (frames, to, offset, first, n, out);
  return TRUE;
}

static gboolean
read_chunks (SbH5Frames *frames, gint64 first, gint64 n, gint64 first_name, guint8 *out, GError **error)
{
  gsize whole = (gsize)(frames->chunk[0] * frames->chunk[1] * frames->chunk[2]) * frames->codec.element;
  gboolean direct =
      frames->chunk[0] == 1 && frames->chunk[1] == frames->rows && frames->chunk[2] == frames->cols;
  Buffers buffers = { 0 };
  gboolean good = direct || (buffers.chunk = sb_alloc (whole, 1, "the frames of a file", error)) != NULL;
  hsize_t at[3];
  for (gint64 f = first - first % frames->chunk[0]; good && f < first + n; f += frames->chunk[0])
    for (gint64 r = 0; good && r < frames->rows; r += frames->chunk[1])
      for (gint64 c = 0; good && c < frames->cols; c += frames->chunk[2]) {
        at[0] = (hsize_t)f;
        at[1] = (hsize_t)r;
        at[2] = (hsize_t)c;
        good = read_chunk (frames, at, first, n, first_name, &buffers, out, error);
      }
  g_free (buffers.stored);
  g_free (buffers.chunk);
  return good;
}

static hid_t
native_type (SbDtype dtype)
{
  switch (dtype) {
  case SB_U8:
    return H5T_NATIVE_UINT8;
  case SB_U16:
    return H5T_NATIVE_UINT16;
  case SB_U32:
    return H5T_NATIVE_UINT32;
  case SB_I16:
    return H5T_NATIVE_INT16;
  case SB_I32:
    return H5T_NATIVE_INT32;
  case SB_F32:
    return H5T_NATIVE_FLOAT;
  case SB_F64:
    return H5T_NATIVE_DOUBLE;
  }
  return H5I_INVALID_HID;
}

/* HDF5 fills chunks that were never written with zeros; counts must not be invented. */
static gboolean
all_written (const SbH5Frames *frames, gint64 first, gint64 n, gint64 *hole)
{
  if (frames->chunk[0] == 0)
    return TRUE;
  for (gint64 f = first - first % frames->chunk[0]; f < first + n; f += frames->chunk[0])
    for (gint64 r = 0; r < frames->rows; r += frames->chunk[1])
      for (gint64 c = 0; c < frames->cols; c += frames->chunk[2]) {
        hsize_t at[3] = { (hsize_t)f, (hsize_t)r, (hsize_t)c }, bytes = 0;
        if (H5Dget_chunk_storage_size (frames->id, frames->rank == 2 ? at + 1 : at, &bytes) < 0
            || bytes == 0) {
          *hole = MAX (f, first);
          return FALSE;
        }
      }
  return TRUE;
}

static gboolean
read_slab (SbH5Frames *frames, gint64 first, gint64 n, gpointer out)
{
  hsize_t start[3] = { (hsize_t)first, 0, 0 };
  hsize_t count[3] = { (hsize_t)n, (hsize_t)frames->rows, (hsize_t)frames->cols };
  int skip = 3 - frames->rank;
  hid_t space = H5Dget_space (frames->id), memory = H5Screate_simple (frames->rank, count + skip, NULL);
  gboolean good = space >= 0 && memory >= 0
                  && H5Sselect_hyperslab (space, H5S_SELECT_SET, start + skip, NULL, count + skip, NULL) >= 0
                  && H5Dread (frames->id, native_type (frames->dtype), memory, space, H5P_DEFAULT, out) >= 0;
  if (space >= 0)
    H5Sclose (space);
  if (memory >= 0)
    H5Sclose (memory);
  return good;
}

static gboolean
read_library (SbH5Frames *frames, gint64 first, gint64 n, gint64 first_name, gpointer out, GError **error)
{
  gint64 hole = first;
  gboolean good = FALSE;
  if (!h5io_begin (error))
    return FALSE;
  if (!h5frames_ensure_open (frames, error))
    ;
  else if (!all_written (frames, first, n, &hole))
    missing_frame (frames, hole, first_name, error);
  else if (!read_slab (frames, first, n, out))
    sb_fail (error, SB_ERROR_IO,
             "%s: frames %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT " cannot be read: copy the file again.",
             frames->path, first_name + first, first_name + first + n - 1);
  else
    good = TRUE;
  h5io_end ();
  return good;
}

gboolean
h5frames_read (SbH5Frames *frames, gint64 first, gint64 n, gint64 first_name, gpointer out, GError **error)
{
  if (first < 0 || n < 0 || n > frames->frames - first)
    return sb_fail (error, SB_ERROR_INTERNAL, "%s: frames beyond its end were asked for.", frames->path);
  if (n == 0)
    return TRUE;
  if (frames->storage == SB_STORAGE_LIBRARY)
    return read_library (frames, first, n, first_name, out, error);
  return read_chunks (frames, first, n, first_name, out, error);
}
