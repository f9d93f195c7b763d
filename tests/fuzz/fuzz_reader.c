/* Any bytes as a file of one format, or as the files that belong together; never a crash, never out of
 * bounds.
 *
 * The last eight bytes are options; most formats take no heed of them. "%%FILE" and a digit begin another
 * file of the format's set, and two bytes behind them say to how many KiB it is filled up with zeros. */
#include <string.h>

#include "tests/fuzz/fuzz_open.h"

enum { OPTION_BYTES = 8, NAMES = 4, KIB = 1024 };
#define MARK "%%FILE"

/* The files of a set; the first one is what stands before any mark. */
static const struct {
  const char *format, *names[NAMES];
} sets[] = {
  { "empad", { "x.xml", "scan_x2_y3.raw", "x.raw", "series_x3.raw" } },
  { "mib", { "x1.mib", "x.hdr", "x2.mib", "x3.mib" } },
  { "mrc", { "1_2_3_movie.mrc", "1_2_info.txt", "1_2_4_movie.mrc", "1_info.txt" } },
  { "tvips", { "x_000.tvips", "x_001.tvips", "x_002.tvips", "x_003.tvips" } },
};

static const char *
name_of (const SbFormat *format, guint i)
{
  static char name[32];
  for (guint s = 0; s < G_N_ELEMENTS (sets); s++)
    if (strcmp (sets[s].format, format->name) == 0)
      return sets[s].names[i];
  g_snprintf (name, sizeof name, "x%u_master.%.*s", i, (int)strcspn (format->suffixes, " "), format->suffixes);
  return name;
}

static const uint8_t *
next_mark (const uint8_t *at, size_t left)
{
  const uint8_t *mark = left >= strlen (MARK) + 3 ? memmem (at, left - 3, MARK, strlen (MARK)) : NULL;
  return mark;
}

/* FALSE: they could not be written; *opened: the set's file that the options choose among those that are
 * there. */
static gboolean
write_files (const SbFormat *format, const uint8_t *data, size_t size, guint wanted, guint *opened)
{
  const uint8_t *options = data + size - OPTION_BYTES, *at = data, *mark;
  guint file = 0;
  size_t least = 0;
  *opened = 0;
  if (next_mark (data, size - OPTION_BYTES) == NULL) /* without further files the options are part of the only one */
    return fuzz_write (name_of (format, 0), data, size, 0);
  do {
    mark = next_mark (at, (size_t)(options - at));
    if (!fuzz_write (name_of (format, file), at, (size_t)((mark != NULL ? mark : options) - at), least * KIB))
      return FALSE;
    if (file == wanted)
      *opened = wanted;
    if (mark == NULL)
      return TRUE;
    mark += strlen (MARK);
    file = mark[0] % NAMES;
    least = mark[1] | (size_t)(mark[2] % 4) << 8;
    at = mark + 3;
  } while (at <= options);
  return TRUE;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  static const char *const dtypes[] = { "u1", ">u2", "u4", "i1", ">f4", "f8", "i2", NULL };
  const SbFormat *format = fuzz_format ();
  SbAcquisitionOptions options = { .partial = TRUE };
  guint opened;
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
  if (write_files (format, data, size, last[6] / 4 % NAMES, &opened)) {
    g_autofree char *path = g_build_filename (fuzz_folder (), name_of (format, opened), NULL);
    fuzz_open (format, path, &options, TRUE);
  }
  fuzz_clear ();
  return 0;
}
