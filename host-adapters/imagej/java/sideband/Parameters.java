package sideband;

import java.util.LinkedHashMap;
import java.util.Map;

/** The values given to one command, as texts: from a macro's line, or from the dialog. */
final class Parameters
{
  /** The one key that is the host's own: a path, or the title of a window. */
  static final String INPUT = "input";

  final Catalog.Command command;
  private final Map<String, String> values = new LinkedHashMap<> ();

  Parameters (Catalog.Command command)
  {
    this.command = command;
  }

  /** "key=value flag key=[a value with blanks]". */
  static Parameters parse (Catalog.Command command, String options) throws Failure
  {
    Parameters parameters = new Parameters (command);
    int at = 0;
    while ((at = skipBlanks (options, at)) < options.length ()) {
      int end = at;
      while (end < options.length () && options.charAt (end) != '=' && !Character.isWhitespace (options.charAt (end)))
        end++;
      String key = options.substring (at, end), value = "true";
      if (end < options.length () && options.charAt (end) == '=') {
        int from = end + 1;
        boolean bracketed = from < options.length () && options.charAt (from) == '[';
        end = bracketed ? closing (options, from, key) : endOfWord (options, from);
        value = bracketed ? options.substring (from + 1, end - 1) : options.substring (from, end);
      }
      parameters.take (key, value);
      at = end;
    }
    return parameters;
  }

  private void take (String key, String value) throws Failure
  {
    if (values.containsKey (key))
      throw new Failure (Failure.ARGUMENT, "\"" + key + "\" is given twice; give it once.");
    values.put (key, value);
  }

  private static int skipBlanks (String text, int at)
  {
    while (at < text.length () && Character.isWhitespace (text.charAt (at)))
      at++;
    return at;
  }

  private static int endOfWord (String text, int at)
  {
    while (at < text.length () && !Character.isWhitespace (text.charAt (at)))
      at++;
    return at;
  }

  /** Behind the bracket that closes the one at from; brackets inside count. */
  private static int closing (String text, int from, String key) throws Failure
  {
    int depth = 0;
    for (int i = from; i < text.length (); i++) {
      depth += text.charAt (i) == '[' ? 1 : text.charAt (i) == ']' ? -1 : 0;
      boolean ends = i + 1 == text.length () || Character.isWhitespace (text.charAt (i + 1));
      if (depth <= 0 && ends)
        return i + 1;
    }
    throw new Failure (Failure.ARGUMENT, "The value of \"" + key + "\" begins with [ and has no ] that ends it.");
  }

  String get (String key)
  {
    String value = values.get (key);
    return value != null ? value : "";
  }

  boolean has (String key)
  {
    return !get (key).isEmpty ();
  }

  void set (String key, String value)
  {
    values.put (key, value);
  }

  /** The JSON of one section. Keys that nobody knows go to the command: the library names the nearest. */
  Map<String, Object> json (Catalog.Section section)
  {
    Map<String, Object> json = new LinkedHashMap<> ();
    Map<String, Row> rows = command.rows ();
    for (Map.Entry<String, String> entry : values.entrySet ()) {
      String key = entry.getKey ();
      Row row = rows.get (key);
      boolean stray = row == null && !key.equals (INPUT) && section == strays ();
      Object value = row != null ? row.read (entry.getValue ()) : entry.getValue ();
      if (stray || (command.takes (section, key) && value != null))
        json.put (key, value);
    }
    return json;
  }

  private Catalog.Section strays ()
  {
    return command.name.isEmpty () ? Catalog.Section.DATA : Catalog.Section.COMMAND;
  }

  /** As a macro writes one value. */
  static String quoted (String value)
  {
    return value.matches ("[^\\s\\[\\]]+") ? value : "[" + value + "]";
  }
}
