package sideband;

import ij.ImagePlus;
import ij.ImageStack;
import ij.process.ByteProcessor;
import ij.process.FloatProcessor;
import ij.process.ImageProcessor;
import ij.process.ShortProcessor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** ImageJ's three kinds of grey pixels and the library's number types. */
enum Pixels
{
  /* sb_dtype of sideband.h: value, name, bytes */
  U8 (0, "uint8", 1),
  U16 (1, "uint16", 2),
  U32 (2, "uint32", 4),
  I16 (3, "int16", 2),
  I32 (4, "int32", 4),
  F32 (5, "float32", 4),
  F64 (6, "float64", 8);

  final int dtype, bytes;
  final String word;

  Pixels (int dtype, String word, int bytes)
  {
    this.dtype = dtype;
    this.word = word;
    this.bytes = bytes;
  }

  static Pixels named (String word) throws Failure
  {
    for (Pixels pixels : values ())
      if (pixels.word.equals (word))
        return pixels;
    throw new Failure (Failure.INTERNAL, "The number type " + word + " is not known to this plugin.");
  }

  /** What the frames of a window are. */
  static Pixels of (ImagePlus image) throws Failure
  {
    int depth = image.getType () == ImagePlus.COLOR_RGB ? 24 : image.getBitDepth ();
    if (depth == 16)
      return image.getLocalCalibration ().isSigned16Bit () ? I16 : U16;
    if (depth == 8 || depth == 32)
      return depth == 8 ? U8 : F32;
    throw new Failure (Failure.ARGUMENT, "\"" + image.getTitle ()
      + "\" is a colour image; a stack of 8, 16 or 32-bit grey frames is needed.");
  }

  /** The frame as the library takes it: signed 16-bit is stored by ImageJ with 32768 added. */
  Object frame (ImageStack stack, int slice, int length) throws Failure
  {
    Object pixels = stack.getPixels (slice);
    int found = pixels instanceof byte[] && this == U8 ? ((byte[])pixels).length
      : pixels instanceof short[] && bytes == 2 ? ((short[])pixels).length
      : pixels instanceof float[] && this == F32 ? ((float[])pixels).length : -1;
    if (found != length)
      throw new Failure (Failure.IO, "Frame " + slice + " of the stack cannot be read as " + word
        + "; is its file still there?");
    if (this != I16)
      return pixels;
    short[] signed = ((short[])pixels).clone ();
    for (int i = 0; i < signed.length; i++)
      signed[i] ^= (short)0x8000;
    return signed;
  }

  /** One frame that the library read, as ImageJ shows it: 8 and 16 bits as they are, all others as 32-bit floats. */
  ImageProcessor processor (ByteBuffer buffer, int cols, int rows)
  {
    buffer.order (ByteOrder.nativeOrder ()).clear ();
    if (this == U8) {
      byte[] grey = new byte[rows * cols];
      buffer.get (grey);
      return new ByteProcessor (cols, rows, grey, null);
    }
    if (this == U16) {
      short[] grey = new short[rows * cols];
      buffer.asShortBuffer ().get (grey);
      return new ShortProcessor (cols, rows, grey, null);
    }
    float[] grey = new float[rows * cols];
    for (int i = 0; i < grey.length; i++)
      grey[i] = number (buffer, i);
    return new FloatProcessor (cols, rows, grey);
  }

  private float number (ByteBuffer buffer, int i)
  {
    switch (this) {
    case U32:
      return buffer.getInt (4 * i) & 0xffffffffL;
    case I16:
      return buffer.getShort (2 * i);
    case I32:
      return buffer.getInt (4 * i);
    case F64:
      return (float)buffer.getDouble (8 * i);
    default:
      return buffer.getFloat (4 * i);
    }
  }

  int bitDepth ()
  {
    return this == U8 ? 8 : this == U16 ? 16 : 32;
  }
}
