/* Quantum Detectors Merlin: one .mib file or a numbered series of them, and the .hdr that says the scan
 * shape. */
#include <string.h>

#include "core/error.h"
#include "core/formats/mib_header.h"

#define D "%" G_GINT64_FORMAT

typedef struct Mib {
  SbMibHeader header; /* of the first frame */
  SbFrameSet *frames;
} Mib;

static gboolean
has_suffix (const char *path, const char *suffix)
{
  gsize n = strlen (path), m = strlen (suffix);
  return n >= m && g_ascii_strcasecmp (path + n - m, suffix) == 0;
}

static int
probe (const char *path, const guint8 *head, gsize head_size)
{
  if (head_size >= 4 && memcmp (head, "MQ1,", 4) == 0)
    return 100;
  return head_size >= 4 && memcmp (head, "HDR,", 4) == 0 && has_suffix (path, ".hdr") ? 90 : 0;
}

/* What the .hdr says of the scan; path: of the .mib. */
static void
apply_notes (const char *path, const char *hdr, SbHeader *header)
{
  SbMibNotes notes = mib_notes_read (hdr);
  gint64 scan;
  if (header->files->len == 0 || strcmp (header->files->pdata[0], hdr) != 0)
    g_ptr_array_add (header->files, g_strdup (hdr));
  if (notes.scan_rows > 0 && notes.scan_cols > 0 && !__builtin_mul_overflow (notes.scan_rows, notes.scan_cols, &scan)) {
    header->scan_rows = notes.scan_rows;
    header->scan_cols = notes.scan_cols;
    notes.frames = MAX (notes.frames, header->frames < scan ? scan : 0);
  } else if (notes.per_trigger > 1 && notes.frames > 0 && notes.frames % notes.per_trigger == 0) {
    header->scan_rows = notes.frames / notes.per_trigger; /* one trigger a row */
    header->scan_cols = notes.per_trigger;
  }
  header->expected_frames = MAX (header->expected_frames, notes.frames);
  if (header->frames < header->expected_frames && header->missing == NULL)
    header->missing = g_strdup_printf ("%s holds " D " frames, not the " D " that its .hdr file says.", path, header->frames,
                                       header->expected_frames);
}

/* The .mib of a .hdr, or the other way round: the same name, or (for a series) the name without its digits.
 */
static char *
find_partner (const char *path, const char *suffix)
{
  gsize n = strlen (path) - 4;
  g_autofree char *base = g_strndup (path, n);
  char *partner = g_strconcat (base, suffix, NULL);
  if (g_file_test (partner, G_FILE_TEST_IS_REGULAR))
    return partner;
  g_free (partner);
  while (n > 0 && g_ascii_isdigit (base[n - 1]))
    base[--n] = '\0';
  partner = g_strconcat (base, suffix, NULL);
  if (g_file_test (partner, G_FILE_TEST_IS_REGULAR))
    return partner;
  return (g_free (partner), NULL);
}

/* The first file of a series NAME<digits>.mib beside NAME.hdr; NULL: none. */
static char *
find_series (const char *hdr)
{
  g_autofree char *folder = g_path_get_dirname (hdr), *stem = g_strndup (hdr, strlen (hdr) - 4);
  char *best = NULL;
  const char *name;
  GDir *dir = g_dir_open (folder, 0, NULL);
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL) {
    g_autofree char *other = g_build_filename (folder, name, NULL), *other_stem = mib_stem (other);
    if (g_strcmp0 (other_stem, stem) == 0 && (best == NULL || strcmp (other, best) < 0)) {
      g_free (best);
      best = g_steal_pointer (&other);
    }
  }
  if (dir != NULL)
    g_dir_close (dir);
  return best;
}

static void
close_mib (SbReader *reader)
{
  Mib *mib = (Mib *)reader;
  frameset_free (mib->frames);
  g_free (mib);
}

static SbReader *
open_mib (const char *path, const SbAcquisitionOptions *options, SbHeader *header, GError **error)
{
  gboolean is_hdr = has_suffix (path, ".hdr"), is_mib = has_suffix (path, ".mib");
  g_autofree char *data = is_hdr ? find_partner (path, ".mib") : g_strdup (path);
  g_autofree char *hdr = is_hdr ? g_strdup (path) : is_mib ? find_partner (path, ".hdr") : NULL;
  SbFrameLayout layout;
  if (data == NULL)
    data = find_series (path);
  if (data == NULL) {
    sb_fail (error, SB_ERROR_IO, "The .mib file of %s is missing: copy it into the same folder.", path);
    return NULL;
  }
  if (is_hdr)
    g_ptr_array_add (header->files, g_strdup (data));
  SbFlatFile *file = flatfile_open (data, error);
  Mib *mib = g_new0 (Mib, 1);
  gboolean good = file != NULL && mib_header_read (file, data, &mib->header, error)
                  && mib_header_describe (&mib->header, data, header, &layout, error);
  flatfile_close (file);
  if (good) {
    mib->frames = frameset_new (&layout);
    good = mib_series_add (data, &mib->header, &layout, options, mib->frames, header, error);
  }
  if (good)
    mib_header_mask (&mib->header, header);
  if (good && hdr != NULL)
    apply_notes (data, hdr, header);
  if (!good) {
    close_mib ((SbReader *)mib);
    return NULL;
  }
  return (SbReader *)mib;
}

static gboolean
read_mib (SbReader *reader, gint64 first, gint64 n, gpointer out, GError **error)
{
  return frameset_read (((Mib *)reader)->frames, first, n, out, error);
}

static gboolean
chunks_mib (SbReader *reader, gint64 first, gint64 n, SbChunkCodec *codec, SbFrameChunk *out)
{
  return frameset_chunks (((const Mib *)reader)->frames, first, n, codec, out);
}

const SbFormat format_mib = {
  .name = "mib",
  .title = "Quantum Detectors Merlin (.mib, .hdr)",
  .suffixes = "mib hdr",
  .probe = probe,
  .open = open_mib,
  .read = read_mib,
  .close = close_mib,
  .chunks = chunks_mib,
};
