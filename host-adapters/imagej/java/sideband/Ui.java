package sideband;

import ij.IJ;
import ij.ImagePlus;
import ij.Macro;
import ij.WindowManager;
import ij.macro.Interpreter;
import java.awt.GraphicsEnvironment;

/** What the user sees besides images: messages, progress, Esc. Nothing modal where nobody watches. */
final class Ui
{
  private Ui () {}

  static boolean isUnattended ()
  {
    return GraphicsEnvironment.isHeadless () || IJ.getInstance () == null || Interpreter.isBatchMode ();
  }

  /** One sentence; the macro that called stops. */
  static void fail (String title, Failure failure)
  {
    if (failure.isCancelled ()) {
      cancelled ();
    } else if (isUnattended ()) {
      System.err.println ("Sideband: " + failure.getMessage ());
      if (IJ.getInstance () != null && !GraphicsEnvironment.isHeadless ())
        IJ.log ("Sideband: " + failure.getMessage ());
      stopMacro ();
    } else {
      IJ.error (title, failure.getMessage ());
    }
  }

  private static void cancelled ()
  {
    IJ.showStatus ("Cancelled");
    if (Interpreter.getInstance () != null || IJ.macroRunning ())
      stopMacro ();
  }

  private static void stopMacro ()
  {
    Interpreter.abort ();
    throw new RuntimeException (Macro.MACRO_CANCELED);
  }

  static void show (ImagePlus image)
  {
    if (GraphicsEnvironment.isHeadless () && !Interpreter.isBatchMode ())
      WindowManager.setTempCurrentImage (image);
    else
      image.show ();
  }

  /** The bar only ever moves forward, whatever the stages report; Esc ends the work by a {@link Failure}. */
  static class Progress implements AutoCloseable
  {
    private double from, to = 1, shown;
    private String status = "";

    Progress ()
    {
      IJ.resetEscape ();
    }

    /** The share of the bar that the next stages fill. */
    void share (double begin, double end)
    {
      from = begin;
      to = end;
    }

    void report (double fraction, String stage)
    {
      shown = Math.max (shown, from + (to - from) * fraction);
      IJ.showProgress (Math.min (shown, 0.999));
      String text = "Sideband: " + stage + " " + Math.round (100 * shown) + "%";
      if (!text.equals (status))
        IJ.showStatus (text);
      status = text;
    }

    double shown ()
    {
      return shown;
    }

    boolean isCancelled ()
    {
      return IJ.escapePressed ();
    }

    void check () throws Failure
    {
      if (isCancelled ())
        throw new Failure (Failure.CANCELLED, "Stopped before the end.");
    }

    @Override
    public void close ()
    {
      IJ.showProgress (1.0);
      IJ.showStatus ("");
    }
  }
}
