/* External links in object headers: damaged ones are refused before HDF5 1.10 reads what is not there, sound ones are all
 * accepted. */
#include "tests/unit/hdf5_files.h"

enum { MANY = 20, DENSE = 300 };

/* Links of all kinds, beside the frames. */
static void
write_links (const char *path, hsize_t before, gboolean newer, unsigned order, int n)
{
  hid_t access = H5Pcreate (H5P_FILE_ACCESS), plan = H5Pcreate (H5P_FILE_CREATE), group_plan = H5Pcreate (H5P_GROUP_CREATE);
  if (newer)
    H5Pset_libver_bounds (access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  H5Pset_userblock (plan, before);
  H5Pset_link_creation_order (plan, order);
  H5Pset_link_creation_order (group_plan, order);
  hid_t file = H5Fcreate (path, H5F_ACC_TRUNC, plan, access);
  g_assert_cmpint (file, >=, 0);
  put_frames (file, "/entry/data/data", 3, 0, 12, H5P_DEFAULT, 0);
  hid_t group = H5Gcreate2 (file, "links", H5P_DEFAULT, group_plan, H5P_DEFAULT);
  g_assert_cmpint (group, >=, 0);
  for (int i = 0; i < n; i++) {
    g_autofree char *name = g_strdup_printf ("link_%d", i);
    if (i % 3 == 0)
      H5Lcreate_external ("nowhere.h5", "/entry/nothing", group, name, H5P_DEFAULT, H5P_DEFAULT);
    else if (i % 3 == 1)
      H5Lcreate_soft ("/entry/data/data", group, name, H5P_DEFAULT, H5P_DEFAULT);
    else
      H5Lcreate_hard (file, "/entry/data/data", group, name, H5P_DEFAULT, H5P_DEFAULT);
  }
  H5Gclose (group);
  H5Pclose (group_plan);
  H5Pclose (plan);
  H5Pclose (access);
  g_assert_cmpint (H5Fclose (file), >=, 0);
}

static void
check_links (const char *path, int n)
{
  hid_t file = h5io_open_file (path, NULL);
  g_assert_cmpint (file, >=, 0);
  g_autoptr (GPtrArray) links = h5io_links (file, "links", "link_");
  g_assert_nonnull (links);
  g_assert_cmpuint (links->len, ==, n);
  for (int i = 0; i < n; i++) {
    const SbLink *link = links->pdata[i];
    g_autofree char *name = g_strdup_printf ("link_%d", i);
    g_assert_cmpstr (link->name, ==, name);
    g_assert_cmpstr (link->file, ==, i % 3 == 0 ? "nowhere.h5" : NULL);
  }
  g_assert_true (h5io_close_file (file, TRUE, NULL));
}

static void
test_sound (void)
{
  const unsigned orders[] = { 0, H5P_CRT_ORDER_TRACKED, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED };
  char *folder = new_folder ();
  g_autofree char *path = g_build_filename (folder, "x.h5", NULL);
  g_assert_true (h5io_begin (NULL));
  for (int newer = 0; newer < 2; newer++)
    for (guint order = 0; order < G_N_ELEMENTS (orders); order++)
      for (int n = 0; n <= MANY + 1; n++) {
        int links = n > MANY ? DENSE : n;
        write_links (path, n % 2 ? 512 : 0, newer, orders[order], links);
        check_links (path, links);
      }
  h5io_end ();
  drop_folder (folder);
}

#if !H5_VERSION_GE(1, 13, 0)

/* The value: its length, its flags, "nowhere.h5", "/entry/nothing". */
static const struct {
  const char *name;
  gsize at; /* from the value's length on */
  guint8 byte;
} damages[] = {
  { "no value", 0, 0 },
  { "a value of one byte", 0, 1 },
  { "a value that ends in the file's name", 0, 5 },
  { "a value that ends in the path", 0, 20 },
  { "a path without an end", 2 + 1 + 11 + 14, 'x' },
};

/* Version 1 headers only: those of version 2 have a sum, which HDF5 checks. */
static void
test_damaged (void)
{
  static const SbAcquisitionOptions none = { .partial = FALSE };
  const hsize_t before[] = { 0, 1024 };
  for (guint i = 0; i < 2 * G_N_ELEMENTS (damages); i++) {
    guint d = i / 2;
    char *folder = new_folder ();
    g_autofree char *path = g_build_filename (folder, "x.h5", NULL), *bytes = NULL;
    gsize n;
    g_assert_true (h5io_begin (NULL));
    write_links (path, before[i % 2], FALSE, 0, 4);
    h5io_end ();
    g_assert_true (g_file_get_contents (path, &bytes, &n, NULL));
    char *value = memmem (bytes, n, "link_3", 6);
    g_assert_nonnull (value);
    value[6 + damages[d].at] = (char)damages[d].byte;
    write_file (path, bytes, n);
    g_autoptr (GError) error = NULL;
    SbAcquisition *a = acquisition_open (path, &none, &error);
    g_test_message ("%s: %s", damages[d].name, error != NULL ? error->message : "opened");
    g_assert_null (a);
    g_assert_error (error, SB_ERROR, SB_ERROR_DATA);
    g_assert_nonnull (strstr (error->message, "is damaged (the external link at byte "));
    g_assert_true (g_str_has_suffix (error->message, " names no file): copy it again."));
    drop_folder (folder);
  }
}

#endif

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/h5links/sound", test_sound);
#if !H5_VERSION_GE(1, 13, 0)
  g_test_add_func ("/h5links/damaged", test_damaged);
#endif
  return g_test_run ();
}
