/* TVIPS EMMENU / XF416: a series in files NAME_000.tvips, NAME_001.tvips ... of which only the first has a
 * header. Frames carry their scan position, and some stand before the scan begins. */
#include <math.h>
#include <string.h>

#include "core/bytes.h"
#include "core/error.h"
#include "core/frameset.h"

#define D "%" G_GINT64_FORMAT

enum {
  HEADER = 256,
  OLD_FRAME_HEADER = 12,
  SCAN_X = 68,
  SCAN_Y = 72,
  SUFFIX = 9 /* 000.tvips */,
  MOST_LEAD = 4096,
  MOST_FILES = 1000,
  MOST_FRAME_HEADER = 1 << 20
};

static gboolean
is_numbered (const char *path)
{
  gsize n = strlen (path);
  return n > SUFFIX && g_ascii_strcasecmp (path + n - 6, ".tvips") == 0 && g_ascii_isdigit (path[n - 7])
         && g_ascii_isdigit (path[n - 8]) && g_ascii_isdigit (path[n - 9]);
}

static gboolean
is_header (const guint8 *head)
{
  guint32 version = bytes_u32 (head + 4, FALSE);
  return bytes_u32 (head, FALSE) == HEADER && (version == 1 || version == 2);
}

static int
probe (const char *path, const guint8 *head, gsize head_size)
{
  gsize n = strlen (path);
  gboolean named = n > 6 && g_ascii_strcasecmp (path + n - 6, ".tvips") == 0;
  return named ? 90 : 0;
}

/* The k-th file of the series that path belongs to. */
static char *
part_name (const char *path, int k)
{
  gsize n = strlen (path);
  return g_strdup_printf ("%.*s%03d%s", (int)(n - SUFFIX), path, k, path + n - 6);
}

/* FALSE with an error: a header that cannot be. */
static gboolean
read_header (SbFlatFile *file, const char *path, SbFrameLayout *layout, SbHeader *header, GError **error)
{
  guint8 head[HEADER];
  gssize got = flatfile_bytes (file, 0, HEADER, head, error);
  if (got < 0)
    return FALSE;
  if (got < HEADER || !is_header (head))
    return sb_fail (error, SB_ERROR_DATA, "%s has no readable TVIPS header: copy it again.", path);
  gint32 cols = (gint32)bytes_u32 (head + 8, FALSE), rows = (gint32)bytes_u32 (head + 12, FALSE),
         bits = (gint32)bytes_u32 (head + 16, FALSE), volts = (gint32)bytes_u32 (head + 40, FALSE),
         before = bytes_u32 (head + 4, FALSE) == 1 ? OLD_FRAME_HEADER : (gint32)bytes_u32 (head + 48, FALSE);
  SbStored stored;
  stored_from_name (bits == 8 ? "u1" : "<u2", &stored);
  if ((bits != 8 && bits != 16) || before < 0 || before > MOST_FRAME_HEADER
      || !frame_layout (&stored, rows, cols, before, 0, layout))
    return sb_fail (error, SB_ERROR_DATA, "%s claims frames of %d x %d pixels of %d bit behind %d bytes each, which cannot be.",
                    path, rows, cols, bits, before);
  header->detector_rows = rows;
  header->detector_cols = cols;
  header->dtype = stored.dtype;
  /* kV by the maker's description, V in what other programs write. */
  header->energy = volts >= 10 && volts <= 2000 ? volts : volts >= 10000 && volts <= 2000000 ? volts / 1e3 : NAN;
  return TRUE;
}

/* The frames of all files of the series; says which is missing or cut short. */
static void
add_parts (const char *path, SbFrameSet *set, const SbFrameLayout *layout, SbHeader *header)
{
  int most = is_numbered (path) ? MOST_FILES : 1;
  for (int k = 0; k < most && header->missing == NULL; k++) {
    g_autofree char *part = most > 1 ? part_name (path, k) : g_strdup (path);
    g_autofree char *next = most > 1 ? part_name (path, k + 1) : NULL;
    SbFlatFile *file = g_file_test (part, G_FILE_TEST_IS_REGULAR) ? flatfile_open (part, NULL) : NULL;
    gint64 size = file != NULL ? flatfile_size (file) : 0, offset = k == 0 ? HEADER : 0;
    gboolean cut, there = file != NULL;
    flatfile_close (file);
    if (!there && next != NULL && g_file_test (next, G_FILE_TEST_IS_REGULAR))
      header->missing = g_strdup_printf ("%s is missing: copy it beside the others.", part);
    if (!there)
      break;
    gint64 frames = frameset_fit (layout, offset, size, &cut);
    frameset_add (set, part, offset, frames);
    if (header->files->len == 0 || strcmp (header->files->pdata[0], part) != 0)
      g_ptr_array_add (header->files, g_strdup (part));
    if (cut)
      header->missing = frameset_truncated (layout, part, size, offset, frames + 1);
  }
  header->frames = frameset_frames (set);
}

/* The beginnings of the frames' own headers, which hold their scan positions. */
typedef struct Positions {
  SbFrameSet *set;
  gint64 n;
} Positions;

/* FALSE: not to be read, or no whole positive numbers. */
static gboolean
position_of (const Positions *positions, gint64 frame, gint64 at[2])
{
  guint8 head[SCAN_Y + 4];
  if (!frameset_read (positions->set, frame, 1, head, NULL))
    return FALSE;
  for (int i = 0; i < 2; i++) {
    float x = bytes_f32 (head + (i == 0 ? SCAN_Y : SCAN_X), FALSE);
    if (!(x >= 0 && x < 1e6f) || x != floorf (x))
      return FALSE;
    at[i] = (gint64)x;
  }
  return TRUE;
}

/* The first frame of the scan, and its shape by the positions; FALSE: they do not tell. */
static gboolean
find_scan (const Positions *positions, gint64 *lead, gint64 shape[2])
{
  gint64 at[2] = { 0, 0 }, before[2] = { -1, -1 }, i;
  for (i = 0; i < MIN (positions->n, MOST_LEAD); i++) { /* 0,0 then 0,1 */
    if (!position_of (positions, i, at))
      return FALSE;
    if (before[0] == 0 && before[1] == 0 && at[0] == 0 && at[1] == 1)
      break;
    before[0] = at[0];
    before[1] = at[1];
  }
  if (i >= MIN (positions->n, MOST_LEAD))
    return FALSE;
  *lead = i - 1;
  for (; i < positions->n && position_of (positions, i, at) && at[0] == 0 && at[1] == i - *lead; i++)
    ;
  shape[1] = i - *lead;
  /* Then the next row begins, or the beam rests. */
  if (i < positions->n && (!position_of (positions, i, at) || at[0] > 1 || at[1] != 0))
    return FALSE;
  /* Rows begin at k * cols as long as the scan goes on. */
  gint64 low = 0, high = (positions->n - *lead + shape[1] - 1) / shape[1];
  while (high - low > 1) {
    gint64 middle = (low + high) / 2;
    gboolean begins = position_of (positions, *lead + middle * shape[1], at) && at[0] == middle && at[1] == 0;
    *(begins ? &low : &high) = middle;
  }
  shape[0] = low + 1;
  return shape[1] > 1;
}

/* Leaves out what stands before the scan and behind it. */
static void
apply_scan (const char *path, const SbFrameLayout *layout, const SbAcquisitionOptions *options, SbHeader *header, gint64 *lead)
{
  SbFrameLayout heads = { .stored = SCAN_Y + 4, .pixels = SCAN_Y + 4, .size = 1 };
  SbHeader copy = { .files = g_ptr_array_new_with_free_func (g_free) };
  gint64 shape[2] = { 0, 0 };
  heads.after = frame_layout_bytes (layout) - heads.stored;
  Positions positions = { .set = frameset_new (&heads) };
  if (layout->before >= heads.stored)
    add_parts (path, positions.set, &heads, &copy);
  positions.n = MIN (header->frames, copy.frames);
  if (find_scan (&positions, lead, shape)) {
    gint64 behind = options->scan_shape[0] > 0 ? 0 : MAX (header->frames - *lead - shape[0] * shape[1], 0);
    header->scan_rows = shape[0];
    header->scan_cols = shape[1];
    header->frames -= *lead + behind;
    if (*lead + behind > 0)
      g_ptr_array_add (header->warnings,
                       g_strdup_printf (D " frames before and " D " behind the scan are left out.", *lead, behind));
  }
  frameset_free (positions.set);
  g_ptr_array_unref (copy.files);
  g_free (copy.missing);
}

typedef struct Tvips {
  SbFrameSet *frames;
  gint64 lead;
} Tvips;

static void
close_tvips (SbReader *reader)
{
  frameset_free (((Tvips *)reader)->frames);
  g_free (reader);
}

static SbReader *
open_tvips (const char *path, const SbAcquisitionOptions *options, SbHeader *header, GError **error)
{
  g_autofree char *first = is_numbered (path) ? part_name (path, 0) : g_strdup (path);
  gboolean there = g_file_test (first, G_FILE_TEST_IS_REGULAR);
  SbFlatFile *file = there ? flatfile_open (first, error) : NULL;
  SbFrameLayout layout;
  if (!there)
    sb_fail (error, SB_ERROR_IO, "%s is missing, the first file of the series of %s: copy it beside it.", first, path);
  gboolean good = file != NULL && read_header (file, first, &layout, header, error);
  flatfile_close (file);
  if (!good)
    return NULL;
  Tvips *tvips = g_new0 (Tvips, 1);
  tvips->frames = frameset_new (&layout);
  add_parts (first, tvips->frames, &layout, header);
  apply_scan (first, &layout, options, header, &tvips->lead);
  return (SbReader *)tvips;
}

static gboolean
read_tvips (SbReader *reader, gint64 first, gint64 n, gpointer out, GError **error)
{
  const Tvips *tvips = (const Tvips *)reader;
  return frameset_read (tvips->frames, first + tvips->lead, n, out, error);
}

static gboolean
chunks_tvips (SbReader *reader, gint64 first, gint64 n, SbChunkCodec *codec, SbFrameChunk *out)
{
  const Tvips *tvips = (const Tvips *)reader;
  return frameset_chunks (tvips->frames, first + tvips->lead, n, codec, out);
}

const SbFormat format_tvips = {
  .name = "tvips",
  .title = "TVIPS (.tvips)",
  .suffixes = "tvips",
  .probe = probe,
  .open = open_tvips,
  .read = read_tvips,
  .close = close_tvips,
  .chunks = chunks_tvips,
};
