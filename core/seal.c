#include "core/seal.h"

#include <stdio.h>
#include <string.h>
#include <sys/types.h>

static const char name[] = "sideband";
enum { NAME_SIZE = 8, BLOCK = 1 << 16 };

/* FNV-1a by words of eight bytes (the last one filled with zeros): every change within one word changes the
 * sum. size is a multiple of eight but for the last call. */
static guint64
add (guint64 sum, const guint8 *bytes, gsize size)
{
  for (gsize i = 0; i < size; i += 8) {
    guint64 word = 0;
    memcpy (&word, bytes + i, MIN (8, size - i));
    sum = (sum ^ GUINT64_FROM_LE (word)) * G_GUINT64_CONSTANT (1099511628211);
  }
  return sum;
}

static const guint64 start = G_GUINT64_CONSTANT (14695981039346656037);

void
seal_make (gconstpointer bytes, gsize size, guint8 seal[SEAL_SIZE])
{
  guint64 sum = GUINT64_TO_LE (add (start, bytes, size));
  memcpy (seal, name, NAME_SIZE);
  memcpy (seal + NAME_SIZE, &sum, 8);
}

/* At the file's end, the seal read. Size of what it seals, -1 without one. */
static off_t
read_seal (FILE *file, guint8 seal[SEAL_SIZE])
{
  if (fseeko (file, -(off_t)SEAL_SIZE, SEEK_END) != 0)
    return -1;
  off_t size = ftello (file);
  return fread (seal, 1, SEAL_SIZE, file) == SEAL_SIZE && memcmp (seal, name, NAME_SIZE) == 0 ? size : -1;
}

gboolean
seal_exists (const char *path)
{
  guint8 seal[SEAL_SIZE];
  FILE *file = fopen (path, "rbe");
  gboolean found = file != NULL && read_seal (file, seal) >= 0;
  if (file != NULL)
    fclose (file);
  return found;
}

static gboolean
sum_fits (FILE *file, off_t size, const guint8 seal[SEAL_SIZE])
{
  guint8 block[BLOCK];
  guint64 sum = start, wanted;
  if (fseeko (file, 0, SEEK_SET) != 0)
    return FALSE;
  while (size > 0) {
    gsize n = (gsize)MIN (size, BLOCK);
    if (fread (block, 1, n, file) != n)
      return FALSE;
    sum = add (sum, block, n);
    size -= (off_t)n;
  }
  memcpy (&wanted, seal + NAME_SIZE, 8);
  return sum == GUINT64_FROM_LE (wanted);
}

SbSeal
seal_check (const char *path)
{
  guint8 seal[SEAL_SIZE];
  FILE *file = fopen (path, "rbe");
  if (file == NULL)
    return SB_SEAL_NONE;
  off_t size = read_seal (file, seal);
  SbSeal found = size < 0 ? SB_SEAL_NONE : sum_fits (file, size, seal) ? SB_SEAL_INTACT : SB_SEAL_BROKEN;
  fclose (file);
  return found;
}
