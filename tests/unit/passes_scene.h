/* A small scene for tests of core/passes, and everything that a pass can leave as one array. */
#ifndef SB_TESTS_PASSES_SCENE_H
#define SB_TESTS_PASSES_SCENE_H

#include "core/agreement.h"
#include "core/passes.h"

enum { DETECTOR = 28, ROWS = 30, COLS = 28, RADIUS = 11 };

/* A scene made by hand: random counts, so that no sum is small by chance. */
typedef struct PassesScene {
  SbEngine *engine;
  SbAcquisition acquisition;
  SbColumns columns;
  SbOptics optics;
  SbCalibration calibration;
} PassesScene;

SbEngine *passes_engine (const char *precision, gint64 threads);
void passes_scene_open (PassesScene *s, const char *precision, gint64 threads);
void passes_scene_close (PassesScene *s);
SbSpectrum *passes_spectrum (PassesScene *s, guint64 memory);
guint64 passes_least (PassesScene *s, const SbSpectrum *resident);
void passes_put (GArray *out, SbSpectrum *s, const SbkView *view, int precise);
void passes_put_sums (GArray *out, SbSpectrum *s, gint64 k_first, gint64 k_stride);
GArray *passes_everything (SbSpectrum *s);
void passes_same_bits (const GArray *a, const GArray *b, const char *what);

#endif
