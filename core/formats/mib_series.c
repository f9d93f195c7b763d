/* The files of a Merlin series: NAME<digits>.mib, which belong together where their frame numbers follow one
 * another. */
#include <string.h>

#include "core/error.h"
#include "core/formats/mib_header.h"

#define D "%" G_GINT64_FORMAT

/* One file that may belong to the series. */
typedef struct Member {
  char *path;
  gint64 number; /* of its first frame, from 1 */
  gint64 frames;
  gint64 size;  /* bytes */
  gboolean cut; /* a part of a frame stands at its end */
} Member;

static void
clear_member (gpointer member)
{
  g_free (((Member *)member)->path);
}

static int
by_number (gconstpointer a, gconstpointer b)
{
  const Member *x = a, *y = b;
  return x->number != y->number ? (x->number < y->number ? -1 : 1) : strcmp (x->path, y->path);
}

char *
mib_stem (const char *path)
{
  gsize n = strlen (path);
  if (n < 4 || g_ascii_strcasecmp (path + n - 4, ".mib") != 0)
    return NULL;
  for (n -= 4; n > 0 && g_ascii_isdigit (path[n - 1]); n--)
    ;
  return g_strndup (path, n);
}

static gboolean
is_alike (const SbMibHeader *a, const SbMibHeader *b)
{
  return a->bytes == b->bytes && a->width == b->width && a->height == b->height && a->bits == b->bits && a->depth == b->depth
         && a->raw == b->raw && a->chips == b->chips;
}

/* Adds path if its header can be read and is like that of the opened file. */
static void
consider (GArray *members, const char *path, const SbMibHeader *like, const SbFrameLayout *layout)
{
  SbMibHeader found;
  SbFlatFile *file = flatfile_open (path, NULL);
  if (file != NULL && mib_header_read (file, path, &found, NULL) && is_alike (&found, like)) {
    Member member = { .path = g_strdup (path), .number = found.number, .size = flatfile_size (file) };
    member.frames = frameset_fit (layout, 0, member.size, &member.cut);
    g_array_append_val (members, member);
  }
  flatfile_close (file);
}

/* The opened file and, where it is numbered, its like, in the order of their frames. */
static GArray *
find_members (const char *path, const SbMibHeader *mib, const SbFrameLayout *layout)
{
  GArray *members = g_array_new (FALSE, FALSE, sizeof (Member));
  g_autofree char *stem = mib_stem (path), *folder = g_path_get_dirname (path);
  g_array_set_clear_func (members, clear_member);
  gboolean numbered = stem != NULL && strlen (stem) + strlen (".mib") < strlen (path);
  GDir *dir = numbered ? g_dir_open (folder, 0, NULL) : NULL;
  const char *name;
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL) {
    g_autofree char *other = g_build_filename (folder, name, NULL), *other_stem = mib_stem (other);
    if (strcmp (other, path) != 0 && g_strcmp0 (other_stem, stem) == 0)
      consider (members, other, mib, layout);
  }
  if (dir != NULL)
    g_dir_close (dir);
  consider (members, path, mib, layout);
  g_array_sort (members, by_number);
  return members;
}

enum { SEVERAL = -1 };

/* Which member has a frame number, as its first or just behind its last: index + 1, or SEVERAL. */
static GHashTable *
index_members (const GArray *members, gboolean by_end)
{
  GHashTable *table = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  for (guint i = 0; i < members->len; i++) {
    const Member *m = &g_array_index (members, Member, i);
    if (by_end && m->frames < 1)
      continue;
    gint64 *key = g_new (gint64, 1);
    *key = m->number + (by_end ? m->frames : 0);
    gpointer had = g_hash_table_lookup (table, key);
    g_hash_table_insert (table, key, GINT_TO_POINTER (had != NULL ? SEVERAL : (int)i + 1));
  }
  return table;
}

static gboolean
is_ambiguous (const Member *member, int found, GError **error)
{
  if (found != SEVERAL)
    return FALSE;
  sb_fail (error, SB_ERROR_DATA,
           "Several files of that name stand beside frames " D " to " D " (%s): move those of other acquisitions "
           "elsewhere.",
           member->number - 1, member->number + member->frames - 2, member->path);
  return TRUE;
}

/* The members whose frame numbers follow one another, the opened file among them, in that order. Another
 * acquisition of the same name begins at 1 again, and so never follows. NULL: an error. */
static GArray *
find_chain (const GArray *members, const char *path, GHashTable *ends, GError **error)
{
  g_autoptr (GHashTable) starts = index_members (members, FALSE);
  const Member *all = (const Member *)members->data;
  GArray *chain = g_array_new (FALSE, FALSE, sizeof (guint));
  guint opened = 0;
  int found;
  while (opened + 1 < members->len && strcmp (all[opened].path, path) != 0)
    opened++;
  for (guint at = opened;; at = (guint)found - 1) {
    g_array_prepend_val (chain, at);
    found = GPOINTER_TO_INT (g_hash_table_lookup (ends, &all[at].number));
    if (is_ambiguous (&all[at], found, error))
      return (g_array_unref (chain), NULL);
    if (found == 0 || all[found - 1].frames < 1)
      break;
  }
  for (guint at = opened;; g_array_append_val (chain, at)) {
    gint64 end = all[at].number + all[at].frames;
    found = all[at].frames < 1 ? 0 : GPOINTER_TO_INT (g_hash_table_lookup (starts, &end));
    if (is_ambiguous (&all[at], found, error))
      return (g_array_unref (chain), NULL);
    if (found == 0)
      return chain;
    /* It must not follow another file as well. */
    at = (guint)found - 1;
    if (is_ambiguous (&all[at], GPOINTER_TO_INT (g_hash_table_lookup (ends, &end)), error))
      return (g_array_unref (chain), NULL);
  }
}

/* Says what is not there before or behind the files of the chain. */
static gboolean
check_chain (const GArray *members, const GArray *chain, GHashTable *ends, const SbAcquisitionOptions *options,
             SbHeader *header, GError **error)
{
  const Member *all = (const Member *)members->data;
  const Member *first = &all[g_array_index (chain, guint, 0)];
  const Member *last = &all[g_array_index (chain, guint, chain->len - 1)];
  gint64 asked = 0, end = last->number + last->frames;
  if (options->scan_shape[0] <= 0 || __builtin_mul_overflow (options->scan_shape[0], options->scan_shape[1], &asked))
    asked = 0;
  if (first->number > 1 && asked != header->frames)
    return sb_fail (error, SB_ERROR_IO,
                    "%s begins with frame " D " of its series and the files before it are missing: copy them into "
                    "the same folder, or give the scan_shape of the " D " frames that are there.",
                    first->path, first->number - 1, header->frames);
  /* A later file that follows none belongs to this series, beyond a gap. */
  for (guint i = 0; i < members->len; i++)
    if (all[i].number > end && g_hash_table_lookup (ends, &all[i].number) == NULL) {
      header->expected_frames = all[members->len - 1].number + all[members->len - 1].frames - first->number;
      if (header->missing == NULL)
        header->missing = g_strdup_printf ("Frames " D " to " D " are missing before %s: copy the files between.", end - 1,
                                           all[i].number - 2, all[i].path);
      break;
    }
  return TRUE;
}

/* Takes the files of the series into the frame set. */
static void
add_chain (SbFrameSet *set, const char *path, const GArray *members, const GArray *chain, const SbFrameLayout *layout,
           SbHeader *header)
{
  for (guint i = 0; i < chain->len; i++) {
    const Member *member = &g_array_index (members, Member, g_array_index (chain, guint, i));
    frameset_add (set, member->path, 0, member->frames);
    if (strcmp (member->path, path) != 0)
      g_ptr_array_add (header->files, g_strdup (member->path));
    if (member->cut && header->missing == NULL)
      header->missing = frameset_truncated (layout, member->path, member->size, 0, member->frames + 1);
  }
  header->frames = frameset_frames (set);
}

gboolean
mib_series_add (const char *path, const SbMibHeader *mib, const SbFrameLayout *layout, const SbAcquisitionOptions *options,
                SbFrameSet *set, SbHeader *header, GError **error)
{
  g_autoptr (GArray) members = find_members (path, mib, layout);
  if (members->len == 0)
    return sb_fail (error, SB_ERROR_IO, "%s cannot be read: it was changed while it was opened.", path);
  g_autoptr (GHashTable) ends = index_members (members, TRUE);
  g_autoptr (GArray) chain = find_chain (members, path, ends, error);
  if (chain == NULL)
    return FALSE;
  add_chain (set, path, members, chain, layout, header);
  return check_chain (members, chain, ends, options, header, error);
}
