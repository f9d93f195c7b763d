#include "core/frameset.h"

#include "core/chunk.h"
#include "core/error.h"
#include "core/order.h"

/* The frames of one file. It is opened to be read and closed again: a series may have a file for each frame.
 */
typedef struct Part {
  gint64 first; /* of its frames, in the set; in front: order_last */
  char *path;
  gint64 offset;
  gint64 frames;
} Part;

struct SbFrameSet {
  SbFrameLayout layout;
  gint64 stride;
  GArray *parts; /* Part, ascending */
  gint64 frames;
};

/* int8 is delivered as int16. */
static void
widen (gconstpointer how, const guint8 *stored, gpointer out)
{
  const SbFrameLayout *layout = how;
  const gint8 *narrow = (const gint8 *)stored;
  gint16 *wide = out;
  for (gint64 i = 0; i < layout->pixels; i++)
    wide[i] = narrow[i];
}

gboolean
frame_layout (const SbStored *stored, gint64 rows, gint64 cols, gint64 before, gint64 after, SbFrameLayout *layout)
{
  gint64 total;
  *layout = (SbFrameLayout){ .before = before, .after = after, .size = dtype_size (stored->dtype), .swap = stored->swap };
  if (stored->widen)
    layout->decode = widen;
  return rows > 0 && cols > 0 && before >= 0 && after >= 0 && !__builtin_mul_overflow (rows, cols, &layout->pixels)
         && !__builtin_mul_overflow (layout->pixels, (gint64)stored->size, &layout->stored)
         && !__builtin_mul_overflow (layout->pixels, (gint64)layout->size, &total)
         && !__builtin_add_overflow (before, layout->stored, &total) && !__builtin_add_overflow (total, after, &total);
}

gint64
frame_layout_bytes (const SbFrameLayout *layout)
{
  return layout->before + layout->stored + layout->after;
}

static void
clear_part (gpointer part)
{
  g_free (((Part *)part)->path);
}

SbFrameSet *
frameset_new (const SbFrameLayout *layout)
{
  SbFrameSet *set = g_new0 (SbFrameSet, 1);
  set->layout = *layout;
  if (layout->decode == widen)
    set->layout.how = &set->layout;
  set->stride = frame_layout_bytes (layout);
  set->parts = g_array_new (FALSE, FALSE, sizeof (Part));
  g_array_set_clear_func (set->parts, clear_part);
  return set;
}

void
frameset_free (SbFrameSet *set)
{
  if (set == NULL)
    return;
  g_array_unref (set->parts);
  g_free (set);
}

void
frameset_add (SbFrameSet *set, const char *path, gint64 offset, gint64 frames)
{
  if (frames < 1)
    return;
  Part part = { set->frames, g_strdup (path), offset, frames };
  g_array_append_val (set->parts, part);
  set->frames += frames;
}

gint64
frameset_frames (const SbFrameSet *set)
{
  return set->frames;
}

gint64
frameset_fit (const SbFrameLayout *layout, gint64 offset, gint64 size, gboolean *cut)
{
  gint64 room = MAX (size - offset, 0), stride = frame_layout_bytes (layout);
  /* What stands behind the last frame's pixels may be absent. */
  gint64 frames = room / stride + (room % stride >= layout->before + layout->stored ? 1 : 0);
  *cut = room > frames * stride;
  return frames;
}

char *
frameset_truncated (const SbFrameLayout *layout, const char *path, gint64 have, gint64 offset, gint64 frames)
{
  /* What a header asks for may be beyond 64 bits. */
  double need = (double)offset + (double)frames * (double)frame_layout_bytes (layout) - (double)layout->after;
  return g_strdup_printf ("%s is truncated (have %" G_GINT64_FORMAT " bytes, needs %.0f bytes): copy it again.", path, have,
                          need);
}

static guint
find_part (const SbFrameSet *set, gint64 frame)
{
  return order_last (set->parts->data, set->parts->len, sizeof (Part), frame);
}

static gboolean
read_bytes (SbFlatFile *file, const Part *part, gint64 offset, gsize n, gpointer out, gint64 frame, GError **error)
{
  gssize got = flatfile_bytes (file, offset, n, out, error);
  if (got < 0 || (gsize)got == n)
    return got >= 0;
  return sb_fail (error, SB_ERROR_IO, "%s ends in frame %" G_GINT64_FORMAT ": it was shortened while it was read.", part->path,
                  frame);
}

/* n frames of one file, from the first-th of the set on. scratch: room for a stored frame, with decode. */
static gboolean
read_part (const SbFrameSet *set, SbFlatFile *file, const Part *part, gint64 first, gint64 n, guint8 *scratch, guint8 *out,
           GError **error)
{
  const SbFrameLayout *layout = &set->layout;
  gsize delivered = (gsize)layout->pixels * layout->size;
  gint64 at = part->offset + (first - part->first) * set->stride;
  if (layout->decode == NULL && set->stride == layout->stored) { /* nothing between the frames */
    if (!read_bytes (file, part, at, (gsize)(n * set->stride), out, first, error))
      return FALSE;
  } else
    for (gint64 i = 0; i < n; i++, at += set->stride) {
      guint8 *frame = out + (gsize)i * delivered;
      if (!read_bytes (file, part, at + layout->before, (gsize)layout->stored, layout->decode != NULL ? scratch : frame,
                       first + i, error))
        return FALSE;
      if (layout->decode != NULL)
        layout->decode (layout->how, scratch, frame);
    }
  if (layout->decode == NULL && layout->swap && layout->size > 1)
    chunk_swap (out, (gsize)(n * layout->pixels), layout->size);
  return TRUE;
}

gboolean
frameset_read (const SbFrameSet *set, gint64 first, gint64 n, gpointer out, GError **error)
{
  g_autofree guint8 *scratch = NULL;
  guint8 *to = out;
  if (first < 0 || n < 0 || first > set->frames || n > set->frames - first)
    return sb_fail (error, SB_ERROR_INTERNAL, "Frames beyond the end of the acquisition were asked for.");
  if (set->layout.decode != NULL) {
    scratch = sb_alloc ((gsize)set->layout.stored, 1, "A stored frame", error);
    if (scratch == NULL)
      return FALSE;
  }
  for (guint i = n > 0 ? find_part (set, first) : 0; n > 0; i++) {
    const Part *part = &g_array_index (set->parts, Part, i);
    gint64 count = MIN (n, part->first + part->frames - first);
    SbFlatFile *file = flatfile_open (part->path, error);
    gboolean good = file != NULL && read_part (set, file, part, first, count, scratch, to, error);
    flatfile_close (file);
    if (!good)
      return FALSE;
    to += (gsize)(count * set->layout.pixels) * set->layout.size;
    first += count;
    n -= count;
  }
  return TRUE;
}

gboolean
frameset_chunks (const SbFrameSet *set, gint64 first, gint64 n, SbChunkCodec *codec, SbFrameChunk *out)
{
  const SbFrameLayout *layout = &set->layout;
  if (layout->decode != NULL || first < 0 || n < 1 || first > set->frames || n > set->frames - first)
    return FALSE;
  *codec = (SbChunkCodec){ .filter = SB_CHUNK_NONE, .element = layout->size, .swap = layout->swap };
  for (guint i = find_part (set, first); n > 0; i++) {
    const Part *part = &g_array_index (set->parts, Part, i);
    for (; n > 0 && first < part->first + part->frames; first++, n--)
      *out++ = (SbFrameChunk){ part->path, (guint64)(part->offset + (first - part->first) * set->stride + layout->before),
                               (guint64)layout->stored, 0 };
  }
  return TRUE;
}
