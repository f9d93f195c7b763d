package check;

import ij.IJ;
import ij.ImageJ;
import ij.ImageListener;
import ij.ImagePlus;
import ij.Menus;
import ij.Prefs;
import ij.WindowManager;
import ij.gui.GenericDialog;
import ij.gui.Roi;
import ij.plugin.frame.Recorder;
import ij.process.ImageProcessor;
import java.awt.Component;
import java.awt.Rectangle;
import java.awt.Robot;
import java.awt.Toolkit;
import java.awt.Window;
import java.awt.event.ActionEvent;
import java.awt.event.KeyEvent;
import java.io.File;
import java.util.concurrent.atomic.AtomicBoolean;

/** In a display, with the jar where a user puts it: menus, dialogs, recorder, Esc. The jar is not on the class path. */
public final class DisplayTests
{
  private static final String FIXED = "semiangle=30 centre=36,36 sampling=0.983 rotation=0 orientation=identity ",
    KNOWN = FIXED + "coefficients=[C10=6 C12=2.5 phi12=0.4]";
  private static final String[] KNOWN_CLI = {"--semiangle", "30", "--centre", "36,36", "--sampling", "0.983", "--rotation", "0",
    "--orientation", "identity", "--coefficients", "C10=6 C12=2.5 phi12=0.4"};
  private static final int STOP_MS = 500;
  private static String columns, input;

  private DisplayTests () {}

  public static void main (String[] arguments) throws Throwable
  {
    columns = arguments[0] + "/columns_master.h5";
    input = "input=[" + columns + "] ";
    Tap.begin ();
    Tap.forbidDialogs (20000);
    new ImageJ ();
    menus ();
    macros ();
    dialogs ();
    escape ();
    refresh ();
    Tap.end ();
  }

  private static float[] pixels ()
  {
    return (float[])IJ.getImage ().getProcessor ().getPixels ();
  }

  private static void closeAll ()
  {
    for (int id : WindowManager.getIDList () != null ? WindowManager.getIDList () : new int[0]) {
      WindowManager.getImage (id).changes = false;
      WindowManager.getImage (id).close ();
    }
  }

  private static void shot (String name) throws Exception
  {
    String folder = System.getProperty ("test.shots");
    if (folder == null)
      return;
    Tap.pause (1500);
    Rectangle screen = new Rectangle (Toolkit.getDefaultToolkit ().getScreenSize ());
    javax.imageio.ImageIO.write (new Robot ().createScreenCapture (screen), "png", new File (folder, name + ".png"));
  }

  private static void menus () throws Throwable
  {
    Tap.test ("every command is in the menus", () -> {
      for (String label : new String[] {"Sideband Open Acquisition...", "Sideband Acquisition...", "Sideband Calibrate...",
             "Sideband Fit...", "Sideband Reconstruct...", "Sideband Run...", "Sideband Macro Extensions", "Sideband Help",
             "About Sideband..."})
        Tap.check (Menus.getCommands ().get (label) != null, label);
    });
  }

  private static void macros () throws Throwable
  {
    float[] wanted = Cli.phase ("reconstruct", columns, KNOWN_CLI);
    Tap.test ("from a macro: the command line's bits, calibrated", () -> {
      IJ.run ("Sideband Reconstruct...", input + KNOWN);
      Cli.same (pixels (), wanted, "phase");
      Tap.same (IJ.getImage ().getTitle (), "columns phase", "title");
      IJ.run (IJ.getImage (), "Scale Bar...", "width=1 height=4 font=14 color=White background=None location=[Lower Right] overlay");
      Tap.check (IJ.getImage ().getOverlay ().size () > 0, "scale bar");
    });
    Tap.test ("the mean pattern carries the disk", () -> {
      ImagePlus pattern = WindowManager.getImage ("columns mean pattern");
      Tap.same (pattern.getOverlay ().get (0).getName (), "bright-field disk", "overlay");
      Tap.same (pattern.getCalibration ().getUnit (), "mrad", "unit");
      Rectangle disk = pattern.getOverlay ().get (0).getBounds ();
      Tap.check (Math.abs (disk.getCenterX () - 36.5) <= 1 && Math.abs (disk.width - 61) <= 1, "disk " + disk);
    });
    closeAll ();
    Tap.test ("no table of a fit where nothing was fitted",
              () -> Tap.check (WindowManager.getFrame ("Sideband fit") == null, "a table"));
    Tap.test ("the fit's table is read by a macro", () -> {
      String text = IJ.runMacro ("run('Sideband Fit...', '" + input + FIXED + "trials=20');"
        + "n = Table.getString('Name', 0, 'Sideband fit'); v = Table.get('Value', 0, 'Sideband fit');"
        + "u = Table.getString('Unit', 0, 'Sideband fit'); return n + ' ' + v + ' ' + u;");
      Tap.check (text.matches ("C10 6\\.0[0-9]+ nm"), text);
    });
    closeAll ();
    Tap.test ("batch mode: no window, and the macro goes on", () -> {
      AtomicBoolean shown = new AtomicBoolean ();
      ImageListener listener = new ImageListener () {
        @Override
        public void imageOpened (ImagePlus image)
        {
          shown.set (shown.get () || image.getWindow () != null);
        }

        @Override
        public void imageClosed (ImagePlus image) {}

        @Override
        public void imageUpdated (ImagePlus image) {}
      };
      ImagePlus.addImageListener (listener);
      String title = IJ.runMacro ("setBatchMode(true); run('Sideband Reconstruct...', '" + input + KNOWN
        + "'); t = getTitle(); close('*'); return t;");
      ImagePlus.removeImageListener (listener);
      Tap.same (title, "columns phase", "title");
      Tap.check (!shown.get (), "no window");
    });
    Tap.test ("an error in batch mode stops the macro with a sentence, no dialog", () -> {
      IJ.log ("\\Clear");
      IJ.runMacro ("setBatchMode(true); run('Sideband Reconstruct...', 'input=[/no/file.h5] semiangle=30'); print('went on');");
      Tap.has (IJ.getLog (), "/no/file.h5");
      Tap.check (!IJ.getLog ().contains ("went on"), IJ.getLog ());
    });
    Tap.test ("Ext: open, run, get, close; errors are returned", () -> {
      String text = IJ.runMacro ("run('Sideband Macro Extensions'); id = Ext.Sideband_open('" + columns + "', '');"
        + "r = Ext.Sideband_run('reconstruct', 'input=' + id + ' " + KNOWN + "'); u = round(parseFloat(Ext.Sideband_get('values.C10.value')));"
        + "e = Ext.Sideband_run('run', 'input=/no/file.h5 semiangle=30'); Ext.Sideband_close(id);"
        + "return substring(r, 0, 1) + '|' + u + '|' + e;");
      Tap.same (text.substring (0, 4), "{|6|", "result");
      Tap.has (text, "|error: /no/file.h5 does not exist");
      Cli.same (pixels (), wanted, "phase");
    });
    closeAll ();
    Tap.test ("Help and About", () -> {
      IJ.run ("Sideband Help");
      Window help = Dialogs.window ("Sideband Help");
      shot ("help");
      help.dispose ();
    });
  }

  private static void fill (GenericDialog dialog)
  {
    Dialogs.type (dialog, "Input", columns);
    Dialogs.type (dialog, "Convergence", "30");
    Dialogs.type (dialog, "Disk centre", "36,36");
    Dialogs.type (dialog, "Detector sampling", "0.983");
    Dialogs.type (dialog, "Rotation", "0");
    Dialogs.type (dialog, "Orientation", "identity");
    Dialogs.type (dialog, "Known coefficients", "C10=6 C12=2.5 phi12=0.4");
  }

  /** The command is over when its macro thread is. */
  private static void await (Thread thread) throws Exception
  {
    thread.join (60000);
    Tap.check (!thread.isAlive (), "the command ended");
  }

  private static Thread start (String command, String options)
  {
    Thread thread = new Thread (() -> {
      try {
        IJ.run (command, options);
      } catch (RuntimeException e) {
        /* "Macro canceled" */
      }
    }, options.isEmpty () ? "Run$_menu" : "Run$_test");
    thread.start ();
    return thread;
  }

  private static void dialogs () throws Throwable
  {
    float[] wanted = Cli.phase ("reconstruct", columns, KNOWN_CLI);
    for (Window other : WindowManager.getAllNonImageWindows ())
      other.dispose (); /* Log and table */
    Recorder recorder = new Recorder ();
    Tap.test ("the dialog: filled in, recorded, replayed to the bit", () -> {
      Dialogs.fromMenu ("Sideband Reconstruct...");
      GenericDialog dialog = (GenericDialog)Dialogs.window ("Sideband reconstruct");
      fill (dialog);
      shot ("reconstruct-dialog");
      Dialogs.press (dialog, 0);
      Cli.same ((float[])Dialogs.result ("columns phase").getProcessor ().getPixels (), wanted, "phase");
      Tap.pause (500);
      String text = recorder.getText (), line = text.substring (text.indexOf ("run(\"Sideband"));
      line = line.substring (0, line.indexOf ('\n') + 1);
      Tap.note (line.trim ());
      for (String part : new String[] {"input=", "semiangle=30", "centre=36,36", "coefficients=[C10=6 C12=2.5 phi12=0.4]",
             "method=", "backend=", "rotation=0"})
        Tap.has (line, part);
      closeAll ();
      IJ.runMacro (line);
      Cli.same (pixels (), wanted, "replay");
      closeAll ();
    });
    Tap.test ("a cancelled dialog records nothing", () -> {
      String before = recorder.getText ();
      Dialogs.fromMenu ("Sideband Reconstruct...");
      Dialogs.press ((GenericDialog)Dialogs.window ("Sideband reconstruct"), 1);
      Tap.pause (1000);
      Tap.same (recorder.getText (), before, "recorder");
    });
    recorder.close ();
    Tap.test ("the last values are remembered, a macro's are not", () -> {
      Tap.same (Prefs.get ("sideband.Reconstruct.semiangle", ""), "30", "remembered");
      IJ.run ("Sideband Reconstruct...", input + KNOWN.replace ("semiangle=30", "semiangle=31"));
      closeAll ();
      Tap.same (Prefs.get ("sideband.Reconstruct.semiangle", ""), "30", "after a macro");
      Dialogs.fromMenu ("Sideband Reconstruct...");
      GenericDialog dialog = (GenericDialog)Dialogs.window ("Sideband reconstruct");
      Tap.has (Dialogs.fields (dialog), "C10=6 C12=2.5 phi12=0.4");
      for (Component component : Dialogs.allOf (dialog))
        if (component instanceof java.awt.Button && ((java.awt.Button)component).getLabel ().equals ("Reset to defaults"))
          for (java.awt.event.ActionListener listener : ((java.awt.Button)component).getActionListeners ())
            listener.actionPerformed (new ActionEvent (component, ActionEvent.ACTION_PERFORMED, "Reset to defaults"));
      Tap.check (!Dialogs.fields (dialog).contains ("C10=6"), "reset: " + Dialogs.fields (dialog));
      Dialogs.press (dialog, 1);
    });
    preview ();
    detector ();
    Tap.test ("run: images on top of each other in the order of their meaning, the phase first", () -> {
      IJ.run ("Sideband Run...", input + FIXED + "trials=20");
      Tap.same (IJ.getImage ().getTitle (), "columns phase", "active image");
      for (int i = 0; i < 3; i++)
        IJ.run ("In [+]");
      IJ.getImage ().getWindow ().setLocation (10, 380);
      WindowManager.getImage ("columns mean pattern").getWindow ().setLocation (10, 120);
      shot ("results");
      closeAll ();
    });
  }

  private static void preview () throws Throwable
  {
    Tap.test ("live preview: another defocus shows at once, the command gives its bits, no window is left", () -> {
      Dialogs.fromMenu ("Sideband Reconstruct...");
      GenericDialog dialog = (GenericDialog)Dialogs.window ("Sideband reconstruct");
      fill (dialog);
      Dialogs.tick (dialog, "Preview");
      ImagePlus image = Dialogs.result ("Sideband preview");
      for (String defocus : new String[] {"8", "10", "12"}) {
        int before = java.util.Arrays.hashCode ((float[])image.getProcessor ().getPixels ());
        Dialogs.type (dialog, "Known coefficients", "C10=" + defocus);
        Tap.note ("C10=" + defocus + " shown after " + Dialogs.untilChanged (image, before) + " ms");
      }
      Dialogs.type (dialog, "Known coefficients", "C10=6 C12=2.5 phi12=0.4");
      shot ("preview");
      Dialogs.press (dialog, 0);
      Cli.same ((float[])Dialogs.result ("columns phase").getProcessor ().getPixels (),
                Cli.phase ("reconstruct", columns, KNOWN_CLI), "phase");
      Tap.check (WindowManager.getImage ("Sideband preview") == null, "no preview left");
      closeAll ();
    });
  }

  private static void detector () throws Throwable
  {
    if (Menus.getCommands ().get ("Sideband Detector...") == null) {
      Tap.skip ("virtual detector", "the library has no such command");
      return;
    }
    Tap.test ("virtual detector: follows the selection while the dialog is open", () -> {
      IJ.run ("Sideband Open Acquisition...", input);
      ImagePlus frames = IJ.getImage ();
      ij.plugin.Zoom.set (frames, 4);
      frames.getWindow ().setLocation (0, 100);
      frames.setRoi (new Roi (20, 20, 32, 32));
      Dialogs.fromMenu ("Sideband Detector...");
      GenericDialog dialog = (GenericDialog)Dialogs.window ("Sideband detector");
      Dialogs.tick (dialog, "Preview");
      ImagePlus image = Dialogs.result ("Sideband preview");
      int before = java.util.Arrays.hashCode ((float[])image.getProcessor ().getPixels ());
      java.awt.EventQueue.invokeAndWait (() -> frames.setRoi (new Roi (20, 20, 16, 32))); /* like the mouse */
      Tap.note ("shown after " + Dialogs.untilChanged (image, before) + " ms");
      shot ("detector");
      Dialogs.press (dialog, 0);
      float[] sums = (float[])Dialogs.result ("columns virtual detector").getProcessor ().getPixels ();
      ImageProcessor frame = frames.getStack ().getProcessor (1235);
      double sum = 0;
      for (int y = 20; y < 52; y++)
        for (int x = 20; x < 36; x++)
          sum += frame.getf (x, y);
      Tap.check (sums[1234] == sum, "sum " + sums[1234] + ", the frame says " + sum);
      closeAll ();
    });
  }

  private static void stop (String what, String options, long after) throws Exception
  {
    int images = WindowManager.getImageCount ();
    Thread thread = start ("Sideband Run...", options);
    Tap.pause (after);
    Tap.check (thread.isAlive (), what + ": still running after " + after + " ms");
    long start = System.currentTimeMillis ();
    IJ.setKeyDown (KeyEvent.VK_ESCAPE);
    thread.join (20000);
    long took = System.currentTimeMillis () - start;
    IJ.setKeyUp (KeyEvent.VK_ESCAPE);
    Tap.note (what + ": stopped after " + took + " ms");
    Tap.check (!thread.isAlive () && took < STOP_MS, what + " took " + took + " ms");
    Tap.same (WindowManager.getImageCount (), images, "no half image");
  }

  private static void escape () throws Throwable
  {
    for (int after : new int[] {60, 300, 1000, 2500})
      Tap.test ("Esc after " + after + " ms of a run", () -> stop ("a run", input + "semiangle=30 trials=1000000", after));
    Tap.test ("Esc while frames cross; the image is not locked", () -> {
      ImagePlus slow = new ImagePlus ("slow", new Slow ());
      slow.show ();
      stop ("frames", "input=slow scan_shape=50,50 energy=300 step=0.4 semiangle=30", 1500);
      Tap.check (!slow.isLocked (), "locked");
      closeAll ();
    });
  }

  private static void refresh () throws Throwable
  {
    Tap.test ("Refresh Menus twice: the commands run in each new class loader", () -> {
      float[] wanted = Cli.phase ("reconstruct", columns, KNOWN_CLI);
      for (int i = 0; i < 2; i++) {
        IJ.run ("Refresh Menus");
        Tap.pause (500);
        IJ.run ("Sideband Reconstruct...", input + KNOWN);
        Cli.same (pixels (), wanted, "phase");
        closeAll ();
      }
    });
  }
}
