/* Nion Swift's .ndata, a ZIP file of data.npy and metadata.json, and NumPy's .npz. */
#include <string.h>

#include "core/error.h"
#include "core/formats/nion_json.h"
#include "core/npyarray.h"
#include "core/zipfile.h"

enum { MOST_JSON = 1 << 24 };

static int
probe (const char *path, const guint8 *head, gsize head_size)
{
  static const char *const suffixes[] = { ".ndata", ".npz" };
  if (!zipfile_is (head, head_size))
    return 0;
  g_autofree char *lower = g_ascii_strdown (path, -1);
  for (guint i = 0; i < G_N_ELEMENTS (suffixes); i++)
    if (g_str_has_suffix (lower, suffixes[i]))
      return 90;
  return 10;
}

/* The array to read: data.npy, or else the largest one. */
static const SbZipEntry *
choose_array (const GPtrArray *entries, const char *path, SbHeader *header)
{
  const SbZipEntry *best = NULL;
  int arrays = 0;
  for (guint i = 0; i < entries->len; i++) {
    const SbZipEntry *entry = entries->pdata[i];
    if (strcmp (entry->name, "data.npy") == 0)
      return entry;
    if (!g_str_has_suffix (entry->name, ".npy"))
      continue;
    arrays++;
    if (best == NULL || entry->size > best->size)
      best = entry;
  }
  if (arrays > 1)
    g_ptr_array_add (header->warnings,
                     g_strdup_printf ("%s holds %d arrays; the largest, %s, is used.", path, arrays, best->name));
  return best;
}

/* Units, voltage, aperture, from metadata.json where there is one. */
static gboolean
read_properties (SbFlatFile *file, const char *path, const GPtrArray *entries, int rank, SbHeader *header, GError **error)
{
  for (guint i = 0; i < entries->len; i++) {
    const SbZipEntry *entry = entries->pdata[i];
    if (strcmp (entry->name, "metadata.json") != 0 || !entry->is_stored || entry->size > MOST_JSON)
      continue;
    g_autofree char *text = g_try_malloc ((gsize)entry->size + 1);
    if (text != NULL && flatfile_bytes (file, entry->offset, (gsize)entry->size, text, NULL) == entry->size)
      return nion_properties (path, text, (gsize)entry->size, rank, header, error);
  }
  return TRUE;
}

static gboolean
describe (SbFlatFile *file, const char *path, SbHeader *header, GError **error)
{
  gboolean cut = FALSE;
  g_autoptr (GPtrArray) entries = zipfile_entries (file, path, &cut, error);
  if (entries == NULL)
    return FALSE;
  const SbZipEntry *entry = choose_array (entries, path, header);
  if (entry == NULL)
    return sb_fail (error, SB_ERROR_DATA, "%s is a ZIP file without an array (data.npy): open the file that it packs.", path);
  if (!entry->is_stored)
    return sb_fail (error, SB_ERROR_DATA, "%s holds %s compressed: save it with numpy.savez or as .npy.", path, entry->name);
  if (!npyarray_describe (file, path, entry->offset, header, error))
    return FALSE;
  if (!read_properties (file, path, entries, header->scan_rows > 0 ? 4 : 3, header, error))
    return FALSE;
  if (cut && header->missing == NULL)
    g_ptr_array_add (header->warnings, g_strdup_printf ("The end of %s is missing, and what it says of the optics.", path));
  return TRUE;
}

static SbReader *
open_ndata (const char *path, const SbAcquisitionOptions *options, SbHeader *header, GError **error)
{
  SbFlatFile *file = flatfile_open (path, error);
  if (file != NULL && !describe (file, path, header, error))
    g_clear_pointer (&file, flatfile_close);
  return (SbReader *)file;
}

static gboolean
read_ndata (SbReader *reader, gint64 first, gint64 n, gpointer out, GError **error)
{
  return flatfile_read ((SbFlatFile *)reader, first, n, out, error);
}

static void
close_ndata (SbReader *reader)
{
  flatfile_close ((SbFlatFile *)reader);
}

static gboolean
chunks_ndata (SbReader *reader, gint64 first, gint64 n, SbChunkCodec *codec, SbFrameChunk *out)
{
  return flatfile_chunks ((SbFlatFile *)reader, first, n, codec, out);
}

const SbFormat format_ndata = {
  .name = "ndata",
  .title = "Nion Swift (.ndata), NumPy .npz",
  .suffixes = "ndata npz",
  .probe = probe,
  .open = open_ndata,
  .read = read_ndata,
  .close = close_ndata,
  .chunks = chunks_ndata,
};
