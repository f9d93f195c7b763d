/* Arrays of frames: of any type, layout, filter and shape, whole or in parts; virtual ones of all kinds of
 * pieces. */
#include <lz4.h>
#include <string.h>
#include <zstd.h>

#include "tests/fuzz/h5_build.h"

enum { MOST_RANK = 5, MOST_WRITTEN = 1 << 16, LZ4 = 32004, BITSHUFFLE = 32008, HEADER = 12 };

typedef struct Shape {
  int rank;
  hsize_t size[MOST_RANK];
} Shape;

static hsize_t
product (const Shape *shape)
{
  double all = 1;
  hsize_t n = 1;
  for (int i = 0; i < shape->rank; i++) {
    all *= (double)shape->size[i];
    n *= shape->size[i];
  }
  return all > MOST_WRITTEN ? MOST_WRITTEN + 1 : n;
}

static Shape
shape_of (const Part *part, gboolean odd, Bytes *bytes)
{
  static const hsize_t sizes[] = {
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 17, 64, 1 << 15, 65537, (hsize_t)1 << 31, (hsize_t)1 << 33
  };
  Shape shape = { .rank = 0 };
  for (int i = 0; i < 2; i++)
    if (part->n[i] > 0)
      shape.size[shape.rank++] = (hsize_t)part->n[i];
  shape.size[shape.rank++] = FRAME_ROWS;
  shape.size[shape.rank++] = FRAME_COLS;
  if (!odd)
    return shape;
  guint which = bytes_next (bytes);
  if (which & 0x80)
    shape.rank = 1 + (int)(bytes_next (bytes) % MOST_RANK);
  for (int i = 0; i < shape.rank; i++)
    if (which >> i & 1 || shape.size[i] == 0)
      shape.size[i] = sizes[bytes_next (bytes) % G_N_ELEMENTS (sizes)];
  return shape;
}

/* ---- chunks ---- */

static void
put_big (guint8 *to, guint64 value, int n)
{
  for (int i = 0; i < n; i++)
    to[i] = (guint8)(value >> (8 * (n - 1 - i)));
}

/* What the filters of our own make of a chunk of counts; whatever is compressed are planes of something. */
static GByteArray *
encode (guint filter, gboolean zstd, gsize element, gsize size, Bytes *bytes)
{
  GByteArray *out = g_byte_array_new ();
  gsize unit = filter == LZ4 ? 1 : 8 * element, block = MAX (unit, unit * (1 + bytes_next (bytes) % 16)),
        whole = filter == LZ4 ? size : size / unit * unit;
  guint8 head[HEADER], length[4];
  put_big (head, size, 8);
  put_big (head + 8, block, 4);
  g_byte_array_append (out, head, HEADER);
  g_autofree guint8 *plain = g_malloc0 (block + size);
  for (gsize i = 0; i < block + size; i++)
    plain[i] = (guint8)(i % 7 == 0 ? i : 0);
  gsize room = MAX ((gsize)LZ4_compressBound ((int)block), ZSTD_compressBound (block));
  g_autofree guint8 *packed = g_malloc (room);
  for (gsize at = 0; at < whole; at += block) {
    gsize n = MIN (block, whole - at),
          got = zstd ? ZSTD_compress (packed, room, plain + at, n, 1)
                     : (gsize)MAX (LZ4_compress_default ((const char *)plain + at, (char *)packed, (int)n, (int)room), 0);
    gboolean stored = filter == LZ4 && got >= n;
    put_big (length, stored ? n : got, 4);
    g_byte_array_append (out, length, 4);
    g_byte_array_append (out, stored ? plain + at : packed, (guint)(stored ? n : got));
  }
  g_byte_array_append (out, plain, (guint)(size - whole));
  return out;
}

/* Each chunk by itself, some of them damaged or left out. */
static void
put_chunks (hid_t set, const Shape *shape, const Shape *chunk, guint filter, gboolean zstd, gboolean odd, Bytes *bytes)
{
  hid_t type = H5Dget_type (set);
  gsize element = H5Tget_size (type), size = element * (gsize)product (chunk);
  hsize_t at[MOST_RANK] = { 0 };
  guint absent = odd ? bytes_next (bytes) : 0, damaged = odd ? bytes_next (bytes) : 0, mask = odd ? bytes_next (bytes) % 3 : 0;
  H5Tclose (type);
  for (int n = 0; n < 64; n++) {
    g_autoptr (GByteArray) stored = encode (filter, zstd, element, size, bytes);
    if (damaged >> n % 8 & 1 && stored->len > 0)
      stored->data[bytes_next (bytes) % stored->len] ^= (guint8)bytes_next (bytes);
    if (damaged >> (n + 3) % 8 & 1)
      g_byte_array_set_size (stored, (guint)(bytes_next (bytes) + 1));
    if (!(absent >> n % 8 & 1))
      H5Dwrite_chunk (set, H5P_DEFAULT, mask, at, stored->len, stored->data);
    int i = shape->rank - 1;
    for (at[i] += chunk->size[i]; at[i] >= shape->size[i] && i > 0; at[i] += chunk->size[i])
      at[i--] = 0;
    if (at[0] >= shape->size[0])
      break;
  }
}

static void
set_filter (hid_t plan, guint filter, guint element, Bytes *bytes)
{
  const unsigned values[5] = { 0, 4, element, 8 * (bytes_next (bytes) % 4), filter == 7 ? 3 : 2 };
  switch (filter) {
  case 1: H5Pset_deflate (plan, 1); break;
  case 2:
    H5Pset_shuffle (plan);
    H5Pset_deflate (plan, 9);
    break;
  case 3: H5Pset_fletcher32 (plan); break;
  case 4: H5Pset_scaleoffset (plan, H5Z_SO_INT, H5Z_SO_INT_MINBITS_DEFAULT); break;
  case 5: H5Pset_filter (plan, LZ4, H5Z_FLAG_OPTIONAL, 0, NULL); break;
  case 6:
  case 7: H5Pset_filter (plan, BITSHUFFLE, H5Z_FLAG_OPTIONAL, bytes_next (bytes) % 8 == 7 ? 2 : 5, values); break;
  case 8: H5Pset_filter (plan, 305, H5Z_FLAG_OPTIONAL, 1, values); break;
  case 9:
    H5Pset_filter (plan, BITSHUFFLE, H5Z_FLAG_OPTIONAL, 5, values);
    H5Pset_deflate (plan, 1);
    break;
  case 10: H5Pset_nbit (plan); break;
  default: break;
  }
}

/* ---- arrays ---- */

static void
put_counts (hid_t set, const Shape *shape, gboolean in_part, Bytes *bytes)
{
  hsize_t n = product (shape), start[MOST_RANK] = { 0 };
  if (n == 0 || n > MOST_WRITTEN)
    return;
  g_autofree guint16 *counts = g_new (guint16, n);
  for (hsize_t i = 0; i < n; i++)
    counts[i] = (guint16)(i * 7);
  if (!in_part) {
    H5Dwrite (set, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, counts);
    return;
  }
  Shape some = *shape;
  for (int i = 0; i < shape->rank; i++) {
    start[i] = bytes_next (bytes) % shape->size[i];
    some.size[i] = 1 + bytes_next (bytes) % (shape->size[i] - start[i]);
  }
  hid_t to = H5Dget_space (set), from = H5Screate_simple (shape->rank, some.size, NULL);
  if (H5Sselect_hyperslab (to, H5S_SELECT_SET, start, NULL, some.size, NULL) >= 0)
    H5Dwrite (set, H5T_NATIVE_UINT16, from, to, H5P_DEFAULT, counts);
  H5Sclose (to);
  H5Sclose (from);
}

static void
put_array (hid_t file, const Part *part, const Shape *shape, hid_t type, guint odd, Bytes *bytes)
{
  enum { CONTIGUOUS, COMPACT, NEVER_WRITTEN, EXTERNAL, EARLY, FILTERS = 11 };
  hid_t links = deep_links (), plan = H5Pcreate (H5P_DATASET_CREATE), space = H5Screate_simple (shape->rank, shape->size, NULL);
  guint layout = odd & ODD_LAYOUT ? bytes_next (bytes) % 8 : 0, filter = layout > EARLY ? bytes_next (bytes) % FILTERS : 0;
  gboolean huge = product (shape) > MOST_WRITTEN, chunked = layout > EARLY || (huge && layout % 2 == 1);
  Shape chunk = *shape;
  for (int i = 0; i < shape->rank; i++) {
    guint x = chunked ? bytes_next (bytes) : 0;
    gboolean as_frames = i < shape->rank - 2;
    chunk.size[i] = x == 0 && !huge ? (as_frames ? 1 : MAX (shape->size[i], 1)) : 1 + x % 8;
  }
  if (chunked) {
    H5Pset_chunk (plan, shape->rank, chunk.size);
    set_filter (plan, filter, (guint)H5Tget_size (type), bytes);
  } else if (layout == COMPACT)
    H5Pset_layout (plan, H5D_COMPACT);
  else if (layout == EXTERNAL)
    H5Pset_external (plan, "x.bin", 0, H5F_UNLIMITED);
  else if (layout == EARLY && !huge)
    H5Pset_alloc_time (plan, H5D_ALLOC_TIME_EARLY);
  hid_t set = space >= 0 ? H5Dcreate2 (file, part->path, type, space, links, plan, H5P_DEFAULT) : H5I_INVALID_HID;
  if (set >= 0) {
    if (chunked && filter >= 5 && filter <= 7 && !huge && product (&chunk) <= 4096 && product (shape) > 0)
      put_chunks (set, shape, &chunk, filter == 5 ? LZ4 : BITSHUFFLE, filter == 7, (odd & ODD_VALUE) != 0, bytes);
    else if (layout != NEVER_WRITTEN)
      put_counts (set, shape, (odd & ODD_VALUE) != 0, bytes);
    H5Dclose (set);
  }
  if (space >= 0)
    H5Sclose (space);
  H5Pclose (plan);
  H5Pclose (links);
}

/* ---- virtual ones ---- */

/* The frames of a space that piece i of n takes: an even share of the first axis, or something else. */
static void
select_piece (hid_t space, const Shape *shape, int i, int n, gboolean odd, Bytes *bytes)
{
  hsize_t start[MOST_RANK] = { 0 }, stride[MOST_RANK], count[MOST_RANK], block[MOST_RANK];
  for (int d = 0; d < shape->rank; d++) {
    stride[d] = block[d] = 1;
    count[d] = MAX (shape->size[d], 1);
  }
  hsize_t share = MAX (shape->size[0] / (hsize_t)n, 1);
  start[0] = share * (hsize_t)i;
  count[0] = share;
  if (odd) {
    guint which = bytes_next (bytes);
    for (int d = 0; d < shape->rank; d++)
      if (which >> d & 1) {
        start[d] = bytes_next (bytes) % 8;
        stride[d] = 1 + bytes_next (bytes) % 4;
        count[d] = 1 + bytes_next (bytes) % 8;
        block[d] = 1 + bytes_next (bytes) % 2;
        if (bytes_next (bytes) == 255)
          count[d] = H5S_UNLIMITED;
      }
    if (which & 0x80)
      return; /* all of it */
  }
  H5Sselect_hyperslab (space, H5S_SELECT_SET, start, stride, count, block);
}

static void
put_virtual (hid_t file, const Part *part, const Shape *shape, hid_t type, guint odd, Bytes *bytes)
{
  hid_t links = deep_links (), plan = H5Pcreate (H5P_DATASET_CREATE);
  hid_t space = H5Screate_simple (shape->rank, shape->size, NULL);
  int n = MAX (part->n[2], 1);
  if (odd & ODD_LAYOUT)
    n = (int)(bytes_next (bytes) % 6);
  for (int i = 0; i < n && space >= 0; i++) {
    guint how = odd & ODD_LAYOUT ? bytes_next (bytes) : 0;
    Shape source = *shape;
    source.size[0] = MAX (shape->size[0] / (hsize_t)MAX (n, 1), 1);
    g_autofree char *name = g_strdup_printf ("x_data_%06d.h5", i + 1);
    hid_t to = H5Scopy (space);
    if (how & 1)
      source = shape_of (part, TRUE, bytes);
    hid_t from = H5Screate_simple (source.rank, source.size, NULL);
    select_piece (to, shape, i, n, (how & 2) != 0, bytes);
    if (how & 4)
      select_piece (from, &source, 0, 1, TRUE, bytes);
    if (from >= 0)
      H5Pset_virtual (plan, to, odd & ODD_VALUE && how & 8 ? odd_text (bytes) : name,
                      odd & ODD_VALUE && how & 16 ? odd_text (bytes) : part->text, from);
    if (from >= 0)
      H5Sclose (from);
    H5Sclose (to);
  }
  hid_t set = space >= 0 ? H5Dcreate2 (file, part->path, type, space, links, plan, H5P_DEFAULT) : H5I_INVALID_HID;
  if (set >= 0)
    H5Dclose (set);
  if (space >= 0)
    H5Sclose (space);
  H5Pclose (plan);
  H5Pclose (links);
}

void
frames_put (hid_t file, const Part *part, guint odd, Bytes *bytes)
{
  Shape shape = shape_of (part, (odd & ODD_SHAPE) != 0, bytes);
  hid_t type = odd & ODD_TYPE ? odd_type (bytes) : H5Tcopy (H5T_STD_U16LE);
  (part->kind == VIRTUAL ? put_virtual : put_array) (file, part, &shape, type, odd, bytes);
  H5Tclose (type);
}
