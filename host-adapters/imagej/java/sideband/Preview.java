package sideband;

import ij.IJ;
import ij.ImagePlus;
import ij.WindowManager;
import ij.plugin.Zoom;
import ij.process.ImageProcessor;
import java.awt.Checkbox;
import java.awt.Component;
import java.awt.Toolkit;
import java.awt.Window;
import java.util.Map;

/**
 * The image while the dialog is open: the acquisition stays open, what it takes most of the time to compute is kept by the
 * library, and only the latest values are computed; older ones are cancelled.
 */
final class Preview implements Runnable
{
  private static final String COMMAND = "reconstruct", OUTPUT = "output"; /* sideband.h: where files are written */
  private static final int SEEN = 300; /* screen pixels */
  private final Catalog.Command command;
  private final Checkbox box;
  private Thread thread;
  private Parameters wanted;
  private boolean ended, keep;
  private String opened = "";
  private Source source;
  private Data data;
  private ImagePlus image;
  private final ImagePlus pattern = WindowManager.getCurrentImage (); /* what a selection is drawn on */

  Preview (Catalog.Command command, Checkbox box)
  {
    this.command = command;
    this.box = box;
  }

  static boolean suits (Catalog.Command command)
  {
    return command.name.equals (COMMAND) || Selection.suits (command);
  }

  /** A field changed; on the thread of the window system. */
  synchronized void changed (Parameters parameters)
  {
    if (!box.getState ())
      return;
    wanted = parameters;
    if (thread == null) {
      thread = new Thread (this, "Sideband preview");
      thread.start ();
    }
    notifyAll ();
  }

  /** The dialog closed. ok: the command that follows may take the data. */
  void end (boolean ok)
  {
    Thread running;
    synchronized (this) {
      ended = true;
      keep = ok;
      running = thread;
      notifyAll ();
    }
    try {
      if (running != null)
        running.join ();
    } catch (InterruptedException e) {
      Thread.currentThread ().interrupt ();
    }
    if (image != null) {
      image.changes = false;
      image.close ();
    }
    if (pattern != null && pattern.getWindow () != null)
      WindowManager.setCurrentWindow (pattern.getWindow ());
    if (!ok)
      release ();
  }

  private void release ()
  {
    if (source != null && data != null)
      source.release (data);
    data = null;
    opened = "";
  }

  /** The command on the data that is open, where they are those the parameters ask for; null: they are not. */
  Results run (Parameters parameters, Ui.Progress progress) throws Failure
  {
    try {
      if (data == null || !key (parameters).equals (opened))
        return null;
      Selection.take (parameters, source, pattern);
      return Job.run (command.name, data.session, data, parameters.json (Catalog.Section.COMMAND), source, progress);
    } finally {
      release ();
    }
  }

  private static String key (Parameters parameters)
  {
    return parameters.get (Parameters.INPUT) + "\n" + Json.write (parameters.json (Catalog.Section.SESSION)) + "\n"
      + Json.write (parameters.json (Catalog.Section.DATA));
  }

  private synchronized Parameters next ()
  {
    while (wanted == null && !ended) {
      try {
        wait ();
      } catch (InterruptedException e) {
        return null;
      }
    }
    Parameters now = ended ? null : wanted;
    wanted = null;
    return now;
  }

  private synchronized boolean isOutdated ()
  {
    return ended || wanted != null;
  }

  @Override
  public void run ()
  {
    for (Parameters now = next (); now != null; now = next ()) {
      try (Ui.Progress progress = new Latest ()) {
        draw (now, progress);
      } catch (Failure e) {
        if (!e.isCancelled ())
          IJ.showStatus (e.getMessage ());
      }
    }
    if (!keep)
      release ();
  }

  /** Stops as soon as newer values are there. */
  private final class Latest extends Ui.Progress
  {
    @Override
    boolean isCancelled ()
    {
      return isOutdated ();
    }
  }

  private void draw (Parameters now, Ui.Progress progress) throws Failure
  {
    Selection.take (now, Source.of (now), pattern);
    String asked = key (now);
    if (!asked.equals (opened)) {
      release ();
      source = Source.of (now);
      data = source.data (Library.session (now.json (Catalog.Section.SESSION)), now.json (Catalog.Section.DATA), progress);
      opened = asked;
    }
    Map<String, Object> parameters = now.json (Catalog.Section.COMMAND);
    parameters.remove (OUTPUT);
    show (Job.run (command.name, data.session, data, parameters, source, progress));
  }

  private void show (Results results)
  {
    ImageProcessor pixels = results.preview ();
    if (pixels == null)
      return;
    if (image == null || image.getWindow () == null) {
      image = new ImagePlus ("Sideband preview", pixels);
      image.show ();
      place ();
    } else {
      image.setProcessor (pixels);
    }
    image.resetDisplayRange ();
    image.updateAndDraw ();
  }

  /** Large enough to be seen, and beside the dialog. */
  private void place ()
  {
    if (image.getWindow () == null)
      return;
    if (image.getWidth () < SEEN)
      Zoom.set (image, SEEN / image.getWidth ());
    Component dialog = box;
    while (dialog != null && !(dialog instanceof Window))
      dialog = dialog.getParent ();
    int width = image.getWindow ().getWidth (), screen = Toolkit.getDefaultToolkit ().getScreenSize ().width;
    if (dialog != null)
      image.getWindow ().setLocation (Math.max (0, Math.min (dialog.getX () + dialog.getWidth () + 10, screen - width)),
                                      dialog.getY ());
  }
}
