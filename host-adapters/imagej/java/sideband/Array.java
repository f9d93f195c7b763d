package sideband;

import ij.ImageStack;
import ij.process.ColorProcessor;
import ij.process.FloatProcessor;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** One array of a result, copied: an image, a stack of images, a line, or a picture (red, green, blue). */
final class Array
{
  final int[] shape;
  private final Map<String, Object> about;
  private final Object values;

  Array (long result, Map<String, Object> about) throws Failure
  {
    this.about = about;
    List<Object> sizes = Json.list (about.get ("shape"));
    shape = new int[sizes.size ()];
    long n = 1;
    for (int i = 0; i < shape.length; i++)
      n *= shape[i] = (int)Json.whole (sizes.get (i));
    if (n > Integer.MAX_VALUE - 8)
      throw new Failure (Failure.MEMORY, "The array \"" + text ("name") + "\" has " + n
        + " values; an image of ImageJ holds at most 2147483639. Write it to a file instead.");
    byte[] name = Library.bytes (text ("name"));
    int dtype = Native.resultDtype (result, name);
    Library.check (dtype < 0 ? -dtype : Failure.OK);
    values = dtype == Pixels.U8.dtype ? (Object)new byte[(int)n] : new float[(int)n];
    Library.check (Native.resultArray (result, name, values));
  }

  String text (String key)
  {
    return Json.text (about.get (key));
  }

  boolean isPicture ()
  {
    return values instanceof byte[];
  }

  /** For further work with the numbers, not to be looked at. */
  boolean isDetail ()
  {
    return Boolean.TRUE.equals (about.get ("detail"));
  }

  boolean isLine ()
  {
    return shape.length == 1;
  }

  int rows ()
  {
    return shape[shape.length - (isPicture () ? 3 : 2)];
  }

  int cols ()
  {
    return shape[shape.length - (isPicture () ? 2 : 1)];
  }

  boolean isShape (Object rowsAndCols)
  {
    return shape.length > 1 && Results.isShape (rowsAndCols, rows (), cols ());
  }

  /** Along the rows (2 from the end) or the columns (1). */
  double step (int fromEnd)
  {
    return Json.number (Json.find (about, "step." + (shape.length - fromEnd)));
  }

  String axisUnit ()
  {
    return Json.text (Json.find (about, "axis_unit." + (shape.length - 1)));
  }

  ImageStack stack ()
  {
    int rows = rows (), cols = cols ();
    ImageStack stack = new ImageStack (cols, rows);
    if (isPicture ()) {
      stack.addSlice (new ColorProcessor (cols, rows, colours ()));
      return stack;
    }
    float[] all = (float[])values;
    for (int at = 0; at < all.length; at += rows * cols)
      stack.addSlice (new FloatProcessor (cols, rows, Arrays.copyOfRange (all, at, at + rows * cols)));
    return stack;
  }

  private int[] colours ()
  {
    byte[] bytes = (byte[])values;
    int[] rgb = new int[bytes.length / 3];
    for (int i = 0; i < rgb.length; i++)
      rgb[i] = (bytes[3 * i] & 255) << 16 | (bytes[3 * i + 1] & 255) << 8 | (bytes[3 * i + 2] & 255);
    return rgb;
  }

  /** Of a line: the line in the unit of its axis; null: there is none, or this is the axis. */
  Array axis (List<Array> arrays)
  {
    for (Array array : arrays)
      if (array.isLine () && array.shape[0] == shape[0] && !array.text ("unit").isEmpty ()
          && array.text ("unit").equals (axisUnit ()))
        return array == this ? null : array;
    return null;
  }

  double[] doubles ()
  {
    float[] line = (float[])values;
    double[] doubles = new double[line.length];
    for (int i = 0; i < line.length; i++)
      doubles[i] = line[i];
    return doubles;
  }
}
