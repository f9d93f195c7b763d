/* A 1024 x 1024 scan of 96 x 96 detector frames within 2 GB: makes the acquisition (10 GB, in TMPDIR or the folder given),
 * runs it from file to image in a process of its own and prints its largest resident memory, the plan and the times as
 * JSON. large [scan [detector [radius [memory (GB) [folder]]]]] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/scratch.h"
#include "tests/bench/large_scene.h"

static double
given (int argc, char **argv, int i, double otherwise)
{
  return argc > i ? g_ascii_strtod (argv[i], NULL) : otherwise;
}

int
main (int argc, char **argv)
{
  if (argc > 1 && strcmp (argv[1], "--child") == 0)
    return large_scene_child (argc, argv);
  gboolean keep = g_getenv ("SIDEBAND_KEEP") != NULL; /* the acquisition, for runs by hand: --child FILE MEMORY */
  LargeScene scene = { (gint64)given (argc, argv, 1, 1024), (gint64)given (argc, argv, 2, 96), given (argc, argv, 3, 15), 0.8 };
  double memory = given (argc, argv, 4, 2);
  const char *folder = argc > 5 ? argv[5] : scratch_folder ();
  g_autofree char *path = g_strdup_printf ("%s/sideband-large-%d.npy", folder, (int)getpid ());
  g_autofree char *message = NULL;
  GError *error = NULL;
  double c10 = large_scene_write (&scene, path, &error);
  json_t *run = error == NULL ? large_scene_run (argv[0], &scene, path, memory, &message) : NULL;
  if (!keep)
    unlink (path);
  if (run == NULL) {
    fprintf (stderr, "%s\n", error != NULL ? error->message : message != NULL ? message : "The run left nothing.");
    return 1;
  }
  fputs (message, stderr);
  json_object_set_new (run, "memory", json_real (memory));
  json_object_set_new (run, "peak_over_memory", json_real (json_number_value (json_object_get (run, "peak")) / memory));
  json_object_set_new (run, "true_C10", json_real (c10));
  g_autofree char *text = json_dumps (run, JSON_REAL_PRECISION (6));
  printf ("%s\n", text);
  json_decref (run);
  return 0;
}
