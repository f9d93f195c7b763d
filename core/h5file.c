/* Files as HDF5 1.10 and 1.12 read them: past a check of each heap of texts and mappings, and of the external links in each
 * object header (h5header.c), that they are about to decode.
 *
 * Texts of any length, the mappings of virtual datasets and references to regions lie in "global heap" collections. HDF5
 * before 1.14 steps from object to object by sizes that it does not look at: a damaged one makes it run on for ever, or past
 * the end. Where the collections lie, only HDF5 knows; so a driver stands between it and the file, and looks at what begins
 * as a collection or a header when it is read. Nothing is searched for: a read of anything else costs a comparison of 8
 * bytes. HDF5 may not gather reads of neighbours into one (H5FD_FEAT_ACCUMULATE_METADATA): headers would be among them. */
#include "core/h5file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/h5header.h"

static char *damage; /* what was found since h5file_forget(), in words; guarded by the lock of h5io */

void
h5file_forget (void)
{
  g_clear_pointer (&damage, g_free);
}

gboolean
h5file_check (GError **error)
{
  return damage == NULL || sb_fail (error, SB_ERROR_DATA, "%s", damage);
}

#if H5_VERSION_GE(1, 13, 0)

/* These check the collections themselves. */
hid_t
h5file_open (const char *path)
{
  hid_t access = H5Pcreate (H5P_FILE_ACCESS);
  hid_t file = H5Pset_file_locking (access, FALSE, TRUE) < 0 ? H5I_INVALID_HID : H5Fopen (path, H5F_ACC_RDONLY, access);
  H5Pclose (access);
  /* Where the host has the file open already, the settings must be its own. */
  return file >= 0 ? file : H5Fopen (path, H5F_ACC_RDONLY, H5P_DEFAULT);
}

#else

/* What HDF5 takes for an open file; it knows the first member only. */
typedef struct File {
  H5FD_t shared;
  int descriptor;
  char *path;
  struct stat info;
  haddr_t end;              /* of what HDF5 has use for */
  gsize addresses, lengths; /* bytes of each in this file */
  GHashTable *continued;    /* see SbH5Bytes */
} File;

enum { LEAST_COLLECTION = 4096, STARTS = 40, WIDTHS_V0 = 13, WIDTHS_V2 = 9 };

/* As many bytes as there are, the rest zeros; FALSE: the disk failed. */
static gboolean
read_at (const File *file, haddr_t at, guint8 *to, gsize n)
{
  while (n > 0) {
    ssize_t got = pread (file->descriptor, to, MIN (n, (gsize)1 << 30), (off_t)at);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return FALSE;
    if (got == 0) {
      memset (to, 0, n);
      return TRUE;
    }
    to += got;
    at += (haddr_t)got;
    n -= (gsize)got;
  }
  return TRUE;
}

/* ---- collections ---- */

static guint64
little (const guint8 *p, gsize n)
{
  guint64 x = 0;
  for (gsize i = 0; i < n; i++)
    x |= (guint64)p[i] << (8 * i);
  return x;
}

static guint64
aligned (guint64 n)
{
  return (n + 7) / 8 * 8;
}

/* Every object ends where the collection has room for it, and the next one lies behind it. */
static gboolean
collection_is_sound (const File *file, haddr_t start)
{
  const guint64 before = aligned (8 + file->lengths); /* of the collection, and of an object */
  guint8 block[LEAST_COLLECTION];
  if (!read_at (file, start, block, sizeof block))
    return FALSE;
  guint64 size = little (block + 8, file->lengths), length = (guint64)file->info.st_size, held = 0; /* held: start of block */
  if (size < LEAST_COLLECTION || start > length || size > length - start)
    return FALSE;
  for (guint64 at = before; at < size && size - at >= before;) {
    if (at - held > sizeof block - before) {
      held = at;
      if (!read_at (file, start + held, block, sizeof block))
        return FALSE;
    }
    const guint8 *object = block + (at - held);
    guint64 bytes = little (object + 8, file->lengths);
    gboolean is_free = little (object, 2) == 0;
    if (bytes > size - at || (is_free && bytes < before))
      return FALSE;
    guint64 need = is_free ? bytes : before + aligned (bytes);
    if (need > size - at)
      return FALSE;
    at += need;
  }
  return TRUE;
}

static gboolean
is_width (guint8 n)
{
  return n == 2 || n == 4 || n == 8;
}

/* The superblock stands at 0, 512, 1024, ...; HDF5 finds it anew. */
static void
find_widths (File *file)
{
  file->addresses = file->lengths = 8;
  static const guint8 signature[8] = { 0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n' };
  guint8 block[16];
  for (int i = 0; i < STARTS; i++) {
    haddr_t at = i == 0 ? 0 : (haddr_t)256 << i;
    if (at + sizeof block > (haddr_t)file->info.st_size || !read_at (file, at, block, sizeof block))
      break;
    if (memcmp (block, signature, sizeof signature) != 0)
      continue;
    const guint8 *widths = block + (block[8] < 2 ? WIDTHS_V0 : WIDTHS_V2);
    file->addresses = is_width (widths[0]) ? widths[0] : 8;
    file->lengths = is_width (widths[1]) ? widths[1] : 8;
    return;
  }
}

/* ---- what HDF5 calls ---- */

static H5FD_t *
file_open (const char *path, unsigned flags, hid_t access, haddr_t most)
{
  struct stat info;
  int descriptor = flags & (H5F_ACC_RDWR | H5F_ACC_TRUNC | H5F_ACC_CREAT) ? -1 : open (path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return NULL;
  if (fstat (descriptor, &info) != 0) {
    close (descriptor);
    return NULL;
  }
  File *file = g_new0 (File, 1);
  file->descriptor = descriptor;
  file->path = g_strdup (path);
  file->info = info;
  file->continued = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  find_widths (file);
  return &file->shared;
}

static herr_t
file_close (H5FD_t *shared)
{
  File *file = (File *)shared;
  int failed = close (file->descriptor);
  g_hash_table_unref (file->continued);
  g_free (file->path);
  g_free (file);
  return failed ? -1 : 0;
}

/* HDF5 opens a file that it has open already only once. */
static int
file_compare (const H5FD_t *a, const H5FD_t *b)
{
  const struct stat *x = &((const File *)a)->info, *y = &((const File *)b)->info;
  if (x->st_dev != y->st_dev)
    return x->st_dev < y->st_dev ? -1 : 1;
  return x->st_ino < y->st_ino ? -1 : x->st_ino > y->st_ino;
}

static herr_t
file_query (const H5FD_t *shared, unsigned long *flags)
{
  *flags = H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  return 0;
}

static haddr_t
file_end (const H5FD_t *shared, H5FD_mem_t type)
{
  return ((const File *)shared)->end;
}

static herr_t
file_set_end (H5FD_t *shared, H5FD_mem_t type, haddr_t end)
{
  ((File *)shared)->end = end;
  return 0;
}

static haddr_t
file_length (const H5FD_t *shared, H5FD_mem_t type)
{
  return (haddr_t)((const File *)shared)->info.st_size;
}

/* Takes the words. */
static herr_t
refuse (char *words)
{
  if (damage == NULL)
    damage = words;
  else
    g_free (words);
  return -1;
}

static gboolean
read_for_header (gconstpointer file, guint64 at, guint8 *to, gsize n)
{
  return read_at (file, at, to, n);
}

static herr_t
file_read (H5FD_t *shared, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t n, void *to)
{
  static const guint8 collection[8] = { 'G', 'C', 'O', 'L', 1, 0, 0, 0 };
  const File *file = (const File *)shared;
  if (at == HADDR_UNDEF || at > G_MAXINT64 || n > G_MAXINT64 - at || !read_at (file, at, to, n))
    return -1;
  if (type == H5FD_MEM_OHDR) {
    SbH5Bytes bytes = { read_for_header, file, shared->base_addr, file->addresses, file->lengths, file->continued };
    guint64 link = h5header_damaged_link (&bytes, at);
    return link == 0 ? 0
                     : refuse (g_strdup_printf ("%s is damaged (the external link at byte %" G_GUINT64_FORMAT
                                                " names no file): copy it again.",
                                                file->path, link));
  }
  if (n < 16 || memcmp (to, collection, sizeof collection) != 0 || collection_is_sound (file, at))
    return 0;
  return refuse (g_strdup_printf ("%s is damaged (the texts and mappings at byte %" G_GUINT64_FORMAT
                                  " have impossible sizes): copy it again.",
                                  file->path, (guint64)at));
}

static herr_t
file_write (H5FD_t *shared, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t n, const void *from)
{
  return -1;
}

static const H5FD_class_t driver = {
  .name = "sideband",
  .maxaddr = G_MAXINT64,
  .fc_degree = H5F_CLOSE_WEAK,
  .open = file_open,
  .close = file_close,
  .cmp = file_compare,
  .query = file_query,
  .get_eoa = file_end,
  .set_eoa = file_set_end,
  .get_eof = file_length,
  .read = file_read,
  .write = file_write, /* HDF5 wants one; files are opened for reading */
  .fl_map = H5FD_FLMAP_DICHOTOMY,
};

/* A reader needs no file lock, and network drives often refuse one: the driver has none. */
hid_t
h5file_open (const char *path)
{
  static hid_t id = H5I_INVALID_HID; /* guarded by the lock of h5io; HDF5 forgets it where the host closes the library */
  if (id < 0 || H5Iget_type (id) != H5I_VFL)
    id = H5FDregister (&driver);
  hid_t access = H5Pcreate (H5P_FILE_ACCESS);
  hid_t file = id < 0 || H5Pset_driver (access, id, NULL) < 0 ? H5I_INVALID_HID : H5Fopen (path, H5F_ACC_RDONLY, access);
  H5Pclose (access);
  return file;
}

#endif
