/* What the build asks the library: the catalog, for the menus. */
#include <stdio.h>

#include "plugin/sideband.h"

int
main (void)
{
  return puts (sb_catalog ()) < 0;
}
