package sideband;

import ij.ImagePlus;
import ij.ImageStack;
import ij.WindowManager;
import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Where the frames of a command come from: a path that the C library reads, or a window whose frames are pushed. */
abstract class Source
{
  /* What sideband.h itself says that data for pushing must be given. */
  private static final String SCAN_SHAPE = "scan_shape", DETECTOR_SHAPE = "detector_shape", DTYPE = "dtype";
  private static final String PROPERTY = "sideband.input";

  /** How results are named, and how the input is written into a macro. */
  final String base, input;

  private Source (String base, String input)
  {
    this.base = base;
    this.input = input;
  }

  /** parameters: the data section; filled in with what a window knows. */
  abstract Data data (long session, Map<String, Object> parameters, Ui.Progress progress) throws Failure;

  /** Whether the frames cross from Java, which takes its share of the progress bar. */
  boolean isPushed ()
  {
    return false;
  }

  void release (Data data)
  {
    if (data != null)
      data.close ();
  }

  static String baseName (String path)
  {
    String name = new File (path).getName ().replaceAll ("\\.[^.]*$", "");
    return name.replaceAll ("_master$", "");
  }

  static Source of (Parameters parameters) throws Failure
  {
    String input = parameters.get (Parameters.INPUT);
    if (input.isEmpty ())
      return ofWindow (current (), parameters);
    Source kept = Kept.find (input);
    if (kept != null)
      return kept;
    ImagePlus image = WindowManager.getImage (input);
    if (image != null)
      return ofWindow (image, parameters);
    if (!new File (input).exists () && new File (input).getName ().equals (input) && input.indexOf ('.') < 0)
      throw new Failure (Failure.ARGUMENT, "There is no open image and no file \"" + input
        + "\"; give input=[the title of an open stack] or input=[the path of an acquisition].");
    takeRegion (WindowManager.getCurrentImage (), input, parameters);
    return new FromFile (input);
  }

  private static ImagePlus current () throws Failure
  {
    ImagePlus image = WindowManager.getCurrentImage ();
    if (image != null)
      return image;
    throw new Failure (Failure.ARGUMENT, "There are no images open, and no input was given; open a stack of frames or give "
      + "input=[the path of an acquisition].");
  }

  private static Source ofWindow (ImagePlus image, Parameters parameters) throws Failure
  {
    String origin = originOf (image);
    if (!origin.isEmpty ()) {
      takeRegion (image, origin, parameters);
      parameters.set (Parameters.INPUT, origin);
      return of (parameters);
    }
    if (image.getStack () instanceof AcquisitionStack)
      return new FromFile ((AcquisitionStack)image.getStack ());
    if (image.getStackSize () < 2)
      throw new Failure (Failure.ARGUMENT, "\"" + image.getTitle () + "\" is a single image; a stack of the frames of a scan "
        + "is needed.");
    Pixels.of (image);
    return new FromWindow (image);
  }

  /** The acquisition that a result image was made of; "": the image is none of ours. */
  static String originOf (ImagePlus image)
  {
    Object window = image.getProperty (PROPERTY);
    return window != null ? window.toString () : Json.text (Json.find (Results.about (image), "acquisition.path"));
  }

  /** Whether the image is this source's own, or was made of it. */
  boolean shows (ImagePlus image)
  {
    ImageStack stack = image.getStack ();
    return input.equals (originOf (image)) || image.getTitle ().equals (input)
      || (stack instanceof AcquisitionStack && ((AcquisitionStack)stack).path.equals (input));
  }

  void mark (ImagePlus image)
  {
    if (isPushed ())
      image.setProperty (PROPERTY, input);
  }

  /** A rectangle drawn on an image of that acquisition is the part of the scan to use, unless one is given. */
  private static void takeRegion (ImagePlus image, String origin, Parameters parameters)
  {
    String region = image != null && origin.equals (originOf (image)) ? Results.regionOf (image) : null;
    for (Row row : parameters.command.rows ().values ())
      if (region != null && row.type.equals ("region") && !parameters.has (row.name))
        parameters.set (row.name, region);
  }

  private static final class FromFile extends Source
  {
    private final String path;
    private final AcquisitionStack window;

    FromFile (String path)
    {
      super (baseName (path), path);
      this.path = path;
      window = null;
    }

    /** As the window was opened, with what is given now on top. */
    FromFile (AcquisitionStack window)
    {
      super (baseName (window.path), window.path);
      path = window.path;
      this.window = window;
    }

    @Override
    Data data (long session, Map<String, Object> parameters, Ui.Progress progress) throws Failure
    {
      if (window != null)
        for (Map.Entry<String, Object> entry : window.parameters.entrySet ())
          if (!parameters.containsKey (entry.getKey ()))
            parameters.put (entry.getKey (), entry.getValue ());
      return Data.open (session, path, parameters);
    }
  }

  private static final class FromWindow extends Source
  {
    private static final int CHECK_EVERY = 64;
    private final ImagePlus image;

    FromWindow (ImagePlus image)
    {
      super (image.getShortTitle (), image.getTitle ());
      this.image = image;
    }

    @Override
    boolean isPushed ()
    {
      return true;
    }

    private static void offer (Map<String, Object> parameters, String key, Object value)
    {
      if (!parameters.containsKey (key))
        parameters.put (key, value);
    }

    private static List<Object> pair (long rows, long cols)
    {
      List<Object> pair = new ArrayList<> ();
      pair.add (rows);
      pair.add (cols);
      return pair;
    }

    /** Nothing of the window changes: pixels are only read, never through setSlice. */
    @Override
    Data data (long session, Map<String, Object> parameters, Ui.Progress progress) throws Failure
    {
      Pixels pixels = Pixels.of (image);
      ImageStack stack = image.getStack ();
      int rows = image.getHeight (), cols = image.getWidth (), n = stack.getSize ();
      if (image.getNChannels () > 1)
        throw new Failure (Failure.ARGUMENT, "\"" + image.getTitle () + "\" has " + image.getNChannels () + " channels; make "
          + "the scan columns its slices and the scan rows its frames (Image > Hyperstacks).");
      if (image.getNSlices () > 1 && image.getNFrames () > 1)
        offer (parameters, SCAN_SHAPE, pair (image.getNFrames (), image.getNSlices ()));
      parameters.put (DETECTOR_SHAPE, pair (rows, cols));
      parameters.put (DTYPE, pixels.word);
      Data data = Data.create (session, parameters);
      try {
        for (int i = 0; i < n; i++) {
          if (i % CHECK_EVERY == 0) {
            progress.check ();
            progress.report ((double)i / n, "read frames");
          }
          data.push (i, pixels.frame (stack, i + 1, rows * cols), pixels.dtype, rows, cols);
        }
        progress.check ();
        data.finish ();
        return data;
      } catch (Failure | RuntimeException | Error e) {
        data.close ();
        throw e;
      }
    }
  }

  /** Acquisitions that Ext.Sideband_open keeps: what was computed from one is there for the next command. */
  static final class Kept extends Source
  {
    private static final List<Kept> all = new ArrayList<> ();
    private static int last;
    private final Data data;

    private Kept (Source source, Data data, String id)
    {
      super (source.base, id);
      this.data = data;
    }

    static synchronized String add (Source source, Data data)
    {
      Kept kept = new Kept (source, data, "sideband:" + ++last);
      all.add (kept);
      return kept.input;
    }

    static synchronized Source find (String id)
    {
      for (Kept kept : all)
        if (kept.input.equals (id))
          return kept;
      return null;
    }

    static synchronized void close (String id) throws Failure
    {
      Source kept = find (id);
      if (kept == null)
        throw new Failure (Failure.ARGUMENT, "No acquisition is open as \"" + id + "\".");
      ((Kept)kept).data.close ();
      all.remove (kept);
    }

    @Override
    Data data (long session, Map<String, Object> parameters, Ui.Progress progress) throws Failure
    {
      if (session != data.session || !parameters.isEmpty ())
        throw new Failure (Failure.ARGUMENT, "The acquisition " + input + " is open already; give what concerns its opening to "
          + "Ext.Sideband_open.");
      return data;
    }

    @Override
    void release (Data unused) {}
  }
}
