/* Any bytes as a file of one format (-DFUZZ_FORMAT="npy"): opened, described and read; never a crash, never
 * out of bounds. */
#include <glib/gstdio.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/acquisition.h"
#include "core/error.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);
const char *__lsan_default_suppressions (void);
const char *__asan_default_options (void);

/* HDF5 1.10 itself loses a few bytes when it refuses a damaged file. */
const char *
__lsan_default_suppressions (void)
{
  return "leak:libhdf5";
}

/* HDF5 tries to have what a damaged file asks for, and takes no for an answer. */
const char *
__asan_default_options (void)
{
  return "allocator_may_return_null=1";
}

enum { OPTION_BYTES = 8, MOST_BYTES = 1 << 24 };

static const SbFormat *
find_format (void)
{
  for (guint i = 0; format_registry[i] != NULL; i++)
    if (strcmp (format_registry[i]->name, FUZZ_FORMAT) == 0)
      return format_registry[i];
  return NULL;
}

static gboolean
write_file (const char *path, const uint8_t *data, size_t size)
{
  FILE *file = fopen (path, "wb");
  gboolean good = file != NULL && fwrite (data, 1, size, file) == size;
  return file != NULL && fclose (file) == 0 && good;
}

/* The first and the last frames, where they are of a sane size. */
static void
read_some (const SbFormat *format, SbReader *reader, const SbHeader *header)
{
  gint64 bytes = (gint64)dtype_size (header->dtype);
  gint64 n = MIN (header->frames, 4);
  if (n < 1 || header->detector_rows < 1 || header->detector_cols < 1
      || __builtin_mul_overflow (bytes, header->detector_rows, &bytes)
      || __builtin_mul_overflow (bytes, header->detector_cols, &bytes)
      || __builtin_mul_overflow (bytes, n, &bytes) || bytes > MOST_BYTES)
    return;
  g_autofree guint8 *out = g_malloc ((gsize)bytes);
  format->read (reader, 0, n, out, NULL);
  format->read (reader, header->frames - n, n, out, NULL);
}

/* The reader by itself, whatever the rules of the scan would say. */
static void
try_reader (const SbFormat *format, const char *path, const SbAcquisitionOptions *options)
{
  SbHeader header = {
    .energy = NAN, .semiangle = NAN, .step = { NAN, NAN }, .sampling = NAN, .reciprocal = NAN,
    .saturation = NAN
  };
  g_autoptr (GError) error = NULL;
  header.files = g_ptr_array_new_with_free_func (g_free);
  header.warnings = g_ptr_array_new_with_free_func (g_free);
  SbReader *reader = format->open (path, options, &header, &error);
  if ((reader == NULL) != (error != NULL))
    abort ();
  if (reader != NULL) {
    read_some (format, reader, &header);
    format->close (reader);
  }
  g_ptr_array_unref (header.files);
  g_ptr_array_unref (header.warnings);
  g_free (header.mask);
  g_free (header.missing);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  static const char *const dtypes[] = { "u1", ">u2", "u4", "i1", ">f4", "f8", "i2", NULL };
  const SbFormat *format = find_format ();
  g_auto (GStrv) suffixes = g_strsplit (format->suffixes, " ", 2);
  g_autofree char *path =
      g_strdup_printf ("%s/sideband-fuzz-%d_master.%s", g_get_tmp_dir (), (int)getpid (), suffixes[0]);
  SbAcquisitionOptions options = { .partial = TRUE };
  /* The last bytes are options; most formats take no heed of them. */
  if (size < OPTION_BYTES)
    return 0;
  const uint8_t *last = data + size - OPTION_BYTES;
  options.detector_shape[0] = last[0];
  options.detector_shape[1] = last[1];
  options.header_bytes = last[2];
  options.dtype = (char *)dtypes[last[3] % G_N_ELEMENTS (dtypes)];
  options.scan_shape[0] = last[4];
  options.scan_shape[1] = last[5];
  for (int i = 0; i < 2; i++)
    options.scan_region[i] = last[6 + i] % 4;
  if (write_file (path, data, size)) {
    g_autoptr (GError) error = NULL;
    try_reader (format, path, &options);
    SbAcquisition *acquisition = acquisition_open (path, &options, &error);
    if ((acquisition == NULL) != (error != NULL))
      abort ();
    if (acquisition != NULL && acquisition_positions (acquisition) < 1)
      abort ();
    acquisition_free (acquisition);
  }
  g_remove (path);
  return 0;
}
