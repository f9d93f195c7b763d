package sideband;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Objects as Map, arrays as List, numbers as Long or Double, null as null. Numbers are written with a point. */
final class Json
{
  private final String text;
  private int at;

  private Json (String text)
  {
    this.text = text;
  }

  static Object parse (String text) throws Failure
  {
    Json json = new Json (text);
    try {
      return json.value ();
    } catch (IndexOutOfBoundsException | NumberFormatException e) {
      throw new Failure (Failure.INTERNAL, "The library gave a text that is no JSON, near character " + json.at + ".");
    }
  }

  @SuppressWarnings ("unchecked")
  static Map<String, Object> object (Object value)
  {
    return value instanceof Map ? (Map<String, Object>)value : new LinkedHashMap<String, Object> ();
  }

  @SuppressWarnings ("unchecked")
  static List<Object> list (Object value)
  {
    return value instanceof List ? (List<Object>)value : new ArrayList<Object> ();
  }

  static String text (Object value)
  {
    return value instanceof String ? (String)value : "";
  }

  static double number (Object value)
  {
    return value instanceof Number ? ((Number)value).doubleValue () : Double.NaN;
  }

  static long whole (Object value)
  {
    return value instanceof Number ? ((Number)value).longValue () : 0;
  }

  /** What a path like "values.C10.value" or "scan_shape.0" leads to; null where nothing is. */
  static Object find (Object value, String path)
  {
    for (String name : path.split ("\\.")) {
      if (value instanceof List) {
        List<Object> items = list (value);
        boolean index = name.matches ("[0-9]{1,9}") && Integer.parseInt (name) < items.size ();
        value = index ? items.get (Integer.parseInt (name)) : null;
      } else {
        value = object (value).get (name);
      }
    }
    return value;
  }

  static String write (Object value)
  {
    StringBuilder out = new StringBuilder ();
    write (out, value);
    return out.toString ();
  }

  private static void write (StringBuilder out, Object value)
  {
    String separator = "";
    if (value instanceof Map) {
      out.append ('{');
      for (Map.Entry<String, Object> entry : object (value).entrySet ()) {
        quote (out.append (separator), entry.getKey ());
        write (out.append (": "), entry.getValue ());
        separator = ", ";
      }
      out.append ('}');
    } else if (value instanceof List) {
      out.append ('[');
      for (Object item : list (value)) {
        write (out.append (separator), item);
        separator = ", ";
      }
      out.append (']');
    } else if (value instanceof String) {
      quote (out, (String)value);
    } else {
      out.append (value);
    }
  }

  private static void quote (StringBuilder out, String string)
  {
    out.append ('"');
    for (int i = 0; i < string.length (); i++) {
      char c = string.charAt (i);
      if (c == '"' || c == '\\')
        out.append ('\\').append (c);
      else if (c < ' ')
        out.append (String.format ("\\u%04x", (int)c));
      else
        out.append (c);
    }
    out.append ('"');
  }

  private char peek ()
  {
    while (Character.isWhitespace (text.charAt (at)))
      at++;
    return text.charAt (at);
  }

  private void expect (char c)
  {
    if (peek () != c)
      throw new NumberFormatException ();
    at++;
  }

  private Object value ()
  {
    switch (peek ()) {
    case '{':
      return objectValue ();
    case '[':
      return listValue ();
    case '"':
      return string ();
    default:
      return word ();
    }
  }

  private Map<String, Object> objectValue ()
  {
    Map<String, Object> map = new LinkedHashMap<> ();
    expect ('{');
    while (peek () != '}') {
      String key = string ();
      expect (':');
      map.put (key, value ());
      if (peek () == ',')
        at++;
    }
    at++;
    return map;
  }

  private List<Object> listValue ()
  {
    List<Object> items = new ArrayList<> ();
    expect ('[');
    while (peek () != ']') {
      items.add (value ());
      if (peek () == ',')
        at++;
    }
    at++;
    return items;
  }

  private String string ()
  {
    StringBuilder out = new StringBuilder ();
    expect ('"');
    for (char c = text.charAt (at++); c != '"'; c = text.charAt (at++))
      out.append (c == '\\' ? escaped () : c);
    return out.toString ();
  }

  private char escaped ()
  {
    char c = text.charAt (at++);
    if (c == 'u') {
      at += 4;
      return (char)Integer.parseInt (text.substring (at - 4, at), 16);
    }
    int known = "nrtbf".indexOf (c);
    return known < 0 ? c : "\n\r\t\b\f".charAt (known);
  }

  private Object word ()
  {
    int start = at;
    while (at < text.length () && "+-.0123456789abcdefghijklmnopqrstuvwxyzE".indexOf (text.charAt (at)) >= 0)
      at++;
    String word = text.substring (start, at);
    if (word.equals ("null"))
      return null;
    if (word.equals ("true") || word.equals ("false"))
      return word.equals ("true");
    if (word.matches ("-?[0-9]{1,18}"))
      return Long.valueOf (word);
    return Double.valueOf (word);
  }
}
