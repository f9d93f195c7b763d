package sideband;

import check.Cli;
import check.Tap;
import ij.IJ;
import ij.ImagePlus;
import ij.ImageStack;
import ij.WindowManager;
import ij.gui.Roi;
import ij.measure.Calibration;
import ij.process.ByteProcessor;
import ij.process.ColorProcessor;
import ij.process.FloatProcessor;
import ij.process.ImageProcessor;
import ij.process.ShortProcessor;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;

/** Without a display: parsing, and every route by the static methods that call ("sideband.Sideband_...") reaches. */
public final class HeadlessTests
{
  private static final String FIXED = "semiangle=30 centre=36,36 sampling=0.983 rotation=0 orientation=identity ",
    KNOWN = FIXED + "coefficients=[C10=6 C12=2.5 phi12=0.4] ";
  private static final String[] KNOWN_CLI = {"--semiangle", "30", "--centre", "36,36", "--sampling", "0.983", "--rotation", "0",
    "--orientation", "identity", "--coefficients", "C10=6 C12=2.5 phi12=0.4"};
  private static String columns;

  private HeadlessTests () {}

  private static String run (String command, String options)
  {
    return Sideband_.run (command, options);
  }

  private static float[] pixels ()
  {
    return (float[])WindowManager.getCurrentImage ().getProcessor ().getPixels ();
  }

  private static float[] imagejPhase (String options)
  {
    String json = run ("reconstruct", options);
    Tap.check (!json.startsWith ("error"), json);
    return pixels ();
  }

  public static void main (String[] arguments) throws Throwable
  {
    columns = arguments[0] + "/columns_master.h5";
    Tap.begin ();
    texts ();
    errors ();
    images ();
    windows ();
    library ();
    Tap.end ();
  }

  private static void texts () throws Throwable
  {
    Tap.test ("options: brackets, blanks, bare words", () -> {
      Parameters p = Parameters.parse (Catalog.get ().command ("run"),
                                       "input=[/a b [1]/ü.h5] semiangle=30 force method=ssb coefficients=[C10=5 C12=1]");
      Tap.same (p.get ("input"), "/a b [1]/ü.h5", "path");
      Tap.same (Json.write (p.json (Catalog.Section.COMMAND)),
                "{\"semiangle\": 30.0, \"force\": true, \"method\": \"ssb\", \"coefficients\": \"C10=5 C12=1\"}", "json");
    });
    Tap.test ("options: sections take their own keys", () -> {
      Parameters p = Parameters.parse (Catalog.get ().command ("run"), "threads=2 scan_shape=4x5 semiangle=30");
      Tap.same (Json.write (p.json (Catalog.Section.SESSION)), "{\"threads\": 2}", "session");
      Tap.same (Json.write (p.json (Catalog.Section.DATA)), "{\"scan_shape\": \"4,5\"}", "data");
    });
    Tap.test ("JSON: reads and writes all kinds", () -> {
      String text = "{\"a\": [1, -2.5, 1e-7, null, true], \"b\": {\"c\": \"\\u00e4 \\\"q\\\" \\n\"}}";
      Object value = Json.parse (text);
      Tap.same (Json.find (value, "a.1"), "-2.5", "number");
      Tap.same (Json.find (value, "b.c"), "ä \"q\" \n", "text");
      Tap.same (Json.write (Json.parse (Json.write (value))), Json.write (value), "round trip");
    });
    Tap.test ("catalog: every row's default is taken back by read ()", () -> {
      for (String name : Catalog.get ().commands ().keySet ())
        for (Row row : Catalog.get ().command (name).rows ().values ())
          Tap.same (Row.show (row.read (row.defaultText ())), row.defaultText (), name + " " + row.name);
    });
  }

  private static void errors () throws Throwable
  {
    Tap.test ("no image open, no input: a sentence", () -> Tap.has (run ("run", "semiangle=30"), "There are no images open"));
    Tap.test ("unknown key: the nearest is named",
              () -> Tap.has (run ("run", "input=[" + columns + "] semiangel=30"), "nearest is \"semiangle\""));
    Tap.test ("wrong choice: the choices are listed", () -> Tap.has (
                run ("reconstruct", "input=[" + columns + "] semiangle=30 method=wrong"), "it must be one of: "));
    Tap.test ("out of range: the range is named",
              () -> Tap.has (run ("run", "input=[" + columns + "] semiangle=3000"), "between 0.1 and 300 mrad"));
    Tap.test ("text for a number: a sentence",
              () -> Tap.has (run ("run", "input=[" + columns + "] semiangle=1,5"), "must be a number"));
    Tap.test ("key given twice", () -> Tap.has (run ("run", "semiangle=30 semiangle=31"), "given twice"));
    Tap.test ("bracket that does not end", () -> Tap.has (run ("run", "input=[/a b"), "has no ]"));
    Tap.test ("unknown command: the commands are listed", () -> Tap.has (run ("dance", ""), "the commands are: "));
    Tap.test ("missing file: its path", () -> Tap.has (run ("run", "input=[/no/such file.h5] semiangle=30"), "/no/such file.h5"));
    Tap.test ("neither image nor file", () -> Tap.has (run ("run", "input=nothing semiangle=30"), "no open image"));
    Tap.test ("colour stack refused, with what is accepted", () -> {
      ImageStack stack = new ImageStack (8, 8);
      for (int i = 0; i < 4; i++)
        stack.addSlice (new ColorProcessor (8, 8));
      WindowManager.setTempCurrentImage (new ImagePlus ("colours", stack));
      Tap.has (run ("run", "semiangle=30 scan_shape=2,2"), "8, 16 or 32-bit grey");
      WindowManager.setTempCurrentImage (new ImagePlus ("one", new ByteProcessor (8, 8)));
      Tap.has (run ("run", "semiangle=30"), "single image");
      WindowManager.setTempCurrentImage (null);
    });
  }

  private static void images () throws Throwable
  {
    String input = "input=[" + columns + "] ";
    float[] phase = imagejPhase (input + KNOWN);
    Tap.test ("reconstruct from a path equals the command line to the bit",
              () -> Cli.same (phase, Cli.phase ("reconstruct", columns, KNOWN_CLI), "phase"));
    Tap.test ("calibration, unit and value unit of the phase", () -> {
      Calibration calibration = WindowManager.getCurrentImage ().getCalibration ();
      Tap.same (calibration.getUnit (), "nm", "unit");
      Tap.same (calibration.getValueUnit (), "rad", "value unit");
      Tap.check (Math.abs (calibration.pixelWidth - 0.04 / 3) < 1e-12, "pixel width " + calibration.pixelWidth);
      Tap.check (Math.abs (calibration.pixelHeight - 0.04 / 3) < 1e-12, "pixel height");
      Tap.same (WindowManager.getCurrentImage ().getBitDepth (), 32, "depth");
    });
    Tap.test ("Info and unit survive a TIFF; Info reproduces the image", () -> {
      Path file = Files.createTempFile ("sideband-test-", ".tif");
      IJ.saveAsTiff (WindowManager.getCurrentImage (), file.toString ());
      ImagePlus back = IJ.openImage (file.toString ());
      Files.delete (file);
      Map<String, Object> about = Results.about (back);
      Tap.same (about.get ("version"), Sideband_.version (), "version in Info");
      Tap.same (back.getCalibration ().getUnit (), "nm", "unit");
      Cli.same ((float[])back.getProcessor ().getPixels (), phase, "pixels of the file");
      Path params = Files.createTempFile ("sideband-test-", ".json");
      Files.write (params, Json.write (about.get ("parameters")).getBytes ("UTF-8"));
      Cli.same (imagejPhase (input + "params=[" + params + "]"), phase, "from Info");
      Files.delete (params);
    });
    Tap.test ("a part of the scan that is not square is not transposed", () -> {
      String[] words = java.util.Arrays.copyOf (KNOWN_CLI, KNOWN_CLI.length + 2);
      words[KNOWN_CLI.length] = "--scan-region";
      words[KNOWN_CLI.length + 1] = "5,10,24,36";
      float[] part = imagejPhase (input + KNOWN + "scan_region=5,10,24,36");
      ImagePlus image = WindowManager.getCurrentImage ();
      Tap.same (image.getWidth () + "x" + image.getHeight (), "108x72", "size");
      Cli.same (part, Cli.phase ("reconstruct", columns, words), "part");
    });
    Tap.test ("a rectangle on the phase is the region of the scan", () -> {
      float[] part = imagejPhase (input + KNOWN + "scan_region=5,10,24,36");
      imagejPhase (input + KNOWN);
      ImagePlus whole = WindowManager.getCurrentImage ();
      whole.setRoi (new Roi (30, 15, 108, 72));
      Cli.same (imagejPhase (KNOWN), part, "from the rectangle");
      WindowManager.getCurrentImage ().setRoi (new Roi (3, 3, 60, 66));
      Tap.same (Results.regionOf (WindowManager.getCurrentImage ()), "6,11,22,20", "a rectangle in a part");
      WindowManager.setTempCurrentImage (null);
    });
    Tap.test ("fit: values of the command line, in the table", () -> {
      String json = run ("fit", input + FIXED + "trials=20");
      Tap.check (!json.startsWith ("error"), json);
      Map<String, Object> shell = Json.object (Json.parse (Cli.run (
        "fit", columns, "--semiangle", "30", "--centre", "36,36", "--sampling", "0.983", "--rotation", "0", "--orientation",
        "identity", "--trials", "20", "--json", "--output", System.getProperty ("java.io.tmpdir") + "/", "--force")));
      Tap.same (Sideband_.get ("values.C10.value"), Row.show (Json.find (shell, "values.C10.value")), "C10");
      Tap.same (Sideband_.get ("values.depth.error"), Row.show (Json.find (shell, "values.depth.error")), "error of the depth");
    });
    Tap.test ("calibrate: a pattern with the disk drawn in", () -> {
      Tap.check (!run ("calibrate", input + FIXED).startsWith ("error"), "ran");
      double radius = Double.parseDouble (Sideband_.get ("calibration.radius"));
      Tap.check (Math.abs (radius - 30.5) < 0.2, "radius " + radius);
    });
    Tap.test ("progress only moves forward", () -> {
      double[] last = {-1};
      int[] reports = {0};
      Ui.Progress progress = new Ui.Progress () {
        @Override
        void report (double fraction, String stage)
        {
          super.report (fraction, stage);
          Tap.check (shown () >= last[0] && shown () <= 1 && !stage.isEmpty (), "report");
          last[0] = shown ();
          reports[0]++;
        }
      };
      Job.run (Parameters.parse (Catalog.get ().command ("fit"), input + FIXED), progress);
      progress.report (0.1, "later");
      Tap.check (reports[0] >= 2, "reports: " + reports[0]);
    });
    Tap.test ("paths with blanks, umlauts and brackets", () -> {
      File folder = new File (Files.createTempDirectory ("sideband-test-").toFile (), "Mägde [2] und Knechte");
      Tap.check (folder.mkdirs (), "folder");
      for (File file : new File (columns).getParentFile ().listFiles ())
        if (file.getName ().startsWith ("columns"))
          Files.copy (file.toPath (), folder.toPath ().resolve (file.getName ()), StandardCopyOption.REPLACE_EXISTING);
      Cli.same (imagejPhase ("input=[" + folder + "/columns_master.h5] " + KNOWN), phase, "phase");
      for (File file : folder.listFiles ())
        file.delete ();
      folder.delete ();
      folder.getParentFile ().delete ();
    });
    Tap.test ("cancelled: no result, and the next job runs", () -> {
      Ui.Progress stopped = new Ui.Progress () {
        @Override
        boolean isCancelled ()
        {
          return true;
        }
      };
      try {
        Job.run (Parameters.parse (Catalog.get ().command ("run"), input + "semiangle=30"), stopped);
        Tap.check (false, "cancelled");
      } catch (Failure e) {
        Tap.check (e.isCancelled (), "status " + e.status + " " + e.getMessage ());
      }
      Cli.same (imagejPhase (input + KNOWN), phase, "phase after");
    });
    Tap.test ("an acquisition kept open gives the same, and is closed", () -> {
      String id = Sideband_.open (columns, "");
      Cli.same (imagejPhase ("input=" + id + " " + KNOWN), phase, "first");
      Cli.same (imagejPhase ("input=" + id + " " + KNOWN), phase, "second");
      Tap.same (Sideband_.close (id), "", "close");
      Tap.has (Sideband_.close (id), "No acquisition is open");
    });
  }

  /** The frames of the example as the window of another reader would show them. */
  private static ImagePlus window (String title, int kind) throws Failure
  {
    ImagePlus opened = AcquisitionStack.open (Library.session (Json.object (null)), columns, Json.object (null));
    ImageStack stack = new ImageStack (opened.getWidth (), opened.getHeight ());
    for (int i = 1; i <= opened.getStackSize (); i++) {
      ImageProcessor frame = opened.getStack ().getProcessor (i);
      if (kind == 8)
        frame = frame.convertToByteProcessor (false);
      else if (kind == 32)
        frame = frame.convertToFloatProcessor ();
      else if (kind == -16)
        frame.add (32768);
      stack.addSlice (frame);
    }
    ImagePlus image = new ImagePlus (title, stack);
    if (kind == -16)
      image.getLocalCalibration ().setSigned16BitCalibration ();
    return image;
  }

  private static void windows () throws Throwable
  {
    String[] words = {"--semiangle", "30", "--energy", "300", "--step", "0.4", "--centre", "36,36", "--sampling", "0.983",
      "--rotation", "0", "--orientation", "identity", "--coefficients", "C10=6 C12=2.5 phi12=0.4"};
    String given = "energy=300 step=0.4 " + KNOWN;
    float[] wanted = Cli.phase ("reconstruct", columns, words);
    for (int kind : new int[] {8, 16, -16, 32})
      Tap.test ("frames of a " + (kind < 0 ? "signed 16" : kind) + "-bit stack, pushed, equal the file to the bit", () -> {
        WindowManager.setTempCurrentImage (window ("frames", kind));
        Cli.same (imagejPhase (given + "scan_shape=50,50"), wanted, "phase");
      });
    Tap.test ("a hyperstack knows its scan; the window stays as it was", () -> {
      ImagePlus image = window ("hyper", 16);
      image.setDimensions (1, 50, 50);
      image.setOpenAsHyperStack (true);
      image.setPosition (1, 7, 9);
      image.setRoi (new Roi (3, 4, 5, 6));
      image.setDisplayRange (2, 17);
      image.getCalibration ().pixelWidth = 0.5;
      int before = java.util.Arrays.hashCode ((short[])image.getStack ().getPixels (1234));
      WindowManager.setTempCurrentImage (image);
      Cli.same (imagejPhase (given), wanted, "phase");
      Tap.same (image.getSlice () + " " + image.getFrame () + " " + image.getDisplayRangeMax () + " " + image.getRoi ().getBounds ().x
        + " " + image.getCalibration ().pixelWidth + " " + image.isLocked (), "7 9 17.0 3 0.5 false", "state");
      Tap.same (java.util.Arrays.hashCode ((short[])image.getStack ().getPixels (1234)), before, "pixels");
      Tap.check (image.getOverlay () == null, "no overlay");
    });
    Tap.test ("channels are refused with the remedy", () -> {
      ImagePlus image = window ("channels", 16);
      image.setDimensions (50, 50, 1);
      WindowManager.setTempCurrentImage (image);
      Tap.has (run ("reconstruct", given), "make the scan columns its slices");
    });
    Tap.test ("a stack without a scan shape: what is missing is named", () -> {
      WindowManager.setTempCurrentImage (window ("flat", 16));
      Tap.has (run ("reconstruct", given), "scan_shape");
    });
    Tap.test ("open: a virtual hyperstack of the file, right frame at right place", () -> {
      Tap.same (run ("open", "input=[" + columns + "]"), "", "open");
      ImagePlus image = WindowManager.getCurrentImage ();
      Tap.same (image.getNSlices () + " " + image.getNFrames () + " " + image.getStack ().isVirtual (), "50 50 true", "shape");
      Cli.same (imagejPhase (KNOWN), Cli.phase ("reconstruct", columns, KNOWN_CLI), "from the window");
    });
    Tap.test ("virtual detector: the selection on the pattern, sums of the frames, x right and y down", () -> {
      run ("open", "input=[" + columns + "]");
      ImagePlus image = WindowManager.getCurrentImage ();
      image.setRoi (new Roi (20, 10, 30, 12));
      String json = run ("detector", "");
      Tap.check (!json.startsWith ("error"), json);
      float[] sums = pixels ();
      for (int at : new int[] {0, 49, 50, 1234, 2499}) {
        ImageProcessor frame = image.getStack ().getProcessor (at + 1);
        double sum = 0;
        for (int y = 10; y < 22; y++)
          for (int x = 20; x < 50; x++)
            sum += frame.getf (x, y);
        Tap.check (sum == sums[at], "scan point " + at + ": " + sums[at] + ", frames say " + sum);
      }
      WindowManager.setTempCurrentImage (null);
    });
    Tap.test ("memory returns: 20 windows pushed in a row", () -> {
      ImagePlus image = window ("frames", 16);
      WindowManager.setTempCurrentImage (image);
      long before = 0;
      for (int i = 0; i < 20; i++) {
        WindowManager.setTempCurrentImage (image);
        Tap.check (!run ("reconstruct", given + "scan_shape=50,50").startsWith ("error"), "ran");
        before = i == 4 ? resident () : before;
      }
      long grown = resident () - before;
      Tap.note ("resident memory grew by " + grown + " kB over 15 runs");
      Tap.check (grown < 150000, "grew by " + grown + " kB");
      WindowManager.setTempCurrentImage (null);
    });
  }

  private static long resident () throws Exception
  {
    System.gc ();
    for (String line : Files.readAllLines (new File ("/proc/self/status").toPath ()))
      if (line.startsWith ("VmRSS:"))
        return Long.parseLong (line.replaceAll ("[^0-9]", ""));
    return 0;
  }

  private static void library () throws Throwable
  {
    Tap.test ("About: version, platform, backends, licence, citation", () -> {
      String about = Sideband_.about ();
      for (String part : new String[] {Sideband_.version (), Loader.platform (), "cpu", "MIT", "Cite"})
        Tap.has (about, part);
    });
    Tap.test ("missing system library: the package is named", () -> Tap.has (
                Loader.explain ("libjansson.so.4: cannot open shared object file: No such file or directory", null),
                "apt-get install libjansson4"));
    Tap.test ("noexec folder: the way out is named",
              () -> Tap.has (Loader.explain ("x.so: failed to map segment from shared object", null), "-Djava.io.tmpdir"));
    Tap.test ("one copy of the native library, none stale", () -> {
      File[] copies = new File (System.getProperty ("java.io.tmpdir")).listFiles ((dir, name) -> name.startsWith ("sideband-ij-"));
      Tap.check (copies.length >= 1, "a copy");
    });
    Tap.test ("labels: unique, named Sideband, ... where a dialog follows", () -> {
      List<String> lines = Files.readAllLines (new File (System.getProperty ("test.config")).toPath ());
      java.util.Set<String> labels = new java.util.HashSet<> ();
      for (String line : lines)
        if (!line.startsWith ("#")) {
          String label = line.split ("\"")[1], argument = line.split ("\"")[3];
          Tap.check (labels.add (label), "twice: " + label);
          Tap.has (label, "Sideband");
          Tap.same (label.endsWith ("..."), !argument.equals ("help") && !argument.equals ("extensions"), label);
        }
      for (String command : Catalog.get ().commands ().keySet ())
        Tap.check (lines.toString ().contains ("Sideband_(\"" + command + "\")"), "no menu entry for " + command);
    });
  }
}
