package sideband;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Finds the native library: -Dsideband.native=FILE, else java.library.path, else the copy in the jar. Never in a static
 * initialiser: a failure there shows as "Class not found" the second time. The reason is kept and told each time.
 */
final class Loader
{
  static final int ABI = 1;
  private static final String NAME = "sideband_ij", PREFIX = "sideband-ij-";
  private static final long STALE_MS = 24L * 3600 * 1000;
  private static boolean loaded;
  private static Failure failure;

  private Loader () {}

  static synchronized void ensure () throws Failure
  {
    if (failure != null)
      throw failure;
    if (loaded)
      return;
    try {
      load ();
      checkAbi ();
      loaded = true;
    } catch (Failure e) {
      failure = e;
      throw e;
    }
  }

  static String platform ()
  {
    String os = System.getProperty ("os.name").toLowerCase (Locale.ROOT), arch = System.getProperty ("os.arch");
    String system = os.startsWith ("windows") ? "windows" : os.startsWith ("mac") ? "macos" : os;
    return system + "-" + (arch.equals ("amd64") ? "x86_64" : arch);
  }

  private static void load () throws Failure
  {
    String given = System.getProperty ("sideband.native");
    try {
      if (given != null)
        System.load (new File (given).getAbsolutePath ());
      else if (!loadInstalled ())
        System.load (unpack ().getAbsolutePath ());
    } catch (UnsatisfiedLinkError e) {
      throw new Failure (Failure.INTERNAL, explain (e.getMessage (), given));
    }
  }

  /** A distribution's copy. One that is there already, of the class loader before Refresh Menus, is passed over. */
  private static boolean loadInstalled ()
  {
    try {
      System.loadLibrary (NAME);
      return true;
    } catch (UnsatisfiedLinkError e) {
      String message = String.valueOf (e.getMessage ());
      if (message.contains ("java.library.path") || message.contains ("another classloader"))
        return false;
      throw e;
    }
  }

  private static File unpack () throws Failure
  {
    String name = System.mapLibraryName (NAME), resource = "/META-INF/native/" + platform () + "/" + name;
    sweep ();
    try (InputStream in = Loader.class.getResourceAsStream (resource)) {
      if (in == null)
        throw new Failure (Failure.INTERNAL, "Sideband_IJ.jar holds no native library for this platform ("
          + platform () + "); build it here, or start ImageJ with -Dsideband.native=FILE.");
      File folder = Files.createTempDirectory (PREFIX).toFile (), file = new File (folder, name);
      folder.deleteOnExit (); /* the file is registered after its folder, and so deleted before it */
      file.deleteOnExit ();
      Files.copy (in, file.toPath (), StandardCopyOption.REPLACE_EXISTING);
      return file;
    } catch (IOException e) {
      throw new Failure (Failure.IO, "The native library cannot be unpacked into " + temporary () + " ("
        + e.getMessage () + "); start ImageJ with -Djava.io.tmpdir=FOLDER or -Dsideband.native=FILE.");
    }
  }

  private static String temporary ()
  {
    return System.getProperty ("java.io.tmpdir");
  }

  /** Copies that a killed ImageJ left; those of a day or less may belong to one that runs. */
  private static void sweep ()
  {
    File[] folders = new File (temporary ()).listFiles ((dir, name) -> name.startsWith (PREFIX));
    if (folders == null)
      return;
    for (File folder : folders) {
      if (System.currentTimeMillis () - folder.lastModified () < STALE_MS)
        continue;
      File[] files = folder.listFiles ();
      for (int i = 0; files != null && i < files.length; i++)
        files[i].delete ();
      folder.delete ();
    }
  }

  static String explain (String message, String given)
  {
    Matcher missing = Pattern.compile ("(lib[^ :/]+\\.so[.0-9]*): cannot open").matcher (String.valueOf (message));
    if (missing.find () && !missing.group (1).contains (NAME))
      return "The library " + missing.group (1) + " that Sideband needs is not installed; on Debian and Ubuntu type: "
        + "sudo apt-get install " + Packages.of (missing.group (1)) + ".";
    if (given != null)
      return "The native library named by -Dsideband.native cannot be loaded: " + message + ".";
    if (String.valueOf (message).contains ("failed to map segment"))
      return "The folder " + temporary () + " does not allow programs; start ImageJ with -Djava.io.tmpdir=FOLDER or "
        + "-Dsideband.native=FILE.";
    return "The native library of Sideband cannot be loaded on " + platform () + ": " + message + ".";
  }

  private static void checkAbi () throws Failure
  {
    int abi = Math.abs (Native.abi ());
    if (abi != ABI)
      throw new Failure (Failure.INTERNAL, "This plugin was built for version " + ABI + " of Sideband's interface, the "
        + "library found has " + abi + "; install the jar and the library of one release.");
  }
}
