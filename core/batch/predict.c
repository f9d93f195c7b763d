/* What a series will take, from headers, a look at a few frames and what was finished before. */
#include <math.h>

#include "core/batch/inside.h"
#include "core/error.h"
#include "core/look.h"
#include "core/plan.h"

enum { FRAMES = 16 };
/* Pairs (q, k) of a whole run a second and core, and what a run takes however small it is: one core of an AMD EPYC
 * (Zen 4) with AVX-512. Where results of the series are there already, their own seconds are taken instead. */
static const double PAIRS_A_SECOND = 7e6;
static const double LEAST_SECONDS = 1.0;

typedef struct Need {
  double bytes_of_file; /* as frames, decoded */
  double pairs;         /* (q, k) of G */
  SbPlanned planned;
  double read_seconds; /* a decoded byte */
} Need;

/* Pixels a side of the disk's radius; NAN: it is not known without a disk. */
static double
disk_radius (const SbBatch *batch, const SbAcquisition *acquisition, double *read_seconds, GError **error)
{
  const SbOpticsOptions *optics = batch->call->pipeline->optics;
  const SbCalibrationOptions *calibration = batch->call->pipeline->calibration;
  const SbHeader *header = &acquisition->header;
  gsize n = (gsize)(header->detector_rows * header->detector_cols);
  gint64 start = g_get_monotonic_time (), frames = MIN (acquisition_positions (acquisition), FRAMES);
  g_autofree float *look = look_mean (acquisition, FRAMES, error);
  g_autofree double *mean = look != NULL ? sb_alloc (n, sizeof (double), "The mean pattern", error) : NULL;
  if (mean == NULL)
    return NAN;
  *read_seconds = (double)(g_get_monotonic_time () - start) * 1e-6
                  / ((double)frames * (double)n * (double)dtype_size (header->dtype));
  double semiangle = isnan (optics->semiangle) ? header->semiangle : optics->semiangle;
  double sampling = isnan (calibration->sampling) ? header->sampling : calibration->sampling;
  if (isfinite (semiangle / sampling))
    return semiangle / sampling;
  SbDisk disk;
  for (gsize i = 0; i < n; i++)
    mean[i] = (double)look[i];
  return disk_find (mean, header->mask, header->detector_rows, header->detector_cols, &disk, error) ? disk.radius : NAN;
}

/* Share of the scan's frequencies within the band, |q| < 2 k_max. */
static double
band_share (const SbBatch *batch, const SbAcquisition *acquisition)
{
  const SbOpticsOptions *given = batch->call->pipeline->optics;
  const SbHeader *header = &acquisition->header;
  SbOptics optics = { isnan (given->energy) ? header->energy : given->energy,
                      isnan (given->semiangle) ? header->semiangle : given->semiangle,
                      { isnan (given->step[0]) ? header->step[0] : given->step[0],
                        isnan (given->step[1]) ? header->step[1] : given->step[1] } };
  double reach = 2 * optics_k_max (&optics), share = G_PI * reach * reach * optics.step[0] * optics.step[1];
  return isfinite (share) ? MIN (share, 1) : 1;
}

static gboolean
look_at_need (const SbBatch *batch, const SbAcquisition *acquisition, Need *need, GError **error)
{
  const SbHeader *header = &acquisition->header;
  double positions = (double)acquisition_positions (acquisition);
  double radius = disk_radius (batch, acquisition, &need->read_seconds, error);
  if (isnan (radius))
    return FALSE;
  double detector = (double)header->detector_rows * (double)header->detector_cols;
  double kept = 1.15 * radius + MAX (4, 0.1 * radius),
         stored = header->dtype <= SB_U32 ? (double)dtype_size (header->dtype) : 4;
  double pixels = MIN (G_PI * radius * radius, detector), n_q = positions / 2 * band_share (batch, acquisition);
  need->bytes_of_file = positions * detector * (double)dtype_size (header->dtype);
  need->pairs = pixels * n_q;
  need->planned = (SbPlanned){ .positions = (gint64)positions,
                               .n_pixels = (gint64)pixels,
                               .n_q = (gint64)n_q,
                               .widest = (gint64)ceil (2 * radius),
                               .upsampling = MAX (batch->call->pipeline->reconstruction->upsampling, 1),
                               .columns = (guint64)(MIN (G_PI * kept * kept, detector) * positions * stored),
                               .column = (guint64)(positions * stored) };
  return TRUE;
}

/* As the run itself will plan it, within the share of a job. NAN: less than the least is allowed. */
static double
need_bytes (const SbBatch *batch, const Need *need, GError **error)
{
  SbEngine share = *batch->engine;
  SbPlan plan;
  share.memory /= (guint64)MAX (batch->call->batch->jobs, 1);
  if (!plan_spectrum (&share, &need->planned, &plan, error))
    return NAN;
  return plan.in_parts || plan.in_file ? (double)MIN (plan.need, plan.budget) : (double)plan.need;
}

/* Seconds a pair of what was finished before; NAN: nothing was. */
static double
seconds_a_pair (const json_t *info)
{
  const json_t *acquisition = json_object_get (info, "acquisition"), *seconds = json_object_get (info, "seconds");
  double pairs = json_number_value (json_object_get (acquisition, "bright_field_pixels"))
                 * json_number_value (json_object_get (acquisition, "band_frequencies"));
  double spent = json_number_value (json_object_get (seconds, "total")) - json_number_value (json_object_get (seconds, "load"));
  return pairs > 0 && spent > 0 ? spent / pairs : NAN;
}

/* As the run itself would find it: the one whose aberrations hold for all, then those that took them. */
static void
find_finished (SbBatch *batch, SbBatchItem *item, const SbAcquisition *acquisition)
{
  if (item->prefix == NULL || !batch->call->batch->resume)
    return;
  g_autofree char *own = finished_key (batch, acquisition, NULL);
  item->info = batch->reference_key == NULL ? finished_info (item, own) : NULL;
  if (item->info != NULL && batch_first_only (batch))
    batch->reference_key = g_strdup (own);
  if (item->info == NULL && batch->reference_key != NULL) {
    g_autofree char *taken = finished_key (batch, acquisition, batch->reference_key);
    item->info = finished_info (item, taken);
  }
  item->kept = item->info != NULL;
}

static gboolean
predict (SbBatch *batch, SbBatchItem *item, double *measured, GError **error)
{
  Need need = { 0 };
  SbAcquisition *acquisition = acquisition_open (item->path, batch->call->acquisition, error);
  if (acquisition == NULL)
    return FALSE;
  gboolean good = look_at_need (batch, acquisition, &need, error);
  find_finished (batch, item, acquisition);
  if (item->kept)
    *measured = seconds_a_pair (item->info);
  double a_pair = isnan (*measured) ? 1 / (PAIRS_A_SECOND * batch->engine->threads) : *measured;
  item->megabytes = good ? need_bytes (batch, &need, error) / 1e6 : 0;
  item->seconds = item->kept ? 0
                             : (isnan (*measured) ? LEAST_SECONDS : 0) + need.pairs * a_pair
                                   + need.bytes_of_file * need.read_seconds / batch->engine->threads;
  acquisition_free (acquisition);
  return good && isfinite (item->megabytes);
}

gboolean
predict_all (SbBatch *batch, GError **error)
{
  double measured = NAN;
  progress_stage (batch->progress, "predict", 0, 1);
  for (guint i = 0; i < batch->items->len; i++) {
    SbBatchItem *item = batch->items->pdata[i];
    g_autoptr (GError) reason = NULL;
    if (!progress_step (batch->progress, (double)i / batch->items->len, error))
      return FALSE;
    if (!predict (batch, item, &measured, &reason)) {
      item->state = ITEM_FAILED;
      item->megabytes = item->seconds = 0;
      item->message = g_utf8_make_valid (reason != NULL ? reason->message : "It cannot be read.", -1);
    }
  }
  return TRUE;
}
