/* The JSON of the contract, made from the library's structs. No number in it is NaN: what is not known is null. */
#ifndef SB_CORE_REPORT_H
#define SB_CORE_REPORT_H

#include <jansson.h>

#include "core/fit/fit.h"
#include "core/reconstruct.h"

json_t *report_number (double x); /* null where not finite */
json_t *report_pair (double row, double col);
json_t *report_sizes (gint64 rows, gint64 cols);
json_t *report_strings (const GPtrArray *strings); /* NULL: [] */

/* optics: NAN where not known; columns and spectrum NULL before they are there. */
json_t *report_acquisition (const SbAcquisition *acquisition, const SbOptics *optics, const SbColumns *columns,
                            const SbSpectrum *spectrum);
/* {"path", "size", "mtime", "frames"} of where the numbers come from. */
json_t *report_source (const SbAcquisition *acquisition);
/* frame: the one that was used (the fit may have taken the twin's). */
json_t *report_calibration (const SbCalibration *calibration, const SbFrame *frame);
json_t *report_disk (const SbDisk *disk); /* all that is known without a semi-angle */
/* S against rotation: angle (deg), identity, transpose. */
json_t *report_rotation_scan (const SbCalibration *calibration);
/* Polar values with errors; fit NULL: all of them are held. */
json_t *report_values (const SbOptics *optics, const SbCoordinates *at, const SbFit *fit);
json_t *report_coordinates (const SbCoordinates *at);
json_t *report_branch (const SbFit *fit);
json_t *report_passes (const SbPasses *passes);
json_t *report_image (const SbImage *image, const char *method);

/* Coordinates and optics of an earlier result's info; FALSE where it holds none. Numbers it lacks are NAN. */
gboolean report_read_coordinates (const json_t *info, const SbOptics *optics, SbCoordinates *at);
void report_read_optics (const json_t *info, SbOptics *optics);
void report_read_calibration (const json_t *info, double centre[2], double *sampling, double *rotation, char **orientation);

/* Every evaluation of the fit. */
json_t *report_history (const SbHistory *history);
/* Names of the 28 coordinates, as rows and columns of the covariance. */
json_t *report_names (void);

#endif
