/* DECTRIS masters of NeXus 2024 (NXmx): one dataset [frame, channel, row, col], virtual where it is spread over
 * data files. */
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/formats/arina_master.h"
#include "core/formats/nxdetector.h"
#include "core/h5stack.h"
#include "core/h5walk.h"

#define DATA "/entry/data/data"
#define CHANNELS "/entry/data/channel"
#define DETECTOR "/entry/instrument/detector/"

/* What the master says besides its frames. */
typedef struct Master {
  SbH5Shape shape;
  char **channels; /* names; NULL: none */
  double energy, saturation;
} Master;

static gboolean
is_ours (hid_t file)
{
  SbH5Shape shape;
  if (h5io_exists (file, "/entry/data/data_000001"))
    return FALSE; /* the older layout, which may have such a dataset as well */
  h5walk_shape (file, DATA, &shape);
  gboolean channels = h5io_exists (file, CHANNELS) || h5io_exists (file, DETECTOR "threshold_1_channel");
  return (shape.rank == 4 && channels) || (shape.rank == 3 && shape.is_virtual);
}

static int
probe (const char *path, const guint8 *head, gsize head_size)
{
  gboolean ours = FALSE;
  if (!h5io_has_signature (head, head_size) || !h5io_begin (NULL))
    return 0;
  hid_t file = h5io_open_file (path, NULL);
  if (file >= 0) {
    ours = is_ours (file);
    H5Fclose (file);
  }
  h5io_end ();
  return ours ? 95 : 0;
}

static gboolean
read_master (const char *path, Master *master, GError **error)
{
  *master = (Master){ .energy = NAN, .saturation = NAN };
  if (!h5io_begin (error))
    return FALSE;
  hid_t file = h5io_open_file (path, error);
  gboolean good = FALSE;
  if (file >= 0) {
    h5walk_shape (file, DATA, &master->shape);
    master->channels = h5io_texts (file, CHANNELS);
    master->energy = nxdetector_energy (file, "/entry/instrument/beam/incident_energy");
    if (isnan (master->energy))
      master->energy = nxdetector_wavelength (file, "/entry/instrument/beam/incident_wavelength");
    if (!h5io_number (file, DETECTOR "saturation_value", &master->saturation))
      master->saturation = NAN;
    good = h5io_close_file (file, TRUE, error);
  }
  h5io_end ();
  if (!good)
    g_clear_pointer (&master->channels, g_strfreev);
  return good;
}

/* The number of the wanted channel; -1 with an error where there is no such. */
static gint64
find_channel (const Master *master, const char *path, const char *wanted, GError **error)
{
  gint64 n = master->shape.shape[1];
  guint named = master->channels != NULL ? g_strv_length (master->channels) : 0;
  g_autofree char *names = named > 0 ? g_strjoinv (", ", master->channels) : g_strdup ("not named");
  if (wanted == NULL || wanted[0] == '\0')
    return 0;
  for (guint i = 0; i < named && (gint64)i < n; i++)
    if (strcmp (master->channels[i], wanted) == 0)
      return (gint64)i;
  guint64 number = 0;
  if (g_ascii_string_to_unsigned (wanted, 10, 0, G_MAXINT32, &number, NULL) && (gint64)number < n)
    return (gint64)number;
  sb_fail (error, SB_ERROR_ARGUMENT,
           "%s has no channel %s: give the name of one, or a number below %" G_GINT64_FORMAT "; they are: %s.", path, wanted, n,
           names);
  return -1;
}

/* Masks and flatfields stand with the channel, in some files with the detector. */
static gboolean
read_maps (const char *path, const Master *master, gint64 channel, SbHeader *header, GError **error)
{
  gboolean named = master->channels != NULL && (gint64)g_strv_length (master->channels) > channel;
  g_autofree char *name = named ? g_strdup (master->channels[channel])
                                : g_strdup_printf ("threshold_%" G_GINT64_FORMAT, channel + 1);
  g_autofree char *group = g_strconcat (DETECTOR, name, "_channel/", NULL);
  g_autofree char *mask = g_strconcat (group, "pixel_mask", NULL), *flat = g_strconcat (group, "flatfield", NULL);
  g_autofree char *used = g_strconcat (group, "flatfield_applied", NULL);
  const char *const masks[] = { mask, DETECTOR "pixel_mask", NULL };
  const char *const flatfields[] = { flat, DETECTOR "flatfield", NULL };
  const char *const applied[] = { used, DETECTOR "flatfield_applied", NULL };
  return nxdetector_maps (path, &(SbNxPlaces){ masks, flatfields, applied }, header, error);
}

static void
fill_header (const char *path, const Master *master, gint64 channel, SbHeader *header)
{
  double ones = header->dtype == SB_U8    ? G_MAXUINT8
                : header->dtype == SB_U16 ? G_MAXUINT16
                : header->dtype == SB_U32 ? G_MAXUINT32
                                          : NAN;
  header->energy = master->energy;
  header->has_saturation = !isnan (ones);
  header->saturation = master->saturation > 0 && master->saturation < ones ? master->saturation : ones;
  if (channel >= 0 && master->shape.shape[1] > 1 && master->channels != NULL
      && (gint64)g_strv_length (master->channels) > channel)
    g_ptr_array_add (header->warnings, g_strdup_printf ("Channel %s of %" G_GINT64_FORMAT " is used; give channel for another.",
                                                        master->channels[channel], master->shape.shape[1]));
  master_sidecar (path, header);
}

static SbReader *
open_nxmx (const char *path, const SbAcquisitionOptions *options, SbHeader *header, GError **error)
{
  Master master;
  SbReader *reader = NULL;
  if (!read_master (path, &master, error))
    return NULL;
  gint64 channel = SB_NO_CHANNEL;
  gboolean good = master.shape.rank == 3 || master.shape.rank == 4;
  if (!good)
    sb_fail (error, SB_ERROR_DATA, "%s has no readable dataset " DATA ".", path);
  if (master.shape.rank == 4)
    good = (channel = find_channel (&master, path, options->channel, error)) >= 0;
  if (good && (reader = h5stack_open (path, DATA, channel, header, error)) != NULL) {
    header->scan_rows = header->scan_cols = 0;
    fill_header (path, &master, channel, header);
    if (header->frames > 0 && !read_maps (path, &master, MAX (channel, 0), header, error))
      g_clear_pointer (&reader, h5stack_close);
  }
  g_strfreev (master.channels);
  return reader;
}

const SbFormat format_nxmx = {
  .name = "nxmx",
  .title = "DECTRIS NXmx master (HDF5, virtual dataset)",
  .suffixes = "h5 hdf5",
  .probe = probe,
  .open = open_nxmx,
  .read = h5stack_read,
  .close = h5stack_close,
};
