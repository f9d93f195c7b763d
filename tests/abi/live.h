/* What the tests of frames that come while the scan runs share: the frames of `columns`, pushed and as the file. */
#ifndef SB_TESTS_ABI_LIVE_H
#define SB_TESTS_ABI_LIVE_H

#include <math.h>

#include <jansson.h>

#include "tests/abi/abi.h"

#define KNOWN "\"semiangle\": 30, \"rotation\": 0, \"orientation\": \"identity\", \"centre\": [36, 36]"
#define OPTICS "\"energy\": 300, \"step\": 0.4, "
#define AT "\"coefficients\": \"C10=6 C12=2.5 phi12=0.4\""

static const char *master;
static sb_session *session;

typedef struct Frames {
  gint64 scan[2], detector[2], n;
  guint16 *counts;
} Frames;

static Frames columns; /* all of the file, read once */

static inline gint64
number_at (const json_t *list, gsize i)
{
  return json_integer_value (json_array_get (list, i));
}

static inline void
read_shape (sb_data *data, Frames *frames)
{
  json_t *info = json_loads (sb_data_info (data), 0, NULL), *a = json_object_get (info, "acquisition");
  for (gsize i = 0; i < 2; i++) {
    frames->scan[i] = number_at (json_object_get (a, "scan_shape"), i);
    frames->detector[i] = number_at (json_object_get (a, "detector_shape"), i);
  }
  frames->n = json_integer_value (json_object_get (a, "frames"));
  json_decref (info);
}

static inline void
read_columns (void)
{
  sb_data *file;
  ABI_STATUS (sb_data_open (&file, session, master, NULL), SB_OK);
  read_shape (file, &columns);
  columns.counts = g_new (guint16, columns.n * columns.detector[0] * columns.detector[1]);
  sb_view view = abi_view (columns.counts, SB_DTYPE_U16, 3, columns.n, columns.detector[0], columns.detector[1]);
  ABI_STATUS (sb_data_frames (file, 0, columns.n, &view), SB_OK);
  sb_data_free (file);
}

static inline sb_data *
new_pushed (const char *more)
{
  sb_data *data;
  g_autofree char *json = g_strdup_printf ("{%s \"scan_shape\": [%" G_GINT64_FORMAT ", %" G_GINT64_FORMAT
                                           "], \"detector_shape\": [%" G_GINT64_FORMAT ", %" G_GINT64_FORMAT
                                           "], \"dtype\": \"uint16\"}",
                                           more, columns.scan[0], columns.scan[1], columns.detector[0], columns.detector[1]);
  ABI_STATUS (sb_data_new (&data, session, json), SB_OK);
  return data;
}

static inline void
push (sb_data *data, gint64 first, gint64 n)
{
  gint64 size = columns.detector[0] * columns.detector[1];
  sb_view view = abi_view (columns.counts + first * size, SB_DTYPE_U16, 3, n, columns.detector[0], columns.detector[1]);
  ABI_STATUS (sb_data_push (data, first, n, &view), SB_OK);
}

static inline sb_job *
run (const char *command, sb_data *data, const char *json)
{
  sb_job *job;
  ABI_STATUS (sb_job_new (&job, session, command, data, json), SB_OK);
  ABI_STATUS (sb_job_start (job), SB_OK);
  ABI_STATUS (sb_job_wait (job, -1), SB_OK);
  return job;
}

static inline sb_view
array_of (sb_job *job, const char *name)
{
  sb_view view = { .struct_size = sizeof view };
  ABI_STATUS (sb_result_array (&view, sb_job_result (job), name), SB_OK);
  return view;
}

static inline float *
new_image (sb_view *view)
{
  float *image = g_new0 (float, columns.scan[0] * columns.scan[1]);
  *view = abi_view (image, SB_DTYPE_F32, 2, columns.scan[0], columns.scan[1], 0);
  return image;
}

static inline double
correlation (const float *a, const float *b, gsize n)
{
  double mean[2] = { 0 }, aa = 0, bb = 0, ab = 0;
  for (gsize i = 0; i < n; i++) {
    mean[0] += (double)a[i] / (double)n;
    mean[1] += (double)b[i] / (double)n;
  }
  for (gsize i = 0; i < n; i++) {
    double x = (double)a[i] - mean[0], y = (double)b[i] - mean[1];
    aa += x * x;
    bb += y * y;
    ab += x * y;
  }
  return ab / sqrt (aa * bb);
}

/* The image of a job on the whole file. */
static inline float *
image_of_file (const char *command, const char *json, const char *name)
{
  sb_data *file;
  ABI_STATUS (sb_data_open (&file, session, master, NULL), SB_OK);
  sb_job *job = run (command, file, json);
  sb_view view = array_of (job, name);
  float *image = g_memdup2 (view.data, (gsize)(columns.scan[0] * columns.scan[1]) * sizeof (float));
  sb_job_free (job);
  sb_data_free (file);
  return image;
}

/* Files that grow are incomplete by intent. */
static inline void
ignore (int level, const char *message, void *user_data)
{
}

static inline int
live_begin (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  if (argc < 2)
    return 1;
  sb_log_set (ignore, NULL);
  master = argv[1];
  ABI_STATUS (sb_session_new (&session, "{\"backend\": \"cpu\"}"), SB_OK);
  read_columns ();
  return 0;
}

static inline int
live_end (void)
{
  int status = g_test_run ();
  g_free (columns.counts);
  sb_session_free (session);
  return status;
}

#endif
