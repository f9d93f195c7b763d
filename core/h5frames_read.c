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
  return sb_fail (error, SB_ERROR_DATA, "%s: frame %" G_GINT64_FORMAT " was never written: give a scan_region without it.",
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

/* Which chunk: row of frames, frame in the row, row and column of a frame, of its first element. */
typedef hsize_t Corner[4];

static const hsize_t *
corner_of (const SbH5Frames *frames, const Corner at)
{
  return at + 4 - frames->rank;
}

/* The first frame of a chunk, for messages and places. */
static gint64
frame_of (const SbH5Frames *frames, const Corner at)
{
  return (gint64)at[0] * frames->lead[1] + (gint64)at[1];
}

static gsize
chunk_bytes (const SbH5Frames *frames)
{
  return (gsize)(frames->chunk[0] * frames->chunk[1] * frames->chunk[2]) * frames->codec.element;
}

/* The stored bytes of the chunk at a corner. */
static gboolean
fetch (SbH5Frames *frames, const Corner corner, gint64 first_name, Buffers *buffers, gsize *size, guint32 *mask, GError **error)
{
  hsize_t bytes = 0;
  const hsize_t *at = corner_of (frames, corner);
  gint64 frame = frame_of (frames, corner);
  gboolean good = FALSE;
  if (!h5io_begin (error))
    return FALSE;
  if (!h5frames_ensure_open (frames, error))
    ;
  else if (H5Dget_chunk_storage_size (frames->id, at, &bytes) < 0 || bytes == 0)
    missing_frame (frames, frame, first_name, error);
  else if (bytes > chunk_bound (chunk_bytes (frames)))
    sb_fail (error, SB_ERROR_DATA,
             "%s: frame %" G_GINT64_FORMAT " is damaged (it claims %" G_GUINT64_FORMAT " bytes): copy the file again.",
             frames->path, first_name + frame, (guint64)bytes);
  else if (!make_room (buffers, bytes, error))
    ;
  else if (H5Dread_chunk (frames->id, H5P_DEFAULT, at, mask, buffers->stored) < 0)
    sb_fail (error, SB_ERROR_IO, "%s: frame %" G_GINT64_FORMAT " cannot be read: copy the file again.", frames->path,
             first_name + frame);
  else
    good = TRUE;
  h5io_end ();
  *size = bytes;
  return good;
}

/* Copies what out needs of a decoded chunk. */
static void
place (const SbH5Frames *frames, const guint8 *chunk, const Corner at, gint64 first, gint64 n, guint8 *out)
{
  gsize element = frames->codec.element;
  gint64 rows = MIN (frames->chunk[1], frames->rows - (gint64)at[2]);
  gint64 cols = MIN (frames->chunk[2], frames->cols - (gint64)at[3]);
  gint64 most = MIN (frames->tile[0], frames->lead[0] - (gint64)at[0]);
  for (gint64 i = 0; i < most; i++)
    for (gint64 j = 0; j < MIN (frames->tile[1], frames->lead[1] - (gint64)at[1]); j++) {
      gint64 f = frame_of (frames, at) + i * frames->lead[1] + j - first;
      const guint8 *from = chunk + element * (gsize)((i * frames->tile[1] + j) * frames->chunk[1] * frames->chunk[2]);
      for (gint64 r = 0; f >= 0 && f < n && r < rows; r++)
        memcpy (out + element * (gsize)((f * frames->rows + (gint64)at[2] + r) * frames->cols + (gint64)at[3]),
                from + element * (gsize)(r * frames->chunk[2]), element * (gsize)cols);
    }
}

/* All of one chunk that [first, first + n) touches. */
static gboolean
read_chunk (SbH5Frames *frames, const Corner at, gint64 first, gint64 n, gint64 first_name, Buffers *buffers, guint8 *out,
            GError **error)
{
  gsize stored, whole = chunk_bytes (frames);
  guint32 mask = 0;
  g_autoptr (GError) why = NULL;
  if (!fetch (frames, at, first_name, buffers, &stored, &mask, error))
    return FALSE;
  gboolean direct = buffers->chunk == NULL;
  guint8 *to = direct ? out + whole * (gsize)(frame_of (frames, at) - first) : buffers->chunk;
  if (!chunk_decode (&frames->codec, mask, buffers->stored, stored, to, whole, &why))
    return sb_fail (error, why->code == SB_ERROR_MEMORY ? SB_ERROR_MEMORY : SB_ERROR_DATA,
                    "%s: frame %" G_GINT64_FORMAT " is damaged (%s): copy the file again.", frames->path,
                    first_name + frame_of (frames, at), why->message);
  if (!direct)
    place (frames, to, at, first, n, out);
  return TRUE;
}

/* What is done to each chunk that a range of frames touches; FALSE ends the walk. */
typedef struct Walk {
  gboolean (*each) (struct Walk *walk, const Corner at);
  SbH5Frames *frames;
  gint64 first, n, first_name;
  Buffers buffers;
  guint8 *out;
  gint64 hole; /* first frame that was never written */
  GError **error;
  hsize_t most; /* bytes a chunk can have */
  gboolean damaged;
} Walk;

/* The chunks of one row and column of chunks of frames. */
static gboolean
walk_frames (Walk *walk, gint64 i, gint64 j)
{
  const SbH5Frames *frames = walk->frames;
  for (gint64 r = 0; r < frames->rows; r += frames->chunk[1])
    for (gint64 c = 0; c < frames->cols; c += frames->chunk[2]) {
      const Corner at = { (hsize_t)i, (hsize_t)j, (hsize_t)r, (hsize_t)c };
      if (!walk->each (walk, at))
        return FALSE;
    }
  return TRUE;
}

static gboolean
walk_chunks (Walk *walk)
{
  const SbH5Frames *frames = walk->frames;
  gint64 length = frames->lead[1], last = walk->first + walk->n - 1, top = walk->first / length, low = last / length;
  for (gint64 i = top - top % frames->tile[0]; i <= low; i += frames->tile[0]) {
    /* where the rows of frames of this chunk begin and end within the range */
    gint64 a = MAX (i, top), b = MIN (i + frames->tile[0] - 1, low);
    gint64 from = a == b ? MAX (walk->first - a * length, 0) : 0;
    gint64 to = a == b ? MIN (last - a * length, length - 1) : length - 1;
    for (gint64 j = from - from % frames->tile[1]; j <= to; j += frames->tile[1]) {
      /* two rows of which the range holds the end of one and the beginning of the other */
      gboolean touched = b - a != 1 || j + frames->tile[1] > walk->first - a * length || j <= last - b * length;
      if (touched && !walk_frames (walk, i, j))
        return FALSE;
    }
  }
  return TRUE;
}

static gboolean
decode_each (Walk *walk, const Corner at)
{
  return read_chunk (walk->frames, at, walk->first, walk->n, walk->first_name, &walk->buffers, walk->out, walk->error);
}

static gboolean
read_chunks (SbH5Frames *frames, gint64 first, gint64 n, gint64 first_name, guint8 *out, GError **error)
{
  gboolean direct = frames->chunk[0] == 1 && frames->chunk[1] == frames->rows && frames->chunk[2] == frames->cols;
  Walk walk = { decode_each, frames, first, n, first_name, { 0 }, out, first, error };
  walk.buffers.chunk = direct ? NULL : sb_alloc (chunk_bytes (frames), 1, "the frames of a file", error);
  gboolean good = (direct || walk.buffers.chunk != NULL) && walk_chunks (&walk);
  g_free (walk.buffers.stored);
  g_free (walk.buffers.chunk);
  return good;
}

static hid_t
native_type (SbDtype dtype)
{
  switch (dtype) {
  case SB_U8: return H5T_NATIVE_UINT8;
  case SB_U16: return H5T_NATIVE_UINT16;
  case SB_U32: return H5T_NATIVE_UINT32;
  case SB_I16: return H5T_NATIVE_INT16;
  case SB_I32: return H5T_NATIVE_INT32;
  case SB_F32: return H5T_NATIVE_FLOAT;
  case SB_F64: return H5T_NATIVE_DOUBLE;
  }
  return H5I_INVALID_HID;
}

static gboolean
written_each (Walk *walk, const Corner at)
{
  hsize_t bytes = 0;
  walk->hole = MAX (frame_of (walk->frames, at), walk->first);
  gboolean there = H5Dget_chunk_storage_size (walk->frames->id, corner_of (walk->frames, at), &bytes) >= 0 && bytes > 0;
  walk->damaged = bytes > walk->most;
  return there && !walk->damaged;
}

static hsize_t
file_bytes (hid_t id)
{
  hsize_t bytes = 0;
  hid_t file = H5Iget_file_id (id);
  if (file < 0)
    return 0;
  gboolean known = H5Fget_filesize (file, &bytes) >= 0;
  H5Fclose (file);
  return known ? bytes : 0;
}

/* HDF5 fills chunks that were never written with zeros; counts must not be invented. And it takes the memory that a chunk claims
 * before it reads it: none is larger than the file. */
static gboolean
all_written (SbH5Frames *frames, gint64 first, gint64 n, gint64 *hole, gboolean *damaged)
{
  Walk walk = { .each = written_each, .frames = frames, .first = first, .n = n, .most = file_bytes (frames->id) };
  gboolean good = frames->chunk[0] == 0 || walk_chunks (&walk);
  *hole = walk.hole;
  *damaged = walk.damaged;
  return good;
}

/* n frames of one row of frames. */
static gboolean
read_slab (SbH5Frames *frames, gint64 first, gint64 n, gpointer out)
{
  hsize_t start[4] = { (hsize_t)(first / frames->lead[1]), (hsize_t)(first % frames->lead[1]), 0, 0 };
  hsize_t count[4] = { 1, (hsize_t)n, (hsize_t)frames->rows, (hsize_t)frames->cols };
  int skip = 4 - frames->rank;
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
read_slabs (SbH5Frames *frames, gint64 first, gint64 n, guint8 *out)
{
  gsize bytes = (gsize)(frames->rows * frames->cols) * dtype_size (frames->dtype);
  for (gint64 run; n > 0; first += run, n -= run, out += (gsize)run * bytes) {
    run = MIN (n, frames->lead[1] - first % frames->lead[1]);
    if (!read_slab (frames, first, run, out))
      return FALSE;
  }
  return TRUE;
}

static gboolean
read_library (SbH5Frames *frames, gint64 first, gint64 n, gint64 first_name, gpointer out, GError **error)
{
  gint64 hole = first;
  gboolean good = FALSE, damaged = FALSE;
  if (!h5io_begin (error))
    return FALSE;
  if (!h5frames_ensure_open (frames, error))
    ;
  else if (!all_written (frames, first, n, &hole, &damaged) && !damaged)
    missing_frame (frames, hole, first_name, error);
  else if (damaged || !read_slabs (frames, first, n, out))
    sb_fail (error, SB_ERROR_IO, "%s: frames %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT " cannot be read: copy the file again.",
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
