package check;

import ij.IJ;
import ij.ImagePlus;
import ij.WindowManager;
import ij.gui.GenericDialog;
import java.awt.Checkbox;
import java.awt.Choice;
import java.awt.Component;
import java.awt.Label;
import java.awt.TextField;
import java.awt.Window;
import java.awt.event.ActionEvent;
import java.awt.event.ItemEvent;

/** Finds windows, types into dialogs and presses their buttons. */
final class Dialogs
{
  private Dialogs () {}

  static Window window (String title)
  {
    for (int i = 0; i < 200; i++) {
      for (Window window : Window.getWindows ())
        if (window.isShowing () && title (window).equals (title))
          return window;
      Tap.pause (50);
    }
    throw new AssertionError ("no window \"" + title + "\"");
  }

  private static String title (Window window)
  {
    return window instanceof java.awt.Frame ? ((java.awt.Frame)window).getTitle ()
      : window instanceof java.awt.Dialog ? ((java.awt.Dialog)window).getTitle () : "";
  }

  /** Types into the field behind the label. */
  static void type (GenericDialog dialog, String label, String text)
  {
    Component last = null;
    for (Component component : allOf (dialog)) {
      if (last instanceof Label && ((Label)last).getText ().startsWith (label)) {
        if (component instanceof Choice) {
          ((Choice)component).select (text);
          return;
        }
        TextField field = (TextField)component;
        field.setText (text); /* its listeners hear of it from the window system */
        return;
      }
      last = component;
    }
    throw new AssertionError ("no field \"" + label + "\"");
  }

  static java.util.List<Component> allOf (java.awt.Container container)
  {
    java.util.List<Component> all = new java.util.ArrayList<> ();
    for (Component component : container.getComponents ())
      if (component instanceof java.awt.Container && !(component instanceof java.awt.Button))
        all.addAll (allOf ((java.awt.Container)component));
      else
        all.add (component);
    return all;
  }

  static void press (GenericDialog dialog, int button)
  {
    java.awt.EventQueue.invokeLater (() -> dialog.actionPerformed (
      new ActionEvent (dialog.getButtons ()[button], ActionEvent.ACTION_PERFORMED, "")));
    for (int i = 0; i < 200 && dialog.isShowing (); i++)
      Tap.pause (25);
    Tap.check (!dialog.isShowing (), "the dialog closed");
  }

  static void fromMenu (String command)
  {
    IJ.doCommand (command); /* on a thread of ImageJ's, like a click */
  }

  static ImagePlus result (String title)
  {
    for (int i = 0; i < 600; i++) {
      ImagePlus image = WindowManager.getImage (title);
      if (image != null && image.getWindow () != null && image.getWindow ().isShowing ())
        return image;
      Tap.pause (50);
    }
    throw new AssertionError ("no image \"" + title + "\"");
  }

  static String fields (GenericDialog dialog)
  {
    StringBuilder text = new StringBuilder ();
    for (Component component : allOf (dialog))
      if (component instanceof TextField)
        text.append (((TextField)component).getText ()).append ('\n');
    return text.toString ();
  }

  static void tick (GenericDialog dialog, String label)
  {
    for (Component component : allOf (dialog))
      if (component instanceof Checkbox && ((Checkbox)component).getLabel ().trim ().equals (label)) {
        ((Checkbox)component).setState (true); /* tells nobody */
        for (java.awt.event.ItemListener listener : ((Checkbox)component).getItemListeners ())
          listener.itemStateChanged (new ItemEvent ((Checkbox)component, ItemEvent.ITEM_STATE_CHANGED, label,
                                                    ItemEvent.SELECTED));
        return;
      }
    throw new AssertionError ("no box \"" + label + "\"");
  }

  static long untilChanged (ImagePlus image, int before)
  {
    long start = System.currentTimeMillis ();
    while (System.currentTimeMillis () - start < 30000) {
      if (java.util.Arrays.hashCode ((float[])image.getProcessor ().getPixels ()) != before)
        return System.currentTimeMillis () - start;
      Tap.pause (5);
    }
    throw new AssertionError ("the preview did not change");
  }
}
