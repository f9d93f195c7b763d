#include "core/h5stack.h"

#include <string.h>

#include "core/error.h"
#include "core/h5frames.h"
#include "core/h5virtual.h"
#include "core/h5walk.h"
#include "core/order.h"

#define D "%" G_GINT64_FORMAT

/* Frames [first, first + n) of the stack are the images image, image + step ... of a dataset. */
typedef struct Part {
  gint64 first, n, image, step; /* first in front: order_last */
  SbH5Frames *frames;           /* one of the stack's sources */
} Part;

typedef struct Stack {
  GPtrArray *sources; /* SbH5Frames * */
  GArray *parts;      /* Part, one after the other */
} Stack;

static Stack *
stack_new (void)
{
  Stack *stack = g_new0 (Stack, 1);
  stack->sources = g_ptr_array_new_with_free_func ((GDestroyNotify)h5frames_free);
  stack->parts = g_array_new (FALSE, FALSE, sizeof (Part));
  return stack;
}

void
h5stack_close (SbReader *reader)
{
  Stack *stack = (Stack *)reader;
  g_ptr_array_unref (stack->sources);
  g_array_unref (stack->parts);
  g_free (stack);
}

static void
take_size (const SbH5Frames *frames, SbHeader *header)
{
  header->detector_rows = frames->rows;
  header->detector_cols = frames->cols;
  header->dtype = frames->dtype;
}

static void
add_file (SbHeader *header, const char *path)
{
  for (guint i = 0; i < header->files->len; i++)
    if (strcmp (header->files->pdata[i], path) == 0)
      return;
  g_ptr_array_add (header->files, g_strdup (path));
}

static gboolean
check_channel (const char *path, const char *dataset, gint64 channel, gint64 channels, GError **error)
{
  if (channel < channels)
    return TRUE;
  return sb_fail (error, SB_ERROR_ARGUMENT, "%s: dataset %s has " D " images a frame, so there is no number " D ".", path,
                  dataset, channels, channel);
}

/* ---- a plain dataset ---- */

static gboolean
open_plain (Stack *stack, const char *path, const char *dataset, gint64 channel, SbHeader *header, GError **error)
{
  SbH5Frames *frames = h5frames_new (path, dataset, error);
  if (frames == NULL)
    return FALSE;
  g_ptr_array_add (stack->sources, frames);
  gboolean split = frames->rank == 4 && channel >= 0;
  if (split && !check_channel (path, dataset, channel, frames->lead[1], error))
    return FALSE;
  Part part = { 0, split ? frames->lead[0] : frames->frames, split ? channel : 0, split ? frames->lead[1] : 1, frames };
  g_array_append_val (stack->parts, part);
  header->frames = header->expected_frames = part.n;
  if (frames->rank == 4 && !split) {
    header->scan_rows = frames->lead[0];
    header->scan_cols = frames->lead[1];
  }
  take_size (frames, header);
  add_file (header, path);
  return TRUE;
}

/* ---- a virtual one ---- */

/* The source of a mapping, opened once; NULL: see the error, or header->missing. */
static SbH5Frames *
source_of (Stack *stack, const SbMapping *mapping, const char *path, SbHeader *header, GError **error)
{
  g_autofree char *file = strcmp (mapping->file, ".") == 0 ? g_strdup (path) : h5walk_file (path, mapping->file);
  g_autoptr (GError) why = NULL;
  /* the last ones first: mappings of one source stand side by side */
  for (guint i = stack->sources->len; i-- > 0;) {
    SbH5Frames *frames = stack->sources->pdata[i];
    if (strcmp (frames->path, file) == 0 && strcmp (frames->dataset, mapping->dataset) == 0)
      return frames;
  }
  if (!g_file_test (file, G_FILE_TEST_EXISTS)) {
    if (header->missing == NULL) /* the first one is told */
      header->missing = g_strdup_printf ("%s is missing.", file);
    return NULL;
  }
  SbH5Frames *frames = h5frames_new (file, mapping->dataset, &why);
  if (frames == NULL && why->code == SB_ERROR_IO) {
    if (header->missing == NULL)
      header->missing = g_strdup (why->message);
  } else if (frames == NULL)
    g_propagate_error (error, g_steal_pointer (&why));
  else {
    g_ptr_array_add (stack->sources, frames);
    add_file (header, file);
  }
  return frames;
}

static gboolean
check_source (const SbH5Frames *frames, const SbVirtual *virtual, const SbHeader *header, gboolean is_first, GError **error)
{
  if (frames->rows == virtual->rows && frames->cols == virtual->cols && (is_first || frames->dtype == header->dtype))
    return TRUE;
  return sb_fail (error, SB_ERROR_DATA,
                  "%s holds " D " x " D " %s frames, not what the virtual dataset is made of: the files of two "
                  "acquisitions are mixed.",
                  frames->path, frames->rows, frames->cols, dtype_name (frames->dtype));
}

/* Adds a frame to the last part where it goes on there, else as a part of its own. */
static void
add_frame (Stack *stack, SbH5Frames *frames, gint64 frame, gint64 image)
{
  Part *last = stack->parts->len > 0 ? &g_array_index (stack->parts, Part, stack->parts->len - 1) : NULL;
  if (last != NULL && last->frames == frames && last->first + last->n == frame && last->n == 1 && image > last->image)
    last->step = image - last->image;
  if (last != NULL && last->frames == frames && last->first + last->n == frame && image == last->image + last->n * last->step) {
    last->n++;
    return;
  }
  Part part = { frame, 1, image, 1, frames };
  g_array_append_val (stack->parts, part);
}

/* Frames of one mapping; those that its source does not have are told in header->missing. */
static void
add_mapping (Stack *stack, SbH5Frames *frames, const SbMapping *mapping, const SbVirtual *virtual, gint64 channel,
             SbHeader *header)
{
  gboolean split = virtual->rank == 4 && channel >= 0;
  gint64 length = frames->rank == 4 ? frames->lead[1] : frames->rank == 3 ? frames->frames : 1, lost = 0;
  for (gint64 i = 0; i < mapping->at[0].count; i++)
    for (gint64 j = 0; j < (split ? 1 : mapping->at[1].count); j++) {
      gint64 row = mapping->at[0].start + i * mapping->at[0].stride;
      gint64 col = split ? channel : mapping->at[1].start + j * mapping->at[1].stride;
      gint64 image = mapping_image (mapping, row, col, length);
      if (image < 0)
        continue;
      if (image >= frames->frames)
        lost++;
      else
        add_frame (stack, frames, split ? row : row * virtual->lead[1] + col, image);
    }
  if (lost > 0 && header->missing == NULL)
    header->missing = g_strdup_printf ("%s holds " D " frames; " D " more were to come.", frames->path, frames->frames, lost);
}

static gint
compare_parts (gconstpointer a, gconstpointer b)
{
  gint64 x = ((const Part *)a)->first, y = ((const Part *)b)->first;
  return x < y ? -1 : x > y;
}

/* Cuts the list where a frame has no source; nothing may have two. */
static gboolean
check_parts (Stack *stack, const char *path, SbHeader *header, GError **error)
{
  g_array_sort (stack->parts, compare_parts);
  gint64 frames = 0;
  guint n = 0;
  for (; n < stack->parts->len; n++) {
    const Part *part = &g_array_index (stack->parts, Part, n);
    if (part->first < frames)
      return sb_fail (error, SB_ERROR_DATA, "%s: frame " D " of the virtual dataset has two sources: write it again.", path,
                      part->first);
    if (part->first > frames)
      break;
    frames += part->n;
  }
  g_array_set_size (stack->parts, n);
  header->frames = frames;
  if (frames < header->expected_frames && header->missing == NULL)
    header->missing = g_strdup_printf ("%s: the virtual dataset names no file for frame " D " and after.", path, frames);
  return TRUE;
}

/* Each image is looked at once: a header that claims more than any scan has would take for ever. */
static gboolean
check_count (const SbVirtual *virtual, const char *path, GError **error)
{
  enum { MOST_IMAGES = 1 << 26 };
  double images = 0;
  for (guint i = 0; i < virtual->mappings->len; i++) {
    const SbMapping *mapping = virtual->mappings->pdata[i];
    images += (double)mapping->at[0].count * (double)mapping->at[1].count;
  }
  return images <= MOST_IMAGES
         || sb_fail (error, SB_ERROR_DATA, "%s claims a virtual dataset of %.0f frames, which cannot be.", path, images);
}

static gboolean
open_virtual (Stack *stack, const char *path, const char *dataset, gint64 channel, SbHeader *header, GError **error)
{
  SbVirtual virtual;
  gboolean good = h5virtual_read (path, dataset, &virtual, error);
  gboolean split = good && virtual.rank == 4 && channel >= 0;
  if (split)
    good = check_channel (path, dataset, channel, virtual.lead[1], error);
  if (good) {
    add_file (header, path);
    header->expected_frames = virtual.lead[0] * (split ? 1 : virtual.lead[1]);
    header->scan_rows = virtual.rank == 4 && !split ? virtual.lead[0] : 0;
    header->scan_cols = virtual.rank == 4 && !split ? virtual.lead[1] : 0;
    header->detector_rows = virtual.rows;
    header->detector_cols = virtual.cols;
    good = check_count (&virtual, path, error);
  }
  for (guint i = 0; good && i < virtual.mappings->len; i++) {
    const SbMapping *mapping = virtual.mappings->pdata[i];
    g_autoptr (GError) why = NULL;
    SbH5Frames *frames = source_of (stack, mapping, path, header, &why);
    if (frames == NULL && why == NULL) /* not there: what lies behind it is cut off below */
      continue;
    good = frames != NULL && check_source (frames, &virtual, header, stack->parts->len == 0, &why);
    if (!good) {
      g_propagate_error (error, g_steal_pointer (&why));
      break;
    }
    take_size (frames, header);
    add_mapping (stack, frames, mapping, &virtual, channel, header);
  }
  good = good && check_parts (stack, path, header, error);
  h5virtual_clear (&virtual);
  return good;
}

/* ---- either ---- */

SbReader *
h5stack_open (const char *path, const char *dataset, gint64 channel, SbHeader *header, GError **error)
{
  g_autofree char *file = NULL, *inside = NULL;
  SbH5Shape shape = { .rank = -1 };
  if (!h5walk_resolve (path, dataset, &file, &inside, error) || !h5io_begin (error))
    return NULL;
  hid_t id = h5io_open_file (file, NULL);
  if (id >= 0) {
    h5walk_shape (id, inside, &shape);
    H5Fclose (id);
  }
  h5io_end ();
  Stack *stack = stack_new ();
  gboolean good = shape.is_virtual ? open_virtual (stack, file, inside, channel, header, error)
                                   : open_plain (stack, file, inside, channel, header, error);
  if (good)
    return (SbReader *)stack;
  h5stack_close ((SbReader *)stack);
  return NULL;
}

/* The part that holds a frame. */
static guint
find_part (const Stack *stack, gint64 frame)
{
  return order_last (stack->parts->data, stack->parts->len, sizeof (Part), frame);
}

/* n frames of one part; the number that messages give a frame is that of the stack where that can be. */
static gboolean
read_part (const Part *part, gint64 first, gint64 n, guint8 *out, GError **error)
{
  gsize bytes = (gsize)(part->frames->rows * part->frames->cols) * dtype_size (part->frames->dtype);
  gint64 image = part->image + (first - part->first) * part->step, run = part->step == 1 ? n : 1;
  for (gint64 i = 0; i < n; i += run, image += run * part->step)
    if (!h5frames_read (part->frames, image, run, first + i - image, out + (gsize)i * bytes, error))
      return FALSE;
  return TRUE;
}

gboolean
h5stack_read (SbReader *reader, gint64 first, gint64 n, gpointer out, GError **error)
{
  const Stack *stack = (const Stack *)reader;
  guint8 *to = out;
  for (guint i = find_part (stack, first); n > 0; i++) {
    if (i >= stack->parts->len)
      return sb_fail (error, SB_ERROR_INTERNAL, "Frames beyond the end of the acquisition were asked for.");
    const Part *part = &g_array_index (stack->parts, Part, i);
    gint64 count = MIN (n, part->first + part->n - first);
    if (!read_part (part, first, count, to, error))
      return FALSE;
    to += (gsize)(count * part->frames->rows * part->frames->cols) * dtype_size (part->frames->dtype);
    first += count;
    n -= count;
  }
  return TRUE;
}
