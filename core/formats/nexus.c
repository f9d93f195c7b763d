/* NeXus: the signal of the default plot, or of the only data group. */
#include <math.h>
#include <string.h>

#include "core/axes.h"
#include "core/error.h"
#include "core/formats/nxdetector.h"
#include "core/h5find.h"
#include "core/h5stack.h"

/* A group and the name of the array in it. */
typedef struct Signal {
  char *group, *path;
} Signal;

static void
signal_clear (Signal *signal)
{
  g_clear_pointer (&signal->group, g_free);
  g_clear_pointer (&signal->path, g_free);
}

static char *
join (const char *group, const char *name)
{
  if (name[0] == '/')
    return g_strdup (name);
  return g_strconcat (group, g_str_has_suffix (group, "/") ? "" : "/", name, NULL);
}

/* The group's signal, where it has one. */
static gboolean
take_signal (hid_t file, const char *group, Signal *signal)
{
  g_autofree char *name = h5io_attribute_text (file, group, "signal");
  g_autofree char *path = join (group, name != NULL ? name : "data");
  if (!h5io_exists (file, path))
    return FALSE;
  signal_clear (signal);
  signal->group = g_strdup (group);
  signal->path = g_steal_pointer (&path);
  return TRUE;
}

/* Along the attributes "default", from the top. */
static gboolean
follow_defaults (hid_t file, Signal *signal)
{
  g_autofree char *group = g_strdup ("/");
  for (int deep = 0; deep < 8; deep++) {
    g_autofree char *name = h5io_attribute_text (file, group, "default");
    if (name == NULL)
      return deep > 0 && take_signal (file, group, signal);
    char *next = join (group, name);
    g_free (group);
    group = next;
    if (!h5io_exists (file, group))
      return FALSE;
  }
  return FALSE;
}

/* Is it the signal of a data group? */
static gboolean
accept (hid_t file, const char *path, gconstpointer data)
{
  const char *slash = strrchr (path, '/');
  g_autofree char *group = g_strndup (path, (gsize)MAX (slash - path, 1));
  g_autofree char *class = h5io_attribute_text (file, group, "NX_class");
  g_autofree char *name = h5io_attribute_text (file, group, "signal");
  g_autofree char *mark = h5io_attribute_text (file, path, "signal"); /* before 2014 the array carried it */
  double number = 0;
  gboolean marked = g_strcmp0 (mark, "1") == 0 || (h5io_attribute (file, path, "signal", &number) && number == 1);
  return g_strcmp0 (class, "NXdata") == 0 && (marked || g_strcmp0 (name, slash + 1) == 0);
}

/* NULL error: only to know whether there is one. */
static gboolean
find_signal (hid_t file, const char *path, Signal *signal, GError **error)
{
  if (follow_defaults (file, signal))
    return TRUE;
  g_autoptr (GPtrArray) found = h5find_stacks (file, "/", accept, NULL);
  const SbH5Found *best = h5find_choose (path, found, error);
  if (best == NULL)
    return found->len > 0 && error == NULL;
  signal->path = g_strdup (best->path);
  signal->group = g_strndup (best->path, (gsize)MAX (strrchr (best->path, '/') - best->path, 1));
  return TRUE;
}

static int
probe (const char *path, const guint8 *head, gsize head_size)
{
  Signal signal = { NULL, NULL };
  gboolean found = FALSE;
  if (!h5io_has_signature (head, head_size) || !h5io_begin (NULL))
    return 0;
  hid_t file = h5io_open_file (path, NULL);
  if (file >= 0) {
    found = !nxdetector_is_dectris (file) && find_signal (file, path, &signal, NULL);
    H5Fclose (file);
  }
  h5io_end ();
  signal_clear (&signal);
  return found ? 60 : 0;
}

/* The vectors that the group names as axes of its signal. */
static void
read_axes (hid_t file, const Signal *signal, SbAxis axes[4])
{
  g_auto (GStrv) names = h5io_attribute_texts (file, signal->group, "axes");
  guint n = names != NULL ? g_strv_length (names) : 0;
  for (guint i = 0; (n == 4 || n == 3) && i < n; i++) {
    double values[2];
    g_autofree char *path = join (signal->group, names[i]);
    int axis = (int)(4 - n + i);
    if (strcmp (names[i], ".") == 0 || h5io_numbers (file, path, 2, values) != 2 || (n == 3 && axis == 1))
      continue;
    axes[axis].scale = values[1] - values[0];
    axes[axis].units = h5io_attribute_text (file, path, "units");
  }
}

/* The beam of the entry that the signal is in, wherever such files keep it. */
static void
read_beam (hid_t file, const char *group, SbHeader *header)
{
  static const char *const energies[] = { "/instrument/beam/incident_energy", "/sample/beam/incident_energy",
                                          "/instrument/source/voltage",
                                          "/instrument/em_lab/EBEAM_COLUMN/electron_source/voltage" };
  const char *second = strchr (group + 1, '/');
  g_autofree char *entry = second != NULL ? g_strndup (group, (gsize)(second - group)) : g_strdup (group);
  for (guint i = 0; i < G_N_ELEMENTS (energies) && isnan (header->energy); i++) {
    g_autofree char *path = g_strconcat (entry, energies[i], NULL);
    header->energy = nxdetector_energy (file, path);
  }
  g_autofree char *wave = g_strconcat (entry, "/instrument/beam/incident_wavelength", NULL);
  if (isnan (header->energy))
    header->energy = nxdetector_wavelength (file, wave);
}

static gboolean
read_file (const char *path, const char *wanted, Signal *signal, SbAxis axes[4], SbHeader *header, GError **error)
{
  gboolean good = FALSE;
  if (!h5io_begin (error))
    return FALSE;
  hid_t file = h5io_open_file (path, error);
  if (file >= 0) {
    if (wanted != NULL && wanted[0] != '\0') {
      signal->path = h5find_named (file, wanted);
      if (signal->path == NULL) /* it may lie behind a link */
        signal->path = join ("/", wanted);
      signal->group = g_strndup (signal->path, (gsize)MAX (strrchr (signal->path, '/') - signal->path, 1));
      good = TRUE;
    } else {
      g_autoptr (GError) why = NULL;
      good = find_signal (file, path, signal, &why);
      if (!good)
        g_propagate_error (error, g_steal_pointer (&why));
    }
    if (good) {
      read_axes (file, signal, axes);
      read_beam (file, signal->group, header);
    }
    good = h5io_close_file (file, good, error);
  }
  h5io_end ();
  return good;
}

static SbReader *
open_nexus (const char *path, const SbAcquisitionOptions *options, SbHeader *header, GError **error)
{
  Signal signal = { NULL, NULL };
  SbAxis axes[4] = { { NAN, NULL }, { NAN, NULL }, { NAN, NULL }, { NAN, NULL } };
  SbReader *reader = NULL;
  if (read_file (path, options->dataset, &signal, axes, header, error) && axes_apply (path, axes, header, error))
    reader = h5stack_open (path, signal.path, SB_NO_CHANNEL, header, error);
  axes_clear (axes);
  signal_clear (&signal);
  return reader;
}

const SbFormat format_nexus = {
  .name = "nexus",
  .title = "NeXus (HDF5)",
  .suffixes = "nxs h5 nx5 hdf5 nexus",
  .probe = probe,
  .open = open_nexus,
  .read = h5stack_read,
  .close = h5stack_close,
};
