/* A 4D-STEM acquisition: what a file (or a host that pushes frames) says about itself, and its frames. */
#ifndef SB_CORE_ACQUISITION_H
#define SB_CORE_ACQUISITION_H

#include <glib.h>

#include "core/chunk.h"
#include "core/param.h"

typedef enum SbDtype { SB_U8, SB_U16, SB_U32, SB_I16, SB_I32, SB_F32, SB_F64 } SbDtype;
gsize dtype_size (SbDtype dtype);
const char *dtype_name (SbDtype dtype);                      /* "uint16", "float32" ... as NumPy names them */
gboolean dtype_from_name (const char *name, SbDtype *dtype); /* NumPy names and u2, f4 ...; FALSE: unknown */

typedef struct SbAcquisitionOptions {
  gint64 scan_shape[2];     /* 0: from the file */
  gint64 scan_region[4];    /* row, col, rows, cols; 0: all */
  gint64 detector_shape[2]; /* raw files and pushed frames */
  char *dtype;              /* raw files and pushed frames */
  gint64 header_bytes;      /* raw files: before the first frame */
  gboolean partial;         /* use the complete scan rows of an incomplete acquisition */
  char *dataset;            /* HDF5 files of several: path of the one that holds the frames */
  char *channel;            /* detectors with several thresholds: name or number of one */
  char *damaged_frames;     /* "empty": those that cannot be decoded; NULL, "refuse": an error */
  char *descan;             /* "remove"; NULL, "report" */
  double reciprocal;        /* pushed frames: 1/angstrom per detector pixel; not positive: not known */
} SbAcquisitionOptions;

extern const SbParamGroup acquisition_params;

/* What a reader found in the headers; unknown numbers are NAN or 0, never invented. */
typedef struct SbHeader {
  gint64 frames;          /* that are there, flyback included */
  gint64 expected_frames; /* that the headers promise (missing shards count); 0: unknown */
  gint64 detector_rows, detector_cols;
  SbDtype dtype;               /* of what read() delivers, native byte order */
  gint64 scan_rows, scan_cols; /* 0: the file does not say */
  double energy;               /* kV */
  double semiangle;            /* mrad */
  double step[2];              /* angstrom, row and col */
  double sampling;             /* mrad per detector pixel */
  double reciprocal;           /* 1/angstrom per detector pixel, where the file says that instead */
  guint8 *mask;                /* [rows * cols], 1: bad pixel; NULL: the file has none */
  gboolean has_saturation;
  double saturation;   /* counts at or above it are saturated */
  char *missing;       /* one sentence naming the first file that is absent or cut short; NULL: complete */
  GPtrArray *files;    /* char *, every file that belongs to it, first the one that was opened */
  GPtrArray *warnings; /* char *, one sentence each */
} SbHeader;

typedef struct SbReader SbReader;

/* Where the stored bytes of a frame lie. */
typedef struct SbFrameChunk {
  const char *path;     /* the reader's own: the same pointer for the same file */
  guint64 offset, size; /* size 0: read() knows what is wrong with this frame */
  guint32 filter_mask;  /* as chunk_decode takes it */
} SbFrameChunk;

/* One file format; a file of formats/ defines one as `const SbFormat format_NAME`. */
typedef struct SbFormat {
  const char *name;     /* "arina" */
  const char *title;    /* "DECTRIS ARINA / EIGER master (HDF5)" */
  const char *suffixes; /* "h5 hdf5", space-separated, for file dialogs */
  /* 0: not ours; larger: surer. head holds the first bytes of the file. */
  int (*probe) (const char *path, const guint8 *head, gsize head_size);
  /* Cheap: headers only. Fills header (zeroed, numbers NAN, lists made); frees nothing of it on failure. */
  SbReader *(*open) (const char *path, const SbAcquisitionOptions *options, SbHeader *header, GError **error);
  /* Frames [first, first + n) into out (n * rows * cols of header->dtype). Called from several threads at once.
   * Errors name the file and the frame. */
  gboolean (*read) (SbReader *reader, gint64 first, gint64 n, gpointer out, GError **error);
  void (*close) (SbReader *reader);
  /* Where frames [first, first + n) lie and how all of them are encoded; read() delivers what chunk_decode makes of
   * them. FALSE: not each in one piece, use read(). NULL: never. */
  gboolean (*chunks) (SbReader *reader, gint64 first, gint64 n, SbChunkCodec *codec, SbFrameChunk *out);
} SbFormat;

extern const SbFormat *const format_registry[]; /* generated, NULL-terminated */

typedef struct SbAcquisition {
  char *path; /* NULL: pushed by a host */
  const SbFormat *format;
  SbReader *reader;
  SbHeader header;
  SbAcquisitionOptions options;
  gint64 scan_rows, scan_cols; /* of the whole scan, flyback excluded */
  gint64 flyback;              /* surplus columns at the end of each row */
  gint64 region[4];            /* row, col, rows, cols that are used; the whole scan by default */
  gint64 used_rows, used_cols; /* = region[2], region[3], less incomplete rows with partial */
} SbAcquisition;

/* Opens a file with the format that claims it most. */
SbAcquisition *acquisition_open (const char *path, const SbAcquisitionOptions *options, GError **error);
/* For frames a host will push: scan_shape, detector_shape and dtype must be given. */
SbAcquisition *acquisition_new (const SbAcquisitionOptions *options, GError **error);
void acquisition_free (SbAcquisition *acquisition);

/* Scan position (row-major in the used region) of a frame, -1 where it is not used (flyback, outside the region). */
gint64 acquisition_position (const SbAcquisition *acquisition, gint64 frame);
gint64 acquisition_frame (const SbAcquisition *acquisition, gint64 position);
gint64 acquisition_positions (const SbAcquisition *acquisition);   /* used_rows * used_cols */
gint64 acquisition_frame_count (const SbAcquisition *acquisition); /* of the file or to be pushed, flyback included */

#endif
