package check;

import ij.IJ;
import ij.ImageJ;
import ij.ImagePlus;
import ij.VirtualStack;
import ij.process.ImageProcessor;
import ij.process.ShortProcessor;

/** A virtual stack far larger than the memory of Java: 65,536 frames of 128 x 128, 2.1 GB. */
public final class StreamTests
{
  private static final int SCAN = 256, SIZE = 128, RADIUS = 20;

  private StreamTests () {}

  /** A disk whose two halves brighten and darken across the scan. */
  private static final class Frames extends VirtualStack
  {
    private final boolean[] inside = new boolean[SIZE * SIZE];

    Frames ()
    {
      super (SIZE, SIZE, null, null);
      for (int i = 0; i < inside.length; i++)
        inside[i] = Math.hypot (i / SIZE - 64, i % SIZE - 64) <= RADIUS;
    }

    @Override
    public ImageProcessor getProcessor (int n)
    {
      int row = (n - 1) / SCAN, col = (n - 1) % SCAN;
      int left = (int)(200 + 40 * Math.sin (2 * Math.PI * (col * 24 + row * 8) / SCAN));
      short[] pixels = new short[SIZE * SIZE];
      for (int i = 0; i < pixels.length; i++)
        if (inside[i])
          pixels[i] = (short)(i % SIZE < 64 ? left : 400 - left);
      return new ShortProcessor (SIZE, SIZE, pixels, null);
    }

    @Override
    public Object getPixels (int n)
    {
      return getProcessor (n).getPixels ();
    }

    @Override
    public int getSize ()
    {
      return SCAN * SCAN;
    }

    @Override
    public int getBitDepth ()
    {
      return 16;
    }
  }

  public static void main (String[] arguments) throws Throwable
  {
    Tap.begin ();
    Tap.forbidDialogs (20000);
    new ImageJ (ImageJ.NO_SHOW);
    Tap.test ("65536 virtual frames of 128 x 128 with " + Runtime.getRuntime ().maxMemory () / 1000000
      + " MB of Java memory, twice", () -> {
      ImagePlus image = new ImagePlus ("frames", new Frames ());
      image.setDimensions (1, SCAN, SCAN);
      image.setOpenAsHyperStack (true);
      image.show ();
      float[] first = run (), second = run ();
      Cli.same (second, first, "second run");
    });
    Tap.end ();
  }

  private static float[] run ()
  {
    long start = System.currentTimeMillis ();
    IJ.run ("Sideband Reconstruct...", "input=frames energy=300 step=0.3 semiangle=20 centre=64,64 sampling=1 rotation=0 "
      + "orientation=identity coefficients=[C10=5] upsampling=1");
    ImagePlus phase = IJ.getImage ();
    Tap.same (phase.getWidth () + "x" + phase.getHeight (), SCAN + "x" + SCAN, "size");
    long ms = System.currentTimeMillis () - start;
    Tap.note ("2.1 GB in " + ms + " ms");
    float[] pixels = (float[])phase.getProcessor ().getPixels ();
    phase.changes = false;
    phase.close ();
    return pixels;
  }
}
