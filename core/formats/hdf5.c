/* Plain HDF5, HyperSpy's among them: the one array of 4 axes (or of 3), or the one that is named. */
#include <math.h>
#include <string.h>

#include "core/axes.h"
#include "core/error.h"
#include "core/formats/nxdetector.h"
#include "core/h5find.h"
#include "core/h5stack.h"

static int
probe (const char *path, const guint8 *head, gsize head_size)
{
  gboolean ours = FALSE;
  if (!h5io_has_signature (head, head_size) || !h5io_begin (NULL))
    return 0;
  hid_t file = h5io_open_file (path, NULL);
  if (file >= 0) {
    ours = !nxdetector_is_dectris (file) && !h5io_exists (file, "/STEM Metadata");
    H5Fclose (file);
  }
  h5io_end ();
  return ours ? 45 : 0;
}

/* The axes that HyperSpy keeps beside its data, and what it knows of the microscope. */
static void
read_hyperspy (hid_t file, const char *dataset, int rank, SbAxis axes[4], SbHeader *header)
{
  g_autofree char *group = g_strndup (dataset, (gsize)MAX (strrchr (dataset, '/') - dataset, 1));
  g_autofree char *tem = g_strconcat (group, "/metadata/Acquisition_instrument/TEM", NULL);
  double value;
  for (int i = rank == 4 ? 0 : 2; i < 4; i++) {
    g_autofree char *axis = g_strdup_printf ("%s/axis-%d", group, i + rank - 4);
    if (!h5io_exists (file, axis) || !h5io_attribute (file, axis, "scale", &value))
      continue;
    axes[i].scale = value;
    axes[i].units = h5io_attribute_text (file, axis, "units");
  }
  if (!h5io_exists (file, tem))
    return;
  if (h5io_attribute (file, tem, "beam_energy", &value) && value >= 1 && value <= 1e4)
    header->energy = value;
  if (h5io_attribute (file, tem, "convergence_angle", &value) && value > 0 && value < 500)
    header->semiangle = value;
}

static char *
find_dataset (hid_t file, const char *path, const char *wanted, GError **error)
{
  if (wanted != NULL && wanted[0] != '\0') {
    char *named = h5find_named (file, wanted);
    /* what lies behind a link is looked for later */
    return named != NULL ? named : g_strconcat (wanted[0] == '/' ? "" : "/", wanted, NULL);
  }
  g_autoptr (GPtrArray) found = h5find_stacks (file, "/", NULL, NULL);
  const SbH5Found *best = h5find_choose (path, found, error);
  return best != NULL ? g_strdup (best->path) : NULL;
}

static char *
read_file (const char *path, const char *wanted, SbAxis axes[4], SbHeader *header, GError **error)
{
  char *dataset = NULL;
  if (!h5io_begin (error))
    return NULL;
  hid_t file = h5io_open_file (path, error);
  if (file >= 0) {
    SbH5Shape shape = { .rank = -1 };
    dataset = find_dataset (file, path, wanted, error);
    if (dataset != NULL)
      h5walk_shape (file, dataset, &shape);
    if (shape.rank == 3 || shape.rank == 4)
      read_hyperspy (file, dataset, shape.rank, axes, header);
    if (!h5io_close_file (file, dataset != NULL, error))
      g_clear_pointer (&dataset, g_free);
  }
  h5io_end ();
  return dataset;
}

static SbReader *
open_hdf5 (const char *path, const SbAcquisitionOptions *options, SbHeader *header, GError **error)
{
  SbAxis axes[4] = { { NAN, NULL }, { NAN, NULL }, { NAN, NULL }, { NAN, NULL } };
  SbReader *reader = NULL;
  g_autofree char *dataset = read_file (path, options->dataset, axes, header, error);
  if (dataset != NULL && axes_apply (path, axes, header, error))
    reader = h5stack_open (path, dataset, SB_NO_CHANNEL, header, error);
  axes_clear (axes);
  return reader;
}

const SbFormat format_hdf5 = {
  .name = "hdf5",
  .title = "HDF5 with one array of frames, HyperSpy",
  .suffixes = "h5 hdf5 hspy",
  .probe = probe,
  .open = open_hdf5,
  .read = h5stack_read,
  .close = h5stack_close,
};
