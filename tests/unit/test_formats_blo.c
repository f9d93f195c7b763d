/* NanoMEGAS blockfiles, written here from their layout. */
#include "tests/unit/format_bytes.h"

enum { SIDE = 8, PIXELS = SIDE * SIDE };

static GByteArray *
make_blo (int magic, int bytes, int rows, int cols, int side, guint32 offset)
{
  GByteArray *to = g_byte_array_new ();
  put_text (to, "IMGBLO");
  put_int (to, (guint64)magic, 2, FALSE);
  put_int (to, 0x1000, 4, FALSE);
  put_int (to, offset, 4, FALSE);
  put_int (to, 131141, 4, FALSE);
  const int shorts[] = { side, 0, cols, rows, 1234 };
  for (int i = 0; i < 5; i++)
    put_int (to, (guint64)shorts[i], 2, FALSE);
  put_f64 (to, 0.5, FALSE);  /* SX, nm */
  put_f64 (to, 0.25, FALSE); /* SY */
  put_int (to, 200000, 4, FALSE);
  put_zeros (to, 0x1000 + 6 - to->len);
  for (int f = 0; f < 6; f++) {
    put_int (to, 0xaa55, 2, TRUE);
    put_int (to, (guint64)f, 4, FALSE);
    for (int i = 0; i < PIXELS; i++)
      put_int (to, known (f, i, bytes == 1 ? 255 : 65535), (gsize)bytes, FALSE);
  }
  return to;
}

static void
test_frames (void)
{
  char *folder = new_folder ();
  for (int variant = 0; variant < 3; variant++) { /* 258: bytes; 259: bytes or two */
    int bytes = variant == 2 ? 2 : 1;
    g_autoptr (GByteArray) blo = make_blo (variant == 0 ? 258 : 259, bytes, 2, 3, SIDE, 0x1006);
    g_autofree char *path = save_bytes (folder, "x.blo", blo);
    SbAcquisition *a = open_good (path, NULL);
    g_assert_cmpstr (a->format->name, ==, "blo");
    g_assert_cmpint (a->header.dtype, ==, bytes == 1 ? SB_U8 : SB_U16);
    g_assert_cmpint (a->scan_rows, ==, 2);
    g_assert_cmpint (a->scan_cols, ==, 3);
    g_assert_cmpfloat (a->header.step[0], ==, 2.5);
    g_assert_cmpfloat (a->header.step[1], ==, 5);
    g_assert_cmpfloat (a->header.energy, ==, 200);
    assert_known (a, 0, 6, 0, bytes == 1 ? 255 : 65535);
    assert_known (a, 4, 2, 0, bytes == 1 ? 255 : 65535);
    acquisition_free (a);
  }
  drop_folder (folder);
}

static void
test_refused (void)
{
  static const struct {
    int magic, rows, cols, side;
    guint32 offset;
    const char *says;
    SbErrorCode code;
  } cases[] = { { 260, 2, 3, SIDE, 0x1006, "version 260", SB_ERROR_DATA },
                { 258, 0, 3, SIDE, 0x1006, "0 x 3", SB_ERROR_DATA },
                { 258, 2, 3, 0, 0x1006, "0 x 0", SB_ERROR_DATA },
                { 258, 2, 3, SIDE, 3, "byte 3", SB_ERROR_DATA },
                { 258, 65535, 65535, 65535, 0x1006, "truncated", SB_ERROR_IO },
                { 258, 2, 3, SIDE, 0xffffffff, "truncated", SB_ERROR_IO } };
  char *folder = new_folder ();
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GByteArray) blo = make_blo (cases[i].magic, 1, cases[i].rows, cases[i].cols, cases[i].side, cases[i].offset);
    g_autofree char *path = save_bytes (folder, "x.blo", blo);
    assert_refused (path, NULL, cases[i].code, "x.blo", cases[i].says, NULL);
  }
  drop_folder (folder);
}

static void
test_cuts (void)
{
  char *folder = new_folder ();
  g_autoptr (GByteArray) blo = make_blo (258, 1, 2, 3, SIDE, 0x1006);
  g_autofree char *path = save_bytes (folder, "x.blo", blo);
  try_cuts (path, blo, 16, 2, 3, 255);
  write_file (path, blo->data, blo->len - 1);
  assert_refused (path, NULL, SB_ERROR_IO, "truncated", "5 of 6 frames", "1 complete rows", NULL);
  drop_folder (folder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/formats/blo/frames", test_frames);
  g_test_add_func ("/formats/blo/refused", test_refused);
  g_test_add_func ("/formats/blo/cuts", test_cuts);
  return g_test_run ();
}
