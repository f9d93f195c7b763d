/* The table as CSV and as one compound dataset of HDF5. */
#include <math.h>
#include <string.h>

#include "core/batch/inside.h"
#include "core/error.h"
#include "core/h5image.h"
#include "core/seal.h"

static json_t *
columns_of (const SbResult *result)
{
  return json_object_get (json_object_get (result->info, "table"), "columns");
}

static json_t *
rows_of (const SbResult *result)
{
  return json_object_get (json_object_get (result->info, "table"), "rows");
}

static gboolean
applies (const SbResult *result)
{
  return json_is_array (columns_of (result)) && json_is_array (rows_of (result));
}

/* ---- CSV ---- */

static void
append_cell (GString *text, const json_t *cell)
{
  const char *string = json_string_value (cell);
  if (json_is_null (cell))
    return;
  if (string == NULL) {
    g_autofree char *number = json_text (cell, FALSE);
    g_string_append (text, number != NULL ? number : "");
  } else if (strpbrk (string, ",\"\n\r") == NULL) {
    g_string_append (text, string);
  } else {
    g_auto (GStrv) parts = g_strsplit (string, "\"", -1);
    g_autofree char *doubled = g_strjoinv ("\"\"", parts);
    g_string_append_printf (text, "\"%s\"", doubled);
  }
}

static gboolean
write_csv (const SbResult *result, const char *path, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  size_t i, j;
  json_t *column, *row, *cell;
  json_array_foreach (columns_of (result), i, column)
    g_string_append_printf (text, "%s%s", i > 0 ? "," : "", json_string_value (json_object_get (column, "name")));
  json_array_foreach (rows_of (result), i, row) {
    json_array_foreach (row, j, cell) {
      g_string_append_c (text, j > 0 ? ',' : '\n');
      append_cell (text, cell);
    }
  }
  g_string_append_c (text, '\n');
  return save_bytes (path, text->str, text->len, error);
}

static gboolean
csv_is_ours (const char *path)
{
  static const char head[] = "name,status,agreement,";
  char begin[sizeof head] = "";
  FILE *file = fopen (path, "rbe");
  gboolean found = file != NULL && fread (begin, 1, sizeof head - 1, file) == sizeof head - 1 && strcmp (begin, head) == 0;
  if (file != NULL)
    fclose (file);
  return found;
}

/* ---- HDF5 ---- */

/* A column as a member of the compound: texts of the longest one's length, whole numbers, or numbers (NaN: none). */
typedef struct Member {
  gsize size, offset;
  gboolean text, whole;
} Member;

static Member
member_of (const SbResult *result, gsize column, gsize offset)
{
  Member member = { .size = 8, .offset = offset, .whole = TRUE };
  gsize longest = 0, i;
  json_t *row;
  json_array_foreach (rows_of (result), i, row) {
    const json_t *cell = json_array_get (row, column);
    member.text = member.text || json_is_string (cell);
    member.whole = member.whole && (json_is_integer (cell) || json_is_boolean (cell));
    longest = MAX (longest, json_string_length (cell));
  }
  if (member.text)
    member.size = longest + 1;
  return member;
}

static hid_t
member_type (const Member *member)
{
  hid_t type = H5Tcopy (member->text ? H5T_C_S1 : member->whole ? H5T_STD_I64LE : H5T_IEEE_F64LE);
  if (member->text) {
    H5Tset_size (type, member->size);
    H5Tset_cset (type, H5T_CSET_UTF8);
  }
  return type;
}

static hid_t
row_type (const SbResult *result, const Member *members, gsize n, gsize size)
{
  hid_t type = H5Tcreate (H5T_COMPOUND, size);
  for (gsize c = 0; c < n; c++) {
    hid_t field = member_type (&members[c]);
    H5Tinsert (type, json_string_value (json_object_get (json_array_get (columns_of (result), c), "name")), members[c].offset,
               field);
    H5Tclose (field);
  }
  return type;
}

static void
fill_cell (char *to, const Member *member, const json_t *cell)
{
  if (member->text) {
    memcpy (to, json_is_string (cell) ? json_string_value (cell) : "", json_string_length (cell));
  } else if (member->whole) {
    gint64 value = GINT64_TO_LE (json_is_true (cell) ? 1 : json_integer_value (cell));
    memcpy (to, &value, 8);
  } else {
    double value = json_is_number (cell) ? json_number_value (cell) : json_is_boolean (cell) ? json_is_true (cell) : NAN;
    guint64 bits;
    memcpy (&bits, &value, 8);
    bits = GUINT64_TO_LE (bits);
    memcpy (to, &bits, 8);
  }
}

/* Creates a dataset without times in it. */
static gboolean
put_dataset (hid_t file, const char *name, hid_t type, hid_t space, gconstpointer data)
{
  hid_t how = H5Pcreate (H5P_DATASET_CREATE);
  H5Pset_obj_track_times (how, FALSE);
  hid_t dataset = H5Dcreate2 (file, name, type, space, H5P_DEFAULT, how, H5P_DEFAULT);
  gboolean good = dataset >= 0 && H5Dwrite (dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
  if (dataset >= 0)
    H5Dclose (dataset);
  H5Pclose (how);
  return good;
}

static gboolean
put_table (hid_t file, const SbResult *result)
{
  gsize n = json_array_size (columns_of (result)), n_rows = json_array_size (rows_of (result)), size = 0;
  g_autofree Member *members = g_new0 (Member, n);
  for (gsize c = 0; c < n; c++) {
    members[c] = member_of (result, c, size);
    size += members[c].size;
  }
  g_autofree char *rows = g_try_malloc0 (MAX (n_rows, 1) * size);
  if (rows == NULL)
    return FALSE;
  for (gsize r = 0; r < n_rows; r++)
    for (gsize c = 0; c < n; c++)
      fill_cell (rows + r * size + members[c].offset, &members[c], json_array_get (json_array_get (rows_of (result), r), c));
  hsize_t dims = n_rows;
  hid_t type = row_type (result, members, n, size), space = H5Screate_simple (1, &dims, NULL);
  gboolean good = put_dataset (file, "table", type, space, rows);
  H5Sclose (space);
  H5Tclose (type);
  return good;
}

static hid_t
text_type (const char *text)
{
  hid_t type = H5Tcopy (H5T_C_S1);
  H5Tset_size (type, strlen (text) + 1);
  H5Tset_cset (type, H5T_CSET_UTF8);
  return type;
}

static gboolean
put_text (hid_t file, const char *name, const char *text, gboolean attribute)
{
  hid_t type = text_type (text), space = H5Screate (H5S_SCALAR);
  gboolean good;
  if (attribute) {
    hid_t at = H5Acreate2 (file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    good = at >= 0 && H5Awrite (at, type, text) >= 0;
    if (at >= 0)
      H5Aclose (at);
  } else {
    good = put_dataset (file, name, type, space, text);
  }
  H5Sclose (space);
  H5Tclose (type);
  return good;
}

/* As our results: `sideband show` prints it. */
static gboolean
put_all (hid_t file, const SbResult *result)
{
  g_autofree char *info = json_text (result->info, FALSE), *columns = json_text (columns_of (result), FALSE);
  return info != NULL && columns != NULL && put_table (file, result) && put_text (file, "info", info, FALSE)
         && put_text (file, "columns", columns, FALSE) && put_text (file, "sideband_version", SB_VERSION, TRUE)
         && put_text (file, "kind", "table", TRUE) && put_text (file, "arrays", "", TRUE);
}

static gboolean
write_hdf5 (const SbResult *result, const char *path, GError **error)
{
  return h5image_save (path, put_all, result, error);
}

static const SbWriter hdf5 = { "table_hdf5", "_table.h5", applies, write_hdf5, seal_exists };
static const SbWriter csv = { "table_csv", "_table.csv", applies, write_csv, csv_is_ours };
const SbWriter *const table_writers[] = { &hdf5, &csv, NULL };
