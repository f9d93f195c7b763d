#include "core/acquisition.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/error.h"
#include "core/mend.h"
#include "core/scan.h"

/* Frames larger than this are a misread header, not a detector. */
enum { HEAD = 4096, MOST_PIXELS_A_SIDE = 1 << 16 };

/* clang-format off */
static const struct {
  const char *name, *brief;
  gsize size;
} dtypes[] = {
  [SB_U8] = { "uint8", "u1", 1 },   [SB_U16] = { "uint16", "u2", 2 },  [SB_U32] = { "uint32", "u4", 4 },
  [SB_I16] = { "int16", "i2", 2 },  [SB_I32] = { "int32", "i4", 4 },   [SB_F32] = { "float32", "f4", 4 },
  [SB_F64] = { "float64", "f8", 8 },
};
/* clang-format on */

gsize
dtype_size (SbDtype dtype)
{
  return dtypes[dtype].size;
}

const char *
dtype_name (SbDtype dtype)
{
  return dtypes[dtype].name;
}

gboolean
dtype_from_name (const char *name, SbDtype *dtype)
{
  for (guint i = 0; name != NULL && i < G_N_ELEMENTS (dtypes); i++)
    if (strcmp (name, dtypes[i].name) == 0 || strcmp (name, dtypes[i].brief) == 0) {
      *dtype = (SbDtype)i;
      return TRUE;
    }
  return FALSE;
}

/* clang-format off */
#define FIELD(field) G_STRUCT_OFFSET (SbAcquisitionOptions, field)
static const SbParam rows[] = {
  { .name = "scan_shape", .title = "Scan shape", .unit = "", .type = SB_PARAM_SHAPE,
    .offset = FIELD (scan_shape),
    .help = "Rows and columns of the scan, without flyback; read from the file where it says so.",
    .value = NAN, .min = 1, .max = 1e9, .show_min = 1, .show_max = 4096 },
  { .name = "scan_region", .title = "Scan region", .unit = "", .type = SB_PARAM_REGION,
    .offset = FIELD (scan_region),
    .help = "First row, first column, rows and columns of the part of the scan to use; all of it by default.",
    .value = NAN, .min = 0, .max = 1e9, .show_min = 0, .show_max = 4096, .flags = SB_PARAM_ADVANCED },
  { .name = "detector_shape", .title = "Detector shape", .unit = "pixels", .type = SB_PARAM_SHAPE,
    .offset = FIELD (detector_shape),
    .help = "Rows and columns of a detector frame, for raw files and frames that a program hands over.",
    .value = NAN, .min = 1, .max = MOST_PIXELS_A_SIDE, .show_min = 1, .show_max = 4096,
    .flags = SB_PARAM_ADVANCED },
  { .name = "dtype", .title = "Number type", .unit = "", .type = SB_PARAM_TEXT, .offset = FIELD (dtype),
    .help = "Type of the counts of raw files and frames that a program hands over: uint8, uint16, uint32, "
            "int16, int32, float32 or float64; >u2 for big-endian.",
    .value = NAN, .min = -INFINITY, .max = INFINITY, .flags = SB_PARAM_ADVANCED },
  { .name = "header_bytes", .title = "Header bytes", .unit = "bytes", .type = SB_PARAM_INT,
    .offset = FIELD (header_bytes),
    .help = "Bytes of a raw file before its first frame.", .value = 0, .min = 0, .max = 1e12, .show_min = 0,
    .show_max = 65536, .flags = SB_PARAM_ADVANCED },
  { .name = "partial", .title = "Use an incomplete scan", .unit = "", .type = SB_PARAM_BOOL,
    .offset = FIELD (partial),
    .help = "Use the complete scan rows of an acquisition that was interrupted or lacks files.", .value = 0,
    .min = 0, .max = 1, .flags = SB_PARAM_ADVANCED },
  { .name = "dataset", .title = "Dataset", .unit = "", .type = SB_PARAM_TEXT, .offset = FIELD (dataset),
    .help = "Path of the frames inside an HDF5 file that holds several arrays; found where there is one.",
    .value = NAN, .min = -INFINITY, .max = INFINITY, .flags = SB_PARAM_ADVANCED },
  { .name = "channel", .title = "Channel", .unit = "", .type = SB_PARAM_TEXT, .offset = FIELD (channel),
    .help = "Which image of a detector that records several thresholds, by its name or its number from 0; the first "
            "one by default.",
    .value = NAN, .min = -INFINITY, .max = INFINITY, .flags = SB_PARAM_ADVANCED },
  { .name = "damaged_frames", .title = "Damaged frames", .unit = "", .type = SB_PARAM_CHOICE,
    .offset = FIELD (damaged_frames),
    .help = "What becomes of frames that cannot be decoded: refuse them, or take them as empty and say so.",
    .value = NAN, .text = "refuse", .choices = mend_damaged_choices, .flags = SB_PARAM_ADVANCED },
  { .name = "descan", .title = "Descan", .unit = "", .type = SB_PARAM_CHOICE, .offset = FIELD (descan),
    .help = "A disk that wanders over the detector with the scan: report it, or remove it by moving frames back by "
            "whole pixels (loads a file up to five times).",
    .value = NAN, .text = "report", .choices = mend_descan_choices, .flags = SB_PARAM_ADVANCED },
  { .name = "reciprocal", .title = "Detector step", .unit = "1/Å", .type = SB_PARAM_DOUBLE, .offset = FIELD (reciprocal),
    .help = "Detector step of frames that a program hands over, where it is known in 1/Å a pixel; with the energy it gives "
            "the sampling.",
    .value = NAN, .min = 0, .max = 100, .show_min = 0, .show_max = 0.1, .flags = SB_PARAM_ADVANCED },
};

const SbParamGroup acquisition_params = {
  .name = "acquisition", .title = "Acquisition", .size = sizeof (SbAcquisitionOptions), .rows = rows,
  .n_rows = G_N_ELEMENTS (rows),
};
/* clang-format on */

static SbAcquisition *
new_empty (const char *path, const SbAcquisitionOptions *options)
{
  SbAcquisition *a = g_new0 (SbAcquisition, 1);
  a->path = g_strdup (path);
  if (options != NULL)
    a->options = *options;
  a->options.dtype = options != NULL ? g_strdup (options->dtype) : NULL;
  a->options.dataset = options != NULL ? g_strdup (options->dataset) : NULL;
  a->options.channel = options != NULL ? g_strdup (options->channel) : NULL;
  a->options.damaged_frames = options != NULL ? g_strdup (options->damaged_frames) : NULL;
  a->options.descan = options != NULL ? g_strdup (options->descan) : NULL;
  SbHeader *header = &a->header;
  header->energy = header->semiangle = header->sampling = header->reciprocal = header->step[0] = header->step[1] =
      header->saturation = NAN;
  header->files = g_ptr_array_new_with_free_func (g_free);
  header->warnings = g_ptr_array_new_with_free_func (g_free);
  if (path != NULL)
    g_ptr_array_add (header->files, g_strdup (path));
  return a;
}

void
acquisition_free (SbAcquisition *acquisition)
{
  if (acquisition == NULL)
    return;
  if (acquisition->reader != NULL)
    acquisition->format->close (acquisition->reader);
  g_ptr_array_unref (acquisition->header.files);
  g_ptr_array_unref (acquisition->header.warnings);
  g_free (acquisition->header.mask);
  g_free (acquisition->header.missing);
  g_free (acquisition->options.dtype);
  g_free (acquisition->options.dataset);
  g_free (acquisition->options.channel);
  g_free (acquisition->options.damaged_frames);
  g_free (acquisition->options.descan);
  g_free (acquisition->path);
  g_free (acquisition);
}

/* Whatever the reader says, later code multiplies these numbers. */
static gboolean
check_header (const SbHeader *header, const char *name, GError **error)
{
  gint64 bytes = (gint64)dtype_size (header->dtype);
  if (header->frames < 1 && header->missing != NULL)
    return sb_fail (error, SB_ERROR_IO, "%s", header->missing);
  if (header->frames < 1)
    return sb_fail (error, SB_ERROR_DATA, "%s holds no frames.", name);
  if (header->detector_rows < 1 || header->detector_cols < 1 || header->detector_rows > MOST_PIXELS_A_SIDE
      || header->detector_cols > MOST_PIXELS_A_SIDE || header->detector_rows * header->detector_cols > G_MAXINT32)
    return sb_fail (error, SB_ERROR_DATA,
                    "%s claims a detector of %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT " pixels, which cannot be.", name,
                    header->detector_rows, header->detector_cols);
  if (header->expected_frames < 0 || __builtin_mul_overflow (bytes, header->detector_rows * header->detector_cols, &bytes)
      || __builtin_mul_overflow (bytes, MAX (header->frames, header->expected_frames), &bytes))
    return sb_fail (error, SB_ERROR_DATA, "%s claims %" G_GINT64_FORMAT " frames, which cannot be.", name,
                    MAX (header->frames, header->expected_frames));
  return TRUE;
}

/* The format that claims the file most; NULL with an error that lists what there is. */
static const SbFormat *
choose_format (const char *path, GError **error)
{
  const SbFormat *best = NULL;
  int most = 0;
  guint8 head[HEAD];
  struct stat info;
  gboolean there = stat (path, &info) == 0;
  FILE *file = there && S_ISREG (info.st_mode) ? fopen (path, "rbe") : NULL;
  if (file == NULL) {
    sb_fail (error, SB_ERROR_IO,
             !there && errno == ENOENT         ? "%s does not exist: check the name and the folder."
             : there && S_ISDIR (info.st_mode) ? "%s is a folder: give a file."
                                               : "%s cannot be read: check its permissions.",
             path);
    return NULL;
  }
  gsize size = fread (head, 1, sizeof head, file);
  fclose (file);
  for (guint i = 0; format_registry[i] != NULL; i++) {
    int score = format_registry[i]->probe (path, head, size);
    if (score > most) {
      most = score;
      best = format_registry[i];
    }
  }
  if (best == NULL) {
    g_autoptr (GString) titles = g_string_new (NULL);
    for (guint i = 0; format_registry[i] != NULL; i++)
      g_string_append_printf (titles, "%s%s", i > 0 ? "; " : "", format_registry[i]->title);
    sb_fail (error, SB_ERROR_DATA, "%s is of no format that can be read; those are: %s.", path, titles->str);
  }
  return best;
}

SbAcquisition *
acquisition_open (const char *path, const SbAcquisitionOptions *options, GError **error)
{
  if (path == NULL || path[0] == '\0') {
    sb_fail (error, SB_ERROR_ARGUMENT, "No file name was given.");
    return NULL;
  }
  const SbFormat *format = choose_format (path, error);
  if (format == NULL)
    return NULL;
  /* Absolute, because the host may change its folder before the frames are read. */
  g_autofree char *folder = g_get_current_dir ();
  g_autofree char *absolute = g_path_is_absolute (path) ? g_strdup (path) : g_build_filename (folder, path, NULL);
  SbAcquisition *a = new_empty (absolute, options);
  a->format = format;
  a->reader = format->open (absolute, &a->options, &a->header, error);
  if (a->reader == NULL || !check_header (&a->header, absolute, error) || !scan_resolve (a, absolute, error))
    g_clear_pointer (&a, acquisition_free);
  if (a != NULL)
    mend_install (a);
  return a;
}

SbAcquisition *
acquisition_new (const SbAcquisitionOptions *options, GError **error)
{
  SbAcquisition *a = new_empty (NULL, options);
  const gint64 *scan = a->options.scan_shape, *detector = a->options.detector_shape;
  gboolean good = FALSE;
  if (scan[0] <= 0 || scan[1] <= 0 || detector[0] <= 0 || detector[1] <= 0 || a->options.dtype == NULL)
    sb_fail (error, SB_ERROR_ARGUMENT, "Frames that are handed over need scan_shape, detector_shape and dtype.");
  else if (mend_removes_descan (a))
    sb_fail (error, SB_ERROR_ARGUMENT,
             "descan remove needs a file that can be read again; move the frames back before they are handed over.");
  else if (!dtype_from_name (a->options.dtype, &a->header.dtype))
    sb_fail (error, SB_ERROR_ARGUMENT, "dtype %s is unknown: give uint8, uint16, uint32, int16, int32, float32 or float64.",
             a->options.dtype);
  else if (__builtin_mul_overflow (scan[0], scan[1], &a->header.frames))
    sb_fail (error, SB_ERROR_ARGUMENT, "scan_shape %" G_GINT64_FORMAT ",%" G_GINT64_FORMAT " is not possible.", scan[0],
             scan[1]);
  else {
    a->header.detector_rows = detector[0];
    a->header.detector_cols = detector[1];
    if (a->options.reciprocal > 0)
      a->header.reciprocal = a->options.reciprocal;
    a->header.expected_frames = a->header.frames;
    good = check_header (&a->header, "The acquisition", error) && scan_resolve (a, "The acquisition", error);
  }
  if (!good)
    g_clear_pointer (&a, acquisition_free);
  return a;
}

gint64
acquisition_position (const SbAcquisition *a, gint64 frame)
{
  gint64 pitch = a->scan_cols + a->flyback;
  gint64 row = frame / pitch - a->region[0], col = frame % pitch - a->region[1];
  if (frame < 0 || row < 0 || row >= a->used_rows || col < 0 || col >= a->used_cols)
    return -1;
  return row * a->used_cols + col;
}

gint64
acquisition_frame (const SbAcquisition *a, gint64 position)
{
  gint64 row = position / a->used_cols + a->region[0], col = position % a->used_cols + a->region[1];
  return row * (a->scan_cols + a->flyback) + col;
}

gint64
acquisition_positions (const SbAcquisition *acquisition)
{
  return acquisition->used_rows * acquisition->used_cols;
}

gint64
acquisition_frame_count (const SbAcquisition *acquisition)
{
  return acquisition->header.frames;
}
