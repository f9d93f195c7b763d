/* Data: a file, or frames that the host pushes. */
#include <math.h>

#include "core/error.h"
#include "core/ranks.h"
#include "plugin/inside.h"
#include "plugin/log.h"
#include "plugin/status.h"
#include "plugin/view.h"

sb_data *
data_use (sb_data *data)
{
  g_atomic_int_inc (&data->users);
  g_atomic_int_inc (&data->refs);
  return data;
}

void
data_rest (sb_data *data)
{
  if (!g_atomic_int_dec_and_test (&data->users))
    return;
  g_clear_pointer (&data->work, work_free);
  g_clear_pointer (&data->live, live_free);
}

void
data_unref (sb_data *data)
{
  if (!g_atomic_int_dec_and_test (&data->refs))
    return;
  work_free (data->work);
  live_free (data->live);
  g_hash_table_unref (data->last);
  gather_free (data->gather);
  acquisition_free (data->acquisition);
  options_free (data->options);
  g_rw_lock_clear (&data->lock);
  g_mutex_clear (&data->look_lock);
  g_free (data->look);
  free (data->info);
  session_unref (data->session);
  g_free (data);
}

void
sb_data_free (sb_data *data)
{
  if (data == NULL || session_forked (data->session, NULL))
    return;
  data_rest (data);
  data_unref (data);
}

gboolean
data_check (sb_data *data, GError **error)
{
  if (data == NULL)
    return sb_fail (error, SB_ERROR_ARGUMENT, "The data are NULL; make them with sb_data_open or sb_data_new.");
  return session_check (data->session, error);
}

/* Takes acquisition and options. */
static sb_data *
data_new (sb_session *session, SbAcquisition *acquisition, SbOptions *options)
{
  sb_data *data = g_new0 (sb_data, 1);
  data->refs = data->users = 1;
  data->session = session_ref (session);
  data->options = options;
  data->acquisition = acquisition;
  g_rw_lock_init (&data->lock);
  g_mutex_init (&data->look_lock);
  data->last = preview_table ();
  data->work = work_new (session->engine, acquisition);
  return data;
}

static gboolean
open_file (sb_data **out, sb_session *session, const char *path, const char *json, GError **error)
{
  if (out == NULL)
    return sb_fail (error, SB_ERROR_ARGUMENT, "out is NULL; give the address of an sb_data pointer.");
  *out = NULL;
  if (!session_check (session, error))
    return FALSE;
  if (path == NULL || path[0] == '\0')
    return sb_fail (error, SB_ERROR_ARGUMENT, "No path was given; name the acquisition's file.");
  g_autoptr (SbOptions) options = options_parse (json, data_groups, "the data", error);
  if (options == NULL)
    return FALSE;
  g_autoptr (GError) reason = NULL;
  SbAcquisition *acquisition = acquisition_open (path, options_get (options, &acquisition_params), &reason);
  if (acquisition == NULL) {
    if (session->engine->ranks != NULL)
      ranks_fail (session->engine->ranks, reason);
    g_propagate_error (error, g_steal_pointer (&reason));
    return FALSE;
  }
  *out = data_new (session, acquisition, g_steal_pointer (&options));
  (*out)->finished = TRUE;
  for (guint i = 0; acquisition->header.warnings != NULL && i < acquisition->header.warnings->len; i++)
    log_remark (SB_LOG_WARNING, "%s", (const char *)g_ptr_array_index (acquisition->header.warnings, i));
  return TRUE;
}

int
sb_data_open (sb_data **out, sb_session *session, const char *path, const char *json)
{
  g_autoptr (GError) error = NULL;
  return status_of (open_file (out, session, path, json, &error), &error);
}

/* As if a file had said it: commands need not be told again. */
static void
take_optics (SbHeader *header, const SbOpticsOptions *optics, const SbCalibrationOptions *calibration)
{
  header->energy = optics->energy;
  header->semiangle = optics->semiangle;
  header->sampling = calibration->sampling;
  if (isnan (header->sampling))
    header->sampling = 1e3 * header->reciprocal * optics_wavelength (optics->energy);
  for (int axis = 0; axis < 2; axis++)
    header->step[axis] = optics->step[axis];
}

static gboolean
open_pushed (sb_data **out, sb_session *session, const char *json, GError **error)
{
  if (out == NULL)
    return sb_fail (error, SB_ERROR_ARGUMENT, "out is NULL; give the address of an sb_data pointer.");
  *out = NULL;
  if (!session_check (session, error))
    return FALSE;
  g_autoptr (SbOptions) options = options_parse (json, pushed_groups, "the data", error);
  if (options == NULL)
    return FALSE;
  SbAcquisition *acquisition = acquisition_new (options_get (options, &acquisition_params), error);
  if (acquisition == NULL)
    return FALSE;
  const SbOpticsOptions *optics = options_get (options, &optics_params);
  const SbCalibrationOptions *calibration = options_get (options, &calibration_params);
  take_optics (&acquisition->header, optics, calibration);
  SbGather *gather = gather_new (session->engine, acquisition, calibration->centre, optics->semiangle / calibration->sampling,
                                 error);
  if (gather == NULL) {
    acquisition_free (acquisition);
    return FALSE;
  }
  *out = data_new (session, acquisition, g_steal_pointer (&options));
  (*out)->gather = gather;
  return TRUE;
}

int
sb_data_new (sb_data **out, sb_session *session, const char *json)
{
  g_autoptr (GError) error = NULL;
  return status_of (open_pushed (out, session, json, &error), &error);
}

static gboolean
check_range (const sb_data *data, gint64 first, gint64 n, gint64 count, GError **error)
{
  if (n >= 1 && first >= 0 && first < count && n <= count - first)
    return TRUE;
  return sb_fail (error, SB_ERROR_ARGUMENT,
                  "Frames %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT " were asked for; the acquisition has %" G_GINT64_FORMAT
                  " frames, counted from 0.",
                  first,
                  n < 1                     ? first
                  : first <= G_MAXINT64 - n ? first + n - 1
                                            : G_MAXINT64,
                  count);
}

static gboolean
push (sb_data *data, gint64 first, gint64 n, const sb_view *view, GError **error)
{
  if (!data_check (data, error))
    return FALSE;
  if (data->gather == NULL)
    return sb_fail (error, SB_ERROR_STATE, "Frames were pushed to data of a file; make data for pushing with sb_data_new.");
  const SbHeader *header = &data->acquisition->header;
  gint64 shape[3] = { n, header->detector_rows, header->detector_cols }, strides[3];
  if (!check_range (data, first, n, acquisition_frame_count (data->acquisition), error)
      || !view_check (view, "the frames", 3, shape, strides, error))
    return FALSE;
  g_rw_lock_reader_lock (&data->lock);
  gboolean ok = !data->finished ? gather_push (data->gather, first, n, view->data, (SbDtype)view->dtype, strides, error)
                                : sb_fail (error, SB_ERROR_STATE,
                                           "Frames were pushed after sb_data_finish; make new data with sb_data_new.");
  g_rw_lock_reader_unlock (&data->lock);
  return ok;
}

int
sb_data_push (sb_data *data, int64_t first, int64_t n, const sb_view *view)
{
  g_autoptr (GError) error = NULL;
  return status_of (push (data, first, n, view, &error), &error);
}

/* The mean pattern is copied out before the work takes the columns: previews never touch what a job uses. */
static gboolean
finish_locked (sb_data *data, GError **error)
{
  if (data->finished)
    return sb_fail (error, SB_ERROR_STATE, "sb_data_finish was called a second time; start jobs now.");
  preview_refresh (data);
  SbColumns *columns = gather_finish (data->gather, error);
  if (columns == NULL)
    return FALSE;
  gsize n = (gsize)(columns->pattern.rows * columns->pattern.cols);
  float *look = sb_alloc (n, sizeof (float), "The mean pattern", error);
  if (look == NULL) {
    columns_free (columns);
    return FALSE;
  }
  for (gsize i = 0; i < n; i++)
    look[i] = (float)columns->pattern.mean[i];
  g_mutex_lock (&data->look_lock);
  data->look = look;
  g_mutex_unlock (&data->look_lock);
  work_take_columns (data->work, columns);
  data->finished = TRUE;
  return TRUE;
}

static gboolean
finish (sb_data *data, GError **error)
{
  if (!data_check (data, error))
    return FALSE;
  if (data->gather == NULL)
    return sb_fail (error, SB_ERROR_STATE, "Data of a file need no sb_data_finish; start jobs.");
  g_rw_lock_writer_lock (&data->lock);
  gboolean ok = finish_locked (data, error);
  g_rw_lock_writer_unlock (&data->lock);
  return ok;
}

int
sb_data_finish (sb_data *data)
{
  g_autoptr (GError) error = NULL;
  return status_of (finish (data, &error), &error);
}

gboolean
data_ready (sb_data *data, GError **error)
{
  g_rw_lock_reader_lock (&data->lock);
  gboolean ready = data->finished;
  g_rw_lock_reader_unlock (&data->lock);
  if (ready)
    return TRUE;
  return sb_fail (error, SB_ERROR_STATE,
                  "Frames are still being pushed (%" G_GINT64_FORMAT " of %" G_GINT64_FORMAT "); call sb_data_finish first.",
                  gather_count (data->gather), acquisition_frame_count (data->acquisition));
}

static gboolean
frames (sb_data *data, gint64 first, gint64 n, const sb_view *view, GError **error)
{
  if (!data_check (data, error))
    return FALSE;
  const SbAcquisition *acquisition = data->acquisition;
  if (acquisition->reader == NULL)
    return sb_fail (error, SB_ERROR_STATE, "Pushed frames are not kept; frames can be read from data of a file only.");
  gint64 shape[3] = { n, acquisition->header.detector_rows, acquisition->header.detector_cols };
  return check_range (data, first, n, acquisition->header.frames, error)
         && view_check_plain (view, "the frames", acquisition->header.dtype, 3, shape, error)
         && acquisition->format->read (acquisition->reader, first, n, view->data, error);
}

int
sb_data_frames (sb_data *data, int64_t first, int64_t n, const sb_view *view)
{
  g_autoptr (GError) error = NULL;
  return status_of (frames (data, first, n, view, &error), &error);
}

const char *
sb_data_info (sb_data *data)
{
  g_autoptr (GError) error = NULL;
  if (!data_check (data, &error)) {
    status_of (FALSE, &error);
    return NULL;
  }
  json_t *description = data_describe (data);
  char *text = json_dumps (description, JSON_COMPACT);
  json_decref (description);
  g_mutex_lock (&data->look_lock);
  free (data->info);
  data->info = text;
  g_mutex_unlock (&data->look_lock);
  return text;
}
