#include "core/formats/arina_master.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/formats/nxdetector.h"
#include "core/h5walk.h"

#define DETECTOR "/entry/instrument/detector/"
#define SPECIFIC DETECTOR "detectorSpecific/"
#define SCAN_GROUP "STEM Metadata"

/* "not limited": what externally gated series write for their number of triggers. */
enum { TRIGGERS_UNSET = 0xffffff };
void
shard_name_free (SbShardName *shard)
{
  if (shard == NULL)
    return;
  g_free (shard->path);
  g_free (shard->dataset);
  g_free (shard);
}

void
master_clear (SbMaster *master)
{
  g_clear_pointer (&master->shards, g_ptr_array_unref);
}

static void
add_shard (SbMaster *master, char *path, const char *dataset)
{
  SbShardName *shard = g_new0 (SbShardName, 1);
  shard->path = path;
  shard->dataset = g_strdup (dataset);
  g_ptr_array_add (master->shards, shard);
}

/* Every data link of /entry/data; hard datasets stand for themselves, and data_000001 ... go before a lone
 * "data". */
static void
list_shards (hid_t file, const char *path, SbMaster *master)
{
  g_autoptr (GPtrArray) links = h5io_links (file, "/entry/data", "data_");
  if (links == NULL || links->len == 0) {
    g_clear_pointer (&links, g_ptr_array_unref);
    links = h5io_links (file, "/entry/data", "data");
  }
  for (guint i = 0; links != NULL && i < links->len; i++) {
    const SbLink *link = links->pdata[i];
    g_autofree char *inside = g_strconcat ("/entry/data/", link->name, NULL);
    if (link->file != NULL)
      add_shard (master, h5walk_file (path, link->file), link->target);
    else if (strcmp (link->name, "data") == 0 || g_ascii_isdigit (link->name[strcspn (link->name, "0123456789")]))
      add_shard (master, g_strdup (path), inside);
  }
}

/* How many frames the series was to have; only a hint. */
static gint64
promised_frames (hid_t file)
{
  double images = 0, triggers = 0;
  gboolean known = h5io_number (file, SPECIFIC "nimages", &images) && images >= 1;
  if (!known || !h5io_number (file, SPECIFIC "ntrigger", &triggers) || triggers < 1)
    return 0;
  double frames = triggers == TRIGGERS_UNSET ? images : images * triggers;
  return frames < 1e12 ? (gint64)frames : 0;
}

static void
read_header (hid_t file, SbMaster *master)
{
  static const char *const energies[] = { SPECIFIC "photon_energy", "/entry/instrument/beam/incident_energy" };
  double scan[2];
  for (guint i = 0; i < G_N_ELEMENTS (energies) && isnan (master->energy); i++)
    master->energy = nxdetector_energy (file, energies[i]);
  if (!h5io_number (file, DETECTOR "saturation_value", &master->saturation))
    master->saturation = NAN;
  if (h5io_attribute_numbers (file, "/entry/data", "scan_shape", 2, scan) && scan[0] >= 1 && scan[1] >= 1 && scan[0] < 1e9
      && scan[1] < 1e9) {
    master->scan[0] = (gint64)scan[0];
    master->scan[1] = (gint64)scan[1];
  }
  master->promised = promised_frames (file);
}

/* path with the end of its file name, from the last `mark` on, replaced; NULL: its file name has no such
 * mark. */
static char *
renamed (const char *path, const char *mark, const char *end)
{
  const char *slash = strrchr (path, G_DIR_SEPARATOR), *name = slash != NULL ? slash + 1 : path;
  const char *at = g_strrstr (name, mark);
  g_autofree char *stem = at != NULL ? g_strndup (path, (gsize)(at - path)) : NULL;
  return stem != NULL ? g_strconcat (stem, end, NULL) : NULL;
}

/* The master that a data file or a sidecar belongs to, where it is there. */
static char *
find_master (const char *path)
{
  static const char *const marks[] = { "_data_", ".h5" };
  for (guint i = 0; i < G_N_ELEMENTS (marks); i++) {
    g_autofree char *master = renamed (path, marks[i], "_master.h5");
    if (master != NULL && strcmp (master, path) != 0 && g_file_test (master, G_FILE_TEST_EXISTS))
      return g_steal_pointer (&master);
  }
  return NULL;
}

gboolean
master_read (const char *path, SbMaster *master, GError **error)
{
  *master = (SbMaster){ .energy = NAN, .saturation = NAN };
  master->shards = g_ptr_array_new_with_free_func ((GDestroyNotify)shard_name_free);
  if (!h5io_begin (error))
    return FALSE;
  hid_t file = h5io_open_file (path, error);
  gboolean is_master = FALSE, good = FALSE;
  if (file >= 0) {
    is_master = h5io_exists (file, DETECTOR);
    list_shards (file, path, master);
    read_header (file, master);
    good = h5io_close_file (file, TRUE, error);
  }
  h5io_end ();
  if (!good)
    return FALSE;
  /* One data file alone would be a part of a scan without its mask. */
  g_autofree char *real = is_master ? NULL : find_master (path);
  if (real != NULL)
    return sb_fail (error, SB_ERROR_DATA, "%s belongs to an acquisition: open its master file %s.", path, real);
  if (master->shards->len == 0)
    return sb_fail (error, SB_ERROR_DATA,
                    "%s is an HDF5 file, but not a DECTRIS master (it has no datasets or links in "
                    "/entry/data): open the file whose name ends in _master.h5.",
                    path);
  return TRUE;
}

gboolean
master_mask (const char *path, SbHeader *header, GError **error)
{
  static const char *const masks[] = { SPECIFIC "pixel_mask", DETECTOR "pixel_mask", NULL };
  static const char *const flatfields[] = { SPECIFIC "flatfield", DETECTOR "flatfield", NULL };
  static const char *const applied[] = { DETECTOR "flatfield_correction_applied", NULL };
  return nxdetector_maps (path, &(SbNxPlaces){ masks, flatfields, applied }, header, error);
}

/* What the sidecar of the microscope's software says, taken where it can be. */
static void
take_sidecar (hid_t file, const char *sidecar, SbHeader *header)
{
  double rows, cols, value;
  if (header->scan_rows == 0 && h5io_attribute (file, SCAN_GROUP, "NumPixelsY", &rows)
      && h5io_attribute (file, SCAN_GROUP, "NumPixelsX", &cols) && rows >= 1 && cols >= 1 && rows < 1e9 && cols < 1e9) {
    header->scan_rows = (gint64)rows;
    header->scan_cols = (gint64)cols;
  }
  if (h5io_attribute (file, SCAN_GROUP, "Pixel Size", &value) && value > 0 && value < 1e6) {
    header->step[0] = header->step[1] = 10 * value; /* nm */
    if (h5io_attribute (file, SCAN_GROUP, "IsPixelSizeCalibrated", &value) && value == 0)
      g_ptr_array_add (
          header->warnings,
          g_strdup_printf ("%s marks its pixel size as not calibrated; give step where you know better.", sidecar));
  }
  if (!h5io_attribute (file, SCAN_GROUP, "High Tension", &value) || value < 1e3 || value > 1e7)
    return;
  if (isnan (header->energy))
    header->energy = value / 1e3;
  else if (fabs (header->energy - value / 1e3) > 0.01 * header->energy)
    g_ptr_array_add (header->warnings,
                     g_strdup_printf ("%s says %.6g kV, the master %.6g kV, which is taken; give energy where that is wrong.",
                                      sidecar, value / 1e3, header->energy));
}

void
master_sidecar (const char *path, SbHeader *header)
{
  g_autoptr (GError) why = NULL;
  g_autofree char *sidecar = renamed (path, "_master", ".h5");
  if (sidecar == NULL || !g_file_test (sidecar, G_FILE_TEST_IS_REGULAR) || !h5io_begin (NULL))
    return;
  g_ptr_array_add (header->files, g_strdup (sidecar));
  hid_t file = h5io_open_file (sidecar, &why);
  if (file >= 0) {
    take_sidecar (file, sidecar, header);
    H5Fclose (file);
  } else
    g_ptr_array_add (header->warnings, g_strdup_printf ("The sidecar is not used: %s", why->message));
  h5io_end ();
}
