/* Raw frames without a header of their own: the user says what they are. */
#include <string.h>

#include "core/error.h"
#include "core/flatfile.h"

static int
probe (const char *path, const guint8 *head, gsize head_size)
{
  static const char *const suffixes[] = { ".raw", ".bin", ".dat" };
  g_autofree char *lower = g_ascii_strdown (path, -1);
  for (guint i = 0; i < G_N_ELEMENTS (suffixes); i++)
    if (g_str_has_suffix (lower, suffixes[i]))
      return 1;
  return 0;
}

/* What the user must say, checked; *wanted: frames that the scan shape asks for, or else that the file holds.
 */
static gboolean
check_options (const char *path, const SbAcquisitionOptions *options, gint64 size, SbStored *stored, gint64 *wanted,
               GError **error)
{
  gint64 frame, after = size - options->header_bytes;
  if (options->detector_shape[0] <= 0 || options->detector_shape[1] <= 0 || options->dtype == NULL)
    return sb_fail (error, SB_ERROR_ARGUMENT, "%s is a raw file: give detector_shape and dtype (and scan_shape).", path);
  if (!stored_from_name (options->dtype, stored))
    return sb_fail (error, SB_ERROR_ARGUMENT,
                    "dtype %s is unknown: give uint8, uint16, uint32, int16, int32, float32 or float64, with "
                    "> before a short "
                    "name (>u2) for big-endian files.",
                    options->dtype);
  if (options->header_bytes < 0 || after <= 0)
    return sb_fail (error, SB_ERROR_ARGUMENT,
                    "header_bytes %" G_GINT64_FORMAT " leaves nothing of %s, which has %" G_GINT64_FORMAT " bytes.",
                    options->header_bytes, path, size);
  if (__builtin_mul_overflow (options->detector_shape[0], options->detector_shape[1], &frame)
      || __builtin_mul_overflow (frame, (gint64)stored->size, &frame))
    return sb_fail (error, SB_ERROR_ARGUMENT, "detector_shape %" G_GINT64_FORMAT ",%" G_GINT64_FORMAT " is too large.",
                    options->detector_shape[0], options->detector_shape[1]);
  *wanted = after / frame;
  gint64 scan = 0;
  gboolean scan_known = options->scan_shape[0] > 0 && options->scan_shape[1] > 0
                        && !__builtin_mul_overflow (options->scan_shape[0], options->scan_shape[1], &scan);
  if (scan_known && scan > *wanted)
    *wanted = scan; /* cut short: flatfile_describe says so */
  else if (after % frame != 0)
    return sb_fail (error, SB_ERROR_DATA,
                    "%s has %" G_GINT64_FORMAT " bytes after %" G_GINT64_FORMAT
                    " header bytes, which is not a whole number of %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT
                    " %s frames: check detector_shape, dtype and header_bytes.",
                    path, after, options->header_bytes, options->detector_shape[0], options->detector_shape[1], options->dtype);
  return TRUE;
}

static SbReader *
open_raw (const char *path, const SbAcquisitionOptions *options, SbHeader *header, GError **error)
{
  SbFlatFile *file = flatfile_open (path, error);
  SbStored stored = { 0 };
  gint64 wanted = 0;
  header->detector_rows = options->detector_shape[0];
  header->detector_cols = options->detector_shape[1];
  if (file != NULL
      && (!check_options (path, options, flatfile_size (file), &stored, &wanted, error)
          || !flatfile_describe (file, options->header_bytes, &stored, wanted, header, error)))
    g_clear_pointer (&file, flatfile_close);
  return (SbReader *)file;
}

static gboolean
read_raw (SbReader *reader, gint64 first, gint64 n, gpointer out, GError **error)
{
  return flatfile_read ((SbFlatFile *)reader, first, n, out, error);
}

static gboolean
chunks_raw (SbReader *reader, gint64 first, gint64 n, SbChunkCodec *codec, SbFrameChunk *out)
{
  return flatfile_chunks ((SbFlatFile *)reader, first, n, codec, out);
}

static void
close_raw (SbReader *reader)
{
  flatfile_close ((SbFlatFile *)reader);
}

const SbFormat format_raw = {
  .name = "raw",
  .title = "Raw frames (needs detector_shape and dtype)",
  .suffixes = "raw bin dat",
  .probe = probe,
  .open = open_raw,
  .read = read_raw,
  .close = close_raw,
  .chunks = chunks_raw,
};
