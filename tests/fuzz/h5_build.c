#include "tests/fuzz/h5_build.h"

#include <math.h>
#include <string.h>

enum { MOST_POINTS = 1 << 13, MOST_SIZE = 1 << 16 };

guint
bytes_next (Bytes *bytes)
{
  if (bytes->left == 0)
    return 0;
  bytes->left--;
  return *bytes->at++;
}

const char *
odd_text (Bytes *bytes)
{
  static char many[30000]; /* two of them fit a link: of more than 64 KiB HDF5 1.10 writes wrong */
  static const char *const texts[] = {
    "",
    "data",
    "/",
    ".",
    "..",
    "/entry/data",
    "/entry",
    "entry",
    "array",
    "NXdata",
    "NXentry",
    "signal",
    "1",
    "A",
    "nm",
    "1/nm",
    "mrad",
    "rad",
    "pixels",
    "[n_m]",
    "[n_m^-1]",
    "A^-1",
    "keV",
    "angstrom",
    "m",
    "\xff\xfe\x80",
    "x_master.h5",
    "x_data_000001.h5",
    "x_data_000002.h5",
    "x.h5",
    "missing.h5",
    "../x_master.h5",
    "/nowhere/x_data_000001.h5",
    "C:\\d\\x_data_000001.h5",
    "/entry/data/data",
    "/entry/data/data_000001",
    "/cube/data",
    "/cube",
    "/data",
    "/1/data",
    "threshold_1",
    "threshold_2",
    "0",
    "7",
    "-1",
    "99999999999999999999",
    "%b%d",
    "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t",
    "{\"dimensional_calibrations\": [{}, {\"scale\": 1e308}, {\"scale\": -1, \"units\": \"rad\"}, 3]}",
    "{",
    "[]",
    "{\"spatial_calibrations\": [{\"scale\": 2, \"units\": \"nm\"}, {\"scale\": 2, \"units\": \"nm\"}, "
    "{\"scale\": 1, "
    "\"units\": \"mrad\"}, {\"scale\": 1, \"units\": \"mrad\"}], \"metadata\": {\"a\": "
    "{\"high_tension_v\": 200000}}}",
    "\n",
    " ",
    "/Experiments/__unnamed__/data",
    "self",
    "4D",
    "e\xcc\x81\xe2\x82\xac",
  };
  guint i = bytes_next (bytes) % (G_N_ELEMENTS (texts) + 1);
  if (i < G_N_ELEMENTS (texts))
    return texts[i];
  memset (many, 'x', sizeof many - 1);
  return many;
}

double
odd_number (Bytes *bytes)
{
  static const double numbers[] = { 0,    -1,         1,     2,   3,    NAN,  INFINITY, -INFINITY, 1e300, -1e300, 1e-300,
                                    1e12, 16777215,   4e9,   0.5, -0.5, 2e18, 1e19,     300,       3e5,   0.02,   20,
                                    1e3,  4294967295, 65535, 1e9, 1e10, 6,    12,       255,       0.037, 1e-12,  7 };
  return numbers[bytes_next (bytes) % G_N_ELEMENTS (numbers)];
}

hid_t
deep_links (void)
{
  hid_t links = H5Pcreate (H5P_LINK_CREATE);
  H5Pset_create_intermediate_group (links, 1);
  return links;
}

/* ---- types and shapes ---- */

static hid_t
text_type (gsize size, gboolean utf8)
{
  hid_t type = H5Tcopy (H5T_C_S1);
  H5Tset_size (type, size);
  if (utf8)
    H5Tset_cset (type, H5T_CSET_UTF8);
  return type;
}

/* A float of two bytes, whole numbers of 24 bits, a compound ... */
static hid_t
made_type (guint i)
{
  hid_t type;
  hsize_t two = 2;
  int value = 1;
  switch (i) {
  case 0:
    type = H5Tcopy (H5T_IEEE_F32LE);
    H5Tset_fields (type, 15, 10, 5, 0, 10);
    H5Tset_size (type, 2);
    H5Tset_ebias (type, 15);
    return type;
  case 1:
    type = H5Tcopy (H5T_STD_U32LE);
    H5Tset_precision (type, 24);
    H5Tset_size (type, 3);
    return type;
  case 2:
    type = H5Tcreate (H5T_COMPOUND, 16);
    H5Tinsert (type, "re", 0, H5T_IEEE_F64LE);
    H5Tinsert (type, "im", 8, H5T_IEEE_F64LE);
    return type;
  case 3: return H5Tcreate (H5T_OPAQUE, 4);
  case 4:
    type = H5Tcreate (H5T_ENUM, sizeof value);
    H5Tenum_insert (type, "TRUE", &value);
    return type;
  case 5: return H5Tarray_create2 (H5T_STD_U16LE, 1, &two);
  case 6: return H5Tvlen_create (H5T_STD_I32LE);
  case 7: return text_type (H5T_VARIABLE, FALSE);
  case 8: return text_type (H5T_VARIABLE, TRUE);
  case 9: return text_type (8, FALSE);
  default:
    type = text_type (3, TRUE);
    H5Tset_strpad (type, H5T_STR_SPACEPAD);
    return type;
  }
}

hid_t
odd_type (Bytes *bytes)
{
  enum { MADE = 11 };
  const hid_t plain[] = { H5T_STD_U8LE,   H5T_STD_I8LE,   H5T_STD_U16LE, H5T_STD_U16BE,  H5T_STD_I16LE,  H5T_STD_U32LE,
                          H5T_STD_U32BE,  H5T_STD_I32BE,  H5T_STD_I64LE, H5T_STD_U64BE,  H5T_IEEE_F32LE, H5T_IEEE_F32BE,
                          H5T_IEEE_F64LE, H5T_IEEE_F64BE, H5T_STD_B8LE,  H5T_STD_REF_OBJ };
  guint i = bytes_next (bytes) % (G_N_ELEMENTS (plain) + MADE);
  return i < G_N_ELEMENTS (plain) ? H5Tcopy (plain[i]) : made_type (i - G_N_ELEMENTS (plain));
}

static hid_t
odd_space (Bytes *bytes)
{
  static const hsize_t sizes[][3] = { { 0 },    { 1 },    { 2 },    { 3 },       { 4 },   { 257 },
                                      { 4097 }, { 2, 3 }, { 1, 1 }, { 1, 1, 1 }, { 2, 0 } };
  guint i = bytes_next (bytes) % (G_N_ELEMENTS (sizes) + 2);
  if (i >= G_N_ELEMENTS (sizes))
    return H5Screate (i == G_N_ELEMENTS (sizes) ? H5S_NULL : H5S_SCALAR);
  return H5Screate_simple (i < 7 ? 1 : i == 9 ? 3 : 2, sizes[i], NULL);
}

/* ---- one object and what it holds ---- */

static herr_t
write_to (hid_t object, gboolean is_attribute, hid_t type, const void *from)
{
  return is_attribute ? H5Awrite (object, type, from) : H5Dwrite (object, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, from);
}

/* Fills it with value, value + step ... or with text, whatever its type. */
static void
fill (hid_t object, gboolean is_attribute, hid_t type, gsize n, double value, double step, const char *text)
{
  H5T_class_t class = H5Tget_class (type);
  gsize size = H5Tget_size (type);
  if (n == 0 || n > MOST_POINTS || size > MOST_SIZE || n * MAX (size, sizeof (double)) > 1 << 20)
    return;
  if (class == H5T_INTEGER || class == H5T_FLOAT) {
    g_autofree double *values = g_new (double, n);
    for (gsize i = 0; i < n; i++)
      values[i] = value + step * (double)i;
    write_to (object, is_attribute, H5T_NATIVE_DOUBLE, values);
  } else if (class == H5T_STRING && H5Tis_variable_str (type) > 0) {
    g_autofree const char **texts = g_new (const char *, n);
    for (gsize i = 0; i < n; i++)
      texts[i] = i % 3 == 2 ? NULL : text;
    write_to (object, is_attribute, type, texts);
  } else {
    g_autofree char *plain = g_malloc0 (n * size);
    for (gsize i = 0; class == H5T_STRING && i < n; i++)
      memcpy (plain + i * size, text, MIN (size, strlen (text)));
    write_to (object, is_attribute, type, plain);
  }
}

/* type and space are consumed. */
static void
make (hid_t file, const Part *part, hid_t type, hid_t space, double value, double step, const char *text)
{
  hid_t links = deep_links (), object;
  if (part->name != NULL)
    object = H5Acreate_by_name (file, part->path, part->name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  else
    object = H5Dcreate2 (file, part->path, type, space, links, H5P_DEFAULT, H5P_DEFAULT);
  if (object >= 0) {
    hssize_t n = H5Sget_simple_extent_npoints (space);
    fill (object, part->name != NULL, type, n > 0 ? (gsize)n : 0, value, step, text);
    part->name != NULL ? H5Aclose (object) : H5Dclose (object);
  }
  H5Tclose (type);
  H5Sclose (space);
  H5Pclose (links);
}

/* ---- the kinds ---- */

static hid_t
line (hsize_t n)
{
  return H5Screate_simple (1, &n, NULL);
}

static void
put_texts (hid_t file, const Part *part, hid_t type, hid_t space, const char *text)
{
  g_auto (GStrv) parts = g_strsplit (text, "|", -1);
  guint n = g_strv_length (parts);
  if (type >= 0 || space >= 0 || n == 0) {
    make (file, part, type >= 0 ? type : text_type (16, FALSE), space >= 0 ? space : line (MAX (n, 1)), 0, 0, text);
    return;
  }
  g_autofree char *packed = g_malloc0 (16 * (gsize)n);
  for (guint i = 0; i < n; i++)
    g_strlcpy (packed + 16 * i, parts[i], 16);
  hid_t links = deep_links (), as = text_type (16, FALSE), length = line (n), object;
  object = part->name != NULL
               ? H5Acreate_by_name (file, part->path, part->name, as, length, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)
               : H5Dcreate2 (file, part->path, as, length, links, H5P_DEFAULT, H5P_DEFAULT);
  if (object >= 0) {
    write_to (object, part->name != NULL, as, packed);
    part->name != NULL ? H5Aclose (object) : H5Dclose (object);
  }
  H5Tclose (as);
  H5Sclose (length);
  H5Pclose (links);
}

static void
put_map (hid_t file, const Part *part, hid_t type, gboolean odd, double value, Bytes *bytes)
{
  static const hsize_t sizes[][2] = {
    { FRAME_ROWS, FRAME_COLS + 1 }, { FRAME_COLS, FRAME_ROWS }, { 0, FRAME_COLS }, { 1 << 15, 1 << 15 }, { 7, 9 }
  };
  hsize_t shape[2] = { FRAME_ROWS, FRAME_COLS };
  if (odd)
    memcpy (shape, sizes[bytes_next (bytes) % G_N_ELEMENTS (sizes)], sizeof shape);
  make (file, part, type >= 0 ? type : H5Tcopy (part->n[0] != 0 ? H5T_IEEE_F32LE : H5T_STD_U32LE),
        H5Screate_simple (2, shape, NULL), value, 0, "mask");
}

static void
put_link (hid_t file, const Part *part, Bytes *bytes)
{
  hid_t links = deep_links ();
  guint how = bytes_next (bytes) % 4;
  const char *target = odd_text (bytes);
  if (how == 0)
    H5Lcreate_soft (target, file, part->path, links, H5P_DEFAULT);
  else if (how == 1)
    H5Lcreate_soft (part->path, file, part->path, links, H5P_DEFAULT);
  else if (how == 2)
    H5Lcreate_external (odd_text (bytes), target, file, part->path, links, H5P_DEFAULT);
  else
    H5Lcreate_hard (file, target, file, part->path, links, H5P_DEFAULT);
  H5Pclose (links);
}

static void
put_group (hid_t file, const char *path)
{
  hid_t links = deep_links (), group = H5Gcreate2 (file, path, links, H5P_DEFAULT, H5P_DEFAULT);
  if (group >= 0)
    H5Gclose (group);
  H5Pclose (links);
}

static void
put_external (hid_t file, const Part *part, guint odd, Bytes *bytes)
{
  hid_t links = deep_links ();
  H5Lcreate_external (odd & ODD_VALUE ? odd_text (bytes) : part->text, odd & ODD_TYPE ? odd_text (bytes) : part->name, file,
                      part->path, links, H5P_DEFAULT);
  H5Pclose (links);
}

static void
put_once (hid_t file, const Part *part, guint odd, Bytes *bytes)
{
  gboolean framed = part->kind == FRAMES || part->kind == VIRTUAL || part->kind == MAP;
  hid_t type = odd & ODD_TYPE && !framed && part->kind != LINK ? odd_type (bytes) : H5I_INVALID_HID;
  hid_t space = odd & ODD_SHAPE && !framed && part->kind != LINK ? odd_space (bytes) : H5I_INVALID_HID;
  double value = odd & ODD_VALUE ? odd_number (bytes) : part->value;
  const char *text = odd & ODD_VALUE && (part->kind == TEXT || part->kind == TEXTS) ? odd_text (bytes) : part->text;
  if (part->kind == NUMBER || part->kind == TEXT) {
    hid_t plain = part->kind == NUMBER ? H5Tcopy (H5T_IEEE_F64LE) : text_type (MAX (strlen (text), 1), FALSE);
    make (file, part, type >= 0 ? type : H5Tcopy (plain), space >= 0 ? space : H5Screate (H5S_SCALAR), value, 0,
          text != NULL ? text : "3");
    H5Tclose (plain);
  } else if (part->kind == VECTOR)
    make (file, part, type >= 0 ? type : H5Tcopy (H5T_IEEE_F64LE), space >= 0 ? space : line ((hsize_t)part->n[0]),
          odd & ODD_LAYOUT ? odd_number (bytes) : 0, value, "2");
  else if (part->kind == TEXTS)
    put_texts (file, part, type, space, text);
  else if (part->kind == MAP)
    put_map (file, part, odd & ODD_TYPE ? odd_type (bytes) : H5I_INVALID_HID, (odd & ODD_SHAPE) != 0, value, bytes);
  else if (framed)
    frames_put (file, part, odd, bytes);
  else {
    if (part->kind == LINK)
      put_external (file, part, odd, bytes);
    else
      put_group (file, part->path);
    if (type >= 0)
      H5Tclose (type);
    if (space >= 0)
      H5Sclose (space);
  }
}

void
part_put (hid_t file, const Part *part, guint odd, Bytes *bytes)
{
  if (odd & ODD_ABSENT)
    return;
  if (odd & ODD_LINK && (part->name == NULL || part->kind == LINK)) {
    put_link (file, part, bytes);
    return;
  }
  put_once (file, part, odd, bytes);
  if (odd & ODD_TWICE) { /* the same object under a further name of its group */
    g_autofree char *other = g_strconcat (part->path, "_2", NULL);
    H5Lcreate_hard (file, part->path, file, other, H5P_DEFAULT, H5P_DEFAULT);
  }
}
