/* Files at the edge of what can be used, and the cases that readers must tell apart, through the commands themselves. */
#include "tests/unit/edge.h"
#include "tests/unit/frames.h"

/* ---- nothing to read ---- */

static void
test_no_frames (void)
{
  SbEngine *engine = engine_of_two ();
  const double nowhere[2] = { NAN, NAN };
  GError *error = NULL;
  SbAcquisitionOptions options;
  param_group_defaults (&acquisition_params, &options);
  options.scan_shape[0] = options.scan_shape[1] = 4;
  options.detector_shape[0] = options.detector_shape[1] = 16;
  options.dtype = g_strdup ("uint8");
  SbAcquisition *acquisition = acquisition_new (&options, &error);
  g_assert_no_error (error);
  SbGather *gather = gather_new (engine, acquisition, nowhere, NAN, &error);
  g_assert_null (gather_finish (gather, &error));
  assert_sentence (error, (const char *const[]){ "Only 0 of the 16 frames", "frame 0", "push", NULL });
  g_clear_error (&error);
  gather_free (gather);
  acquisition_free (acquisition);
  options.scan_shape[0] = 0;
  g_assert_null (acquisition_new (&options, &error));
  assert_sentence (error, (const char *const[]){ "scan_shape", NULL });
  g_clear_error (&error);
  param_group_clear (&acquisition_params, &options);
  engine_free (engine);
}

/* ---- the cases of other people's files ---- */

static SbResult *
run_file (const char *path, const SbAcquisitionOptions *options, Command command, GError **error)
{
  SbAcquisition *acquisition = acquisition_open (path, options, error);
  if (acquisition == NULL)
    return NULL;
  SbEngine *engine = engine_of_two ();
  SbWork *work = work_new (engine, acquisition);
  Options *o = options_new (30);
  o->optics = (SbOpticsOptions){ 300, 30, { 1, 1 } };
  SbResult *result = command (work, &o->pipeline, NULL, error);
  options_free (o);
  work_free (work);
  acquisition_free (acquisition);
  engine_free (engine);
  return result;
}

/* The disk at 11.30, 9.20 with 5.00 pixels, within half a pixel; calibrated, fitted and reconstructed without a NaN. */
static void
test_good_files (void)
{
  static const char *const names[] = { "ok_u16",
                                       "ok_u8",
                                       "ok_u32",
                                       "ok_be16",
                                       "ok_lz4",
                                       "ok_none",
                                       "ok_chunk4",
                                       "flyback2",
                                       "no_mask",
                                       "hot_pixel",
                                       "empty_frame",
                                       "no_sidecar",
                                       "\303\234n\303\257code dir \345\233\233 d/spaced" };
  SbAcquisitionOptions options;
  param_group_defaults (&acquisition_params, &options);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autofree char *name = g_strdup_printf ("cases/%s_master.h5", names[i]), *path = data_path (name);
    gboolean told = strcmp (names[i], "no_sidecar") == 0;
    GError *error = NULL;
    options.scan_shape[0] = told ? 6 : 0;
    options.scan_shape[1] = told ? 7 : 0;
    SbResult *result = run_file (path, &options, pipeline_run, &error);
    g_assert_no_error (error);
    assert_finite (result);
    g_test_message ("%s: centre %.3f %.3f, radius %.3f, masked %g, hot %g", names[i], item (result, "calibration.centre", 0),
                    item (result, "calibration.centre", 1), number_of (result, "calibration.radius"),
                    number_of (result, "acquisition.masked_pixels"), number_of (result, "acquisition.hot_pixels"));
    near (item (result, "acquisition.scan_shape", 0), 6, 0);
    near (item (result, "acquisition.scan_shape", 1), 7, 0);
    near (number_of (result, "acquisition.masked_pixels"), strcmp (names[i], "no_mask") == 0 ? 0 : 2, 0);
    near (number_of (result, "acquisition.hot_pixels"), strcmp (names[i], "hot_pixel") == 0, 0);
    near (item (result, "calibration.centre", 0), 11.3, 0.5);
    near (item (result, "calibration.centre", 1), 9.2, 0.5);
    near (number_of (result, "calibration.radius"), 5, 0.5);
    result_free (result);
  }
  param_group_clear (&acquisition_params, &options);
}

static void
test_bad_files (void)
{
  static const struct {
    const char *name;
    gboolean partial;
    const char *says[5];
  } files[] = {
    { "no_sidecar", FALSE, { "42 frames", "scan_shape", "6,7", "7,6" } },
    { "missing_mid", FALSE, { "missing_mid_data_000002.h5", "missing" } },
    { "missing_last", FALSE, { "missing_last_data_000003.h5", "32 of 42", "4 complete rows", "partial" } },
    { "missing_last", TRUE, { "Only 10 scan frequencies", "4 x 7" } },
    { "trunc_data", FALSE, { "trunc_data_data_000002.h5", "truncated" } },
    { "all_zero", FALSE, { "No bright-field disk" } },
    { "corrupt_chunk", FALSE, { "corrupt_chunk_data_000001.h5", "frame 3 " } },
  };
  static const Command commands[] = { pipeline_info, pipeline_calibrate, pipeline_run };
  SbAcquisitionOptions options;
  param_group_defaults (&acquisition_params, &options);
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    for (guint k = 0; k < G_N_ELEMENTS (commands); k++) {
      g_autofree char *name = g_strdup_printf ("cases/%s_master.h5", files[i].name), *path = data_path (name);
      gboolean corrupt = strcmp (files[i].name, "corrupt_chunk") == 0;
      GError *error = NULL;
      options.partial = files[i].partial;
      options.scan_shape[0] = options.scan_shape[1] = 0;
      if (corrupt) { /* no sidecar */
        options.scan_shape[0] = 6;
        options.scan_shape[1] = 7;
      }
      SbResult *result = run_file (path, &options, commands[k], &error);
      if (result != NULL) { /* info describes what it can */
        g_assert_true (commands[k] == pipeline_info);
        assert_finite (result);
        g_assert_true (warned (result, files[i].says[0]));
        result_free (result);
        continue;
      }
      assert_sentence (error, files[i].says);
      g_clear_error (&error);
    }
  param_group_clear (&acquisition_params, &options);
}

/* A .npy file of the given shape, filled with a few bytes a frame. */
static char *
write_npy (const char *folder, const char *shape, gsize bytes)
{
  char *path = g_build_filename (folder, "x.npy", NULL);
  g_autofree char *text = g_strdup_printf ("{'descr': '|u1', 'fortran_order': False, 'shape': (%s), }", shape);
  gsize header = strlen (text) + 11 + 63;
  header -= header % 64;
  g_autofree char *file = g_malloc0 (header + bytes);
  memset (file, ' ', header);
  memcpy (file, "\x93NUMPY\x01\x00", 8);
  file[8] = (char)((header - 10) & 255);
  file[9] = (char)((header - 10) >> 8);
  memcpy (file + 10, text, strlen (text));
  file[header - 1] = '\n';
  for (gsize i = 0; i < bytes; i++)
    file[header + i] = (char)(i % 7);
  write_file (path, file, header + bytes);
  return path;
}

static void
test_empty_files (void)
{
  static const char *const names[] = { "x.npy", "x.h5", "x_master.h5", "x.raw", "x.bin" };
  SbAcquisitionOptions options;
  char *folder = new_folder ();
  GError *error = NULL;
  param_group_defaults (&acquisition_params, &options);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autofree char *path = g_build_filename (folder, names[i], NULL);
    write_file (path, "", 0);
    g_assert_null (acquisition_open (path, &options, &error));
    assert_sentence (error, (const char *const[]){ names[i], NULL });
    g_clear_error (&error);
  }
  g_autofree char *none = write_npy (folder, "0, 5, 12, 12", 0);
  g_assert_null (acquisition_open (none, &options, &error));
  assert_sentence (error, (const char *const[]){ "x.npy holds no frames", NULL });
  g_clear_error (&error);
  g_autofree char *one = write_npy (folder, "1, 1, 12, 12", 144);
  SbEngine *engine = engine_of_two ();
  Options *o = options_new (30);
  o->optics = (SbOpticsOptions){ 300, 30, { 0.4, 0.4 } };
  SbAcquisition *acquisition = acquisition_open (one, &options, &error);
  g_assert_no_error (error);
  SbWork *work = work_new (engine, acquisition);
  g_assert_null (pipeline_run (work, &o->pipeline, NULL, &error));
  assert_sentence (error, (const char *const[]){ "1 x 1 points", "scan_shape", NULL });
  g_clear_error (&error);
  work_free (work);
  acquisition_free (acquisition);
  options_free (o);
  engine_free (engine);
  drop_folder (folder);
  param_group_clear (&acquisition_params, &options);
}

/* Two files of real detectors. */
static void
test_real_files (void)
{
  g_autofree char *zeros = shared_path ("samples/arina_rsciio/test_00_master.h5");
  g_autofree char *bare = shared_path ("samples/arina_openncem_missing_data/au_145mm_68kx_microprobe_01_master.h5");
  SbAcquisitionOptions options;
  GError *error = NULL;
  if (zeros == NULL || bare == NULL)
    return;
  param_group_defaults (&acquisition_params, &options);
  g_assert_null (run_file (zeros, &options, pipeline_run, &error));
  assert_sentence (error, (const char *const[]){ "No bright-field disk", NULL });
  g_clear_error (&error);
  g_assert_null (run_file (bare, &options, pipeline_run, &error));
  assert_sentence (error, (const char *const[]){ "au_145mm_68kx_microprobe_01_data_000001.h5 is missing", NULL });
  g_clear_error (&error);
  param_group_clear (&acquisition_params, &options);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/edge_files/no_frames", test_no_frames);
  g_test_add_func ("/edge_files/empty_files", test_empty_files);
  g_test_add_func ("/edge_files/good_files", test_good_files);
  g_test_add_func ("/edge_files/bad_files", test_bad_files);
  g_test_add_func ("/edge_files/real_files", test_real_files);
  return g_test_run ();
}
