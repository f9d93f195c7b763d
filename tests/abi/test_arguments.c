/* Whatever a host passes, the answer is a status and a sentence. argv[1]: an acquisition's file. */
#include "tests/abi/abi.h"

static const char *acquisition;
static sb_session *session;

static void
test_versions (void)
{
  g_assert_cmpint (sb_abi_version (), ==, SB_ABI_VERSION);
  g_assert_cmpstr (sb_version (), ==, SB_VERSION);
  g_assert_nonnull (sb_error_message ());
}

static void
test_null (void)
{
  sb_session *s = NULL;
  sb_data *d = NULL;
  sb_job *j = NULL;
  sb_result *r = NULL;
  sb_view view = { 0 };
  ABI_FAILS (sb_session_new (NULL, NULL), SB_ARGUMENT, "out");
  ABI_FAILS (sb_data_open (NULL, session, acquisition, NULL), SB_ARGUMENT, "out");
  ABI_FAILS (sb_data_open (&d, NULL, acquisition, NULL), SB_ARGUMENT, "session");
  ABI_FAILS (sb_data_open (&d, session, NULL, NULL), SB_ARGUMENT, "path");
  ABI_FAILS (sb_data_open (&d, session, "", NULL), SB_ARGUMENT, "path");
  ABI_FAILS (sb_data_new (NULL, session, NULL), SB_ARGUMENT, "out");
  ABI_FAILS (sb_data_push (NULL, 0, 1, &view), SB_ARGUMENT, "data");
  ABI_FAILS (sb_data_finish (NULL), SB_ARGUMENT, "data");
  ABI_FAILS (sb_data_frames (NULL, 0, 1, &view), SB_ARGUMENT, "data");
  ABI_FAILS (sb_data_preview (NULL, "mean_pattern", &view), SB_ARGUMENT, "data");
  g_assert_null (sb_data_info (NULL));
  ABI_FAILS (sb_job_new (NULL, session, "run", NULL, NULL), SB_ARGUMENT, "out");
  ABI_FAILS (sb_job_new (&j, NULL, "run", NULL, NULL), SB_ARGUMENT, "session");
  ABI_FAILS (sb_job_new (&j, session, NULL, NULL, NULL), SB_ARGUMENT, "command");
  ABI_FAILS (sb_job_new (&j, session, "rum", NULL, NULL), SB_ARGUMENT, "rum");
  ABI_FAILS (sb_job_new (&j, session, "run", NULL, NULL), SB_ARGUMENT, "needs data");
  ABI_FAILS (sb_job_start (NULL), SB_ARGUMENT, "job");
  ABI_FAILS (sb_job_wait (NULL, 0), SB_ARGUMENT, "job");
  ABI_FAILS (sb_job_preview (NULL, "phase", &view), SB_ARGUMENT, "job");
  g_assert_cmpfloat (sb_job_progress (NULL, NULL), ==, 0);
  g_assert_cmpstr (sb_job_error (NULL), ==, "");
  g_assert_null (sb_job_result (NULL));
  g_assert_null (sb_result_info (NULL));
  ABI_FAILS (sb_result_array (NULL, NULL, "phase"), SB_ARGUMENT, "view");
  ABI_FAILS (sb_result_save (NULL, "a", "json"), SB_ARGUMENT, "result");
  ABI_FAILS (sb_result_open (NULL, "a"), SB_ARGUMENT, "out");
  ABI_FAILS (sb_result_open (&r, NULL), SB_ARGUMENT, "path");
  ABI_FAILS (sb_result_open (&r, "/nowhere/at_all.h5"), SB_IO, "/nowhere/at_all.h5");
  sb_job_cancel (NULL);
  sb_job_free (NULL);
  sb_data_free (NULL);
  sb_session_free (NULL);
  sb_result_free (NULL);
  g_assert_true (s == NULL && d == NULL && j == NULL && r == NULL);
}

typedef struct Wrong {
  const char *json, *part;
} Wrong;

/* What a command refuses: the sentence names the parameter, what it was and what is right. */
static void
test_values (void)
{
  static const Wrong wrong[] = {
    { "{\"semiangel\": 30}", "\"semiangle\"" },
    { "{\"Semi-angle\": 30}", "\"semiangle\"" },
    { "{\"scan_shape\": [4, 4]}", "the data" },
    { "{\"threads\": 2}", "the session" },
    { "{\"semiangle\": \"30\"}", "must be a number in mrad" },
    { "{\"semiangle\": true}", "must be a number" },
    { "{\"semiangle\": 1e7}", "mrad" },
    { "{\"semiangle\": -3}", "-3 mrad" },
    { "{\"semiangle\": [30]}", "semiangle" },
    { "{\"energy\": {}}", "kV" },
    { "{\"method\": \"phse\"}", "phase" },
    { "{\"method\": 3}", "must be a text" },
    { "{\"centre\": [1, 2, 3]}", "[row, col]" },
    { "{\"centre\": [1, null]}", "[row, col]" },
    { "{\"centre\": \"36;36\"}", "[row, col]" },
    { "{\"centre\": \"nan,1\"}", "[row, col]" },
    { "{\"centre\": \"0x10,1\"}", "[row, col]" },
    { "{\"step\": \"1,2,3,4,5\"}", "[row, col]" },
    { "{\"seed\": 1.5}", "whole number" },
    { "{\"seed\": 1e300}", "whole number" },
    { "{\"seed\": 99999999999999999999}", "JSON" },
    { "{\"semiangle\": 1e999}", "JSON" },
    { "{\"semiangle\": NaN}", "JSON" },
    { "{\"semiangle\": Infinity}", "JSON" },
    { "{\"semiangle\": 0x1E}", "JSON" },
    { "{\"semiangle\": 30, \"semiangle\": 31}", "JSON" },
    { "{\"coefficients\": \"\xff\xfe\"}", "JSON" },
    { "{\"\xc3\x28\": 1}", "JSON" },
    { "{\"coefficients\": \"a\\u0000b\"}", "JSON" },
    { "{\"semiangle\": 30", "JSON" },
    { "{} {}", "JSON" },
    { "[1, 2]", "JSON object" },
    { "30", "JSON object" },
    { "null", "JSON object" },
    { "{\"force\": 1}", "true or false" },
    { "{\"output\": 5}", "path" },
    { "{\"params\": \"/nowhere/p.json\"}", "/nowhere/p.json" },
    { "{\"params\": \"/\"}", "does not exist" },
    { "{\"params\": \"/nowhere/p_result.h5\"}", "/nowhere/p_result.h5" },
    { "{\"\": 1}", "is not a parameter" },
  };
  sb_data *data = NULL;
  ABI_STATUS (sb_data_open (&data, session, acquisition, NULL), SB_OK);
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++) {
    sb_job *job = (sb_job *)&data;
    int status = sb_job_new (&job, session, "run", data, wrong[i].json);
    g_autofree char *shown = g_strescape (wrong[i].json, "\"");
    g_test_message ("%s -> %s", shown, status != SB_OK ? sb_error_message () : "accepted");
    g_assert_true (status == SB_ARGUMENT || (status == SB_IO && strstr (wrong[i].json, "params") != NULL));
    abi_check_sentence (sb_error_message (), wrong[i].part, wrong[i].json);
    g_assert_null (job);
  }
  sb_data_free (data);
}

static void
test_right_values (void)
{
  static const char *const right[] = {
    NULL,
    "",
    "{}",
    " { } ",
    "{\"semiangle\": null, \"method\": \"phase\"}",
    "{\"semiangle\": 30, \"centre\": \"36, 36.5\", \"step\": 0.4}",
    "{\"centre\": [36, 36], \"step\": [0.4, 0.5], \"output\": \"\"}",
  };
  sb_data *data = NULL;
  ABI_STATUS (sb_data_open (&data, session, acquisition, NULL), SB_OK);
  for (guint i = 0; i < G_N_ELEMENTS (right); i++) {
    sb_job *job = NULL;
    ABI_STATUS (sb_job_new (&job, session, "run", data, right[i]), SB_OK);
    sb_job_free (job);
  }
  sb_data_free (data);
}

/* Nesting and lengths that a parser or a message might choke on. */
static void
test_monsters (void)
{
  static const int depths[] = { 100, 2000, 2100, 100000 };
  sb_session *s = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (depths); i++) {
    g_autoptr (GString) deep = g_string_new ("{\"threads\": ");
    for (int d = 0; d < depths[i]; d++)
      g_string_append_c (deep, '[');
    for (int d = 0; d < depths[i]; d++)
      g_string_append_c (deep, ']');
    g_string_append_c (deep, '}');
    ABI_FAILS (sb_session_new (&s, deep->str), SB_ARGUMENT, depths[i] < 2047 ? "threads" : "JSON");
  }
  g_autofree char *long_text = g_strnfill (1000000, 'x');
  g_autofree char *long_key = g_strdup_printf ("{\"%s\": 1}", long_text);
  g_autofree char *long_value = g_strdup_printf ("{\"backend\": \"%s\"}", long_text);
  ABI_FAILS (sb_session_new (&s, long_key), SB_ARGUMENT, "xxx");
  g_assert_cmpuint (strlen (sb_error_message ()), <, 500);
  ABI_FAILS (sb_session_new (&s, long_value), SB_ARGUMENT, "xxx");
  g_assert_cmpuint (strlen (sb_error_message ()), <, 500);
  g_assert_null (s);
}

/* Frames: every field of the view. */
static void
test_views (void)
{
  enum { N = 8 };
  sb_data *data = NULL;
  guint16 frame[2 * N * N] = { 0 };
  ABI_STATUS (sb_data_new (&data, session, "{\"scan_shape\": [4, 4], \"detector_shape\": \"8,8\", \"dtype\": \"uint16\"}"),
              SB_OK);
  sb_view good = abi_view (frame, SB_DTYPE_U16, 3, 2, N, N), bad = good;
  ABI_FAILS (sb_data_push (data, 0, 2, NULL), SB_ARGUMENT, "NULL");
  bad.struct_size = 8;
  ABI_FAILS (sb_data_push (data, 0, 2, &bad), SB_ARGUMENT, "struct_size");
  bad = good;
  bad.n_dims = 0;
  ABI_FAILS (sb_data_push (data, 0, 2, &bad), SB_ARGUMENT, "n_dims");
  bad.n_dims = 1000000;
  ABI_FAILS (sb_data_push (data, 0, 2, &bad), SB_ARGUMENT, "n_dims");
  bad = good;
  bad.shape[1] = 7;
  ABI_FAILS (sb_data_push (data, 0, 2, &bad), SB_ARGUMENT, "[2, 7, 8]");
  bad = good;
  bad.shape[0] = 3;
  ABI_FAILS (sb_data_push (data, 0, 2, &bad), SB_ARGUMENT, "[3, 8, 8]");
  bad = good;
  bad.dtype = 17;
  ABI_FAILS (sb_data_push (data, 0, 2, &bad), SB_ARGUMENT, "17");
  bad.dtype = -1;
  ABI_FAILS (sb_data_push (data, 0, 2, &bad), SB_ARGUMENT, "-1");
  bad.dtype = SB_DTYPE_F64;
  ABI_FAILS (sb_data_push (data, 0, 2, &bad), SB_ARGUMENT, "uint16");
  bad = good;
  bad.data = NULL;
  ABI_FAILS (sb_data_push (data, 0, 2, &bad), SB_ARGUMENT, "no data");
  ABI_FAILS (sb_data_push (data, -1, 2, &good), SB_ARGUMENT, "16");
  ABI_FAILS (sb_data_push (data, 0, 0, &good), SB_ARGUMENT, "frames");
  ABI_FAILS (sb_data_push (data, 15, 2, &good), SB_ARGUMENT, "16");
  ABI_FAILS (sb_data_push (data, INT64_MAX, INT64_MAX, &good), SB_ARGUMENT, "frames");
  sb_view single = abi_view (frame, SB_DTYPE_U16, 2, N, N, 0);
  ABI_STATUS (sb_data_push (data, 4, 1, &single), SB_OK);
  ABI_STATUS (sb_data_push (data, 0, 2, &good), SB_OK);
  ABI_FAILS (sb_data_push (data, 1, 1, &single), SB_ARGUMENT, "1");
  float look[N * N], small[4];
  sb_view image = abi_view (look, SB_DTYPE_F32, 2, N, N, 0), other = abi_view (small, SB_DTYPE_F32, 2, 2, 2, 0);
  ABI_STATUS (sb_data_preview (data, "mean_pattern", &image), SB_OK);
  ABI_FAILS (sb_data_preview (data, "mean_pattern", &other), SB_ARGUMENT, "[8, 8]");
  ABI_FAILS (sb_data_preview (data, "moon", &image), SB_ARGUMENT, "moon");
  ABI_FAILS (sb_data_preview (data, NULL, &image), SB_ARGUMENT, "mean_pattern");
  sb_data_free (data);
}

/* What cannot be an acquisition. */
static void
test_shapes (void)
{
  static const char *const wrong[] = {
    "{}",
    "{\"scan_shape\": [4, 4], \"detector_shape\": [8, 8]}",
    "{\"scan_shape\": [4, 4], \"dtype\": \"uint16\"}",
    "{\"detector_shape\": [8, 8], \"dtype\": \"uint16\"}",
    "{\"scan_shape\": [4, 4], \"detector_shape\": [8, 8], \"dtype\": \"complex64\"}",
    "{\"scan_shape\": [-4, 4], \"detector_shape\": [8, 8], \"dtype\": \"uint16\"}",
    "{\"scan_shape\": [4.5, 4], \"detector_shape\": [8, 8], \"dtype\": \"uint16\"}",
    "{\"scan_shape\": [4, 4], \"detector_shape\": [9000000000000000, 9000000000000000], \"dtype\": "
    "\"float64\"}",
    "{\"scan_shape\": [4000000000, 4000000000], \"detector_shape\": [8, 8], \"dtype\": \"uint16\"}",
    "{\"scan_shape\": [4, 4], \"scan_region\": [2, 2, 3, 3], \"detector_shape\": [8, 8], \"dtype\": "
    "\"uint16\"}",
  };
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++) {
    sb_data *data = NULL;
    int status = sb_data_new (&data, session, wrong[i]);
    g_test_message ("%s -> %s", wrong[i], sb_error_message ());
    g_assert_true (status == SB_ARGUMENT || status == SB_MEMORY || status == SB_DATA);
    abi_check_sentence (sb_error_message (), "", wrong[i]);
    g_assert_null (data);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  acquisition = argc > 1 ? argv[1] : "";
  if (sb_session_new (&session, "{\"threads\": 2}") != SB_OK)
    g_error ("%s", sb_error_message ());
  g_test_add_func ("/abi/versions", test_versions);
  g_test_add_func ("/abi/null", test_null);
  g_test_add_func ("/abi/values", test_values);
  g_test_add_func ("/abi/right_values", test_right_values);
  g_test_add_func ("/abi/monsters", test_monsters);
  g_test_add_func ("/abi/views", test_views);
  g_test_add_func ("/abi/shapes", test_shapes);
  int failed = g_test_run ();
  sb_session_free (session);
  return failed;
}
