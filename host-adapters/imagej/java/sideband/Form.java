package sideband;

import ij.Prefs;
import ij.WindowManager;
import ij.gui.GenericDialog;
import ij.gui.NonBlockingGenericDialog;
import ij.gui.Roi;
import ij.gui.RoiListener;
import ij.plugin.frame.Recorder;
import java.awt.Checkbox;
import java.awt.Choice;
import java.awt.EventQueue;
import java.awt.TextField;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Vector;

/** The dialog of a command, built from its rows; what is entered is remembered, and recorded under the rows' names. */
final class Form
{
  private static final int WIDTH = 14;
  private final Catalog.Command command;
  private final Map<String, String> defaults = new LinkedHashMap<> ();
  private final Map<String, Row> rows;
  private final String title;
  private Preview preview;

  Form (Catalog.Command command, String title)
  {
    this.command = command;
    this.title = title;
    rows = command.rows ();
    for (Row row : rows.values ())
      defaults.put (row.name, row.defaultText ());
  }

  /** One page: basic or advanced rows. */
  private final class Page
  {
    final GenericDialog dialog;
    final Map<String, Object> fields = new LinkedHashMap<> ();
    private int texts, choices, checks;

    /** open: images can be looked at, and selections drawn, while the dialog waits. */
    Page (String title, boolean open)
    {
      dialog = open ? new NonBlockingGenericDialog (title) : new GenericDialog (title);
    }

    void add (Row row, String value)
    {
      if (row.choices ().length > 0)
        addChoice (row, value);
      else if (row.isFlag ())
        addFlag (row.name, row.label (), value);
      else
        addText (row.name, row.label (), value, row.type.equals ("path"));
    }

    void addText (String name, String label, String value, boolean path)
    {
      if (path)
        dialog.addFileField (label, value, 2 * WIDTH);
      else
        dialog.addStringField (label, value, WIDTH);
      fields.put (name, component (dialog.getStringFields (), texts++));
    }

    private void addChoice (Row row, String value)
    {
      dialog.addChoice (row.label (), row.choices (), value);
      fields.put (row.name, component (dialog.getChoices (), choices++));
    }

    void addFlag (String name, String label, String value)
    {
      dialog.addCheckbox (label, value.equals ("true"));
      fields.put (name, component (dialog.getCheckboxes (), checks++));
    }

    private Object component (Vector<?> all, int index)
    {
      return all.get (index);
    }

    /** Fields are read here and not through GenericDialog, which would record its labels as keys. */
    void read (Parameters parameters)
    {
      for (Map.Entry<String, Object> field : fields.entrySet ())
        parameters.set (field.getKey (), text (field.getValue ()));
    }

    void reset ()
    {
      for (Map.Entry<String, Object> field : fields.entrySet ())
        if (defaults.containsKey (field.getKey ()))
          write (field.getValue (), defaults.get (field.getKey ()));
    }

    boolean show ()
    {
      dialog.showDialog ();
      return !dialog.wasCanceled ();
    }
  }

  private static String text (Object field)
  {
    if (field instanceof TextField)
      return ((TextField)field).getText ().trim ();
    if (field instanceof Choice)
      return ((Choice)field).getSelectedItem ();
    return String.valueOf (((Checkbox)field).getState ());
  }

  private static void write (Object field, String value)
  {
    if (field instanceof TextField)
      ((TextField)field).setText (value);
    else if (field instanceof Choice)
      ((Choice)field).select (value);
    else
      ((Checkbox)field).setState (value.equals ("true"));
  }

  /** What the user entered; null: cancelled, and nothing is recorded. */
  Parameters ask ()
  {
    Parameters parameters = new Parameters (command);
    recall (parameters);
    if (!askBasic (parameters)) {
      Recorder.disableCommandRecording ();
      return null;
    }
    remember (parameters);
    record (parameters);
    return parameters;
  }

  /** The data that a preview has open, for the command itself; null: there was none. */
  Preview preview ()
  {
    return preview;
  }

  private boolean askBasic (Parameters parameters)
  {
    Page page = new Page (title, Preview.suits (command));
    if (command.needsData)
      page.addText (Parameters.INPUT, "Input: file or open stack", parameters.get (Parameters.INPUT), true);
    boolean more = false;
    for (Row row : rows.values ()) {
      more |= row.advanced;
      if (!row.advanced)
        page.add (row, parameters.get (row.name));
    }
    if (more)
      page.dialog.addCheckbox ("More parameters...", false);
    Checkbox moreBox = more ? (Checkbox)page.dialog.getCheckboxes ().lastElement () : null;
    RoiListener drawn = Preview.suits (command) ? addPreview (page) : null;
    page.dialog.addButton ("Reset to defaults", event -> page.reset ());
    page.dialog.addHelp (Help.html (command));
    boolean ok = page.show ();
    if (drawn != null)
      Roi.removeRoiListener (drawn);
    page.read (parameters);
    ok = ok && (moreBox == null || !moreBox.getState () || askAdvanced (parameters));
    if (preview != null)
      preview.end (ok);
    return ok;
  }

  /** Computes again whenever a field or the selection changes. */
  private RoiListener addPreview (Page page)
  {
    page.dialog.addCheckbox ("Preview", false);
    preview = new Preview (command, (Checkbox)page.dialog.getCheckboxes ().lastElement ());
    page.dialog.addDialogListener ((dialog, event) -> {
      update (page);
      return true;
    });
    /* later: ImageJ tells before the new selection stands */
    RoiListener drawn = (image, event) -> EventQueue.invokeLater (() -> update (page));
    Roi.addRoiListener (drawn);
    return drawn;
  }

  private void update (Page page)
  {
    Parameters now = new Parameters (command);
    for (Row row : rows.values ())
      now.set (row.name, remembered (row));
    page.read (now);
    preview.changed (now);
  }

  private boolean askAdvanced (Parameters parameters)
  {
    Page page = new Page (title + " More", false);
    for (Row row : rows.values ())
      if (row.advanced)
        page.add (row, parameters.get (row.name));
    page.dialog.addButton ("Reset to defaults", event -> page.reset ());
    page.dialog.addHelp (Help.html (command));
    boolean ok = page.show ();
    page.read (parameters);
    return ok;
  }

  private String preference (String name)
  {
    return "sideband." + command.title.replace (' ', '_') + "." + name;
  }

  private void recall (Parameters parameters)
  {
    for (Row row : rows.values ())
      parameters.set (row.name, remembered (row));
    if (command.needsData)
      recallInput (parameters);
  }

  private String remembered (Row row)
  {
    String value = Prefs.get (preference (row.name), row.defaultText ());
    boolean known = row.choices ().length == 0 || java.util.Arrays.asList (row.choices ()).contains (value);
    return known ? value : row.defaultText ();
  }

  private void recallInput (Parameters parameters)
  {
    try {
      Parameters probe = new Parameters (command);
      Source source = WindowManager.getCurrentImage () != null ? Source.of (probe) : null;
      parameters.set (Parameters.INPUT, source != null ? source.input : Prefs.get (preference (Parameters.INPUT), ""));
      for (String key : rows.keySet ())
        if (probe.has (key))
          parameters.set (key, probe.get (key)); /* the region that is drawn */
      Selection.offer (parameters, source);
    } catch (Failure e) {
      parameters.set (Parameters.INPUT, Prefs.get (preference (Parameters.INPUT), ""));
    }
  }

  private void remember (Parameters parameters)
  {
    for (Row row : rows.values ())
      if (!row.type.equals ("region"))
        Prefs.set (preference (row.name), parameters.get (row.name));
    if (command.needsData)
      Prefs.set (preference (Parameters.INPUT), parameters.get (Parameters.INPUT));
    Prefs.savePreferences ();
  }

  private void record (Parameters parameters)
  {
    if (!Recorder.record)
      return;
    if (command.needsData && parameters.has (Parameters.INPUT))
      Recorder.recordOption (Parameters.INPUT, parameters.get (Parameters.INPUT));
    for (Row row : rows.values ()) {
      String value = parameters.get (row.name);
      boolean off = row.isFlag () && value.equals ("false") && !row.defaultText ().equals ("true");
      if (row.isFlag () && value.equals ("true"))
        Recorder.recordOption (row.name);
      else if (!value.isEmpty () && !off)
        Recorder.recordOption (row.name, value);
    }
  }
}
