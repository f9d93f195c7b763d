#include "core/detector.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "core/error.h"

#define ROW(field) G_STRUCT_OFFSET (SbDetectorOptions, field)
#define NO_RANGE .min = -INFINITY, .max = INFINITY, .show_min = -INFINITY, .show_max = INFINITY

enum { MOST_SEGMENTS = 64 };

static const char *const shapes[] = { "bright_field", "annular", "segments", "mask", NULL };

static const SbParam rows[] = {
  { .name = "shape",
    .title = "Shape",
    .unit = "",
    .help = "The part of the detector whose counts are summed.",
    .type = SB_PARAM_CHOICE,
    .offset = ROW (shape),
    .value = NAN,
    .text = "bright_field",
    NO_RANGE,
    .choices = shapes },
  { .name = "inner",
    .title = "Inner angle",
    .unit = "mrad",
    .help = "Inner radius; by default 0, or the semi-angle for annular.",
    .type = SB_PARAM_DOUBLE,
    .offset = ROW (inner),
    .value = NAN,
    .min = 0,
    .max = 1000,
    .show_min = 0,
    .show_max = 200 },
  { .name = "outer",
    .title = "Outer angle",
    .unit = "mrad",
    .help = "Outer radius; by default the semi-angle, or all that is there for annular.",
    .type = SB_PARAM_DOUBLE,
    .offset = ROW (outer),
    .value = NAN,
    .min = 0,
    .max = 1000,
    .show_min = 0,
    .show_max = 200 },
  { .name = "segments",
    .title = "Segments",
    .unit = "",
    .help = "How many equal sectors the shape segments has.",
    .type = SB_PARAM_INT,
    .offset = ROW (segments),
    .value = 4,
    .min = 2,
    .max = MOST_SEGMENTS,
    .show_min = 2,
    .show_max = 16 },
  { .name = "angle",
    .title = "First segment",
    .unit = "deg",
    .help = "Where the first segment begins, from the detector's row axis towards its column axis.",
    .type = SB_PARAM_DOUBLE,
    .offset = ROW (angle),
    .value = 0,
    .min = -360,
    .max = 360,
    .show_min = -180,
    .show_max = 180 },
  { .name = "mask",
    .title = "Mask",
    .unit = "",
    .help = "A .npy file of bytes or booleans with the detector's rows and columns; what is not zero counts.",
    .type = SB_PARAM_PATH,
    .offset = ROW (mask),
    .value = NAN,
    NO_RANGE },
};
const SbParamGroup detector_params = { "detector", "Detector", sizeof (SbDetectorOptions), rows, G_N_ELEMENTS (rows) };

void
detector_free (SbDetector *detector)
{
  if (detector == NULL)
    return;
  g_free (detector->start);
  g_free (detector->pixel);
  g_free (detector);
}

/* label [rows * cols]: 0 none, i + 1: detector i. */
static SbDetector *
from_labels (const SbPattern *pattern, const guint8 *label, gint64 n, GError **error)
{
  gint64 size = pattern->rows * pattern->cols;
  g_autoptr (SbDetector) detector = g_new0 (SbDetector, 1);
  detector->n = n;
  detector->start = g_new0 (gint64, n + 1);
  if ((detector->pixel = sb_alloc ((gsize)size, sizeof (gint32), "The detector's pixels", error)) == NULL)
    return NULL;
  for (gint64 i = 0, at = 0; i < n; i++) {
    for (gint64 p = 0; p < size; p++)
      if (label[p] == i + 1 && !pattern->bad[p])
        detector->pixel[at++] = (gint32)p;
    detector->start[i + 1] = at;
    if (detector->start[i] == at) {
      sb_fail (error, SB_ERROR_ARGUMENT,
               "Detector %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " holds no good pixel; check "
               "inner, outer and mask.",
               i + 1, n);
      return NULL;
    }
  }
  return g_steal_pointer (&detector);
}

SbDetector *
detector_new (const SbPattern *pattern, const SbDetectorGeometry *g, GError **error)
{
  gint64 size = pattern->rows * pattern->cols;
  const double rounding = 1 + 1e-9; /* as the bright field's edge: a pixel on it is inside */
  g_autofree guint8 *label = sb_alloc ((gsize)size, 1, "The detector's pixels", error);
  if (label == NULL)
    return NULL;
  for (gint64 p = 0; p < size; p++) {
    double row = (double)(p / pattern->cols) - g->centre[0], col = (double)(p % pattern->cols) - g->centre[1];
    double r = hypot (row, col);
    label[p] = 0;
    if (r > g->outer * rounding || (r <= g->inner * rounding && !(g->inner <= 0)))
      continue;
    double turn = (atan2 (col, row) - g->angle) / (2 * G_PI);
    gint64 segment = (gint64)floor ((turn - floor (turn)) * (double)g->segments + 1e-9);
    label[p] = (guint8)(segment % g->segments + 1);
  }
  return from_labels (pattern, label, g->segments, error);
}

/* ---- a mask from a file ---- */

static gboolean
mask_fail (const char *path, const SbPattern *pattern, GError **error)
{
  return sb_fail (error, SB_ERROR_ARGUMENT,
                  "%s is no mask of %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT " pixels; save it "
                  "with numpy.save (name, mask.astype (numpy.uint8)).",
                  path, pattern->rows, pattern->cols);
}

/* The header of a .npy file of bytes with these lengths, in C order; the data's offset or 0. */
static gsize
mask_header (const char *bytes, gsize size, const SbPattern *pattern)
{
  if (size < 12 || memcmp (bytes, "\x93NUMPY", 6) != 0 || bytes[6] < 1 || bytes[6] > 3)
    return 0;
  const guint8 *b = (const guint8 *)bytes;
  gsize start = bytes[6] == 1 ? 10 : 12, length = b[8] | (gsize)b[9] << 8;
  if (bytes[6] > 1)
    length |= (gsize)b[10] << 16 | (gsize)b[11] << 24;
  if (length > size - start || size - start - length != (gsize)(pattern->rows * pattern->cols))
    return 0;
  g_autofree char *text = g_strndup (bytes + start, length);
  g_autofree char *shape = g_strdup_printf ("(%" G_GINT64_FORMAT ", %" G_GINT64_FORMAT ")", pattern->rows, pattern->cols);
  gboolean item = strstr (text, "'|b1'") != NULL || strstr (text, "'|u1'") != NULL || strstr (text, "'|i1'") != NULL;
  return item && strstr (text, shape) != NULL && strstr (text, "True") == NULL ? start + length : 0;
}

SbDetector *
detector_from_mask (const SbPattern *pattern, const char *path, GError **error)
{
  struct stat status;
  g_autofree char *bytes = NULL;
  gsize size = 0;
  gint64 n = pattern->rows * pattern->cols;
  if (path == NULL || path[0] == '\0') {
    sb_fail (error, SB_ERROR_ARGUMENT, "Give mask, a .npy file: the shape mask needs it.");
    return NULL;
  }
  if (stat (path, &status) != 0 || !S_ISREG (status.st_mode)) {
    sb_fail (error, SB_ERROR_IO, "%s is not a file that can be read; check the name of the mask.", path);
    return NULL;
  }
  if (status.st_size > n + (1 << 20)) {
    mask_fail (path, pattern, error);
    return NULL;
  }
  if (!g_file_get_contents (path, &bytes, &size, NULL)) {
    sb_fail (error, SB_ERROR_IO, "%s cannot be read; check its permissions.", path);
    return NULL;
  }
  gsize at = mask_header (bytes, size, pattern);
  if (at == 0) {
    mask_fail (path, pattern, error);
    return NULL;
  }
  for (gint64 p = 0; p < n; p++)
    bytes[at + (gsize)p] = bytes[at + (gsize)p] != 0;
  return from_labels (pattern, (const guint8 *)bytes + at, 1, error);
}
