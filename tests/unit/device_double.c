#include "tests/unit/device_double.h"

#include <string.h>

#include "tests/parity/bslz4.h"

gint device_double_loads;
gint64 device_double_frames;
gboolean device_double_full;

struct SbkLoad {
  SbkFrames frames;
  gsize element, bytes, buffer_bytes;
  gint64 buffer_frames, damaged;
  guint8 *mask, *buffer, *frame;
  guint64 *sum;
  guint32 *high;
  SbkType type;
  gint64 n_pixels, positions;
  gint32 *pixel;
  guint8 *counts;
  double *frame_sum;
};

static gsize
size_of (SbkType type)
{
  return type == SBK_U8 ? 1 : type == SBK_U16 ? 2 : 4;
}

static guint32
get (const guint8 *data, SbkType type, gsize i)
{
  return type == SBK_U8    ? data[i]
         : type == SBK_U16 ? ((const guint16 *)(const void *)data)[i]
                           : ((const guint32 *)(const void *)data)[i];
}

static void
put (guint8 *data, SbkType type, gsize i, guint32 value)
{
  if (type == SBK_U8)
    data[i] = (guint8)value;
  else if (type == SBK_U16)
    ((guint16 *)(void *)data)[i] = (guint16)value;
  else
    ((guint32 *)(void *)data)[i] = value;
}

static SbkStatus
begin (SbkContext *context, SbkLoad **out, const SbkFrames *frames, size_t buffer_bytes, int64_t buffer_frames, SbkError *error)
{
  gsize n = (gsize)(frames->rows * frames->cols);
  SbkLoad *load = g_new0 (SbkLoad, 1);
  load->frames = *frames;
  load->element = size_of (frames->type);
  load->bytes = n * load->element;
  load->buffer_bytes = buffer_bytes;
  load->buffer_frames = buffer_frames;
  load->damaged = -1;
  load->mask = g_new0 (guint8, n);
  if (frames->mask != NULL)
    memcpy (load->mask, frames->mask, n);
  load->buffer = g_malloc (buffer_bytes);
  load->frame = g_malloc (load->bytes);
  load->sum = g_new0 (guint64, n);
  load->high = g_new0 (guint32, n);
  device_double_loads++;
  *out = load;
  return SBK_OK;
}

static SbkStatus
buffer (SbkLoad *load, void **data, int64_t *damaged, SbkError *error)
{
  *data = load->buffer;
  *damaged = load->damaged;
  return SBK_OK;
}

static void
add (SbkLoad *load, gint64 position)
{
  guint64 total = 0;
  for (gsize i = 0; i < (gsize)(load->frames.rows * load->frames.cols); i++) {
    guint32 x = load->mask[i] ? 0 : get (load->frame, load->frames.type, i);
    load->sum[i] += x;
    load->high[i] = MAX (load->high[i], x);
    total += x;
  }
  if (load->counts == NULL)
    return;
  load->frame_sum[position] = (double)total;
  for (gint64 k = 0; k < load->n_pixels; k++)
    put (load->counts, load->type, (gsize)(k * load->positions + position),
         get (load->frame, load->frames.type, (gsize)load->pixel[k]));
}

static SbkStatus
push (SbkLoad *load, int64_t first, int64_t n, const SbkStored *frames, SbkError *error)
{
  const SbkFrames *f = &load->frames;
  g_assert_cmpint (n, <=, load->buffer_frames);
  for (gint64 i = 0; i < n; i++) {
    g_assert_cmpuint (frames[i].offset + frames[i].size, <=, load->buffer_bytes);
    device_double_frames++;
    if (bslz4_decode (frames[i].plain ? SBK_FILTER_NONE : f->filter, load->buffer + frames[i].offset, frames[i].size,
                      load->element, (gsize)f->block * load->element, f->swap, load->frame, load->bytes))
      add (load, first + i);
    else if (load->damaged < 0)
      load->damaged = first + i;
  }
  memset (load->buffer, 0xaa, load->buffer_bytes); /* it is another one each time */
  return SBK_OK;
}

static SbkStatus
sums (SbkLoad *load, uint64_t *sum, uint32_t *high, int64_t *damaged, SbkError *error)
{
  gsize n = (gsize)(load->frames.rows * load->frames.cols);
  memcpy (sum, load->sum, n * sizeof *sum);
  memcpy (high, load->high, n * sizeof *high);
  memset (load->sum, 0, n * sizeof *sum);
  memset (load->high, 0, n * sizeof *high);
  *damaged = load->damaged;
  return SBK_OK;
}

static void
drop_columns (SbkLoad *load)
{
  g_clear_pointer (&load->pixel, g_free);
  g_clear_pointer (&load->counts, g_free);
  g_clear_pointer (&load->frame_sum, g_free);
}

static SbkStatus
choose (SbkLoad *load, SbkType type, int64_t n_pixels, const int32_t *pixel, int64_t positions, SbkError *error)
{
  if (device_double_full) {
    g_strlcpy (error->message, "The columns did not fit.", sizeof error->message);
    return SBK_NO_MEMORY;
  }
  drop_columns (load);
  load->type = type;
  load->n_pixels = n_pixels;
  load->positions = positions;
  load->pixel = g_memdup2 (pixel, (gsize)n_pixels * sizeof *pixel);
  load->counts = g_malloc ((gsize)(n_pixels * positions) * size_of (type));
  load->frame_sum = g_new0 (double, positions);
  return SBK_OK;
}

/* By rows of the detector, as the kernels have it. */
static void
centre (const SbkLoad *load, const SbkTake *take, gint64 p, double *frame_sum, double com[2])
{
  double sum = 0, row = 0, col = 0;
  *frame_sum = load->frame_sum[p] - take->less;
  for (gint64 k = 0; k < load->n_pixels; k++) {
    double x = get (load->counts, load->type, (gsize)(k * load->positions + p));
    if (take->fate[k] == SBK_REFUSED)
      *frame_sum -= x;
    if (take->fate[k] != SBK_FINAL)
      continue;
    sum += x;
    row += (double)(load->pixel[k] / load->frames.cols) * x;
    col += (double)(load->pixel[k] % load->frames.cols) * x;
  }
  com[0] = sum > 0 ? row / sum : take->com[0];
  com[1] = sum > 0 ? col / sum : take->com[1];
}

static SbkStatus
take (SbkLoad *load, const SbkTake *how, double *frame_sum, double *frame_com, const void **counts, SbkError *error)
{
  gsize each = (gsize)load->positions * size_of (load->type), n = 0;
  for (gint64 p = 0; p < load->positions; p++)
    centre (load, how, p, &frame_sum[p], frame_com + 2 * p);
  for (gint64 k = 0; k < load->n_pixels; k++)
    if (how->fate[k] == SBK_FINAL)
      memmove (load->counts + each * n++, load->counts + each * (gsize)k, each);
  load->n_pixels = (gint64)n;
  *counts = load->counts;
  return SBK_OK;
}

static SbkStatus
fetch (SbkLoad *load, int64_t first, int64_t n, void *counts, SbkError *error)
{
  gsize each = (gsize)load->positions * size_of (load->type);
  g_assert_true (first >= 0 && first + n <= load->n_pixels);
  memcpy (counts, load->counts + (gsize)first * each, (gsize)n * each);
  return SBK_OK;
}

static void
load_free (SbkLoad *load)
{
  drop_columns (load);
  g_free (load->mask);
  g_free (load->buffer);
  g_free (load->frame);
  g_free (load->sum);
  g_free (load->high);
  g_free (load);
  device_double_loads--;
}

const SbkBackend *
device_double (void)
{
  static const SbkLoader loader = { begin, buffer, push, sums, choose, take, fetch, load_free };
  static SbkBackend backend;
  backend = sbk_cpu;
  backend.loader = &loader;
  return &backend;
}
