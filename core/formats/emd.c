/* EMD files: py4DSTEM of all ages, Berkeley's, Prismatic's. Velox' files of that name are told apart. */
#include <math.h>
#include <string.h>

#include "core/axes.h"
#include "core/error.h"
#include "core/h5find.h"
#include "core/h5stack.h"

static const char *const PRISMATIC = "/4DSTEM_simulation/metadata/metadata_0/original/simulation_parameters";

/* What stands around the frames. */
typedef struct Emd {
  char *dataset;
  int rank;
  SbAxis axes[4];
} Emd;

static char *
parent_of (const char *path)
{
  const char *slash = strrchr (path, '/');
  return g_strndup (path, slash == NULL ? 0 : (gsize)(slash - path));
}

static gboolean
is_velox (hid_t file)
{
  return h5io_exists (file, "/Application/Velox") || h5io_exists (file, "/Data/Image");
}

/* "array" in words, or 1 in older files. */
static gboolean
is_array (hid_t file, const char *group)
{
  double number;
  g_autofree char *text = h5io_attribute_text (file, group, "emd_group_type");
  if (text != NULL)
    return strcmp (text, "array") == 0;
  return h5io_attribute (file, group, "emd_group_type", &number) && number == 1;
}

static gboolean
accept (hid_t file, const char *path, gconstpointer data)
{
  const char *name = strrchr (path, '/');
  g_autofree char *group = parent_of (path);
  return name != NULL && (strcmp (name, "/data") == 0 || strcmp (name, "/datacube") == 0) && group[0] != '\0'
         && is_array (file, group);
}

/* Any group with the mark will do; the walk ends there. */
static gboolean
look_for_mark (hid_t file, const char *path, SbH5Kind kind, gpointer data)
{
  gboolean *found = data;
  *found = kind == SB_H5_GROUP && H5Aexists_by_name (file, path, "emd_group_type", H5P_DEFAULT) > 0;
  return !*found;
}

static int
probe (const char *path, const guint8 *head, gsize head_size)
{
  gboolean found = FALSE;
  if (!h5io_has_signature (head, head_size) || !h5io_begin (NULL))
    return 0;
  hid_t file = h5io_open_file (path, NULL);
  if (file >= 0) {
    found = H5Aexists_by_name (file, "/", "emd_group_type", H5P_DEFAULT) > 0 || is_velox (file);
    if (!found && !h5io_exists (file, "/entry"))
      h5walk (file, "/", look_for_mark, &found);
    H5Fclose (file);
  }
  h5io_end ();
  return found ? 94 : 0;
}

/* ---- calibration ---- */

/* dim1 ... or dim0 ..., the vector of an axis: its first two numbers tell its step. */
static void
read_axis (hid_t file, const char *group, int number, SbAxis *axis)
{
  double values[2];
  g_autofree char *path = g_strdup_printf ("%s/dim%d", group, number);
  if (h5io_numbers (file, path, 2, values) != 2)
    return;
  axis->scale = values[1] - values[0];
  axis->units = h5io_attribute_text (file, path, "units");
}

static void
read_axes (hid_t file, const char *group, Emd *emd)
{
  g_autofree char *first = g_strconcat (group, "/dim0", NULL);
  int from = h5io_exists (file, first) ? 0 : 1;
  for (int i = emd->rank == 4 ? 0 : 2; i < 4; i++)
    read_axis (file, group, i + emd->rank - 4 + from, &emd->axes[i]);
}

/* py4DSTEM's own record stands for axes that say nothing. */
static void
read_calibration (hid_t file, const char *group, Emd *emd, SbHeader *header)
{
  static const char *const keys[2] = { "R_pixel", "Q_pixel" };
  double value;
  g_autofree char *root = parent_of (group);
  g_autofree char *bundle = g_strconcat (root, "/metadatabundle/calibration/", NULL);
  for (int k = 0; k < 2; k++) {
    g_autofree char *size = g_strconcat (bundle, keys[k], "_size", NULL),
                    *units = g_strconcat (bundle, keys[k], "_units", NULL);
    if (!h5io_number (file, size, &value))
      continue;
    for (int i = 2 * k; i < 2 * k + 2; i++)
      if (emd->axes[i].units == NULL || g_str_has_prefix (emd->axes[i].units, "pix")) {
        g_free (emd->axes[i].units);
        emd->axes[i] = (SbAxis){ value, h5io_text (file, units) };
      }
  }
  g_autofree char *semiangle = g_strconcat (bundle, "semiconv_angle", NULL); /* rad, where it is there */
  if (h5io_number (file, semiangle, &value) && value > 1e-4 && value < 0.5)
    header->semiangle = 1e3 * value;
}

/* Prismatic writes angstrom and 1/angstrom, and calls them nm and 1/nm; its own parameters are in angstrom. */
static void
read_prismatic (hid_t file, const char *path, Emd *emd, SbHeader *header)
{
  static const char *const names[2] = { "rx", "ry" };
  double value;
  if (!h5io_exists (file, PRISMATIC))
    return;
  if (h5io_attribute (file, PRISMATIC, "E", &value) && value >= 1 && value <= 1e4)
    header->energy = value;
  if (h5io_attribute (file, PRISMATIC, "sa", &value) && value > 0 && value < 500)
    header->semiangle = value;
  for (int i = 0; i < 2; i++)
    if (h5io_attribute (file, PRISMATIC, names[i], &value) && g_strcmp0 (emd->axes[i].units, "[n_m]") == 0
        && fabs (value - emd->axes[i].scale) < 1e-3 * fabs (value)) {
      g_free (emd->axes[i].units);
      emd->axes[i].units = g_strdup ("A");
      if (g_strcmp0 (emd->axes[i + 2].units, "[n_m^-1]") == 0) {
        g_free (emd->axes[i + 2].units);
        emd->axes[i + 2].units = g_strdup ("A^-1");
      }
      if (i == 0)
        g_ptr_array_add (header->warnings,
                         g_strdup_printf ("%s calls its axes nm, but its parameters (rx, ry) show that they are in "
                                          "angstrom, which is taken.",
                                          path));
    }
}

/* ---- the frames ---- */

static gboolean
find_frames (hid_t file, const char *path, const char *wanted, Emd *emd, GError **error)
{
  SbH5Shape shape;
  if (is_velox (file))
    return sb_fail (error, SB_ERROR_DATA,
                    "%s is a Velox file of images and spectra, not of a 4D-STEM scan: open the file of the diffraction "
                    "camera (.mrc, .raw or _master.h5), or export the scan.",
                    path);
  if (wanted != NULL && wanted[0] != '\0') {
    emd->dataset = h5find_named (file, wanted);
    if (emd->dataset == NULL)
      return sb_fail (error, SB_ERROR_ARGUMENT, "%s has no dataset %s of numbers.", path, wanted);
  } else {
    g_autoptr (GPtrArray) found = h5find_stacks (file, "/", accept, NULL);
    const SbH5Found *best = h5find_choose (path, found, error);
    if (best == NULL)
      return FALSE;
    emd->dataset = g_strdup (best->path);
  }
  h5walk_shape (file, emd->dataset, &shape);
  emd->rank = shape.rank;
  return TRUE;
}

static gboolean
read_file (const char *path, const char *wanted, Emd *emd, SbHeader *header, GError **error)
{
  gboolean good = FALSE;
  if (!h5io_begin (error))
    return FALSE;
  hid_t file = h5io_open_file (path, error);
  if (file >= 0) {
    good = find_frames (file, path, wanted, emd, error);
    if (good && (emd->rank == 3 || emd->rank == 4)) {
      g_autofree char *group = parent_of (emd->dataset);
      read_axes (file, group, emd);
      read_calibration (file, group, emd, header);
      read_prismatic (file, path, emd, header);
    }
    good = h5io_close_file (file, good, error);
  }
  h5io_end ();
  return good;
}

static SbReader *
open_emd (const char *path, const SbAcquisitionOptions *options, SbHeader *header, GError **error)
{
  Emd emd = { .axes = { { NAN, NULL }, { NAN, NULL }, { NAN, NULL }, { NAN, NULL } } };
  SbReader *reader = NULL;
  if (read_file (path, options->dataset, &emd, header, error) && axes_apply (path, emd.axes, header, error))
    reader = h5stack_open (path, emd.dataset, SB_NO_CHANNEL, header, error);
  axes_clear (emd.axes);
  g_free (emd.dataset);
  return reader;
}

const SbFormat format_emd = {
  .name = "emd",
  .title = "py4DSTEM, EMD, Prismatic (HDF5)",
  .suffixes = "h5 emd hdf5",
  .probe = probe,
  .open = open_emd,
  .read = h5stack_read,
  .close = h5stack_close,
};
