/* MRC stacks, written here from the 2014 layout, and the notes that Direct Electron's software writes beside
 * them. */
#include "tests/unit/format_bytes.h"

enum { ROWS = 4, COLS = 5, PIXELS = ROWS * COLS };

typedef struct Mrc {
  int mode, bytes;
  gboolean big, stamp, map;
  guint32 more; /* bytes of further headers */
  gint64 frames;
  guint32 most;
} Mrc;

/* Half precision of a whole number up to 2048. */
static guint16
half_of (guint32 x)
{
  int exponent = 0;
  if (x == 0)
    return 0;
  while (x >> (exponent + 1) != 0)
    exponent++;
  guint32 fraction = exponent <= 10 ? x << (10 - exponent) : x >> (exponent - 10);
  return (guint16)((exponent + 15) << 10 | (fraction & 1023));
}

static GByteArray *
make_mrc (const Mrc *mrc)
{
  GByteArray *to = g_byte_array_new ();
  const gint64 head[] = { COLS, ROWS, mrc->frames, mrc->mode };
  for (int i = 0; i < 4; i++)
    put_int (to, (guint64)head[i], 4, mrc->big);
  put_zeros (to, 92 - to->len);
  put_int (to, mrc->more, 4, mrc->big);
  put_zeros (to, 208 - to->len);
  put_text (to, mrc->map ? "MAP " : "    ");
  put_int (to, !mrc->stamp ? 0 : mrc->big ? 0x11110000 : 0x44440000, 4, TRUE);
  put_zeros (to, 1024 + mrc->more - to->len);
  for (gint64 f = 0; f < 6; f++)
    for (gint64 i = 0; i < PIXELS; i++) {
      guint32 x = known (f, i, mrc->most);
      if (mrc->mode == 2)
        put_f32 (to, (float)x, mrc->big);
      else
        put_int (to, mrc->mode == 12 ? half_of (x) : x, (gsize)mrc->bytes, mrc->big);
    }
  return to;
}

static char *
save_mrc (const char *folder, const char *name, const Mrc *mrc)
{
  g_autoptr (GByteArray) bytes = make_mrc (mrc);
  return save_bytes (folder, name, bytes);
}

static void
test_modes (void)
{
  static const struct {
    int mode, bytes;
    SbDtype dtype;
    guint32 most;
  } modes[] = {
    { 0, 1, SB_I16, 127 }, { 1, 2, SB_I16, 32767 }, { 2, 4, SB_F32, 1 << 20 }, { 6, 2, SB_U16, 65535 }, { 12, 2, SB_F32, 2047 }
  };
  SbAcquisitionOptions options = scan_of (2, 3);
  char *folder = new_folder ();
  for (guint i = 0; i < G_N_ELEMENTS (modes); i++)
    for (int variant = 0; variant < 8; variant++) {
      const Mrc mrc = { modes[i].mode, modes[i].bytes,           variant & 1, variant & 2,
                        variant & 4,   variant & 2 ? 909312 : 0, 6,           modes[i].most };
      g_autofree char *path = save_mrc (folder, "x.mrc", &mrc);
      SbAcquisition *a = open_good (path, &options);
      g_assert_cmpstr (a->format->name, ==, "mrc");
      g_assert_cmpint (a->header.dtype, ==, modes[i].dtype);
      g_assert_cmpint (a->header.detector_cols, ==, COLS);
      assert_known (a, 0, 6, 0, modes[i].most);
      assert_known (a, 3, 2, 0, modes[i].most);
      acquisition_free (a);
    }
  drop_folder (folder);
}

/* Half precision: every kind of number. */
static void
test_half (void)
{
  static const struct {
    guint16 bits;
    float value;
  } numbers[] = {
    { 0x3c00, 1 },        { 0xc000, -2 },          { 0x7bff, 65504 },    { 0x0001, 0x1p-24f },  { 0x03ff, 0x1.ff8p-15f },
    { 0x0400, 0x1p-14f }, { 0x3555, 0x1.554p-2f }, { 0x7c00, INFINITY }, { 0xfc00, -INFINITY }, { 0x8000, 0 }
  };
  SbAcquisitionOptions options = scan_of (2, 3);
  char *folder = new_folder ();
  for (int big = 0; big < 2; big++) {
    const Mrc mrc = { 12, 2, big, TRUE, TRUE, 0, 6, 9 };
    g_autoptr (GByteArray) bytes = make_mrc (&mrc);
    for (guint i = 0; i < G_N_ELEMENTS (numbers); i++) {
      bytes->data[1024 + 2 * i + !big] = (guint8)(numbers[i].bits >> 8);
      bytes->data[1024 + 2 * i + big] = (guint8)numbers[i].bits;
    }
    g_autofree char *path = save_bytes (folder, "x.mrc", bytes);
    SbAcquisition *a = open_good (path, &options);
    g_autofree float *got = read_frames (a, 0, 1, NULL);
    for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
      g_assert_true (got[i] == numbers[i].value);
    acquisition_free (a);
  }
  drop_folder (folder);
}

/* Bytes have no sign where IMOD or the camera's notes say so. */
static void
test_unsigned_bytes (void)
{
  const Mrc mrc = { 0, 1, FALSE, TRUE, TRUE, 0, 6, 255 };
  SbAcquisitionOptions options = scan_of (2, 3);
  char *folder = new_folder ();
  g_autoptr (GByteArray) bytes = make_mrc (&mrc);
  memcpy (bytes->data + 152, "\x49\x4d\x4f\x44\x00\x00\x00\x00", 8);
  g_autofree char *path = save_bytes (folder, "x.mrc", bytes);
  for (int i = 0; i < 2; i++) {
    SbAcquisition *a = open_good (path, &options);
    g_assert_cmpint (a->header.dtype, ==, SB_U8);
    assert_known (a, 0, 6, 0, 255);
    acquisition_free (a);
    g_free (path);
    path = save_mrc (folder, "20241021_00405_0_movie.mrc", &mrc);
    g_autofree char *info = g_build_filename (folder, "20241021_00405_info.txt", NULL);
    const char *text = "Autosave Counted Movie Pixel Format      = uint8\r\n";
    write_file (info, text, strlen (text));
  }
  drop_folder (folder);
}

static void
write_info (const char *folder, const char *text)
{
  g_autofree char *path = g_build_filename (folder, "20241021_00405_info.txt", NULL);
  write_file (path, text, strlen (text));
}

static void
test_scan_notes (void)
{
  const Mrc mrc = { 6, 2, FALSE, TRUE, TRUE, 0, 6, 65535 };
  char *folder = new_folder ();
  g_autofree char *path = save_mrc (folder, "20241021_00405_movie.mrc", &mrc);
  assert_refused (path, NULL, SB_ERROR_ARGUMENT, "scan_shape", NULL);
  write_info (folder, "Instrument Accelerating Voltage (V)     = 300000\nScan - Enable     = Enable\nScan - Type = Raster\n"
                      "Scan - ROI Enable = Disable\nScan - ROI Size X = 9\nScan - Size X    = 3\nScan - Size Y  = 2\n"
                      "Specimen Pixel Size X (nanometers) = 0.05\nSpecimen Pixel Size Y (nanometers) = -1\n");
  SbAcquisition *a = open_good (path, NULL);
  g_assert_cmpint (a->scan_rows, ==, 2);
  g_assert_cmpint (a->scan_cols, ==, 3);
  g_assert_cmpfloat (a->header.energy, ==, 300);
  g_assert_cmpfloat (a->header.step[1], ==, 0.5);
  g_assert_true (isnan (a->header.step[0]));
  g_assert_cmpint (a->header.files->len, ==, 2);
  acquisition_free (a);
  write_info (folder, "Scan - Enable = Enable\nScan - Type = Raster\nScan - ROI Enable = Enable\nScan - ROI Type = Raster\n"
                      "Scan - ROI Size X = 2\nScan - ROI Size Y = 3\nScan - Size X = 30\nScan - Size Y = 20\n");
  a = open_good (path, NULL);
  g_assert_cmpint (a->scan_rows, ==, 3);
  acquisition_free (a);
  write_info (folder, "Scan - Enable = Enable\nScan - Type = XY File\nScan - Size X = 3\nScan - Size Y = 2\n");
  assert_refused (path, NULL, SB_ERROR_DATA, "XY File", "not line by line", NULL);
  SbAcquisitionOptions options = scan_of (2, 3);
  acquisition_free (open_good (path, &options));
  write_info (folder, "Scan - Enable = Enable\nScan - Size X = nan\nScan - Size Y = -2\nScan - Size X = 1e300\n====\n=\n");
  assert_refused (path, NULL, SB_ERROR_ARGUMENT, "scan_shape", NULL);
  drop_folder (folder);
}

static void
test_refused (void)
{
  static const struct {
    Mrc mrc;
    const char *says;
    SbErrorCode code;
  } cases[] = {
    { { 4, 8, FALSE, TRUE, TRUE, 0, 6, 9 }, "MRC mode 4", SB_ERROR_DATA },
    { { 101, 1, FALSE, TRUE, TRUE, 0, 6, 9 }, "MRC mode 101", SB_ERROR_DATA },
    { { 6, 2, FALSE, TRUE, TRUE, 0, -1, 9 }, "cannot be", SB_ERROR_DATA },
    { { 6, 2, FALSE, TRUE, TRUE, 0, 0, 9 }, "no frames", SB_ERROR_DATA },
    { { 6, 2, FALSE, TRUE, TRUE, 0, 2000000000, 9 }, "truncated", SB_ERROR_IO },
  };
  char *folder = new_folder ();
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *path = save_mrc (folder, "x.mrc", &cases[i].mrc);
    SbAcquisitionOptions options = scan_of (50000, 40000);
    assert_refused (path, &options, cases[i].code, "x.mrc", cases[i].says, NULL);
  }
  const Mrc good = { 6, 2, FALSE, TRUE, TRUE, 0, 6, 9 };
  g_autoptr (GByteArray) bytes = make_mrc (&good);
  memset (bytes->data + 92, 0xff, 4); /* further headers of -1 bytes */
  g_autofree char *path = save_bytes (folder, "x.mrc", bytes);
  assert_refused (path, NULL, SB_ERROR_DATA, "-1 bytes of further headers", NULL);
  memset (bytes->data, 0xff, 8); /* -1 x -1 pixels */
  g_free (save_bytes (folder, "x.mrc", bytes));
  assert_refused (path, NULL, SB_ERROR_DATA, "cannot be", NULL);
  drop_folder (folder);
}

static void
test_cuts (void)
{
  const Mrc mrc = { 6, 2, FALSE, TRUE, TRUE, 128, 6, 65535 };
  SbAcquisitionOptions options = scan_of (2, 3);
  char *folder = new_folder ();
  g_autoptr (GByteArray) bytes = make_mrc (&mrc);
  g_autofree char *path = save_bytes (folder, "x.mrc", bytes);
  try_cuts (path, bytes, 16, 2, 3, 65535);
  write_file (path, bytes->data, bytes->len - 1);
  assert_refused (path, &options, SB_ERROR_IO, "truncated", "5 of 6 frames", "1 complete rows", NULL);
  drop_folder (folder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/formats/mrc/modes", test_modes);
  g_test_add_func ("/formats/mrc/half", test_half);
  g_test_add_func ("/formats/mrc/unsigned-bytes", test_unsigned_bytes);
  g_test_add_func ("/formats/mrc/scan-notes", test_scan_notes);
  g_test_add_func ("/formats/mrc/refused", test_refused);
  g_test_add_func ("/formats/mrc/cuts", test_cuts);
  return g_test_run ();
}
