/* A result: named arrays with units and axes, and one JSON document; writers for HDF5, TIFF, PNG and JSON.
 * Written whole or not at all: to a temporary name beside the target, then renamed. */
#ifndef SB_CORE_RESULT_H
#define SB_CORE_RESULT_H

#include <glib.h>
#include <jansson.h>

#include "core/param.h"

typedef struct SbArray {
  char *name;  /* "phase", "amplitude", "mean_pattern", "picture" ... */
  char *title; /* "phase" */
  char *unit;  /* "rad", "counts", "" */
  int n_dims;  /* 1..3 */
  gint64 shape[3];
  gboolean detail;    /* for further work with the numbers: hosts need not show it unasked */
  gboolean bytes;     /* guint8 samples (a picture [rows, cols, 3]) instead of floats */
  float *data;        /* C order; owned */
  guint8 *pixels;     /* C order; owned; bytes only */
  double step[3];     /* distance of samples along each axis, NAN: none */
  char *axis_unit[3]; /* "nm", "mrad", "1/nm", "deg"; "" none */
} SbArray;

typedef struct SbResult {
  json_t *info;      /* the object `sideband run --json` prints; owned */
  GPtrArray *arrays; /* SbArray *; owned */
} SbResult;

SbResult *result_new (void);
void result_free (SbResult *result);
/* Adds a copy-free array: data (g_malloc) is owned by the result afterwards. Returns it for filling step and
 * axis_unit. */
SbArray *result_add (SbResult *result, const char *name, const char *title, const char *unit, float *data, int n_dims,
                     const gint64 *shape);
SbArray *result_add_picture (SbResult *result, const char *name, const char *title, guint8 *rgb, gint64 rows, gint64 cols);
const SbArray *result_find (const SbResult *result, const char *name); /* NULL: none */

typedef struct SbOutputOptions {
  char *output;   /* folder or prefix; NULL: the current folder */
  gboolean force; /* replace files that are not ours */
} SbOutputOptions;
extern const SbParamGroup output_params; /* output, force */

/* One way of writing; a file of formats/ defines one as `const SbWriter writer_NAME`. */
typedef struct SbWriter {
  const char *name;   /* "hdf5", "tiff", "png", "json" */
  const char *suffix; /* "_result.h5", "_phase.tif", "_phase.png", "_fit.json" */
  gboolean (*applies) (const SbResult *result);
  /* Writes to exactly this (temporary) path. Its error is the reason only ("no space left on device; free
   * some space"): result_save puts the name of the real file before it. */
  gboolean (*write) (const SbResult *result, const char *path, GError **error);
  /* TRUE where an existing file was written by us and may be replaced. */
  gboolean (*ours) (const char *path);
} SbWriter;
extern const SbWriter *const writer_registry[]; /* generated, NULL-terminated */
/* Fails with reason's code: "<path> <what>: <reason>." */
gboolean result_fail (GError **error, const char *path, const char *what, const GError *reason);
/* For writers: the reason of a system error, with its remedy; files from memory; JSON with the shortest
 * numbers that read back to the same bits, keys in the order they were set (g_free; NULL: no memory). */
gboolean save_failed (GError **error, int system_error);
gboolean save_append (int file, gconstpointer bytes, gsize size, GError **error); /* to an open descriptor */
gboolean save_bytes (const char *path, gconstpointer bytes, gsize size, GError **error);
char *json_text (const json_t *json, gboolean indented);
/* A calibration (a picture and no image) keeps file names of its own, so that it never replaces a fit. */
gboolean result_is_calibration (const SbResult *result);
/* So do images of a virtual detector. */
gboolean result_is_detector (const SbResult *result);
/* The values of an array, or of a file's array: shape multiplied. */
gint64 array_size (const SbArray *array);
/* Reads what writer_hdf5 wrote into an empty result. */
gboolean result_read_hdf5 (SbResult *result, const char *path, GError **error);

/* Writes one kind to path: temporary name, fsync, rename. kind: a writer's name. */
gboolean result_save (const SbResult *result, const char *path, const char *kind, gboolean force, GError **error);
/* Writes every kind that applies to <output>/<base><suffix> (or <prefix><suffix>) and lists them, absolute,
 * under "files" in result->info. source: the acquisition's path or NULL (base "sideband"). On failure none of
 * them is left. */
gboolean result_save_all (SbResult *result, const SbOutputOptions *output, const char *source, GError **error);
/* The same with the writers of a NULL-terminated list and a prefix that is known. */
gboolean result_save_at (SbResult *result, const SbWriter *const *writers, const char *prefix, gboolean force, GError **error);
/* What files of an acquisition are called by: "/data/columns_master.h5" -> "columns"; NULL: "sideband". */
char *source_base (const char *source);
/* Opens a _result.h5 (arrays and info) or a _fit.json (info only). */
SbResult *result_open (const char *path, GError **error);

#endif
