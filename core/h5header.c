/* External links without a value. HDF5 1.10 reads the first byte of the value of every external link that it lists or tells
 * of, also where a damaged header has none, and looks for the end of both names of one that it follows without minding where
 * the value ends. No call of the library tells of a link without reading that byte; so the messages of an object header are
 * looked at before the library has them. Those of dense groups lie in heaps that have sums, which it checks. */
#include "core/h5header.h"

#include <string.h>

enum { MOST_PIECE = 1 << 20, MOST_PIECES = 64, LINK = 6, CONTINUATION = 16, SHARED = 2, EXTERNAL = 64 };

/* A part of a header. */
typedef struct Piece {
  guint64 at, size;
} Piece;

/* How a header's messages stand. */
typedef struct Header {
  int version;
  gsize before; /* bytes of a message before its body */
} Header;

static guint64
little (const guint8 *p, gsize n)
{
  guint64 value = 0;
  for (gsize i = 0; i < n; i++)
    value |= (guint64)p[i] << (8 * i);
  return value;
}

/* A flag byte, the file's name and the path in it, each with its zero. */
static gboolean
names_end (const guint8 *value, gsize size)
{
  const guint8 *first = size < 3 ? NULL : memchr (value + 1, 0, size - 1);
  return first != NULL && first + 1 < value + size && value[size - 1] == 0;
}

/* What else is wrong with a message HDF5 finds itself. */
static gboolean
link_is_sound (const guint8 *body, gsize size)
{
  if (size < 3 || body[0] != 1 || (body[1] & 8) == 0 || body[2] != EXTERNAL)
    return TRUE;
  gsize at = 3 + (body[1] & 4 ? 8u : 0) + (body[1] & 16 ? 1u : 0), width = (gsize)1 << (body[1] & 3);
  if (at + width > size)
    return TRUE;
  guint64 name = little (body + at, width);
  at += width;
  if (name > size - at || size - at - name < 2)
    return TRUE;
  at += name;
  guint64 value = little (body + at, 2);
  return value > size - at - 2 || names_end (body + at + 2, value);
}

static void
add_piece (const SbH5Bytes *bytes, const guint8 *body, gsize size, GArray *pieces)
{
  if (size < bytes->addresses + bytes->lengths || pieces->len >= MOST_PIECES)
    return;
  Piece piece = { bytes->base + little (body, bytes->addresses), little (body + bytes->addresses, bytes->lengths) };
  guint64 *at = g_new (guint64, 1);
  *at = piece.at;
  g_hash_table_add (bytes->continued, at);
  g_array_append_val (pieces, piece);
}

/* Where the first damaged link among the messages of a piece stands in the file; 0: none. */
static guint64
walk_messages (const SbH5Bytes *bytes, const Header *header, const Piece *piece, const guint8 *held, gsize around,
               GArray *pieces)
{
  gsize from = around, to = (gsize)piece->size - around;
  while (to - from >= header->before) {
    const guint8 *message = held + from, *body = message + header->before;
    guint type = header->version == 1 ? (guint)little (message, 2) : message[0];
    guint flags = message[header->version == 1 ? 4 : 3];
    gsize size = (gsize)little (message + (header->version == 1 ? 2 : 1), 2);
    if (size > to - from - header->before)
      return 0;
    if (type == CONTINUATION)
      add_piece (bytes, body, size, pieces);
    else if (type == LINK && (flags & SHARED) == 0 && !link_is_sound (body, size))
      return piece->at + from;
    from += header->before + size;
  }
  return 0;
}

/* FALSE: no header begins here. */
static gboolean
read_prefix (const SbH5Bytes *bytes, guint64 at, Header *header, Piece *piece)
{
  guint8 head[48];
  if (!bytes->read (bytes->file, at, head, sizeof head))
    return FALSE;
  if (memcmp (head, "OHDR\2", 5) == 0) {
    gsize n = 6 + (head[5] & 0x20 ? 16u : 0) + (head[5] & 0x10 ? 4u : 0), width = (gsize)1 << (head[5] & 3);
    *header = (Header){ 2, head[5] & 4 ? 6 : 4 };
    *piece = (Piece){ at + n + width, little (head + n, width) };
    return TRUE;
  }
  *header = (Header){ 1, 8 };
  *piece = (Piece){ at + 16, little (head + 8, 4) };
  /* A continuation that begins with a message of type 1 looks the same. */
  return head[0] == 1 && head[1] == 0 && !g_hash_table_contains (bytes->continued, &at);
}

guint64
h5header_damaged_link (const SbH5Bytes *bytes, guint64 at)
{
  Header header;
  Piece piece;
  if (!read_prefix (bytes, at, &header, &piece))
    return 0;
  g_autoptr (GArray) pieces = g_array_new (FALSE, FALSE, sizeof (Piece));
  g_array_append_val (pieces, piece);
  guint64 found = 0;
  for (guint i = 0; i < pieces->len && found == 0; i++) {
    piece = g_array_index (pieces, Piece, i);
    gsize around = header.version == 2 && i > 0 ? 4 : 0; /* "OCHK", and a sum of the bytes */
    g_autofree guint8 *held = piece.size <= MOST_PIECE && piece.size >= 2 * around ? g_try_malloc (piece.size + 1) : NULL;
    if (held == NULL || piece.at > G_MAXINT64 - MOST_PIECE || !bytes->read (bytes->file, piece.at, held, piece.size))
      continue;
    found = walk_messages (bytes, &header, &piece, held, around, pieces);
  }
  return found;
}
