/* Where the frames of an HDF5 dataset lie in its file. H5Dget_chunk_info looks through all chunks at every call, and
 * H5Dchunk_iter came with HDF5 1.14: with older libraries the index of the chunks (a version 1 B-tree, which every file
 * has that was not written for the newest library) is read here. What is not as the format's specification has it means
 * that the caller takes H5Dread_chunk's way. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/h5frames.h"

static gboolean
one_chunk_a_frame (const SbH5Frames *frames)
{
  return frames->storage == SB_STORAGE_CHUNKS && frames->chunk[0] == 1 && frames->chunk[1] == frames->rows
         && frames->chunk[2] == frames->cols;
}

static guint64
frame_bytes (const SbH5Frames *frames)
{
  return (guint64)(frames->rows * frames->cols) * frames->codec.element;
}

/* Notes a chunk; a place that no healthy chunk can have leaves size 0. */
static void
note_chunk (SbH5Frames *frames, const guint64 *corner, guint32 mask, guint64 address, guint64 size)
{
  guint64 row = frames->rank == 4 ? corner[0] : 0;
  guint64 col = frames->rank == 4 ? corner[1] : frames->rank == 3 ? corner[0] : 0;
  if (row >= (guint64)frames->lead[0] || col >= (guint64)frames->lead[1] || address > G_MAXINT64 / 2
      || size > chunk_bound (frame_bytes (frames)))
    return;
  frames->places[row * (guint64)frames->lead[1] + col] = (SbFrameChunk){ frames->path, address, size, mask };
}

#if H5_VERSION_GE(1, 14, 0)

static int
each_chunk (const hsize_t *offset, unsigned mask, haddr_t address, hsize_t size, void *data)
{
  guint64 corner[4] = { 0 };
  SbH5Frames *frames = data;
  for (int i = 0; i < frames->rank; i++)
    corner[i] = offset[i];
  note_chunk (frames, corner, mask, address, size);
  return H5_ITER_CONT;
}

static gboolean
find_chunks (SbH5Frames *frames)
{
  return H5Dchunk_iter (frames->id, H5P_DEFAULT, each_chunk, frames) >= 0;
}

#elif !H5_VERSION_GE(1, 12, 0)

enum { MOST_HEADER = 1 << 20, MOST_MESSAGES = 4096, LAYOUT = 8, CONTINUATION = 16, DEEPEST = 8 };

/* The file behind HDF5's back. */
typedef struct Raw {
  SbH5Frames *frames;
  int fd;
  guint64 base; /* addresses count from here */
  gint64 left;  /* nodes that may yet be read: a damaged tree has an end, too */
  guint64 tree; /* address of the chunks' index */
} Raw;

static gboolean
raw_read (const Raw *raw, guint64 address, gsize n, guint8 *out)
{
  return address <= G_MAXINT64 / 2 && pread (raw->fd, out, n, (off_t)(raw->base + address)) == (ssize_t)n;
}

static guint64
little (const guint8 *p, int n)
{
  guint64 value = 0;
  for (int i = n - 1; i >= 0; i--)
    value = value << 8 | p[i];
  return value;
}

/* Version 3 layouts of chunked data: version, class, axes + 1, address of the index. */
static gboolean
take_layout (Raw *raw, const guint8 *message, gsize size)
{
  if (size < 11 || message[0] != 3 || message[1] != 2 || message[2] != raw->frames->rank + 1)
    return FALSE;
  raw->tree = little (message + 3, 8);
  return TRUE;
}

/* Where a list of messages goes on. */
typedef struct Piece {
  guint64 address, size;
} Piece;

/* The messages of one piece of an object header; TRUE: the layout is among them. */
static gboolean
walk_messages (Raw *raw, const guint8 *at, gsize size, int version, gboolean ordered, GArray *pieces)
{
  gsize head = version == 1 ? 8 : ordered ? 6 : 4;
  for (int i = 0; i < MOST_MESSAGES && size >= head; i++) {
    guint type = version == 1 ? (guint)little (at, 2) : at[0];
    gsize length = (gsize)little (at + (version == 1 ? 2 : 1), 2);
    if (length > size - head)
      return FALSE;
    const guint8 *body = at + head;
    if (type == LAYOUT)
      return take_layout (raw, body, length);
    if (type == CONTINUATION && length >= 16 && pieces->len < 64) {
      Piece piece = { little (body, 8), little (body + 8, 8) };
      g_array_append_val (pieces, piece);
    }
    at += head + length;
    size -= head + length;
  }
  return FALSE;
}

static gboolean
walk_header (Raw *raw, guint64 address)
{
  guint8 head[64];
  guint8 flags = 0;
  int version = 2;
  gsize skip = 0;
  Piece piece = { 0, 0 };
  if (!raw_read (raw, address, 16, head))
    return FALSE;
  if (memcmp (head, "OHDR", 4) == 0) {
    flags = head[5];
    gsize at = 6 + (flags & 0x20 ? 16u : 0) + (flags & 0x10 ? 4u : 0), width = (gsize)1 << (flags & 3);
    if (head[4] != 2 || !raw_read (raw, address, at + width, head))
      return FALSE;
    piece = (Piece){ address + at + width, little (head + at, (int)width) };
  } else {
    if (head[0] != 1)
      return FALSE;
    version = 1;
    piece = (Piece){ address + 16, little (head + 8, 4) };
  }
  g_autoptr (GArray) pieces = g_array_new (FALSE, FALSE, sizeof (Piece));
  g_array_append_val (pieces, piece);
  gboolean found = FALSE;
  for (guint i = 0; i < pieces->len && !found; i++, skip = version == 2 ? 4 : 0) { /* "OCHK" */
    piece = g_array_index (pieces, Piece, i);
    g_autofree guint8 *bytes = piece.size <= MOST_HEADER ? g_try_malloc (piece.size + 1) : NULL;
    found = bytes != NULL && piece.size > skip && raw_read (raw, piece.address, piece.size, bytes)
            && walk_messages (raw, bytes + skip, piece.size - skip, version, (flags & 4) != 0, pieces);
  }
  return found;
}

/* A node of the index and what is below it; level < 0: any. */
static gboolean
walk_node (Raw *raw, guint64 address, int level)
{
  guint8 head[24];
  gsize axes = (gsize)raw->frames->rank + 1, key = 8 + 8 * axes, entry = key + 8;
  if (raw->left-- <= 0 || !raw_read (raw, address, sizeof head, head) || memcmp (head, "TREE", 4) != 0 || head[4] != 1
      || head[5] > DEEPEST || (level >= 0 && head[5] != level))
    return FALSE;
  gsize n = (gsize)little (head + 6, 2);
  g_autofree guint8 *bytes = g_try_malloc (n * entry + 1);
  if (bytes == NULL || !raw_read (raw, address + sizeof head, n * entry, bytes))
    return FALSE;
  for (gsize i = 0; i < n; i++) {
    const guint8 *at = bytes + i * entry;
    guint64 corner[4] = { 0 }, child = little (at + key, 8);
    if (head[5] > 0) {
      if (!walk_node (raw, child, head[5] - 1))
        return FALSE;
      continue;
    }
    for (gsize d = 0; d + 1 < axes; d++)
      corner[d] = little (at + 8 + 8 * d, 8);
    note_chunk (raw->frames, corner, (guint32)little (at + 4, 4), raw->base + child, little (at, 4));
  }
  return TRUE;
}

static gboolean
find_chunks (SbH5Frames *frames)
{
  Raw raw = { .frames = frames, .fd = -1, .left = 2 * frames->frames + 64, .tree = G_MAXUINT64 };
  H5O_info_t info;
  hsize_t block = 0;
  size_t address = 0, length = 0;
  hid_t plan = H5Fget_create_plist (frames->file);
  gboolean good = plan >= 0 && H5Pget_userblock (plan, &block) >= 0 && H5Pget_sizes (plan, &address, &length) >= 0
                  && address == 8 && length == 8 && H5Oget_info2 (frames->id, &info, H5O_INFO_BASIC) >= 0;
  if (plan >= 0)
    H5Pclose (plan);
  raw.base = block;
  if (good && (raw.fd = open (frames->path, O_RDONLY | O_CLOEXEC)) >= 0) {
    good = walk_header (&raw, info.addr);
    /* nothing written: no index */
    good = good && (raw.tree == G_MAXUINT64 || walk_node (&raw, raw.tree, -1));
    close (raw.fd);
  } else
    good = FALSE;
  return good;
}

#else

static gboolean
find_chunks (SbH5Frames *frames)
{
  return FALSE;
}

#endif

/* Frames one behind the other. */
static gboolean
find_contiguous (SbH5Frames *frames)
{
  haddr_t address = H5Dget_offset (frames->id);
  if (address == HADDR_UNDEF)
    return FALSE;
  for (gint64 i = 0; i < frames->frames; i++)
    frames->places[i] = (SbFrameChunk){ frames->path, address + (guint64)i * frame_bytes (frames), frame_bytes (frames), 0 };
  return TRUE;
}

static gboolean
find_places (SbH5Frames *frames)
{
  gboolean contiguous = frames->storage == SB_STORAGE_LIBRARY && frames->chunk[0] == 0;
  if (!contiguous && !one_chunk_a_frame (frames))
    return FALSE;
  frames->places = g_try_new0 (SbFrameChunk, frames->frames);
  if (frames->places == NULL || !h5frames_ensure_open (frames, NULL))
    return FALSE;
  for (gint64 i = 0; i < frames->frames; i++)
    frames->places[i].path = frames->path;
  return contiguous ? find_contiguous (frames) : find_chunks (frames);
}

gboolean
h5frames_chunks (SbH5Frames *frames, gint64 first, gint64 n, SbFrameChunk *out)
{
  if (first < 0 || n < 0 || n > frames->frames - first || !h5io_begin (NULL))
    return FALSE;
  if (frames->places == NULL && !frames->no_places && !find_places (frames)) {
    g_clear_pointer (&frames->places, g_free);
    frames->no_places = TRUE;
  }
  gboolean found = frames->places != NULL;
  h5io_end ();
  if (found)
    memcpy (out, frames->places + first, (gsize)n * sizeof *out);
  return found;
}
