/* The stages of a command. Each writes what it finds into the command's result. Inside the pipeline only. */
#ifndef SB_CORE_STAGES_H
#define SB_CORE_STAGES_H

#include "core/setup.h"
#include "core/work.h"

/* Where the stages of a command end, as shares of the job. */
typedef struct SbShares {
  double load, calibrate, fit;
} SbShares;

typedef struct SbCommand {
  SbWork *work;
  SbProgress *progress;
  SbResult *result;
  SbSetup setup;
  SbStart start;
  SbSeconds seconds;
  gint64 began;
} SbCommand;

/* Puts a value (owned from then on) into the result's info. */
void command_set (SbCommand *command, const char *key, json_t *value);
/* All that can be refused without data is refused here. TRUE holds the work until command_end. */
gboolean command_begin (SbCommand *command, SbWork *work, const SbPipelineOptions *options, gboolean need_optics,
                        SbProgress *progress, GError **error);
/* The result where the command was done, NULL where it was not. */
SbResult *command_end (SbCommand *command, gboolean done);

/* load and calibrate; fresh sees G as calibrated, otherwise as the last fit left it. */
gboolean stage_prepare (SbCommand *command, const SbShares *shares, gboolean fresh, GError **error);
SbFit *stage_fit (SbCommand *command, double from, double to, GError **error);
/* S at known values, in float64. */
gboolean stage_agreement (SbCommand *command, const SbCoordinates *at, GError **error);
gboolean stage_reconstruct (SbCommand *command, const SbCoordinates *at, double from, GError **error);
/* Resolution and transfer, where they are asked for; unit: of the image. */
gboolean stage_quality (SbCommand *command, const SbCoordinates *at, const char *unit, double from, GError **error);
/* Probe, aberration surface and the wish for parameter files. */
gboolean stage_export (SbCommand *command, const SbCoordinates *at, GError **error);
void stage_pattern (SbCommand *command); /* adds the mean pattern */

#endif
