/* The one memory plan, for every backend: what is held, and where, within the option `memory` (else within what the machine
 * has free). In this order: G and its columns in memory; G in memory and its columns in a scratch file; columns in memory
 * and G made in parts each pass; columns in a scratch file and G made in parts. The result is the same in all. */
#ifndef SB_CORE_PLAN_H
#define SB_CORE_PLAN_H

#include <jansson.h>

#include "core/engine.h"

/* Bytes throughout. */
typedef struct SbPlan {
  guint64 budget;
  gboolean given; /* by the option; else what was free */
  guint64 columns, g;
  guint64 beside;    /* everything else at its largest */
  guint64 need;      /* for all of it in memory */
  guint64 least;     /* below this it cannot be done */
  gboolean in_file;  /* columns */
  gboolean in_parts; /* G */
  guint64 room;      /* for parts of G at once */
} SbPlan;

/* What a spectrum will hold. */
typedef struct SbPlanned {
  gint64 positions; /* scan points */
  gint64 n_pixels, n_q;
  gint64 widest;     /* pixels of the longest detector row */
  gint64 upsampling; /* image pixels a scan point */
  guint64 columns;   /* bytes of all counts */
  guint64 column;    /* of one pixel's counts */
  gboolean in_file;  /* the counts already are in one */
  guint64 on_device; /* bytes of them that the device holds */
} SbPlanned;

/* Whether so many bytes of columns go to a scratch file while frames of `frame` bytes stream by; says so. */
gboolean plan_columns (const SbEngine *engine, guint64 columns, gint64 positions, guint64 frame, gboolean *in_file,
                       GError **error);
/* Whether so many bytes may be had beside nothing else; what needs them: "The sums over the frames". */
gboolean plan_allows (const SbEngine *engine, guint64 bytes, const char *what, GError **error);
/* The plan of a spectrum, said before anything of it is allocated; an error where even the least does not fit. */
gboolean plan_spectrum (const SbEngine *engine, const SbPlanned *what, SbPlan *plan, GError **error);
json_t *plan_report (const SbPlan *plan);

/* Bytes of G for one pixel. */
guint64 plan_pixel (const SbEngine *engine, gint64 n_q);
/* Bytes of a scratch file that may be in memory at once. */
guint64 plan_slack (const SbEngine *engine);
/* Sums that one step of a pass in parts may hold: candidates' (step), moments (carry). They follow from the option alone, so
 * that processes which share a spectrum step alike. */
guint64 plan_step (const SbEngine *engine);
guint64 plan_carry (const SbEngine *engine);

#endif
