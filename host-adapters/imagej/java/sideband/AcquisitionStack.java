package sideband;

import ij.IJ;
import ij.ImagePlus;
import ij.VirtualStack;
import ij.measure.Calibration;
import ij.process.ImageProcessor;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;

/**
 * The frames of a file, each read when it is looked at. The window remembers its path and how it was opened. The file is
 * let go once no window shows the stack any more (see {@link Data}).
 */
final class AcquisitionStack extends VirtualStack
{
  private final Data data;
  private final int rows, cols, frames;
  private final Pixels pixels;
  private boolean told;
  final String path;
  final Map<String, Object> parameters;

  private AcquisitionStack (Data data, String path, Map<String, Object> parameters, Map<String, Object> about)
    throws Failure
  {
    this.data = data;
    this.path = path;
    this.parameters = parameters;
    rows = (int)Json.whole (Json.find (about, "detector_shape.0"));
    cols = (int)Json.whole (Json.find (about, "detector_shape.1"));
    frames = (int)Math.min (Json.whole (about.get ("frames")), Integer.MAX_VALUE);
    pixels = Pixels.named (Json.text (about.get ("dtype")));
  }

  static ImagePlus open (long session, String path, Map<String, Object> parameters) throws Failure
  {
    Data data = Data.open (session, path, parameters);
    try {
      Map<String, Object> about = Json.object (data.info ().get ("acquisition"));
      AcquisitionStack stack = new AcquisitionStack (data, path, parameters, about);
      ImagePlus image = new ImagePlus (Source.baseName (path), stack);
      stack.describe (image, about);
      return image;
    } catch (Failure e) {
      data.close ();
      throw e;
    }
  }

  /** Scan columns are slices, scan rows are frames, where the file has exactly one frame for each position. */
  private void describe (ImagePlus image, Map<String, Object> about)
  {
    List<Object> shape = Json.list (about.get ("scan_shape"));
    long scanRows = shape.size () == 2 ? Json.whole (shape.get (0)) : 0;
    long scanCols = shape.size () == 2 ? Json.whole (shape.get (1)) : 0;
    if (scanRows * scanCols == frames && scanRows > 1 && scanCols > 1) {
      image.setDimensions (1, (int)scanCols, (int)scanRows);
      image.setOpenAsHyperStack (true);
    }
    double sampling = Json.number (about.get ("sampling"));
    Calibration calibration = image.getCalibration ();
    if (sampling > 0) {
      calibration.pixelWidth = calibration.pixelHeight = sampling;
      calibration.setUnit ("mrad");
    }
    calibration.setValueUnit ("counts");
    image.setProperty ("Info", Json.write (about));
  }

  @Override
  public ImageProcessor getProcessor (int n)
  {
    ByteBuffer buffer = ByteBuffer.allocateDirect (rows * cols * pixels.bytes);
    try {
      data.read (n - 1, buffer, pixels.dtype, rows, cols);
    } catch (Failure e) {
      if (!told)
        IJ.log ("Sideband: " + e.getMessage ());
      told = true;
    }
    return pixels.processor (buffer, cols, rows);
  }

  @Override
  public Object getPixels (int n)
  {
    return getProcessor (n).getPixels ();
  }

  @Override
  public int getSize ()
  {
    return frames;
  }

  @Override
  public int size ()
  {
    return frames;
  }

  @Override
  public int getWidth ()
  {
    return cols;
  }

  @Override
  public int getHeight ()
  {
    return rows;
  }

  @Override
  public int getBitDepth ()
  {
    return pixels.bitDepth ();
  }

  @Override
  public String getSliceLabel (int n)
  {
    return null;
  }
}
