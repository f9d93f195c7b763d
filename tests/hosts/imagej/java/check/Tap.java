package check;

import java.awt.Component;
import java.awt.Container;
import java.awt.Dialog;
import java.awt.Label;
import java.awt.Window;
import java.io.PrintStream;

/** TAP on the standard output; what ImageJ prints there goes to the standard error. A dialog nobody expects ends the run. */
public final class Tap
{
  private static final PrintStream out = System.out;
  private static int count, failures;

  private Tap () {}

  public interface Body
  {
    void run () throws Throwable;
  }

  public static void begin ()
  {
    System.setOut (System.err);
    out.println ("TAP version 13");
    /* ImageJ's threads would keep a failed program alive */
    Thread.setDefaultUncaughtExceptionHandler ((thread, problem) -> {
      problem.printStackTrace ();
      if (!thread.getName ().equals ("main"))
        return;
      out.println ("Bail out! " + problem);
      out.flush ();
      Runtime.getRuntime ().halt (2);
    });
  }

  public static void test (String name, Body body)
  {
    long start = System.currentTimeMillis ();
    Throwable problem = null;
    try {
      body.run ();
    } catch (Throwable e) {
      problem = e;
      failures++;
    }
    out.println ((problem == null ? "ok " : "not ok ") + ++count + " - " + name + " # "
      + (System.currentTimeMillis () - start) + " ms");
    if (problem != null) {
      out.println ("# " + String.valueOf (problem).replace ("\n", "\n# "));
      problem.printStackTrace ();
    }
    out.flush ();
  }

  public static void skip (String name, String reason)
  {
    out.println ("ok " + ++count + " - " + name + " # SKIP " + reason);
  }

  public static void note (String text)
  {
    out.println ("# " + text);
  }

  public static void end ()
  {
    out.println ("1.." + count);
    out.flush ();
    Runtime.getRuntime ().halt (failures == 0 ? 0 : 1);
  }

  public static void check (boolean right, String what)
  {
    if (!right)
      throw new AssertionError (what);
  }

  public static void same (Object got, Object wanted, String what)
  {
    if (!String.valueOf (got).equals (String.valueOf (wanted)))
      throw new AssertionError (what + ": got \"" + got + "\", wanted \"" + wanted + "\"");
  }

  public static void has (String text, String part)
  {
    if (!text.contains (part))
      throw new AssertionError ("\"" + part + "\" is not in \"" + text + "\"");
  }

  /** Any modal dialog that stays longer than this ends the program: nothing may hang. */
  public static void forbidDialogs (long ms)
  {
    Thread watch = new Thread (() -> {
      long since = 0;
      for (;;) {
        String modal = modal ();
        since = modal == null ? 0 : since == 0 ? System.currentTimeMillis () : since;
        if (since > 0 && System.currentTimeMillis () - since > ms) {
          out.println ("Bail out! modal dialog '" + modal.replace ('\n', ' ') + "'");
          out.flush ();
          Runtime.getRuntime ().halt (2);
        }
        pause (100);
      }
    });
    watch.setDaemon (true);
    watch.start ();
  }

  private static String modal ()
  {
    for (Window window : Window.getWindows ())
      if (window instanceof Dialog && window.isShowing () && ((Dialog)window).isModal ())
        return ((Dialog)window).getTitle () + ": " + texts ((Dialog)window);
    return null;
  }

  private static String texts (Container container)
  {
    StringBuilder text = new StringBuilder ();
    for (Component component : container.getComponents ()) {
      if (component instanceof Label)
        text.append (((Label)component).getText ()).append (' ');
      else if (component instanceof Container)
        text.append (texts ((Container)component));
    }
    return text.toString ();
  }

  public static void pause (long ms)
  {
    try {
      Thread.sleep (ms);
    } catch (InterruptedException e) {
      Thread.currentThread ().interrupt ();
    }
  }
}
