#include "core/mend.h"

#include <math.h>
#include <string.h>

#include "core/error.h"

const char *const mend_damaged_choices[] = { "refuse", "empty", NULL };
const char *const mend_descan_choices[] = { "report", "remove", NULL };

typedef struct Mend {
  SbFormat format; /* the inner one's names, our functions */
  const SbFormat *inner;
  SbReader *reader;
  const SbAcquisition *acquisition;
  gboolean forgive;
  GMutex lock; /* of all below */
  gboolean moves;
  SbPlane plane;
  GHashTable *damaged; /* gint64 * */
  gint64 first;
  char *why;
} Mend;

static gboolean read_mended (SbReader *reader, gint64 first, gint64 n, gpointer out, GError **error);

static Mend *
mend_of (const SbAcquisition *acquisition)
{
  gboolean ours = acquisition->format != NULL && acquisition->format->read == read_mended;
  return ours ? (Mend *)acquisition->reader : NULL;
}

/* ---- damaged frames ---- */

static void
note_damaged (Mend *mend, gint64 frame, const char *why)
{
  g_mutex_lock (&mend->lock);
  gint64 *key = g_new (gint64, 1);
  *key = frame;
  g_hash_table_add (mend->damaged, key);
  if (mend->why == NULL || frame < mend->first) { /* the same one whatever the threads did */
    g_free (mend->why);
    mend->why = g_strdup (why);
    mend->first = frame;
  }
  g_mutex_unlock (&mend->lock);
}

/* Reads frame by frame; those that fail are left empty. */
static gboolean
read_forgiving (Mend *mend, gint64 first, gint64 n, char *out, GError **error)
{
  const SbHeader *header = &mend->acquisition->header;
  gsize bytes = (gsize)(header->detector_rows * header->detector_cols) * dtype_size (header->dtype);
  for (gint64 i = 0; i < n; i++) {
    g_autoptr (GError) why = NULL;
    if (mend->inner->read (mend->reader, first + i, 1, out + (gsize)i * bytes, &why))
      continue;
    if (why->code != SB_ERROR_DATA && why->code != SB_ERROR_IO) {
      g_propagate_error (error, g_steal_pointer (&why));
      return FALSE;
    }
    memset (out + (gsize)i * bytes, 0, bytes);
    note_damaged (mend, first + i, why->message);
  }
  return TRUE;
}

/* ---- moved frames ---- */

void
plane_shift (const SbPlane *plane, const SbAcquisition *a, gint64 position, gint64 shift[2])
{
  double row = (double)(position / a->used_cols) - 0.5 * (double)(a->used_rows - 1);
  double col = (double)(position % a->used_cols) - 0.5 * (double)(a->used_cols - 1);
  for (int i = 0; i < 2; i++)
    shift[i] = (gint64)floor (plane->at[i] + plane->by_row[i] * row + plane->by_col[i] * col + 0.5);
}

/* frame[i][j] becomes what stood at [i + shift][j + shift], 0 where that is outside. In place: rows are taken in the
 * order in which none is overwritten before it is used. */
static void
move_frame (char *frame, gint64 rows, gint64 cols, gsize item, const gint64 shift[2])
{
  gsize line = (gsize)cols * item;
  gint64 skip = CLAMP (ABS (shift[1]), 0, cols);
  for (gint64 k = 0; k < rows; k++) {
    gint64 i = shift[0] >= 0 ? k : rows - 1 - k, from = i + shift[0];
    char *to = frame + (gsize)i * line;
    if (from < 0 || from >= rows || skip == cols) {
      memset (to, 0, line);
      continue;
    }
    const char *source = frame + (gsize)from * line;
    gsize gap = (gsize)skip * item;
    if (shift[1] >= 0) {
      memmove (to, source + gap, line - gap);
      memset (to + line - gap, 0, gap);
    } else {
      memmove (to + gap, source, line - gap);
      memset (to, 0, gap);
    }
  }
}

static void
move_frames (const Mend *mend, const SbPlane *plane, gint64 first, gint64 n, char *out)
{
  const SbHeader *header = &mend->acquisition->header;
  gsize item = dtype_size (header->dtype), bytes = (gsize)(header->detector_rows * header->detector_cols) * item;
  for (gint64 i = 0; i < n; i++) {
    gint64 shift[2], position = acquisition_position (mend->acquisition, first + i);
    if (position < 0)
      continue;
    plane_shift (plane, mend->acquisition, position, shift);
    if (shift[0] != 0 || shift[1] != 0)
      move_frame (out + (gsize)i * bytes, header->detector_rows, header->detector_cols, item, shift);
  }
}

/* ---- the reader ---- */

static gboolean
read_mended (SbReader *reader, gint64 first, gint64 n, gpointer out, GError **error)
{
  Mend *mend = (Mend *)reader;
  g_autoptr (GError) why = NULL;
  g_mutex_lock (&mend->lock);
  gboolean moves = mend->moves;
  SbPlane plane = mend->plane;
  g_mutex_unlock (&mend->lock);
  if (!mend->inner->read (mend->reader, first, n, out, &why)) {
    gboolean may = mend->forgive && (why->code == SB_ERROR_DATA || why->code == SB_ERROR_IO);
    if (!may) {
      g_propagate_error (error, g_steal_pointer (&why));
      return FALSE;
    }
    if (!read_forgiving (mend, first, n, out, error))
      return FALSE;
  }
  if (moves)
    move_frames (mend, &plane, first, n, out);
  return TRUE;
}

static void
close_mended (SbReader *reader)
{
  Mend *mend = (Mend *)reader;
  mend->inner->close (mend->reader);
  g_hash_table_unref (mend->damaged);
  g_mutex_clear (&mend->lock);
  g_free (mend->why);
  g_free (mend);
}

void
mend_install (SbAcquisition *acquisition)
{
  gboolean forgive = g_strcmp0 (acquisition->options.damaged_frames, "empty") == 0;
  if (acquisition->reader == NULL || (!forgive && !mend_removes_descan (acquisition)))
    return;
  Mend *mend = g_new0 (Mend, 1);
  mend->inner = acquisition->format;
  mend->reader = acquisition->reader;
  mend->acquisition = acquisition;
  mend->forgive = forgive;
  mend->damaged = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  g_mutex_init (&mend->lock);
  /* ways round read, such as chunks as they are stored, would go round the mending */
  mend->format = (SbFormat){ .name = mend->inner->name,
                             .title = mend->inner->title,
                             .suffixes = mend->inner->suffixes,
                             .probe = mend->inner->probe,
                             .open = mend->inner->open,
                             .read = read_mended,
                             .close = close_mended };
  acquisition->format = &mend->format;
  acquisition->reader = (SbReader *)mend;
}

gboolean
mend_removes_descan (const SbAcquisition *acquisition)
{
  return g_strcmp0 (acquisition->options.descan, "remove") == 0;
}

void
mend_set_plane (SbAcquisition *acquisition, const SbPlane *plane)
{
  Mend *mend = mend_of (acquisition);
  if (mend == NULL)
    return;
  g_mutex_lock (&mend->lock);
  mend->plane = *plane;
  mend->moves = TRUE;
  g_mutex_unlock (&mend->lock);
}

const SbPlane *
mend_plane (const SbAcquisition *acquisition)
{
  Mend *mend = mend_of (acquisition);
  return mend != NULL && mend->moves ? &mend->plane : NULL;
}

gint64
mend_damaged (const SbAcquisition *acquisition, char **why)
{
  Mend *mend = mend_of (acquisition);
  if (mend == NULL)
    return 0;
  g_mutex_lock (&mend->lock);
  gint64 n = g_hash_table_size (mend->damaged);
  *why = g_strdup (mend->why);
  g_mutex_unlock (&mend->lock);
  return n;
}
