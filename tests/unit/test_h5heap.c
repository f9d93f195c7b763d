/* Damaged heaps of texts and mappings: HDF5 1.10 runs on for ever in some, and past the end of others. */
#include <unistd.h>

#include "tests/unit/hdf5_files.h"

enum { LONGEST_WAIT = 30, HEADER = 16 };

/* What is written over the size of one object and over that of its collection; object -1: none, collection 0: none. */
typedef struct Damage {
  const char *name;
  int object; /* 0: the free space at the end */
  guint64 size, collection;
} Damage;

static const Damage damages[] = {
  { "no free space", 0, 0, 0 },
  { "free space without its header", 0, 15, 0 },
  { "free space past the end", 0, 1 << 20, 0 },
  { "a size that wraps", 1, -16, 0 },
  { "a size that wraps when aligned", 1, -1, 0 },
  { "an object past the end", 1, 4096, 0 },
  { "an object to the end", 1, 4080, 0 },
  { "a collection of its header", -1, 0, 16 },
  { "a collection past the file", -1, 0, 1 << 30 },
  { "an object and its collection past the file", 1, (1 << 30) - 32, 1 << 30 },
};

/* ---- files ---- */

static hid_t
start_file (const char *path, hsize_t before, gsize lengths)
{
  hid_t plan = H5Pcreate (H5P_FILE_CREATE);
  H5Pset_userblock (plan, before);
  H5Pset_sizes (plan, 8, lengths);
  hid_t file = H5Fcreate (path, H5F_ACC_TRUNC, plan, H5P_DEFAULT);
  H5Pclose (plan);
  g_assert_cmpint (file, >=, 0);
  return file;
}

/* Nion's: an attribute of a text of any length. */
static void
write_text (const char *path, hsize_t before, gsize lengths)
{
  static const char *const json = "{\"metadata\": {\"instrument\": {\"high_tension\": 60000.0}}}";
  const hsize_t shape[4] = { 2, 2, 4, 4 };
  const guint8 frames[64] = { 1, 2, 3 };
  hid_t file = start_file (path, before, lengths), space = H5Screate_simple (4, shape, NULL), one = H5Screate (H5S_SCALAR);
  hid_t set = H5Dcreate2 (file, "data", H5T_STD_U8LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), text = H5Tcopy (H5T_C_S1);
  H5Tset_size (text, H5T_VARIABLE);
  hid_t attribute = H5Acreate2 (set, "properties", text, one, H5P_DEFAULT, H5P_DEFAULT);
  g_assert_cmpint (H5Dwrite (set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, frames), >=, 0);
  g_assert_cmpint (H5Awrite (attribute, text, &json), >=, 0);
  H5Aclose (attribute);
  H5Dclose (set);
  H5Tclose (text);
  H5Sclose (one);
  H5Sclose (space);
  g_assert_cmpint (H5Fclose (file), >=, 0);
}

/* DECTRIS's: a virtual dataset. */
static void
write_virtual (const char *path, hsize_t before, gsize lengths)
{
  const hsize_t shape[3] = { 4, 4, 4 };
  const guint8 frames[64] = { 1, 2, 3 };
  hid_t file = start_file (path, before, lengths), space = H5Screate_simple (3, shape, NULL);
  hid_t plan = H5Pcreate (H5P_DATASET_CREATE), links = H5Pcreate (H5P_LINK_CREATE);
  H5Pset_create_intermediate_group (links, 1);
  hid_t set = H5Dcreate2 (file, "/entry/frames", H5T_STD_U8LE, space, links, H5P_DEFAULT, H5P_DEFAULT);
  g_assert_cmpint (H5Dwrite (set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, frames), >=, 0);
  H5Dclose (set);
  H5Pset_virtual (plan, space, ".", "/entry/frames", space);
  set = H5Dcreate2 (file, "/entry/data/data", H5T_STD_U8LE, space, links, plan, H5P_DEFAULT);
  g_assert_cmpint (set, >=, 0);
  H5Dclose (set);
  H5Pclose (links);
  H5Pclose (plan);
  H5Sclose (space);
  g_assert_cmpint (H5Fclose (file), >=, 0);
}

typedef void (*Write) (const char *path, hsize_t before, gsize lengths);

static void
make (Write write, const char *path, hsize_t before, gsize lengths)
{
  g_assert_true (h5io_begin (NULL));
  write (path, before, lengths);
  h5io_end ();
}

/* Writes over the only collection. */
static void
damage_file (const char *path, const Damage *damage, gsize lengths)
{
  g_autofree char *bytes = NULL;
  gsize n;
  g_assert_true (g_file_get_contents (path, &bytes, &n, NULL));
  char *heap = memmem (bytes, n, "GCOL", 4);
  g_assert_nonnull (heap);
  g_assert_null (memmem (heap + 4, n - (gsize)(heap + 4 - bytes), "GCOL", 4));
  char *object = heap + HEADER;
  for (int left = 64; damage->object >= 0 && left > 0 && object[0] != damage->object; left--)
    object += HEADER + ((guint8)object[8] + 7) / 8 * 8;
  g_assert_true (damage->object < 0 || object[0] == damage->object);
  if (damage->object >= 0)
    memcpy (object + 8, &damage->size, lengths);
  if (damage->collection != 0)
    memcpy (heap + 8, &damage->collection, lengths);
  write_file (path, bytes, n);
}

/* ---- what is said of them ---- */

static void
refuse (const char *path, const char *what)
{
  static const SbAcquisitionOptions none = { .partial = FALSE };
  g_autoptr (GError) error = NULL;
  alarm (LONGEST_WAIT); /* else it would never end */
  SbAcquisition *a = acquisition_open (path, &none, &error);
  alarm (0);
  g_test_message ("%s: %s", what, error != NULL ? error->message : "opened");
  g_assert_null (a);
  g_assert_error (error, SB_ERROR, SB_ERROR_DATA);
  g_assert_true (g_str_has_prefix (error->message, path));
  g_assert_nonnull (strstr (error->message, "is damaged (the texts and mappings at byte "));
  g_assert_true (g_str_has_suffix (error->message, ": copy it again."));
}

static void
check_damages (Write write, const char *name)
{
  static const struct {
    hsize_t before;
    gsize lengths;
  } kinds[] = { { 0, 8 }, { 512, 8 }, { 2048, 4 } };
  for (guint k = 0; k < G_N_ELEMENTS (kinds); k++)
    for (guint i = 0; i < G_N_ELEMENTS (damages); i++) {
      char *folder = new_folder ();
      g_autofree char *path = g_build_filename (folder, name, NULL);
      make (write, path, kinds[k].before, kinds[k].lengths);
      damage_file (path, &damages[i], kinds[k].lengths);
      refuse (path, damages[i].name);
      drop_folder (folder);
    }
}

static void
test_text (void)
{
  check_damages (write_text, "x.h5");
}

static void
test_mappings (void)
{
  check_damages (write_virtual, "x_master.h5");
}

/* What stands behind a short length counts for nothing. */
static void
fill_gaps (const char *path, gsize lengths)
{
  g_autofree char *bytes = NULL;
  gsize n;
  g_assert_true (g_file_get_contents (path, &bytes, &n, NULL));
  char *heap = memmem (bytes, n, "GCOL", 4);
  memset (heap + 8 + lengths, 0xff, 8 - lengths);
  memset (heap + HEADER + 8 + lengths, 0xff, 8 - lengths);
  write_file (path, bytes, n);
}

static void
test_sound (void)
{
  static const SbAcquisitionOptions shape = { .scan_shape = { 2, 2 } };
  char *folder = new_folder ();
  g_autofree char *path = g_build_filename (folder, "x.h5", NULL);
  const gsize lengths[] = { 4, 8 };
  for (guint i = 0; i < G_N_ELEMENTS (lengths); i++) {
    make (write_text, path, 1024, lengths[i]);
    fill_gaps (path, lengths[i]);
    g_autoptr (GError) error = NULL;
    SbAcquisition *a = acquisition_open (path, &shape, &error);
    g_assert_no_error (error);
    g_assert_cmpfloat (a->header.energy, ==, 60);
    acquisition_free (a);
    make (write_virtual, path, 1024, lengths[i]);
    a = acquisition_open (path, &shape, &error);
    g_assert_no_error (error);
    acquisition_free (a);
  }
  drop_folder (folder);
}

/* Collections that are full to a few bytes of their end, and texts that need one of their own. */
static void
test_lengths (void)
{
  const gsize some[] = { 1, 100, 4000, 4055, 4056, 4057, 4063, 4064, 4065, 4080, 4096, 70000, 1 << 20 };
  char *folder = new_folder ();
  g_autofree char *path = g_build_filename (folder, "x.h5", NULL);
  g_assert_true (h5io_begin (NULL));
  for (gsize i = 0; i < G_N_ELEMENTS (some); i++) {
    g_autofree char *written = g_strnfill (some[i], 'x');
    hid_t file = start_file (path, 0, 8), space = H5Screate (H5S_SCALAR), text = H5Tcopy (H5T_C_S1);
    H5Tset_size (text, H5T_VARIABLE);
    for (int n = 0; n < 40; n++) { /* several in one collection, until it is full */
      g_autofree char *name = g_strdup_printf ("a%d", n);
      hid_t attribute = H5Acreate2 (file, name, text, space, H5P_DEFAULT, H5P_DEFAULT);
      g_assert_cmpint (H5Awrite (attribute, text, &written), >=, 0);
      H5Aclose (attribute);
    }
    H5Tclose (text);
    H5Sclose (space);
    H5Fclose (file);
    file = h5io_open_file (path, NULL);
    for (int n = 0; n < 40; n++) {
      g_autofree char *name = g_strdup_printf ("a%d", n), *read = h5io_long_text (file, "/", name);
      g_assert_true (g_strcmp0 (read, written) == 0);
    }
    g_assert_true (h5io_close_file (file, TRUE, NULL));
  }
  h5io_end ();
  drop_folder (folder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/h5heap/text", test_text);
  g_test_add_func ("/h5heap/mappings", test_mappings);
  g_test_add_func ("/h5heap/sound", test_sound);
  g_test_add_func ("/h5heap/lengths", test_lengths);
  return g_test_run ();
}
