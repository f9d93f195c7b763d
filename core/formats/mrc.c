/* MRC: a stack of frames behind a header of 1024 bytes; of Direct Electron cameras with an ..._info.txt that
 * says the scan. */
#include <math.h>
#include <string.h>

#include "core/bytes.h"
#include "core/error.h"
#include "core/frameset.h"

#define D "%" G_GINT64_FORMAT

enum { HEADER = 1024, MAP = 208, STAMP = 212, IMOD_STAMP = 152, IMOD_MARK = 1146047817, MOST_INFO = 1 << 20 };

typedef struct Mrc {
  SbFrameSet *frames;
  gint64 pixels;
} Mrc;

static gboolean
has_suffix (const char *path, const char *suffix)
{
  gsize n = strlen (path), m = strlen (suffix);
  return n >= m && g_ascii_strcasecmp (path + n - m, suffix) == 0;
}

static gboolean
is_plausible (const guint8 *head, gboolean big)
{
  guint32 mode = bytes_u32 (head + 12, big);
  return mode <= 101 && bytes_u32 (head, big) - 1 < 1 << 16 && bytes_u32 (head + 4, big) - 1 < 1 << 16;
}

static int
probe (const char *path, const guint8 *head, gsize head_size)
{
  if (head_size < STAMP + 4)
    return head_size > 0 && (has_suffix (path, ".mrc") || has_suffix (path, ".mrcs")) ? 30 : 0;
  gboolean plausible = is_plausible (head, FALSE) || is_plausible (head, TRUE);
  if (memcmp (head + MAP, "MAP", 3) == 0 && plausible)
    return 80;
  return has_suffix (path, ".mrc") || has_suffix (path, ".mrcs") ? (plausible ? 60 : 30) : 0;
}

/* IEEE half precision. */
static void
decode_half (gconstpointer how, const guint8 *stored, gpointer out)
{
  const Mrc *mrc = how;
  for (gint64 i = 0; i < mrc->pixels; i++) {
    guint16 bits = bytes_u16 (stored + 2 * i, FALSE);
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 31  ? (fraction != 0 ? NAN : INFINITY)
                   : exponent == 0 ? ldexp (fraction, -24)
                                   : ldexp (1024 + fraction, exponent - 25);
    ((float *)out)[i] = (float)(bits >> 15 ? -value : value);
  }
}

static void
decode_half_big (gconstpointer how, const guint8 *stored, gpointer out)
{
  const Mrc *mrc = how;
  for (gint64 i = 0; i < mrc->pixels; i++) {
    guint8 swapped[2] = { stored[2 * i + 1], stored[2 * i] };
    const Mrc one = { .pixels = 1 };
    decode_half (&one, swapped, (float *)out + i);
  }
}

/* The value behind "KEY   = value"; NULL: none. */
static char *
info_value (char *const *lines, const char *key)
{
  for (; *lines != NULL; lines++) {
    const char *equals = strchr (*lines, '=');
    if (equals == NULL || !g_str_has_prefix (*lines, key))
      continue;
    const char *after = *lines + strlen (key);
    if (after + strspn (after, " \t") == equals)
      return g_strstrip (g_strdup (equals + 1));
  }
  return NULL;
}

static double
info_number (char *const *lines, const char *key)
{
  g_autofree char *text = info_value (lines, key);
  char *end = NULL;
  double value = text != NULL ? g_ascii_strtod (text, &end) : NAN;
  return text != NULL && end != text && isfinite (value) ? value : NAN;
}

static gboolean
info_is (char *const *lines, const char *key, const char *expected)
{
  g_autofree char *text = info_value (lines, key);
  return g_strcmp0 (text, expected) == 0;
}

/* The lines of "DATE_NUMBER[_more]_info.txt" beside "DATE_NUMBER[_more][_n]_movie.mrc"; NULL: there is none.
 */
static char **
find_info (const char *path, SbHeader *header)
{
  g_autofree char *folder = g_path_get_dirname (path), *base = g_path_get_basename (path);
  char *cut = has_suffix (base, "_movie.mrc") ? strrchr (base, '_') : NULL; /* not the images beside it */
  for (int tries = 0; cut != NULL && cut > base && tries < 4; tries++, cut = strrchr (base, '_')) {
    *cut = '\0';
    g_autofree char *name = g_strconcat (base, "_info.txt", NULL), *info = g_build_filename (folder, name, NULL);
    SbFlatFile *file = g_file_test (info, G_FILE_TEST_IS_REGULAR) ? flatfile_open (info, NULL) : NULL;
    if (file == NULL)
      continue;
    gsize size = (gsize)MIN (flatfile_size (file), MOST_INFO);
    g_autofree char *text = g_malloc0 (size + 1);
    gboolean good = flatfile_bytes (file, 0, size, text, NULL) >= 0;
    flatfile_close (file);
    if (!good)
      return NULL;
    g_ptr_array_add (header->files, g_strdup (info));
    return g_strsplit (text, "\n", -1);
  }
  return NULL;
}

/* What the camera's software noted of the scan. */
static gboolean
apply_info (char *const *lines, const char *path, const SbAcquisitionOptions *options, SbHeader *header, GError **error)
{
  double volts = info_number (lines, "Instrument Accelerating Voltage (V)");
  header->energy = volts > 1e3 && volts < 1e7 ? volts / 1e3 : NAN;
  double step[2] = { info_number (lines, "Specimen Pixel Size Y (nanometers)"),
                     info_number (lines, "Specimen Pixel Size X (nanometers)") };
  gboolean scanned = info_is (lines, "Scan - Enable", "Enable");
  for (int i = 0; i < 2 && scanned; i++)
    header->step[i] = step[i] > 0 ? step[i] * 10 : NAN; /* -1: unknown */
  if (!scanned)
    return TRUE;
  g_autofree char *type = info_value (lines, "Scan - Type");
  gboolean roi = info_is (lines, "Scan - ROI Enable", "Enable");
  g_autofree char *roi_type = roi ? info_value (lines, "Scan - ROI Type") : NULL;
  const char *kind = roi_type != NULL ? roi_type : type;
  if (kind != NULL && strcmp (kind, "Raster") != 0) {
    if (options->scan_shape[0] > 0)
      return TRUE;
    return sb_fail (error, SB_ERROR_DATA,
                    "%s was scanned along a list of positions (Scan - Type = %s), not line by line: give the scan_shape "
                    "if the list is one of lines.",
                    path, kind);
  }
  double rows = info_number (lines, roi ? "Scan - ROI Size Y" : "Scan - Size Y"),
         cols = info_number (lines, roi ? "Scan - ROI Size X" : "Scan - Size X");
  if (rows >= 1 && cols >= 1 && rows <= 1e6 && cols <= 1e6) {
    header->scan_rows = (gint64)rows;
    header->scan_cols = (gint64)cols;
  }
  return TRUE;
}

static gboolean
choose_dtype (const guint8 *head, gboolean big, char *const *lines, const char *path, SbStored *stored, gboolean *half,
              GError **error)
{
  guint32 mode = bytes_u32 (head + 12, big);
  gboolean imod = bytes_u32 (head + IMOD_STAMP, big) == IMOD_MARK;
  gboolean bytes_unsigned = (imod && !(bytes_u32 (head + IMOD_STAMP + 4, big) & 1))
                            || (lines != NULL && info_is (lines, "Autosave Counted Movie Pixel Format", "uint8"));
  const char *name = mode == 0    ? (bytes_unsigned ? "u1" : "i1")
                     : mode == 1  ? "<i2"
                     : mode == 2  ? "<f4"
                     : mode == 6  ? "<u2"
                     : mode == 12 ? "<f4"
                                  : NULL;
  if (name == NULL)
    return sb_fail (error, SB_ERROR_DATA,
                    "%s holds numbers of MRC mode %u, which are not counts: save it in mode 0, 1, 2, 6 or 12.", path, mode);
  stored_from_name (name, stored);
  *half = mode == 12;
  stored->swap = stored->size > 1 && big == (G_BYTE_ORDER == G_LITTLE_ENDIAN);
  return TRUE;
}

static gboolean
describe (Mrc *mrc, const guint8 *head, const char *path, gint64 size, char *const *lines, SbHeader *header, GError **error)
{
  /* The stamp of the byte order is often wrong; a header that makes no sense the other way is not. */
  gboolean big = is_plausible (head, TRUE) && (!is_plausible (head, FALSE) || head[STAMP] == 0x11);
  gint64 cols = (gint32)bytes_u32 (head, big), rows = (gint32)bytes_u32 (head + 4, big),
         wanted = (gint32)bytes_u32 (head + 8, big), more = (gint32)bytes_u32 (head + 92, big);
  SbStored stored;
  SbFrameLayout layout;
  gboolean half = FALSE, cut;
  if (!choose_dtype (head, big, lines, path, &stored, &half, error))
    return FALSE;
  if (wanted < 0 || more < 0 || !frame_layout (&stored, rows, cols, 0, 0, &layout))
    return sb_fail (error, SB_ERROR_DATA,
                    "%s claims " D " frames of " D " x " D " pixels and " D " bytes of further headers, which cannot be.", path,
                    wanted, rows, cols, more);
  mrc->pixels = rows * cols;
  if (half) {
    layout.stored = 2 * mrc->pixels;
    layout.decode = big ? decode_half_big : decode_half;
    layout.how = mrc;
  }
  header->detector_rows = rows;
  header->detector_cols = cols;
  header->dtype = stored.dtype;
  header->frames = MIN (wanted, frameset_fit (&layout, HEADER + more, size, &cut));
  header->expected_frames = wanted;
  if (header->frames < wanted)
    header->missing = frameset_truncated (&layout, path, size, HEADER + more, wanted);
  mrc->frames = frameset_new (&layout);
  frameset_add (mrc->frames, path, HEADER + more, header->frames);
  return TRUE;
}

static void
close_mrc (SbReader *reader)
{
  Mrc *mrc = (Mrc *)reader;
  frameset_free (mrc->frames);
  g_free (mrc);
}

static SbReader *
open_mrc (const char *path, const SbAcquisitionOptions *options, SbHeader *header, GError **error)
{
  guint8 head[HEADER];
  SbFlatFile *file = flatfile_open (path, error);
  gssize got = file != NULL ? flatfile_bytes (file, 0, HEADER, head, error) : -1;
  gint64 size = file != NULL ? flatfile_size (file) : 0;
  flatfile_close (file);
  if (got >= 0 && got < HEADER)
    sb_fail (error, SB_ERROR_IO, "%s is truncated (have " D " bytes, its header alone has 1024): copy it again.", path, size);
  if (got < HEADER)
    return NULL;
  Mrc *mrc = g_new0 (Mrc, 1);
  g_auto (GStrv) lines = find_info (path, header);
  if (!describe (mrc, head, path, size, lines, header, error)
      || (lines != NULL && !apply_info (lines, path, options, header, error))) {
    close_mrc ((SbReader *)mrc);
    return NULL;
  }
  return (SbReader *)mrc;
}

static gboolean
read_mrc (SbReader *reader, gint64 first, gint64 n, gpointer out, GError **error)
{
  return frameset_read (((Mrc *)reader)->frames, first, n, out, error);
}

static gboolean
chunks_mrc (SbReader *reader, gint64 first, gint64 n, SbChunkCodec *codec, SbFrameChunk *out)
{
  return frameset_chunks (((const Mrc *)reader)->frames, first, n, codec, out);
}

const SbFormat format_mrc = {
  .name = "mrc",
  .title = "MRC (.mrc, .mrcs)",
  .suffixes = "mrc mrcs",
  .probe = probe,
  .open = open_mrc,
  .read = read_mrc,
  .close = close_mrc,
  .chunks = chunks_mrc,
};
