/* Arrays of the host: every field is checked before one byte is touched. */
#ifndef SB_PLUGIN_VIEW_H
#define SB_PLUGIN_VIEW_H

#include <glib.h>

#include "core/acquisition.h"
#include "plugin/sideband.h"

/* A view of at most n_dims dimensions whose shape ends with shape[]; leading dimensions may be left out where
 * they are 1
 * ([rows, cols] for [1, rows, cols]). strides: bytes of all n_dims, the contiguous ones where the host gave
 * none. what names it in messages: "the frames". */
gboolean view_check (const sb_view *view, const char *what, int n_dims, const gint64 *shape, gint64 *strides, GError **error);
/* The same; a dtype other than this one or strides other than the contiguous ones are an error. */
gboolean view_check_plain (const sb_view *view, const char *what, SbDtype dtype, int n_dims, const gint64 *shape,
                           GError **error);
/* Writes an image into a view of SB_DTYPE_F32 [rows, cols]. */
gboolean view_write (const sb_view *view, const char *what, const float *image, gint64 rows, gint64 cols, GError **error);

#endif
