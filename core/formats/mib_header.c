#include "core/formats/mib_header.h"

#include <string.h>

#include "core/error.h"

enum { LEAST_HEADER = 128, MOST_HEADER = 1 << 16, MOST_NOTES = 1 << 20, CHIP = 256, MOST_SIDE = 1 << 16 };

/* A field that is a whole number of at most 12 digits, blanks round it; -1: it is not. */
static gint64
whole (const char *field)
{
  g_autofree char *plain = g_strstrip (g_strdup (field != NULL ? field : ""));
  gsize n = strlen (plain);
  return n >= 1 && n <= 12 && strspn (plain, "0123456789") == n ? (gint64)g_ascii_strtoull (plain, NULL, 10) : -1;
}

/* "2x2", "Nx1", "2x2G"; N stands for the number of chips. */
static gboolean
parse_layout (const char *field, SbMibHeader *mib)
{
  g_autofree char *plain = g_strstrip (g_strdup (field));
  gsize n = strlen (plain);
  mib->gap_filled = n > 0 && plain[n - 1] == 'G';
  if (mib->gap_filled)
    plain[n - 1] = '\0';
  g_auto (GStrv) parts = g_strsplit (plain, "x", 3);
  if (g_strv_length (parts) != 2)
    return FALSE;
  for (int i = 0; i < 2; i++)
    mib->layout[i] = i == 0 && strcmp (parts[0], "N") == 0 ? mib->chips : whole (parts[i]);
  return mib->layout[0] >= 1 && mib->layout[1] >= 1 && mib->layout[0] <= 64 && mib->layout[1] <= 64;
}

/* The counter's depth is the last field that holds anything. */
static int
find_depth (GStrv fields)
{
  static const int depths[] = { 1, 6, 12, 24 };
  for (guint i = g_strv_length (fields); i-- > 8;) {
    g_autofree char *plain = g_strstrip (g_strdup (fields[i]));
    if (plain[0] == '\0')
      continue;
    for (guint d = 0; d < G_N_ELEMENTS (depths); d++)
      if (whole (plain) == depths[d])
        return depths[d];
    break;
  }
  return 0;
}

static gboolean
parse (char *text, SbMibHeader *mib)
{
  for (char *at = text; *at != '\0'; at++)
    if ((guchar)*at < 32 || (guchar)*at > 126)
      *at = ' ';
  g_auto (GStrv) fields = g_strsplit (text, ",", -1);
  if (g_strv_length (fields) < 9 || strcmp (fields[0], "MQ1") != 0)
    return FALSE;
  const char *type = g_strstrip (fields[6]);
  mib->number = whole (fields[1]);
  mib->bytes = whole (fields[2]);
  mib->chips = whole (fields[3]);
  mib->width = whole (fields[4]);
  mib->height = whole (fields[5]);
  mib->raw = strcmp (type, "R64") == 0;
  mib->bits = mib->raw ? 64 : type[0] == 'U' ? (int)whole (type + 1) : 0;
  mib->depth = find_depth (fields);
  return mib->number >= 0 && mib->chips >= 1 && mib->width >= 1 && mib->width <= MOST_SIDE && mib->height >= 1
         && mib->height <= MOST_SIDE && (mib->bits == 8 || mib->bits == 16 || mib->bits == 32 || mib->bits == 64)
         && mib->bytes >= LEAST_HEADER && mib->bytes <= MOST_HEADER && parse_layout (fields[7], mib);
}

gboolean
mib_header_read (SbFlatFile *file, const char *path, SbMibHeader *mib, GError **error)
{
  char head[32] = { 0 };
  gssize got = flatfile_bytes (file, 0, sizeof head - 1, head, error);
  if (got < 0)
    return FALSE;
  /* "MQ1,000001,00384,": its own size first. */
  g_auto (GStrv) first = g_strsplit (head, ",", 4);
  gint64 bytes = g_strv_length (first) == 4 ? whole (first[2]) : -1;
  memset (mib, 0, sizeof *mib);
  if (bytes >= LEAST_HEADER && bytes <= MOST_HEADER) {
    g_autofree char *text = g_malloc0 ((gsize)bytes + 1);
    got = flatfile_bytes (file, 0, (gsize)bytes, text, error);
    if (got < 0)
      return FALSE;
    if (got < bytes)
      return sb_fail (error, SB_ERROR_IO,
                      "%s is truncated (have %" G_GINT64_FORMAT " bytes, its header alone has %" G_GINT64_FORMAT
                      " bytes): copy it again.",
                      path, flatfile_size (file), bytes);
    for (gint64 i = 0; i < bytes; i++)
      if (text[i] == '\0')
        text[i] = ' ';
    if (parse (text, mib))
      return TRUE;
  }
  return sb_fail (error, SB_ERROR_DATA, "%s has no readable Merlin header: copy it again.", path);
}

void
mib_header_mask (const SbMibHeader *mib, SbHeader *header)
{
  if (!mib->gap_filled || mib->raw || header->frames < 1)
    return;
  gint64 size[2] = { header->detector_cols, header->detector_rows }, chip[2], gap[2] = { 0, 0 };
  for (int i = 0; i < 2; i++) {
    gint64 chips = mib->layout[i], between = size[i] - chips * CHIP;
    chip[i] = CHIP;
    if (chips > 1 && between > 0 && between % (chips - 1) == 0)
      gap[i] = between / (chips - 1);
  }
  /* Fewer rows of each chip: the gap is as wide as that between columns. */
  gint64 pixels = size[1] - gap[0] * (mib->layout[1] - 1);
  if (mib->layout[1] > 1 && gap[1] == 0 && pixels > 0 && pixels < mib->layout[1] * CHIP && pixels % mib->layout[1] == 0) {
    gap[1] = gap[0];
    chip[1] = pixels / mib->layout[1];
  }
  if (gap[0] + gap[1] < 1)
    return;
  header->mask = g_try_malloc0 ((gsize)(size[0] * size[1]));
  gint64 marked[2] = { 0, 0 };
  for (gint64 y = 0; header->mask != NULL && y < size[1]; y++)
    for (gint64 x = 0; x < size[0]; x++) {
      gboolean in_col = gap[0] > 0 && x % (chip[0] + gap[0]) >= chip[0];
      gboolean in_row = gap[1] > 0 && y % (chip[1] + gap[1]) >= chip[1];
      header->mask[y * size[0] + x] = in_col || in_row;
      marked[0] += y == 0 && in_col;
      marked[1] += x == 0 && in_row;
    }
  g_ptr_array_add (header->warnings, g_strdup_printf ("%" G_GINT64_FORMAT " columns and %" G_GINT64_FORMAT
                                                      " rows between the chips are filled in, not measured; they are masked.",
                                                      marked[0], marked[1]));
}

gboolean
mib_header_describe (const SbMibHeader *mib, const char *path, SbHeader *header, SbFrameLayout *layout, GError **error)
{
  SbStored stored = { .size = (gsize)mib->bits / 8, .swap = G_BYTE_ORDER == G_LITTLE_ENDIAN };
  header->detector_rows = mib->height;
  header->detector_cols = mib->width;
  if (mib->raw) {
    gint64 bytes = mib_raw_shape (mib, &header->detector_rows, &header->detector_cols);
    if (bytes <= 0)
      return sb_fail (error, SB_ERROR_DATA,
                      "%s holds raw frames of %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT
                      " pixels, %d bit deep, of %" G_GINT64_FORMAT
                      " chips, which cannot be unpacked: save it as U08, U16 or U32.",
                      path, mib->height, mib->width, mib->depth, mib->chips);
    stored.dtype = mib->depth <= 6 ? SB_U8 : mib->depth == 12 ? SB_U16 : SB_U32;
    frame_layout (&stored, header->detector_rows, header->detector_cols, mib->bytes, 0, layout);
    layout->stored = bytes;
    layout->decode = mib_raw_decode;
    layout->how = mib;
  } else {
    stored.dtype = mib->bits == 8 ? SB_U8 : mib->bits == 16 ? SB_U16 : SB_U32;
    frame_layout (&stored, mib->height, mib->width, mib->bytes, 0, layout);
  }
  header->dtype = stored.dtype;
  header->has_saturation = mib->depth > 1; /* one bit is always full */
  if (header->has_saturation)
    header->saturation = (double)((1 << mib->depth) - 1);
  return TRUE;
}

/* "Frames in Acquisition (Number):<tab>8"; 0: no number. */
static void
take_note (const char *line, const char *key, gint64 *value)
{
  const char *after = line + strlen (key);
  if (!g_str_has_prefix (line, key) || (*after != ':' && *after != ' '))
    return;
  const char *colon = strchr (after, ':');
  *value = colon != NULL ? MAX (whole (colon + 1), 0) : 0;
}

SbMibNotes
mib_notes_read (const char *path)
{
  SbMibNotes notes = { 0 };
  SbFlatFile *file = flatfile_open (path, NULL);
  if (file == NULL)
    return notes;
  gsize size = (gsize)MIN (flatfile_size (file), MOST_NOTES);
  g_autofree char *text = g_malloc0 (size + 1);
  if (flatfile_bytes (file, 0, size, text, NULL) >= 4 && g_str_has_prefix (text, "HDR,")) {
    g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
    for (guint i = 0; lines[i] != NULL; i++) {
      take_note (lines[i], "Frames in Acquisition", &notes.frames);
      take_note (lines[i], "Frames per Trigger", &notes.per_trigger);
      take_note (lines[i], "ScanX", &notes.scan_cols);
      take_note (lines[i], "ScanY", &notes.scan_rows);
    }
  }
  flatfile_close (file);
  return notes;
}
