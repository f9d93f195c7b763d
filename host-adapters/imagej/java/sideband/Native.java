package sideband;

/** The functions of sideband.h, one to one; only {@link Library} calls them, once {@link Loader} has made them callable. */
final class Native
{
  private Native () {}

  static native int abi ();
  static native byte[] version ();
  static native byte[] catalog ();
  static native byte[] message ();

  static native int sessionNew (long[] out, byte[] json);
  static native void sessionFree (long session);

  static native int dataOpen (long[] out, long session, byte[] path, byte[] json);
  static native int dataNew (long[] out, long session, byte[] json);
  static native int dataPush (long data, long first, Object frame, int dtype, int rows, int cols);
  static native int dataFrame (long data, long first, java.nio.ByteBuffer frame, int dtype, int rows, int cols);
  static native int dataFinish (long data);
  static native byte[] dataInfo (long data);
  static native void dataFree (long data);

  static native int jobNew (long[] out, long session, byte[] command, long data, byte[] json);
  static native int jobStart (long job);
  static native int jobWait (long job, int ms);
  static native double jobProgress (long job);
  static native byte[] jobStage (long job);
  static native void jobCancel (long job);
  static native byte[] jobError (long job);
  static native long jobResult (long job);
  static native void jobFree (long job);

  static native byte[] resultInfo (long result);
  static native int resultDtype (long result, byte[] name);
  static native int resultArray (long result, byte[] name, Object array);
  static native int resultSave (long result, byte[] path, byte[] kind);
}
