package sideband;

/** Debian's package of a system library that the native library links. */
final class Packages
{
  private static final String[][] NAMES = {
    {"libglib-2.0", "libglib2.0-0"}, {"libjansson", "libjansson4"}, {"libhdf5_serial", "libhdf5-103-1"},
    {"libhdf5", "libhdf5-103-1"}, {"libfftw3f", "libfftw3-single3"}, {"libfftw3", "libfftw3-double3"},
    {"liblz4", "liblz4-1"}, {"libpng", "libpng16-16"}, {"libzstd", "libzstd1"}};

  private Packages () {}

  static String of (String library)
  {
    for (String[] name : NAMES)
      if (library.startsWith (name[0]))
        return name[1];
    return "the package that holds " + library;
  }
}
