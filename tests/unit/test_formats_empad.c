/* EMPAD: raw files and XML headers written here; the makers' headers where they are there. */
#include "tests/unit/format_bytes.h"

enum { SIDE = 128, PIXELS = SIDE * SIDE, FRAME_BYTES = SIDE * 130 * 4, MOST = 4000 };

static const float not_a_count = 1e30f; /* in the detector's own rows: never to be delivered */

static GByteArray *
make_raw (int frames, gboolean metadata_rows)
{
  GByteArray *to = g_byte_array_new ();
  for (int f = 0; f < frames; f++) {
    for (int i = 0; i < PIXELS; i++)
      put_f32 (to, (float)known (f, i, MOST), FALSE);
    for (int i = 0; metadata_rows && i < 2 * SIDE; i++)
      put_f32 (to, not_a_count, FALSE);
  }
  return to;
}

static char *
save_raw (const char *folder, const char *name, int frames)
{
  g_autoptr (GByteArray) bytes = make_raw (frames, TRUE);
  return save_bytes (folder, name, bytes);
}

static void
put_mode (GString *to, const char *mode, int rows, int cols)
{
  if (rows > 0)
    g_string_append_printf (to,
                            "<scan_parameters mode=\"%s\"><scan_size>0.8</scan_size><scan_resolution_y>%d"
                            "</scan_resolution_y><scan_resolution_x>%d</scan_resolution_x></scan_parameters>",
                            mode, rows, cols);
}

/* Shapes of 0 rows are left out. */
static char *
save_xml (const char *folder, const char *raw, const int acquire[2], const int search[2], const char *more)
{
  g_autoptr (GString) text = g_string_new ("<root name=\"acquisition_1\"><timestamp timestamp=\"1.5\"/>");
  g_string_append_printf (text, "<raw_file filename=\"%s\"/>", raw);
  put_mode (text, "search", search[0], search[1]);
  put_mode (text, "acquire", acquire[0], acquire[1]);
  g_string_append_printf (text, "<iom_measurements><high_voltage>300000.0</high_voltage></iom_measurements>%s</root>", more);
  char *path = g_build_filename (folder, "a.xml", NULL);
  write_file (path, text->str, text->len);
  return path;
}

static void
test_frames (void)
{
  char *folder = new_folder ();
  g_autofree char *raw = save_raw (folder, "scan_x3_y2.raw", 6);
  for (int with_xml = 0; with_xml < 2; with_xml++) {
    const int none[2] = { 0, 0 }, other[2] = { 64, 64 };
    g_autofree char *xml = with_xml ? save_xml (folder, "/home/empad/scan_x3_y2.raw", other, none, "") : NULL;
    for (int by_xml = 0; by_xml <= with_xml; by_xml++) {
      SbAcquisition *a = open_good (by_xml ? xml : raw, NULL);
      g_assert_cmpstr (a->format->name, ==, "empad");
      g_assert_cmpint (a->scan_rows, ==, 2);
      g_assert_cmpint (a->scan_cols, ==, 3);
      g_assert_cmpint (a->header.detector_rows, ==, SIDE);
      g_assert_cmpint (a->header.dtype, ==, SB_F32);
      g_assert_cmpint (a->header.files->len, ==, 1 + with_xml);
      g_assert_true (with_xml ? a->header.energy == 300 : isnan (a->header.energy));
      assert_known (a, 0, 6, 0, MOST);
      assert_known (a, 5, 1, 0, MOST);
      acquisition_free (a);
    }
  }
  drop_folder (folder);
}

/* py4DSTEM#720: a 64 x 128 scan is read as 65 x 128 and the patterns creep. */
static void
test_size_decides (void)
{
  const int none[2] = { 0, 0 }, acquire[2] = { 2, 4 };
  char *folder = new_folder ();
  g_autofree char *xml = save_xml (folder, "a.raw", acquire, none, "");
  g_free (save_raw (folder, "a.raw", 8));
  SbAcquisition *a = open_good (xml, NULL);
  g_assert_cmpint (a->scan_rows, ==, 2);
  g_assert_cmpint (a->scan_cols, ==, 4);
  assert_known (a, 0, 8, 0, MOST);
  acquisition_free (a);
  /* one row more than the XML says, which might be taken for flyback */
  g_free (save_raw (folder, "a.raw", 12));
  assert_refused (xml, NULL, SB_ERROR_DATA, "12 frames", "2 x 4", "scan_shape", NULL);
  SbAcquisitionOptions given = scan_of (3, 4);
  a = open_good (xml, &given);
  assert_known (a, 0, 12, 0, MOST);
  acquisition_free (a);
  g_free (save_raw (folder, "a.raw", 7));
  assert_refused (xml, NULL, SB_ERROR_IO, "7 frames", "not the 8", "1 complete rows", NULL);
  drop_folder (folder);
}

/* rosettasciio#513, #520, LiberTEM#1617, hyperspy#2755: the data may be those of the mode "search". */
static void
test_search_or_acquire (void)
{
  static const struct {
    int acquire[2], search[2], frames, rows, cols;
  } cases[] = {
    { { 2, 3 }, { 4, 2 }, 6, 2, 3 },
    { { 2, 3 }, { 4, 2 }, 8, 4, 2 },
    { { 2, 3 }, { 3, 2 }, 6, 2, 3 }, /* both: acquire */
    { { 0, 0 }, { 4, 2 }, 8, 4, 2 },
  };
  char *folder = new_folder ();
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *xml = save_xml (folder, "C:\\data\\a.raw", cases[i].acquire, cases[i].search, "");
    g_free (save_raw (folder, "a.raw", cases[i].frames));
    SbAcquisition *a = open_good (xml, NULL);
    g_assert_cmpint (a->scan_rows, ==, cases[i].rows);
    g_assert_cmpint (a->scan_cols, ==, cases[i].cols);
    acquisition_free (a);
  }
  drop_folder (folder);
}

/* rosettasciio PR#495: not-a-number among the counts is handed on as it is, for the gather to leave the pixel
 * out. */
static void
test_nan (void)
{
  char *folder = new_folder ();
  g_autoptr (GByteArray) bytes = make_raw (4, TRUE);
  const float nan_value = NAN;
  const gsize at[3] = { 17, 128 * 64 + 64, PIXELS - 1 };
  for (int i = 0; i < 3; i++)
    memcpy (bytes->data + (gsize)(i + 1) * FRAME_BYTES + 4 * at[i], &nan_value, 4);
  g_autofree char *path = save_bytes (folder, "scan_x2_y2.raw", bytes);
  SbAcquisition *a = open_good (path, NULL);
  g_autofree float *got = read_frames (a, 0, 4, NULL);
  int found = 0;
  for (gsize i = 0; i < 4 * PIXELS; i++)
    found += isnan (got[i]);
  g_assert_cmpint (found, ==, 3);
  for (int i = 0; i < 3; i++)
    g_assert_true (isnan (got[(gsize)(i + 1) * PIXELS + at[i]]));
  acquisition_free (a);
  drop_folder (folder);
}

static void
test_second_generation (void)
{
  SbAcquisitionOptions told = { .scan_shape = { 2, 2 }, .detector_shape = { SIDE, SIDE }, .dtype = (char *)"float32" };
  char *folder = new_folder ();
  g_autoptr (GByteArray) bytes = make_raw (4, FALSE);
  g_autofree char *path = save_bytes (folder, "scan_x2_y2.raw", bytes);
  assert_refused (path, NULL, SB_ERROR_DATA, "EMPAD-G2", "detector_shape", NULL);
  SbAcquisition *a = open_good (path, &told);
  assert_known (a, 0, 4, 0, MOST);
  acquisition_free (a);
  told.header_bytes = 4 * PIXELS; /* the user's words win throughout */
  told.scan_shape[1] = 1;
  told.scan_shape[0] = 3;
  a = open_good (path, &told);
  assert_known (a, 0, 3, 1, MOST);
  acquisition_free (a);
  drop_folder (folder);
}

static void
test_refused (void)
{
  const int none[2] = { 0, 0 };
  static const char *const broken[] = { "<root><raw_file", "<root></other>", "not XML <root raw_file",
                                        "<toor><raw_file/></toor>" };
  char *folder = new_folder ();
  g_autofree char *xml = save_xml (folder, "absent.raw", none, none, "");
  assert_refused (xml, NULL, SB_ERROR_IO, "absent.raw is missing", NULL);
  for (guint i = 0; i < G_N_ELEMENTS (broken); i++) {
    write_file (xml, broken[i], strlen (broken[i]));
    g_autoptr (GError) error = NULL;
    g_assert_null (acquisition_open (xml, NULL, &error));
    g_assert_true (error != NULL && g_str_has_suffix (error->message, "."));
  }
  g_free (save_raw (folder, "a.raw", 6));
  g_free (save_xml (folder, "a.raw", none, none, "<type>series</type><count>6</count>"));
  assert_refused (xml, NULL, SB_ERROR_ARGUMENT, "scan_shape", "2,3", NULL); /* a series has no scan */
  const int absurd[2] = { 2147483647, 2147483647 }, many[2] = { 100000, 100000 };
  g_free (save_xml (folder, "a.raw", absurd, none, ""));
  assert_refused (xml, NULL, SB_ERROR_ARGUMENT, "scan_shape", "2,3", NULL);
  g_free (save_xml (folder, "a.raw", many, none, ""));
  assert_refused (xml, NULL, SB_ERROR_IO, "6 of 10000000000 frames", NULL);
  drop_folder (folder);
}

static void
test_cuts (void)
{
  char *folder = new_folder ();
  g_autoptr (GByteArray) bytes = make_raw (4, TRUE);
  g_autofree char *path = save_bytes (folder, "scan_x2_y2.raw", bytes);
  try_cuts (path, bytes, 64 * 101, 2, 2, MOST);
  write_file (path, bytes->data, bytes->len - 1);
  SbAcquisitionOptions partial = { .partial = TRUE };
  SbAcquisition *a = open_good (path, &partial); /* only a row of the detector's own is cut */
  g_assert_cmpint (acquisition_positions (a), ==, 4);
  acquisition_free (a);
  write_file (path, bytes->data, bytes->len - 1024 - 1);
  assert_refused (path, NULL, SB_ERROR_IO, "truncated", "3 of 4 frames", "1 complete rows", NULL);
  drop_folder (folder);
}

/* The makers' headers with raw files made to them. */
static void
test_real_headers (void)
{
  static const struct {
    const char *xml, *raw;
    int rows, cols;
  } cases[] = { { "map4x4.xml", "scan_x4_y4.raw", 4, 4 }, { "EMPAD_v1.2.2_x32_y64_size0.8.xml", "scan_x32_y64.raw", 64, 32 } };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *name = g_strconcat ("samples/empad/", cases[i].xml, NULL), *from = shared_path (name);
    if (from == NULL)
      return;
    char *folder = new_folder (), *text = NULL;
    gsize n = 0;
    g_assert_true (g_file_get_contents (from, &text, &n, NULL));
    g_autofree char *xml = g_build_filename (folder, cases[i].xml, NULL), *raw = g_build_filename (folder, cases[i].raw, NULL);
    write_file (xml, text, n);
    g_free (text);
    /* holes: only the last frame has anything */
    FILE *file = fopen (raw, "wb");
    const float last = 7;
    g_assert_cmpint (fseek (file, (long)cases[i].rows * cases[i].cols * FRAME_BYTES - 1024 - 4, SEEK_SET), ==, 0);
    fwrite (&last, 4, 1, file);
    fseek (file, 1023, SEEK_CUR);
    fwrite ("", 1, 1, file);
    fclose (file);
    SbAcquisition *a = open_good (xml, NULL);
    g_assert_cmpint (a->scan_rows, ==, cases[i].rows);
    g_assert_cmpint (a->scan_cols, ==, cases[i].cols);
    g_assert_cmpfloat (a->header.energy, ==, 300);
    g_assert_true (isnan (a->header.step[0])); /* versions differ in what their field of view means */
    assert_warned (a, "give step");
    g_autofree float *got = read_frames (a, a->header.frames - 1, 1, NULL);
    g_assert_cmpfloat (got[PIXELS - 1], ==, 7);
    g_assert_cmpfloat (got[PIXELS - 2], ==, 0);
    acquisition_free (a);
    drop_folder (folder);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/formats/empad/frames", test_frames);
  g_test_add_func ("/formats/empad/size-decides", test_size_decides);
  g_test_add_func ("/formats/empad/search-or-acquire", test_search_or_acquire);
  g_test_add_func ("/formats/empad/nan", test_nan);
  g_test_add_func ("/formats/empad/second-generation", test_second_generation);
  g_test_add_func ("/formats/empad/refused", test_refused);
  g_test_add_func ("/formats/empad/cuts", test_cuts);
  g_test_add_func ("/formats/empad/real-headers", test_real_headers);
  return g_test_run ();
}
