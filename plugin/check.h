/* One JSON value against one row. */
#ifndef SB_PLUGIN_CHECK_H
#define SB_PLUGIN_CHECK_H

#include <jansson.h>

#include "core/param.h"

/* Stores value in the row's field. What does not fit is SB_ERROR_ARGUMENT: one sentence with the name, the
 * value, the unit and what would be right; the field is untouched then. null and "" (for rows that take text)
 * leave the field as it is. */
gboolean check_value (const SbParam *row, const json_t *value, gpointer field, GError **error);

/* The reverse: what check_value would store back; NULL where the field says "not given". */
json_t *check_to_json (const SbParam *row, gconstpointer field);

/* A value as it stands in a message: its JSON, cut where it is long. */
char *check_brief (const json_t *value);

#endif
