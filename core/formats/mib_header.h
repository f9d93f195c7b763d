/* What stands before each frame of a Merlin .mib file, the .hdr beside it, and the packing of its pixels. */
#ifndef SB_CORE_FORMATS_MIB_HEADER_H
#define SB_CORE_FORMATS_MIB_HEADER_H

#include "core/frameset.h"

typedef struct SbMibHeader {
  gint64 number;        /* of the frame in its series, from 1 */
  gint64 bytes;         /* of the header itself */
  gint64 chips;         /* that are read out */
  gint64 width, height; /* as stored: raw chips stand side by side */
  gint64 layout[2];     /* chips across and down */
  gboolean gap_filled;  /* there are columns and rows between the chips */
  gboolean raw;         /* R64: bits as the chips deliver them */
  int bits;             /* 8, 16, 32 of a processed pixel; 64 */
  int depth;            /* of the counter: 1, 6, 12, 24; 0: not said */
} SbMibHeader;

/* The header of the first frame. FALSE with an error: not one that we can read. */
gboolean mib_header_read (SbFlatFile *file, const char *path, SbMibHeader *mib, GError **error);
/* Detector shape, number type, saturation; the layout of the frames in the file. */
gboolean mib_header_describe (const SbMibHeader *mib, const char *path, SbHeader *header, SbFrameLayout *layout,
                              GError **error);
/* Masks the pixels between the chips, which hold copies or nothing; only with frames that are there: what a header claims
 * by itself is not worth gigabytes. */
void mib_header_mask (const SbMibHeader *mib, SbHeader *header);
/* decode of a raw layout; how: the SbMibHeader, which must live as long. */
void mib_raw_decode (gconstpointer how, const guint8 *stored, gpointer out);
/* Bytes of a raw frame; 0: no such packing. *rows, *cols: of the picture. */
gint64 mib_raw_shape (const SbMibHeader *mib, gint64 *rows, gint64 *cols);

/* The .hdr beside it: numbers it has; 0: none. */
typedef struct SbMibNotes {
  gint64 frames, per_trigger, scan_rows, scan_cols;
} SbMibNotes;
SbMibNotes mib_notes_read (const char *path);

/* The name up to the digits before ".mib"; NULL: no such name. */
char *mib_stem (const char *path);
/* Adds the frames of the opened file, and of those that come before and after it, to set. */
gboolean mib_series_add (const char *path, const SbMibHeader *mib, const SbFrameLayout *layout,
                         const SbAcquisitionOptions *options, SbFrameSet *set, SbHeader *header, GError **error);

#endif
