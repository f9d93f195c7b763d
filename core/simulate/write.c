#include "core/simulate/write.h"

#include <string.h>

#include "core/chunk.h"
#include "core/error.h"
#include "core/h5io.h"

enum { FRAMES_A_FILE = 1000 };

struct SbFrameWriter {
  SbFileSet *files;
  const SbSimulation *simulation;
  gsize element;
  gint64 total, written;
  hid_t file, dataset; /* of the present data file; negative: none */
};

static gboolean
no_space (const SbFrameWriter *writer, GError **error)
{
  g_autoptr (GError) reason = NULL;
  sb_fail (&reason, SB_ERROR_IO, "the disk does not take it; free some space or give another output");
  return files_fail (writer->files, reason, error);
}

/* ---- small things ---- */

static hid_t
create_file (const char *path)
{
  hid_t how = H5Pcreate (H5P_FILE_CREATE);
  H5Pset_obj_track_times (how, FALSE);
  hid_t file = H5Fcreate (path, H5F_ACC_TRUNC, how, H5P_DEFAULT);
  H5Pclose (how);
  return file;
}

static gboolean
put_attribute (hid_t at, const char *name, hid_t file_type, hid_t type, const void *value)
{
  hid_t space = H5Screate (H5S_SCALAR), attribute = H5Acreate2 (at, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT);
  gboolean good = attribute >= 0 && H5Awrite (attribute, type, value) >= 0;
  H5Sclose (space);
  return attribute >= 0 && H5Aclose (attribute) >= 0 && good;
}

static gboolean
put_text_attribute (hid_t at, const char *name, const char *text)
{
  hid_t type = H5Tcopy (H5T_C_S1);
  H5Tset_size (type, strlen (text) + 1);
  gboolean good = put_attribute (at, name, type, type, text);
  H5Tclose (type);
  return good;
}

static gboolean
put_whole_attribute (hid_t at, const char *name, gint64 value)
{
  return put_attribute (at, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}

static gboolean
put_number_attribute (hid_t at, const char *name, double value)
{
  return put_attribute (at, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value);
}

static hid_t
put_group (hid_t at, const char *name)
{
  hid_t how = H5Pcreate (H5P_GROUP_CREATE);
  H5Pset_obj_track_times (how, FALSE);
  hid_t group = H5Gcreate2 (at, name, H5P_DEFAULT, how, H5P_DEFAULT);
  H5Pclose (how);
  return group;
}

/* dims NULL: one number. data NULL: zeros. */
static gboolean
put_dataset (hid_t at, const char *name, hid_t file_type, hid_t type, const hsize_t *dims, const void *data)
{
  hid_t how = H5Pcreate (H5P_DATASET_CREATE);
  H5Pset_obj_track_times (how, FALSE);
  hid_t space = dims != NULL ? H5Screate_simple (2, dims, NULL) : H5Screate (H5S_SCALAR);
  hid_t dataset = H5Dcreate2 (at, name, file_type, space, H5P_DEFAULT, how, H5P_DEFAULT);
  gboolean good = dataset >= 0 && (data == NULL || H5Dwrite (dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  H5Sclose (space);
  H5Pclose (how);
  return dataset >= 0 && H5Dclose (dataset) >= 0 && good;
}

static gboolean
put_whole (hid_t at, const char *name, gint64 value)
{
  return put_dataset (at, name, H5T_STD_I64LE, H5T_NATIVE_INT64, NULL, &value);
}

static gboolean
put_number (hid_t at, const char *name, double value)
{
  return put_dataset (at, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, NULL, &value);
}

static gboolean
put_text (hid_t at, const char *name, const char *text)
{
  hid_t type = H5Tcopy (H5T_C_S1);
  H5Tset_size (type, strlen (text) + 1);
  gboolean good = put_dataset (at, name, type, type, NULL, text);
  H5Tclose (type);
  return good;
}

/* ---- data files ---- */

SbFrameWriter *
writer_new (SbFileSet *files, const SbSimulation *simulation, gsize element)
{
  SbFrameWriter *writer = g_new0 (SbFrameWriter, 1);
  writer->files = files;
  writer->simulation = simulation;
  writer->element = element;
  writer->total = simulation->scan[0] * simulation->scan[1];
  writer->file = writer->dataset = -1;
  return writer;
}

static void
suffix_of (gint64 number, char suffix[32])
{
  g_snprintf (suffix, 32, "_data_%06" G_GINT64_FORMAT ".h5", number);
}

/* The filter is named, not used: chunks are written as we encoded them, and HDF5 need not have it. */
static hid_t
create_dataset (const SbFrameWriter *writer, hid_t group, gint64 frames)
{
  const SbSimulation *s = writer->simulation;
  const unsigned values[5] = { 0, 4, (unsigned)writer->element, 0, 2 };
  hsize_t dims[3] = { (hsize_t)frames, (hsize_t)s->detector[0], (hsize_t)s->detector[1] };
  hsize_t chunk[3] = { 1, dims[1], dims[2] };
  hid_t how = H5Pcreate (H5P_DATASET_CREATE), space = H5Screate_simple (3, dims, NULL);
  H5Pset_obj_track_times (how, FALSE);
  H5Pset_chunk (how, 3, chunk);
  H5Pset_filter (how, SB_FILTER_BITSHUFFLE, H5Z_FLAG_OPTIONAL, G_N_ELEMENTS (values), values);
  hid_t dataset = H5Dcreate2 (group, "data", writer->element == 2 ? H5T_STD_U16LE : H5T_STD_U32LE, space, H5P_DEFAULT, how,
                              H5P_DEFAULT);
  H5Sclose (space);
  H5Pclose (how);
  return dataset;
}

static gboolean
begin_file (SbFrameWriter *writer, const char *path)
{
  gint64 frames = MIN (writer->total - writer->written, (gint64)FRAMES_A_FILE);
  writer->file = create_file (path);
  if (writer->file < 0)
    return FALSE;
  hid_t entry = put_group (writer->file, "entry"), data = entry >= 0 ? put_group (entry, "data") : -1;
  writer->dataset = data >= 0 ? create_dataset (writer, data, frames) : -1;
  gboolean good = writer->dataset >= 0 && put_whole_attribute (writer->dataset, "image_nr_low", writer->written + 1)
                  && put_whole_attribute (writer->dataset, "image_nr_high", writer->written + frames);
  if (data >= 0)
    H5Gclose (data);
  if (entry >= 0)
    H5Gclose (entry);
  return good;
}

static gboolean
end_file (SbFrameWriter *writer)
{
  gboolean good = writer->dataset < 0 || H5Dclose (writer->dataset) >= 0;
  good = (writer->file < 0 || H5Fclose (writer->file) >= 0) && good;
  writer->file = writer->dataset = -1;
  return good;
}

static gboolean
append (SbFrameWriter *writer, const char *new_path, const guint8 *chunk, gsize size)
{
  hsize_t offset[3] = { (hsize_t)(writer->written % FRAMES_A_FILE), 0, 0 };
  if (new_path != NULL && (!end_file (writer) || !begin_file (writer, new_path)))
    return FALSE;
  return H5Dwrite_chunk (writer->dataset, H5P_DEFAULT, 0, offset, size, chunk) >= 0;
}

gboolean
writer_append (SbFrameWriter *writer, const guint8 *chunk, gsize size, GError **error)
{
  const char *path = NULL;
  if (writer->written % FRAMES_A_FILE == 0) {
    char suffix[32];
    suffix_of (writer->written / FRAMES_A_FILE + 1, suffix);
    path = files_add (writer->files, suffix, error);
    if (path == NULL)
      return FALSE;
  }
  if (!h5io_begin (error))
    return FALSE;
  gboolean good = append (writer, path, chunk, size);
  h5io_end ();
  writer->written++;
  return good || no_space (writer, error);
}

gboolean
writer_close (SbFrameWriter *writer, GError **error)
{
  if (!h5io_begin (error))
    return FALSE;
  gboolean good = end_file (writer);
  h5io_end ();
  return good || no_space (writer, error);
}

void
writer_free (SbFrameWriter *writer)
{
  if (writer == NULL)
    return;
  if (writer->file >= 0 && h5io_begin (NULL)) {
    end_file (writer);
    h5io_end ();
  }
  g_free (writer);
}

/* ---- sidecar and master ---- */

static gboolean
put_sidecar (const SbSimulation *s, hid_t file)
{
  hid_t group = put_group (file, "STEM Metadata");
  gboolean good = group >= 0 && put_whole_attribute (group, "NumPixelsX", s->scan[1])
                  && put_whole_attribute (group, "NumPixelsY", s->scan[0])
                  && put_number_attribute (group, "High Tension", s->optics.energy * 1e3);
  /* The sidecar knows one size of a pixel. */
  if (good && s->optics.step[0] == s->optics.step[1])
    good = put_number_attribute (group, "Pixel Size", s->optics.step[0] / 10);
  return group >= 0 && H5Gclose (group) >= 0 && good;
}

static gboolean
put_specific (const SbFrameWriter *writer, hid_t detector)
{
  const SbSimulation *s = writer->simulation;
  hsize_t dims[2] = { (hsize_t)s->detector[0], (hsize_t)s->detector[1] };
  hid_t group = put_group (detector, "detectorSpecific");
  gboolean good = group >= 0 && put_dataset (group, "pixel_mask", H5T_STD_U32LE, H5T_NATIVE_UINT32, dims, NULL)
                  && put_whole (group, "nimages", 1) && put_whole (group, "ntrigger", writer->total)
                  && put_number (group, "photon_energy", s->optics.energy * 1e3) && put_text (group, "compression", "bslz4")
                  && put_text (group, "software_version", "sideband " SB_VERSION);
  return group >= 0 && H5Gclose (group) >= 0 && good;
}

static gboolean
put_detector (const SbFrameWriter *writer, hid_t entry)
{
  hid_t instrument = put_group (entry, "instrument"), detector = instrument >= 0 ? put_group (instrument, "detector") : -1;
  gboolean good = detector >= 0 && put_whole (detector, "bit_depth_image", 8 * (gint64)writer->element)
                  && put_text (detector, "description", "Simulated by sideband") && put_number (detector, "count_time", 1e-5)
                  && put_number (detector, "frame_time", 1e-5) && put_specific (writer, detector);
  if (detector >= 0)
    H5Gclose (detector);
  return instrument >= 0 && H5Gclose (instrument) >= 0 && good;
}

static gboolean
put_links (const SbFrameWriter *writer, hid_t entry)
{
  hid_t data = put_group (entry, "data");
  gint64 n = (writer->total + FRAMES_A_FILE - 1) / FRAMES_A_FILE;
  gboolean good = data >= 0;
  for (gint64 i = 1; good && i <= n; i++) {
    char suffix[32];
    suffix_of (i, suffix);
    g_autofree char *file = files_name (writer->files, suffix);
    g_autofree char *name = g_strdup_printf ("data_%06" G_GINT64_FORMAT, i);
    good = H5Lcreate_external (file, "/entry/data/data", data, name, H5P_DEFAULT, H5P_DEFAULT) >= 0;
  }
  return data >= 0 && H5Gclose (data) >= 0 && good;
}

static gboolean
put_master (const SbFrameWriter *writer, hid_t file)
{
  hid_t entry = put_group (file, "entry");
  gboolean good = entry >= 0 && put_text_attribute (file, FILES_MARK, SB_VERSION) && put_links (writer, entry)
                  && put_detector (writer, entry);
  return entry >= 0 && H5Gclose (entry) >= 0 && good;
}

gboolean
writer_headers (SbFrameWriter *writer, GError **error)
{
  static const char *const suffixes[] = { ".h5", "_master.h5" };
  for (guint i = 0; i < G_N_ELEMENTS (suffixes); i++) {
    const char *path = files_add (writer->files, suffixes[i], error);
    if (path == NULL || !h5io_begin (error))
      return FALSE;
    hid_t file = create_file (path);
    gboolean good = file >= 0 && (i == 0 ? put_sidecar (writer->simulation, file) : put_master (writer, file));
    good = file >= 0 && H5Fclose (file) >= 0 && good;
    h5io_end ();
    if (!good)
      return no_space (writer, error);
  }
  return TRUE;
}
