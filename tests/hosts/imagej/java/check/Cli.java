package check;

import ij.IJ;
import ij.ImagePlus;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The same command at the shell: what ImageJ must give to the bit. */
public final class Cli
{
  private Cli () {}

  public static String run (String... words) throws Exception
  {
    List<String> line = new ArrayList<> (Arrays.asList (words));
    line.add (0, System.getProperty ("test.cli"));
    Process process = new ProcessBuilder (line).redirectError (ProcessBuilder.Redirect.INHERIT).start ();
    ByteArrayOutputStream text = new ByteArrayOutputStream ();
    byte[] buffer = new byte[65536];
    try (InputStream in = process.getInputStream ()) {
      for (int n = in.read (buffer); n >= 0; n = in.read (buffer))
        text.write (buffer, 0, n);
    }
    int code = process.waitFor ();
    if (code != 0)
      throw new AssertionError ("the command line failed with " + code + ": " + line);
    return new String (text.toByteArray (), StandardCharsets.UTF_8);
  }

  /** The phase that "sideband COMMAND FILE OPTIONS" writes, as ImageJ opens it. */
  public static float[] phase (String command, String file, String... options) throws Exception
  {
    File folder = Files.createTempDirectory ("sideband-test-").toFile ();
    List<String> words = new ArrayList<> (Arrays.asList (command, file, "--quiet", "--output", folder + "/"));
    words.addAll (Arrays.asList (options));
    run (words.toArray (new String[0]));
    float[] pixels = null;
    for (File written : folder.listFiles ()) {
      if (written.getName ().endsWith ("_phase.tif")) {
        ImagePlus image = IJ.openImage (written.getPath ());
        pixels = (float[])image.getProcessor ().getPixels ();
      }
      written.delete ();
    }
    folder.delete ();
    Tap.check (pixels != null, "the command line wrote a phase");
    return pixels;
  }

  /** The same bits, and something in them. */
  public static void same (float[] got, float[] wanted, String what)
  {
    Tap.same (got.length, wanted.length, what + ", size");
    boolean any = false;
    for (int i = 0; i < got.length; i++) {
      if (Float.floatToRawIntBits (got[i]) != Float.floatToRawIntBits (wanted[i]))
        throw new AssertionError (what + ": pixel " + i + " is " + got[i] + ", at the command line " + wanted[i]);
      any |= got[i] != got[0];
    }
    Tap.check (any, what + ": the image is not flat");
  }
}
