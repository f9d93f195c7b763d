/* Frames that the host has in memory, pushed in any order, give the result of the file to the bit.
 *
 *   example_pushed ACQUISITION [COMMAND [PARAMETERS]]
 *
 * The frames come from the same file here; a microscope's software would push what its detector delivers. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sideband.h>

typedef struct Shape {
  int64_t frames, scan_rows, scan_cols, rows, cols;
  char dtype[16];
} Shape;

/* The text after "key": in a JSON object that the library wrote; a real host has a JSON parser. */
static const char *
after (const char *json, const char *key)
{
  char quoted[64];
  snprintf (quoted, sizeof quoted, "\"%s\":", key);
  const char *at = json != NULL ? strstr (json, quoted) : NULL;
  return at != NULL ? at + strlen (quoted) : "";
}

static int
read_shape (sb_data *file, Shape *shape)
{
  const char *info = sb_data_info (file);
  return sscanf (after (info, "scan_shape"), "[%" SCNd64 ",%" SCNd64 "]", &shape->scan_rows, &shape->scan_cols) == 2
         && sscanf (after (info, "detector_shape"), "[%" SCNd64 ",%" SCNd64 "]", &shape->rows, &shape->cols) == 2
         && sscanf (after (info, "frames"), "%" SCNd64, &shape->frames) == 1
         && sscanf (after (info, "dtype"), "\"%15[a-z0-9]\"", shape->dtype) == 1;
}

static int
dtype_of (const char *name)
{
  static const char *const names[] = { "uint8", "uint16", "uint32", "int16", "int32", "float32", "float64" };
  for (int i = 0; i < 7; i++)
    if (strcmp (names[i], name) == 0)
      return i;
  return -1;
}

/* 0 .. n - 1 in an order that looks random but is the same every time. */
static int64_t *
shuffled (int64_t n)
{
  int64_t *order = malloc ((size_t)n * sizeof *order);
  uint64_t state = 12345;
  for (int64_t i = 0; order != NULL && i < n; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    int64_t j = (int64_t)((state >> 33) % (uint64_t)(i + 1));
    order[i] = order[j];
    order[j] = i;
  }
  return order;
}

static int
push_all (sb_data *from, sb_data *to, const Shape *shape)
{
  sb_view view = { .struct_size = sizeof view, .dtype = dtype_of (shape->dtype), .n_dims = 2 };
  view.shape[0] = shape->rows;
  view.shape[1] = shape->cols;
  view.data = malloc ((size_t)(shape->rows * shape->cols) * 8);
  int64_t *order = shuffled (shape->frames);
  int failed = view.data == NULL || order == NULL;
  for (int64_t i = 0; !failed && i < shape->frames; i++)
    failed = sb_data_frames (from, order[i], 1, &view) != SB_OK || sb_data_push (to, order[i], 1, &view) != SB_OK;
  free (order);
  free (view.data);
  return failed || sb_data_finish (to) != SB_OK;
}

static sb_job *
run (sb_session *session, sb_data *data, const char *command, const char *parameters)
{
  sb_job *job = NULL;
  if (sb_job_new (&job, session, command, data, parameters) == SB_OK && sb_job_start (job) == SB_OK
      && sb_job_wait (job, -1) == SB_OK)
    return job;
  sb_job_free (job);
  return NULL;
}

/* 0 where both results hold the same arrays with the same bits. */
static int
differ (const sb_result *a, const sb_result *b)
{
  int compared = 0;
  for (const char *at = strstr (sb_result_info (a), "\"arrays\":"); at != NULL;) {
    char name[64];
    if (sscanf (after (at, "name"), " \"%63[^\"]\"", name) != 1)
      break;
    at = after (at, "name");
    sb_view x = { .struct_size = sizeof x }, y = { .struct_size = sizeof y };
    if (sb_result_array (&x, a, name) != SB_OK || sb_result_array (&y, b, name) != SB_OK)
      return 1;
    size_t size = (size_t)(x.strides[0] * x.shape[0]);
    int same = x.n_dims == y.n_dims && memcmp (x.shape, y.shape, sizeof x.shape) == 0 && memcmp (x.data, y.data, size) == 0;
    printf ("%s: %s\n", name, same ? "the same bits" : "DIFFERENT");
    if (!same)
      return 1;
    compared++;
  }
  return compared == 0;
}

static int
example (sb_session *session, sb_data **file, sb_data **pushed, const char *path, const char *command, const char *parameters)
{
  Shape shape;
  char json[256];
  if (sb_data_open (file, session, path, NULL) != SB_OK || !read_shape (*file, &shape))
    return 1;
  snprintf (json, sizeof json,
            "{\"scan_shape\": [%" PRId64 ", %" PRId64 "], \"detector_shape\": [%" PRId64 ", %" PRId64 "], "
            "\"dtype\": \"%s\"}",
            shape.scan_rows, shape.scan_cols, shape.rows, shape.cols, shape.dtype);
  if (sb_data_new (pushed, session, json) != SB_OK || push_all (*file, *pushed, &shape))
    return 1;
  sb_job *a = run (session, *file, command, parameters), *b = a != NULL ? run (session, *pushed, command, parameters) : NULL;
  int failed = b == NULL || differ (sb_job_result (a), sb_job_result (b));
  sb_job_free (a);
  sb_job_free (b);
  return failed;
}

int
main (int argc, char **argv)
{
  sb_session *session = NULL;
  sb_data *file = NULL, *pushed = NULL;
  if (argc < 2 || sb_abi_version () != SB_ABI_VERSION) {
    fprintf (stderr, "usage: %s ACQUISITION [COMMAND [PARAMETERS]]\n", argv[0]);
    return 2;
  }
  /* The optics are given: pushed frames have no header that could say them. */
  int failed = sb_session_new (&session, NULL) != SB_OK
               || example (session, &file, &pushed, argv[1], argc > 2 ? argv[2] : "run",
                           argc > 3 ? argv[3] : "{\"energy\": 300, \"semiangle\": 30, \"step\": 0.4}");
  if (failed)
    fprintf (stderr, "%s\n", sb_error_message ());
  sb_data_free (pushed);
  sb_data_free (file);
  sb_session_free (session);
  return failed;
}
