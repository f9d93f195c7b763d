/* What tests of readers share: the data folders, temporary folders, the known counts. */
#ifndef SB_TESTS_UNIT_FRAMES_H
#define SB_TESTS_UNIT_FRAMES_H

#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/acquisition.h"
#include "core/error.h"

/* HDF5 1.10 itself loses a few bytes when it refuses a damaged file. */
const char *__lsan_default_suppressions (void);
const char *
__lsan_default_suppressions (void)
{
  return "leak:libhdf5";
}

/* A file of SB_TEST_DATA. */
static inline char *
data_path (const char *name)
{
  const char *folder = g_getenv ("SB_TEST_DATA");
  return g_build_filename (folder != NULL ? folder : "tests/data", name, NULL);
}

/* A file of SB_SHARED; NULL (and the test is skipped) where it is absent. */
static inline char *
shared_path (const char *name)
{
  const char *folder = g_getenv ("SB_SHARED");
  g_autofree char *path = folder != NULL ? g_build_filename (folder, name, NULL) : NULL;
  if (path != NULL && g_file_test (path, G_FILE_TEST_EXISTS))
    return g_steal_pointer (&path);
  g_test_skip ("further reference data (SB_SHARED) are not there");
  return NULL;
}

static inline char *
new_folder (void)
{
  char *folder = g_dir_make_tmp ("sideband-test-XXXXXX", NULL);
  g_assert_nonnull (folder);
  return folder;
}

/* Removes a folder of plain files. */
static inline void
drop_folder (char *folder)
{
  GDir *dir = g_dir_open (folder, 0, NULL);
  const char *name;
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL) {
    g_autofree char *path = g_build_filename (folder, name, NULL);
    g_remove (path);
  }
  if (dir != NULL)
    g_dir_close (dir);
  g_rmdir (folder);
  g_free (folder);
}

static inline void
write_file (const char *path, gconstpointer bytes, gsize n)
{
  FILE *file = fopen (path, "wb");
  g_assert_nonnull (file);
  g_assert_cmpuint (fwrite (bytes, 1, n, file), ==, n);
  g_assert_cmpint (fclose (file), ==, 0);
}

/* Copies every file of a folder whose name begins with prefix. */
static inline void
copy_files (const char *from, const char *prefix, const char *to)
{
  GDir *dir = g_dir_open (from, 0, NULL);
  const char *name;
  g_assert_nonnull (dir);
  while ((name = g_dir_read_name (dir)) != NULL) {
    g_autofree char *source = g_build_filename (from, name, NULL), *target = g_build_filename (to, name, NULL);
    char *bytes;
    gsize n;
    if (!g_str_has_prefix (name, prefix) || !g_file_get_contents (source, &bytes, &n, NULL))
      continue;
    write_file (target, bytes, n);
    g_free (bytes);
  }
  g_dir_close (dir);
}

/* One number of any dtype. */
static inline double
number_at (gconstpointer data, SbDtype dtype, gsize i)
{
  switch (dtype) {
  case SB_U8: return ((const guint8 *)data)[i];
  case SB_U16: return ((const guint16 *)data)[i];
  case SB_U32: return ((const guint32 *)data)[i];
  case SB_I16: return ((const gint16 *)data)[i];
  case SB_I32: return ((const gint32 *)data)[i];
  case SB_F32: return ((const float *)data)[i];
  case SB_F64: return ((const double *)data)[i];
  }
  return -1;
}

static inline gsize
pixels_of (const SbAcquisition *a)
{
  return (gsize)(a->header.detector_rows * a->header.detector_cols);
}

/* Frames of an open acquisition, newly allocated; NULL with an error. */
static inline gpointer
read_frames (const SbAcquisition *a, gint64 first, gint64 n, GError **error)
{
  gpointer out = g_malloc ((gsize)n * pixels_of (a) * dtype_size (a->header.dtype));
  if (!a->format->read (a->reader, first, n, out, error))
    g_clear_pointer (&out, g_free);
  return out;
}

/* An acquisition that must open. */
static inline SbAcquisition *
open_good (const char *path, const SbAcquisitionOptions *options)
{
  g_autoptr (GError) error = NULL;
  SbAcquisition *a = acquisition_open (path, options, &error);
  g_assert_no_error (error);
  g_assert_nonnull (a);
  return a;
}

/* The sentence that opening a file must fail with; it has to hold every given fragment. */
static inline void
assert_refused (const char *path, const SbAcquisitionOptions *options, SbErrorCode code, ...)
{
  g_autoptr (GError) error = NULL;
  SbAcquisition *a = acquisition_open (path, options, &error);
  va_list fragments;
  const char *fragment;
  g_assert_null (a);
  g_assert_error (error, SB_ERROR, (gint)code);
  g_assert_true (g_str_has_suffix (error->message, "."));
  va_start (fragments, code);
  while ((fragment = va_arg (fragments, const char *)) != NULL)
    if (strstr (error->message, fragment) == NULL)
      g_error ("\"%s\" does not say \"%s\"", error->message, fragment);
  va_end (fragments);
}

#endif
