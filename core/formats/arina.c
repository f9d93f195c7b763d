/* DECTRIS ARINA / EIGER: a master file and its data files. */
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/formats/arina_master.h"
#include "core/h5frames.h"
#include "core/order.h"

/* One data file that is there, and where its frames stand in the series. */
typedef struct Shard {
  gint64 first; /* in front: order_last */
  SbH5Frames *frames;
} Shard;

typedef struct Arina {
  GArray *shards; /* Shard, ascending */
} Arina;

static int
probe (const char *path, const guint8 *head, gsize head_size)
{
  if (!h5io_has_signature (head, head_size))
    return 0;
  return g_str_has_suffix (path, "_master.h5") ? 90 : 40;
}

static void
close_arina (SbReader *reader)
{
  Arina *arina = (Arina *)reader;
  for (guint i = 0; i < arina->shards->len; i++)
    h5frames_free (g_array_index (arina->shards, Shard, i).frames);
  g_array_unref (arina->shards);
  g_free (arina);
}

/* All data files hold the same kind of frames; the first one says which. */
static gboolean
check_alike (const SbH5Frames *frames, gboolean is_first, SbHeader *header, GError **error)
{
  if (is_first) {
    header->detector_rows = frames->rows;
    header->detector_cols = frames->cols;
    header->dtype = frames->dtype;
    return TRUE;
  }
  if (frames->rows == header->detector_rows && frames->cols == header->detector_cols && frames->dtype == header->dtype)
    return TRUE;
  return sb_fail (error, SB_ERROR_DATA,
                  "%s holds %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT " %s frames, the files before it %" G_GINT64_FORMAT
                  " x %" G_GINT64_FORMAT " %s: the files of two acquisitions are mixed.",
                  frames->path, frames->rows, frames->cols, dtype_name (frames->dtype), header->detector_rows,
                  header->detector_cols, dtype_name (header->dtype));
}

/* Holds a file's own count of its frames against where the series stands. Where frames are left out,
 * header->missing says so, and *gap that they would stand before this file. */
static gboolean
check_numbers (SbH5Frames *frames, SbHeader *header, gboolean *gap, GError **error)
{
  double low, high;
  if (!h5frames_attribute (frames, "image_nr_low", &low) || !h5frames_attribute (frames, "image_nr_high", &high) || !(low >= 1)
      || !(high >= low) || high > 1e12)
    return TRUE;
  gint64 first = (gint64)low - 1;
  if (first < header->frames)
    return sb_fail (error, SB_ERROR_DATA,
                    "%s says that it begins with frame %" G_GINT64_FORMAT ", but %" G_GINT64_FORMAT
                    " frames stand before it: the data files are mixed up, copy them again.",
                    frames->path, first, header->frames);
  *gap = first > header->frames;
  if (*gap)
    header->missing = g_strdup_printf ("Frames %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT " are missing before %s.",
                                       header->frames, first - 1, frames->path);
  else if ((gint64)high - first != frames->frames)
    header->missing = g_strdup_printf ("%s holds %" G_GINT64_FORMAT " frames, not the %" G_GINT64_FORMAT " that it says.",
                                       frames->path, frames->frames, (gint64)high - first);
  return TRUE;
}

/* Adds one data file; with header->missing set (it, or frames of it, are not there) the list ends here. */
static gboolean
add_shard (Arina *arina, const SbShardName *name, const char *master, SbHeader *header, GError **error)
{
  g_autoptr (GError) why = NULL;
  if (!g_file_test (name->path, G_FILE_TEST_EXISTS)) {
    header->missing = g_strdup_printf ("%s is missing.", name->path);
    return TRUE;
  }
  SbH5Frames *frames = h5frames_new (name->path, name->dataset, &why);
  if (frames == NULL && why->code == SB_ERROR_IO) {
    header->missing = g_strdup (why->message);
    return TRUE;
  }
  if (frames == NULL) {
    g_propagate_error (error, g_steal_pointer (&why));
    return FALSE;
  }
  gboolean gap = FALSE;
  gboolean good = check_alike (frames, arina->shards->len == 0, header, error) && check_numbers (frames, header, &gap, error);
  if (!good || gap) {
    h5frames_free (frames);
    return good;
  }
  Shard shard = { header->frames, frames };
  g_array_append_val (arina->shards, shard);
  header->frames += frames->frames;
  if (strcmp (name->path, master) != 0)
    g_ptr_array_add (header->files, g_strdup (name->path));
  return TRUE;
}

static gboolean
add_shards (Arina *arina, const SbMaster *master, const char *path, SbHeader *header, GError **error)
{
  for (guint i = 0; i < master->shards->len && header->missing == NULL; i++) {
    if (!add_shard (arina, master->shards->pdata[i], path, header, error))
      return FALSE;
    /* Aborted series leave links to files that were never to come. */
    if (header->missing != NULL && master->promised > 0 && header->frames >= master->promised) {
      g_ptr_array_add (header->warnings, g_strdup_printf ("The master names more data files than the %" G_GINT64_FORMAT
                                                          " promised frames fill; they are not there and not used.",
                                                          master->promised));
      g_clear_pointer (&header->missing, g_free);
      break;
    }
  }
  return TRUE;
}

static void
fill_header (const SbMaster *master, const char *path, SbHeader *header)
{
  double ones = header->dtype == SB_U8    ? G_MAXUINT8
                : header->dtype == SB_U16 ? G_MAXUINT16
                : header->dtype == SB_U32 ? G_MAXUINT32
                                          : NAN;
  header->expected_frames = master->promised > header->frames ? master->promised : header->missing != NULL ? 0 : header->frames;
  header->scan_rows = master->scan[0];
  header->scan_cols = master->scan[1];
  header->energy = master->energy;
  /* All ones stand for "not measured": masked, or beyond the counter. */
  header->has_saturation = !isnan (ones);
  header->saturation = master->saturation > 0 && master->saturation < ones ? master->saturation : ones;
  master_sidecar (path, header);
}

static SbReader *
open_arina (const char *path, const SbAcquisitionOptions *options, SbHeader *header, GError **error)
{
  SbMaster master;
  Arina *arina = g_new0 (Arina, 1);
  arina->shards = g_array_new (FALSE, FALSE, sizeof (Shard));
  gboolean good = master_read (path, &master, error) && add_shards (arina, &master, path, header, error);
  if (good)
    fill_header (&master, path, header);
  /* The shape of the mask is only known with frames. */
  if (good && arina->shards->len > 0)
    good = header->detector_rows > 0 && header->detector_cols > 0
               ? master_mask (path, header, error)
               : sb_fail (error, SB_ERROR_DATA, "%s claims frames without pixels.", path);
  master_clear (&master);
  if (!good) {
    close_arina ((SbReader *)arina);
    return NULL;
  }
  return (SbReader *)arina;
}

/* The data file that holds a frame. */
static guint
find_shard (const Arina *arina, gint64 frame)
{
  return order_last (arina->shards->data, arina->shards->len, sizeof (Shard), frame);
}

static gboolean
read_arina (SbReader *reader, gint64 first, gint64 n, gpointer out, GError **error)
{
  const Arina *arina = (const Arina *)reader;
  guint8 *to = out;
  for (guint i = find_shard (arina, first); n > 0; i++) {
    if (i >= arina->shards->len)
      return sb_fail (error, SB_ERROR_INTERNAL, "Frames beyond the end of the acquisition were asked for.");
    const Shard *shard = &g_array_index (arina->shards, Shard, i);
    gint64 from = first - shard->first, count = MIN (n, shard->frames->frames - from);
    if (!h5frames_read (shard->frames, from, count, shard->first, to, error))
      return FALSE;
    to += (gsize)(count * shard->frames->rows * shard->frames->cols) * dtype_size (shard->frames->dtype);
    first += count;
    n -= count;
  }
  return TRUE;
}

/* One codec for all data files, or none. */
static gboolean
same_codec (const SbChunkCodec *a, const SbChunkCodec *b)
{
  return a->filter == b->filter && a->element == b->element && a->block == b->block && a->swap == b->swap;
}

static gboolean
chunks_arina (SbReader *reader, gint64 first, gint64 n, SbChunkCodec *codec, SbFrameChunk *out)
{
  const Arina *arina = (const Arina *)reader;
  if (arina->shards->len == 0)
    return FALSE;
  *codec = g_array_index (arina->shards, Shard, 0).frames->codec;
  for (guint i = find_shard (arina, first); n > 0; i++) {
    const Shard *shard = i < arina->shards->len ? &g_array_index (arina->shards, Shard, i) : NULL;
    gint64 from = shard != NULL ? first - shard->first : 0, count = shard != NULL ? MIN (n, shard->frames->frames - from) : 0;
    if (shard == NULL || !same_codec (codec, &shard->frames->codec) || !h5frames_chunks (shard->frames, from, count, out))
      return FALSE;
    out += count;
    first += count;
    n -= count;
  }
  return TRUE;
}

const SbFormat format_arina = {
  .name = "arina",
  .title = "DECTRIS ARINA / EIGER master (HDF5)",
  .suffixes = "h5 hdf5",
  .probe = probe,
  .open = open_arina,
  .read = read_arina,
  .close = close_arina,
  .chunks = chunks_arina,
};
