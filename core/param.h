/* The row that declares a parameter, once: hosts build dialogs, options, checks, help and provenance from it.
 *
 * A group of rows describes one options struct of core; the rows stand in the file of the code they configure. */
#ifndef SB_CORE_PARAM_H
#define SB_CORE_PARAM_H

#include <glib.h>

typedef enum SbParamType {
  SB_PARAM_BOOL,   /* gboolean;  JSON true/false */
  SB_PARAM_INT,    /* gint64;    JSON integer */
  SB_PARAM_DOUBLE, /* double;    JSON number; NAN in the struct where not given */
  SB_PARAM_CHOICE, /* char *;    JSON string, one of choices */
  SB_PARAM_TEXT,   /* char *;    JSON string; NULL where not given */
  SB_PARAM_PATH,   /* char *;    JSON string, a file or folder; NULL where not given */
  SB_PARAM_PAIR,   /* double[2]; JSON number (both) or [row, col]; text "row,col" */
  SB_PARAM_SHAPE,  /* gint64[2]; JSON [rows, cols]; text "rows,cols"; 0 where not given */
  SB_PARAM_REGION  /* gint64[4]; JSON [row, col, rows, cols]; text "row,col,rows,cols"; 0 where not given */
} SbParamType;

typedef enum SbParamFlags {
  SB_PARAM_ADVANCED = 1, /* hosts may hide it behind "more" */
  SB_PARAM_ASKED = 2,    /* optics never invented: hosts ask for it where the file does not say */
  SB_PARAM_LIVE = 4,     /* changing it only re-reconstructs: hosts may offer a live preview */
  SB_PARAM_NO_RECORD = 8 /* not part of what reproduces a result (threads, output, log ...) */
} SbParamFlags;

/* start of a numeric row without default: "not given" */
#define SB_PARAM_NOT_GIVEN ((double)NAN)

typedef struct SbParam {
  const char *name;  /* JSON key, macro key, Python keyword; the command line replaces '_' by '-' */
  const char *title; /* label of a dialog */
  const char *unit;  /* "" where none */
  const char *help;  /* one sentence; ends with a full stop */
  SbParamType type;
  gsize offset;                              /* into the group's struct */
  double value;                              /* default of BOOL, INT, DOUBLE, PAIR (both); NAN: not given */
  const char *text;                          /* default of CHOICE, TEXT, PATH; NULL: not given */
  double min, max;                           /* hard range of numbers, inclusive; -INFINITY, INFINITY where none */
  double show_min, show_max;                 /* range of a slider */
  const char *const *choices;                /* NULL-terminated, for CHOICE */
  const char *const *(*choices_from) (void); /* the same where a registry decides (methods, backends) */
  guint flags;
} SbParam;

typedef struct SbParamGroup {
  const char *name;  /* "optics" */
  const char *title; /* "Optics" */
  gsize size;        /* of the options struct */
  const SbParam *rows;
  guint n_rows;
} SbParamGroup;

/* Fills a struct of group->size bytes with the defaults (strings are duplicated). */
void param_group_defaults (const SbParamGroup *group, gpointer options);
/* Frees the strings inside. */
void param_group_clear (const SbParamGroup *group, gpointer options);
/* The choices of a row, from whichever source; NULL where it has none. */
const char *const *param_choices (const SbParam *row);

#endif
