/* The images of a series, aligned to the first one, in one TIFF that ImageJ opens as a stack. One image at a time is
 * in memory for each thread; only a stack of moderate size is handed to the host as well. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "core/batch/inside.h"
#include "core/error.h"
#include "core/picture.h"
#include "core/tiff.h"

enum { MOST_HANDED_OVER = 512 << 20 };

/* What the writer gets: the result comes first in it. */
typedef struct Stack {
  SbResult result;
  SbBatch *batch;
  GPtrArray *items; /* SbBatchItem *, in the stack */
  SbResult *first;  /* what all are aligned to */
  const SbArray *reference;
  gint64 factor[2]; /* of upsampling */
  float *all;       /* [items][rows][cols], NULL: too large */
  int file;
  gsize head;
  GMutex lock; /* of all below */
  gint64 done;
  GError *error;
} Stack;

/* ---- which images ---- */

static gboolean
alike (const json_t *a, const json_t *b)
{
  const json_t *x = json_object_get (a, "shape"), *y = json_object_get (b, "shape");
  if (!json_equal ((json_t *)x, (json_t *)y))
    return FALSE;
  for (gsize axis = 0; axis < 2; axis++) {
    double p = json_number_value (json_array_get (json_object_get (a, "step"), axis));
    double q = json_number_value (json_array_get (json_object_get (b, "step"), axis));
    if (!(fabs (p - q) <= 1e-6 * fabs (p)))
      return FALSE;
  }
  return TRUE;
}

static GPtrArray *
choose (SbBatch *batch)
{
  GPtrArray *items = g_ptr_array_new ();
  const json_t *wanted = NULL;
  for (guint i = 0; i < batch->items->len; i++) {
    SbBatchItem *item = batch->items->pdata[i];
    const json_t *image = json_object_get (item->info, "image");
    if (item->state != ITEM_DONE || !json_is_object (image))
      continue;
    wanted = wanted != NULL ? wanted : image;
    if (alike (wanted, image))
      g_ptr_array_add (items, item);
    else
      batch_warn (batch, "The image of %s has another shape or step than that of %s and is not in the stack.", item->name,
                  ((SbBatchItem *)items->pdata[0])->name);
  }
  return items;
}

/* ---- one image ---- */

static SbResult *
open_image (const SbBatchItem *item, const SbArray *like, const SbArray **image, GError **error)
{
  g_autofree char *path = g_strconcat (item->prefix, "_result.h5", NULL);
  SbResult *result = result_open (path, error);
  *image = result != NULL ? result_find (result, "phase") : NULL;
  gboolean good = *image != NULL && !(*image)->bytes && (*image)->n_dims == 2
                  && (like == NULL || ((*image)->shape[0] == like->shape[0] && (*image)->shape[1] == like->shape[1]));
  if (good)
    return result;
  if (result != NULL)
    sb_fail (error, SB_ERROR_DATA, "%s holds another image than when it was made; remove it and start the batch again.", path);
  g_clear_pointer (&result, result_free);
  return NULL;
}

static gboolean
align (Stack *stack, SbBatchItem *item, const SbArray *image, float *out, GError **error)
{
  const SbArray *reference = stack->reference;
  double shift[2] = { 0, 0 };
  gboolean wanted = stack->batch->call->batch->align;
  item->correlation = wanted ? 1 : NAN;
  if (wanted && item != stack->items->pdata[0]
      && !register_shift (reference->data, image->data, reference->shape[0], reference->shape[1], stack->factor, shift,
                          &item->correlation, stack->batch->progress, error))
    return FALSE;
  for (int axis = 0; axis < 2; axis++)
    item->shift[axis] = wanted ? shift[axis] * image->step[axis] : NAN;
  item->in_stack = TRUE;
  return register_move (image->data, image->shape[0], image->shape[1], shift, out, error);
}

static gboolean
put_page (Stack *stack, gint64 page, float *samples, GError **error)
{
  SbArray array = *stack->reference; /* a view */
  gsize bytes = (gsize)array_size (&array) * sizeof (float);
  g_autoptr (GError) reason = NULL;
  array.data = samples;
  g_mutex_lock (&stack->lock);
  gboolean good = lseek (stack->file, (off_t)(stack->head + (gsize)page * bytes), SEEK_SET) >= 0
                      ? tiff_append (stack->file, &array, error)
                      : save_failed (error, errno);
  g_mutex_unlock (&stack->lock);
  return good;
}

static gboolean
make_page (Stack *stack, gint64 page, GError **error)
{
  SbBatchItem *item = stack->items->pdata[page];
  gsize n = (gsize)array_size (stack->reference);
  const SbArray *image;
  SbResult *result = open_image (item, stack->reference, &image, error);
  g_autofree float *own = result != NULL && stack->all == NULL ? sb_alloc (n, sizeof (float), "An image", error) : NULL;
  float *samples = stack->all != NULL ? stack->all + (gsize)page * n : own;
  gboolean good = result != NULL && samples != NULL && align (stack, item, image, samples, error)
                  && put_page (stack, page, samples, error);
  result_free (result);
  return good;
}

static void
page_task (gint64 page, guint worker, gpointer data)
{
  Stack *stack = data;
  GError *error = NULL;
  g_mutex_lock (&stack->lock);
  gboolean stop = stack->error != NULL;
  g_mutex_unlock (&stack->lock);
  if (stop)
    return;
  gboolean good = make_page (stack, page, &error);
  g_mutex_lock (&stack->lock);
  good = good && progress_step (stack->batch->progress, (double)++stack->done / stack->items->len, &error);
  if (!good && stack->error == NULL)
    stack->error = g_steal_pointer (&error);
  g_mutex_unlock (&stack->lock);
  g_clear_error (&error);
}

/* ---- the file ---- */

static GByteArray *
make_head (const Stack *stack)
{
  guint n = stack->items->len;
  g_autofree SbArray *labels = g_new0 (SbArray, n);
  g_autofree SbTiffPage *pages = g_new0 (SbTiffPage, n);
  double low, high;
  picture_range (stack->reference->data, (gsize)array_size (stack->reference), &low, &high);
  for (guint i = 0; i < n; i++) {
    labels[i] = *stack->reference; /* a view */
    labels[i].title = ((SbBatchItem *)stack->items->pdata[i])->name;
    pages[i] = (SbTiffPage){ &labels[i], low, high };
  }
  return tiff_head (pages, (int)n, SB_TIFF_SLICES);
}

static gboolean
write_stack (const SbResult *result, const char *path, GError **error)
{
  Stack *stack = (Stack *)result;
  g_autoptr (GByteArray) head = make_head (stack);
  stack->head = head->len;
  stack->file = open (path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (stack->file < 0)
    return save_failed (error, errno);
  gboolean good = save_append (stack->file, head->data, head->len, error);
  if (good) {
    engine_parallel (stack->batch->engine, stack->items->len, page_task, stack);
    good = stack->error == NULL;
    if (!good)
      g_propagate_error (error, g_steal_pointer (&stack->error));
  }
  if (close (stack->file) != 0 && good)
    return save_failed (error, errno);
  return good;
}

static gboolean
always (const SbResult *result)
{
  return TRUE;
}

static gboolean
is_tiff_of_ours (const char *path)
{
  for (guint i = 0; writer_registry[i] != NULL; i++)
    if (strcmp (writer_registry[i]->name, "tiff") == 0)
      return writer_registry[i]->ours (path);
  return FALSE;
}

static const SbWriter writer = { "stack_tiff", "_stack.tif", always, write_stack, is_tiff_of_ours };
const SbWriter *const stack_writers[] = { &writer, NULL };

/* ---- all of it ---- */

/* The part of the stack that every image covers. */
static void
find_overlap (Stack *stack)
{
  const SbArray *reference = stack->reference;
  for (int axis = 0; axis < 2; axis++) {
    double first = 0, last = (double)(reference->shape[axis] - 1);
    for (guint i = 0; i < stack->items->len; i++) {
      double shift = ((SbBatchItem *)stack->items->pdata[i])->shift[axis] / reference->step[axis];
      shift = isfinite (shift) ? shift : 0;
      first = MAX (first, -shift);
      last = MIN (last, (double)(reference->shape[axis] - 1) - shift);
    }
    stack->batch->stack_overlap[axis] = (gint64)ceil (first);
    stack->batch->stack_overlap[2 + axis] = MAX ((gint64)floor (last) - (gint64)ceil (first) + 1, 0);
  }
}

static void
warn_of_weak (Stack *stack)
{
  for (guint i = 0; i < stack->items->len; i++) {
    const SbBatchItem *item = stack->items->pdata[i];
    if (item->correlation < 0.3)
      batch_warn (stack->batch, "The image of %s correlates with that of %s by %.2f only; its place in the stack is not sure.",
                  item->name, ((SbBatchItem *)stack->items->pdata[0])->name, item->correlation);
  }
}

static void
hand_over (Stack *stack, SbResult *result)
{
  const SbArray *reference = stack->reference;
  const gint64 shape[3] = { stack->items->len, reference->shape[0], reference->shape[1] };
  memcpy (stack->batch->stack_shape, shape, sizeof shape);
  if (stack->all == NULL)
    return;
  SbArray *array = result_add (result, "stack", "aligned phase", reference->unit, g_steal_pointer (&stack->all), 3, shape);
  for (int axis = 0; axis < 2; axis++) {
    array->step[1 + axis] = reference->step[axis];
    g_free (array->axis_unit[1 + axis]);
    array->axis_unit[1 + axis] = g_strdup (reference->axis_unit[axis]);
  }
}

static gboolean
save_stack (Stack *stack, SbResult *result, GError **error)
{
  SbBatch *batch = stack->batch;
  gsize n = (gsize)array_size (stack->reference);
  if (n * sizeof (float) * stack->items->len <= MOST_HANDED_OVER)
    stack->all = g_try_malloc_n (n * stack->items->len, sizeof (float));
  if (!result_save_at (&stack->result, stack_writers, batch->prefix, batch->call->output->force, error))
    return FALSE;
  batch->stack_path = g_strconcat (batch->prefix, "_stack.tif", NULL);
  find_overlap (stack);
  warn_of_weak (stack);
  hand_over (stack, result);
  return TRUE;
}

static void
read_factor (Stack *stack)
{
  const json_t *image = json_object_get (((SbBatchItem *)stack->items->pdata[0])->info, "image");
  for (gsize axis = 0; axis < 2; axis++)
    stack->factor[axis] = MAX (json_integer_value (json_array_get (json_object_get (image, "upsampling"), axis)), 1);
}

gboolean
stack_make (SbBatch *batch, SbResult *result, GError **error)
{
  Stack stack = { .batch = batch, .items = choose (batch), .file = -1 };
  gboolean good = TRUE;
  progress_stage (batch->progress, "align", 0.95, 1);
  if (stack.items->len > 0) {
    stack.result.info = json_object ();
    g_mutex_init (&stack.lock);
    read_factor (&stack);
    stack.first = open_image (stack.items->pdata[0], NULL, &stack.reference, error);
    good = stack.first != NULL && save_stack (&stack, result, error);
    result_free (stack.first);
    g_free (stack.all);
    g_mutex_clear (&stack.lock);
    json_decref (stack.result.info);
  }
  g_ptr_array_unref (stack.items);
  return good;
}
