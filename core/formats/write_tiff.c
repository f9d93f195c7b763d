/* The phase as a 32-bit float TIFF that ImageJ and Fiji open calibrated. With absorption it is a hyperstack
 * of two channels: channels, not slices, since each has its own unit and display range. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"
#include "core/picture.h"
#include "core/result.h"
#include "core/tiff.h"

/* 2-D floats that fit a classic TIFF (ImageJ reads no other); a second page must have the first one's shape.
 */
static gboolean
usable (const SbArray *array, const SbArray *first)
{
  return array != NULL && !array->bytes && array->n_dims == 2 && array_size (array) > 0
         && array_size (array) < ((gint64)1 << 31) / (gint64)sizeof (float) && array->shape[0] == first->shape[0]
         && array->shape[1] == first->shape[1];
}

static gboolean
write_pages (SbTiffPage *pages, int n_pages, const char *path, GError **error)
{
  for (int i = 0; i < n_pages; i++)
    picture_range (pages[i].array->data, (gsize)array_size (pages[i].array), &pages[i].low, &pages[i].high);
  g_autoptr (GByteArray) head = tiff_head (pages, n_pages, SB_TIFF_CHANNELS);
  int file = open (path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0)
    return save_failed (error, errno);
  gboolean good = save_append (file, head->data, head->len, error);
  for (int i = 0; good && i < n_pages; i++)
    good = tiff_append (file, pages[i].array, error);
  if (close (file) != 0 && good)
    return save_failed (error, errno);
  return good;
}

static gboolean
write_tiff (const SbResult *result, const char *path, GError **error)
{
  static const char *const names[] = { "phase", "absorption" };
  SbTiffPage pages[2];
  int n_pages = 0;
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    const SbArray *array = result_find (result, names[i]);
    if (!usable (array, n_pages > 0 ? pages[0].array : array)) {
      if (i == 0)
        return sb_fail (error, SB_ERROR_ARGUMENT, "there is no phase image, or it is larger than 2 GB; save it as hdf5");
      continue;
    }
    pages[n_pages++].array = array;
  }
  return write_pages (pages, n_pages, path, error);
}

/* Each image of a virtual detector as a page. */
static gboolean
write_detector (const SbResult *result, const char *path, GError **error)
{
  const SbArray *array = result_find (result, "detector");
  if (!result_is_detector (result) || array_size (array) >= ((gint64)1 << 31) / (gint64)sizeof (float))
    return sb_fail (error, SB_ERROR_ARGUMENT,
                    "there is no image of a virtual detector, or it is larger than 2 GB; save it as hdf5");
  int first = array->n_dims - 2, n = first > 0 ? (int)array->shape[0] : 1;
  g_autofree SbTiffPage *pages = g_new0 (SbTiffPage, n);
  g_autofree SbArray *images = g_new0 (SbArray, n);
  for (int i = 0; i < n; i++) {
    images[i] = *array; /* a view: its strings and samples are the array's */
    images[i].n_dims = 2;
    images[i].data = array->data + i * array->shape[first] * array->shape[first + 1];
    for (int axis = 0; axis < 2; axis++) {
      images[i].shape[axis] = array->shape[first + axis];
      images[i].step[axis] = array->step[first + axis];
      images[i].axis_unit[axis] = array->axis_unit[first + axis];
    }
    pages[i].array = &images[i];
  }
  return write_pages (pages, n, path, error);
}

/* The Software tag of the first directory, in a file as we write it. */
static gboolean
has_our_tag (FILE *file)
{
  static const char wanted[] = "sideband ";
  guint8 entry[12] = { 0 }, text[sizeof wanted - 1];
  guint32 at = 0;
  guint n = 0;
  if (fread (entry, 1, 8, file) != 8 || memcmp (entry, "II*\0", 4) != 0)
    return FALSE;
  memcpy (&at, entry + 4, 4);
  if (fseek (file, (long)GUINT32_FROM_LE (at), SEEK_SET) != 0 || fread (entry, 1, 2, file) != 2)
    return FALSE;
  for (n = entry[0] | (guint)entry[1] << 8; n > 0 && fread (entry, 1, 12, file) == 12; n--) {
    if ((entry[0] | (guint)entry[1] << 8) != TAG_SOFTWARE)
      continue;
    memcpy (&at, entry + 8, 4);
    return fseek (file, (long)GUINT32_FROM_LE (at), SEEK_SET) == 0 && fread (text, 1, sizeof text, file) == sizeof text
           && memcmp (text, wanted, sizeof text) == 0;
  }
  return FALSE;
}

static gboolean
ours (const char *path)
{
  FILE *file = fopen (path, "rbe");
  gboolean found = file != NULL && has_our_tag (file);
  if (file != NULL)
    fclose (file);
  return found;
}

static gboolean
applies (const SbResult *result)
{
  const SbArray *phase = result_find (result, "phase");
  return phase != NULL && usable (phase, phase);
}

const SbWriter writer_tiff = {
  .name = "tiff",
  .suffix = "_phase.tif",
  .applies = applies,
  .write = write_tiff,
  .ours = ours,
};

const SbWriter writer_detector_tiff = {
  .name = "detector_tiff",
  .suffix = "_detector.tif",
  .applies = result_is_detector,
  .write = write_detector,
  .ours = ours,
};
