#include "core/zipfile.h"

#include "core/bytes.h"
#include "core/error.h"

enum {
  LOCAL = 0x04034b50,
  CENTRAL = 0x02014b50,
  END = 0x06054b50,
  END_64 = 0x06064b50,
  LOCATOR_64 = 0x07064b50,
  LOCAL_BYTES = 30,
  CENTRAL_BYTES = 46,
  END_BYTES = 22,
  END_64_BYTES = 56,
  LOCATOR_BYTES = 20,
  MOST_COMMENT = 65535,
  MOST_DIRECTORY = 1 << 26,
  MOST_ENTRIES = 100000
};

gboolean
zipfile_is (const guint8 *head, gsize head_size)
{
  return head_size >= 4 && bytes_u32 (head, FALSE) == LOCAL;
}

static void
free_entry (gpointer entry)
{
  g_free (((SbZipEntry *)entry)->name);
  g_free (entry);
}

static gboolean
read_exactly (SbFlatFile *file, gint64 offset, gsize n, guint8 *out)
{
  return offset >= 0 && offset <= flatfile_size (file) - (gint64)n && flatfile_bytes (file, offset, n, out, NULL) == (gssize)n;
}

/* Where the directory stands and its size; FALSE: there is none. */
static gboolean
find_directory (SbFlatFile *file, guint64 *offset, guint64 *size)
{
  gint64 whole = flatfile_size (file), tail = MIN (whole, END_BYTES + MOST_COMMENT), at;
  g_autofree guint8 *bytes = g_malloc ((gsize)tail + 1);
  if (!read_exactly (file, whole - tail, (gsize)tail, bytes))
    return FALSE;
  for (at = tail - END_BYTES; at >= 0 && bytes_u32 (bytes + at, FALSE) != END; at--)
    ;
  if (at < 0)
    return FALSE;
  *size = bytes_u32 (bytes + at + 12, FALSE);
  *offset = bytes_u32 (bytes + at + 16, FALSE);
  guint8 locator[LOCATOR_BYTES], end[END_64_BYTES];
  if (!read_exactly (file, whole - tail + at - LOCATOR_BYTES, LOCATOR_BYTES, locator)
      || bytes_u32 (locator, FALSE) != LOCATOR_64)
    return TRUE;
  guint64 end_at = bytes_u64 (locator + 8, FALSE);
  if (end_at > G_MAXINT64 || !read_exactly (file, (gint64)end_at, END_64_BYTES, end) || bytes_u32 (end, FALSE) != END_64)
    return FALSE;
  *size = bytes_u64 (end + 40, FALSE);
  *offset = bytes_u64 (end + 48, FALSE);
  return TRUE;
}

/* Sizes and offset of 64 bits stand in a field of their own, those that 32 bits do not hold. */
static void
read_extra (const guint8 *extra, gsize n, guint64 *size, guint64 *stored, guint64 *offset)
{
  guint64 *wanted[] = { size, stored, offset };
  for (gsize at = 0; n - at >= 4;) {
    gsize length = bytes_u16 (extra + at + 2, FALSE), used = at + 4;
    if (length > n - at - 4)
      return;
    if (bytes_u16 (extra + at, FALSE) == 1)
      for (guint i = 0; i < G_N_ELEMENTS (wanted); i++)
        if (*wanted[i] == G_MAXUINT32 && used + 8 <= at + 4 + length) {
          *wanted[i] = bytes_u64 (extra + used, FALSE);
          used += 8;
        }
    at += 4 + length;
  }
}

/* An entry by its local header; NULL: it is not there. */
static SbZipEntry *
read_local (SbFlatFile *file, guint64 offset, const char *name, gsize name_size, guint64 size, gboolean is_stored)
{
  guint8 local[LOCAL_BYTES];
  if (offset > G_MAXINT64 || !read_exactly (file, (gint64)offset, LOCAL_BYTES, local) || bytes_u32 (local, FALSE) != LOCAL)
    return NULL;
  gint64 start = (gint64)offset + LOCAL_BYTES + bytes_u16 (local + 26, FALSE) + bytes_u16 (local + 28, FALSE);
  if (size > G_MAXINT64 || start > flatfile_size (file) || (gint64)size > flatfile_size (file) - start)
    return NULL;
  SbZipEntry *entry = g_new0 (SbZipEntry, 1);
  entry->name = g_strndup (name, name_size);
  entry->offset = start;
  entry->size = (gint64)size;
  entry->is_stored = is_stored;
  return entry;
}

static gboolean
read_directory (SbFlatFile *file, guint64 offset, guint64 size, GPtrArray *entries)
{
  if (offset > G_MAXINT64 || size > MOST_DIRECTORY)
    return FALSE;
  g_autofree guint8 *directory = g_try_malloc ((gsize)size + 1);
  if (directory == NULL || !read_exactly (file, (gint64)offset, (gsize)size, directory))
    return FALSE;
  for (guint64 at = 0; size - at >= CENTRAL_BYTES;) {
    const guint8 *e = directory + at;
    guint64 name = bytes_u16 (e + 28, FALSE), extra = bytes_u16 (e + 30, FALSE), comment = bytes_u16 (e + 32, FALSE);
    guint64 stored = bytes_u32 (e + 20, FALSE), plain = bytes_u32 (e + 24, FALSE), local = bytes_u32 (e + 42, FALSE);
    if (bytes_u32 (e, FALSE) != CENTRAL || CENTRAL_BYTES + name + extra > size - at || entries->len > MOST_ENTRIES)
      return FALSE;
    read_extra (e + CENTRAL_BYTES + name, (gsize)extra, &plain, &stored, &local);
    gboolean is_stored = bytes_u16 (e + 10, FALSE) == 0 && !(bytes_u16 (e + 8, FALSE) & 1) && stored == plain;
    SbZipEntry *entry = read_local (file, local, (const char *)e + CENTRAL_BYTES, (gsize)name, stored, is_stored);
    if (entry == NULL)
      return FALSE;
    g_ptr_array_add (entries, entry);
    at += MIN (CENTRAL_BYTES + name + extra + comment, size - at);
  }
  return entries->len > 0;
}

GPtrArray *
zipfile_entries (SbFlatFile *file, const char *path, gboolean *cut, GError **error)
{
  GPtrArray *entries = g_ptr_array_new_with_free_func (free_entry);
  guint64 offset = 0, size = 0;
  guint8 head[LOCAL_BYTES];
  gboolean found = find_directory (file, &offset, &size);
  *cut = !found;
  if (found && read_directory (file, offset, size, entries))
    return entries;
  if (!found && read_exactly (file, 0, LOCAL_BYTES, head) && zipfile_is (head, sizeof head)) {
    gsize n = bytes_u16 (head + 26, FALSE);
    g_autofree char *name = g_malloc0 (n + 1);
    SbZipEntry *entry = read_exactly (file, LOCAL_BYTES, n, (guint8 *)name)
                            ? read_local (file, 0, name, n, 0, bytes_u16 (head + 8, FALSE) == 0)
                            : NULL;
    if (entry != NULL) {
      entry->size = flatfile_size (file) - entry->offset;
      g_ptr_array_add (entries, entry);
      return entries;
    }
  }
  g_ptr_array_unref (entries);
  sb_fail (error, SB_ERROR_IO, "%s is a ZIP file without a readable directory, as one is that was cut short: copy it again.",
           path);
  return NULL;
}
