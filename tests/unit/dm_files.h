/* DigitalMicrograph files written tag by tag, versions 3 and 4, either byte order. */
#ifndef SB_TESTS_UNIT_DM_FILES_H
#define SB_TESTS_UNIT_DM_FILES_H

#include "tests/unit/format_bytes.h"

/* A group under construction; tags are added to bytes, counted in n. */
typedef struct Group {
  GByteArray *bytes;
  guint n;
  int version;
  gboolean big; /* byte order of the values */
} Group;

static inline Group *
new_group (int version, gboolean big)
{
  Group *group = g_new0 (Group, 1);
  group->bytes = g_byte_array_new ();
  group->version = version;
  group->big = big;
  return group;
}

static inline void
put_length (GByteArray *to, int version, guint64 length)
{
  put_int (to, length, version == 4 ? 8 : 4, TRUE);
}

/* Kind, label and (version 4) the size of the body. */
static inline void
put_tag (Group *to, int kind, const char *label, GByteArray *body)
{
  put_int (to->bytes, (guint64)kind, 1, TRUE);
  put_int (to->bytes, strlen (label), 2, TRUE);
  put_text (to->bytes, label);
  if (to->version == 4)
    put_int (to->bytes, body->len, 8, TRUE);
  put_bytes (to->bytes, body->data, body->len);
  g_byte_array_unref (body);
  to->n++;
}

static inline GByteArray *
group_body (Group *group)
{
  GByteArray *body = g_byte_array_new ();
  put_int (body, 0x0100, 2, TRUE); /* sorted, closed */
  put_length (body, group->version, group->n);
  put_bytes (body, group->bytes->data, group->bytes->len);
  g_byte_array_unref (group->bytes);
  g_free (group);
  return body;
}

static inline void
put_group (Group *to, const char *label, Group *group)
{
  put_tag (to, 20, label, group_body (group));
}

static inline GByteArray *
value_body (const Group *to, int n_info, const guint64 *info)
{
  GByteArray *body = g_byte_array_new ();
  put_text (body, "%%%%");
  put_length (body, to->version, (guint64)n_info);
  for (int i = 0; i < n_info; i++)
    put_length (body, to->version, info[i]);
  return body;
}

static inline void
put_number (Group *to, const char *label, int type, double value)
{
  const guint64 info[] = { (guint64)type };
  GByteArray *body = value_body (to, 1, info);
  if (type == 6)
    put_f32 (body, (float)value, to->big);
  else if (type == 7)
    put_f64 (body, value, to->big);
  else
    put_int (body, (guint64)(gint64)value, type == 8 ? 1 : type == 11 ? 8 : 4, to->big);
  put_tag (to, 21, label, body);
}

static inline void
put_array (Group *to, const char *label, int type, const GByteArray *values, gsize count)
{
  const guint64 info[] = { 20, (guint64)type, count };
  GByteArray *body = value_body (to, 3, info);
  put_bytes (body, values->data, values->len);
  put_tag (to, 21, label, body);
}

static inline void
put_units (Group *to, const char *text)
{
  g_autoptr (GByteArray) wide = g_byte_array_new ();
  g_autofree gunichar2 *units = g_utf8_to_utf16 (text, -1, NULL, NULL, NULL);
  gsize n = 0;
  for (; units[n] != 0; n++)
    put_int (wide, units[n], 2, to->big);
  put_array (to, "Units", 4, wide, n);
}

/* Tags of other kinds that stand about in such files. */
static inline void
put_others (Group *to)
{
  const guint64 point[] = { 15, 0, 2, 0, 6, 0, 6 }, structs[] = { 20, 15, 0, 2, 0, 3, 0, 3, 2 };
  GByteArray *body = value_body (to, 7, point);
  put_zeros (body, 8);
  put_tag (to, 21, "Point", body);
  body = value_body (to, 9, structs);
  put_zeros (body, 16);
  put_tag (to, 21, "CLUT", body);
  const guint64 text[] = { 18, 3 };
  body = value_body (to, 2, text);
  put_zeros (body, 6);
  put_tag (to, 21, "Name", body);
}

typedef struct Dm {
  int version;
  gboolean big;
  int data_type, array_type, bytes; /* of DM; as the array is encoded */
  int rank, size[4];                /* fastest first */
  const char *units[4];
  double scale[4];
  int swapped; /* the tag "Data Order Swapped"; -1: absent */
  double volts;
  guint32 most;
} Dm;

/* The frame and pixel that stand at index of an array whose first two axes are the detector's, or the scan's.
 */
static inline guint32
value_at (const Dm *dm, gboolean scan_first, gint64 index)
{
  gint64 inner = (gint64)dm->size[0] * dm->size[1], a = index / inner, b = index % inner;
  return scan_first ? known (b, a, dm->most) : known (a, b, dm->most);
}

static inline Group *
make_image (const Dm *dm, gboolean scan_first)
{
  Group *data = new_group (dm->version, dm->big), *calibrations = new_group (dm->version, dm->big),
        *dimension = new_group (dm->version, dm->big), *dimensions = new_group (dm->version, dm->big),
        *tags = new_group (dm->version, dm->big), *image = new_group (dm->version, dm->big);
  g_autoptr (GByteArray) values = g_byte_array_new ();
  gint64 n = 1;
  for (int i = 0; i < dm->rank; i++) {
    Group *axis = new_group (dm->version, dm->big);
    n *= dm->size[i];
    put_number (axis, "Origin", 6, 0);
    put_number (axis, "Scale", 6, dm->scale[i]);
    put_units (axis, dm->units[i] != NULL ? dm->units[i] : "");
    put_group (dimension, "", axis);
    put_number (dimensions, "", 5, dm->size[i]);
  }
  for (gint64 i = 0; i < n; i++) {
    guint32 x = value_at (dm, scan_first, i);
    if (dm->data_type == 2)
      put_f32 (values, (float)x, dm->big);
    else if (dm->data_type == 12)
      put_f64 (values, x, dm->big);
    else
      put_int (values, x, (gsize)dm->bytes, dm->big);
  }
  put_group (calibrations, "Dimension", dimension);
  put_group (data, "Calibrations", calibrations);
  put_array (data, "Data", dm->array_type, values, (gsize)n);
  put_number (data, "DataType", 5, dm->data_type);
  put_group (data, "Dimensions", dimensions);
  put_number (data, "PixelDepth", 5, dm->bytes);
  if (dm->swapped >= 0) {
    Group *meta = new_group (dm->version, dm->big);
    put_number (meta, "Data Order Swapped", 8, dm->swapped);
    put_group (tags, "Meta Data", meta);
  }
  if (dm->volts > 0) {
    Group *microscope = new_group (dm->version, dm->big);
    put_number (microscope, "Voltage", 6, dm->volts);
    put_group (tags, "Microscope Info", microscope);
  }
  put_group (image, "ImageData", data);
  put_group (image, "ImageTags", tags);
  return image;
}

static inline GByteArray *
make_dm (const Dm *dm, gboolean scan_first)
{
  static const Dm thumbnail = {
    .data_type = 23, .array_type = 5, .bytes = 4, .rank = 2, .size = { 3, 2, 1, 1 }, .swapped = -1, .most = 9
  };
  Dm small = thumbnail;
  small.version = dm->version;
  small.big = dm->big;
  Group *root = new_group (dm->version, dm->big), *list = new_group (dm->version, dm->big);
  put_group (list, "", make_image (&small, FALSE));
  put_group (list, "", make_image (dm, scan_first));
  put_others (root);
  put_group (root, "ImageList", list);
  put_number (root, "InImageMode", 8, 1);
  GByteArray *to = g_byte_array_new (), *body = group_body (root);
  put_int (to, (guint64)dm->version, 4, TRUE);
  put_length (to, dm->version, body->len);
  put_int (to, dm->big ? 0 : 1, 4, TRUE);
  put_bytes (to, body->data, body->len);
  g_byte_array_unref (body);
  put_zeros (to, 8);
  return to;
}

static inline char *
save_dm (const char *folder, const Dm *dm, gboolean scan_first)
{
  g_autoptr (GByteArray) bytes = make_dm (dm, scan_first);
  return save_bytes (folder, "x.dm4", bytes);
}

#endif
