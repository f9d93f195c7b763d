/* The acquisition in ARINA form: data files of up to 1000 frames, a master that links them, the sidecar. */
#ifndef SB_CORE_SIMULATE_WRITE_H
#define SB_CORE_SIMULATE_WRITE_H

#include "core/simulate/files.h"
#include "core/simulate/setup.h"

typedef struct SbFrameWriter SbFrameWriter;

/* element: bytes of a count, 2 or 4. */
SbFrameWriter *writer_new (SbFileSet *files, const SbSimulation *simulation, gsize element);
/* The next frame, encoded. */
gboolean writer_append (SbFrameWriter *writer, const guint8 *chunk, gsize size, GError **error);
/* Closes the last data file; FALSE where it could not be written. */
gboolean writer_close (SbFrameWriter *writer, GError **error);
/* Sidecar, then master. */
gboolean writer_headers (SbFrameWriter *writer, GError **error);
void writer_free (SbFrameWriter *writer);

#endif
