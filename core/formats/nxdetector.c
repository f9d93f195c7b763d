#include "core/formats/nxdetector.h"

#include <math.h>
#include <string.h>

#include "core/axisunits.h"
#include "core/error.h"
#include "core/optics.h"

#define DETECTOR "/entry/instrument/detector/"

/* Gaps, dead, under- and over-responding, noisy, user-masked ...; the bits above mark virtual pixels, which
 * count. */
enum { MASK_BAD = 0xffff };
static const double FLAT = 1e-3, SQUARE = 0.01;

gboolean
nxdetector_is_dectris (hid_t file)
{
  double number;
  return h5io_exists (file, DETECTOR "detectorSpecific") || h5io_exists (file, "/entry/data/data_000001")
         || (h5io_exists (file, "/entry/data/data") && h5io_attribute (file, "/entry/data/data", "image_nr_low", &number));
}

double
nxdetector_energy (hid_t file, const char *path)
{
  double energy;
  if (!h5io_number (file, path, &energy))
    return NAN;
  g_autofree char *units = h5io_attribute_text (file, path, "units");
  if (g_strcmp0 (units, "keV") == 0 || g_strcmp0 (units, "kV") == 0)
    energy *= 1e3;
  return energy >= 1e3 && energy <= 1e7 ? energy / 1e3 : NAN;
}

double
nxdetector_wavelength (hid_t file, const char *path)
{
  double wavelength, low = 1, high = 1e4;
  g_autofree char *units = h5io_attribute_text (file, path, "units");
  if (!h5io_number (file, path, &wavelength))
    return NAN;
  wavelength = axis_step (wavelength, units != NULL ? units : "angstrom");
  if (!(wavelength < optics_wavelength (low) && wavelength > optics_wavelength (high)))
    return NAN;
  while (high - low > 1e-9 * high) { /* the wavelength falls with the energy */
    double middle = (low + high) / 2;
    *(optics_wavelength (middle) > wavelength ? &low : &high) = middle;
  }
  return (low + high) / 2;
}

static gboolean
take_mask (const guint32 *map, const char *path, SbHeader *header, GError **error)
{
  if (map == NULL) {
    g_ptr_array_add (header->warnings,
                     g_strdup_printf ("%s has no pixel_mask of the detector's shape; bad pixels are only found where "
                                      "they stand out.",
                                      path));
    return TRUE;
  }
  gsize n = (gsize)(header->detector_rows * header->detector_cols);
  header->mask = sb_alloc (n, 1, "the pixel mask", error);
  for (gsize i = 0; header->mask != NULL && i < n; i++)
    header->mask[i] = (map[i] & MASK_BAD) != 0;
  return header->mask != NULL;
}

/* The files do not say which way the factors are to be used, so that they are said and not used. */
static void
say_flatfield (const float *map, const char *path, SbHeader *header)
{
  gsize n = (gsize)(header->detector_rows * header->detector_cols);
  double most = 0;
  for (gsize i = 0; i < n; i++)
    if (!(header->mask != NULL && header->mask[i]) && isfinite (map[i]))
      most = MAX (most, fabs (map[i] - 1.0));
  if (most > FLAT)
    g_ptr_array_add (header->warnings,
                     sb_text ("The flatfield in %s was not applied by the detector and is not applied here; its factors "
                              "differ from 1 by up to %.3g.",
                              path, most));
}

static gboolean
was_applied (hid_t file, const char *const *places)
{
  double applied = 0;
  for (guint i = 0; places[i] != NULL; i++)
    if (h5io_number (file, places[i], &applied))
      return applied != 0;
  return FALSE;
}

/* An elliptical disk has no one sampling. */
static gboolean
check_square (const char *path, const double size[2], GError **error)
{
  if (!(size[0] > 0) || !(size[1] > 0) || fabs (size[0] / size[1] - 1) <= SQUARE)
    return TRUE;
  return sb_fail (error, SB_ERROR_DATA,
                  "%s says that a detector pixel is %g high and %g wide (x_pixel_size and y_pixel_size differ); only "
                  "square pixels can be used: bin the frames to square ones.",
                  path, size[0], size[1]);
}

gboolean
nxdetector_maps (const char *path, const SbNxPlaces *places, SbHeader *header, GError **error)
{
  g_autofree guint32 *mask = NULL;
  g_autofree float *flatfield = NULL;
  double size[2] = { NAN, NAN };
  gint64 rows = header->detector_rows, cols = header->detector_cols;
  if (!h5io_begin (error))
    return FALSE;
  hid_t file = h5io_open_file (path, error);
  gboolean good = FALSE;
  if (file >= 0) {
    for (guint i = 0; mask == NULL && places->masks[i] != NULL; i++)
      mask = h5io_map (file, places->masks[i], rows, cols);
    gboolean used = was_applied (file, places->applied);
    for (guint i = 0; !used && flatfield == NULL && places->flatfields[i] != NULL; i++)
      flatfield = h5io_floats (file, places->flatfields[i], rows, cols);
    if (!h5io_number (file, DETECTOR "y_pixel_size", &size[0]) || !h5io_number (file, DETECTOR "x_pixel_size", &size[1]))
      size[0] = size[1] = NAN;
    good = h5io_close_file (file, TRUE, error);
  }
  h5io_end ();
  if (!good || !check_square (path, size, error) || !take_mask (mask, path, header, error))
    return FALSE;
  if (flatfield != NULL)
    say_flatfield (flatfield, path, header);
  return TRUE;
}
