/* Nion .ndata and NumPy .npz: ZIP files written here, with sizes of 32 and of 64 bits. */
#include "core/optics.h"
#include "tests/unit/format_bytes.h"

enum { ROWS = 4, COLS = 5, PIXELS = ROWS * COLS, MOST = 65535 };

typedef struct Entry {
  const char *name;
  GByteArray *content;
  int method; /* 0: stored */
} Entry;

static GByteArray *
array (const char *shape)
{
  GByteArray *to = g_byte_array_new ();
  g_autofree char *header = g_strdup_printf ("{'descr': '<u2', 'fortran_order': False, 'shape': %s, }\n", shape);
  put_bytes (to, "\x93NUMPY\x01\x00", 8);
  put_int (to, strlen (header), 2, FALSE);
  put_text (to, header);
  for (int f = 0; f < 6; f++)
    for (int i = 0; i < PIXELS; i++)
      put_int (to, known (f, i, MOST), 2, FALSE);
  return to;
}

static GByteArray *
text (const char *content)
{
  GByteArray *to = g_byte_array_new ();
  put_text (to, content);
  return to;
}

/* What local header and directory have in common: from the version that is needed on. */
static void
put_entry (GByteArray *to, const Entry *entry, gboolean is_64, gsize extra)
{
  put_int (to, is_64 ? 45 : 20, 2, FALSE);
  put_int (to, 0, 2, FALSE);
  put_int (to, (guint64)entry->method, 2, FALSE);
  put_zeros (to, 4 + 4); /* time, checksum */
  for (int i = 0; i < 2; i++)
    put_int (to, is_64 ? G_MAXUINT32 : entry->content->len, 4, FALSE);
  put_int (to, strlen (entry->name), 2, FALSE);
  put_int (to, extra, 2, FALSE);
}

static void
put_sizes_64 (GByteArray *to, const Entry *entry)
{
  for (int i = 0; i < 2; i++)
    put_int (to, entry->content->len, 8, FALSE);
}

static GByteArray *
make_zip (const Entry *entries, int n, gboolean is_64, const char *comment)
{
  GByteArray *to = g_byte_array_new ();
  guint64 offset[8], directory, end;
  for (int i = 0; i < n; i++) {
    offset[i] = to->len;
    put_text (to, "PK\3\4");
    put_entry (to, &entries[i], is_64, is_64 ? 20 : 3);
    put_text (to, entries[i].name);
    put_int (to, is_64 ? 1 : 0, is_64 ? 2 : 3, FALSE);
    if (is_64) {
      put_int (to, 16, 2, FALSE);
      put_sizes_64 (to, &entries[i]);
    }
    put_bytes (to, entries[i].content->data, entries[i].content->len);
  }
  directory = to->len;
  for (int i = 0; i < n; i++) {
    put_text (to, "PK\1\2");
    put_int (to, 45, 2, FALSE);
    put_entry (to, &entries[i], is_64, is_64 ? 28 : 0);
    put_zeros (to, 10); /* comment, disk, attributes */
    put_int (to, is_64 ? G_MAXUINT32 : offset[i], 4, FALSE);
    put_text (to, entries[i].name);
    if (is_64) {
      put_int (to, 1, 2, FALSE);
      put_int (to, 24, 2, FALSE);
      put_sizes_64 (to, &entries[i]);
      put_int (to, offset[i], 8, FALSE);
    }
    g_byte_array_unref (entries[i].content);
  }
  end = to->len;
  if (is_64) {
    put_text (to, "PK\6\6");
    put_int (to, 44, 8, FALSE);
    put_zeros (to, 12);
    put_int (to, (guint64)n, 8, FALSE);
    put_int (to, (guint64)n, 8, FALSE);
    put_int (to, end - directory, 8, FALSE);
    put_int (to, directory, 8, FALSE);
    put_text (to, "PK\6\7");
    put_zeros (to, 4);
    put_int (to, end, 8, FALSE);
    put_int (to, 1, 4, FALSE);
  }
  put_text (to, "PK\5\6");
  put_zeros (to, 4);
  put_int (to, (guint64)n, 2, FALSE);
  put_int (to, (guint64)n, 2, FALSE);
  put_int (to, is_64 ? G_MAXUINT32 : end - directory, 4, FALSE);
  put_int (to, is_64 ? G_MAXUINT32 : directory, 4, FALSE);
  put_int (to, strlen (comment), 2, FALSE);
  put_text (to, comment);
  return to;
}

static GByteArray *
make_ndata (const char *json, gboolean is_64)
{
  const Entry entries[] = { { "data.npy", array ("(2, 3, 4, 5)"), 0 }, { "metadata.json", text (json), 0 } };
  return make_zip (entries, 2, is_64, "");
}

static void
test_frames (void)
{
  char *folder = new_folder ();
  for (int is_64 = 0; is_64 < 2; is_64++) {
    g_autoptr (GByteArray) bytes = make_ndata ("{}", is_64);
    g_autofree char *path = save_bytes (folder, "x.ndata", bytes);
    SbAcquisition *a = open_good (path, NULL);
    g_assert_cmpstr (a->format->name, ==, "ndata");
    g_assert_cmpint (a->scan_rows, ==, 2);
    g_assert_cmpint (a->scan_cols, ==, 3);
    g_assert_cmpint (a->header.detector_cols, ==, COLS);
    g_assert_true (isnan (a->header.sampling));
    assert_known (a, 0, 6, 0, MOST);
    assert_known (a, 4, 2, 0, MOST);
    acquisition_free (a);
  }
  drop_folder (folder);
}

static void
test_npz (void)
{
  char *folder = new_folder ();
  const Entry entries[] = { { "frames.npy", array ("(6, 4, 5)"), 0 }, { "note.txt", text ("PK\5\6, not the end"), 0 } };
  g_autoptr (GByteArray) bytes = make_zip (entries, 2, FALSE, "made by a test");
  g_autofree char *path = save_bytes (folder, "x.npz", bytes);
  SbAcquisitionOptions options = scan_of (2, 3);
  SbAcquisition *a = open_good (path, &options);
  assert_known (a, 0, 6, 0, MOST);
  acquisition_free (a);
  const Entry packed[] = { { "frames.npy", array ("(6, 4, 5)"), 8 } };
  g_autoptr (GByteArray) other = make_zip (packed, 1, FALSE, "");
  g_free (save_bytes (folder, "x.npz", other));
  assert_refused (path, &options, SB_ERROR_DATA, "frames.npy compressed", "numpy.savez", NULL);
  const Entry nothing[] = { { "note.txt", text ("a"), 0 } };
  g_autoptr (GByteArray) third = make_zip (nothing, 1, FALSE, "");
  g_free (save_bytes (folder, "x.npz", third));
  assert_refused (path, &options, SB_ERROR_DATA, "without an array", NULL);
  drop_folder (folder);
}

/* py4DSTEM PR#410, #333, #338: the same calibration in other units. */
static void
test_calibration (void)
{
  double mrad = 0.02 * optics_wavelength (60) * 1e3;
  const struct {
    const char *units;
    double scale, sampling;
  } cases[] = { { "rad", mrad / 1e3, mrad },  { "mrad", mrad, mrad }, { "1/nm", 0.2, mrad }, { "", 0.2, NAN },
                { "rad", -mrad / 1e3, mrad }, { "rad", 0, NAN } };
  char *folder = new_folder ();
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    char scale[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_dtostr (scale, sizeof scale, cases[i].scale);
    g_autofree char *json = g_strdup_printf ("{\"dimensional_calibrations\": [{\"offset\": 0.0, \"scale\": 0.025, \"units\": "
                                             "\"nm\"}, {\"offset\": 0, \"scale\": "
                                             "0.05, \"units\": \"nm\"}, {\"scale\": %s, \"units\": \"%s\"}, {\"scale\": %s, "
                                             "\"units\": \"%s\"}], \"metadata\": "
                                             "{\"instrument\": {\"high_tension\": 60000, \"ImageScanned\": {\"C10\": 1e-8}}}}",
                                             scale, cases[i].units, scale, cases[i].units);
    g_autoptr (GByteArray) bytes = make_ndata (json, FALSE);
    g_autofree char *path = save_bytes (folder, "x.ndata", bytes);
    SbAcquisition *a = open_good (path, NULL);
    g_assert_cmpfloat (a->header.energy, ==, 60);
    g_assert_cmpfloat (fabs (a->header.step[0] - 0.25), <, 1e-12);
    g_assert_cmpfloat (fabs (a->header.step[1] - 0.5), <, 1e-12);
    double sampling = isnan (a->header.sampling) ? a->header.reciprocal * optics_wavelength (60) * 1e3 : a->header.sampling;
    g_assert_true (isnan (cases[i].sampling) ? isnan (sampling) : fabs (sampling / cases[i].sampling - 1) < 1e-9);
    acquisition_free (a);
  }
  static const char *const odd[] = { "",
                                     "[]",
                                     "{\"dimensional_calibrations\": 3}",
                                     "{\"metadata\": []}",
                                     "{\"a\": 1e999}",
                                     "{\"dimensional_calibrations\": [1, null, {}, {\"scale\": \"x\", \"units\": 4}]}",
                                     "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[" };
  for (guint i = 0; i < G_N_ELEMENTS (odd); i++) {
    g_autoptr (GByteArray) bytes = make_ndata (odd[i], FALSE);
    g_autofree char *path = save_bytes (folder, "x.ndata", bytes);
    SbAcquisition *a = open_good (path, NULL);
    g_assert_true (isnan (a->header.sampling) && isnan (a->header.energy));
    assert_known (a, 0, 6, 0, MOST);
    acquisition_free (a);
  }
  drop_folder (folder);
}

/* A ZIP file's directory stands at its end; without it the frames that are there are still found. */
static void
test_cuts (void)
{
  char *folder = new_folder ();
  for (int is_64 = 0; is_64 < 2; is_64++) {
    g_autoptr (GByteArray) bytes = make_ndata ("{}", is_64);
    g_autofree char *path = save_bytes (folder, "x.ndata", bytes);
    try_cuts (path, bytes, 8, 2, 3, MOST);
    write_file (path, bytes->data, 200);
    assert_refused (path, NULL, SB_ERROR_IO, "truncated", "of 6 frames", NULL);
    write_file (path, bytes->data, bytes->len - 30);
    SbAcquisition *a = open_good (path, NULL);
    assert_warned (a, "The end of");
    acquisition_free (a);
    for (guint at = bytes->len - 200; at < bytes->len; at++) { /* any byte of the directory wrong */
      g_autoptr (GError) error = NULL;
      guint8 was = bytes->data[at];
      bytes->data[at] = (guint8)(was ^ 0xff);
      g_free (save_bytes (folder, "x.ndata", bytes));
      bytes->data[at] = was;
      a = acquisition_open (path, NULL, &error);
      g_assert_true ((a == NULL) == (error != NULL));
      if (a != NULL)
        acquisition_free (a);
    }
  }
  drop_folder (folder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/formats/ndata/frames", test_frames);
  g_test_add_func ("/formats/ndata/npz", test_npz);
  g_test_add_func ("/formats/ndata/calibration", test_calibration);
  g_test_add_func ("/formats/ndata/cuts", test_cuts);
  return g_test_run ();
}
