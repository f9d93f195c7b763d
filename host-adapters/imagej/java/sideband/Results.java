package sideband;

import ij.ImagePlus;
import ij.WindowManager;
import ij.gui.OvalRoi;
import ij.gui.Overlay;
import ij.gui.Plot;
import ij.gui.Roi;
import ij.measure.Calibration;
import ij.measure.ResultsTable;
import ij.process.ImageProcessor;
import java.awt.Color;
import java.awt.GraphicsEnvironment;
import java.awt.Rectangle;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** What a command gave: its JSON and its arrays, copied out of the library; images and table are made of them. */
final class Results
{
  static final String TABLE = "Sideband fit";
  final String json;
  final Map<String, Object> info;
  private final List<Array> arrays = new ArrayList<> ();
  private final Source source;

  Results (long result, Source source) throws Failure
  {
    this.source = source;
    json = Library.text (Native.resultInfo (result));
    info = Json.object (Json.parse (json));
    for (Object about : Json.list (info.get ("arrays")))
      arrays.add (new Array (result, Json.object (about)));
  }

  /** Every array as an image (the lines as one plot), the image of the scan on top; then the table. */
  void show ()
  {
    for (ImagePlus image : images ())
      Ui.show (image);
    ResultsTable table = table ();
    if (table.size () > 0 && !GraphicsEnvironment.isHeadless ())
      table.show (TABLE);
  }

  List<ImagePlus> images ()
  {
    List<ImagePlus> images = new ArrayList<> ();
    Array top = top ();
    for (Array array : arrays)
      if (array != top && !array.isLine () && !array.isDetail ())
        images.add (image (array));
    if (!GraphicsEnvironment.isHeadless ())
      images.addAll (plots ());
    if (top != null)
      images.add (image (top));
    for (ImagePlus image : images) {
      image.setProperty ("Info", json);
      if (source != null)
        source.mark (image);
    }
    return images;
  }

  /** The image of the scan; where there is none, the last that is listed. */
  private Array top ()
  {
    Array last = null;
    for (Array array : arrays) {
      last = array.isLine () ? last : array;
      if (!array.isPicture () && array.shape.length == 2 && array.isShape (scanShape ()))
        return array;
    }
    return last;
  }

  private Object scanShape ()
  {
    Object image = Json.find (info, "image.shape");
    return image != null ? image : Json.find (info, "acquisition.scan_shape");
  }

  /** Only its pixels, for a preview that is drawn again and again; null: no image. */
  ImageProcessor preview ()
  {
    Array top = top ();
    return top != null ? image (top).getProcessor () : null;
  }

  private String title (String what)
  {
    String title = (source != null ? source.base + " " : "") + what;
    return WindowManager.getImage (title) == null ? title : WindowManager.getUniqueName (title);
  }

  private ImagePlus image (Array array)
  {
    ImagePlus image = new ImagePlus (title (array.text ("title")), array.stack ());
    if (array.isPicture ())
      return image;
    calibrate (image, array);
    if (array.isShape (Json.find (info, "acquisition.detector_shape")))
      image.setOverlay (disk ());
    image.resetDisplayRange ();
    return image;
  }

  /** Lines over the array that holds their axis, each a curve of one plot. */
  private List<ImagePlus> plots ()
  {
    List<ImagePlus> plots = new ArrayList<> ();
    Plot plot = null;
    StringBuilder legend = new StringBuilder ();
    String[] colours = {"blue", "red", "black", "magenta"};
    for (Array line : arrays) {
      Array axis = line.isLine () ? line.axis (arrays) : null;
      if (axis == null)
        continue;
      if (plot == null)
        plot = new Plot (title ("curves"), axis.text ("title") + " (" + axis.text ("unit") + ")", "");
      plot.setColor (colours[legend.toString ().split ("\n", -1).length % colours.length]);
      plot.add ("line", axis.doubles (), line.doubles ());
      legend.append (line.text ("title")).append ('\n');
    }
    if (plot == null)
      return plots;
    plot.setColor ("black");
    plot.setLegend (legend.toString (), Plot.AUTO_POSITION);
    plots.add (plot.getImagePlus ());
    return plots;
  }

  private static void calibrate (ImagePlus image, Array array)
  {
    Calibration calibration = image.getCalibration ();
    if (array.step (2) > 0 && array.step (1) > 0) {
      calibration.pixelHeight = array.step (2);
      calibration.pixelWidth = array.step (1);
      calibration.setUnit (array.axisUnit ());
    }
    if (!array.text ("unit").isEmpty ())
      calibration.setValueUnit (array.text ("unit"));
  }

  /** The bright-field disk of the calibration; null where there is none. A pixel's centre is at +0.5 in ImageJ. */
  private Overlay disk ()
  {
    double row = Json.number (Json.find (info, "calibration.centre.0"));
    double col = Json.number (Json.find (info, "calibration.centre.1"));
    double radius = Json.number (Json.find (info, "calibration.radius"));
    if (!(radius > 0))
      return null;
    Roi circle = new OvalRoi (col + 0.5 - radius, row + 0.5 - radius, 2 * radius, 2 * radius);
    circle.setName ("bright-field disk");
    circle.setStrokeColor (Color.YELLOW);
    return new Overlay (circle);
  }

  /** What was fitted; empty where the values were only given. */
  ResultsTable table ()
  {
    ResultsTable table = new ResultsTable ();
    table.setPrecision (6);
    table.showRowNumbers (false);
    Map<String, Object> values = Json.object (info.get ("values"));
    if (!anyHas (values, "error"))
      return table;
    for (Map.Entry<String, Object> entry : values.entrySet ()) {
      Map<String, Object> value = Json.object (entry.getValue ());
      table.incrementCounter ();
      table.addValue ("Name", entry.getKey ());
      table.addValue ("Value", Json.number (value.get ("value")));
      table.addValue ("Error", Json.number (value.get ("error")));
      if (anyHas (values, "spread"))
        table.addValue ("Spread", Json.number (value.get ("spread")));
      table.addValue ("Unit", Json.text (value.get ("unit")));
      table.addValue ("Meaning", Json.text (value.get ("title")));
    }
    return table;
  }

  private static boolean anyHas (Map<String, Object> values, String key)
  {
    for (Object value : values.values ())
      if (Json.object (value).get (key) != null)
        return true;
    return false;
  }

  /** The JSON that an image of ours carries. */
  static Map<String, Object> about (ImagePlus image)
  {
    Object text = image.getProperty ("Info");
    int start = text != null ? text.toString ().indexOf ("{\"") : -1;
    if (start < 0)
      return Json.object (null);
    try {
      return Json.object (Json.parse (text.toString ().substring (start)));
    } catch (Failure e) {
      return Json.object (null); /* another program's text */
    }
  }

  static boolean isShape (Object shape, int rows, int cols)
  {
    return Json.number (Json.find (shape, "0")) == rows && Json.number (Json.find (shape, "1")) == cols;
  }

  /** Whether an image of ours shows the scan, and not a pattern. */
  static boolean isScan (ImagePlus image)
  {
    Map<String, Object> about = about (image);
    int high = image.getHeight (), wide = image.getWidth ();
    boolean shaped = isShape (Json.find (about, "image.shape"), high, wide)
      || (Json.find (about, "arrays") != null && isShape (Json.find (about, "acquisition.scan_shape"), high, wide));
    return shaped && !image.getCalibration ().getUnit ().startsWith ("mrad");
  }

  /** "row,col,rows,cols" of the scan under a rectangle drawn on an image of ours; null: none. */
  static String regionOf (ImagePlus image)
  {
    Roi roi = image.getRoi ();
    if (roi == null || roi.getType () != Roi.RECTANGLE || !isScan (image))
      return null;
    Map<String, Object> about = about (image);
    Rectangle box = roi.getBounds ();
    long row0 = Json.whole (Json.find (about, "parameters.scan_region.0"));
    long col0 = Json.whole (Json.find (about, "parameters.scan_region.1"));
    double down = Json.number (Json.find (about, "acquisition.scan_shape.0")) / image.getHeight ();
    double across = Json.number (Json.find (about, "acquisition.scan_shape.1")) / image.getWidth ();
    long row = (long)Math.floor (box.y * down), col = (long)Math.floor (box.x * across);
    long endRow = (long)Math.ceil ((box.y + box.height) * down), endCol = (long)Math.ceil ((box.x + box.width) * across);
    return (row0 + row) + "," + (col0 + col) + "," + (endRow - row) + "," + (endCol - col);
  }
}
