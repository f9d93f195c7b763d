package sideband;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/** Text to bytes and back, statuses to {@link Failure}, and the sessions, one for each set of their parameters. */
final class Library
{
  private static final Map<String, Long> sessions = new HashMap<> ();

  private Library () {}

  /** UTF-8 with the 0 that ends a C string. */
  static byte[] bytes (String text)
  {
    byte[] utf8 = text.getBytes (StandardCharsets.UTF_8);
    return java.util.Arrays.copyOf (utf8, utf8.length + 1);
  }

  static String text (byte[] utf8)
  {
    return utf8 != null ? new String (utf8, StandardCharsets.UTF_8) : "";
  }

  static void check (int status) throws Failure
  {
    if (status == Failure.OK)
      return;
    String sentence = text (Native.message ());
    throw new Failure (status, sentence.isEmpty () ? "The library failed with status " + status + "." : sentence);
  }

  static String version () throws Failure
  {
    Loader.ensure ();
    return text (Native.version ());
  }

  /** Sessions stay: threads and plans are used again by the next command. */
  static synchronized long session (Map<String, Object> parameters) throws Failure
  {
    Loader.ensure ();
    String json = Json.write (parameters);
    Long known = sessions.get (json);
    if (known != null)
      return known;
    long[] out = new long[1];
    check (Native.sessionNew (out, bytes (json)));
    sessions.put (json, out[0]);
    return out[0];
  }
}
