/* DigitalMicrograph DM3 and DM4, written here tag by tag. */
#include "core/optics.h"
#include "tests/unit/dm_files.h"

#define DETECTOR_FIRST .size = { 5, 4, 3, 2 }, .units = { "1/nm", "1/nm", "nm", "nm" }, .scale = { 0.2, 0.2, 0.5, 0.25 }
#define SCAN_FIRST .size = { 3, 2, 5, 4 }, .units = { "nm", "nm", "1/nm", "1/nm" }, .scale = { 0.5, 0.25, 0.2, 0.2 }

static void
assert_scan (const char *path, SbDtype dtype, guint32 most)
{
  SbAcquisition *a = open_good (path, NULL);
  g_assert_cmpstr (a->format->name, ==, "dm4");
  g_assert_cmpint (a->scan_rows, ==, 2);
  g_assert_cmpint (a->scan_cols, ==, 3);
  g_assert_cmpint (a->header.detector_rows, ==, 4);
  g_assert_cmpint (a->header.detector_cols, ==, 5);
  g_assert_cmpint (a->header.dtype, ==, dtype);
  assert_known (a, 0, 6, 0, most);
  assert_known (a, 2, 3, 0, most);
  acquisition_free (a);
}

static void
test_types (void)
{
  static const struct {
    int data_type, array_type, bytes;
    SbDtype dtype;
    guint32 most;
  } types[] = { { 1, 2, 2, SB_I16, 30000 },    { 2, 6, 4, SB_F32, 1000000 }, { 6, 10, 1, SB_U8, 255 },
                { 7, 3, 4, SB_I32, 70000 },    { 9, 9, 1, SB_I16, 127 },     { 10, 4, 2, SB_U16, 65535 },
                { 11, 5, 4, SB_U32, 1 << 30 }, { 12, 7, 8, SB_F64, 1 << 30 } };
  char *folder = new_folder ();
  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    for (int variant = 0; variant < 8; variant++) {
      const Dm first = { .version = variant & 1 ? 3 : 4,
                         .big = variant & 2,
                         .data_type = types[i].data_type,
                         .array_type = types[i].array_type,
                         .bytes = types[i].bytes,
                         .rank = 4,
                         .swapped = -1,
                         .most = types[i].most,
                         DETECTOR_FIRST };
      const Dm last = { .version = first.version,
                        .big = first.big,
                        .data_type = types[i].data_type,
                        .array_type = types[i].array_type,
                        .bytes = types[i].bytes,
                        .rank = 4,
                        .swapped = -1,
                        .most = types[i].most,
                        SCAN_FIRST };
      g_autofree char *path = save_dm (folder, variant & 4 ? &last : &first, variant & 4);
      assert_scan (path, types[i].dtype, types[i].most);
    }
  drop_folder (folder);
}

/* openNCEM#17, quantem PR#117, py4DSTEM#36, #273: the order of the axes, which image, where its data begin.
 */
static void
test_axis_order (void)
{
  static const Dm base = {
    .version = 4, .data_type = 10, .array_type = 4, .bytes = 2, .rank = 4, .swapped = -1, .most = 65535
  };
  char *folder = new_folder ();
  for (int scan_first = 0; scan_first < 2; scan_first++) {
    Dm dm = base;
    const int first[4] = { 5, 4, 3, 2 }, last[4] = { 3, 2, 5, 4 };
    memcpy (dm.size, scan_first ? last : first, sizeof dm.size);
    dm.swapped = !scan_first; /* no units: the tag decides */
    g_autofree char *path = save_dm (folder, &dm, scan_first);
    assert_scan (path, SB_U16, 65535);
    static const char *const reciprocal[] = { "1/nm", "mrad", "A^-1", "rad" };
    for (guint u = 0; u < G_N_ELEMENTS (reciprocal); u++) { /* units win over a tag that says otherwise */
      dm.swapped = scan_first;
      for (int axis = 0; axis < 4; axis++)
        dm.units[axis] = (axis < 2) == !scan_first ? reciprocal[u] : "µm";
      g_free (save_dm (folder, &dm, scan_first));
      assert_scan (path, SB_U16, 65535);
    }
    if (scan_first) {
      SbAcquisition *a = open_good (path, NULL);
      assert_warned (a, "pixel by pixel");
      acquisition_free (a);
    }
  }
  Dm silent = base; /* neither units nor the tag: said, not guessed in silence */
  const int first[4] = { 5, 4, 3, 2 };
  memcpy (silent.size, first, sizeof first);
  g_autofree char *path = save_dm (folder, &silent, FALSE);
  SbAcquisition *a = open_good (path, NULL);
  assert_warned (a, "does not say which of its axes");
  acquisition_free (a);
  silent.rank = 3; /* a series of frames: the scan is to be given */
  silent.size[2] = 6;
  g_free (save_dm (folder, &silent, FALSE));
  assert_refused (path, NULL, SB_ERROR_ARGUMENT, "scan_shape", NULL);
  SbAcquisitionOptions shape = scan_of (2, 3);
  a = open_good (path, &shape);
  assert_known (a, 0, 6, 0, 65535);
  acquisition_free (a);
  drop_folder (folder);
}

/* py4DSTEM PR#410, #333, #338, #715: units of every kind, and detector pixels that are no squares. */
static void
test_calibration (void)
{
  Dm dm = { .version = 4,
            .data_type = 10,
            .array_type = 4,
            .bytes = 2,
            .rank = 4,
            .swapped = -1,
            .most = 9,
            .volts = 80000,
            DETECTOR_FIRST };
  double lambda = optics_wavelength (80), mrad = 0.02 * lambda * 1e3;
  const struct {
    const char *units;
    double scale;
  } same[] = { { "1/nm", 0.2 },  { "1/Å", 0.02 },       { "A^-1", 0.02 }, { "[1/nm]", 0.2 },
               { "mrad", mrad }, { "rad", mrad / 1e3 }, { "nm^-1", -0.2 } };
  char *folder = new_folder ();
  g_autofree char *path = save_dm (folder, &dm, FALSE);
  for (guint i = 0; i < G_N_ELEMENTS (same); i++) {
    dm.units[0] = dm.units[1] = same[i].units;
    dm.scale[0] = dm.scale[1] = same[i].scale;
    g_free (save_dm (folder, &dm, FALSE));
    SbAcquisition *a = open_good (path, NULL);
    g_assert_cmpfloat (a->header.energy, ==, 80);
    double sampling = isnan (a->header.sampling) ? a->header.reciprocal * lambda * 1e3 : a->header.sampling;
    g_assert_cmpfloat (fabs (sampling / mrad - 1), <, 1e-6);
    g_assert_cmpfloat (a->header.step[0], ==, 2.5); /* rows: the slower axis */
    g_assert_cmpfloat (a->header.step[1], ==, 5);
    acquisition_free (a);
  }
  dm.units[0] = dm.units[1] = "furlong";
  g_free (save_dm (folder, &dm, FALSE));
  assert_refused (path, NULL, SB_ERROR_DATA, "furlong", NULL);
  dm.units[0] = dm.units[1] = "1/nm";
  dm.scale[0] = 0.3;
  g_free (save_dm (folder, &dm, FALSE));
  assert_refused (path, NULL, SB_ERROR_DATA, "only square pixels", NULL);
  dm.scale[0] = dm.scale[1] = NAN;
  dm.volts = -5;
  g_free (save_dm (folder, &dm, FALSE));
  SbAcquisition *a = open_good (path, NULL);
  g_assert_true (isnan (a->header.sampling) && isnan (a->header.energy));
  acquisition_free (a);
  drop_folder (folder);
}

static void
test_refused (void)
{
  Dm dm = { .version = 4, .data_type = 3, .array_type = 4, .bytes = 2, .rank = 4, .swapped = -1, .most = 9, DETECTOR_FIRST };
  char *folder = new_folder ();
  g_autofree char *path = save_dm (folder, &dm, FALSE);
  assert_refused (path, NULL, SB_ERROR_DATA, "type 3", NULL); /* complex */
  dm.data_type = 10;
  dm.rank = 2;
  g_free (save_dm (folder, &dm, FALSE));
  assert_refused (path, NULL, SB_ERROR_DATA, "no image of three or four axes", NULL);
  dm.rank = 4;
  g_autoptr (GByteArray) bytes = make_dm (&dm, FALSE);
  const guint8 dimension[] = { 0, 0, 0, 0, 0, 0, 0, 5, 3, 0, 0, 0 }; /* type 5, the 3 */
  for (guint i = 0; i + sizeof dimension < bytes->len; i++)
    if (memcmp (bytes->data + i, dimension, sizeof dimension) == 0)
      memset (bytes->data + i + 8, 0x7f, 4);
  g_free (save_bytes (folder, "x.dm4", bytes));
  assert_refused (path, NULL, SB_ERROR_DATA, "fewer numbers than its axes", NULL);
  for (guint seed = 0; seed < 400; seed++) { /* any two bytes wrong: a sentence or a file, never more */
    g_autoptr (GByteArray) hurt = make_dm (&dm, seed % 2);
    g_autoptr (GError) error = NULL;
    hurt->data[known (seed, 1, hurt->len - 1)] ^= (guint8)(1 + known (seed, 2, 254));
    hurt->data[known (seed, 3, hurt->len - 1)] = 255;
    g_free (save_bytes (folder, "x.dm4", hurt));
    SbAcquisition *a = acquisition_open (path, NULL, &error);
    g_assert_true ((a == NULL) == (error != NULL));
    if (a != NULL)
      acquisition_free (a);
  }
  drop_folder (folder);
}

/* The tags that say the shape stand behind the data: a file cut within them cannot be read in part. */
static void
test_cuts (void)
{
  const Dm frames = {
    .version = 4, .data_type = 10, .array_type = 4, .bytes = 2, .rank = 4, .swapped = -1, .most = 65535, DETECTOR_FIRST
  };
  const Dm pixels = {
    .version = 3, .data_type = 10, .array_type = 4, .bytes = 2, .rank = 4, .swapped = -1, .most = 65535, SCAN_FIRST
  };
  char *folder = new_folder ();
  for (int i = 0; i < 2; i++) {
    g_autoptr (GByteArray) bytes = make_dm (i ? &pixels : &frames, i);
    g_autofree char *path = save_bytes (folder, "x.dm4", bytes);
    try_cuts (path, bytes, 16, 2, 3, 65535);
    write_file (path, bytes->data, bytes->len / 2);
    assert_refused (path, NULL, SB_ERROR_IO, "truncated", NULL);
  }
  drop_folder (folder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/formats/dm4/types", test_types);
  g_test_add_func ("/formats/dm4/axis-order", test_axis_order);
  g_test_add_func ("/formats/dm4/calibration", test_calibration);
  g_test_add_func ("/formats/dm4/refused", test_refused);
  g_test_add_func ("/formats/dm4/cuts", test_cuts);
  return g_test_run ();
}
