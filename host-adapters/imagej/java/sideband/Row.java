package sideband;

import java.util.List;
import java.util.Map;

/** One parameter of the catalog: how its text is read into JSON and its value is shown. What is allowed, the library says. */
final class Row
{
  private final Map<String, Object> row;
  final String name, title, unit, help, type;
  final boolean advanced, live;

  Row (Map<String, Object> row)
  {
    this.row = row;
    name = Json.text (row.get ("name"));
    title = Json.text (row.get ("title"));
    unit = Json.text (row.get ("unit"));
    help = Json.text (row.get ("help"));
    type = Json.text (row.get ("type"));
    advanced = Boolean.TRUE.equals (row.get ("advanced"));
    live = Boolean.TRUE.equals (row.get ("live"));
  }

  boolean isFlag ()
  {
    return type.equals ("bool");
  }

  String[] choices ()
  {
    List<Object> list = Json.list (row.get ("choices"));
    return type.equals ("choice") ? list.toArray (new String[0]) : new String[0];
  }

  String defaultText ()
  {
    return show (row.get ("default"));
  }

  String label ()
  {
    return unit.isEmpty () ? title : title + " (" + unit + ")";
  }

  /** What was typed, as JSON; null: not given. What is no number stays a text, and the library says what it wants. */
  Object read (String text)
  {
    text = text.trim ();
    boolean free = type.equals ("text") || type.equals ("path") || type.equals ("choice");
    if (text.isEmpty () || (text.equals ("auto") && !free))
      return null;
    if (isFlag () && (text.equals ("true") || text.equals ("false")))
      return text.equals ("true");
    if (type.equals ("int") && text.matches ("[+-]?[0-9]{1,18}"))
      return Long.valueOf (text);
    if (type.equals ("double") && text.matches ("[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?"))
      return Double.valueOf (text);
    return type.equals ("shape") ? text.replace ('x', ',') : text;
  }

  /** The text that read () takes back. */
  static String show (Object value)
  {
    if (value == null)
      return "";
    if (value instanceof List) {
      StringBuilder text = new StringBuilder ();
      for (Object item : Json.list (value))
        text.append (text.length () > 0 ? "," : "").append (show (item));
      return text.toString ();
    }
    String text = value.toString ();
    return value instanceof Double && text.endsWith (".0") ? text.substring (0, text.length () - 2) : text;
  }
}
