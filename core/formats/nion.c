/* Nion Swift's .h5: an array with its properties as JSON in an attribute. */
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/formats/nion_json.h"
#include "core/h5find.h"
#include "core/h5stack.h"

static gboolean
accept (hid_t file, const char *path, gconstpointer data)
{
  return H5Aexists_by_name (file, path, "properties", H5P_DEFAULT) > 0;
}

static int
probe (const char *path, const guint8 *head, gsize head_size)
{
  gboolean found = FALSE;
  if (!h5io_has_signature (head, head_size) || !h5io_begin (NULL))
    return 0;
  hid_t file = h5io_open_file (path, NULL);
  if (file >= 0) {
    /* it stands at the top or one group below, as "data" */
    if (!h5io_exists (file, "/entry") && (h5io_exists (file, "/data") || h5io_exists (file, "/1"))) {
      g_autoptr (GPtrArray) found_there = h5find_stacks (file, "/", accept, NULL);
      found = found_there->len > 0;
    }
    H5Fclose (file);
  }
  h5io_end ();
  return found ? 96 : 0;
}

/* Path of the frames, their axes, and their properties. */
static gboolean
read_file (const char *path, const char *wanted, char **dataset, int *rank, char **properties, GError **error)
{
  if (!h5io_begin (error))
    return FALSE;
  hid_t file = h5io_open_file (path, error);
  gboolean good = FALSE;
  if (file >= 0) {
    g_autoptr (GPtrArray) found = h5find_stacks (file, "/", accept, NULL);
    if (wanted != NULL && wanted[0] != '\0') {
      *dataset = h5find_named (file, wanted);
      if (*dataset == NULL)
        sb_fail (error, SB_ERROR_ARGUMENT, "%s has no dataset %s of numbers.", path, wanted);
    } else {
      const SbH5Found *best = h5find_choose (path, found, error);
      *dataset = best != NULL ? g_strdup (best->path) : NULL;
    }
    if (*dataset != NULL) {
      SbH5Shape shape;
      h5walk_shape (file, *dataset, &shape);
      *rank = shape.rank;
      *properties = h5io_long_text (file, *dataset, "properties");
    }
    good = h5io_close_file (file, *dataset != NULL, error);
  }
  h5io_end ();
  return good;
}

static SbReader *
open_nion (const char *path, const SbAcquisitionOptions *options, SbHeader *header, GError **error)
{
  g_autofree char *dataset = NULL, *properties = NULL;
  int rank = 0;
  if (!read_file (path, options->dataset, &dataset, &rank, &properties, error))
    return NULL;
  gsize size = properties != NULL ? strlen (properties) : 0;
  if (!nion_properties (path, properties, size, rank, header, error))
    return NULL;
  return h5stack_open (path, dataset, SB_NO_CHANNEL, header, error);
}

const SbFormat format_nion = {
  .name = "nion",
  .title = "Nion Swift (HDF5)",
  .suffixes = "h5 hdf5",
  .probe = probe,
  .open = open_nion,
  .read = h5stack_read,
  .close = h5stack_close,
};
