package sideband;

import ij.ImagePlus;
import ij.WindowManager;
import ij.gui.Roi;
import ij.process.ByteProcessor;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;

/**
 * The selection drawn on a pattern as the mask of a command that takes one: a row for a file whose name is also a choice of
 * a row beside it.
 */
final class Selection
{
  private static final int NPY_ALIGN = 64, NPY_PREFIX = 10;
  private final Row choice, file;

  private Selection (Row choice, Row file)
  {
    this.choice = choice;
    this.file = file;
  }

  private static Selection of (Catalog.Command command)
  {
    for (Catalog.Group group : command.groups (Catalog.Section.COMMAND))
      for (Row file : group.rows)
        for (Row choice : group.rows)
          if (file.type.equals ("path") && java.util.Arrays.asList (choice.choices ()).contains (file.name))
            return new Selection (choice, file);
    return null;
  }

  static boolean suits (Catalog.Command command)
  {
    return of (command) != null;
  }

  /** For the dialog: the choice is made where a selection is there to fill it. */
  static void offer (Parameters parameters, Source source)
  {
    Selection mask = of (parameters.command);
    if (mask != null && isPattern (WindowManager.getCurrentImage (), source)) {
      parameters.set (mask.choice.name, mask.file.name);
      parameters.set (mask.file.name, "");
    }
  }

  /** Fills the mask in where it is asked for, or nothing else is, and no file is given. */
  static void take (Parameters parameters, Source source, ImagePlus image) throws Failure
  {
    Selection mask = of (parameters.command);
    if (mask == null || parameters.has (mask.file.name))
      return;
    boolean asked = parameters.get (mask.choice.name).equals (mask.file.name);
    if (!isPattern (image, source) || (!asked && parameters.has (mask.choice.name)))
      return;
    parameters.set (mask.choice.name, mask.file.name);
    parameters.set (mask.file.name, write (image.getRoi (), image.getWidth (), image.getHeight ()));
  }

  /** Whether the image shows patterns of the source, with an area selected on it. */
  private static boolean isPattern (ImagePlus image, Source source)
  {
    return image != null && source != null && image.getRoi () != null && image.getRoi ().isArea () && source.shows (image)
      && !Results.isScan (image);
  }

  /** NumPy's file of bytes, 1 inside. */
  private static String write (Roi roi, int cols, int rows) throws Failure
  {
    ByteProcessor mask = new ByteProcessor (cols, rows);
    mask.setValue (1);
    mask.fill (roi);
    String header = "{'descr': '|u1', 'fortran_order': False, 'shape': (" + rows + ", " + cols + "), }";
    StringBuilder padded = new StringBuilder (header);
    while ((NPY_PREFIX + padded.length () + 1) % NPY_ALIGN != 0)
      padded.append (' ');
    byte[] text = padded.append ('\n').toString ().getBytes (StandardCharsets.US_ASCII), pixels = (byte[])mask.getPixels ();
    byte[] all = new byte[NPY_PREFIX + text.length + pixels.length];
    byte[] prefix = {(byte)0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (byte)text.length, (byte)(text.length >> 8)};
    System.arraycopy (prefix, 0, all, 0, NPY_PREFIX);
    System.arraycopy (text, 0, all, NPY_PREFIX, text.length);
    System.arraycopy (pixels, 0, all, NPY_PREFIX + text.length, pixels.length);
    try {
      File file = File.createTempFile ("sideband-selection-", ".npy");
      file.deleteOnExit ();
      Files.write (file.toPath (), all);
      return file.getPath ();
    } catch (IOException e) {
      throw new Failure (Failure.IO, "The selection cannot be written into " + System.getProperty ("java.io.tmpdir") + " ("
        + e.getMessage () + ").");
    }
  }
}
