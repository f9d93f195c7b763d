/* Saving: all files or none, never over foreign files, nothing left behind. */
#include <errno.h>
#include <glib/gstdio.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "core/result.h"

static const char *const run_suffixes[] = { "_result.h5", "_phase.tif", "_phase.png", "_fit.json", NULL };
static const char *const calibration_suffixes[] = { "_calibration.h5", "_calibration.png", "_calibration.json", NULL };

static SbResult *
make_run (float value)
{
  SbResult *result = result_new ();
  float *data = g_new (float, 20 * 30);
  for (int i = 0; i < 600; i++)
    data[i] = value + (float)i;
  SbArray *phase = result_add (result, "phase", "phase", "rad", data, 2, (const gint64[]){ 20, 30 });
  phase->step[0] = phase->step[1] = 0.02;
  json_object_set_new (result->info, "values", json_object ());
  json_object_set_new (result->info, "version", json_string ("0.1.0"));
  return result;
}

static SbResult *
make_calibration (void)
{
  SbResult *result = result_new ();
  result_add (result, "mean_pattern", "mean pattern", "counts", g_new0 (float, 16), 2, (const gint64[]){ 4, 4 });
  result_add_picture (result, "picture", "calibration", g_malloc0 (5 * 6 * 3), 5, 6);
  json_object_set_new (result->info, "calibration", json_object ());
  json_object_set_new (result->info, "version", json_string ("0.1.0"));
  return result;
}

typedef struct Folder {
  char *path;
  SbResult *run;
  SbOutputOptions options; /* into path, no force */
} Folder;

static void
set_up (Folder *folder, gconstpointer data)
{
  folder->path = g_dir_make_tmp ("sideband-save-XXXXXX", NULL);
  g_assert_nonnull (folder->path);
  folder->run = make_run (1);
  folder->options = (SbOutputOptions){ folder->path, FALSE };
}

static guint
count_files (const char *folder)
{
  guint n = 0;
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  while (g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

static void
clean (const char *folder)
{
  for (;;) {
    g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
    const char *name = g_dir_read_name (dir);
    if (name == NULL)
      return;
    g_autofree char *path = g_build_filename (folder, name, NULL);
    if (g_file_test (path, G_FILE_TEST_IS_DIR))
      clean (path);
    g_assert_cmpint (g_remove (path), ==, 0);
  }
}

static void
tear_down (Folder *folder, gconstpointer data)
{
  clean (folder->path);
  g_rmdir (folder->path);
  g_free (folder->path);
  result_free (folder->run);
}

static gboolean
exists (const char *folder, const char *base, const char *suffix)
{
  g_autofree char *name = g_strconcat (base, suffix, NULL);
  g_autofree char *path = g_build_filename (folder, name, NULL);
  return g_file_test (path, G_FILE_TEST_IS_REGULAR);
}

/* Exactly these files and nothing else. */
static void
assert_written (const char *folder, const char *base, const char *const *suffixes)
{
  for (guint i = 0; suffixes[i] != NULL; i++) {
    if (!exists (folder, base, suffixes[i]))
      g_error ("%s%s was not written", base, suffixes[i]);
  }
  g_assert_cmpuint (count_files (folder), ==, g_strv_length ((char **)suffixes));
}

/* One sentence that holds all the words (separated by |). */
static void
assert_sentence (const GError *error, int code, const char *words)
{
  g_assert_error (error, SB_ERROR, code);
  g_auto (GStrv) list = g_strsplit (words, "|", -1);
  for (guint i = 0; list[i] != NULL; i++)
    if (strstr (error->message, list[i]) == NULL)
      g_error ("\"%s\" is not in: %s", list[i], error->message);
  g_assert_true (g_str_has_suffix (error->message, "."));
  g_assert_false (g_str_has_suffix (error->message, ".."));
  g_assert_null (strstr (error->message, ".partial"));
}

static void
test_names (Folder *folder, gconstpointer data)
{
  static const char *const cases[][2] = {
    { "/data/columns_master.h5", "columns" },
    { "columns.h5", "columns" },
    { "/a.b/scan 12.ome.tif", "scan 12.ome" },
    { "/data/_master.h5", "sideband" },
    { NULL, "sideband" },
    { "/data/noext", "noext" },
    { "/data/.h5", "sideband" },
    { "/data/Å µ 測定_master.h5", "Å µ 測定" },
    { "/data/x_result.h5", "x_result" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_assert_true (result_save_all (folder->run, &folder->options, cases[i][0], &error));
    assert_written (folder->path, cases[i][1], run_suffixes);
    clean (folder->path);
  }
}

static void
test_outputs (Folder *folder, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *made = g_strconcat (folder->path, "/new folder/", NULL);
  folder->options.output = made;
  g_assert_true (result_save_all (folder->run, &folder->options, "a_master.h5", &error));
  assert_written (made, "a", run_suffixes);
  clean (folder->path);

  g_autofree char *prefix = g_strconcat (folder->path, "/best.2", NULL);
  folder->options.output = prefix;
  g_assert_true (result_save_all (folder->run, &folder->options, "a_master.h5", &error));
  assert_written (folder->path, "best.2", run_suffixes);
  clean (folder->path);

  g_autofree char *before = g_get_current_dir ();
  g_assert_cmpint (g_chdir (folder->path), ==, 0);
  gboolean saved = result_save_all (folder->run, NULL, "a_master.h5", &error);
  g_assert_cmpint (g_chdir (before), ==, 0);
  g_assert_true (saved);
  assert_written (folder->path, "a", run_suffixes);
  json_t *files = json_object_get (folder->run->info, "files");
  g_assert_cmpuint (json_array_size (files), ==, 4);
  for (gsize i = 0; i < 4; i++) {
    const char *path = json_string_value (json_array_get (files, i));
    g_assert_true (g_path_is_absolute (path) && g_file_test (path, G_FILE_TEST_EXISTS));
  }
  clean (folder->path);

  g_autofree char *nowhere = g_strconcat (folder->path, "/none/here", NULL);
  folder->options.output = nowhere;
  g_assert_false (result_save_all (folder->run, &folder->options, "a_master.h5", &error));
  assert_sentence (error, SB_ERROR_IO, "/none|make it");
  g_assert_cmpuint (count_files (folder->path), ==, 0);
}

static void
test_calibration_names (Folder *folder, gconstpointer data)
{
  SbResult *calibration = make_calibration ();
  g_assert_true (result_save_all (calibration, &folder->options, "a_master.h5", NULL));
  assert_written (folder->path, "a", calibration_suffixes);
  g_assert_true (result_save_all (calibration, &folder->options, "a_master.h5", NULL)); /* its own files are replaced */
  assert_written (folder->path, "a", calibration_suffixes);
  result_free (calibration);
}

static void
test_foreign (Folder *folder, gconstpointer data)
{
  static const char *const contents[] = { "", "text", "{\"version\": \"1\"}", "\x89PNG\r\n\x1a\n", "II*", "\x89HDF\r\n\x1a\n" };
  for (guint s = 0; run_suffixes[s] != NULL; s++)
    for (guint i = 0; i < G_N_ELEMENTS (contents); i++) {
      g_autoptr (GError) error = NULL;
      g_autofree char *path = g_strconcat (folder->path, "/a", run_suffixes[s], NULL), *kept = NULL;
      g_assert_true (g_file_set_contents (path, contents[i], -1, NULL));
      g_assert_false (result_save_all (folder->run, &folder->options, "a_master.h5", &error));
      assert_sentence (error, SB_ERROR_IO, "exists|force");
      g_assert_nonnull (strstr (error->message, path));
      g_assert_null (json_object_get (folder->run->info, "files"));
      g_assert_true (g_file_get_contents (path, &kept, NULL, NULL));
      g_assert_cmpstr (kept, ==, contents[i]);
      g_assert_cmpuint (count_files (folder->path), ==, 1);
      folder->options.force = TRUE;
      g_assert_true (result_save_all (folder->run, &folder->options, "a_master.h5", NULL));
      assert_written (folder->path, "a", run_suffixes);
      folder->options.force = FALSE; /* now they are ours */
      g_assert_true (result_save_all (folder->run, &folder->options, "a_master.h5", NULL));
      assert_written (folder->path, "a", run_suffixes);
      json_object_del (folder->run->info, "files");
      clean (folder->path);
    }
}

static void
test_target_is_folder (Folder *folder, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = g_strconcat (folder->path, "/a_fit.json", NULL);
  g_assert_cmpint (g_mkdir (path, 0777), ==, 0);
  folder->options.force = TRUE;
  g_assert_false (result_save_all (folder->run, &folder->options, "a.h5", &error));
  assert_sentence (error, SB_ERROR_IO, "a_fit.json|not a file");
  g_assert_cmpuint (count_files (folder->path), ==, 1);
}

/* Names that are just too long fail one after the other, the longest suffix first: all three files or none.
 */
static void
test_all_or_none (Folder *folder, gconstpointer data)
{
  SbResult *calibration = make_calibration ();
  guint failed = 0, saved = 0;
  for (guint n = 190; n < 250; n++) {
    g_autoptr (GError) error = NULL;
    g_autofree char *name = g_strnfill (n, 'a'), *prefix = g_build_filename (folder->path, name, NULL);
    folder->options.output = prefix;
    if (result_save_all (calibration, &folder->options, NULL, &error)) {
      assert_written (folder->path, name, calibration_suffixes);
      saved++;
    } else {
      assert_sentence (error, SB_ERROR_IO, "shorter");
      g_assert_cmpuint (count_files (folder->path), ==, 0);
      failed++;
    }
    clean (folder->path);
  }
  g_assert_cmpuint (failed, >, 0);
  g_assert_cmpuint (saved, >, 0);
  result_free (calibration);
}

/* In a child whose files may not grow beyond limit bytes, as on a full disk. Returns 0 saved, 1 failed with a
 * sentence. */
static int
save_on_full_disk (Folder *folder, const char *kind, rlim_t limit)
{
  pid_t child = fork ();
  if (child == 0) {
    g_autoptr (GError) error = NULL;
    const struct rlimit bound = { limit, limit };
    g_autofree char *path = g_build_filename (folder->path, "one", NULL);
    SbResult *other = make_run (7);
    signal (SIGXFSZ, SIG_IGN);
    setrlimit (RLIMIT_FSIZE, &bound);
    gboolean saved = kind != NULL ? result_save (other, path, kind, TRUE, &error)
                                  : result_save_all (other, &folder->options, "a.h5", &error);
    result_free (other);
    if (saved)
      _exit (0);
    _exit (error != NULL && strstr (error->message, g_strerror (EFBIG)) != NULL ? 1 : 2);
  }
  int status = 0;
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_assert_true (WIFEXITED (status));
  return WEXITSTATUS (status);
}

static void
test_full_disk (Folder *folder, gconstpointer data)
{
  char *old[4] = { NULL };
  gsize size[4];
  g_assert_true (result_save_all (folder->run, &folder->options, "a.h5", NULL));
  for (guint i = 0; i < 4; i++) {
    g_autofree char *path = g_strconcat (folder->path, "/a", run_suffixes[i], NULL);
    g_assert_true (g_file_get_contents (path, &old[i], &size[i], NULL));
  }
  for (guint i = 0; i < 4; i++) {
    g_autofree char *kept = NULL, *path = g_strconcat (folder->path, "/a", run_suffixes[i], NULL);
    gsize n = 0;
    g_assert_cmpint (save_on_full_disk (folder, NULL, size[i] - 1), ==, 1);
    assert_written (folder->path, "a", run_suffixes);
    g_assert_true (g_file_get_contents (path, &kept, &n, NULL));
    g_assert_cmpmem (kept, n, old[i], size[i]);
  }
  for (guint i = 0; writer_registry[i] != NULL; i++) {
    if (!writer_registry[i]->applies (folder->run))
      continue;
    g_assert_cmpint (save_on_full_disk (folder, writer_registry[i]->name, 0), ==, 1);
    g_assert_cmpint (save_on_full_disk (folder, writer_registry[i]->name, 20), ==, 1);
    assert_written (folder->path, "a", run_suffixes);
  }
  g_assert_cmpint (save_on_full_disk (folder, NULL, 1 << 20), ==, 0);

  for (guint i = 0; i < 4; i++)
    g_free (old[i]);

  /* a folder made for the output goes again */
  g_autofree char *made = g_strconcat (folder->path, "/made/", NULL);
  clean (folder->path);
  folder->options.output = made;
  g_assert_cmpint (save_on_full_disk (folder, NULL, 0), ==, 1);
  g_assert_cmpuint (count_files (folder->path), ==, 0);
}

static void
test_wrong_places (Folder *folder, gconstpointer data)
{
  g_autofree char *file = g_build_filename (folder->path, "file", NULL), *below = g_build_filename (file, "x.json", NULL);
  g_autofree char *missing = g_build_filename (folder->path, "none", "x.json", NULL);
  g_assert_true (g_file_set_contents (file, "x", 1, NULL));
  const struct {
    const char *path, *kind;
    int code;
    const char *words;
  } cases[] = {
    { below, "json", SB_ERROR_IO, "no folder" },
    { missing, "tiff", SB_ERROR_IO, "none|no folder" },
    { folder->path, "png", SB_ERROR_IO, "not a file" },
    { file, "json", SB_ERROR_IO, "force" },
    { file, "jpeg", SB_ERROR_ARGUMENT, "\"jpeg\"|hdf5|tiff|png|json" },
    { "/proc/x.json", "json", SB_ERROR_IO, "/proc/x.json" }, /* not writable, even by root */
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_assert_false (result_save (folder->run, cases[i].path, cases[i].kind, FALSE, &error));
    assert_sentence (error, cases[i].code, cases[i].words);
    g_assert_cmpuint (count_files (folder->path), ==, 1);
  }
  SbResult *calibration = make_calibration ();
  g_autoptr (GError) error = NULL;
  g_autofree char *tiff = g_build_filename (folder->path, "x.tif", NULL);
  g_assert_false (result_save (calibration, tiff, "tiff", FALSE, &error));
  assert_sentence (error, SB_ERROR_ARGUMENT, "x.tif|no phase");
  result_free (calibration);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  static const struct {
    const char *name;
    void (*test) (Folder *folder, gconstpointer data);
  } tests[] = {
    { "/save/names", test_names },
    { "/save/outputs", test_outputs },
    { "/save/calibration_names", test_calibration_names },
    { "/save/foreign", test_foreign },
    { "/save/target_is_folder", test_target_is_folder },
    { "/save/all_or_none", test_all_or_none },
    { "/save/full_disk", test_full_disk },
    { "/save/wrong_places", test_wrong_places },
  };
  for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
    g_test_add (tests[i].name, Folder, NULL, set_up, tests[i].test, tear_down);
  return g_test_run ();
}
