/* NumPy's .npy: [frame, row, col] or [scan row, scan col, row, col], C order. */
#include "core/npyarray.h"

static int
probe (const char *path, const guint8 *head, gsize head_size)
{
  return npyarray_is (head, head_size) ? 100 : 0;
}

static SbReader *
open_npy (const char *path, const SbAcquisitionOptions *options, SbHeader *header, GError **error)
{
  SbFlatFile *file = flatfile_open (path, error);
  if (file != NULL && !npyarray_describe (file, path, 0, header, error))
    g_clear_pointer (&file, flatfile_close);
  return (SbReader *)file;
}

static gboolean
read_npy (SbReader *reader, gint64 first, gint64 n, gpointer out, GError **error)
{
  return flatfile_read ((SbFlatFile *)reader, first, n, out, error);
}

static gboolean
chunks_npy (SbReader *reader, gint64 first, gint64 n, SbChunkCodec *codec, SbFrameChunk *out)
{
  return flatfile_chunks ((SbFlatFile *)reader, first, n, codec, out);
}

static void
close_npy (SbReader *reader)
{
  flatfile_close ((SbFlatFile *)reader);
}

const SbFormat format_npy = {
  .name = "npy",
  .title = "NumPy array (.npy)",
  .suffixes = "npy",
  .probe = probe,
  .open = open_npy,
  .read = read_npy,
  .close = close_npy,
  .chunks = chunks_npy,
};
