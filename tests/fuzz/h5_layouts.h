/* The layouts of HDF5 files that readers know, as their makers write them. */
#ifndef SB_TESTS_FUZZ_H5_LAYOUTS_H
#define SB_TESTS_FUZZ_H5_LAYOUTS_H

#include "tests/fuzz/h5_build.h"

typedef struct Layout {
  const char *name;
  const Part *parts; /* begin in x_master.h5; IN_FILE goes on in another file */
  guint n;
} Layout;

extern const Layout layouts[];
extern const guint n_layouts;

#endif
