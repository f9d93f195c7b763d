/* NanoMEGAS blockfiles: a picture of the scan, then the patterns, each behind six bytes of its own. */
#include <math.h>
#include <string.h>

#include "core/bytes.h"
#include "core/error.h"
#include "core/frameset.h"

#define D "%" G_GINT64_FORMAT

enum { HEADER = 56, BEFORE_FRAME = 6, MAGIC_8 = 258, MAGIC_16 = 259 };

static int
probe (const char *path, const guint8 *head, gsize head_size)
{
  return head_size >= 6 && memcmp (head, "IMGBLO", 6) == 0 ? 100 : 0;
}

/* One byte a pixel; the newer magic may have two, which its size tells. */
static gboolean
is_wide (const guint8 *head, gint64 room, gint64 pixels, gint64 frames)
{
  return bytes_u16 (head + 6, FALSE) == MAGIC_16 && room / (BEFORE_FRAME + 2 * pixels) >= frames;
}

static double
positive (double x, double most)
{
  return isfinite (x) && x > 0 && x < most ? x : NAN;
}

static SbFrameSet *
describe (const guint8 *head, const char *path, gint64 size, SbHeader *header, GError **error)
{
  guint magic = bytes_u16 (head + 6, FALSE);
  gint64 offset = bytes_u32 (head + 12, FALSE), side = bytes_u16 (head + 20, FALSE), cols = bytes_u16 (head + 24, FALSE),
         rows = bytes_u16 (head + 26, FALSE), frames = rows * cols;
  if (magic != MAGIC_8 && magic != MAGIC_16) {
    sb_fail (error, SB_ERROR_DATA, "%s is a blockfile of unknown version %u: save it as version 258.", path, magic);
    return NULL;
  }
  if (side < 1 || frames < 1 || offset < HEADER) {
    sb_fail (error, SB_ERROR_DATA,
             "%s claims a scan of " D " x " D " and patterns of " D " x " D " pixels from byte " D ", which cannot be.", path,
             rows, cols, side, side, offset);
    return NULL;
  }
  SbStored stored;
  SbFrameLayout layout;
  gboolean cut;
  stored_from_name (is_wide (head, size - offset, side * side, frames) ? "<u2" : "u1", &stored);
  frame_layout (&stored, side, side, BEFORE_FRAME, 0, &layout);
  header->detector_rows = header->detector_cols = side;
  header->dtype = stored.dtype;
  header->scan_rows = rows;
  header->scan_cols = cols;
  header->step[0] = 10 * positive (bytes_f64 (head + 38, FALSE), 1e9);
  header->step[1] = 10 * positive (bytes_f64 (head + 30, FALSE), 1e9);
  header->energy = positive (bytes_u32 (head + 46, FALSE), 1e7) / 1e3;
  header->frames = MIN (frames, frameset_fit (&layout, offset, size, &cut));
  header->expected_frames = frames;
  if (header->frames < frames)
    header->missing = frameset_truncated (&layout, path, size, offset, frames);
  SbFrameSet *set = frameset_new (&layout);
  frameset_add (set, path, offset, header->frames);
  return set;
}

static SbReader *
open_blo (const char *path, const SbAcquisitionOptions *options, SbHeader *header, GError **error)
{
  guint8 head[HEADER];
  SbFlatFile *file = flatfile_open (path, error);
  gssize got = file != NULL ? flatfile_bytes (file, 0, HEADER, head, error) : -1;
  gint64 size = file != NULL ? flatfile_size (file) : 0;
  flatfile_close (file);
  if (got >= 0 && got < HEADER)
    sb_fail (error, SB_ERROR_IO, "%s is truncated within its header: copy it again.", path);
  return got < HEADER ? NULL : (SbReader *)describe (head, path, size, header, error);
}

static gboolean
read_blo (SbReader *reader, gint64 first, gint64 n, gpointer out, GError **error)
{
  return frameset_read ((SbFrameSet *)reader, first, n, out, error);
}

static void
close_blo (SbReader *reader)
{
  frameset_free ((SbFrameSet *)reader);
}

static gboolean
chunks_blo (SbReader *reader, gint64 first, gint64 n, SbChunkCodec *codec, SbFrameChunk *out)
{
  return frameset_chunks ((const SbFrameSet *)reader, first, n, codec, out);
}

const SbFormat format_blo = {
  .name = "blo",
  .title = "NanoMEGAS blockfile (.blo)",
  .suffixes = "blo",
  .probe = probe,
  .open = open_blo,
  .read = read_blo,
  .close = close_blo,
  .chunks = chunks_blo,
};
