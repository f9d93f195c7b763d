/* A scan whose counts and G do not fit into the memory allowed: processed within it, with the same bits as in plenty. The
 * program in tests/bench does the same with 1024 x 1024 points in 2 GB. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "core/scratch.h"
#include "tests/bench/large_scene.h"

#define MEMORY 0.125

static const char *program;

static double
number (const json_t *run, const char *key)
{
  return json_number_value (json_object_get (run, key));
}

static const char *
text (const json_t *run, const char *group, const char *key)
{
  const json_t *from = group != NULL ? json_object_get (run, group) : run;
  return json_string_value (json_object_get (from, key));
}

static json_t *
run_within (const LargeScene *scene, const char *path, double memory)
{
  g_autofree char *message = NULL;
  json_t *run = large_scene_run (program, scene, path, memory, &message);
  if (run == NULL)
    g_test_message ("%s", message != NULL ? message : "the run left nothing");
  g_assert_nonnull (run);
  g_test_message ("%g GB allowed, %.4f GB at most, %.1f s", memory, number (run, "peak"), number (run, "seconds"));
  return run;
}

static void
test_budget (void)
{
  const LargeScene scene = { .scan = 256, .detector = 48, .radius = 15, .counts = 0.8, .low = TRUE };
  g_autofree char *path = g_strdup_printf ("%s/sideband-memory-%d.npy", scratch_folder (), (int)getpid ());
  GError *error = NULL;
  double c10 = large_scene_write (&scene, path, &error);
  g_assert_no_error (error);
  json_t *plenty = run_within (&scene, path, 4), *little = run_within (&scene, path, MEMORY);
  unlink (path);
  g_assert_cmpstr (text (plenty, "plan", "g_in"), ==, "memory");
  g_assert_cmpstr (text (little, "plan", "g_in"), ==, "parts");
  g_assert_cmpstr (text (little, "plan", "columns_in"), ==, "scratch file");
  g_assert_cmpfloat (number (plenty, "peak"), >, 1.05 * MEMORY); /* or the budget would be none */
  g_assert_cmpfloat (number (little, "peak"), <, 1.05 * MEMORY);
  g_assert_cmpstr (text (little, NULL, "phase"), ==, text (plenty, NULL, "phase"));
  g_assert_cmpfloat (number (little, "agreement"), ==, number (plenty, "agreement"));
  g_assert_cmpfloat (number (little, "C10"), ==, number (plenty, "C10"));
  g_assert_cmpfloat (fabs (number (little, "C10") - c10), <, 1);
  json_decref (plenty);
  json_decref (little);
}

int
main (int argc, char **argv)
{
  program = argv[0];
  if (argc > 1 && strcmp (argv[1], "--child") == 0)
    return large_scene_child (argc, argv);
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/memory/budget", test_budget);
  return g_test_run ();
}
