/* The library's remarks: to the host's function, or to GLib's log in our domain. */
#ifndef SB_PLUGIN_LOG_H
#define SB_PLUGIN_LOG_H

#include <glib.h>

typedef enum SbLogLevel { SB_LOG_DEBUG, SB_LOG_INFO, SB_LOG_NOTE, SB_LOG_WARNING } SbLogLevel;

void log_remark (SbLogLevel level, const char *format, ...) G_GNUC_PRINTF (2, 3);

#endif
