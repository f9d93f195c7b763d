/* An acquisition larger than memory should be: a weak object repeated over the scan, counted sparsely, streamed to a file;
 * and its run in a process of its own, so that the largest memory that took is that run's alone. */
#ifndef SB_TESTS_LARGE_SCENE_H
#define SB_TESTS_LARGE_SCENE_H

#include <jansson.h>

#include "core/acquisition.h"

typedef struct LargeScene {
  gint64 scan, detector; /* both square */
  double radius;         /* of the disk, pixels */
  double counts;         /* of a pixel inside and a frame */
  gboolean low;          /* fit C10, C12, tilt and depth alone, without the spread: for a test's patience */
} LargeScene;

/* Writes the frames as uint8 to an NPY file. Returns the true C10 (nm). */
double large_scene_write (const LargeScene *scene, const char *path, GError **error);
/* The child's side: runs the file within `memory` GB (NAN: not said) and prints a line of JSON: peak (GB), agreement, C10,
 * seconds, plan, phase (a hash of the image's bits). */
int large_scene_child (int argc, char **argv);
/* The parent's side: NULL and *message where the child failed. */
json_t *large_scene_run (const char *program, const LargeScene *scene, const char *path, double memory, char **message);

/* The scene's optics. */
#define LARGE_STEP 0.24
#define LARGE_SEMIANGLE 20.0

#endif
