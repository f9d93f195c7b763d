/* Runs a fuzz target over its corpus, without a fuzzer: one TAP line a file. Small files are not worth
 * gigabytes, whatever their headers claim. */
#include <glib.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>

enum { MOST_KIB = 1 << 20 };

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  GDir *folder = argc == 2 ? g_dir_open (argv[1], 0, &error) : NULL;
  int n = 0, too_much = 0;
  const char *name;
  if (folder == NULL) {
    printf ("Bail out! %s\n", error != NULL ? error->message : "usage: replay FOLDER");
    return 1;
  }
  while ((name = g_dir_read_name (folder)) != NULL) {
    g_autofree char *path = g_build_filename (argv[1], name, NULL);
    char *bytes = NULL;
    gsize size = 0;
    if (!g_file_get_contents (path, &bytes, &size, NULL))
      continue;
    LLVMFuzzerTestOneInput ((const uint8_t *)bytes, size);
    g_free (bytes);
    struct rusage usage;
    getrusage (RUSAGE_SELF, &usage);
    if (usage.ru_maxrss > MOST_KIB && !too_much) {
      printf ("not ");
      too_much = 1;
    }
    printf ("ok %d %s\n", ++n, name);
    fflush (stdout);
  }
  g_dir_close (folder);
  printf ("1..%d\n", n);
  return n > 0 && !too_much ? 0 : 1;
}
