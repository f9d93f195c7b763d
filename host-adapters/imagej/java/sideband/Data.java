package sideband;

import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** An acquisition in the library. Closed by its owner; one that was forgotten is freed when the next is made. */
final class Data implements AutoCloseable
{
  private static final ReferenceQueue<Data> forgotten = new ReferenceQueue<> ();
  private static final Set<Handle> handles = Collections.synchronizedSet (new HashSet<Handle> ());

  final long session;
  private final Handle handle;

  private static final class Handle extends PhantomReference<Data>
  {
    private long value;

    Handle (Data owner, long value)
    {
      super (owner, forgotten);
      this.value = value;
      handles.add (this);
    }

    synchronized void free ()
    {
      if (value != 0)
        Native.dataFree (value);
      value = 0;
      handles.remove (this);
    }
  }

  private Data (long session, long value)
  {
    this.session = session;
    for (Object old = forgotten.poll (); old != null; old = forgotten.poll ())
      ((Handle)old).free ();
    handle = new Handle (this, value);
  }

  static Data open (long session, String path, Map<String, Object> parameters) throws Failure
  {
    long[] out = new long[1];
    Library.check (Native.dataOpen (out, session, Library.bytes (path), Library.bytes (Json.write (parameters))));
    return new Data (session, out[0]);
  }

  /** For frames that are pushed. */
  static Data create (long session, Map<String, Object> parameters) throws Failure
  {
    long[] out = new long[1];
    Library.check (Native.dataNew (out, session, Library.bytes (Json.write (parameters))));
    return new Data (session, out[0]);
  }

  long value () throws Failure
  {
    if (handle.value == 0)
      throw new Failure (Failure.ARGUMENT, "The acquisition was closed; open it again.");
    return handle.value;
  }

  void push (long frame, Object pixels, int dtype, int rows, int cols) throws Failure
  {
    Library.check (Native.dataPush (value (), frame, pixels, dtype, rows, cols));
  }

  void finish () throws Failure
  {
    Library.check (Native.dataFinish (value ()));
  }

  void read (long frame, ByteBuffer direct, int dtype, int rows, int cols) throws Failure
  {
    synchronized (handle) {
      Library.check (Native.dataFrame (value (), frame, direct, dtype, rows, cols));
    }
  }

  Map<String, Object> info () throws Failure
  {
    return Json.object (Json.parse (Library.text (Native.dataInfo (value ()))));
  }

  @Override
  public void close ()
  {
    handle.free ();
  }
}
