package sideband;

import ij.ImagePlus;
import ij.Macro;
import ij.macro.Functions;
import ij.plugin.PlugIn;
import ij.plugin.frame.Recorder;
import java.util.Map;

/**
 * The one command class: its argument says which command. For macros without a display the same commands are static
 * methods for call (), which never throw and return "error: ..." instead.
 */
public class Sideband_ implements PlugIn
{
  private static Results last;

  @Override
  public void run (String command)
  {
    String title = "Sideband " + command;
    try {
      dispatch (command, title);
    } catch (Failure e) {
      Recorder.disableCommandRecording ();
      Ui.fail (title, e);
    }
  }

  private static void dispatch (String command, String title) throws Failure
  {
    switch (command) {
    case "help":
      Help.show ();
      break;
    case "about":
      Help.showAbout ();
      break;
    case "extensions":
      Catalog.get ();
      Functions.registerExtensions (new Extensions ());
      break;
    default:
      fromMenu (find (command), title);
    }
  }

  private static Catalog.Command find (String name) throws Failure
  {
    return name.equals ("open") ? Catalog.get ().opening () : Catalog.get ().command (name);
  }

  /** From a macro the options are all there is; a dialog is shown only to somebody who can answer it. */
  private static void fromMenu (Catalog.Command command, String title) throws Failure
  {
    String options = Macro.getOptions ();
    if (options != null || Ui.isUnattended ()) {
      execute (Parameters.parse (command, options != null ? options : ""), null);
      return;
    }
    Form form = new Form (command, title);
    Parameters parameters = form.ask ();
    if (parameters != null)
      execute (parameters, form.preview ());
  }

  private static void execute (Parameters parameters, Preview preview) throws Failure
  {
    if (parameters.command.name.isEmpty ()) {
      Ui.show (openWindow (parameters));
      return;
    }
    Results results;
    try (Ui.Progress progress = new Ui.Progress ()) {
      results = preview != null ? preview.run (parameters, progress) : null;
      if (results == null)
        results = Job.run (parameters, progress);
    }
    last = results;
    results.show ();
  }

  private static ImagePlus openWindow (Parameters parameters) throws Failure
  {
    if (!parameters.has (Parameters.INPUT))
      throw new Failure (Failure.ARGUMENT, "Which file? Give input=[the path of an acquisition].");
    return AcquisitionStack.open (Library.session (parameters.json (Catalog.Section.SESSION)),
                                  parameters.get (Parameters.INPUT), parameters.json (Catalog.Section.DATA));
  }

  private static String error (Throwable problem)
  {
    return "error: " + (problem.getMessage () != null ? problem.getMessage () : problem.toString ());
  }

  /** call("sideband.Sideband_.run", command, options): the JSON of the result. */
  public static String run (String command, String options)
  {
    try {
      Parameters parameters = Parameters.parse (find (command), options);
      execute (parameters, null);
      return parameters.command.name.isEmpty () ? "" : last.json;
    } catch (Failure | RuntimeException e) {
      return error (e);
    }
  }

  /** call("sideband.Sideband_.register"): Ext.Sideband_... without a menu. */
  public static String register ()
  {
    try {
      Catalog.get ();
      Functions.registerExtensions (new Extensions ());
      return "";
    } catch (Failure e) {
      return error (e);
    }
  }

  public static String get (String path)
  {
    if (last == null)
      return "error: There is no result yet; run a command first.";
    Object value = Json.find (last.info, path);
    if (value == null)
      return "error: The last result has no \"" + path + "\".";
    return value instanceof Map ? Json.write (value) : Row.show (value);
  }

  public static String open (String input, String options)
  {
    try (Ui.Progress progress = new Ui.Progress ()) {
      Parameters parameters = Parameters.parse (Catalog.get ().opening (), options);
      parameters.set (Parameters.INPUT, input);
      Source source = Source.of (parameters);
      long session = Library.session (parameters.json (Catalog.Section.SESSION));
      return Source.Kept.add (source, source.data (session, parameters.json (Catalog.Section.DATA), progress));
    } catch (Failure | RuntimeException e) {
      return error (e);
    }
  }

  public static String close (String name)
  {
    try {
      Source.Kept.close (name);
      return "";
    } catch (Failure e) {
      return error (e);
    }
  }

  public static String version ()
  {
    try {
      return Library.version ();
    } catch (Failure e) {
      return error (e);
    }
  }

  /** The library's catalog as JSON: every command, parameter, default and choice. */
  public static String catalog ()
  {
    try {
      Loader.ensure ();
      return Library.text (Native.catalog ());
    } catch (Failure e) {
      return error (e);
    }
  }

  public static String about ()
  {
    try {
      return Help.about ();
    } catch (Failure e) {
      return error (e);
    }
  }
}
