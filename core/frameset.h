/* Frames that stand one behind the other in one file or in several, each perhaps behind a header of its own,
 * in whatever way their pixels are packed. */
#ifndef SB_CORE_FRAMESET_H
#define SB_CORE_FRAMESET_H

#include "core/flatfile.h"

/* How all frames of a set are stored. */
typedef struct SbFrameLayout {
  gint64 before; /* bytes of a frame before its pixels */
  gint64 stored; /* bytes of its pixels */
  gint64 after;  /* bytes behind them */
  gint64 pixels; /* numbers that are delivered */
  gsize size;    /* bytes of such a number */
  gboolean swap; /* stored in the other byte order (without decode) */
  /* Unpacks the stored bytes of a frame; NULL: they are what is delivered. */
  void (*decode) (gconstpointer how, const guint8 *stored, gpointer out);
  gconstpointer how; /* the format's own; not freed */
} SbFrameLayout;
/* The layout of plain numbers. FALSE: no such frame (not positive, or beyond 64 bits). */
gboolean frame_layout (const SbStored *stored, gint64 rows, gint64 cols, gint64 before, gint64 after, SbFrameLayout *layout);
gint64 frame_layout_bytes (const SbFrameLayout *layout); /* from one frame to the next */

typedef struct SbFrameSet SbFrameSet;
SbFrameSet *frameset_new (const SbFrameLayout *layout);
void frameset_free (SbFrameSet *set);
/* Adds the frames [0, frames) of a file that begin at offset. */
void frameset_add (SbFrameSet *set, const char *path, gint64 offset, gint64 frames);
gint64 frameset_frames (const SbFrameSet *set);
/* Frames that fit wholly between offset and the end of a file of size bytes. *cut: a part of one more is
 * there. */
gint64 frameset_fit (const SbFrameLayout *layout, gint64 offset, gint64 size, gboolean *cut);
/* As SbFormat.read: any range, from any thread. */
gboolean frameset_read (const SbFrameSet *set, gint64 first, gint64 n, gpointer out, GError **error);
/* As SbFormat.chunks; FALSE where pixels are packed in a way of the format's own. */
gboolean frameset_chunks (const SbFrameSet *set, gint64 first, gint64 n, SbChunkCodec *codec, SbFrameChunk *out);
/* "PATH is truncated (have N bytes, needs M bytes): copy it again." where frames from offset on do not fit.
 */
char *frameset_truncated (const SbFrameLayout *layout, const char *path, gint64 have, gint64 offset, gint64 frames);

#endif
