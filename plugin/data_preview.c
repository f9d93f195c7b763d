/* Previews of data: the mean pattern at any time, images of a scan whose frames are still being pushed. */
#include <string.h>

#include "core/error.h"
#include "core/look.h"
#include "plugin/inside.h"
#include "plugin/status.h"
#include "plugin/view.h"

/* An image as it was asked for last; there is one of each kind. */
typedef struct Image {
  char *what;
  float *pixels;
} Image;

static void
image_free_entry (gpointer pointer)
{
  Image *image = pointer;
  g_free (image->what);
  g_free (image->pixels);
  g_free (image);
}

GHashTable *
preview_table (void)
{
  return g_hash_table_new_full (g_str_hash, g_str_equal, g_free, image_free_entry);
}

/* A new copy of the mean pattern as far as it is known. */
static float *
current_look (sb_data *data, GError **error)
{
  gint64 rows = data->acquisition->header.detector_rows, cols = data->acquisition->header.detector_cols, count;
  float *look = sb_alloc ((gsize)(rows * cols), sizeof (float), "The mean pattern", error);
  g_autofree double *mean = look != NULL ? sb_alloc ((gsize)(rows * cols), sizeof (double), "The mean pattern", error) : NULL;
  if (mean == NULL || !gather_preview (data->gather, mean, &count, error))
    g_clear_pointer (&look, g_free);
  for (gint64 i = 0; look != NULL && i < rows * cols; i++)
    look[i] = (float)mean[i];
  return look;
}

/* Holding the look's lock. */
static gboolean
preview_pattern (sb_data *data, const sb_view *view, GError **error)
{
  gint64 rows = data->acquisition->header.detector_rows, cols = data->acquisition->header.detector_cols;
  if (data->look == NULL && data->gather == NULL)
    data->look = look_mean (data->acquisition, LOOK_FRAMES, error);
  g_autofree float *now = data->look == NULL && data->gather != NULL ? current_look (data, error) : NULL;
  const float *look = data->look != NULL ? data->look : now;
  return look != NULL && view_write (view, "the preview", look, rows, cols, error);
}

static void
need_live (sb_data *data)
{
  const SbHeader *header = &data->acquisition->header;
  SbOptics optics = { header->energy, header->semiangle, { header->step[0], header->step[1] } };
  if (data->live == NULL)
    data->live = live_new (data->gather, &optics, options_get (data->options, &calibration_params));
}

/* Up to the first blank: "ssb" of "ssb C10=5". */
static char *
kind_of (const char *what)
{
  return g_strndup (what, strcspn (what, " "));
}

static const float *
fresh_image (sb_data *data, const char *what, GError **error)
{
  need_live (data);
  float *pixels = live_image (data->live, what, error);
  if (pixels == NULL)
    return NULL;
  Image *image = g_new0 (Image, 1);
  image->what = g_strdup (what);
  image->pixels = pixels;
  g_hash_table_replace (data->last, kind_of (what), image);
  return pixels;
}

/* Once all frames are there a job may use the columns: what was asked for before stays. */
static const float *
last_image (sb_data *data, const char *what, GError **error)
{
  g_autofree char *kind = kind_of (what);
  const Image *image = g_hash_table_lookup (data->last, kind);
  if (image != NULL && strcmp (image->what, what) == 0)
    return image->pixels;
  sb_fail (error, SB_ERROR_STATE, "\"%.60s\" was not looked at before sb_data_finish; start a job now (detector, reconstruct).",
           what);
  return NULL;
}

/* Holding the look's lock. */
static gboolean
preview_image (sb_data *data, const char *what, const sb_view *view, GError **error)
{
  const SbAcquisition *acquisition = data->acquisition;
  if (data->gather == NULL || what == NULL)
    return sb_fail (error, SB_ERROR_ARGUMENT,
                    "\"%.60s\" is no preview of %s; ask for \"mean_pattern\", or start a job (detector, reconstruct).",
                    what != NULL ? what : "(NULL)", data->gather == NULL ? "a file" : "data");
  const float *image = data->finished ? last_image (data, what, error) : fresh_image (data, what, error);
  return image != NULL && view_write (view, "the preview", image, acquisition->used_rows, acquisition->used_cols, error);
}

void
preview_refresh (sb_data *data)
{
  g_mutex_lock (&data->look_lock);
  g_autoptr (GPtrArray) asked = g_ptr_array_new_with_free_func (g_free);
  GHashTableIter at;
  gpointer image;
  g_hash_table_iter_init (&at, data->last);
  while (g_hash_table_iter_next (&at, NULL, &image))
    g_ptr_array_add (asked, g_strdup (((Image *)image)->what));
  g_hash_table_remove_all (data->last);
  for (guint i = 0; i < asked->len; i++)
    fresh_image (data, asked->pdata[i], NULL);
  g_mutex_unlock (&data->look_lock);
}

gboolean
data_preview (sb_data *data, const char *what, const sb_view *view, GError **error)
{
  g_rw_lock_reader_lock (&data->lock);
  g_mutex_lock (&data->look_lock);
  gboolean ok = g_strcmp0 (what, "mean_pattern") == 0 ? preview_pattern (data, view, error)
                                                      : preview_image (data, what, view, error);
  g_mutex_unlock (&data->look_lock);
  g_rw_lock_reader_unlock (&data->lock);
  return ok;
}

int
sb_data_preview (sb_data *data, const char *what, const sb_view *view)
{
  g_autoptr (GError) error = NULL;
  return status_of (data_check (data, &error) && data_preview (data, what, view, &error), &error);
}
