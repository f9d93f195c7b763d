/* The texts in which users write coefficients: "C10=5.5 C12=1.2 phi12=0.3", "C10=-40:40 depth=0:6", "C30 depth tilt".
 * Entries stand apart by spaces, commas or semicolons; numbers are written with a point, whatever the locale. */
#ifndef SB_CORE_FIT_VALUES_H
#define SB_CORE_FIT_VALUES_H

#include "core/optics.h"

/* What a name in such a text means. */
typedef enum SbNameKind {
  SB_NAME_COORDINATE, /* one coordinate: C10, C12a, tilt_row, depth; index */
  SB_NAME_MAGNITUDE,  /* C12: both its coordinates; term, and index of the first */
  SB_NAME_ANGLE,      /* phi12; term, and index of the first */
  SB_NAME_TILT        /* tilt: both directions */
} SbNameKind;

typedef struct SbNamed {
  char *name;
  SbNameKind kind;
  int index, term;  /* term -1: none */
  double low, high; /* the value (both), or the limits */
} SbNamed;
void named_free (SbNamed *named);

typedef enum SbNamedForm { SB_FORM_VALUES, SB_FORM_RANGES, SB_FORM_NAMES } SbNamedForm;

/* Entries of a text (NULL and "" give none), SbNamed *; NULL on an error that names the option and the entry. */
GPtrArray *values_parse (const char *option, const char *text, SbNamedForm form, GError **error);

/* What a text of values sets: coordinates of the fit, and which. */
typedef struct SbValues {
  SbCoordinates at;
  gboolean given[SB_N_COORDINATES];
} SbValues;
gboolean values_resolve (const char *option, const char *text, const SbOptics *optics, SbValues *values, GError **error);

#endif
