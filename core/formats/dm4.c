/* Gatan DigitalMicrograph, DM3 and DM4: the largest image of four or three axes. Its detector axes stand
 * first or last; their units tell, or else the tag "Data Order Swapped". */
#include <math.h>
#include <string.h>

#include "core/axes.h"
#include "core/axisunits.h"
#include "core/chunk.h"
#include "core/error.h"
#include "core/frameset.h"
#include "core/tagtree.h"

#define D "%" G_GINT64_FORMAT

enum { MOST_IMAGES = 1000 };

typedef struct Dm {
  SbFrameSet *frames; /* whole frames one behind the other */
  char *path;         /* else: all scan positions of a pixel, then those of the next */
  gint64 offset, pixels, positions;
  SbStored stored;
} Dm;

/* One image of the file. */
typedef struct Image {
  int index, rank;
  gint64 size[4]; /* fastest axis first */
  gint64 numbers; /* all axes together */
} Image;

static int
probe (const char *path, const guint8 *head, gsize head_size)
{
  return tagtree_is_dm (head, head_size) ? 90 : 0;
}

static void
close_dm (SbReader *reader)
{
  Dm *dm = (Dm *)reader;
  frameset_free (dm->frames);
  g_free (dm->path);
  g_free (dm);
}

/* FALSE: it has not three or four axes, or they cannot be. */
static gboolean
read_image (const SbTagTree *tree, int index, Image *image)
{
  *image = (Image){ .index = index, .numbers = 1, .size = { 1, 1, 1, 1 } };
  for (int axis = 0; axis < 5; axis++) {
    double size = tagtree_number (tree, "ImageList/%d/ImageData/Dimensions/%d", index, axis);
    if (isnan (size))
      break;
    if (axis == 4 || size < 1 || size > 1e12 || __builtin_mul_overflow (image->numbers, (gint64)size, &image->numbers))
      return FALSE;
    image->size[image->rank++] = (gint64)size;
  }
  return image->rank >= 3 && tagtree_number (tree, "ImageList/%d/ImageData/Dimensions", index) == image->rank;
}

static gboolean
choose_image (const SbTagTree *tree, const char *path, SbHeader *header, Image *image, GError **error)
{
  int found = 0;
  for (int i = 0; i < MOST_IMAGES && tagtree_has (tree, "ImageList/%d", i); i++) {
    Image next;
    if (!read_image (tree, i, &next))
      continue;
    if (++found == 1 || next.numbers > image->numbers)
      *image = next;
  }
  if (found == 0 && tagtree_is_cut (tree))
    return sb_fail (error, SB_ERROR_IO, "%s is truncated before its tags say what it holds: copy it again.", path);
  if (found == 0)
    return sb_fail (error, SB_ERROR_DATA, "%s holds no image of three or four axes, as a scan of frames has.", path);
  if (found > 1)
    g_ptr_array_add (header->warnings, g_strdup_printf ("%s holds %d series of frames; the largest is used.", path, found));
  return TRUE;
}

static gboolean
choose_dtype (const SbTagTree *tree, const char *path, const Image *image, SbStored *stored, GError **error)
{
  static const char *const names[] = {
    [1] = "<i2", [2] = "<f4", [6] = "u1", [7] = "<i4", [9] = "i1", [10] = "<u2", [11] = "<u4", [12] = "<f8"
  };
  double type = tagtree_number (tree, "ImageList/%d/ImageData/DataType", image->index);
  const char *name = type >= 0 && type < G_N_ELEMENTS (names) ? names[(int)type] : NULL;
  if (name == NULL)
    return sb_fail (error, SB_ERROR_DATA,
                    "%s holds numbers of DigitalMicrograph's type %.0f: save them as integers or real numbers.", path, type);
  stored_from_name (name, stored);
  stored->swap = stored->size > 1 && tagtree_is_big_endian (tree) == (G_BYTE_ORDER == G_LITTLE_ENDIAN);
  return TRUE;
}

static const char *
unit_of (const SbTagTree *tree, const Image *image, int axis, double *scale)
{
  *scale = tagtree_number (tree, "ImageList/%d/ImageData/Calibrations/Dimension/%d/Scale", image->index, axis);
  return tagtree_text (tree, "ImageList/%d/ImageData/Calibrations/Dimension/%d/Units", image->index, axis);
}

/* Whether two neighbouring axes are of the detector (1), of the scan (-1), or do not say (0). */
static int
kind_of (const SbTagTree *tree, const Image *image, int axis)
{
  int sum = 0;
  for (int i = axis; i < MIN (axis + 2, image->rank); i++) {
    double scale, factor;
    SbAxisKind kind = axis_kind (unit_of (tree, image, i, &scale), &factor);
    sum += kind == SB_AXIS_LENGTH ? -1 : kind != SB_AXIS_UNKNOWN ? 1 : 0;
  }
  return sum > 0 ? 1 : sum < 0 ? -1 : 0;
}

/* Whether the scan's axes stand first, so that frames do not lie in one piece. */
static gboolean
find_order (const SbTagTree *tree, const char *path, const Image *image, gboolean *scan_first, SbHeader *header, GError **error)
{
  int said = kind_of (tree, image, 0) - (image->rank == 4 ? kind_of (tree, image, 2) : 0);
  *scan_first = image->rank == 4 && said < 0;
  if (said != 0 || image->rank == 3)
    return TRUE;
  double swapped = tagtree_number (tree, "ImageList/%d/ImageTags/Meta Data/Data Order Swapped", image->index);
  if (!isnan (swapped)) {
    *scan_first = swapped == 0;
    return TRUE;
  }
  if (tagtree_is_cut (tree))
    return sb_fail (error, SB_ERROR_IO, "%s is truncated before it says which of its axes are the detector's: copy it again.",
                    path);
  g_ptr_array_add (header->warnings, g_strdup_printf ("%s does not say which of its axes are the detector's; the first "
                                                      "two are taken to be.",
                                                      path));
  return TRUE;
}

static gboolean
fill_optics (const SbTagTree *tree, const char *path, const Image *image, gboolean scan_first, SbHeader *header, GError **error)
{
  double volts = tagtree_number (tree, "ImageList/%d/ImageTags/Microscope Info/Voltage", image->index);
  int slow[4] = { 3, 2, 1, 0 }; /* DM's axes as scan row, scan column, detector row, detector column */
  const int swapped[4] = { 1, 0, 3, 2 };
  SbAxis axes[4];
  header->energy = volts > 1e3 && volts < 1e7 ? volts / 1e3 : NAN;
  if (scan_first)
    memcpy (slow, swapped, sizeof slow);
  for (int i = 0; i < 4; i++) {
    axes[i] = (SbAxis){ NAN, NULL };
    if (slow[i] < image->rank && (i >= 2 || image->rank == 4))
      axes[i].units = g_strdup (unit_of (tree, image, slow[i], &axes[i].scale));
  }
  gboolean good = axes_apply (path, axes, header, error);
  axes_clear (axes);
  return good;
}

/* Rows stored pixel by pixel: what is there in part is not there. */
static gboolean
describe_scan_first (Dm *dm, const char *path, const Image *image, const SbTagArray *array, gint64 size, SbHeader *header,
                     GError **error)
{
  gint64 bytes, end;
  dm->path = g_strdup (path);
  dm->offset = array->offset;
  dm->positions = image->size[0] * image->size[1];
  dm->pixels = image->size[2] * image->size[3];
  if (__builtin_mul_overflow (image->numbers, (gint64)dm->stored.size, &bytes)
      || __builtin_add_overflow (array->offset, bytes, &end) || end > size)
    return sb_fail (error, SB_ERROR_IO,
                    "%s is truncated (have " D " bytes, needs %.0f bytes), and stored so that every frame is cut: copy "
                    "it again.",
                    path, size, (double)array->offset + (double)image->numbers * (double)dm->stored.size);
  header->frames = dm->positions;
  g_ptr_array_add (header->warnings,
                   g_strdup_printf ("%s is stored pixel by pixel, not frame by frame, and is slow to read.", path));
  return TRUE;
}

static gboolean
describe_frames (Dm *dm, const char *path, const Image *image, const SbTagArray *array, gint64 size, SbHeader *header,
                 GError **error)
{
  SbFrameLayout layout;
  gboolean cut;
  gint64 wanted = image->size[2] * image->size[3];
  if (!frame_layout (&dm->stored, header->detector_rows, header->detector_cols, 0, 0, &layout))
    return sb_fail (error, SB_ERROR_DATA, "%s claims frames of " D " x " D " pixels, which cannot be.", path,
                    header->detector_rows, header->detector_cols);
  header->frames = MIN (wanted, frameset_fit (&layout, array->offset, size, &cut));
  header->expected_frames = wanted;
  if (header->frames < wanted)
    header->missing = frameset_truncated (&layout, path, size, array->offset, wanted);
  dm->frames = frameset_new (&layout);
  frameset_add (dm->frames, path, array->offset, header->frames);
  return TRUE;
}

static gboolean
describe (Dm *dm, const SbTagTree *tree, const char *path, gint64 size, SbHeader *header, GError **error)
{
  Image image;
  if (!choose_image (tree, path, header, &image, error) || !choose_dtype (tree, path, &image, &dm->stored, error))
    return FALSE;
  const SbTagArray *array = tagtree_array (tree, "ImageList/%d/ImageData/Data", image.index);
  if (array == NULL || array->count < image.numbers)
    return sb_fail (error, SB_ERROR_DATA, "%s holds fewer numbers than its axes have: save it again.", path);
  gboolean scan_first = FALSE;
  if (!find_order (tree, path, &image, &scan_first, header, error))
    return FALSE;
  int detector = scan_first ? 2 : 0, scan = scan_first ? 0 : 2;
  header->dtype = dm->stored.dtype;
  header->detector_cols = image.size[detector];
  header->detector_rows = image.size[detector + 1];
  if (image.rank == 4) {
    header->scan_cols = image.size[scan];
    header->scan_rows = image.size[scan + 1];
  }
  if (!fill_optics (tree, path, &image, scan_first, header, error))
    return FALSE;
  return scan_first ? describe_scan_first (dm, path, &image, array, size, header, error)
                    : describe_frames (dm, path, &image, array, size, header, error);
}

static SbReader *
open_dm (const char *path, const SbAcquisitionOptions *options, SbHeader *header, GError **error)
{
  SbFlatFile *file = flatfile_open (path, error);
  SbTagTree *tree = file != NULL ? tagtree_read (file, path, error) : NULL;
  Dm *dm = g_new0 (Dm, 1);
  gboolean good = tree != NULL && describe (dm, tree, path, flatfile_size (file), header, error);
  tagtree_free (tree);
  flatfile_close (file);
  if (!good) {
    close_dm ((SbReader *)dm);
    return NULL;
  }
  return (SbReader *)dm;
}

/* n positions of every pixel, turned into n frames. */
static gboolean
read_scan_first (const Dm *dm, SbFlatFile *file, gint64 first, gint64 n, guint8 *out, GError **error)
{
  gsize from = dm->stored.size, to = dtype_size (dm->stored.dtype);
  g_autofree guint8 *line = sb_alloc ((gsize)n, to, "A row of scan positions", error);
  if (line == NULL)
    return FALSE;
  for (gint64 pixel = 0; pixel < dm->pixels; pixel++) {
    gint64 at = dm->offset + (pixel * dm->positions + first) * (gint64)from;
    gssize got = flatfile_bytes (file, at, (gsize)n * from, line, error);
    if (got < 0)
      return FALSE;
    if ((gsize)got < (gsize)n * from)
      return sb_fail (error, SB_ERROR_IO, "%s ends in frame " D ": it was shortened while it was read.", dm->path, first);
    if (dm->stored.swap)
      chunk_swap (line, (gsize)n, from);
    for (gint64 i = 0; i < n; i++) {
      guint8 *put = out + (gsize)(i * dm->pixels + pixel) * to;
      if (dm->stored.widen) {
        gint16 wide = ((const gint8 *)line)[i];
        memcpy (put, &wide, sizeof wide);
      } else
        memcpy (put, line + (gsize)i * to, to);
    }
  }
  return TRUE;
}

static gboolean
read_dm (SbReader *reader, gint64 first, gint64 n, gpointer out, GError **error)
{
  const Dm *dm = (const Dm *)reader;
  if (dm->frames != NULL)
    return frameset_read (dm->frames, first, n, out, error);
  SbFlatFile *file = flatfile_open (dm->path, error);
  gboolean good = file != NULL && read_scan_first (dm, file, first, n, out, error);
  flatfile_close (file);
  return good;
}

static gboolean
chunks_dm (SbReader *reader, gint64 first, gint64 n, SbChunkCodec *codec, SbFrameChunk *out)
{
  const Dm *dm = (const Dm *)reader;
  return dm->frames != NULL && frameset_chunks (dm->frames, first, n, codec, out);
}

const SbFormat format_dm4 = {
  .name = "dm4",
  .title = "Gatan DigitalMicrograph (.dm4, .dm3)",
  .suffixes = "dm4 dm3",
  .probe = probe,
  .open = open_dm,
  .read = read_dm,
  .close = close_dm,
  .chunks = chunks_dm,
};
