/* Directories of a TIFF as ImageJ reads it, written by hand, little-endian and uncompressed: ImageJ takes the pages
 * of a stack to lie one behind the other without a gap, which libtiff cannot write, and nothing here may print on a
 * host's stderr. Labels and display ranges go into ImageJ's own two tags; other programs see ordinary float pages
 * with a resolution. */
#include "core/tiff.h"

#include <math.h>
#include <string.h>

#include "core/error.h"

enum { TIFF_BYTE = 1, TIFF_ASCII = 2, TIFF_SHORT = 3, TIFF_LONG = 4, TIFF_RATIONAL = 5 };
enum { TAG_IJ_COUNTS = 50838, TAG_IJ_DATA = 50839, MOST_HEAD = 1 << 24 };

static void
append_number (GString *text, const char *key, double value)
{
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];
  g_string_append_printf (text, "%s=%s\n", key, g_ascii_formatd (buffer, sizeof buffer, "%.9g", value));
}

static gboolean
calibrated (const SbArray *array)
{
  return isfinite (array->step[0]) && isfinite (array->step[1]) && array->step[0] > 0 && array->step[1] > 0
         && array->axis_unit[0][0] != '\0';
}

static char *
description (const SbTiffPage *pages, int n_pages, SbTiffKind kind)
{
  g_autoptr (GString) text = g_string_new ("ImageJ=1.53t\n");
  if (n_pages > 1 && kind == SB_TIFF_CHANNELS)
    g_string_append_printf (text, "images=%d\nchannels=%d\nhyperstack=true\nmode=grayscale\n", n_pages, n_pages);
  else if (n_pages > 1)
    g_string_append_printf (text, "images=%d\nslices=%d\nloop=false\n", n_pages, n_pages);
  if (calibrated (pages[0].array))
    g_string_append_printf (text, "unit=%s\n", pages[0].array->axis_unit[0]);
  append_number (text, "min", pages[0].low);
  append_number (text, "max", pages[0].high);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static void
append_u16 (GByteArray *bytes, guint value)
{
  guint16 little = GUINT16_TO_LE ((guint16)value);
  g_byte_array_append (bytes, (const guint8 *)&little, 2);
}

static void
append_u32 (GByteArray *bytes, guint32 value)
{
  guint32 little = GUINT32_TO_LE (value);
  g_byte_array_append (bytes, (const guint8 *)&little, 4);
}

/* ImageJ's metadata: "IJIJ", pairs (kind, count), then each item; texts in UTF-16. All in the file's byte
 * order. */
static GByteArray *
ij_metadata (const SbTiffPage *pages, int n_pages, SbTiffKind kind, GByteArray *counts)
{
  int n_ranges = kind == SB_TIFF_CHANNELS ? n_pages : 1;
  GByteArray *bytes = g_byte_array_new ();
  append_u32 (bytes, 0x494a494a);
  append_u32 (bytes, 0x6c61626c); /* labl */
  append_u32 (bytes, (guint32)n_pages);
  append_u32 (bytes, 0x72616e67); /* rang */
  append_u32 (bytes, 1);
  append_u32 (counts, bytes->len);
  for (int i = 0; i < n_pages; i++) {
    const SbArray *array = pages[i].array;
    g_autofree char *label = array->unit[0] != '\0' ? g_strdup_printf ("%s (%s)", array->title, array->unit)
                                                    : g_strdup (array->title);
    glong n = 0;
    g_autofree gunichar2 *wide = g_utf8_to_utf16 (label, -1, NULL, &n, NULL);
    for (glong k = 0; k < n; k++)
      append_u16 (bytes, wide[k]);
    append_u32 (counts, 2 * (guint32)n);
  }
  for (int i = 0; i < n_ranges; i++) {
    const double range[2] = { pages[i].low, pages[i].high };
    for (int k = 0; k < 2; k++) {
      guint64 bits;
      memcpy (&bits, &range[k], 8);
      bits = GUINT64_TO_LE (bits);
      g_byte_array_append (bytes, (const guint8 *)&bits, 8);
    }
  }
  append_u32 (counts, 16 * (guint32)n_ranges);
  return bytes;
}

/* A directory being built: what does not fit an entry's four bytes goes to the head at once, the entries
 * behind it. */
typedef struct Directory {
  GByteArray *head, *entries;
} Directory;

/* Tags in ascending order. */
static void
put_bytes (Directory *directory, guint tag, guint type, guint32 count, const GByteArray *value)
{
  append_u16 (directory->entries, tag);
  append_u16 (directory->entries, type);
  append_u32 (directory->entries, count);
  if (value->len <= 4) {
    const guint8 padded[4] = { 0 };
    g_byte_array_append (directory->entries, value->data, value->len);
    g_byte_array_append (directory->entries, padded, 4 - value->len);
  } else {
    append_u32 (directory->entries, directory->head->len);
    g_byte_array_append (directory->head, value->data, value->len);
    if (value->len % 2 != 0)
      g_byte_array_append (directory->head, (const guint8 *)"", 1);
  }
}

static void
put_number (Directory *directory, guint tag, guint type, guint32 number)
{
  g_autoptr (GByteArray) value = g_byte_array_new ();
  if (type == TIFF_SHORT)
    append_u16 (value, number);
  else
    append_u32 (value, number);
  put_bytes (directory, tag, type, 1, value);
}

static void
put_text (Directory *directory, guint tag, const char *text)
{
  g_autoptr (GByteArray) value = g_byte_array_new ();
  g_byte_array_append (value, (const guint8 *)text, (guint)strlen (text) + 1);
  put_bytes (directory, tag, TIFF_ASCII, value->len, value);
}

/* x > 0 as a fraction of nine digits, reduced. */
static void
put_rational (Directory *directory, guint tag, double x)
{
  g_autoptr (GByteArray) value = g_byte_array_new ();
  double scale = 1;
  while (x * scale < 4e8 && scale < 1e9)
    scale *= 10;
  guint64 top = (guint64)CLAMP (rint (x * scale), 1, 4294967295.0), bottom = (guint64)scale, a = top, b = bottom;
  while (b != 0) {
    guint64 rest = a % b;
    a = b;
    b = rest;
  }
  append_u32 (value, (guint32)(top / a));
  append_u32 (value, (guint32)(bottom / a));
  put_bytes (directory, tag, TIFF_RATIONAL, 1, value);
}

static void
put_imagej (Directory *directory, const SbTiffPage *pages, int n_pages, SbTiffKind kind)
{
  g_autoptr (GByteArray) counts = g_byte_array_new ();
  g_autoptr (GByteArray) metadata = ij_metadata (pages, n_pages, kind, counts);
  put_bytes (directory, TAG_IJ_COUNTS, TIFF_LONG, counts->len / 4, counts);
  put_bytes (directory, TAG_IJ_DATA, TIFF_BYTE, metadata->len, metadata);
}

static void
put_tags (Directory *directory, const SbTiffPage *pages, int n_pages, int page, SbTiffKind kind, guint32 offset)
{
  const SbArray *array = pages[page].array;
  put_number (directory, 256, TIFF_LONG, (guint32)array->shape[1]); /* width */
  put_number (directory, 257, TIFF_LONG, (guint32)array->shape[0]); /* height */
  put_number (directory, 258, TIFF_SHORT, 32);                      /* bits a sample */
  put_number (directory, 259, TIFF_SHORT, 1);                       /* no compression */
  put_number (directory, 262, TIFF_SHORT, 1);                       /* black is low */
  if (page == 0) {
    g_autofree char *text = description (pages, n_pages, kind);
    put_text (directory, 270, text);
  }
  put_number (directory, 273, TIFF_LONG, offset);                   /* one strip */
  put_number (directory, 277, TIFF_SHORT, 1);                       /* samples a pixel */
  put_number (directory, 278, TIFF_LONG, (guint32)array->shape[0]); /* rows of the strip */
  put_number (directory, 279, TIFF_LONG, 4 * (guint32)array_size (array));
  if (calibrated (array)) {
    put_rational (directory, 282, 1 / array->step[1]); /* samples a unit, x */
    put_rational (directory, 283, 1 / array->step[0]); /* y */
    put_number (directory, 296, TIFF_SHORT, 1);        /* not of inches */
  }
  put_text (directory, TAG_SOFTWARE, "sideband " SB_VERSION);
  put_number (directory, 339, TIFF_SHORT, 3); /* floats */
  if (page == 0)
    put_imagej (directory, pages, n_pages, kind);
}

/* Everything but the samples, which begin at first. */
static GByteArray *
make_head (const SbTiffPage *pages, int n_pages, SbTiffKind kind, guint32 first)
{
  GByteArray *head = g_byte_array_new ();
  gsize link = 4; /* where the place of the next directory is written */
  gint64 bytes = (gint64)sizeof (float) * array_size (pages[0].array);
  /* Where 32 bits cannot say a page's place ImageJ and tifffile count on from the first one. */
  int n_directories = n_pages <= (G_MAXUINT32 - MOST_HEAD) / bytes ? n_pages : 1;
  g_byte_array_append (head, (const guint8 *)"II*\0\0\0\0", 8);
  for (int i = 0; i < n_directories; i++) {
    g_autoptr (GByteArray) entries = g_byte_array_new ();
    Directory directory = { head, entries };
    put_tags (&directory, pages, n_pages, i, kind, (guint32)(first + i * bytes));
    guint32 at = GUINT32_TO_LE (head->len);
    memcpy (head->data + link, &at, 4);
    append_u16 (head, entries->len / 12);
    g_byte_array_append (head, entries->data, entries->len);
    link = head->len;
    append_u32 (head, 0);
  }
  return head;
}

GByteArray *
tiff_head (const SbTiffPage *pages, int n_pages, SbTiffKind kind)
{
  g_autoptr (GByteArray) sized = make_head (pages, n_pages, kind, 0);
  return make_head (pages, n_pages, kind, sized->len);
}

gboolean
tiff_append (int file, const SbArray *array, GError **error)
{
#if G_BYTE_ORDER == G_BIG_ENDIAN
  gsize n = (gsize)array_size (array);
  g_autofree guint32 *swapped = g_try_new (guint32, n);
  if (swapped == NULL)
    return sb_fail (error, SB_ERROR_MEMORY, "no memory for its samples; close other programs");
  memcpy (swapped, array->data, 4 * n);
  for (gsize i = 0; i < n; i++)
    swapped[i] = GUINT32_TO_LE (swapped[i]);
  return save_append (file, swapped, 4 * n, error);
#else
  return save_append (file, array->data, 4 * (gsize)array_size (array), error);
#endif
}
