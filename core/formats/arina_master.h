/* A DECTRIS master file: what it says of the detector and the beam, and which datasets hold the frames. */
#ifndef SB_CORE_FORMATS_ARINA_MASTER_H
#define SB_CORE_FORMATS_ARINA_MASTER_H

#include "core/acquisition.h"

/* One dataset of frames, as the master names it. */
typedef struct SbShardName {
  char *path;    /* of the file, resolved; it need not be there */
  char *dataset; /* path in that file */
} SbShardName;
void shard_name_free (SbShardName *shard);

typedef struct SbMaster {
  GPtrArray *shards; /* SbShardName *, in order of their frames */
  gint64 promised;   /* frames by ntrigger and nimages; 0: they do not say */
  gint64 scan[2];    /* attribute scan_shape; 0: none */
  double energy;     /* kV; NAN */
  double saturation; /* NAN */
} SbMaster;

/* Reads the headers; FALSE with a sentence where path is no master. */
gboolean master_read (const char *path, SbMaster *master, GError **error);
void master_clear (SbMaster *master);
/* pixel_mask into header->mask (where the master has one of that shape) or a warning; flatfield, pixel size. */
gboolean master_mask (const char *path, SbHeader *header, GError **error);
/* The sidecar beside it, where there is one: scan, step, energy. */
void master_sidecar (const char *path, SbHeader *header);

#endif
