/* What a command works with, resolved from its options, the acquisition's file and an earlier result. */
#ifndef SB_CORE_SETUP_H
#define SB_CORE_SETUP_H

#include "core/pipeline.h"

typedef struct SbSetup {
  SbOptics optics; /* NAN: neither given nor known to the file or the earlier result */
  SbCalibrationOptions calibration;
  SbSpectrumOptions spectrum;
  SbAberrationOptions aberrations;
  SbFitOptions fit;
  SbReconstructionOptions reconstruction;
  SbExportOptions exports;
  gboolean has_from;
  SbCoordinates from;  /* of the earlier result */
  GPtrArray *warnings; /* char * */
} SbSetup;

/* need_optics: an error that names what is missing, where something is. */
gboolean setup_init (SbSetup *setup, const SbAcquisition *acquisition, const SbPipelineOptions *options, gboolean need_optics,
                     GError **error);
void setup_clear (SbSetup *setup);
void setup_warn (SbSetup *setup, const char *format, ...) G_GNUC_PRINTF (2, 3);

#endif
