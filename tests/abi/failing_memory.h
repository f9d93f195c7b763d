/* Memory that runs out at the allocation one chooses. Linked with --wrap (see meson.build), what the library itself allocates
 * comes through here; what GLib, HDF5 and the others allocate inside does not. */
#ifndef SB_TESTS_FAILING_MEMORY_H
#define SB_TESTS_FAILING_MEMORY_H

#include <glib.h>

/* Counts from here on; the n-th (from 1) of the allocations that may fail fails, and no other. 0: none. */
void failing_memory_arm (gint64 n);
/* Those asked for since then. */
gint64 failing_memory_count (void);
/* How large the one that failed was; 0: none did. */
gsize failing_memory_failed (void);
/* The largest since then that would have ended the program had there been no memory (g_malloc, g_new and their like). */
gsize failing_memory_largest_fatal (void);

#endif
