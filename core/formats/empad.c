/* The EMPAD of Thermo Fisher: 128 x 128 float32, two rows of the detector's own numbers behind each frame,
 * and an XML file that says the scan. */
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "core/error.h"
#include "core/formats/empad_xml.h"
#include "core/frameset.h"

#define D "%" G_GINT64_FORMAT

enum { SIDE = 128, EXTRA_ROWS = 2, PICTURE = SIDE * SIDE * 4, FRAME = SIDE * (SIDE + EXTRA_ROWS) * 4, MOST_FILES = 4096 };

static gboolean
has_suffix (const char *path, const char *suffix)
{
  gsize n = strlen (path), m = strlen (suffix);
  return n >= m && g_ascii_strcasecmp (path + n - m, suffix) == 0;
}

/* The XML file beside a raw file that names it; NULL: none. */
static char *
find_xml (const char *raw)
{
  g_autofree char *folder = g_path_get_dirname (raw), *base = g_path_get_basename (raw);
  GDir *dir = g_dir_open (folder, 0, NULL);
  char *found = NULL;
  const char *name;
  for (int i = 0; dir != NULL && found == NULL && i < MOST_FILES && (name = g_dir_read_name (dir)) != NULL; i++) {
    SbEmpadXml xml;
    g_autofree char *path = has_suffix (name, ".xml") ? g_build_filename (folder, name, NULL) : NULL;
    if (path == NULL || !empad_xml_read (path, &xml, NULL))
      continue;
    if (g_strcmp0 (xml.raw, base) == 0)
      found = g_steal_pointer (&path);
    empad_xml_clear (&xml);
  }
  if (dir != NULL)
    g_dir_close (dir);
  return found;
}

static int
probe (const char *path, const guint8 *head, gsize head_size)
{
  gint64 shape[2];
  if (has_suffix (path, ".xml")) {
    g_autofree char *text = g_strndup ((const char *)head, head_size);
    return strstr (text, "<root") == NULL ? 0 : strstr (text, "raw_file") != NULL ? 70 : 20;
  }
  if (!has_suffix (path, ".raw"))
    return 0;
  g_autofree char *base = g_path_get_basename (path), *xml = NULL;
  if (empad_name_shape (base, shape) || g_str_has_prefix (base, "series_x"))
    return 60;
  xml = find_xml (path);
  return xml != NULL ? 60 : 0;
}

/* What the user says of the frames wins: other detectors write files of that name, too. */
static gboolean
is_told (const SbAcquisitionOptions *options)
{
  return options->dtype != NULL && options->detector_shape[0] > 0 && options->detector_shape[1] > 0;
}

static gboolean
choose_layout (const char *path, gint64 size, const SbAcquisitionOptions *options, SbFrameLayout *layout, SbHeader *header,
               GError **error)
{
  SbStored stored;
  stored_from_name ("<f4", &stored);
  header->detector_rows = header->detector_cols = SIDE;
  if (is_told (options)) {
    if (!stored_from_name (options->dtype, &stored))
      return sb_fail (error, SB_ERROR_ARGUMENT, "dtype %s is unknown: give float32, uint16 or the like.", options->dtype);
    header->detector_rows = options->detector_shape[0];
    header->detector_cols = options->detector_shape[1];
  } else if (size % FRAME != 0 && size % PICTURE == 0)
    return sb_fail (error, SB_ERROR_DATA,
                    "%s has frames of 128 x 128 and not of 130 x 128 numbers, as the EMPAD-G2 writes them before "
                    "calibration: give detector_shape 128,128 and dtype if they are calibrated.",
                    path);
  header->dtype = stored.dtype;
  if (frame_layout (&stored, header->detector_rows, header->detector_cols, 0, is_told (options) ? 0 : EXTRA_ROWS * SIDE * 4,
                    layout))
    return TRUE;
  return sb_fail (error, SB_ERROR_ARGUMENT, "detector_shape " D "," D " is too large.", header->detector_rows,
                  header->detector_cols);
}

/* The scan among those that name and XML tell whose size is the file's. The mode "search" is there because a
 * user may record what was set up for the search; both fit: acquire. */
static gboolean
choose_scan (const char *path, const SbEmpadXml *xml, SbHeader *header, GError **error)
{
  gint64 named[2] = { 0, 0 };
  g_autofree char *base = g_path_get_basename (path);
  if (!empad_name_shape (base, named) && xml != NULL)
    empad_name_shape (xml->raw, named);
  const gint64 *told[] = { named, xml != NULL ? xml->pix : named, xml != NULL ? xml->acquire : named,
                           xml != NULL ? xml->search : named };
  const gint64 *first = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (told); i++) {
    gint64 product = told[i][0] * told[i][1]; /* each of 31 bits */
    if (product < 1)
      continue;
    if (first == NULL)
      first = told[i];
    if (product == header->frames) {
      header->scan_rows = told[i][0];
      header->scan_cols = told[i][1];
      return TRUE;
    }
  }
  if (first == NULL)
    return TRUE;
  header->scan_rows = first[0];
  header->scan_cols = first[1];
  header->expected_frames = first[0] * first[1];
  if (header->frames > header->expected_frames)
    return sb_fail (error, SB_ERROR_DATA,
                    "%s holds " D " frames, which no scan that its name and XML file tell has (" D " x " D
                    "): give the scan_shape that they have.",
                    path, header->frames, first[0], first[1]);
  if (header->missing == NULL)
    header->missing = g_strdup_printf ("%s holds " D " frames, not the " D " of its " D " x " D " scan.", path, header->frames,
                                       header->expected_frames, first[0], first[1]);
  return TRUE;
}

static void
fill_optics (const SbEmpadXml *xml, SbHeader *header)
{
  header->energy = xml->voltage > 1e3 && xml->voltage < 1e7 ? xml->voltage / 1e3 : NAN;
  if (isnan (xml->field))
    return;
  /* Versions differ in what their field of view means, by the scan's size and by a factor of the scan unit.
   */
  g_ptr_array_add (header->warnings, sb_text ("The scan step is not taken from the EMPAD's field of view (%.4g nm for "
                                              "the whole scan range), which versions write differently: give step.",
                                              xml->field * 1e9));
}

/* The raw file of what was opened, and its XML (*xml_path, NULL: none). */
static char *
find_raw (const char *path, SbEmpadXml *xml, char **xml_path, GError **error)
{
  *xml_path = has_suffix (path, ".xml") ? g_strdup (path) : find_xml (path);
  if (*xml_path == NULL)
    return g_strdup (path);
  if (!empad_xml_read (*xml_path, xml, error))
    return NULL;
  if (!has_suffix (path, ".xml"))
    return g_strdup (path);
  g_autofree char *folder = g_path_get_dirname (path);
  char *raw = xml->raw != NULL && xml->raw[0] != '\0' ? g_build_filename (folder, xml->raw, NULL) : NULL;
  if (raw != NULL && g_file_test (raw, G_FILE_TEST_IS_REGULAR))
    return raw;
  if (raw == NULL)
    sb_fail (error, SB_ERROR_DATA, "%s names no raw file: open the raw file itself.", path);
  else
    sb_fail (error, SB_ERROR_IO, "%s is missing: copy it beside its XML file.", raw);
  return (g_free (raw), NULL);
}

static SbFrameSet *
open_raw (const char *raw, const SbEmpadXml *xml, const SbAcquisitionOptions *options, SbHeader *header, GError **error)
{
  SbFlatFile *file = flatfile_open (raw, error);
  SbFrameLayout layout;
  gboolean cut = FALSE;
  gint64 size = file != NULL ? flatfile_size (file) : 0;
  flatfile_close (file);
  if (file == NULL || !choose_layout (raw, size, options, &layout, header, error))
    return NULL;
  gint64 offset = is_told (options) ? MAX (options->header_bytes, 0) : 0;
  header->frames = frameset_fit (&layout, offset, size, &cut);
  if (cut)
    header->missing = frameset_truncated (&layout, raw, size, offset, header->frames + 1);
  if (xml == NULL || !xml->series) {
    if (options->scan_shape[0] <= 0 && !choose_scan (raw, xml, header, error))
      return NULL;
  } else if (xml->count > header->frames) {
    header->expected_frames = xml->count;
    if (header->missing == NULL)
      header->missing = g_strdup_printf ("%s holds " D " frames, not the " D " that its XML file says.", raw, header->frames,
                                         xml->count);
  }
  SbFrameSet *set = frameset_new (&layout);
  frameset_add (set, raw, offset, header->frames);
  return set;
}

static SbReader *
open_empad (const char *path, const SbAcquisitionOptions *options, SbHeader *header, GError **error)
{
  SbEmpadXml xml = { 0 };
  g_autofree char *xml_path = NULL;
  g_autofree char *raw = find_raw (path, &xml, &xml_path, error);
  SbFrameSet *set = raw != NULL ? open_raw (raw, xml_path != NULL ? &xml : NULL, options, header, error) : NULL;
  if (set != NULL) {
    const char *other = strcmp (raw, path) != 0 ? raw : xml_path;
    if (other != NULL && strcmp (other, path) != 0)
      g_ptr_array_add (header->files, g_strdup (other));
    if (xml_path != NULL)
      fill_optics (&xml, header);
  }
  empad_xml_clear (&xml);
  return (SbReader *)set;
}

static gboolean
read_empad (SbReader *reader, gint64 first, gint64 n, gpointer out, GError **error)
{
  return frameset_read ((SbFrameSet *)reader, first, n, out, error);
}

static void
close_empad (SbReader *reader)
{
  frameset_free ((SbFrameSet *)reader);
}

static gboolean
chunks_empad (SbReader *reader, gint64 first, gint64 n, SbChunkCodec *codec, SbFrameChunk *out)
{
  return frameset_chunks ((const SbFrameSet *)reader, first, n, codec, out);
}

const SbFormat format_empad = {
  .name = "empad",
  .title = "EMPAD (.xml, .raw)",
  .suffixes = "xml raw",
  .probe = probe,
  .open = open_empad,
  .read = read_empad,
  .close = close_empad,
  .chunks = chunks_empad,
};
