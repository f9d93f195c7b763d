/* TVIPS series, written here from their layout. */
#include "tests/unit/format_bytes.h"

enum { ROWS = 6, COLS = 8, PIXELS = ROWS * COLS, LEAD = 3, BEHIND = 2 };

typedef struct Tvips {
  int version, bits, before;
  gboolean positions;
  int scan_rows, scan_cols;
} Tvips;

static void
put_header (GByteArray *to, const Tvips *t)
{
  const int head[] = { 256, t->version, COLS, ROWS, t->bits, 0, 0, 1, 1, 15500, 200, 1000, t->before };
  for (guint i = 0; i < G_N_ELEMENTS (head); i++)
    put_int (to, (guint64)head[i], 4, FALSE);
  put_zeros (to, 256 - to->len);
}

/* One frame: of the scan (index >= 0, known), or before or behind it (0xee throughout). */
static void
put_frame (GByteArray *to, const Tvips *t, int index)
{
  guint from = to->len;
  put_zeros (to, t->version == 1 ? 12 : (gsize)t->before);
  if (t->positions && index >= 0) {
    g_autoptr (GByteArray) at = g_byte_array_new ();
    put_f32 (at, (float)(index % t->scan_cols), FALSE);
    put_f32 (at, (float)(index / t->scan_cols), FALSE);
    memcpy (to->data + from + 68, at->data, 8);
  }
  for (int i = 0; i < PIXELS; i++)
    put_int (to, index < 0 ? 0xeeee : known (index, i, t->bits == 8 ? 255 : 65535), (gsize)t->bits / 8, FALSE);
}

static void
save_part (const char *folder, int part, GByteArray *bytes)
{
  g_autofree char *name = g_strdup_printf ("x_%03d.tvips", part);
  g_free (save_bytes (folder, name, bytes));
  g_byte_array_unref (bytes);
}

/* Frames [-lead, scan + behind) in files of per_file frames. Returns the first file's name. */
static char *
save_tvips (const char *folder, const Tvips *t, int lead, int frames, int behind, int per_file)
{
  GByteArray *bytes = g_byte_array_new ();
  int part = 0, in_part = 0;
  put_header (bytes, t);
  for (int f = -lead; f < frames + behind; f++) {
    if (in_part++ == per_file) {
      save_part (folder, part++, bytes);
      bytes = g_byte_array_new ();
      in_part = 1;
    }
    put_frame (bytes, t, f < frames ? f : -1);
  }
  save_part (folder, part, bytes);
  return g_build_filename (folder, "x_000.tvips", NULL);
}

static void
test_frames (void)
{
  static const Tvips kinds[] = { { 1, 8, 12, FALSE, 2, 3 },
                                 { 1, 16, 12, FALSE, 2, 3 },
                                 { 2, 8, 60, FALSE, 2, 3 },
                                 { 2, 16, 108, FALSE, 2, 3 },
                                 { 2, 16, 0, FALSE, 2, 3 } };
  SbAcquisitionOptions options = scan_of (2, 3);
  char *folder = new_folder ();
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++) {
    g_autofree char *path = save_tvips (folder, &kinds[i], 0, 6, 0, 4),
                    *second = g_build_filename (folder, "x_001.tvips", NULL);
    assert_refused (path, NULL, SB_ERROR_ARGUMENT, "scan_shape", NULL);
    for (int by = 0; by < 2; by++) { /* any file of the series */
      SbAcquisition *a = open_good (by ? second : path, &options);
      g_assert_cmpstr (a->format->name, ==, "tvips");
      g_assert_cmpint (a->header.dtype, ==, kinds[i].bits == 8 ? SB_U8 : SB_U16);
      g_assert_cmpint (a->header.detector_rows, ==, ROWS);
      g_assert_cmpfloat (a->header.energy, ==, 200);
      g_assert_cmpint (a->header.files->len, ==, 2);
      assert_known (a, 0, 6, 0, kinds[i].bits == 8 ? 255 : 65535);
      assert_known (a, 3, 2, 0, kinds[i].bits == 8 ? 255 : 65535);
      acquisition_free (a);
    }
  }
  drop_folder (folder);
}

/* Positions in the frames tell where the scan begins, how wide it is and where it ends. */
static void
test_positions (void)
{
  static const int shapes[][2] = { { 3, 4 }, { 2, 3 }, { 1, 5 }, { 7, 2 } };
  char *folder = new_folder ();
  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++)
    for (int lead = 0; lead <= LEAD; lead += LEAD)
      for (int behind = 0; behind <= BEHIND; behind += BEHIND) {
        const Tvips t = { 2, 16, 108, TRUE, shapes[i][0], shapes[i][1] };
        int frames = shapes[i][0] * shapes[i][1];
        g_autofree char *path = save_tvips (folder, &t, lead, frames, behind, 5);
        SbAcquisition *a = open_good (path, NULL);
        g_assert_cmpint (a->scan_rows, ==, shapes[i][0]);
        g_assert_cmpint (a->scan_cols, ==, shapes[i][1]);
        g_assert_cmpint (a->header.frames, ==, frames);
        assert_known (a, 0, frames, 0, 65535);
        if (lead + behind > 0)
          assert_warned (a, "are left out");
        acquisition_free (a);
        for (int part = 1; part < 6; part++) {
          g_autofree char *name = g_strdup_printf ("x_%03d.tvips", part), *old = g_build_filename (folder, name, NULL);
          g_remove (old);
        }
      }
  const Tvips twice = { 2, 16, 108, TRUE, 3, 4 }; /* positions that repeat: not guessed */
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  put_header (bytes, &twice);
  for (int f = 0; f < 24; f++)
    put_frame (bytes, &twice, f / 2);
  g_autofree char *path = save_bytes (folder, "x_000.tvips", bytes);
  assert_refused (path, NULL, SB_ERROR_ARGUMENT, "scan_shape", NULL);
  const Tvips t = { 2, 16, 108, TRUE, 3, 4 };
  g_free (save_tvips (folder, &t, LEAD, 10, 0, 100)); /* stopped early */
  assert_refused (path, NULL, SB_ERROR_DATA, "10 of 12 frames", "2 complete rows", NULL);
  drop_folder (folder);
}

static void
test_missing (void)
{
  const Tvips t = { 2, 8, 60, FALSE, 3, 4 };
  SbAcquisitionOptions options = scan_of (3, 4);
  char *folder = new_folder ();
  g_autofree char *path = save_tvips (folder, &t, 0, 12, 0, 4), *second = g_build_filename (folder, "x_001.tvips", NULL);
  g_remove (second);
  assert_refused (path, &options, SB_ERROR_IO, "x_001.tvips is missing", "1 complete rows", NULL);
  g_remove (path);
  g_autofree char *third = g_build_filename (folder, "x_002.tvips", NULL);
  assert_refused (third, &options, SB_ERROR_IO, "x_000.tvips is missing", NULL);
  drop_folder (folder);
}

static void
test_refused (void)
{
  static const int cases[][2] = { /* which of the header's numbers, its value */
                                  { 0, 255 }, { 1, 3 },  { 2, 0 },   { 2, -5 },         { 2, 2147483647 },
                                  { 4, 32 },  { 4, -8 }, { 12, -1 }, { 12, 2147483647 }
  };
  const Tvips t = { 2, 16, 60, FALSE, 2, 3 };
  char *folder = new_folder ();
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GByteArray) bytes = g_byte_array_new (), number = g_byte_array_new ();
    put_header (bytes, &t);
    for (int f = 0; f < 6; f++)
      put_frame (bytes, &t, f);
    put_int (number, (guint64)(gint64)cases[i][1], 4, FALSE);
    memcpy (bytes->data + 4 * cases[i][0], number->data, 4);
    g_autofree char *path = save_bytes (folder, "x_000.tvips", bytes);
    g_autoptr (GError) error = NULL;
    SbAcquisitionOptions options = scan_of (2, 3);
    g_assert_null (acquisition_open (path, &options, &error));
    g_assert_true (g_str_has_suffix (error->message, "."));
  }
  drop_folder (folder);
}

static void
test_cuts (void)
{
  char *folder = new_folder ();
  for (int positions = 0; positions < 2; positions++) {
    const Tvips t = { 2, 8, 108, positions, 2, 3 };
    g_autofree char *path = save_tvips (folder, &t, 0, 6, 0, 100), *content = NULL;
    gsize n = 0;
    g_assert_true (g_file_get_contents (path, &content, &n, NULL));
    g_autoptr (GByteArray) bytes = g_byte_array_new ();
    put_bytes (bytes, content, n);
    try_cuts (path, bytes, 16, 2, 3, 255);
    write_file (path, bytes->data, bytes->len - 1);
    SbAcquisitionOptions options = scan_of (2, 3);
    assert_refused (path, &options, SB_ERROR_IO, "truncated", "5 of 6 frames", "1 complete rows", NULL);
  }
  drop_folder (folder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/formats/tvips/frames", test_frames);
  g_test_add_func ("/formats/tvips/positions", test_positions);
  g_test_add_func ("/formats/tvips/missing", test_missing);
  g_test_add_func ("/formats/tvips/refused", test_refused);
  g_test_add_func ("/formats/tvips/cuts", test_cuts);
  return g_test_run ();
}
