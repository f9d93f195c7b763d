/* Inside of the gather: what streams by is added to exact sums, and kept pixels are turned into columns. */
#ifndef SB_CORE_GATHER_H
#define SB_CORE_GATHER_H

#include "core/calibrate.h"
#include "core/columns.h"
#include "core/hot.h"
#include "core/scratch.h"

enum {
  GATHER_BLOCK = 128, /* most frames gathered together: whole cache lines of a column */
  GATHER_TILE = 512,  /* pixels whose sums are kept at hand while a block goes by */
  GATHER_GROUP = 32,  /* columns turned at once */
  GATHER_LOOK = 64,   /* pushed frames that are looked at before pixels are chosen */
  GATHER_WORDS = 10   /* of 32 bits: any sum of float32 values, exactly */
};

/* Detector pixels that share a lock. */
typedef struct GatherTile {
  GMutex lock;
  gint64 frames;  /* that its sums hold */
  gint64 kept[2]; /* range of its pixels in gather->pixel */
} GatherTile;

typedef enum GatherState { GATHER_LOOKING, GATHER_STREAMING, GATHER_FINISHED, GATHER_FAILED } GatherState;

struct SbGather {
  SbEngine *engine;
  SbAcquisition *acquisition;
  double centre[2], radius; /* given by the user, or NAN */
  gint64 rows, cols, size, positions, total;
  SbDtype dtype;      /* declared */
  SbDtype stored;     /* of the columns */
  gsize item;         /* bytes of a stored value */
  gint64 block;       /* frames gathered together: fewer where frames are large */
  gboolean shared;    /* every rank reads a part of the scan; see core/share.h */
  gint64 first, held; /* scan positions of that part; 0 and all of them where nothing is shared */

  gint64 n_tiles;
  GatherTile *tile;
  gpointer good;      /* [size] of the stored type: all ones, or 0 at masked pixels; guint8 for float32 */
  guint64 *sum;       /* [size] integers */
  gint64 *words;      /* [size][GATHER_WORDS] float32 */
  double *high;       /* [size] largest value */
  guint8 *not_finite; /* [size] */

  gint64 n_pixels; /* kept while streaming */
  gint32 *pixel;
  gpointer counts;    /* [n_pixels][held] */
  SbScratch *scratch; /* that they lie in; NULL: in memory */
  gboolean elsewhere; /* a device keeps them */
  double *frame_sum;  /* [positions] over unmasked pixels */

  GMutex lock; /* of all below */
  GatherState state;
  guint8 *seen;  /* [total] */
  guint8 *there; /* [positions] its frame is in the columns */
  gint64 pushed, active;
  gpointer look; /* [GATHER_LOOK][size] stored frames */
  gint64 look_position[GATHER_LOOK];
  gint64 n_look;
};

/* n <= GATHER_BLOCK frames of the stored type, one after the other, of these scan positions: added to the
 * sums, turned into columns, or both. Any thread; two calls never hold the same position. */
typedef enum GatherParts { GATHER_ADD = 1, GATHER_TURN = 2 } GatherParts;
void gather_block (SbGather *gather, guint parts, gint64 n, const gint64 *position, gconstpointer frames);

/* A frame (strides in bytes for row and column) as the stored type, contiguous. FALSE where a value cannot be
 * stored. */
gboolean gather_convert (const SbGather *gather, gint64 frame, gconstpointer from, SbDtype dtype, gint64 row_stride,
                         gint64 col_stride, gpointer to, GError **error);
/* Whether every value of one type is a value of another. */
gboolean dtype_fits (SbDtype from, SbDtype into);

/* Mean pattern and bad pixels of what the sums hold. sentinels: unmasked pixels that always hold all ones;
 * may be NULL. */
gboolean gather_pattern (SbGather *gather, double hot_factor, SbPattern *pattern, gint64 *sentinels, GError **error);
/* The largest value of an unsigned type; 0 for the others. */
double dtype_all_ones (SbDtype dtype);
void pattern_clear (SbPattern *pattern);
/* Chooses the pixels to keep from the sums, and makes room for them. */
gboolean gather_choose (SbGather *gather, GError **error);
/* At the end: what becomes of each kept pixel. */
enum { PIXEL_DROPPED, PIXEL_FINAL, PIXEL_REFUSED /* bad, and to be taken out of the frames' sums */ };
gboolean gather_judge (SbGather *gather, SbPattern *pattern, guint8 **fate, gint64 *n_final, gint64 *sentinels, GError **error);
/* Sets all sums back to nothing (after the sparse mean). */
void gather_reset (SbGather *gather);
/* The columns of the final pixels out of those that streamed. */
SbColumns *gather_take (SbGather *gather, GError **error);
/* Its beginning: everything but the counts and what is summed from them. */
SbColumns *gather_take_begin (SbGather *gather, guint8 **fate, gint64 *n_final, gint64 *sentinels, GError **error);
/* Of the mean pattern's final pixels. */
void gather_mean_com (const SbGather *gather, const SbPattern *pattern, const guint8 *fate, double com[2]);

#endif
