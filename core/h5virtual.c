#include "core/h5virtual.h"

#include <string.h>

#include "core/error.h"
#include "core/h5io.h"

static void
mapping_free (gpointer data)
{
  SbMapping *mapping = data;
  g_free (mapping->file);
  g_free (mapping->dataset);
  g_free (mapping);
}

void
h5virtual_clear (SbVirtual *virtual)
{
  g_clear_pointer (&virtual->mappings, g_ptr_array_unref);
}

/* The images that a selection takes, and the size of one; FALSE: it takes parts of images, or is no evenly spaced
 * block of them. */
static gboolean
selected (hid_t space, SbSpaced images[2], gint64 size[2])
{
  hsize_t extent[4] = { 1, 1, 0, 0 }, start[4] = { 0 }, stride[4] = { 1, 1, 1, 1 }, count[4] = { 1, 1, 1, 1 },
          block[4] = { 1, 1, 1, 1 };
  int rank = space < 0 ? -1 : H5Sget_simple_extent_ndims (space), skip = 4 - rank;
  if (rank < 2 || rank > 4 || H5Sget_simple_extent_dims (space, extent + skip, NULL) != rank)
    return FALSE;
  for (int i = 0; i < 4; i++)
    if (extent[i] > G_MAXINT32)
      return FALSE;
  H5S_sel_type type = H5Sget_select_type (space);
  if (type == H5S_SEL_ALL)
    memcpy (block, extent, sizeof block);
  else if (type != H5S_SEL_HYPERSLABS || H5Sis_regular_hyperslab (space) <= 0
           || H5Sget_regular_hyperslab (space, start + skip, stride + skip, count + skip, block + skip) < 0)
    return FALSE;
  for (int i = 0; i < 4; i++) {
    if (count[i] == 1) { /* one block of n is n blocks of one */
      count[i] = block[i];
      stride[i] = block[i] = 1;
    }
    if (block[i] != 1 || count[i] == 0 || count[i] > G_MAXINT32 || stride[i] > G_MAXINT32
        || start[i] + (count[i] - 1) * stride[i] >= extent[i])
      return FALSE;
  }
  for (int i = 0; i < 2; i++) {
    images[i] = (SbSpaced){ (gint64)start[i], (gint64)stride[i], (gint64)count[i] };
    size[i] = (gint64)extent[i + 2];
    if (start[i + 2] != 0 || stride[i + 2] != 1 || count[i + 2] != extent[i + 2])
      return FALSE;
  }
  return TRUE;
}

static char *
text_of (hid_t plan, size_t index, ssize_t (*get) (hid_t, size_t, char *, size_t))
{
  ssize_t size = get (plan, index, NULL, 0);
  if (size <= 0 || size > 65536)
    return NULL;
  char *text = g_malloc0 ((gsize)size + 1);
  if (get (plan, index, text, (size_t)size + 1) < 0)
    g_clear_pointer (&text, g_free);
  return text;
}

static gboolean
add_mapping (hid_t plan, size_t index, SbVirtual *virtual)
{
  SbMapping *mapping = g_new0 (SbMapping, 1);
  hid_t to = H5Pget_virtual_vspace (plan, index), from = H5Pget_virtual_srcspace (plan, index);
  gint64 size[2] = { 0 }, source[2] = { 0 };
  mapping->file = text_of (plan, index, H5Pget_virtual_filename);
  mapping->dataset = text_of (plan, index, H5Pget_virtual_dsetname);
  gboolean good = mapping->file != NULL && mapping->dataset != NULL && selected (to, mapping->at, size)
                  && size[0] == virtual->rows && size[1] == virtual->cols;
  /* of a source that is taken whole the file keeps no shape */
  mapping->whole = from >= 0 && H5Sget_select_type (from) == H5S_SEL_ALL;
  if (!mapping->whole)
    good = good && selected (from, mapping->from, source) && source[0] == size[0] && source[1] == size[1]
           && mapping->at[0].count * mapping->at[1].count == mapping->from[0].count * mapping->from[1].count;
  if (to >= 0)
    H5Sclose (to);
  if (from >= 0)
    H5Sclose (from);
  if (good)
    g_ptr_array_add (virtual->mappings, mapping);
  else
    mapping_free (mapping);
  return good;
}

static gboolean
read_mappings (hid_t set, SbVirtual *virtual)
{
  hid_t space = H5Dget_space (set), plan = H5Dget_create_plist (set);
  hsize_t shape[4] = { 1, 1, 0, 0 };
  size_t n = 0;
  int rank = virtual->rank = space < 0 ? -1 : H5Sget_simple_extent_ndims (space);
  gboolean good = (rank == 3 || rank == 4) && H5Sget_simple_extent_dims (space, shape + 4 - rank, NULL) == rank && plan >= 0
                  && H5Pget_layout (plan) == H5D_VIRTUAL && H5Pget_virtual_count (plan, &n) >= 0;
  for (int i = 0; good && i < 4; i++)
    good = shape[i] <= G_MAXINT32;
  virtual->lead[0] = (gint64)shape[0];
  virtual->lead[1] = (gint64)shape[1];
  virtual->rows = (gint64)shape[2];
  virtual->cols = (gint64)shape[3];
  for (size_t i = 0; good && i < n; i++)
    good = add_mapping (plan, i, virtual);
  if (space >= 0)
    H5Sclose (space);
  if (plan >= 0)
    H5Pclose (plan);
  return good;
}

gboolean
h5virtual_read (const char *path, const char *dataset, SbVirtual *virtual, GError **error)
{
  *virtual = (SbVirtual){ .mappings = g_ptr_array_new_with_free_func (mapping_free) };
  gboolean good = FALSE;
  if (!h5io_begin (error))
    return FALSE;
  hid_t file = h5io_open_file (path, error);
  hid_t set = file < 0 ? H5I_INVALID_HID : H5Dopen2 (file, dataset, H5P_DEFAULT);
  if (set >= 0) {
    good = read_mappings (set, virtual);
    H5Dclose (set);
  }
  gboolean sound = h5io_close_file (file, file >= 0, error);
  h5io_end ();
  return good || !sound ? good && sound
                        : sb_fail (error, SB_ERROR_DATA,
                                   "%s: the virtual dataset %s is not made of whole frames in even steps: write it as a plain "
                                   "dataset.",
                                   path, dataset);
}

/* Which one of the images; -1: none of them. */
static gint64
place_of (const SbSpaced *images, gint64 i)
{
  gint64 beyond = i - images->start;
  return beyond >= 0 && beyond % images->stride == 0 && beyond / images->stride < images->count ? beyond / images->stride : -1;
}

gint64
mapping_image (const SbMapping *mapping, gint64 row, gint64 col, gint64 length)
{
  gint64 i = place_of (&mapping->at[0], row), j = place_of (&mapping->at[1], col);
  if (i < 0 || j < 0)
    return -1;
  gint64 n = i * mapping->at[1].count + j;
  if (mapping->whole)
    return n;
  const SbSpaced *from = mapping->from;
  return (from[0].start + n / from[1].count * from[0].stride) * length + from[1].start + n % from[1].count * from[1].stride;
}
