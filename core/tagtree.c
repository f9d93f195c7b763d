#include "core/tagtree.h"

#include <math.h>

#include "core/bytes.h"
#include "core/error.h"

/* Sizes and kinds are big-endian, the values in the order that the header tells. Version 4 has 64-bit
 * lengths, and the size of each tag before it. */
enum {
  GROUP = 20,
  DATA = 21,
  STRUCT = 15,
  STRING = 18,
  ARRAY = 20,
  MOST_DEPTH = 48,
  MOST_TAGS = 200000,
  WINDOW = 1 << 16,
  MOST_TEXT = 256,
  MOST_INFO = 1024,
  MOST_PATH = 1024
};

typedef struct Tag {
  double number;
  char *text;
  SbTagArray array; /* offset 0: none */
} Tag;

struct SbTagTree {
  GHashTable *tags; /* path -> Tag */
  gboolean big, cut;
};

typedef struct Walk {
  SbTagTree *tree;
  SbFlatFile *file;
  gint64 size, at;
  gboolean is_4, wrong; /* wrong: no tag could look so */
  guint8 window[WINDOW];
  gint64 window_at, window_size;
  guint n_tags;
} Walk;

static void
free_tag (gpointer tag)
{
  g_free (((Tag *)tag)->text);
  g_free (tag);
}

/* n <= WINDOW bytes from here, moving on; NULL: the file ends before, or is bad. */
static const guint8 *
take (Walk *walk, gint64 n)
{
  if (walk->wrong || walk->tree->cut)
    return NULL;
  if (n > walk->size - walk->at) {
    walk->tree->cut = TRUE;
    return NULL;
  }
  if (walk->at < walk->window_at || walk->at + n > walk->window_at + walk->window_size) {
    walk->window_at = walk->at;
    walk->window_size = flatfile_bytes (walk->file, walk->at, WINDOW, walk->window, NULL);
    if (walk->window_size < n) {
      walk->tree->cut = TRUE;
      return NULL;
    }
  }
  walk->at += n;
  return walk->window + (walk->at - n - walk->window_at);
}

static guint64
take_number (Walk *walk, int bytes)
{
  const guint8 *at = take (walk, bytes);
  return at == NULL   ? 0
         : bytes == 1 ? *at
         : bytes == 2 ? bytes_u16 (at, TRUE)
         : bytes == 4 ? bytes_u32 (at, TRUE)
                      : bytes_u64 (at, TRUE);
}

static guint64
take_length (Walk *walk)
{
  return take_number (walk, walk->is_4 ? 8 : 4);
}

/* Moves on by bytes, which may be beyond the end. */
static void
skip (Walk *walk, gint64 bytes)
{
  if (bytes < 0 || walk->wrong || walk->tree->cut)
    walk->wrong = walk->wrong || bytes < 0;
  else if (bytes > walk->size - walk->at) {
    walk->tree->cut = TRUE;
    walk->at = walk->size;
  } else
    walk->at += bytes;
}

/* 0: a type that has no size of its own */
static int
type_bytes (guint64 type)
{
  static const int bytes[] = { 0, 0, 2, 4, 2, 4, 4, 8, 1, 1, 1, 8, 8 };
  return type < G_N_ELEMENTS (bytes) ? bytes[type] : 0;
}

static double
number_of (const guint8 *at, guint64 type, gboolean big)
{
  switch (type) {
  case 2: return (gint16)bytes_u16 (at, big);
  case 3: return (gint32)bytes_u32 (at, big);
  case 4: return bytes_u16 (at, big);
  case 5: return bytes_u32 (at, big);
  case 6: return (double)bytes_f32 (at, big);
  case 7: return bytes_f64 (at, big);
  case 11: return (double)(gint64)bytes_u64 (at, big);
  case 12: return (double)bytes_u64 (at, big);
  default: return at[0];
  }
}

static Tag *
add_tag (Walk *walk, const char *path)
{
  Tag *tag = g_new0 (Tag, 1);
  tag->number = NAN;
  g_hash_table_insert (walk->tree->tags, g_strdup (path), tag);
  return tag;
}

/* The kinds of a struct's members, from its name's length on; their sizes together. */
static gint64
struct_bytes (const guint64 *info, guint64 n, guint64 *used)
{
  gint64 total = 0;
  if (n < 2 || info[1] > (n - 2) / 2)
    return -1;
  for (guint64 i = 0; i < info[1]; i++) {
    int bytes = type_bytes (info[3 + 2 * i]);
    if (bytes == 0)
      return -1;
    total += bytes + (gint64)MIN (info[2 + 2 * i], 1 << 16);
  }
  *used = 2 + 2 * info[1];
  return total;
}

/* Bytes of one element of an array (of numbers, of structs, of arrays), *used: how much of info says it; -1:
 * wrong. */
static gint64
element_bytes (const guint64 *info, guint64 n, int depth, guint64 *used)
{
  if (n < 1 || depth > 4)
    return -1;
  guint64 more = 0;
  gint64 bytes = type_bytes (info[0]);
  *used = 1;
  if (bytes > 0)
    return bytes;
  if (info[0] == STRUCT)
    bytes = struct_bytes (info + 1, n - 1, &more);
  else if (info[0] == ARRAY) {
    gint64 inner = element_bytes (info + 1, n - 1, depth + 1, &more);
    if (inner < 0 || more + 1 >= n || info[more + 1] > G_MAXINT32
        || __builtin_mul_overflow (inner, (gint64)info[more + 1], &bytes))
      return -1;
    more++;
  } else
    return -1;
  *used += more;
  return bytes;
}

static void
take_array (Walk *walk, const guint64 *info, guint64 n, const char *path)
{
  guint64 used = 0;
  gint64 bytes = element_bytes (info, n, 0, &used), total = 0;
  if (bytes < 0 || used >= n || info[used] > G_MAXINT64 || __builtin_mul_overflow (bytes, (gint64)info[used], &total)) {
    walk->wrong = TRUE;
    return;
  }
  gint64 count = (gint64)info[used];
  Tag *tag = add_tag (walk, path);
  if (used == 1)
    tag->array = (SbTagArray){ walk->at, count, (int)info[0] };
  const guint8 *at = used == 1 && info[0] == 4 && count <= MOST_TEXT ? take (walk, total) : NULL;
  if (at != NULL) {
    gunichar2 wide[MOST_TEXT];
    for (gint64 i = 0; i < count; i++)
      wide[i] = bytes_u16 (at + 2 * i, walk->tree->big);
    tag->text = g_utf16_to_utf8 (wide, count, NULL, NULL, NULL);
  } else
    skip (walk, total);
}

/* A tag's value, from "%%%%" on. */
static void
take_value (Walk *walk, const char *path)
{
  const guint8 *mark = take (walk, 4);
  if (mark != NULL && memcmp (mark, "%%%%", 4) != 0)
    walk->wrong = TRUE;
  guint64 n = take_length (walk), info[MOST_INFO], used = 0;
  if (n < 1 || n > MOST_INFO)
    walk->wrong = walk->wrong || !walk->tree->cut;
  for (guint64 i = 0; i < n && !walk->wrong && !walk->tree->cut; i++)
    info[i] = take_length (walk);
  if (walk->wrong || walk->tree->cut)
    return;
  int bytes = type_bytes (info[0]);
  if (bytes > 0) {
    const guint8 *at = take (walk, bytes);
    if (at != NULL)
      add_tag (walk, path)->number = number_of (at, info[0], walk->tree->big);
  } else if (info[0] == ARRAY)
    take_array (walk, info + 1, n - 1, path);
  else if (info[0] == STRING && n == 2 && info[1] <= G_MAXINT32)
    skip (walk, (gint64)info[1] * 2);
  else if (info[0] == STRUCT)
    skip (walk, struct_bytes (info + 1, n - 1, &used));
  else
    walk->wrong = TRUE;
}

static void
take_group (Walk *walk, GString *path, int depth)
{
  take (walk, 2); /* sorted, open */
  guint64 n = take_length (walk), unnamed = 0;
  if (depth > MOST_DEPTH)
    walk->wrong = TRUE;
  gsize before = path->len;
  for (guint64 i = 0; i < n && !walk->wrong && !walk->tree->cut; i++) {
    guint64 kind = take_number (walk, 1), length = take_number (walk, 2);
    const guint8 *label = take (walk, (gint64)length);
    if (label == NULL)
      return;
    if (before > 0)
      g_string_append_c (path, '/');
    if (length > 0)
      g_string_append_len (path, (const char *)label, (gssize)length);
    else
      g_string_append_printf (path, "%" G_GUINT64_FORMAT, unnamed++);
    if (walk->is_4)
      take (walk, 8); /* the size of what follows */
    if (++walk->n_tags > MOST_TAGS || path->len > MOST_PATH || (kind != GROUP && kind != DATA))
      walk->wrong = TRUE;
    else if (kind == GROUP) {
      add_tag (walk, path->str);
      take_group (walk, path, depth + 1);
    } else
      take_value (walk, path->str);
    g_string_truncate (path, before);
  }
  Tag *group = walk->wrong || walk->tree->cut ? NULL : g_hash_table_lookup (walk->tree->tags, path->str);
  if (group != NULL)
    group->number = (double)n;
}

gboolean
tagtree_is_dm (const guint8 *head, gsize head_size)
{
  guint32 version = head_size >= 16 ? bytes_u32 (head, TRUE) : 0;
  return (version == 3 && bytes_u32 (head + 8, TRUE) <= 1) || (version == 4 && bytes_u32 (head + 12, TRUE) <= 1);
}

SbTagTree *
tagtree_read (SbFlatFile *file, const char *path, GError **error)
{
  SbTagTree *tree = g_new0 (SbTagTree, 1);
  Walk *walk = g_new0 (Walk, 1);
  GString *name = g_string_new (NULL);
  tree->tags = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, free_tag);
  walk->tree = tree;
  walk->file = file;
  walk->size = flatfile_size (file);
  guint64 version = take_number (walk, 4);
  walk->is_4 = version == 4;
  take_length (walk);
  tree->big = take_number (walk, 4) == 0;
  walk->wrong = walk->wrong || (version != 3 && version != 4);
  take_group (walk, name, 0);
  gboolean wrong = walk->wrong;
  g_string_free (name, TRUE);
  g_free (walk);
  if (!wrong)
    return tree;
  tagtree_free (tree);
  sb_fail (error, SB_ERROR_DATA, "%s has no readable DigitalMicrograph tags: copy it again.", path);
  return NULL;
}

void
tagtree_free (SbTagTree *tree)
{
  if (tree == NULL)
    return;
  g_hash_table_unref (tree->tags);
  g_free (tree);
}

gboolean
tagtree_is_cut (const SbTagTree *tree)
{
  return tree->cut;
}

gboolean
tagtree_is_big_endian (const SbTagTree *tree)
{
  return tree->big;
}

static const Tag *
find (const SbTagTree *tree, const char *format, va_list args)
{
  g_autofree char *path = g_strdup_vprintf (format, args);
  return g_hash_table_lookup (tree->tags, path);
}

#define FIND(tag)                                                                                                              \
  va_list args;                                                                                                                \
  va_start (args, format);                                                                                                     \
  const Tag *tag = find (tree, format, args);                                                                                  \
  va_end (args)

double
tagtree_number (const SbTagTree *tree, const char *format, ...)
{
  FIND (tag);
  return tag != NULL ? tag->number : NAN;
}

const char *
tagtree_text (const SbTagTree *tree, const char *format, ...)
{
  FIND (tag);
  return tag != NULL ? tag->text : NULL;
}

const SbTagArray *
tagtree_array (const SbTagTree *tree, const char *format, ...)
{
  FIND (tag);
  return tag != NULL && tag->array.offset > 0 ? &tag->array : NULL;
}

gboolean
tagtree_has (const SbTagTree *tree, const char *format, ...)
{
  FIND (tag);
  return tag != NULL;
}
