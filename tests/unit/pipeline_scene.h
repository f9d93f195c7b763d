/* Acquisitions, options and results for the tests of the pipeline. */
#ifndef SB_TESTS_PIPELINE_SCENE_H
#define SB_TESTS_PIPELINE_SCENE_H

#include <jansson.h>

#include "core/pipeline.h"

typedef struct Scene {
  SbEngine *engine;
  SbAcquisition *acquisition;
  SbWork *work;
  json_t *simulation; /* what was simulated, and the maximum of S */
  char *folder;
} Scene;

char *examples (void); /* the folder of the example acquisitions */
Scene *scene_open (const char *folder, const char *name, gboolean simulated);
void scene_free (Scene *scene);

typedef struct Options {
  SbOpticsOptions optics;
  SbCalibrationOptions calibration;
  SbAberrationOptions aberrations;
  SbFitOptions fit;
  SbReconstructionOptions reconstruction;
  SbPipelineOptions pipeline;
} Options;

Options *options_new (double semiangle);
void options_free (Options *o);
void set_text (char **field, const char *text);
char *optimum_text (const Scene *scene); /* the maximum of S, as a user would type it */

/* What a result says at "calibration.radius"; ends the test program where it says nothing there. */
const json_t *look (const SbResult *result, const char *path);
double number_of (const SbResult *result, const char *path);
double item (const SbResult *result, const char *path, size_t i);
gboolean warned (const SbResult *result, const char *text);
void near (double value, double expected, double tolerance);
void check_values (const Scene *scene, const SbResult *result); /* against the maximum of S */

#endif
