#include "core/npyarray.h"

#include <string.h>

#include "core/error.h"

enum { MOST_HEADER = 1 << 20 };
static const guint8 magic[6] = { 0x93, 'N', 'U', 'M', 'P', 'Y' };

/* What the header's dictionary says. */
typedef struct Described {
  char *descr;
  gboolean fortran;
  int rank;
  gint64 shape[4];
} Described;

gboolean
npyarray_is (const guint8 *head, gsize head_size)
{
  return head_size >= sizeof magic && memcmp (head, magic, sizeof magic) == 0;
}

/* The value of a key: what follows its colon; NULL: absent. */
static const char *
value_of (const char *dictionary, const char *key)
{
  for (const char *at = dictionary; (at = strstr (at, key)) != NULL; at++) {
    gsize n = strlen (key);
    if (at == dictionary || (at[-1] != '\'' && at[-1] != '"') || at[n] != at[-1])
      continue;
    for (at += n + 1; *at == ' '; at++)
      ;
    if (*at != ':')
      return NULL;
    for (at++; *at == ' '; at++)
      ;
    return at;
  }
  return NULL;
}

/* "(2, 3, 4)": up to four lengths; FALSE: not a tuple of whole numbers, or more of them. */
static gboolean
parse_shape (const char *text, Described *described)
{
  if (*text++ != '(')
    return FALSE;
  for (described->rank = 0;; described->rank++) {
    while (*text == ' ')
      text++;
    if (*text == ')')
      return TRUE;
    char *end;
    guint64 length = g_ascii_strtoull (text, &end, 10);
    if (!g_ascii_isdigit (*text) || length > G_MAXINT64 || described->rank == 4)
      return FALSE;
    described->shape[described->rank] = (gint64)length;
    text = end + (*end == 'L'); /* Python 2 wrote 3L */
    while (*text == ' ')
      text++;
    if (*text == ',')
      text++;
    else if (*text != ')')
      return FALSE;
  }
}

static gboolean
parse_header (const char *path, const char *text, Described *described, GError **error)
{
  const char *descr = value_of (text, "descr"), *order = value_of (text, "fortran_order"), *shape = value_of (text, "shape");
  if (descr == NULL || order == NULL || shape == NULL)
    return sb_fail (error, SB_ERROR_DATA, "%s has no readable NumPy header: save it again with numpy.save.", path);
  if (*descr == '\'' || *descr == '"') {
    const char *end = strchr (descr + 1, *descr);
    described->descr = end != NULL ? g_strndup (descr + 1, (gsize)(end - descr - 1)) : NULL;
  }
  described->fortran = g_str_has_prefix (order, "True");
  if (described->fortran)
    return sb_fail (error, SB_ERROR_DATA,
                    "%s is stored in Fortran order: save it again with numpy.save (name, numpy.ascontiguousarray (a)).", path);
  if (!parse_shape (shape, described) || described->rank < 3)
    return sb_fail (error, SB_ERROR_DATA,
                    "%s does not hold a 3-D [frame, row, col] or 4-D [scan row, scan col, row, col] array.", path);
  return TRUE;
}

/* Where the data begin, in an array that begins at *offset; the text of its header with a NUL behind it. */
static gboolean
read_header (SbFlatFile *file, const char *path, char **text, gint64 *offset, GError **error)
{
  guint8 head[12];
  gssize got = flatfile_bytes (file, *offset, sizeof head, head, error);
  if (got < 0)
    return FALSE;
  gboolean known = got == (gssize)sizeof head && npyarray_is (head, sizeof head) && head[6] >= 1 && head[6] <= 3;
  gint64 start = *offset + (known && head[6] == 1 ? 10 : 12);
  guint32 length = !known ? 0 : head[8] | (guint32)head[9] << 8;
  if (known && head[6] > 1)
    length |= (guint32)head[10] << 16 | (guint32)head[11] << 24;
  if (!known || length > MOST_HEADER || start + length > flatfile_size (file))
    return sb_fail (error, SB_ERROR_DATA, "%s has no readable NumPy header: save it again with numpy.save.", path);
  *text = g_malloc0 (length + 1);
  *offset = start + length;
  return flatfile_bytes (file, start, length, *text, error) == (gssize)length;
}

gboolean
npyarray_describe (SbFlatFile *file, const char *path, gint64 offset, SbHeader *header, GError **error)
{
  g_autofree char *text = NULL;
  Described described = { 0 };
  SbStored stored = { 0 };
  gint64 frames = 0;
  gboolean good = read_header (file, path, &text, &offset, error) && parse_header (path, text, &described, error);
  if (good && !stored_from_name (described.descr, &stored))
    good = sb_fail (error, SB_ERROR_DATA,
                    "%s holds numbers of type %s: save it as uint8, uint16, uint32, int16, int32, float32 or float64.", path,
                    described.descr != NULL ? described.descr : "with fields");
  if (good) {
    const gint64 *detector = described.shape + described.rank - 2;
    frames = described.shape[0];
    header->detector_rows = detector[0];
    header->detector_cols = detector[1];
    if (described.rank == 4) {
      header->scan_rows = described.shape[0];
      header->scan_cols = described.shape[1];
      if (__builtin_mul_overflow (header->scan_rows, header->scan_cols, &frames))
        frames = -1;
    }
    good = flatfile_describe (file, offset, &stored, frames, header, error);
  }
  g_free (described.descr);
  return good;
}
