/* Results: parameters that reproduce, files only where they are asked for, saving and opening. argv[1]: an
 * acquisition. */
#include <jansson.h>

#include <glib/gstdio.h>
#include <malloc.h>

#include "tests/abi/abi.h"

/* Known, so that a calibration takes no time. */
#define KNOWN "\"semiangle\": 30, \"rotation\": 0, \"orientation\": \"identity\""

static const char *acquisition;
static sb_session *session;
static sb_data *data;
static char *folder;

static char *
in_folder (const char *name)
{
  return g_build_filename (folder, name, NULL);
}

static guint
files_in (const char *path)
{
  guint n = 0;
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  while (dir != NULL && g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

static sb_job *
finished (const char *command, const char *json)
{
  sb_job *job = NULL;
  ABI_STATUS (sb_job_new (&job, session, command, data, json), SB_OK);
  ABI_STATUS (sb_job_start (job), SB_OK);
  ABI_STATUS (sb_job_wait (job, -1), SB_OK);
  g_assert_nonnull (sb_job_result (job));
  return job;
}

static json_t *
info_of (const sb_result *result)
{
  json_error_t at;
  json_t *info = json_loads (sb_result_info (result), JSON_REJECT_DUPLICATES, &at);
  g_assert_nonnull (info);
  return info;
}

static json_t *
parameters_of (sb_job *job)
{
  json_t *info = info_of (sb_job_result (job));
  json_t *parameters = json_incref (json_object_get (info, "parameters"));
  g_assert_true (json_is_object (parameters));
  json_decref (info);
  return parameters;
}

static void
test_info (void)
{
  json_error_t at;
  json_t *info = json_loads (sb_data_info (data), JSON_REJECT_DUPLICATES, &at), *a = json_object_get (info, "acquisition");
  g_assert_nonnull (a);
  g_assert_cmpint (json_array_size (json_object_get (a, "scan_shape")), ==, 2);
  g_assert_cmpint (json_array_size (json_object_get (a, "detector_shape")), ==, 2);
  g_assert_cmpint (json_integer_value (json_object_get (a, "frames")), >, 0);
  g_assert_true (json_is_array (json_object_get (a, "warnings")));
  json_decref (info);
}

/* What a host sees before any job: the frames it reads and the mean pattern of some of them. */
static void
test_frames (void)
{
  int64_t shape[2], frames;
  json_error_t at;
  json_t *info = json_loads (sb_data_info (data), 0, &at), *a = json_object_get (info, "acquisition");
  for (int i = 0; i < 2; i++)
    shape[i] = json_integer_value (json_array_get (json_object_get (a, "detector_shape"), (size_t)i));
  frames = json_integer_value (json_object_get (a, "frames"));
  g_assert_cmpstr (json_string_value (json_object_get (a, "dtype")), ==, "uint16");
  json_decref (info);
  gsize n = (gsize)(shape[0] * shape[1]);
  g_autofree guint16 *two = g_new (guint16, 2 * n);
  g_autofree guint16 *one = g_new (guint16, n);
  g_autofree float *look = g_new0 (float, n);
  sb_view pair = abi_view (two, SB_DTYPE_U16, 3, 2, shape[0], shape[1]);
  sb_view single = abi_view (one, SB_DTYPE_U16, 2, shape[0], shape[1], 0);
  sb_view image = abi_view (look, SB_DTYPE_F32, 2, shape[0], shape[1], 0);
  ABI_STATUS (sb_data_frames (data, frames - 2, 2, &pair), SB_OK);
  ABI_STATUS (sb_data_frames (data, frames - 1, 1, &single), SB_OK);
  g_assert_cmpmem (two + n, n * sizeof *two, one, n * sizeof *one);
  ABI_FAILS (sb_data_frames (data, frames - 1, 2, &pair), SB_ARGUMENT, "frames");
  single.dtype = SB_DTYPE_F32;
  ABI_FAILS (sb_data_frames (data, 0, 1, &single), SB_ARGUMENT, "uint16");
  single.dtype = SB_DTYPE_U16;
  single.strides[0] = 2;
  single.strides[1] = 2 * shape[0];
  ABI_FAILS (sb_data_frames (data, 0, 1, &single), SB_ARGUMENT, "C-contiguous");
  ABI_STATUS (sb_data_preview (data, "mean_pattern", &image), SB_OK);
  double sum = 0, first = 0;
  for (gsize i = 0; i < n; i++) {
    sum += (double)look[i];
    first += one[i];
  }
  g_assert_cmpfloat (sum, >, 0.5 * first); /* frames hold much the same number of electrons */
  g_assert_cmpfloat (sum, <, 2 * first);
}

static void
test_no_files (void)
{
  g_autofree char *here = g_get_current_dir ();
  g_assert_cmpint (g_chdir (folder), ==, 0);
  guint before = files_in (folder);
  sb_job_free (finished ("calibrate", "{" KNOWN "}"));
  g_assert_cmpuint (files_in (folder), ==, before);
  g_assert_cmpint (g_chdir (here), ==, 0);
}

static void
test_files (void)
{
  g_autofree char *target = in_folder ("out");
  g_autofree char *json = g_strdup_printf ("{" KNOWN ", \"output\": \"%s\"}", target);
  g_assert_cmpint (g_mkdir (target, 0700), ==, 0);
  sb_job *job = finished ("calibrate", json);
  json_t *info = info_of (sb_job_result (job)), *files = json_object_get (info, "files");
  g_assert_cmpuint (json_array_size (files), >, 0);
  g_assert_cmpuint (json_array_size (files), ==, files_in (target));
  for (size_t i = 0; i < json_array_size (files); i++) {
    const char *path = json_string_value (json_array_get (files, i));
    g_test_message ("%s", path);
    g_assert_true (g_path_is_absolute (path));
    g_assert_true (g_file_test (path, G_FILE_TEST_IS_REGULAR));
  }
  json_decref (info);
  json_t *parameters = parameters_of (job);
  g_assert_null (json_object_get (parameters, "output"));
  json_decref (parameters);
  sb_job_free (job);
}

static void
test_no_folder (void)
{
  sb_job *job = NULL;
  g_autofree char *target = in_folder ("absent/folder/");
  g_autofree char *json = g_strdup_printf ("{" KNOWN ", \"output\": \"%s\"}", target);
  ABI_STATUS (sb_job_new (&job, session, "calibrate", data, json), SB_OK);
  ABI_STATUS (sb_job_start (job), SB_OK);
  ABI_FAILS (sb_job_wait (job, -1), SB_IO, "absent/folder");
  g_assert_null (sb_job_result (job));
  abi_check_sentence (sb_job_error (job), "absent/folder", "sb_job_error");
  sb_job_free (job);
}

static void
test_cancelled_files (void)
{
  sb_job *job = NULL;
  g_autofree char *target = in_folder ("cancelled");
  g_autofree char *json = g_strdup_printf ("{" KNOWN ", \"output\": \"%s\"}", target);
  g_assert_cmpint (g_mkdir (target, 0700), ==, 0);
  ABI_STATUS (sb_job_new (&job, session, "run", data, json), SB_OK);
  ABI_STATUS (sb_job_start (job), SB_OK);
  g_assert_cmpint (sb_job_wait (job, 50), ==, SB_RUNNING);
  sb_job_cancel (job);
  ABI_STATUS (sb_job_wait (job, -1), SB_CANCELLED);
  sb_job_free (job);
  g_assert_cmpuint (files_in (target), ==, 0);
}

/* A result's text is a parameter file: the next run takes the same parameters from it, and explicit ones win.
 */
static void
test_parameters (void)
{
  g_autofree char *path = in_folder ("parameters.json");
  g_autofree char *again = g_strdup_printf ("{\"params\": \"%s\"}", path);
  g_autofree char *other = g_strdup_printf ("{\"params\": \"%s\", \"edge\": 3}", path);
  sb_job *first = finished ("calibrate", "{" KNOWN ", \"centre\": [36, 36], \"edge\": 2}");
  g_assert_true (g_file_set_contents (path, sb_result_info (sb_job_result (first)), -1, NULL));
  sb_job *second = finished ("calibrate", again), *third = finished ("calibrate", other);
  json_t *a = parameters_of (first), *b = parameters_of (second), *c = parameters_of (third);
  g_assert_cmpfloat (json_number_value (json_object_get (a, "semiangle")), ==, 30);
  g_assert_cmpint (json_integer_value (json_object_get (a, "edge")), ==, 2);
  g_assert_true (json_equal (a, b));
  g_assert_cmpint (json_integer_value (json_object_get (c, "edge")), ==, 3);
  json_object_del (a, "edge");
  json_object_del (c, "edge");
  g_assert_true (json_equal (a, c));
  json_t *info = info_of (sb_job_result (first)), *source = json_object_get (info, "source");
  g_assert_cmpstr (json_string_value (json_object_get (info, "command")), ==, "calibrate");
  g_assert_nonnull (json_string_value (json_object_get (info, "version")));
  g_assert_cmpstr (json_string_value (json_object_get (info, "backend")), ==, "cpu");
  g_assert_true (g_path_is_absolute (json_string_value (json_object_get (source, "path"))));
  g_assert_cmpint (json_integer_value (json_object_get (source, "size")), >, 0);
  g_assert_true (g_str_has_suffix (json_string_value (json_object_get (source, "mtime")), "Z"));
  json_decref (info);
  json_decref (a);
  json_decref (b);
  json_decref (c);
  sb_job_free (first);
  sb_job_free (second);
  sb_job_free (third);
}

static void
test_wrong_parameters (void)
{
  static const struct {
    const char *text, *part;
  } wrong[] = {
    { "{\"semiangel\": 30}", "semiangle" },
    { "{\"semiangle\": \"x\"}", "mrad" },
    { "[]", "object" },
    { "{\"params\": \"a\"}", "another one" },
    { "{", "JSON" },
    { "", "JSON" },
  };
  g_autofree char *path = in_folder ("wrong.json");
  g_autofree char *json = g_strdup_printf ("{\"params\": \"%s\"}", path);
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++) {
    sb_job *job = NULL;
    g_assert_true (g_file_set_contents (path, wrong[i].text, -1, NULL));
    ABI_FAILS (sb_job_new (&job, session, "calibrate", data, json), SB_ARGUMENT, wrong[i].part);
    g_assert_nonnull (strstr (sb_error_message (), path));
  }
  sb_job *job = NULL; /* what belongs to data and session does no harm to a command */
  g_assert_true (g_file_set_contents (path, "{\"threads\": 3, \"scan_shape\": [9, 9], \"semiangle\": 30}", -1, NULL));
  ABI_STATUS (sb_job_new (&job, session, "calibrate", data, json), SB_OK);
  sb_job_free (job);
}

/* Every array comes back from the file as it was. */
static void
test_save_open (void)
{
  g_autofree char *path = in_folder ("saved_result.h5");
  sb_result *opened = NULL;
  sb_job *job = finished ("calibrate", "{" KNOWN "}");
  const sb_result *result = sb_job_result (job);
  ABI_FAILS (sb_result_save (result, path, "gif"), SB_ARGUMENT, "gif");
  ABI_STATUS (sb_result_save (result, path, "hdf5"), SB_OK);
  ABI_STATUS (sb_result_save (result, path, "hdf5"), SB_OK); /* ours: replaced */
  ABI_STATUS (sb_result_open (&opened, path), SB_OK);
  json_t *info = info_of (result), *arrays = json_object_get (info, "arrays");
  g_assert_cmpuint (json_array_size (arrays), >, 0);
  for (size_t i = 0; i < json_array_size (arrays); i++) {
    const char *name = json_string_value (json_object_get (json_array_get (arrays, i), "name"));
    sb_view a = { .struct_size = sizeof a }, b = a;
    ABI_STATUS (sb_result_array (&a, result, name), SB_OK);
    ABI_STATUS (sb_result_array (&b, opened, name), SB_OK);
    g_assert_cmpint (a.dtype, ==, b.dtype);
    g_assert_cmpmem (a.shape, sizeof a.shape, b.shape, sizeof b.shape);
    g_assert_cmpmem (a.data, (gsize)(a.strides[0] * a.shape[0]), b.data, (gsize)(b.strides[0] * b.shape[0]));
  }
  json_decref (info);
  g_autofree char *foreign = in_folder ("foreign.h5");
  g_assert_true (g_file_set_contents (foreign, "not ours", -1, NULL));
  ABI_FAILS (sb_result_save (result, foreign, "hdf5"), SB_IO, "foreign.h5");
  sb_result_free (opened);
  sb_job_free (job);
}

/* Bytes that the process has allocated; 0: not known. */
static gsize
allocated (void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  struct mallinfo2 info = mallinfo2 ();
  return info.uordblks + info.hblkhd;
#else
  return 0;
#endif
}

/* Of a job that has ended and data that nobody else uses only the result stays. */
static void
check_lets_go (gboolean data_first)
{
  const gsize counts = 2500 * 2000; /* fewer than are kept: 2925 pixels of 2500 points */
  sb_data *own = NULL;
  sb_job *job = NULL;
  float look[72 * 72];
  sb_view view = abi_view (look, SB_DTYPE_F32, 2, 72, 72, 0);
  ABI_STATUS (sb_data_open (&own, session, acquisition, NULL), SB_OK);
  gsize before = allocated ();
  ABI_STATUS (sb_job_new (&job, session, "calibrate", own, "{" KNOWN "}"), SB_OK);
  ABI_STATUS (sb_job_start (job), SB_OK);
  if (data_first)
    sb_data_free (own);
  ABI_STATUS (sb_job_wait (job, -1), SB_OK);
  gsize computed = allocated ();
  if (!data_first)
    sb_data_free (own);
  gsize let_go = allocated ();
  g_test_message ("%.2f MB for the job, %.2f MB once the data are freed", ((double)computed - (double)before) / 1e6,
                  ((double)let_go - (double)before) / 1e6);
  g_assert_cmpuint (let_go, <=, before + counts);
  ABI_STATUS (sb_job_preview (job, "mean_pattern", &view), SB_OK); /* at any time */
  g_assert_nonnull (sb_job_result (job));
  sb_job_free (job);
}

static void
test_job_lets_go (void)
{
  check_lets_go (FALSE);
  check_lets_go (TRUE);
  if (allocated () == 0)
    g_test_skip ("this allocator does not say what it holds");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  acquisition = argc > 1 ? argv[1] : "";
  folder = g_dir_make_tmp ("sideband_abi_XXXXXX", NULL);
  if (sb_session_new (&session, NULL) != SB_OK || sb_data_open (&data, session, acquisition, NULL) != SB_OK)
    g_error ("%s", sb_error_message ());
  g_test_add_func ("/abi/info", test_info);
  g_test_add_func ("/abi/frames", test_frames);
  g_test_add_func ("/abi/no_files", test_no_files);
  g_test_add_func ("/abi/files", test_files);
  g_test_add_func ("/abi/no_folder", test_no_folder);
  g_test_add_func ("/abi/cancelled_files", test_cancelled_files);
  g_test_add_func ("/abi/parameters", test_parameters);
  g_test_add_func ("/abi/wrong_parameters", test_wrong_parameters);
  g_test_add_func ("/abi/save_open", test_save_open);
  g_test_add_func ("/abi/job_lets_go", test_job_lets_go);
  int failed = g_test_run ();
  sb_data_free (data);
  sb_session_free (session);
  g_autofree char *remove = g_strdup_printf ("rm -rf %s", folder);
  g_spawn_command_line_sync (remove, NULL, NULL, NULL, NULL);
  g_free (folder);
  return failed;
}
