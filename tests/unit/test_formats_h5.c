/* EMD, NeXus, HyperSpy, Nion and plain HDF5: where the frames are found, and what the axes say. */
#include "tests/unit/h5_scenes.h"

static char *folder;

static char *
path_of (const char *name)
{
  return g_build_filename (folder, name, NULL);
}

/* 3 x 5 frames in 4 axes, in every layout and every range of frames. */
static void
test_four_axes (void)
{
  const hid_t plans[] = { H5P_DEFAULT,
                          chunked4 (1, 1, ROWS, COLS),
                          chunked4 (1, 5, ROWS, COLS),
                          chunked4 (2, 2, 4, 3),
                          chunked4 (3, 5, ROWS, COLS),
                          chunked4 (2, 3, ROWS, COLS),
                          chunked4 (1, 2, ROWS, 2) };
  H5Pset_deflate (plans[5], 3);
  for (guint k = 0; k < G_N_ELEMENTS (plans); k++) {
    hid_t file = new_file (folder, "four.h5", FALSE);
    put_stack (file, "/anything/at/all", 3, 5, 0, plans[k]);
    H5Fclose (file);
    g_autofree char *path = path_of ("four.h5");
    SbAcquisition *a = open_good (path, NULL);
    g_assert_cmpstr (a->format->name, ==, "hdf5");
    g_assert_cmpint (a->scan_rows, ==, 3);
    g_assert_cmpint (a->scan_cols, ==, 5);
    for (gint64 first = 0; first < 15; first++)
      for (gint64 n = 1; n <= 15 - first; n++)
        assert_images (a, first, n, 1, 0);
    acquisition_free (a);
  }
}

static void
test_dataset (void)
{
  static const SbAcquisitionOptions second = { .dataset = (char *)"b/frames" }, none = { .dataset = (char *)"c" },
                                    shaped = { .dataset = (char *)"/three", .scan_shape = { 2, 3 } };
  hid_t file = new_file (folder, "two.h5", FALSE);
  put_stack (file, "/a/frames", 2, 3, 0, H5P_DEFAULT);
  put_stack (file, "/b/frames", 2, 3, 6, H5P_DEFAULT);
  put_frames (file, "/three", 3, 12, 6, H5P_DEFAULT, 0);
  H5Lcreate_soft ("/b/frames", file, "/soft", H5P_DEFAULT, H5P_DEFAULT);
  H5Fclose (file);
  g_autofree char *path = path_of ("two.h5");
  assert_refused (path, NULL, SB_ERROR_ARGUMENT, "two.h5 holds 2 arrays of 4 axes", "give dataset", "/a/frames, /b/frames",
                  NULL);
  assert_refused (path, &none, SB_ERROR_DATA, "no dataset /c", NULL);
  SbAcquisition *a = open_good (path, &second);
  assert_images (a, 0, 6, 1, 6);
  acquisition_free (a);
  a = open_good (path, &shaped);
  assert_images (a, 0, 6, 1, 12);
  acquisition_free (a);
  a = open_good (path, &(SbAcquisitionOptions){ .dataset = (char *)"soft" });
  assert_images (a, 0, 6, 1, 6);
  acquisition_free (a);
}

/* ---- EMD ---- */

static void
put_emd (hid_t file, const char *group, const char *units[2], const double steps[4])
{
  g_autofree char *data = g_strconcat (group, "/data", NULL);
  put_stack (file, data, 2, 3, 0, H5P_DEFAULT);
  put_mark (file, group, "emd_group_type", "array");
  for (int i = 0; i < 4; i++) {
    g_autofree char *dim = g_strdup_printf ("%s/dim%d", group, i);
    put_axis (file, dim, 2, steps[i], units[i / 2]);
  }
}

static SbAcquisition *
open_emd (const char *scan, const char *detector, const double steps[4])
{
  const char *units[2] = { scan, detector };
  hid_t file = new_file (folder, "emd.h5", FALSE);
  put_mark (file, "/", "emd_group_type", "file");
  put_emd (file, "/root/cube", units, steps);
  H5Fclose (file);
  g_autofree char *path = path_of ("emd.h5");
  SbAcquisition *a = open_good (path, NULL);
  g_assert_cmpstr (a->format->name, ==, "emd");
  assert_images (a, 0, 6, 1, 0);
  return a;
}

static void
test_emd (void)
{
  static const double steps[4] = { 0.04, 0.05, 0.02, 0.02 };
  SbAcquisition *a = open_emd ("nm", "A^-1", steps);
  g_assert_cmpfloat_with_epsilon (a->header.step[0], 0.4, 1e-12); /* anisotropic */
  g_assert_cmpfloat_with_epsilon (a->header.step[1], 0.5, 1e-12);
  g_assert_cmpfloat_with_epsilon (a->header.reciprocal, 0.02, 1e-12);
  g_assert_true (isnan (a->header.sampling));
  acquisition_free (a);
  a = open_emd ("A", "mrad", steps);
  g_assert_cmpfloat_with_epsilon (a->header.step[1], 0.05, 1e-12);
  g_assert_cmpfloat_with_epsilon (a->header.sampling, 0.02, 1e-12);
  acquisition_free (a);
  a = open_emd ("pixels", "pixels", steps);
  g_assert_true (isnan (a->header.step[0]) && isnan (a->header.sampling) && isnan (a->header.reciprocal));
  acquisition_free (a);
}

/* Older files: a number as the mark, dims from 1, full vectors, calibration in a record. */
static void
test_emd_old (void)
{
  hid_t file = new_file (folder, "old.emd", FALSE);
  put_stack (file, "/4DSTEM_experiment/data/datacubes/one/data", 2, 3, 0, H5P_DEFAULT);
  put_mark_number (file, "/4DSTEM_experiment/data/datacubes/one", "emd_group_type", 1);
  put_axis (file, "/4DSTEM_experiment/data/datacubes/one/dim1", 2, 0.3, "[n_m]");
  put_axis (file, "/4DSTEM_experiment/data/datacubes/one/dim2", 3, 0.2, "[n_m]");
  put_axis (file, "/4DSTEM_experiment/data/datacubes/one/dim3", ROWS, 0.1, "[n_m^-1]");
  put_axis (file, "/4DSTEM_experiment/data/datacubes/one/dim4", COLS, 0.1, "[n_m^-1]");
  H5Fclose (file);
  g_autofree char *path = path_of ("old.emd");
  SbAcquisition *a = open_good (path, NULL);
  g_assert_cmpfloat_with_epsilon (a->header.step[0], 3, 1e-12);
  g_assert_cmpfloat_with_epsilon (a->header.step[1], 2, 1e-12);
  g_assert_cmpfloat_with_epsilon (a->header.reciprocal, 0.01, 1e-12);
  acquisition_free (a);
}

static void
test_emd_real (void)
{
  g_autofree char *cube = shared_path ("samples/emd/py4DSTEM_size2x3x4x5.h5"),
                  *prismatic = shared_path ("samples/emd/Si100_4D.emd"),
                  *velox = shared_path ("samples/emd/fei_example_tem_stack.emd");
  static const SbAcquisitionOptions second = { .dataset = (char *)"/4DSTEM_simulation/data/datacubes/CBED_array_depth0001" };
  if (cube == NULL || prismatic == NULL || velox == NULL)
    return;
  SbAcquisition *a = open_good (cube, NULL);
  g_assert_cmpint (a->scan_rows, ==, 2);
  g_assert_cmpint (a->scan_cols, ==, 3);
  g_assert_cmpint (a->header.detector_rows, ==, 4);
  g_assert_cmpint (a->header.detector_cols, ==, 5);
  g_assert_cmpfloat_with_epsilon (a->header.step[0], 1.26796875, 1e-9);
  g_assert_cmpfloat_with_epsilon (a->header.reciprocal, 0.044251566616087125, 1e-12);
  acquisition_free (a);
  assert_refused (prismatic, NULL, SB_ERROR_ARGUMENT, "CBED_array_depth0000", "CBED_array_depth0001", "dataset", NULL);
  a = open_good (prismatic, &second);
  g_assert_cmpint (a->scan_rows, ==, 11);
  g_assert_cmpfloat_with_epsilon (a->header.step[0], 0.5, 1e-6); /* its "n_m" are angstrom */
  g_assert_cmpfloat_with_epsilon (a->header.reciprocal, 1 / 5.43, 1e-5);
  g_assert_cmpfloat (a->header.energy, ==, 100);
  g_assert_cmpfloat (a->header.semiangle, ==, 30);
  g_assert_true (warned (a, "angstrom"));
  acquisition_free (a);
  assert_refused (velox, NULL, SB_ERROR_DATA, "Velox", NULL);
}

/* ---- NeXus ---- */

static void
test_nexus (void)
{
  static const char *const axes[4] = { "y", "x", "ky", "kx" };
  g_autofree char *path = path_of ("n.nxs"), *other = path_of ("frames.h5");
  hid_t file = new_file (folder, "frames.h5", FALSE);
  put_stack (file, "/raw/frames", 2, 3, 4, H5P_DEFAULT);
  H5Fclose (file);
  file = new_file (folder, "n.nxs", FALSE);
  put_group (file, "/scan/picture");
  put_stack (file, "/scan/noise", 1, 2, 0, H5P_DEFAULT);
  put_mark (file, "/", "default", "scan");
  put_mark (file, "/scan", "default", "picture");
  put_mark (file, "/scan/picture", "NX_class", "NXdata");
  put_mark (file, "/scan/picture", "signal", "counts");
  H5Lcreate_external ("C:\\elsewhere\\frames.h5", "/raw/frames", file, "/scan/picture/counts", H5P_DEFAULT, H5P_DEFAULT);
  put_texts (file, "/scan/picture", "axes", 4, axes);
  put_axis (file, "/scan/picture/y", 2, 30, "pm");
  put_axis (file, "/scan/picture/x", 3, 40, "pm");
  put_axis (file, "/scan/picture/ky", ROWS, 0.001, "rad");
  put_axis (file, "/scan/picture/kx", COLS, 0.001, "rad");
  put_number (file, "/scan/instrument/beam/incident_wavelength", 0.0250793, "angstrom");
  H5Fclose (file);
  SbAcquisition *a = open_good (path, NULL);
  g_assert_cmpstr (a->format->name, ==, "nexus");
  assert_images (a, 0, 6, 1, 4);
  g_assert_cmpfloat_with_epsilon (a->header.step[0], 0.3, 1e-12);
  g_assert_cmpfloat_with_epsilon (a->header.step[1], 0.4, 1e-12);
  g_assert_cmpfloat_with_epsilon (a->header.sampling, 1, 1e-12);
  g_assert_cmpfloat_with_epsilon (a->header.energy, 200, 0.01);
  acquisition_free (a);
  g_assert_cmpint (g_remove (other), ==, 0);
  assert_refused (path, NULL, SB_ERROR_IO, "frames.h5 is missing", NULL);
}

/* ---- HyperSpy and Nion ---- */

static void
test_hyperspy (void)
{
  static const double steps[4] = { 0.1, 0.1, 1.5, 1.5 };
  hid_t file = new_file (folder, "h.hspy", FALSE);
  put_stack (file, "/Experiments/one/data", 2, 3, 0, chunked4 (1, 1, ROWS, COLS));
  for (int i = 0; i < 4; i++) {
    g_autofree char *axis = g_strdup_printf ("/Experiments/one/axis-%d", i);
    put_group (file, axis);
    put_mark_number (file, axis, "scale", steps[i]);
    put_mark (file, axis, "units", i < 2 ? "nm" : "mrad");
  }
  put_group (file, "/Experiments/one/metadata/Acquisition_instrument/TEM");
  put_mark_number (file, "/Experiments/one/metadata/Acquisition_instrument/TEM", "beam_energy", 200);
  H5Fclose (file);
  g_autofree char *path = path_of ("h.hspy");
  SbAcquisition *a = open_good (path, NULL);
  assert_images (a, 0, 6, 1, 0);
  g_assert_cmpfloat_with_epsilon (a->header.step[0], 1, 1e-12);
  g_assert_cmpfloat_with_epsilon (a->header.sampling, 1.5, 1e-12);
  g_assert_cmpfloat (a->header.energy, ==, 200);
  acquisition_free (a);
}

static void
test_nion (void)
{
  static const char *const json =
      "{\"dimensional_calibrations\": [{\"offset\": -1, \"scale\": 0.02, \"units\": \"nm\"}, {\"scale\": 0.03, "
      "\"units\": \"nm\"}, {\"scale\": 0.0005, \"units\": \"rad\"}, {\"scale\": 0.0005, \"units\": \"rad\"}], "
      "\"metadata\": {\"instrument\": {\"high_tension\": 60000}}}";
  for (int broken = 0; broken < 2; broken++) {
    hid_t file = new_file (folder, "nion.h5", FALSE);
    put_stack (file, "/data/4f1c", 2, 3, 0, H5P_DEFAULT);
    put_mark (file, "/data/4f1c", "properties", broken ? "{\"dim" : json);
    H5Fclose (file);
    g_autofree char *path = path_of ("nion.h5");
    SbAcquisition *a = open_good (path, NULL);
    g_assert_cmpstr (a->format->name, ==, "nion");
    assert_images (a, 0, 6, 1, 0);
    g_assert_true (warned (a, "metadata") == broken);
    if (!broken) {
      g_assert_cmpfloat_with_epsilon (a->header.step[0], 0.2, 1e-12);
      g_assert_cmpfloat_with_epsilon (a->header.step[1], 0.3, 1e-12);
      g_assert_cmpfloat_with_epsilon (a->header.sampling, 0.5, 1e-12);
      g_assert_cmpfloat (a->header.energy, ==, 60);
    }
    acquisition_free (a);
  }
}

/* ---- damage ---- */

/* Small files of every kind, with small groups kept in their headers. */
static char *
put_small (int kind)
{
  static const char *const names[] = { "d.emd", "d.hspy", "d.nxs", "d_nion.h5" };
  static const char *const units[2] = { "nm", "A^-1" };
  static const double steps[4] = { 1, 1, 1, 1 };
  hid_t file = new_file (folder, names[kind], TRUE);
  if (kind == 0)
    put_emd (file, "/cube", (const char **)units, steps);
  else if (kind == 1) {
    put_stack (file, "/Experiments/data", 2, 3, 0, chunked4 (1, 1, ROWS, COLS));
    H5Lcreate_soft ("/Experiments", file, "/round", H5P_DEFAULT, H5P_DEFAULT);
  } else if (kind == 2) {
    put_stack (file, "/entry/s", 2, 3, 0, H5P_DEFAULT);
    put_mark (file, "/entry", "NX_class", "NXdata");
    put_mark (file, "/entry", "signal", "s");
  } else {
    put_stack (file, "/data", 2, 3, 0, H5P_DEFAULT);
    put_mark (file, "/data", "properties", "{}");
  }
  H5Fclose (file);
  return path_of (names[kind]);
}

/* One sentence that names the file, or frames; whatever byte is wrong, wherever the file ends. */
static void
try_damaged (const char *path)
{
  g_autoptr (GError) error = NULL;
  SbAcquisition *a = acquisition_open (path, NULL, &error);
  if (a != NULL && a->header.frames <= 64 && pixels_of (a) < 4096) {
    g_autofree gpointer frames = read_frames (a, 0, a->header.frames, &error);
    g_assert_true (frames != NULL || error != NULL);
  }
  g_assert_true (a != NULL || error != NULL);
  if (error != NULL && (!g_str_has_suffix (error->message, ".") || strstr (error->message, folder) == NULL))
    g_error ("\"%s\" does not name the file", error->message);
  acquisition_free (a);
}

static void
test_damage (gconstpointer kind)
{
  g_autofree char *path = put_small (GPOINTER_TO_INT (kind)), *bytes = NULL;
  gsize n;
  g_assert_true (g_file_get_contents (path, &bytes, &n, NULL));
  for (gsize i = 0; i < n; i += 23) {
    char whole = bytes[i];
    bytes[i] = (char)(whole ^ (i % 2 ? 0xff : 0x05));
    write_file (path, bytes, n);
    try_damaged (path);
    bytes[i] = whole;
  }
  for (gsize at = 0; at < n; at += 64) {
    write_file (path, bytes, at);
    try_damaged (path);
  }
  g_assert_cmpint (g_remove (path), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  folder = new_folder ();
  g_test_add_func ("/formats/h5/four-axes", test_four_axes);
  g_test_add_func ("/formats/h5/dataset", test_dataset);
  g_test_add_func ("/formats/h5/emd", test_emd);
  g_test_add_func ("/formats/h5/emd-old", test_emd_old);
  g_test_add_func ("/formats/h5/emd-real", test_emd_real);
  g_test_add_func ("/formats/h5/nexus", test_nexus);
  g_test_add_func ("/formats/h5/hyperspy", test_hyperspy);
  g_test_add_func ("/formats/h5/nion", test_nion);
  for (int kind = 0; kind < 4; kind++) {
    g_autofree char *name = g_strdup_printf ("/formats/h5/damage/%d", kind);
    g_test_add_data_func (name, GINT_TO_POINTER (kind), test_damage);
  }
  int failed = g_test_run ();
  drop_folder (folder);
  return failed;
}
