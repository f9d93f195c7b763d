/* .npy and raw files, the rules of the scan shape, and the acquisition that a host pushes. */
#include "tests/unit/frames.h"

enum { ROWS = 4, COLS = 3, SIZE = ROWS * COLS };

static double
value_at (gsize i)
{
  return (double)(i * 7 % 120);
}

static void
put_value (GByteArray *to, double x, const char *type)
{
  union {
    guint8 b[8];
    gint8 i1;
    guint8 u1;
    gint16 i2;
    guint16 u2;
    gint32 i4;
    guint32 u4;
    float f4;
    double f8;
  } v = { { 0 } };
  gsize size = (gsize)(type[2] - '0');
  if (type[1] == 'f')
    size == 4 ? (void)(v.f4 = (float)x) : (void)(v.f8 = x);
  else if (type[1] == 'i')
    size == 1 ? (void)(v.i1 = (gint8)x) : size == 2 ? (void)(v.i2 = (gint16)x) : (void)(v.i4 = (gint32)x);
  else
    size == 1 ? (void)(v.u1 = (guint8)x) : size == 2 ? (void)(v.u2 = (guint16)x) : (void)(v.u4 = (guint32)x);
  for (gsize i = 0; i < size; i++)
    g_byte_array_append (to, &v.b[type[0] == '>' ? size - 1 - i : i], 1);
}

/* A .npy file: header text as given, n values of type. */
static GByteArray *
make_npy (int version, const char *header, gsize n, const char *type)
{
  GByteArray *to = g_byte_array_new ();
  gsize length = strlen (header);
  const guint8 start[12] = { 0x93, 'N', 'U', 'M', 'P', 'Y', (guint8)version, 0, (guint8)length, (guint8)(length >> 8), 0, 0 };
  g_byte_array_append (to, start, version == 1 ? 10 : 12);
  g_byte_array_append (to, (const guint8 *)header, (guint)length);
  for (gsize i = 0; i < n; i++)
    put_value (to, value_at (i), type);
  return to;
}

/* Writes it as x.npy (or another name) into folder. */
static char *
put_bytes (const char *folder, const char *name, GByteArray *bytes)
{
  char *path = g_build_filename (folder, name, NULL);
  write_file (path, bytes->data, bytes->len);
  g_byte_array_unref (bytes);
  return path;
}

static void
assert_values (const SbAcquisition *a, gint64 frames)
{
  for (gint64 first = 0; first < frames; first += 2) {
    g_autoptr (GError) error = NULL;
    g_autofree gpointer got = read_frames (a, first, frames - first, &error);
    g_assert_no_error (error);
    for (gsize i = 0; i < (gsize)(frames - first) * SIZE; i++)
      g_assert_cmpfloat (number_at (got, a->header.dtype, i), ==, value_at ((gsize)first * SIZE + i));
  }
}

static void
test_npy_types (void)
{
  static const struct {
    const char *type;
    SbDtype dtype;
  } types[] = {
    { "|u1", SB_U8 },  { "|i1", SB_I16 }, { "<u2", SB_U16 }, { ">u2", SB_U16 }, { "<i2", SB_I16 },
    { ">i2", SB_I16 }, { "<u4", SB_U32 }, { ">u4", SB_U32 }, { "<i4", SB_I32 }, { ">i4", SB_I32 },
    { "<f4", SB_F32 }, { ">f4", SB_F32 }, { "<f8", SB_F64 }, { ">f8", SB_F64 },
  };
  char *folder = new_folder ();
  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    for (int version = 1; version <= 3; version++) {
      g_autofree char *four = g_strdup_printf ("{'descr': '%s', 'fortran_order': False, 'shape': (2, 3, 4, 3), }   \n",
                                               types[i].type);
      g_autofree char *three = g_strdup_printf ("{\"shape\":(9,4,3),\"fortran_order\":False,\"descr\":\"%s\"}\n",
                                                types[i].type);
      g_autofree char *path = put_bytes (folder, "x.npy", make_npy (version, four, 6 * SIZE, types[i].type));
      SbAcquisition *a = open_good (path, NULL);
      g_assert_cmpint (a->header.dtype, ==, types[i].dtype);
      g_assert_cmpint (a->scan_rows, ==, 2);
      g_assert_cmpint (a->scan_cols, ==, 3);
      assert_values (a, 6);
      acquisition_free (a);
      g_free (put_bytes (folder, "x.npy", make_npy (version, three, 9 * SIZE, types[i].type)));
      a = open_good (path, NULL);
      g_assert_cmpint (a->scan_rows, ==, 3); /* the square root of 9 */
      assert_values (a, 9);
      acquisition_free (a);
    }
  drop_folder (folder);
}

static void
test_npy_refused (void)
{
  static const struct {
    const char *header, *says;
  } cases[] = {
    { "{'descr': '<u2', 'fortran_order': True, 'shape': (2, 3, 4, 3), }", "Fortran order" },
    { "{'descr': '<u2', 'fortran_order': False, 'shape': (12, 12), }", "3-D" },
    { "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3, 4, 3, 1), }", "3-D" },
    { "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3, 4, -3), }", "3-D" },
    { "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3, 4, 3", "3-D" },
    { "{'descr': '<u2', 'fortran_order': False, 'shape': (0, 4, 3), }", "no frames" },
    { "{'descr': '<u2', 'fortran_order': False, 'shape': (6, 0, 3), }", "cannot be" },
    { "{'descr': '<u2', 'fortran_order': False, 'shape': (4611686018427387904, 4, 3), }", "cannot be" },
    { "{'descr': '<u2', 'fortran_order': False, 'shape': (99999999999999999999999, 4, 3), }", "3-D" },
    { "{'descr': '<u2', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4, 3), }", "cannot be" },
    { "{'descr': '<u2', 'fortran_order': False, 'shape': (1, 3037000500, 3037000500), }", "cannot be" },
    { "{'descr': '<u2', 'fortran_order': False, 'shape': (1, 1, 70000, 2), }", "truncated" },
    { "{'descr': '<u8', 'fortran_order': False, 'shape': (2, 3, 4, 3), }", "<u8" },
    { "{'descr': '<c8', 'fortran_order': False, 'shape': (2, 3, 4, 3), }", "<c8" },
    { "{'descr': [('a', '<u2')], 'fortran_order': False, 'shape': (2, 3, 4, 3), }", "with fields" },
    { "{'descr': '<u2', 'shape': (2, 3, 4, 3), }", "no readable NumPy header" },
    { "", "no readable NumPy header" },
  };
  char *folder = new_folder ();
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *path = put_bytes (folder, "x.npy", make_npy (1, cases[i].header, 6 * SIZE, "<u2"));
    SbErrorCode code = strcmp (cases[i].says, "truncated") == 0 ? SB_ERROR_IO : SB_ERROR_DATA;
    assert_refused (path, NULL, code, "x.npy", cases[i].says, NULL);
  }
  drop_folder (folder);
}

static void
test_npy_cut (void)
{
  static const SbAcquisitionOptions partial = { .partial = TRUE };
  const char *header = "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3, 4, 3), }";
  char *folder = new_folder ();
  g_autoptr (GByteArray) whole = make_npy (1, header, 6 * SIZE, "<u2");
  g_autofree char *path = g_build_filename (folder, "x.npy", NULL);
  for (guint n = 6; n < whole->len; n++) {
    g_autoptr (GError) error = NULL;
    write_file (path, whole->data, n);
    g_assert_null (acquisition_open (path, NULL, &error));
    g_assert_nonnull (strstr (error->message, "x.npy"));
  }
  write_file (path, whole->data, 10 + strlen (header) + 4 * SIZE * 2 + 1);
  assert_refused (path, NULL, SB_ERROR_IO, "truncated", "4 of 6 frames", "partial", "1 complete rows", NULL);
  SbAcquisition *a = open_good (path, &partial);
  g_assert_cmpint (acquisition_positions (a), ==, 3);
  assert_values (a, 3);
  acquisition_free (a);
  drop_folder (folder);
}

static void
test_raw (void)
{
  char *folder = new_folder ();
  for (int big = 0; big < 2; big++) {
    g_autoptr (GByteArray) plain = g_byte_array_new ();
    g_byte_array_append (plain, (const guint8 *)"head.", 5);
    for (gsize i = 0; i < 6 * SIZE; i++)
      put_value (plain, value_at (i), big ? ">u2" : "<u2");
    g_autofree char *path = g_build_filename (folder, "x.RAW", NULL);
    write_file (path, plain->data, plain->len);
    SbAcquisitionOptions o = { .scan_shape = { 2, 3 }, .detector_shape = { ROWS, COLS }, .header_bytes = 5 };
    assert_refused (path, &o, SB_ERROR_ARGUMENT, "detector_shape", "dtype", "scan_shape", NULL);
    o.dtype = (char *)"cat";
    assert_refused (path, &o, SB_ERROR_ARGUMENT, "cat", NULL);
    o.dtype = (char *)(big ? ">u2" : "uint16");
    SbAcquisition *a = open_good (path, &o);
    assert_values (a, 6);
    acquisition_free (a);
    o.header_bytes = 4;
    assert_refused (path, &o, SB_ERROR_DATA, "not a whole number", NULL);
    o.header_bytes = 1000000;
    assert_refused (path, &o, SB_ERROR_ARGUMENT, "header_bytes 1000000", NULL);
    o.header_bytes = 5;
    o.scan_shape[0] = 3;
    assert_refused (path, &o, SB_ERROR_IO, "truncated", "6 of 9 frames", "2 complete rows", NULL);
    o.scan_shape[0] = 0;
    assert_refused (path, &o, SB_ERROR_ARGUMENT, "scan_shape", NULL);
  }
  drop_folder (folder);
}

/* (frames, shape) -> (flyback, rows) or a refusal. */
static void
test_scan_rules (void)
{
  static const struct {
    int frames, rows, cols, flyback, used; /* used 0: refused */
    const char *says;
  } cases[] = {
    { 36, 0, 0, 0, 6, NULL },
    { 42, 0, 0, 0, 0, "6,7 or 7,6" },
    { 43, 0, 0, 0, 0, "no scan of whole rows" },
    { 42, 6, 7, 0, 6, NULL },
    { 48, 6, 7, 1, 6, NULL },
    { 54, 6, 7, 2, 6, NULL },
    { 60, 6, 7, 0, 0, "18 more" },
    { 43, 6, 7, 0, 0, "1 more" },
    { 41, 6, 7, 0, 0, "5 complete rows" },
    { 6, 6, 7, 0, 0, "not one complete row" },
    { 42, 6, -7, 0, 0, "scan_shape 6,-7" },
    { 42, 6, 0, 0, 0, "scan_shape 6,0" },
    { 100, 4, 20, 5, 4, NULL },
    { 104, 4, 20, 0, 0, "24 more" },
  };
  char *folder = new_folder ();
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *header = g_strdup_printf ("{'descr': '|u1', 'fortran_order': False, 'shape': (%d, 4, 3), }",
                                               cases[i].frames);
    g_autofree char *path = put_bytes (folder, "x.npy", make_npy (1, header, (gsize)cases[i].frames * SIZE, "|u1"));
    SbAcquisitionOptions o = { .scan_shape = { cases[i].rows, cases[i].cols } };
    g_autoptr (GError) error = NULL;
    SbAcquisition *a = acquisition_open (path, &o, &error);
    if (cases[i].used == 0) {
      g_assert_null (a);
      g_assert_nonnull (strstr (error->message, cases[i].says));
      continue;
    }
    g_assert_no_error (error);
    g_assert_cmpint (a->flyback, ==, cases[i].flyback);
    g_assert_cmpint (a->used_rows, ==, cases[i].used);
    acquisition_free (a);
  }
  drop_folder (folder);
}

static void
test_region (void)
{
  SbAcquisitionOptions o = { { 6, 7 }, { 2, 1, 3, 4 }, { ROWS, COLS }, (char *)"uint16", 0, FALSE };
  static const gint64 wrong[][4] = { { 6, 0, 1, 1 },  { 0, 7, 1, 1 },  { 0, 0, 7, 1 },         { 2, 0, 5, 1 },
                                     { -1, 0, 1, 1 }, { 0, 0, 1, -1 }, { 1, 1, G_MAXINT64, 1 } };
  g_autoptr (GError) error = NULL;
  SbAcquisition *a = acquisition_new (&o, &error);
  g_assert_no_error (error);
  g_assert_cmpint (acquisition_positions (a), ==, 12);
  g_assert_cmpint (acquisition_frame_count (a), ==, 42);
  g_assert_cmpint (acquisition_frame (a, 0), ==, 15);
  g_assert_cmpint (acquisition_frame (a, 4), ==, 22);
  gint64 used = 0;
  for (gint64 f = 0; f < 42; f++) {
    gint64 p = acquisition_position (a, f);
    used += p >= 0;
    g_assert_true (p < 0 || acquisition_frame (a, p) == f);
  }
  g_assert_cmpint (used, ==, 12);
  g_assert_cmpint (acquisition_position (a, -1), ==, -1);
  acquisition_free (a);
  memset (o.scan_region, 0, sizeof o.scan_region);
  o.scan_region[0] = 4; /* the rest of the scan */
  a = acquisition_new (&o, NULL);
  g_assert_cmpint (acquisition_positions (a), ==, 14);
  acquisition_free (a);
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++) {
    memcpy (o.scan_region, wrong[i], sizeof wrong[i]);
    g_assert_null (acquisition_new (&o, &error));
    g_assert_nonnull (strstr (error->message, "scan_region"));
    g_clear_error (&error);
  }
}

static void
test_pushed (void)
{
  SbAcquisitionOptions o = { { 6, 7 }, { 0 }, { ROWS, COLS }, (char *)"f4", 0, FALSE };
  g_autoptr (GError) error = NULL;
  SbAcquisition *a = acquisition_new (&o, &error);
  g_assert_no_error (error);
  g_assert_cmpint (a->header.dtype, ==, SB_F32);
  g_assert_null (a->path);
  acquisition_free (a);
  o.dtype = NULL;
  g_assert_null (acquisition_new (&o, &error));
  g_assert_nonnull (strstr (error->message, "scan_shape, detector_shape and dtype"));
  g_clear_error (&error);
  o.dtype = (char *)"complex64";
  g_assert_null (acquisition_new (&o, &error));
  g_assert_nonnull (strstr (error->message, "complex64"));
  g_clear_error (&error);
  o.dtype = (char *)"u2";
  o.scan_shape[0] = o.scan_shape[1] = G_MAXINT64 / 2;
  g_assert_null (acquisition_new (&o, &error));
  g_clear_error (&error);
  o.scan_shape[0] = o.scan_shape[1] = 3000000000;
  g_assert_null (acquisition_new (&o, &error));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/formats/npy/types", test_npy_types);
  g_test_add_func ("/formats/npy/refused", test_npy_refused);
  g_test_add_func ("/formats/npy/cut", test_npy_cut);
  g_test_add_func ("/formats/raw", test_raw);
  g_test_add_func ("/acquisition/scan-rules", test_scan_rules);
  g_test_add_func ("/acquisition/region", test_region);
  g_test_add_func ("/acquisition/pushed", test_pushed);
  return g_test_run ();
}
