package check;

import ij.VirtualStack;
import ij.process.ImageProcessor;
import ij.process.ShortProcessor;

/** A stack whose every frame takes a while, as a slow disk's does. */
final class Slow extends VirtualStack
{
  Slow ()
  {
    super (72, 72, null, null);
  }

  @Override
  public ImageProcessor getProcessor (int n)
  {
    Tap.pause (2);
    ShortProcessor frame = new ShortProcessor (72, 72);
    frame.setValue (100);
    frame.fill (new ij.gui.OvalRoi (6, 6, 60, 60));
    return frame;
  }

  @Override
  public Object getPixels (int n)
  {
    return getProcessor (n).getPixels ();
  }

  @Override
  public int getSize ()
  {
    return 2500;
  }

  @Override
  public int getBitDepth ()
  {
    return 16;
  }
}
