/* PNG pictures: the phase in grey with its scale bar, or the picture that proves a calibration. */
#include <errno.h>
#include <math.h>
#include <png.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/picture.h"
#include "core/quality.h"
#include "core/result.h"

typedef struct Picture {
  const guint8 *rgb;
  gint64 rows, cols;
  const char *description;
} Picture;

enum { LEVEL = 3 /* at 6 a phase image takes several times as long, for a hundredth of its bytes */ };

/* One sample a pixel where all three are the same everywhere; else NULL. */
static guint8 *
pack_grey (const Picture *picture)
{
  gsize n = (gsize)(picture->rows * picture->cols);
  g_autofree guint8 *grey = g_try_malloc (n);
  for (gsize i = 0; grey != NULL && i < n; i++) {
    const guint8 *p = picture->rgb + 3 * i;
    if (p[0] != p[1] || p[0] != p[2])
      return NULL;
    grey[i] = p[0];
  }
  return g_steal_pointer (&grey);
}

/* libpng leaves by longjmp; the reason is kept here. */
static void
on_error (png_structp png, png_const_charp message)
{
  int *why = png_get_error_ptr (png);
  *why = errno != 0 ? errno : EIO;
  png_longjmp (png, 1);
}

static void
on_warning (png_structp png, png_const_charp message)
{
}

static void
put_texts (png_structp png, png_infop info, const char *description)
{
  png_text texts[2];
  memset (texts, 0, sizeof texts);
  texts[0].compression = PNG_TEXT_COMPRESSION_NONE;
  texts[0].key = (char *)"Software";
  texts[0].text = (char *)"sideband " SB_VERSION;
  texts[1].compression = PNG_ITXT_COMPRESSION_NONE; /* UTF-8 */
  texts[1].key = (char *)"Description";
  texts[1].text = (char *)description;
  png_set_text (png, info, texts, 2);
}

/* grey: the samples of a picture without colours, or NULL. Nothing of this function's own is changed between setjmp and a jump
 * back to it. */
static gboolean
encode (png_structp png, png_infop info, FILE *file, const Picture *picture, const guint8 *grey)
{
  if (setjmp (png_jmpbuf (png)))
    return FALSE;
  png_init_io (png, file);
  png_set_IHDR (png, info, (png_uint_32)picture->cols, (png_uint_32)picture->rows, 8,
                grey != NULL ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                PNG_FILTER_TYPE_DEFAULT);
  png_set_compression_level (png, LEVEL);
  /* pHYs is the printed size (300 dpi); a specimen's pixels a metre do not fit its 31 bits */
  png_set_pHYs (png, info, 11811, 11811, PNG_RESOLUTION_METER);
  put_texts (png, info, picture->description);
  png_write_info (png, info);
  for (gint64 r = 0; r < picture->rows; r++)
    png_write_row (png, grey != NULL ? grey + r * picture->cols : picture->rgb + r * picture->cols * 3);
  png_write_end (png, NULL);
  return TRUE;
}

static gboolean
write_file (const Picture *picture, const char *path, GError **error)
{
  int why = 0;
  g_autofree guint8 *grey = pack_grey (picture);
  FILE *file = fopen (path, "wbe");
  if (file == NULL)
    return save_failed (error, errno);
  errno = 0;
  png_structp png = png_create_write_struct (PNG_LIBPNG_VER_STRING, &why, on_error, on_warning);
  png_infop info = png != NULL ? png_create_info_struct (png) : NULL;
  gboolean good = info != NULL && encode (png, info, file, picture, grey);
  if (info == NULL)
    why = ENOMEM;
  png_destroy_write_struct (&png, &info);
  if (fclose (file) != 0 && good) {
    why = errno;
    good = FALSE;
  }
  return good ? TRUE : save_failed (error, why);
}

static char *
describe (const SbArray *array)
{
  char row[G_ASCII_DTOSTR_BUF_SIZE], col[G_ASCII_DTOSTR_BUF_SIZE], low[G_ASCII_DTOSTR_BUF_SIZE], high[G_ASCII_DTOSTR_BUF_SIZE];
  double range[2];
  if (array->bytes)
    return g_strdup (array->title);
  picture_range (array->data, (gsize)array_size (array), &range[0], &range[1]);
  g_ascii_formatd (row, sizeof row, "%.6g", array->step[0]);
  g_ascii_formatd (col, sizeof col, "%.6g", array->step[1]);
  g_ascii_formatd (low, sizeof low, "%.6g", range[0]);
  g_ascii_formatd (high, sizeof high, "%.6g", range[1]);
  return g_strdup_printf ("%s; black %s, white %s %s; samples %s x %s %s (row x column)", array->title, low, high, array->unit,
                          row, col, array->axis_unit[0]);
}

static gboolean
write_png (const SbResult *result, const char *path, GError **error)
{
  const SbArray *phase = result_find (result, "phase"), *made = result_find (result, "picture");
  g_autofree guint8 *drawn = NULL;
  Picture picture = { NULL };
  if (phase != NULL && !phase->bytes && phase->n_dims == 2) {
    drawn = picture_image (phase->data, phase->shape[0], phase->shape[1], phase->step[0], phase->step[1], phase->unit,
                           &picture.rows, &picture.cols);
    picture.rgb = drawn;
  } else if (made != NULL && made->bytes && made->n_dims == 3 && made->shape[2] == 3) {
    phase = made;
    picture = (Picture){ made->pixels, made->shape[0], made->shape[1], NULL };
  } else {
    return sb_fail (error, SB_ERROR_ARGUMENT, "there is no phase image and no picture; save it as hdf5");
  }
  if (picture.rgb == NULL)
    return sb_fail (error, SB_ERROR_MEMORY, "no memory to draw the picture; close other programs");
  g_autofree char *description = describe (phase);
  picture.description = description;
  return write_file (&picture, path, error);
}

/* A tEXt chunk "Software" before the image data that begins with our name. */
static gboolean
ours (const char *path)
{
  static const char wanted[] = "Software\0sideband ";
  guint8 head[8], start[sizeof wanted - 1];
  gboolean found = FALSE;
  FILE *file = fopen (path, "rbe");
  if (file == NULL)
    return FALSE;
  gboolean more = fread (head, 1, 8, file) == 8 && png_sig_cmp (head, 0, 8) == 0;
  for (int chunk = 0; more && !found && chunk < 64; chunk++) {
    more = fread (head, 1, 8, file) == 8 && memcmp (head + 4, "IDAT", 4) != 0;
    guint32 size = (guint32)head[0] << 24 | (guint32)head[1] << 16 | (guint32)head[2] << 8 | head[3];
    gsize taken = 0;
    if (more && memcmp (head + 4, "tEXt", 4) == 0 && size >= sizeof start) {
      taken = fread (start, 1, sizeof start, file);
      found = taken == sizeof start && memcmp (start, wanted, sizeof start) == 0;
    }
    more = more && fseek (file, (long)size + 4 - (long)taken, SEEK_CUR) == 0;
  }
  fclose (file);
  return found;
}

static gboolean
applies_phase (const SbResult *result)
{
  const SbArray *phase = result_find (result, "phase");
  return phase != NULL && !phase->bytes && phase->n_dims == 2;
}

/* One image, or several side by side. */
static gboolean
write_detector (const SbResult *result, const char *path, GError **error)
{
  const SbArray *array = result_find (result, "detector");
  Picture picture = { NULL };
  if (!result_is_detector (result))
    return sb_fail (error, SB_ERROR_ARGUMENT, "there is no image of a virtual detector; save that of detector");
  int first = array->n_dims - 2;
  gint64 n = first > 0 ? array->shape[0] : 1, rows = array->shape[first], cols = array->shape[first + 1];
  g_autofree float *row = g_try_new (float, n *rows *cols);
  for (gint64 i = 0; row != NULL && i < n * rows; i++)
    memcpy (row + (i % rows * n + i / rows) * cols, array->data + i * cols, (gsize)cols * sizeof (float));
  g_autofree guint8 *drawn = row == NULL ? NULL
                                         : picture_image (row, rows, n * cols, array->step[first], array->step[first + 1],
                                                          array->unit, &picture.rows, &picture.cols);
  if (drawn == NULL)
    return sb_fail (error, SB_ERROR_MEMORY, "no memory to draw the picture; close other programs");
  picture.rgb = drawn;
  picture.description = array->title;
  return write_file (&picture, path, error);
}

const SbWriter writer_detector_png = {
  .name = "detector_png",
  .suffix = "_detector.png",
  .applies = result_is_detector,
  .write = write_detector,
  .ours = ours,
};

static gboolean
write_quality (const SbResult *result, const char *path, GError **error)
{
  Picture picture = { .description = "Fourier ring correlation and transfer" };
  if (!quality_is_in (result))
    return sb_fail (error, SB_ERROR_ARGUMENT, "the quality was not measured; reconstruct with quality");
  g_autofree guint8 *drawn = picture_quality (result, &picture.rows, &picture.cols);
  if (drawn == NULL)
    return sb_fail (error, SB_ERROR_MEMORY, "no memory to draw the picture; close other programs");
  picture.rgb = drawn;
  return write_file (&picture, path, error);
}

const SbWriter writer_quality_png = {
  .name = "quality_png",
  .suffix = "_quality.png",
  .applies = quality_is_in,
  .write = write_quality,
  .ours = ours,
};

const SbWriter writer_png = {
  .name = "png",
  .suffix = "_phase.png",
  .applies = applies_phase,
  .write = write_png,
  .ours = ours,
};

const SbWriter writer_calibration_png = {
  .name = "calibration_png",
  .suffix = "_calibration.png",
  .applies = result_is_calibration,
  .write = write_png,
  .ours = ours,
};
