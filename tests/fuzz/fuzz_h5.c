/* A program that builds HDF5 files: one of the layouts that readers know, each part as it should be or odd,
 * and further parts of other layouts. Raw bytes mostly find what HDF5 1.10 does with damaged files; these
 * files are sound, and what is in them is anything.
 *
 * Bytes: layout, settings, options of the reader; one byte of oddities (h5_build.h) a part of the layout;
 * then what the odd parts draw, and last further parts, each a number and its oddities. All zero: the layout
 * as its makers write it. */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz_open.h"
#include "tests/fuzz/h5_layouts.h"

enum { MOST_FURTHER = 24, MOST_PARTS = 64 };

static const char *const names[] = { "x_master.h5", "x_data_000001.h5", "x_data_000002.h5", "x.h5" };

static hid_t
open_or_make (const char *name, gboolean newest)
{
  g_autofree char *path = g_build_filename (fuzz_folder (), name, NULL);
  hid_t access = H5Pcreate (H5P_FILE_ACCESS), how = H5Pcreate (H5P_FILE_CREATE);
  if (newest)
    H5Pset_libver_bounds (access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  hid_t file = g_file_test (path, G_FILE_TEST_EXISTS) ? H5Fopen (path, H5F_ACC_RDWR, access)
                                                      : H5Fcreate (path, H5F_ACC_EXCL, how, access);
  H5Pclose (access);
  H5Pclose (how);
  return file;
}

static void
close_file (hid_t *file)
{
  if (*file >= 0)
    H5Fclose (*file);
  *file = H5I_INVALID_HID;
}

static void
put (hid_t *file, const Part *part, guint odd, gboolean newest, Bytes *bytes)
{
  if (part->kind == IN_FILE) {
    close_file (file);
    *file = open_or_make (part->text, newest);
  } else if (*file >= 0)
    part_put (*file, part, odd, bytes);
}

static void
build (Bytes *bytes)
{
  const Layout *layout = &layouts[bytes_next (bytes) % n_layouts];
  guint settings = bytes_next (bytes);
  uint8_t odd[MOST_PARTS] = { 0 };
  hid_t file = open_or_make (names[0], settings & 1);
  for (guint i = 0; i < layout->n; i++)
    odd[i] = (uint8_t)bytes_next (bytes);
  for (guint i = 0; i < layout->n; i++)
    put (&file, &layout->parts[i], odd[i], settings & 1, bytes);
  close_file (&file);
  if (bytes->left > 0)
    file = open_or_make (names[settings / 2 % G_N_ELEMENTS (names)], settings & 1);
  for (guint i = 0; i < MOST_FURTHER && bytes->left > 0; i++) {
    const Layout *other = &layouts[bytes_next (bytes) % n_layouts];
    const Part *part = &other->parts[bytes_next (bytes) % other->n];
    put (&file, part, bytes_next (bytes), settings & 1, bytes);
  }
  close_file (&file);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  Bytes bytes = { data, size };
  guint what = bytes_next (&bytes), scan = bytes_next (&bytes);
  SbAcquisitionOptions options = { .partial = TRUE };
  options.scan_shape[0] = scan % 16;
  options.scan_shape[1] = scan / 16;
  options.dataset = what & 4 ? (char *)odd_text (&bytes) : NULL;
  options.channel = what & 8 ? (char *)odd_text (&bytes) : NULL;
  options.damaged_frames = what & 16 ? (char *)"empty" : NULL;
  if (!h5io_begin (NULL))
    abort ();
  H5set_free_list_limits (0, 0, 0, 0, 0, 0); /* memory that HDF5 is done with is known to be */
  build (&bytes);
  h5io_end ();
  g_autofree char *path = g_build_filename (fuzz_folder (), names[what % 4], NULL);
  if (g_file_test (path, G_FILE_TEST_EXISTS))
    fuzz_open (fuzz_format (), path, &options, (what & 32) != 0);
  if (H5Fget_obj_count (H5F_OBJ_ALL, H5F_OBJ_ALL) != 0) /* nothing is left open */
    abort ();
  fuzz_clear ();
  return 0;
}
