#include "core/h5frames.h"

#include <string.h>

#include "core/error.h"
#include "core/h5file.h"

/* More files than a process may have open can belong to one acquisition. */
enum { MOST_OPEN = 64 };
static GQueue opened = G_QUEUE_INIT; /* SbH5Frames *, oldest first; guarded by the lock of h5io */

static void
shut (SbH5Frames *frames)
{
  if (frames->id >= 0)
    H5Dclose (frames->id);
  if (frames->file >= 0) {
    H5Fclose (frames->file);
    g_queue_remove (&opened, frames);
  }
  frames->id = frames->file = H5I_INVALID_HID;
}

gboolean
h5frames_ensure_open (SbH5Frames *frames, GError **error)
{
  if (frames->id >= 0)
    return TRUE;
  while (g_queue_get_length (&opened) >= MOST_OPEN)
    shut (g_queue_peek_head (&opened));
  frames->file = h5io_open_file (frames->path, error);
  if (frames->file < 0)
    return FALSE;
  g_queue_push_tail (&opened, frames);
  frames->id = h5io_exists (frames->file, frames->dataset) ? H5Dopen2 (frames->file, frames->dataset, H5P_DEFAULT)
                                                           : H5I_INVALID_HID;
  if (frames->id >= 0)
    return TRUE;
  shut (frames);
  return h5file_check (error)
         && sb_fail (error, SB_ERROR_DATA, "%s has no readable dataset %s.", frames->path, frames->dataset);
}

/* ---- what the dataset is ---- */

static gboolean
describe_type (SbH5Frames *frames, GError **error)
{
  hid_t type = H5Dget_type (frames->id);
  H5T_class_t class = type < 0 ? H5T_NO_CLASS : H5Tget_class (type);
  gsize size = type < 0 ? 0 : H5Tget_size (type);
  gboolean is_signed = class == H5T_INTEGER && H5Tget_sign (type) == H5T_SGN_2;
  gboolean swap = class != H5T_NO_CLASS && size > 1 && H5Tget_order (type) == H5T_ORDER_BE;
  gboolean known = TRUE;
  if (class == H5T_INTEGER && size == 1 && !is_signed)
    frames->dtype = SB_U8;
  else if (class == H5T_INTEGER && size == 2)
    frames->dtype = is_signed ? SB_I16 : SB_U16;
  else if (class == H5T_INTEGER && size == 4)
    frames->dtype = is_signed ? SB_I32 : SB_U32;
  else if (class == H5T_FLOAT && (size == 4 || size == 8))
    frames->dtype = size == 4 ? SB_F32 : SB_F64;
  else
    known = FALSE;
  if (type >= 0)
    H5Tclose (type);
  frames->codec = (SbChunkCodec){ .filter = SB_CHUNK_NONE, .element = size, .swap = swap };
  return known
         || sb_fail (error, SB_ERROR_DATA, "%s: dataset %s is not of 8, 16 or 32 bit counts or floats.", frames->path,
                     frames->dataset);
}

static gboolean
describe_shape (SbH5Frames *frames, GError **error)
{
  hid_t space = H5Dget_space (frames->id);
  hsize_t shape[4] = { 1, 1, 0, 0 };
  int rank = frames->rank = space < 0 ? 0 : H5Sget_simple_extent_ndims (space);
  gboolean good = rank >= 2 && rank <= 4 && H5Sget_simple_extent_dims (space, shape + 4 - rank, NULL) == rank;
  if (space >= 0)
    H5Sclose (space);
  for (int i = 0; good && i < 4; i++)
    good = shape[i] <= G_MAXINT32; /* also keeps the products below 2^63 */
  if (!good)
    return sb_fail (error, SB_ERROR_DATA, "%s: dataset %s is not a stack of frames (3 or 4 axes).", frames->path,
                    frames->dataset);
  frames->lead[0] = (gint64)shape[0];
  frames->lead[1] = (gint64)shape[1];
  frames->frames = frames->lead[0] * frames->lead[1];
  frames->rows = (gint64)shape[2];
  frames->cols = (gint64)shape[3];
  return TRUE;
}

/* One filter that is ours is decoded here; all that HDF5 brings itself is left to it; anything else has no
 * reader. */
static gboolean
describe_filters (SbH5Frames *frames, hid_t plan, GError **error)
{
  int n = H5Pget_nfilters (plan);
  frames->storage = n == 0 ? SB_STORAGE_CHUNKS : SB_STORAGE_LIBRARY;
  for (int i = 0; i < n; i++) {
    unsigned flags, config, values[16] = { 0 };
    size_t n_values = G_N_ELEMENTS (values);
    char name[2];
    int id = (int)H5Pget_filter2 (plan, (unsigned)i, &flags, &n_values, values, 0, name, &config);
    g_autoptr (GError) why = NULL;
    if (id < 0)
      return sb_fail (error, SB_ERROR_DATA, "%s: the filters of dataset %s cannot be read.", frames->path, frames->dataset);
    if (n == 1 && (id == SB_FILTER_BITSHUFFLE || id == SB_FILTER_LZ4)) {
      n_values = MIN (n_values, G_N_ELEMENTS (values));
      frames->storage = SB_STORAGE_CHUNKS;
      if (!chunk_codec ((guint)id, n_values, values, frames->codec.element, frames->codec.swap, &frames->codec, &why))
        return sb_fail (error, SB_ERROR_DATA, "%s: dataset %s cannot be decoded: %s.", frames->path, frames->dataset,
                        why->message);
    } else if (id >= H5Z_FILTER_RESERVED || H5Zfilter_avail (id) <= 0)
      return sb_fail (error, SB_ERROR_DATA,
                      "%s: dataset %s is compressed with filter %d, which is not supported: store it with bitshuffle-LZ4 "
                      "(32008), LZ4 (32004) or gzip.",
                      frames->path, frames->dataset, id);
  }
  return TRUE;
}

static gboolean
describe_chunks (SbH5Frames *frames, hid_t plan, GError **error)
{
  hsize_t chunk[4] = { 1, 1, 0, 0 };
  gint64 bytes = (gint64)frames->codec.element;
  if (H5Pget_chunk (plan, frames->rank, chunk + 4 - frames->rank) != frames->rank)
    return sb_fail (error, SB_ERROR_DATA, "%s: the chunks of dataset %s cannot be read.", frames->path, frames->dataset);
  for (int i = 0; i < 4; i++)
    if (chunk[i] == 0 || chunk[i] > G_MAXINT32 || __builtin_mul_overflow (bytes, (gint64)chunk[i], &bytes)
        || bytes > G_MAXINT32)
      return sb_fail (error, SB_ERROR_DATA, "%s: the chunks of dataset %s are of an impossible size.", frames->path,
                      frames->dataset);
  frames->tile[0] = (gint64)chunk[0];
  frames->tile[1] = (gint64)chunk[1];
  frames->chunk[0] = frames->tile[0] * frames->tile[1];
  frames->chunk[1] = (gint64)chunk[2];
  frames->chunk[2] = (gint64)chunk[3];
  return describe_filters (frames, plan, error);
}

static gboolean
describe_layout (SbH5Frames *frames, GError **error)
{
  hid_t plan = H5Dget_create_plist (frames->id);
  H5D_layout_t layout = plan < 0 ? H5D_LAYOUT_ERROR : H5Pget_layout (plan);
  gboolean good;
  frames->storage = SB_STORAGE_LIBRARY;
  if (layout == H5D_CHUNKED)
    good = describe_chunks (frames, plan, error);
  else if (layout == H5D_VIRTUAL)
    good = sb_fail (error, SB_ERROR_DATA,
                    "%s: dataset %s is virtual and part of another virtual one, which is not supported: write it as a plain "
                    "dataset.",
                    frames->path, frames->dataset);
  else if (layout == H5D_CONTIGUOUS || layout == H5D_COMPACT)
    good = H5Pget_external_count (plan) == 0 && H5Dget_storage_size (frames->id) > 0;
  else
    good = FALSE;
  if (plan >= 0)
    H5Pclose (plan);
  if (!good)
    sb_fail (error, SB_ERROR_DATA, "%s: dataset %s was never written.", frames->path, frames->dataset);
  return good;
}

SbH5Frames *
h5frames_new (const char *path, const char *dataset, GError **error)
{
  SbH5Frames *frames = g_new0 (SbH5Frames, 1);
  frames->path = g_strdup (path);
  frames->dataset = g_strdup (dataset);
  frames->file = frames->id = H5I_INVALID_HID;
  gboolean good = FALSE;
  if (h5io_begin (error)) {
    good = h5frames_ensure_open (frames, error) && describe_type (frames, error) && describe_shape (frames, error)
           && describe_layout (frames, error);
    h5io_end ();
  }
  if (!good)
    g_clear_pointer (&frames, h5frames_free);
  return frames;
}

void
h5frames_free (SbH5Frames *frames)
{
  if (frames == NULL)
    return;
  if (h5io_begin (NULL)) {
    shut (frames);
    h5io_end ();
  }
  g_free (frames->path);
  g_free (frames->dataset);
  g_free (frames->places);
  g_free (frames);
}

gboolean
h5frames_attribute (SbH5Frames *frames, const char *name, double *value)
{
  if (!h5io_begin (NULL))
    return FALSE;
  gboolean found = h5frames_ensure_open (frames, NULL) && h5io_attribute (frames->id, ".", name, value);
  h5io_end ();
  return found;
}
