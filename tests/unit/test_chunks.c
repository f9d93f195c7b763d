/* Where frames lie in their files: the bytes there decode to what the reader delivers; HDF5's index read without HDF5
 * against HDF5's own reading of the same chunks, and damaged at random. */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "core/h5frames.h"
#include "tests/unit/columns_common.h"

enum { ROWS = 7, COLS = 6, SIZE = ROWS * COLS };

/* ---- every sample file ---- */

static int
check_file (const char *path, const SbAcquisitionOptions *options)
{
  SbAcquisition *a = acquisition_open (path, options, NULL);
  if (a == NULL)
    return 0;
  gint64 n = a->header.frames;
  gsize bytes = (gsize)(a->header.detector_rows * a->header.detector_cols) * dtype_size (a->header.dtype);
  g_autofree SbFrameChunk *chunks = g_new (SbFrameChunk, n);
  g_autofree guint8 *want = g_malloc (bytes), *got = g_malloc (bytes);
  SbChunkCodec codec;
  int checked = 0;
  gboolean found = a->format->chunks != NULL && a->format->chunks (a->reader, 0, n, &codec, chunks);
  for (gint64 f = 0; found && f < n; f++) {
    g_autofree guint8 *stored = g_malloc (chunks[f].size + 1);
    int fd = open (chunks[f].path, O_RDONLY);
    g_assert_cmpint (pread (fd, stored, chunks[f].size, (off_t)chunks[f].offset), ==, chunks[f].size);
    close (fd);
    gboolean good = a->format->read (a->reader, f, 1, want, NULL);
    g_assert_cmpint (chunk_decode (&codec, chunks[f].filter_mask, stored, chunks[f].size, got, bytes, NULL), ==, good);
    if (good)
      g_assert_cmpmem (got, bytes, want, bytes);
    checked++;
  }
  acquisition_free (a);
  return checked;
}

static void
test_cases (void)
{
  g_autofree char *folder = g_build_filename (g_getenv ("SB_TEST_DATA"), "cases", NULL);
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  SbAcquisitionOptions options = { .partial = TRUE };
  int files = 0;
  for (const char *name; (name = g_dir_read_name (dir)) != NULL;)
    if (g_str_has_suffix (name, "_master.h5")) {
      g_autofree char *path = g_build_filename (folder, name, NULL);
      files += check_file (path, &options) > 0;
    }
  g_assert_cmpint (files, >, 8);
}

/* ---- layouts ---- */

typedef struct Layout {
  const char *name;
  int rank;
  gint64 frames;
  gsize userblock;
  gboolean chunked, deflate, latest, big;
  gint64 holes; /* every so many frames one is not written; 0: none */
  gint64 attributes;
  gboolean found; /* what must come out */
} Layout;

static hid_t
make_plan (const Layout *layout)
{
  hsize_t chunk[4] = { 1, 1, ROWS, COLS };
  hid_t plan = H5Pcreate (H5P_DATASET_CREATE);
  if (layout->chunked)
    H5Pset_chunk (plan, layout->rank, chunk + 4 - layout->rank);
  if (layout->deflate)
    H5Pset_deflate (plan, 1);
  return plan;
}

static void
write_frames (const Layout *layout, hid_t set, hid_t space)
{
  hsize_t start[4] = { 0 }, count[4] = { 1, 1, ROWS, COLS };
  int skip = 4 - layout->rank;
  hid_t memory = H5Screate_simple (layout->rank, count + skip, NULL);
  for (gint64 f = 0; f < layout->frames; f++) {
    guint16 frame[SIZE];
    for (int i = 0; i < SIZE; i++)
      frame[i] = (guint16)(f * 57 + i);
    if (layout->holes > 0 && f % layout->holes == 1)
      continue;
    start[0] = layout->rank == 4 ? (hsize_t)f / 5 : 0;
    start[1] = layout->rank == 4 ? (hsize_t)f % 5 : (hsize_t)f;
    H5Sselect_hyperslab (space, H5S_SELECT_SET, start + skip, NULL, count + skip, NULL);
    g_assert_cmpint (H5Dwrite (set, H5T_NATIVE_UINT16, memory, space, H5P_DEFAULT, frame), >=, 0);
  }
  H5Sclose (memory);
}

static void
make_file (const Layout *layout, const char *path)
{
  hsize_t shape[4] = { (hsize_t)layout->frames / 5, layout->rank == 4 ? 5 : (hsize_t)layout->frames, ROWS, COLS };
  hid_t create = H5Pcreate (H5P_FILE_CREATE), access = H5Pcreate (H5P_FILE_ACCESS);
  H5Pset_userblock (create, layout->userblock);
  if (layout->latest)
    H5Pset_libver_bounds (access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  hid_t file = H5Fcreate (path, H5F_ACC_TRUNC, create, access), plan = make_plan (layout);
  hid_t space = H5Screate_simple (layout->rank, shape + 4 - layout->rank, NULL);
  hid_t set = H5Dcreate2 (file, "frames", layout->big ? H5T_STD_U16BE : H5T_STD_U16LE, space, H5P_DEFAULT, plan, H5P_DEFAULT);
  g_assert_cmpint (set, >=, 0);
  for (gint64 i = 0; i < layout->attributes; i++) { /* so that the header goes on elsewhere */
    g_autofree char *name = g_strdup_printf ("a number of a long name, %d", (int)i);
    hid_t scalar = H5Screate (H5S_SCALAR), a = H5Acreate2 (set, name, H5T_STD_U64LE, scalar, H5P_DEFAULT, H5P_DEFAULT);
    H5Aclose (a);
    H5Sclose (scalar);
  }
  write_frames (layout, set, space);
  H5Dclose (set);
  H5Sclose (space);
  H5Pclose (plan);
  H5Fclose (file);
  H5Pclose (create);
  H5Pclose (access);
}

static char *
new_path (void)
{
  g_autofree char *folder = g_dir_make_tmp ("sideband-chunks-XXXXXX", NULL);
  return g_build_filename (folder, "frames.h5", NULL);
}

static void
remove_path (char *path)
{
  g_autofree char *folder = g_path_get_dirname (path);
  g_unlink (path);
  g_rmdir (folder);
  g_free (path);
}

static void
check_frames (const Layout *layout, SbH5Frames *frames, const SbFrameChunk *chunks)
{
  int fd = open (frames->path, O_RDONLY);
  for (gint64 f = 0; f < layout->frames; f++) {
    guint16 got[SIZE];
    if (layout->holes > 0 && f % layout->holes == 1) {
      g_assert_cmpuint (chunks[f].size, ==, 0);
      continue;
    }
    g_assert_cmpuint (chunks[f].size, ==, sizeof got);
    g_assert_cmpint (pread (fd, got, sizeof got, (off_t)chunks[f].offset), ==, sizeof got);
    if (layout->big)
      chunk_swap (got, SIZE, 2);
    for (int i = 0; i < SIZE; i++)
      g_assert_cmpuint (got[i], ==, (guint16)(f * 57 + i));
  }
  close (fd);
}

static void
test_layouts (void)
{
  static const Layout layouts[] = {
    { "chunks", 3, 30, 0, TRUE, FALSE, FALSE, FALSE, 0, 0, TRUE },
    { "many chunks", 3, 5000, 0, TRUE, FALSE, FALSE, FALSE, 0, 0, TRUE },
    { "user block", 3, 300, 1024, TRUE, FALSE, FALSE, FALSE, 0, 0, TRUE },
    { "rows of frames", 4, 500, 512, TRUE, FALSE, FALSE, TRUE, 0, 3, TRUE },
    { "holes", 3, 200, 0, TRUE, FALSE, FALSE, FALSE, 7, 0, TRUE },
    { "many attributes", 3, 200, 0, TRUE, FALSE, FALSE, FALSE, 0, 40, TRUE },
    { "contiguous", 3, 200, 0, FALSE, FALSE, FALSE, FALSE, 0, 0, TRUE },
    { "contiguous, user block, newest", 4, 200, 2048, FALSE, FALSE, TRUE, TRUE, 0, 0, TRUE },
    { "deflated", 3, 30, 0, TRUE, TRUE, FALSE, FALSE, 0, 0, FALSE },
#if !H5_VERSION_GE(1, 14, 0)
    { "newest index", 3, 30, 0, TRUE, FALSE, TRUE, FALSE, 0, 0, FALSE },
#endif
  };
  for (gsize i = 0; i < G_N_ELEMENTS (layouts); i++) {
    const Layout *layout = &layouts[i];
    char *path = new_path ();
    g_test_message ("%s", layout->name);
    make_file (layout, path);
    g_autoptr (GError) error = NULL;
    SbH5Frames *frames = h5frames_new (path, "frames", &error);
    g_assert_no_error (error);
    g_autofree SbFrameChunk *chunks = g_new (SbFrameChunk, layout->frames);
    g_assert_cmpint (h5frames_chunks (frames, 0, layout->frames, chunks), ==, layout->found);
    if (layout->found)
      check_frames (layout, frames, chunks);
    g_assert_false (h5frames_chunks (frames, 1, layout->frames, chunks));
    h5frames_free (frames);
    remove_path (path);
  }
}

/* What was overwritten after HDF5 looked at the file: never a crash, never more memory than the file's own size
 * explains. */
static void
test_damaged (void)
{
  static const Layout layout = { "chunks", 3, 400, 0, TRUE, FALSE, FALSE, FALSE, 0, 40, TRUE };
  char *path = new_path ();
  char *bytes = NULL;
  gsize size = 0;
  int lost = 0;
  g_autofree SbFrameChunk *chunks = g_new (SbFrameChunk, layout.frames);
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);
  make_file (&layout, path);
  g_assert_true (g_file_get_contents (path, &bytes, &size, NULL));
  for (int i = 0; i < 300; i++) {
    SbH5Frames *frames = h5frames_new (path, "frames", NULL);
    int fd = open (path, O_RDWR);
    for (int hit = 0; hit < 40; hit++) {
      guint64 junk = (guint64)g_rand_int (rand) << 32 | g_rand_int (rand);
      gsize n = (gsize)g_rand_int_range (rand, 1, 9);
      g_assert_cmpint (pwrite (fd, &junk, n, g_rand_int_range (rand, 0, (gint32)size - 8)), ==, n);
    }
    lost += !h5frames_chunks (frames, 0, layout.frames, chunks);
    g_assert_cmpint (pwrite (fd, bytes, size, 0), ==, size);
    close (fd);
    h5frames_free (frames);
  }
  g_test_message ("%d of 300 had no index any more", lost);
  g_assert_cmpint (lost, >, 0);
  g_free (bytes);
  remove_path (path);
}

/* ---- flat files ---- */

static void
check_flat (const char *suffix, const char *start, const char *dtype, gsize item)
{
  g_autofree char *folder = g_dir_make_tmp ("sideband-chunks-XXXXXX", NULL);
  g_autofree char *name = g_strconcat ("frames", suffix, NULL), *path = g_build_filename (folder, name, NULL);
  gsize head = strlen (start) > 0 ? 128 : 17;
  g_autofree char *bytes = g_malloc0 (head + 9 * SIZE * item);
  memset (bytes, ' ', head);
  memcpy (bytes, start, strlen (start));
  if (head == 128) {
    memcpy (bytes + 6, "\1\0\166\0", 4);
    g_autofree char *text = g_strdup_printf ("{'descr': '%s', 'fortran_order': False, 'shape': (3, 3, %d, %d), }", dtype, ROWS,
                                             COLS);
    memcpy (bytes + 10, text, strlen (text));
    bytes[127] = '\n';
  }
  for (gsize i = 0; i < 9 * SIZE * item; i++)
    bytes[head + i] = (char)(i * 31 >> 3);
  g_assert_true (g_file_set_contents (path, bytes, (gssize)(head + 9 * SIZE * item), NULL));
  SbAcquisitionOptions options = { { 3, 3 }, { 0 }, { ROWS, COLS }, (char *)dtype, 17, FALSE };
  g_assert_cmpint (check_file (path, &options), ==, 9);
  g_unlink (path);
  g_rmdir (folder);
}

static void
test_flat (void)
{
  check_flat (".raw", "", ">u2", 2);
  check_flat (".raw", "", "u1", 1);
  check_flat (".npy", "\x93NUMPY", "<u4", 4);
  check_flat (".npy", "\x93NUMPY", ">u2", 2);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/chunks/cases", test_cases);
  g_test_add_func ("/chunks/layouts", test_layouts);
  g_test_add_func ("/chunks/damaged", test_damaged);
  g_test_add_func ("/chunks/flat", test_flat);
  return g_test_run ();
}
